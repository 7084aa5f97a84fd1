#!/usr/bin/env python3
"""Outputs and gradients of Hugging Face's BERT in float64: the golden of tests/models/bert_test.cpp.

bert.safetensors holds the parameters of a BertForPreTraining (w.), a batch of padded pairs (x.), the hidden
states of each layer, the pooled vectors and both heads' logits (y.), and the gradients of
(y.tokens * x.probe).sum() + (y.pairs * x.pair_probe).sum() over real tokens (g.), under its names.

Made with torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, seed 4: bert.py tests/golden/models
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining

B, T, V = 3, 7, 19
LENGTHS = torch.tensor([7, 3, 5])


def main():
    torch.manual_seed(4)
    config = BertConfig(vocab_size=V, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                        max_position_embeddings=9, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForPreTraining(config).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    tokens = torch.randint(1, V, (B, T))  # its embedding of token 0, padding, learns nothing
    segments = torch.randint(2, (B, T))
    mask = (torch.arange(T) < LENGTHS[:, None]).long()
    output = model(input_ids=tokens, token_type_ids=segments, attention_mask=mask, output_hidden_states=True)
    pooled = model.bert.pooler(output.hidden_states[-1])
    probe = torch.randn(B, T, V, dtype=torch.float64) * mask.unsqueeze(-1)
    pair_probe = torch.randn(B, 2, dtype=torch.float64)
    ((output.prediction_logits * probe).sum() + (output.seq_relationship_logits * pair_probe).sum()).backward()
    tensors = {f"w.{name}": p.detach() for name, p in model.named_parameters()}
    tensors |= {f"g.{name}": p.grad for name, p in model.named_parameters()}
    tensors |= {"x.tokens": tokens, "x.segments": segments, "x.lengths": LENGTHS, "x.probe": probe, "x.pair_probe": pair_probe}
    tensors |= {f"y.hidden{i}": hidden.detach() for i, hidden in enumerate(output.hidden_states)}
    tensors |= {"y.pooled": pooled.detach(), "y.tokens": output.prediction_logits.detach(),
                "y.pairs": output.seq_relationship_logits.detach()}
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, Path(sys.argv[1]) / "bert.safetensors")


if __name__ == "__main__":
    main()
