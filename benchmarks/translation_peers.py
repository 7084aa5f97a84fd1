#!/usr/bin/env python3
"""The peers of benchmarks/run in translation: Hugging Face's Marian, CTranslate2 and a plain PyTorch RNN,
timed as their users run them.

    translation_peers.py train-transformer-hf PAIRS | train-rnn-plain PAIRS | beam-hf SOURCES | beam-ct2 SOURCES

PAIRS holds words that are numbers, "5 17 8<TAB>9 3 3"; SOURCES ids, a sentence a line, each with its end.
Prints one JSON object: tokens (both sides, end tokens included, padding not) or sentences a second. Threads
follow OMP_NUM_THREADS.
"""
import json
import os
import random
import sys
import tempfile
import time

BATCH = 64  # pairs in a training step
VOCAB = {"transformer": 32000, "rnn": 8000}
SPECIAL = 3  # pad, end and begin of a sentence come before the words
BEAM_SIZE, NEW_TOKENS = 5, 20


def read_sources(path):
    with open(path) as lines:
        return [[int(word) for word in line.split()] for line in lines]


def batches(torch, path, seed=1):
    """Endless batches of pairs in random order, padded to their longest, as a data collator makes them."""
    with open(path) as lines:
        pairs = [[[int(word) + SPECIAL for word in side.split()] + [1] for side in line.split("\t")] for line in lines]
    order = random.Random(seed)
    pad = lambda rows, value: torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, value)
    while True:
        order.shuffle(pairs)
        for at in range(0, len(pairs) - BATCH + 1, BATCH):
            chosen = pairs[at:at + BATCH]
            source, target = pad([s for s, _ in chosen], 0), pad([t for _, t in chosen], -100)
            yield source, torch.tensor([len(s) for s, _ in chosen]), target


def train(torch, model, loss_of, path, steps, warm_up=2):
    """Tokens a second of `steps` optimizer steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens, start = 0, 0.0
    for step, (source, lengths, target) in zip(range(warm_up + steps), batches(torch, path)):
        if step == warm_up:
            tokens, start = 0, time.perf_counter()
        loss = loss_of(source, lengths, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        tokens += int((target != -100).sum() + lengths.sum())
    return {"rate": tokens / (time.perf_counter() - start)}


def marian():
    """The base model of Vaswani et al. 2017 in Marian's form, random weights."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(MarianConfig(
        vocab_size=VOCAB["transformer"], d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="relu", dropout=0.1,
        attention_dropout=0.0, scale_embedding=True, pad_token_id=0, eos_token_id=1, decoder_start_token_id=2,
        forced_eos_token_id=None, max_position_embeddings=512))


def train_transformer_hf(path):
    import torch

    torch.manual_seed(1)
    model = marian()
    model.train()

    def loss_of(source, lengths, target):
        return model(input_ids=source, attention_mask=(source != 0).long(), labels=target).loss

    return train(torch, model, loss_of, path, steps=8)


def train_rnn_plain(path):
    """Bahdanau's model as a good programmer writes it: the source's keys are computed once, and the output
    layer reads all steps at once."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Rnn(nn.Module):
        def __init__(self, vocab, d=256):
            super().__init__()
            self.source, self.target = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
            self.encoder = nn.GRU(d, d, batch_first=True, bidirectional=True)
            self.bridge = nn.Linear(2 * d, d)
            self.cell = nn.GRUCell(3 * d, d)
            self.query, self.key, self.score = nn.Linear(d, d, bias=False), nn.Linear(2 * d, d), nn.Linear(d, 1, bias=False)
            self.readout = nn.Linear(4 * d, d)
            self.output = nn.Linear(d, vocab)

        def forward(self, source, lengths, inputs, targets):
            packed = nn.utils.rnn.pack_padded_sequence(self.source(source), lengths, batch_first=True, enforce_sorted=False)
            memory, last = self.encoder(packed)
            memory, _ = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True)
            state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
            keys, padding = self.key(memory), source == 0
            read = []
            for token in self.target(inputs).unbind(1):
                scores = self.score(torch.tanh(keys + self.query(state).unsqueeze(1))).squeeze(2)
                weights = scores.masked_fill(padding, float("-inf")).softmax(1)
                context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
                state = self.cell(torch.cat([token, context], 1), state)
                read.append(torch.cat([state, context, token], 1))
            hidden = torch.tanh(self.readout(torch.stack(read, 1)))
            return F.cross_entropy(self.output(hidden).flatten(0, 1), targets.flatten(), ignore_index=-100)

    torch.manual_seed(1)
    model = Rnn(VOCAB["rnn"])

    def loss_of(source, lengths, target):
        inputs = torch.cat([torch.full((len(target), 1), 2), target[:, :-1].clamp(min=0)], 1)
        return model(source, lengths, inputs, target)

    return train(torch, model, loss_of, path, steps=30)


def rate_of(translate, sources):
    """Sentences a second: the median of three passes, after one."""
    translate(sources)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        translate(sources)
        times.append(time.perf_counter() - start)
    return {"rate": len(sources) / sorted(times)[1]}


def beam_hf(path):
    import torch

    torch.manual_seed(1)
    model = marian()
    model.eval()

    def translate(rows):
        rows = sorted(rows, key=len)
        for at in range(0, len(rows), 32):
            batch = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows[at:at + 32]], True, 0)
            with torch.inference_mode():
                out = model.generate(batch, attention_mask=(batch != 0).long(), num_beams=BEAM_SIZE,
                                     max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS,
                                     do_sample=False)
            assert out.shape[1] == NEW_TOKENS + 1

    return rate_of(translate, read_sources(path))


def random_ct2_model(folder):
    """The same shape in CTranslate2's form, float32."""
    import numpy
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    numbers = numpy.random.default_rng(1)
    d, ff, vocab = 512, 2048, VOCAB["transformer"]
    uniform = lambda *shape: numbers.uniform(-1, 1, shape).astype(numpy.float32) / numpy.float32(shape[-1] ** 0.5)

    def linear(part, rows, columns):
        part.weight, part.bias = uniform(rows, columns), numpy.zeros(rows, numpy.float32)

    def norm(part):
        part.gamma, part.beta = numpy.ones(d, numpy.float32), numpy.zeros(d, numpy.float32)

    spec = TransformerSpec.from_config((6, 6), 8, pre_norm=False, activation=Activation.RELU)
    table = uniform(vocab, d)
    for side in (spec.encoder, spec.decoder):
        for embeddings in side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]:
            embeddings.weight, embeddings.multiply_by_sqrt_depth = table, True
        for layer in side.layer if hasattr(side, "layer") else side.layers:
            attention = layer.self_attention
            linear(attention.linear[0], 3 * d, d)
            linear(attention.linear[1], d, d)
            norm(attention.layer_norm)
            if side is spec.decoder:
                linear(layer.attention.linear[0], d, d)
                linear(layer.attention.linear[1], 2 * d, d)
                linear(layer.attention.linear[2], d, d)
                norm(layer.attention.layer_norm)
            linear(layer.ffn.linear_0, ff, d)
            linear(layer.ffn.linear_1, d, ff)
            norm(layer.ffn.layer_norm)
    spec.decoder.projection.weight = table
    words = ["<pad>", "</s>", "<s>"] + [str(i) for i in range(SPECIAL, vocab)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.unk_token = "<pad>"
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(folder)
    return words


def beam_ct2(path):
    import ctranslate2

    threads = int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        words = random_ct2_model(folder)
        translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=threads)

    def translate(rows):
        found = translator.translate_batch([[words[i] for i in row] for row in rows], max_batch_size=32,
                                           beam_size=BEAM_SIZE, max_decoding_length=NEW_TOKENS,
                                           min_decoding_length=NEW_TOKENS)
        assert all(len(result.hypotheses[0]) == NEW_TOKENS for result in found)

    return rate_of(translate, read_sources(path))


if __name__ == "__main__":
    timed = {"train-transformer-hf": train_transformer_hf, "train-rnn-plain": train_rnn_plain, "beam-hf": beam_hf,
             "beam-ct2": beam_ct2}
    if len(sys.argv) < 2 or sys.argv[1] not in timed:
        sys.exit(__doc__)
    print(json.dumps(timed[sys.argv[1]](*sys.argv[2:])))
