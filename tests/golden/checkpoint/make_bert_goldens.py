#!/usr/bin/env python3
"""Makes the goldens bert_* and distilbert_* of this folder: small models of Hugging Face's own making, and what they
give for a padded batch.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, safetensors 0.8.0, seed 2.
Each folder holds a model as `save_pretrained` writes it, and expected.safetensors: `tokens` (B, T), `segments` where
the model has them, `lengths` (B), and in float64 the last `hidden` states (B, T, D) and the head's `logits`, and
`pairs`, the logits of next sentences, and `pooled` where there are such.
Run: python make_bert_goldens.py (writes beside itself).
"""

import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
LENGTHS = torch.tensor([6, 2, 4])


def bert_config(**changes):
    base = dict(vocab_size=17, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                max_position_embeddings=9, id2label={0: "no", 1: "maybe", 2: "yes"})
    return transformers.BertConfig(**(base | changes))


def distilbert_config(**changes):
    base = dict(vocab_size=17, dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=9,
                id2label={0: "no", 1: "maybe", 2: "yes"})
    return transformers.DistilBertConfig(**(base | changes))


def random_model(kind, config):
    model = getattr(transformers, kind)(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def save_expected(model, folder):
    tokens = torch.randint(17, (3, 6))
    given = {"input_ids": tokens, "attention_mask": (torch.arange(6) < LENGTHS[:, None]).long()}
    expected = {"tokens": tokens, "lengths": LENGTHS}
    if model.config.model_type == "bert":
        given["token_type_ids"] = expected["segments"] = torch.randint(2, (3, 6))
    with torch.no_grad():
        output = model.double()(**given, output_hidden_states=True)
    expected["hidden"] = output.hidden_states[-1]
    for name, key in {"logits": "logits", "prediction_logits": "logits", "seq_relationship_logits": "pairs",
                      "pooler_output": "pooled"}.items():
        if output.get(name) is not None:
            expected[key] = output[name]
    save_file({name: tensor.contiguous() for name, tensor in expected.items()}, folder / "expected.safetensors")
    model.float()


def save(name, kind, config):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model = random_model(kind, config)
    model.save_pretrained(folder)
    save_expected(model, folder)
    return folder


def main():
    torch.manual_seed(2)
    save("bert_bare", "BertModel", bert_config())
    save("bert_masked_lm", "BertForMaskedLM", bert_config(hidden_act="relu", layer_norm_eps=1e-3))
    save("bert_untied", "BertForMaskedLM", bert_config(tie_word_embeddings=False))
    folder = save("bert_pre_training", "BertForPreTraining", bert_config())
    save("bert_classifier", "BertForSequenceClassification", bert_config(num_hidden_layers=1))
    save("bert_tagger", "BertForTokenClassification", bert_config(num_hidden_layers=1))
    save("distilbert_masked_lm", "DistilBertForMaskedLM", distilbert_config())
    save("distilbert_classifier", "DistilBertForSequenceClassification", distilbert_config(n_layers=1))
    save("distilbert_bare", "DistilBertModel", distilbert_config(activation="relu"))

    # Google's own files: TensorFlow's names of the norms, all heads beside the one that config.json names, the
    # output's bias twice, position ids.
    weights = load_file(folder / "model.safetensors")
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
           for name, tensor in weights.items()}
    old["bert.embeddings.position_ids"] = torch.arange(9).unsqueeze(0)
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"].clone()
    target = HERE / "bert_old_names"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    save_file(old, target / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["BertForMaskedLM"]}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    shutil.copy(folder / "expected.safetensors", target)


if __name__ == "__main__":
    main()
