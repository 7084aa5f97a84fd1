#!/usr/bin/env python3
"""Makes attention.safetensors of this folder: what Hugging Face's models of ../checkpoint look at, and what their heads
do, worked out with loops in NumPy.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, numpy 2.4.6; no seed, the models and
inputs are those of ../checkpoint. Everything is float64, the attention "eager". Names begin with the folder's:
  <folder>.<layer>                    the weights (H, T, K) of the first input, without padding
  <folder>.<layer>.summary            (H, n), the numbers of SUMMARIES in their order, those that the model has
  <folder>.rollout                    (T, T), of bert_pre_training and vit_square
  marian_shared.{encoder,decoder,cross}.<layer> and their summaries
Run: python make_attention_goldens.py (writes beside itself).
"""
import math
import pathlib

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
CHECKPOINTS = HERE.parent / "checkpoint"
SUMMARIES = {  # in this order
    "self": ["entropy", "relative_entropy", "distance", "first", "previous", "self"],
    "causal": ["entropy", "relative_entropy", "distance", "first", "previous", "self"],
    "picture": ["entropy", "relative_entropy", "distance", "first", "self"],
    "cross": ["entropy", "relative_entropy", "first", "diagonality"],
}


def entropy(row):
    return -sum(a * math.log(a) for a in row if a > 0)


def summary(weights, kind, columns=None, patch=None):
    """Of one head. A causal map's first query has no choice and is left out."""
    queries, keys = weights.shape
    rows = range(1, queries) if kind == "causal" else range(queries)
    visible = [i + 1 if kind == "causal" else keys for i in range(queries)]
    found = {"entropy": np.mean([entropy(weights[i]) for i in rows]),
             "relative_entropy": np.mean([entropy(weights[i]) / math.log(visible[i]) for i in rows]),
             "first": np.mean([weights[i, 0] for i in rows])}
    if kind == "cross":
        i, j = np.meshgrid(np.arange(queries), np.arange(keys), indexing="ij")
        covariance = np.cov(i.ravel(), j.ravel(), aweights=weights.ravel(), ddof=0)
        found["diagonality"] = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    elif kind == "picture":
        def centre(key):  # of the patch behind the class token
            return np.array(divmod(key - 1, columns)) * patch
        pairs = [(i, j) for i in range(1, queries) for j in range(1, keys)]
        found["distance"] = (sum(weights[p] * np.linalg.norm(centre(p[0]) - centre(p[1])) for p in pairs)
                             / sum(weights[p] for p in pairs))
        found["self"] = np.mean([weights[i, i] for i in rows])
    else:
        found["distance"] = np.mean([sum(weights[i, j] * abs(i - j) for j in range(keys)) for i in rows])
        found["previous"] = np.mean([weights[i, i - 1] for i in range(1, queries)])
        found["self"] = np.mean([weights[i, i] for i in rows])
    return [found[name] for name in SUMMARIES[kind]]


def rollout(layers):
    """Abnar & Zuidema 2020, section 3.1."""
    size = layers[0].shape[-1]
    found = np.eye(size)
    for layer in layers:
        found = (0.5 * layer.mean(0) + 0.5 * np.eye(size)) @ found
    return torch.tensor(found)


def opened(kind, name):
    model = getattr(transformers, kind).from_pretrained(CHECKPOINTS / name, attn_implementation="eager",
                                                        dtype=torch.float64)
    return model.eval(), load_file(CHECKPOINTS / name / "expected.safetensors")


def main():
    goldens = {}

    def add(name, attentions, kind, **more):
        """@param attentions of each layer, (1, H, T, K)"""
        layers = [layer[0].numpy() for layer in attentions]
        for number, layer in enumerate(layers):
            goldens[f"{name}.{number}"] = torch.tensor(layer)
            goldens[f"{name}.{number}.summary"] = torch.tensor([summary(head, kind, **more) for head in layer])
        return layers

    with torch.no_grad():
        for name, kind in (("gpt2_tied", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM")):
            model, expected = opened(kind, name)
            add(name, model(expected["tokens"][:1], output_attentions=True).attentions, "causal")

        model, expected = opened("BertForPreTraining", "bert_pre_training")
        length = expected["lengths"][0]
        found = model(expected["tokens"][:1, :length], token_type_ids=expected["segments"][:1, :length],
                      output_attentions=True).attentions
        goldens["bert_pre_training.rollout"] = rollout(add("bert_pre_training", found, "self"))

        model, expected = opened("ViTForImageClassification", "vit_square")
        found = model(expected["images"][:1].double(), output_attentions=True).attentions
        goldens["vit_square.rollout"] = rollout(add("vit_square", found, "picture", columns=2, patch=4))

        model, expected = opened("MarianMTModel", "marian_shared")
        found = model(expected["source"][:1, :expected["lengths"][0]], decoder_input_ids=expected["inputs"][:1],
                      output_attentions=True)
        add("marian_shared.encoder", found.encoder_attentions, "self")
        add("marian_shared.decoder", found.decoder_attentions, "causal")
        add("marian_shared.cross", found.cross_attentions, "cross")
    save_file({name: tensor.contiguous() for name, tensor in goldens.items()}, HERE / "attention.safetensors")


if __name__ == "__main__":
    main()
