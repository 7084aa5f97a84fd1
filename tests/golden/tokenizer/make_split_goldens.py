#!/usr/bin/env python3
"""Makes bpe_splits.json of this folder: the ids that Hugging Face's tokenizers gives with the vocabulary of bpe/ when
text becomes words as in Llama 3, Qwen 2 and SmolLM, whose own vocabularies are large.

Made with Python 3.11, tokenizers 0.23.3, seed 3.
Run: python make_split_goldens.py (writes beside itself).
"""
import json
import pathlib
import random

from tokenizers import Tokenizer

import generate

HERE = pathlib.Path(__file__).resolve().parent
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEXTS = ["I'LL DON'T he'S 'Re 'ſ x'ſy", "a.b(c)", "\tx\t y", "x \n\n  y", "!\n\n?\r\nz", "  \r\n  x", "12345 1234567", "x  1 2\t3", "٣٤٥٦½ Ⅷ7",
         "e\u0301 n\u0303 \u1100\u1161", "\u212b \u2126", "a\u0323\u0307 q\u0307\u0323", "\n", " \n", "\n ", "$ 5", "-5", "x\u00a0y", "\u3000\nz",
         "wherefore art thou", "Coriolanus Volscians", "'", "' s", "don't", "%s%%\n", "\r", "x\r\ry", "۞۞ ۞a"]


def split(pattern):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


KINDS = {
    "llama3": {"pre_tokenizer": split(PATTERN % r"\p{N}{1,3}"), "normalizer": None, "ignore_merges": True},
    "qwen2": {"pre_tokenizer": split(PATTERN % r"\p{N}"), "normalizer": {"type": "NFC"}, "ignore_merges": False},
    "gpt2_digits": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
        "normalizer": None, "ignore_merges": False},
}


def main():
    rng = random.Random(3)
    texts = generate.TEXTS + TEXTS
    parts = [text for text in texts if text]
    texts = texts + generate.random_texts(rng, 150) + ["".join(rng.choices(parts, k=rng.choice([2, 3, 5]))) for _ in range(150)]
    trained = json.loads((HERE / "bpe/tokenizer.json").read_text(encoding="utf-8"))
    # Without its first merges, t h and Ġ th, words such as "the" are tokens that no pairs lead to.
    del trained["model"]["merges"][:2]
    lines = []
    for name, settings in KINDS.items():
        state = json.loads(json.dumps(trained))
        state["pre_tokenizer"], state["normalizer"] = settings["pre_tokenizer"], settings["normalizer"]
        state["model"]["ignore_merges"] = settings["ignore_merges"]
        tokenizer = Tokenizer.from_str(json.dumps(state))
        tokenizer.encode_special_tokens = True
        cases = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
        body = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        lines.append(f'{json.dumps(name)}: {{"settings": {json.dumps(settings)}, "encode": [\n{body}]}}')
    (HERE / "bpe_splits.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
