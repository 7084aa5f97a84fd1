#!/usr/bin/env python3
"""Makes the goldens of this folder: small models of Hugging Face's own making, and their logits.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, seed 1.
Each folder holds a model as `save_pretrained` writes it, and expected.safetensors: `tokens` (B, T)
and the `logits` (B, T, V) that Hugging Face's model gives for them in float64.
Run: python make_goldens.py (writes beside itself).
"""

import json
import pathlib
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

HERE = pathlib.Path(__file__).resolve().parent


def config(**changes):
    """Width 8, so that the 8 x 8 attention output fits both ways round."""
    base = dict(vocab_size=13, n_positions=12, n_embd=8, n_layer=2, n_head=2,
                bos_token_id=0, eos_token_id=12)
    return GPT2Config(**(base | changes))


def rope_config(kind, **changes):
    """Grouped heads, so that queries and keys have different rows."""
    base = dict(vocab_size=13, max_position_embeddings=12, hidden_size=16, intermediate_size=20,
                num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=4,
                rms_norm_eps=1e-6, bos_token_id=0, eos_token_id=12,
                rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    return kind(**(base | changes))


def random_model(cfg, kind=GPT2LMHeadModel):
    """Every parameter drawn, biases and norms too: at their first values a slip would not show."""
    model = kind(cfg).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0, 0.3)
            if ("ln_" in name or "norm" in name) and name.endswith("weight"):
                parameter.add_(1)
    return model


def save_expected(model, folder):
    tokens = torch.randint(0, model.config.vocab_size, (2, 9))
    with torch.no_grad():
        logits = model.double()(tokens).logits
    save_file({"tokens": tokens, "logits": logits.float().contiguous()}, folder / "expected.safetensors")
    model.float()


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def save(name, model, **options):
    folder = fresh(name)
    model.save_pretrained(folder, **options)
    save_expected(model, folder)
    return folder


def main():
    torch.manual_seed(1)
    tied = random_model(config())
    save("gpt2_tied", tied)

    # The same weights as older releases and other tools wrote them: names of the bare model, the causal
    # mask and its filler beside them, the tied output once more.
    folder = fresh("gpt2_bare")
    shutil.copy(HERE / "gpt2_tied" / "config.json", folder)
    shutil.copy(HERE / "gpt2_tied" / "expected.safetensors", folder)
    weights = load_file(HERE / "gpt2_tied" / "model.safetensors")
    bare = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    for layer in range(2):
        bare[f"h.{layer}.attn.bias"] = torch.ones(12, 12).tril().bool().view(1, 1, 12, 12)
        bare[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    bare["lm_head.weight"] = bare["wte.weight"].clone()
    save_file(bare, folder / "model.safetensors", metadata={"format": "pt"})

    # The config ties, the file holds another output: Hugging Face goes by the file.
    folder = fresh("gpt2_tied_but_differs")
    shutil.copy(HERE / "gpt2_tied" / "config.json", folder)
    differing = dict(weights) | {"lm_head.weight": torch.randn(13, 8)}
    save_file(differing, folder / "model.safetensors", metadata={"format": "pt"})
    save_expected(GPT2LMHeadModel.from_pretrained(folder).eval(), folder)

    save("gpt2_untied", random_model(config(
        tie_word_embeddings=False, n_head=1, n_inner=20, activation_function="relu",
        layer_norm_epsilon=1e-2)))
    save("gpt2_gelu_sharded", random_model(config(activation_function="gelu")), max_shard_size="2KB")
    save("gpt2_silu", random_model(config(activation_function="silu", n_layer=1)))

    # Half-precision files: the logits are those of the rounded weights in full precision.
    for name, dtype in (("gpt2_f16", torch.float16), ("gpt2_bf16", torch.bfloat16)):
        model = random_model(config(n_layer=1)).to(dtype)
        save(name, model)
        # save_expected() turned the model to float32; the file holds what it was made from.
        assert load_file(HERE / name / "model.safetensors")["transformer.wte.weight"].dtype == dtype

    save("llama", random_model(rope_config(LlamaConfig, rms_norm_eps=1e-3), LlamaForCausalLM))
    save("llama_tied_biases", random_model(rope_config(
        LlamaConfig, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
        hidden_act="gelu"), LlamaForCausalLM))
    save("qwen3", random_model(rope_config(Qwen3Config), Qwen3ForCausalLM))

    folder = fresh("generation")
    GenerationConfig(
        do_sample=True, temperature=0.7, top_k=40, top_p=0.9, min_p=0.05, typical_p=0.95,
        repetition_penalty=1.2, no_repeat_ngram_size=3, max_new_tokens=20, min_new_tokens=2,
        bad_words_ids=[[3], [4, 5]], stop_strings=["\n\n", "END"],
        sequence_bias=[[[7], -1.5], [[2], 0.25]], eos_token_id=[12, 11], bos_token_id=0,
        pad_token_id=10, max_length=50, use_cache=False,
    ).save_pretrained(folder)

    save_file(
        {
            "bf16": torch.tensor([1.5, -2, 3.140625], dtype=torch.bfloat16),
            "f16": torch.tensor([65504, 5.9604645e-08], dtype=torch.float16),
            "f32": torch.tensor([1.5, -2, 0.25]),
            "f64": torch.tensor([1e300, -1e-300], dtype=torch.float64),
            "i8": torch.tensor([-128, 127], dtype=torch.int8),
            "u8": torch.tensor([0, 255], dtype=torch.uint8),
            "i16": torch.tensor([-32768, 32767], dtype=torch.int16),
            "i32": torch.tensor([-(2**31), 2**31 - 1], dtype=torch.int32),
            "i64": torch.tensor([-(2**63), 2**63 - 1], dtype=torch.int64),
            "bool": torch.tensor([True, False, True]),
        },
        HERE / "dtypes.safetensors",
        metadata={"made_by": "safetensors"},
    )
    for path in HERE.glob("*/generation_config.json"):
        if path.parent.name != "generation":
            path.unlink()
    print(json.dumps({p.name: sum(f.stat().st_size for f in p.iterdir()) for p in HERE.iterdir() if p.is_dir()}))


if __name__ == "__main__":
    main()
