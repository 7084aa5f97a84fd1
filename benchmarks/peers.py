#!/usr/bin/env python3
"""The peers of benchmarks/run: a plain PyTorch module and Hugging Face's GPT-2, timed as their users run them.

    peers.py train-step-plain | train-step-hf | generate-hf BATCH | first-token-hf FOLDER
             encode-hf | mlm-step-hf | see-hf | vit-step-hf

Prints one JSON object. Threads follow OMP_NUM_THREADS.
"""
import json
import sys
import time


def median_time(step, seconds, warm_up=5):
    """Median seconds of one call, over about `seconds` of calls."""
    for _ in range(warm_up):
        step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def plain_gpt(torch):
    """The nanoGPT CPU configuration as an ordinary module: 4 layers, 4 heads, width 128, no biases."""
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.heads = heads
            self.norm1 = nn.LayerNorm(d, bias=False)
            self.qkv = nn.Linear(d, 3 * d, bias=False)
            self.out = nn.Linear(d, d, bias=False)
            self.norm2 = nn.LayerNorm(d, bias=False)
            self.up = nn.Linear(d, 4 * d, bias=False)
            self.down = nn.Linear(4 * d, d, bias=False)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = self.qkv(self.norm1(x)).split(d, dim=2)
            q, k, v = (y.view(b, t, self.heads, d // self.heads).transpose(1, 2) for y in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(b, t, d))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self, vocab=65, length=64, layers=4, heads=4, d=128):
            super().__init__()
            self.tokens = nn.Embedding(vocab, d)
            self.positions = nn.Embedding(length, d)
            self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
            self.norm = nn.LayerNorm(d, bias=False)
            self.output = nn.Linear(d, vocab, bias=False)
            self.output.weight = self.tokens.weight

        def forward(self, ids, targets):
            x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            logits = self.output(self.norm(x))
            return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    return Gpt()


def hf_gpt(torch):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=65, n_positions=64, n_embd=128, n_layer=4, n_head=4,
                        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config)
    model.train()
    return lambda ids, targets: model(input_ids=ids, labels=targets).loss, model


def train_step(make):
    import torch

    torch.manual_seed(1)
    made = make(torch)
    loss_of, model = made if isinstance(made, tuple) else (made, made)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.99))
    data = torch.randint(0, 65, (100_000,))

    def step():
        starts = torch.randint(len(data) - 65, (12,))
        ids = torch.stack([data[i:i + 64] for i in starts])
        targets = torch.stack([data[i + 1:i + 65] for i in starts])
        loss = loss_of(ids, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return {"seconds": median_time(step, 8.0, warm_up=20)}


def generate_hf(batch):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config())
    model.eval()
    prompt = torch.randint(0, 50257, (batch, 32))
    mask = torch.ones_like(prompt)

    def run():
        with torch.inference_mode():
            out = model.generate(prompt, attention_mask=mask, max_new_tokens=128, min_new_tokens=128,
                                 do_sample=False, pad_token_id=50256)
        assert out.shape[1] == 160

    return {"seconds": median_time(run, 20.0, warm_up=1)}


def first_token_hf(folder):
    """What a script pays until its first token: imports, loading, prompt."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.inference_mode():
        ids = torch.tensor([[1, 2, 3, 4]])
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, pad_token_id=0)
    return {}


def forward_hf(what):
    import torch
    from transformers import BertConfig, BertModel, ViTConfig, ViTForImageClassification

    torch.manual_seed(1)
    if what == "encode-hf":
        model, inputs = BertModel(BertConfig()), {"input_ids": torch.randint(0, 30522, (8, 128))}
    else:
        model, inputs = ViTForImageClassification(ViTConfig(num_labels=1000)), {"pixel_values": torch.randn(8, 3, 224, 224)}
    model.eval()

    def run():
        with torch.inference_mode():
            model(**inputs)

    return {"seconds": median_time(run, 10.0, warm_up=2)}


def encoder_step_hf(what):
    """A step as Hugging Face's Trainer takes it: AdamW, clipping, new data each time."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, ViTConfig, ViTForImageClassification

    torch.manual_seed(1)
    if what == "mlm-step-hf":
        model = BertForMaskedLM(BertConfig())

        def draw():
            ids = torch.randint(5, 30522, (8, 128))
            chosen = torch.rand(ids.shape) < 0.15
            labels = ids.masked_fill(~chosen, -100)
            return {"input_ids": ids.masked_fill(chosen & (torch.rand(ids.shape) < 0.8), 4), "labels": labels}
    else:
        model = ViTForImageClassification(ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3,
                                                    intermediate_size=768, image_size=32, patch_size=4, num_labels=10))
        pictures = torch.randn(1024, 3, 32, 32)

        def draw():
            rows = torch.randint(0, 1024, (64,))
            return {"pixel_values": pictures[rows], "labels": rows % 10}

    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        loss = model(**draw()).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return {"seconds": median_time(step, 15.0, warm_up=2)}


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "train-step-plain":
        result = train_step(plain_gpt)
    elif what == "train-step-hf":
        result = train_step(hf_gpt)
    elif what == "generate-hf":
        result = generate_hf(int(sys.argv[2]))
    elif what == "first-token-hf":
        result = first_token_hf(sys.argv[2])
    elif what in ("encode-hf", "see-hf"):
        result = forward_hf(what)
    elif what in ("mlm-step-hf", "vit-step-hf"):
        result = encoder_step_hf(what)
    else:
        sys.exit(__doc__)
    print(json.dumps(result))
