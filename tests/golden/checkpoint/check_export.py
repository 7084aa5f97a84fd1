#!/usr/bin/env python3
"""Opens folders that our save_model() wrote with Hugging Face's library and compares the logits.

Each folder holds expected.safetensors: `tokens` (B, T) and our `logits` (B, T, V). Make them with
    zoo_test_checkpoint --gtest_also_run_disabled_tests --gtest_filter='*WritesFoldersForPython'
(it writes ./exports), then run: python check_export.py exports
Fails if a logit differs by more than 1e-4 or a parameter is missing or unexpected.
"""

import pathlib
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, GenerationConfig


def main():
    worst = 0.0
    folders = sorted(p.parent for p in pathlib.Path(sys.argv[1]).glob("*/expected.safetensors"))
    for folder in folders:
        model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        assert not any(report.values()), f"{folder}: {report}"
        GenerationConfig.from_pretrained(folder)
        expected = load_file(folder / "expected.safetensors")
        with torch.no_grad():
            logits = model.eval()(expected["tokens"]).logits
        deviation = (logits - expected["logits"]).abs().max().item()
        print(f"{folder.name}: {type(model).__name__}, largest deviation {deviation:.2e}")
        worst = max(worst, deviation)
    assert folders and worst <= 1e-4, f"{len(folders)} folders, largest deviation {worst}"


if __name__ == "__main__":
    main()
