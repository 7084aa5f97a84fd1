"""Compares `transformer-cli classify` with Hugging Face's library on pictures of other sizes than the model's.

    python check_pictures.py TRANSFORMER_CLI        transformers 5.24.0, Pillow 12.3.0; seed 5

For random tiny ViTs with several preprocessor_config.json, both turn the same PNG and JPEG files into
probabilities. Exits with 1 if any two differ by more than 1e-6. (Pillow 13 resizes columns before rows where
the height shrinks much more than the width; some bytes of such pictures then differ by one.)
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from PIL import Image
from transformers import CLIPImageProcessorPil, ViTConfig, ViTForImageClassification, ViTImageProcessorPil

PROCESSORS = {
    "squeezed": lambda: ViTImageProcessorPil(size={"height": 16, "width": 16}),
    "bicubic": lambda: ViTImageProcessorPil(size={"height": 16, "width": 16}, resample=3,
                                            image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225]),
    "cut": lambda: CLIPImageProcessorPil(size={"shortest_edge": 20}, crop_size={"height": 16, "width": 16}),
    "not normalised": lambda: ViTImageProcessorPil(size={"height": 16, "width": 16}, do_normalize=False),
}


def pictures(folder):
    random = numpy.random.default_rng(5)
    for height, width in ((37, 53), (16, 16), (90, 21), (5, 7)):
        image = Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=numpy.uint8))
        for ending in ("png", "jpg"):
            path = os.path.join(folder, f"{height}x{width}.{ending}")
            image.save(path)
            yield path


def main():
    cli = sys.argv[1]
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = list(pictures(folder))
        torch.manual_seed(5)
        model = ViTForImageClassification(ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                                    intermediate_size=32, image_size=16, patch_size=4, num_labels=5,
                                                    initializer_range=0.5)).eval()
        for name, make in PROCESSORS.items():
            processor, saved = make(), os.path.join(folder, "model")
            model.save_pretrained(saved)
            processor.save_pretrained(saved)
            lines = subprocess.run([cli, "classify", saved, *paths, "--json", "--top", "5", "--quiet"], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.splitlines()
            for path, line in zip(paths, lines, strict=True):
                with torch.inference_mode():
                    wanted = model(**processor(Image.open(path), return_tensors="pt")).logits.softmax(-1)[0]
                found = {entry["label"]: entry["probability"] for entry in json.loads(line)["classes"]}
                worst = max(worst, *(abs(wanted[i].item() - found[f"LABEL_{i}"]) for i in range(5)))
            print(f"{name}: {len(lines)} pictures, largest deviation so far {worst:.1e}")
    return worst > 1e-6


if __name__ == "__main__":
    sys.exit(main())
