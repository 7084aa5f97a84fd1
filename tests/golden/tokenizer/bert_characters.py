#!/usr/bin/env python3
"""Writes tokenizer/bert_characters.inc: which characters BERT's reference tokenizer drops, splits off and takes
for accents, asked of Hugging Face's tokenizers one character at a time. Its Unicode tables are those of 2015,
so that newer characters count as plain ones; its lower case is of today, newer than that of many libraries.

    bert_characters.py tokenizer/bert_characters.inc

Made with tokenizers 0.23.3.
"""
import sys
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers

cased = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
without_accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
lower = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=True)
splitter = pre_tokenizers.BertPreTokenizer()


def ranges(is_member):
    found = []
    for code_point in range(0x110000):
        if 0xD800 <= code_point < 0xE000 or not is_member(chr(code_point)):
            continue
        if found and found[-1][1] == code_point - 1:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point])
    return found


def lower_ranges():
    """(first, last, distance to the lower case) of letters that Unicode 14 does not know as capitals."""
    found = []
    for code_point in range(0x110000):
        if 0xD800 <= code_point < 0xE000:
            continue
        character = chr(code_point)
        theirs = lower.normalize_str(character)
        if theirs == character.lower() or character == "\u03a3":  # the sigma looks at its neighbours in Python
            continue
        distance = ord(theirs) - code_point
        if found and found[-1][1] == code_point - 1 and found[-1][2] == distance:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point, distance])
    return found


def stays_whole(character):
    kept = "".join(c for c in unicodedata.normalize("NFD", character) if without_accents.normalize_str(c))
    return without_accents.normalize_str(character) == character != kept


SETS = {
    "kDropped": ("Controls, formats and private characters, and U+FFFD: not part of the text.",
                 lambda c: cased.normalize_str(f"a{c}b") == "ab"),
    "kIdeographs": ("CJK ideographs: each is a word of its own.", lambda c: cased.normalize_str(f"a{c}b") == f"a {c} b"),
    "kPunctuation": ("Each sign is a word of its own.",
                     lambda c: [word for word, _ in splitter.pre_tokenize_str(f"a{c}b")] == ["a", c, "b"]),
    "kAccents": ("Marks without a width of their own, which fall away with the accents.",
                 lambda c: without_accents.normalize_str(f"a{c}b") == "ab"),
    "kWhole": ("Characters that Unicode takes apart and the reference does not.", stays_whole),
}


def main():
    text = f"// Made by tests/golden/tokenizer/bert_characters.py from tokenizers {tokenizers.__version__}: do not edit.\n"
    entries = ", ".join(f"{{0x{first:X}, 0x{last:X}, {distance}}}" for first, last, distance in lower_ranges())
    text += f"\n// Capital letters of Unicode 15 and later, with the distance to the small ones.\nconstexpr Capitals kNewCapitals[] = {{\n{entries}}};\n"
    for name, (comment, is_member) in SETS.items():
        text += f"\n// {comment}\nconstexpr CharRange {name}[] = {{\n"
        line = "   "
        for first, last in ranges(is_member):
            entry = f" {{0x{first:X}, 0x{last:X}}},"
            if len(line) + len(entry) > 100:
                text += line + "\n"
                line = "   "
            line += entry
        text += line.rstrip(",") + "};\n"
    with open(sys.argv[1], "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
