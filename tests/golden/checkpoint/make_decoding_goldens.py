#!/usr/bin/env python3
"""Makes decoding.safetensors in the folders of language models that make_goldens.py made: what Hugging Face's models
give for padded rows, and greedy decoding.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, seed 8.
`tokens` (B, T) padded at the left, `left_pad` (B) of each row, the `logits` (B, T, V) in float64, of which those at
padding mean nothing; `greedy` (B, 6): the new tokens of greedy decoding of these rows.
Run: python make_decoding_goldens.py (writes beside itself).
"""
import pathlib

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent


def main():
    torch.manual_seed(8)
    for name in ("gpt2_tied", "gpt2_untied", "gpt2_gelu_sharded", "llama", "llama_tied_biases", "qwen3"):
        folder = HERE / name
        model = transformers.AutoModelForCausalLM.from_pretrained(folder).double().eval()
        tokens = torch.randint(1, 12, (3, 6))
        left_pad = torch.tensor([0, 2, 5])
        mask = (torch.arange(6) >= left_pad[:, None]).long()
        places = (mask.cumsum(1) - 1).clamp(min=0)
        with torch.no_grad():
            logits = model(tokens, attention_mask=mask, position_ids=places).logits
            alone = model(tokens[1:2, 2:]).logits
            assert (alone - logits[1:2, 2:]).abs().max() < 1e-12
            # The end token is one like any other here, so that each row has as many.
            found = model.generate(tokens, attention_mask=mask, num_beams=1, do_sample=False, max_new_tokens=6,
                                   eos_token_id=None, pad_token_id=0)
        save_file({"tokens": tokens, "left_pad": left_pad, "logits": logits.float().contiguous(),
                   "greedy": found[:, 6:].contiguous()}, folder / "decoding.safetensors")


if __name__ == "__main__":
    main()
