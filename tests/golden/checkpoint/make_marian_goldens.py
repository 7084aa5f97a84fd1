#!/usr/bin/env python3
"""Makes the goldens marian_* of this folder: small translation models of Hugging Face's own making with their
tokenizers, and what they give.

Made with Python 3.11, torch 2.13.0, transformers 5.24.0, sentencepiece 0.2.3, safetensors 0.8.0, seed 7.
Each folder holds a model and, but for marian_untied, a tokenizer as `save_pretrained` writes them, and
  expected.safetensors  `source` (B, S) padded at the right, `lengths` (B), `inputs` (B, T) of the decoder, and in
                        float64 the `logits` (B, T, V); `greedy_<row>`: the new tokens of greedy decoding, row by row
  expected.json         texts with the ids of either side, ids with their text, and greedy translations of the texts;
                        `with_special` by the target's model (the library takes the source's unless told otherwise)
Run: python make_marian_goldens.py (writes beside itself).
"""
import json
import pathlib
import random
import shutil
import tempfile

import sentencepiece
import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
SOURCE_WORDS = "the old baker finds two small books under a green table and reads them all night".split()
TARGET_WORDS = "der alte Bäcker findet zwei kleine Bücher unter einem grünen Tisch und liest sie nachts".split()


def train(words, path, draw):
    """A SentencePiece model of random sentences; no normalisation keeps the file small."""
    lines = [" ".join(draw.choices(words, k=6)) for _ in range(200)]
    with open(path, "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=file, vocab_size=36, hard_vocab_limit=False,
            model_type="unigram", normalization_rule_name="identity", bos_id=-1, eos_id=0, unk_id=1, minloglevel=3)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(i) for i in range(2, model.get_piece_size())]


def vocabulary(*sides):
    """Ids that are not SentencePiece's, as Marian's are not: the ends first, padding last."""
    pieces = sorted(set().union(*sides))
    return {piece: id for id, piece in enumerate(["</s>", "<unk>", ">>deu<<", *pieces, "<pad>"])}


def write(path, vocab):
    path.write_text(json.dumps(vocab, ensure_ascii=False))
    return str(path)


def tokenizer_of(separate, work, draw):
    source = train(SOURCE_WORDS, work / "source.model", draw)
    target = train(TARGET_WORDS, work / "target.model", draw)
    files = dict(source_spm=str(work / "source.model"), target_spm=str(work / "target.model"))
    if not separate:
        return transformers.MarianTokenizer(vocab=write(work / "vocab.json", vocabulary(source, target)), **files)
    return transformers.MarianTokenizer(
        vocab=write(work / "vocab.json", vocabulary(source)), separate_vocabs=True,
        target_vocab_file=write(work / "target_vocab.json", vocabulary(target)), **files)


def texts_of(tokenizer, model, source_texts, target_texts):
    def target_ids(text):
        return tokenizer(text_target=text).input_ids
    expected = {"source": [{"text": t, "ids": tokenizer(t).input_ids} for t in source_texts],
                "target": [{"text": t, "ids": target_ids(t)} for t in target_texts], "decode": [], "translate": []}
    for ids in [target_ids(t) for t in target_texts] + [[5, 1, 6, 0, 7], [0], [9, 0, 10, 11, 0]]:
        expected["decode"].append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True),
                                   "with_special": tokenizer.decode(ids, use_source_tokenizer=False)})
    for text in source_texts[:4]:
        given = tokenizer(text, return_tensors="pt")
        found = model.generate(**given, num_beams=1, do_sample=False, max_new_tokens=10)[0]
        expected["translate"].append({"text": text, "translation": tokenizer.decode(found, skip_special_tokens=True)})
    return expected


def save(name, separate, with_tokenizer, draw, **changes):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sizes = dict(vocab_size=21, decoder_vocab_size=17 if separate else 21)
    pad = 20
    tokenizer = None
    if with_tokenizer:
        with tempfile.TemporaryDirectory() as work:
            tokenizer = tokenizer_of(separate, pathlib.Path(work), draw)
            tokenizer.save_pretrained(folder)
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        sizes = dict(vocab_size=len(tokenizer.encoder), decoder_vocab_size=len(
            tokenizer.target_encoder if separate else tokenizer.encoder))
        pad = tokenizer.encoder["<pad>"]
    target_pad = min(pad, sizes["decoder_vocab_size"] - 1)
    config = transformers.MarianConfig(**(dict(
        d_model=8, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=40, activation_function="swish",
        scale_embedding=True, pad_token_id=target_pad, decoder_start_token_id=target_pad, eos_token_id=0,
        forced_eos_token_id=None, share_encoder_decoder_embeddings=not separate) | sizes | changes))
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "embed_positions" not in key:
                parameter.normal_(0, 0.4)
                if "layer_norm.weight" in key:
                    parameter.add_(1)
        model.final_logits_bias.normal_(0, 1)
    model.generation_config.bad_words_ids = [[target_pad]]
    model.save_pretrained(folder)

    source = torch.randint(1, config.vocab_size - 1, (3, 7))
    lengths = torch.tensor([7, 4, 1])
    inputs = torch.randint(0, config.decoder_vocab_size, (3, 5))
    model.double()
    with torch.no_grad():
        mask = (torch.arange(7) < lengths[:, None]).long()
        logits = model(input_ids=source, attention_mask=mask, decoder_input_ids=inputs).logits
        alone = model(input_ids=source[1:2, :4], decoder_input_ids=inputs[1:2]).logits
        assert (alone - logits[1:2]).abs().max() < 1e-12
        expected = {"source": source, "lengths": lengths, "inputs": inputs, "logits": logits.float()}
        for row, length in enumerate(lengths):
            found = model.generate(source[row:row + 1, :length], num_beams=1, do_sample=False, max_new_tokens=9)
            expected[f"greedy_{row}"] = found[0, 1:]
    save_file({key: tensor.contiguous() for key, tensor in expected.items()}, folder / "expected.safetensors")
    if tokenizer:
        source_texts = ["the old baker finds books", "a green table", "night and books", "under the small table  two",
                        ">>deu<< all them", ">>fra<< all them", "Bücher ☃☃ the", "ä", " the ", "", "x>>deu<<"]
        target_texts = ["der alte Bäcker liest", "zwei  grünen Bücher", "Tisch ☃ und", "baker", "nachts."]
        (folder / "expected.json").write_text(json.dumps(
            texts_of(tokenizer, model, source_texts, target_texts), ensure_ascii=False, indent=1) + "\n")


def main():
    torch.manual_seed(7)
    draw = random.Random(7)
    save("marian_shared", separate=False, with_tokenizer=True, draw=draw)
    save("marian_separate", separate=True, with_tokenizer=True, draw=draw, activation_function="relu",
         scale_embedding=False, encoder_layers=1, decoder_layers=2)
    save("marian_untied", separate=True, with_tokenizer=False, draw=draw, tie_word_embeddings=False,
         activation_function="gelu")


if __name__ == "__main__":
    main()
