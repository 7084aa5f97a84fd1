#!/usr/bin/env python3
"""Opens folders that our save_model() wrote with Hugging Face's library and compares the logits.

Each folder holds expected.safetensors: `tokens` (B, T) and our `logits` (B, T, V); of encoders what
make_bert_goldens.py and make_vit_goldens.py say; of translation models the sources as `tokens`, their
`lengths` and the decoder's `inputs`, and in expected.json texts with the ids of either side. Make them with
    zoo_test_checkpoint --gtest_also_run_disabled_tests --gtest_filter='*WritesFoldersForPython'
(it writes ./exports), then run: python check_export.py exports
Fails if a logit differs by more than 1e-4 or a parameter is missing or unexpected.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file


def main():
    worst = 0.0
    folders = sorted(p.parent for p in pathlib.Path(sys.argv[1]).glob("*/expected.safetensors"))
    for folder in folders:
        kind = transformers.AutoConfig.from_pretrained(folder).architectures[0]
        model, report = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
        # An untied output of BERT has a bias that nothing reads.
        unexpected = {key: set(names) - {"cls.predictions.bias"} for key, names in report.items() if names}
        assert not any(unexpected.values()), f"{folder}: {report}"
        if (folder / "generation_config.json").exists():
            transformers.GenerationConfig.from_pretrained(folder)
        expected = load_file(folder / "expected.safetensors")
        given = {"pixel_values": expected["images"]} if "images" in expected else {"input_ids": expected["tokens"]}
        if "lengths" in expected:
            given["attention_mask"] = (torch.arange(given["input_ids"].shape[1]) < expected["lengths"][:, None]).long()
        if "inputs" in expected:
            given["decoder_input_ids"] = expected["inputs"]
        if "segments" in expected:
            given["token_type_ids"] = expected["segments"]
        with torch.no_grad():
            output = model.eval()(**given)
        found = output[0]  # logits, or hidden states
        wanted = expected["logits"] if "logits" in expected else expected["hidden"]
        difference = (found - wanted).abs()
        if "lengths" in expected and "inputs" not in expected and difference.dim() == 3:
            difference = difference * given["attention_mask"].unsqueeze(2)
        deviation = difference.max().item()
        print(f"{folder.name}: {type(model).__name__}, largest deviation {deviation:.2e}")
        worst = max(worst, deviation)
        if (folder / "expected.json").exists():
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            for texts in json.loads((folder / "expected.json").read_text()):
                for side, key in (("source", "text"), ("target", "text_target")):
                    ids = tokenizer(**{key: texts[side]["text"]}).input_ids
                    assert ids == texts[side]["ids"], f"{folder}: {texts[side]}, but {ids}"
            print(f"{folder.name}: {type(tokenizer).__name__} gives the same ids")
    assert folders and worst <= 1e-4, f"{len(folders)} folders, largest deviation {worst}"


if __name__ == "__main__":
    main()
