#!/usr/bin/env python3
"""Writes sampling.json: what Hugging Face's logits processors and warpers make of given logits.

    python tests/golden/make_sampling.py      made with transformers 5.24.0, torch 2.13.0; no random numbers
"""
import json
import math
import pathlib

import torch
import transformers
from transformers.generation import logits_process as hf

V = 40
logits = [round(3 * math.sin(1.7 * i) + math.cos(0.3 * i * i), 4) for i in range(V)]
history = [3, 5, 3, 8, 21, 3, 5, 3, 9, 3, 5]

CASES = [
    {"temperature": 0.7},
    {"temperature": 1.5, "top_k": 7},
    {"top_p": 0.3},
    {"top_p": 0.9},
    {"min_p": 0.1},
    {"typical_p": 0.2},
    {"typical_p": 0.9},
    {"temperature": 0.8, "top_k": 25, "top_p": 0.85, "min_p": 0.05, "typical_p": 0.8},
    {"temperature": 2.0, "top_p": 0.6, "typical_p": 0.5},
    {"repetition_penalty": 1.8},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3},
    {"banned_sequences": [[7], [5, 11], [3, 5, 13], [5, 3, 14]]},
]


def steps(case):
    """In the order in which generate() applies them."""
    if "repetition_penalty" in case:
        yield hf.RepetitionPenaltyLogitsProcessor(case["repetition_penalty"])
    if "no_repeat_ngram_size" in case:
        yield hf.NoRepeatNGramLogitsProcessor(case["no_repeat_ngram_size"])
    if "banned_sequences" in case:
        yield hf.NoBadWordsLogitsProcessor(case["banned_sequences"])
    if "temperature" in case:
        yield hf.TemperatureLogitsWarper(case["temperature"])
    if "top_k" in case:
        yield hf.TopKLogitsWarper(case["top_k"])
    if "top_p" in case:
        yield hf.TopPLogitsWarper(case["top_p"])
    if "min_p" in case:
        yield hf.MinPLogitsWarper(case["min_p"])
    if "typical_p" in case:
        yield hf.TypicalLogitsWarper(case["typical_p"])


results = []
for case in CASES:
    scores = torch.tensor([logits], dtype=torch.float64)
    for step in steps(case):
        scores = step(torch.tensor([history]), scores)
    probabilities = scores.softmax(-1)[0].tolist()
    results.append({"options": {"sample": True, **case}, "probabilities": probabilities})

path = pathlib.Path(__file__).with_name("sampling.json")
path.write_text(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__,
                            "logits": logits, "history": history, "cases": results}, indent=1) + "\n")
