#!/usr/bin/env python3
"""Makes the goldens vit_* of this folder: small models of Hugging Face's own making, and what they give for random
pictures.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, seed 6.
Each folder holds a model as `save_pretrained` writes it, and expected.safetensors: `images` (B, X, Y, Z), and in
float64 the `hidden` states (B, T, D) behind the last norm and the `logits` (B, C); `attention_<layer>` (B, H, T, T) of
`images`; of vit_square also `other_images` of other sizes, not square, with `other_logits` (positions interpolated,
which Hugging Face does from a square grid only).
vit_timm holds a model's weights under timm's names, with a config.json as timm's hub folders have it: the expected
values are those of Hugging Face's model with the same numbers.
Run: python make_vit_goldens.py (writes beside itself).
"""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent


def save(name, size, other=None, **changes):
    config = transformers.ViTConfig(**(dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
                                            intermediate_size=12, image_size=size, patch_size=4, num_channels=3,
                                            id2label={0: "no", 1: "maybe", 2: "yes"},
                                            attn_implementation="eager") | changes))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model = transformers.ViTForImageClassification(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.save_pretrained(folder)
    height, width = (size, size) if isinstance(size, int) else size
    images = torch.randn(2, config.num_channels, height, width)
    model.double()
    with torch.no_grad():
        found = model(images.double(), output_hidden_states=True, output_attentions=True)
        hidden = model.vit(images.double()).last_hidden_state
    expected = {"images": images, "hidden": hidden, "logits": found.logits}
    if other:
        others = torch.randn(2, config.num_channels, *other)
        with torch.no_grad():
            expected["other_logits"] = model(others.double(), interpolate_pos_encoding=True).logits
        expected["other_images"] = others
    expected |= {f"attention_{layer}": weights for layer, weights in enumerate(found.attentions)}
    save_file({key: tensor.contiguous() for key, tensor in expected.items()}, folder / "expected.safetensors")


def save_as_timm(name, size):
    """Turns a folder of Hugging Face's into one of timm's."""
    folder = HERE / name
    theirs = load_file(folder / "model.safetensors")
    ours = {}
    for layer in range(2):
        for kind in ("weight", "bias"):
            old, new = f"vit.encoder.layer.{layer}.", f"blocks.{layer}."
            parts = [theirs.pop(f"{old}attention.attention.{part}.{kind}") for part in ("query", "key", "value")]
            ours[f"{new}attn.qkv.{kind}"] = torch.cat(parts)
            for left, right in (("attention.output.dense", "attn.proj"), ("layernorm_before", "norm1"),
                                ("layernorm_after", "norm2"), ("intermediate.dense", "mlp.fc1"),
                                ("output.dense", "mlp.fc2")):
                ours[f"{new}{right}.{kind}"] = theirs.pop(f"{old}{left}.{kind}")
    for left, right in (("vit.embeddings.cls_token", "cls_token"),
                        ("vit.embeddings.position_embeddings", "pos_embed"),
                        ("vit.embeddings.patch_embeddings.projection", "patch_embed.proj"),
                        ("vit.layernorm", "norm"), ("classifier", "head")):
        for key in [key for key in theirs if key.startswith(left)]:
            ours[right + key[len(left):]] = theirs.pop(key)
    assert not theirs
    save_file(ours, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "architecture": f"vit_tiny_patch4_{size}", "num_classes": 3, "num_features": 8, "global_pool": "token",
        "label_names": ["no", "maybe", "yes"],
        "model_args": {"embed_dim": 8, "depth": 2, "num_heads": 2, "mlp_ratio": 1.5, "drop_path_rate": 0.1},
        "pretrained_cfg": {"tag": "golden", "input_size": [3, size, size], "mean": [0.5, 0.5, 0.5],
                           "std": [0.5, 0.5, 0.5], "interpolation": "bicubic", "num_classes": 3,
                           "first_conv": "patch_embed.proj", "classifier": "head"}}, indent=2) + "\n")


def main():
    torch.manual_seed(6)
    save("vit_square", 8, (12, 20))
    save("vit_wide", (8, 16), num_channels=1, hidden_act="relu", layer_norm_eps=1e-3)
    save("vit_timm", 8, layer_norm_eps=1e-6)
    save_as_timm("vit_timm", 8)


if __name__ == "__main__":
    main()
