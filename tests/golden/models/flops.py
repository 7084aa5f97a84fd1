"""FLOPs of one forward pass, counted by PyTorch over Hugging Face's modules: the goldens of
tests/models/cost_test.cpp. Weights are random: only the sizes count. Eager attention, since the counter does not know
the fused CPU kernel.

Made with torch 2.13.0, transformers 5.24.0: python tests/golden/models/flops.py
"""

import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig

TOKENS = 32


def flops_a_token(config):
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    tokens = torch.zeros(1, TOKENS, dtype=torch.long)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(tokens, use_cache=False)
    total = counter.get_total_flops()
    assert total % TOKENS == 0
    return total // TOKENS


def main():
    gpt2 = AutoConfig.for_model("gpt2")
    print("gpt2, 32 keys:", flops_a_token(gpt2))
    gated = LlamaConfig(
        vocab_size=1000,
        hidden_size=128,
        intermediate_size=344,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=TOKENS,
        tie_word_embeddings=True,
    )
    print("4 layers of RoPE, RMSNorm, SwiGLU, GQA 4/2, D 128, F 344, V 1000, 32 keys:", flops_a_token(gated))


if __name__ == "__main__":
    main()
