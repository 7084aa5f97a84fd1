#!/usr/bin/env python3
"""Compares `transformer-cli embed` on all-MiniLM-L6-v2 with Hugging Face's float32 hidden states, pooled in three ways.

    scripts/get_minilm && python tests/golden/checkpoint/check_minilm.py build/release/transformer-cli data/minilm

Needs transformers and numpy. The texts are the lines of this file and of the README, so that lengths and characters
vary. Prints the largest deviation of each way; exit code 1 above 1e-5.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[3]


def main():
    command, folder = sys.argv[1:]
    lines = (pathlib.Path(__file__).read_text() + (ROOT / "README.md").read_text()).splitlines()
    texts = [line for line in lines if line.strip()] + ["Crème Brûlée À Ñandú 中文", "a"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    expected = {"cls": [], "mean": [], "max": []}
    for text in texts:
        with torch.no_grad():
            hidden = model(**tokenizer(text, truncation=True, max_length=512, return_tensors="pt")).last_hidden_state[0]
        expected["cls"].append(hidden[0])
        expected["mean"].append(hidden.mean(0))
        expected["max"].append(hidden.amax(0))
    worst = 0
    with tempfile.TemporaryDirectory() as scratch:
        source, target = pathlib.Path(scratch, "texts"), pathlib.Path(scratch, "vectors.npy")
        source.write_text("\n".join(texts) + "\n")
        for pooling, rows in expected.items():
            subprocess.run([command, "embed", folder, "-i", source, "-o", target, "--pooling", pooling, "--quiet"],
                           check=True)
            deviation = numpy.abs(numpy.load(target) - torch.stack(rows).numpy()).max()
            worst = max(worst, deviation)
            print(f"{pooling}: {len(rows)} texts, largest deviation {deviation:.2e}")
    sys.exit(int(worst > 1e-5))


if __name__ == "__main__":
    main()
