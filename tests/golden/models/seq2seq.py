"""Outputs and gradients of PyTorch's own modules in float64: the goldens of tests/nn/recurrent_test.cpp and
tests/models/seq2seq_test.cpp. Each file holds the module's parameters (w.), what went in (x.), what came out (y.) and
the gradients of (output * probe).sum() (g.), under PyTorch's names.

Made with torch 2.13.0, safetensors, seed 4: python tests/golden/models/seq2seq.py tests/golden/models
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

B, S, T, D = 3, 5, 4, 8
LENGTHS = torch.tensor([5, 2, 3])


def save(path, module, given, results):
    tensors = {f"w.{name}": p.detach() for name, p in module.named_parameters()}
    tensors |= {f"g.{name}": p.grad for name, p in module.named_parameters()}
    tensors |= {f"x.{name}": x.detach() for name, x in given.items()}
    tensors |= {f"g.x.{name}": x.grad for name, x in given.items() if x.grad is not None}
    tensors |= {f"y.{name}": y.detach() for name, y in results.items()}
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, path)


def recurrent(folder, kind):
    torch.manual_seed(4)
    module = getattr(torch.nn, kind)(6, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    x = torch.randn(B, S, 6, dtype=torch.float64, requires_grad=True)
    packed, state = module(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
    output, _ = pad_packed_sequence(packed, batch_first=True, total_length=S)
    h, c = state if kind == "LSTM" else (state, None)
    results = {"output": output, "h": h} | ({} if c is None else {"c": c})
    given = {"x": x, "lengths": LENGTHS}
    loss = 0
    for name, y in results.items():
        probe = torch.randn_like(y)
        given[f"probe_{name}"] = probe
        loss = loss + (y * probe).sum()
    loss.backward()
    save(folder / f"{kind.lower()}.safetensors", module, given, results)


def transformer(folder, norm_first):
    torch.manual_seed(4)
    module = torch.nn.Transformer(
        d_model=D,
        nhead=2,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dim_feedforward=12,
        dropout=0.0,
        batch_first=True,
        norm_first=norm_first,
    ).double()
    if not norm_first:  # the paper has no norm behind the last post-norm block
        module.encoder.norm = module.decoder.norm = None
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    source = torch.randn(B, S, D, dtype=torch.float64, requires_grad=True)
    target = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True)
    padding = torch.arange(S) >= LENGTHS[:, None]
    output = module(
        source,
        target,
        tgt_mask=torch.ones(T, T).triu(1).bool(),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    probe = torch.randn_like(output)
    (output * probe).sum().backward()
    given = {"source": source, "target": target, "lengths": LENGTHS, "probe": probe}
    save(folder / f"transformer_{'pre' if norm_first else 'post'}.safetensors", module, given, {"output": output})


def main():
    folder = Path(sys.argv[1])
    for kind in ("RNN", "LSTM", "GRU"):
        recurrent(folder, kind)
    for norm_first in (False, True):
        transformer(folder, norm_first)


if __name__ == "__main__":
    main()
