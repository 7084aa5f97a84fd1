#!/usr/bin/env python3
"""Makes bert_pairs.json of this folder: texts and pairs of texts as Hugging Face's BERT tokenizer frames and cuts them.

Made with Python 3.11, transformers 5.24.0, tokenizers 0.23.3. Run: python make_pair_goldens.py
"""
import json
import pathlib
import tempfile

import transformers

HERE = pathlib.Path(__file__).resolve().parent
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list("abcdefghijklmnopqrstuvwxyz")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocab.txt"
        path.write_text("\n".join(PIECES) + "\n")
        tokenizer = transformers.BertTokenizer(str(path))
    cases = []
    for first in range(0, 10, 3):
        for second in (None, 0, 1, 4, 5, 6, 9):
            for longest in (5, 6, 8, 9, 12, 30):
                a = " ".join("abcdefghij"[:first])
                b = None if second is None else " ".join("klmnopqrst"[:second])
                # As a batch: alone, an empty second text would count as none.
                found = tokenizer([a], None if b is None else [b], truncation="longest_first", max_length=longest)
                cases.append({"a": a, "b": b, "max_length": longest, "ids": found["input_ids"][0],
                              "segments": found["token_type_ids"][0]})
    with open(HERE / "bert_pairs.json", "w") as file:
        json.dump({"pieces": PIECES, "cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
