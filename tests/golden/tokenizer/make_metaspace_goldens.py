#!/usr/bin/env python3
"""Makes metaspace_*/tokenizer.json and metaspace.json of this folder: tokenizers of SentencePiece's kind that have no
.model file, with the ids and texts that Hugging Face's tokenizers gives.

Made with Python 3.11, tokenizers 0.23.3.
metaspace_unigram       Unigram, blanks cleaned up, without bytes
metaspace_bpe           BPE with bytes, as newer Llama folders have it
metaspace_bpe_prepend   the same with its blank put there by the normaliser, as older ones have it
Run: python make_metaspace_goldens.py (writes beside itself).
"""
import json
import pathlib

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TEXTS = ["the noble Roman", "General against the Volscians", "a", "two  blanks and   three", "Friend, to: the People!",
         "Äpfel ☃☃ und 🦊", "line\nbreak", "tab\there", "CORIOLANUS'S", "naïve café", "12345", ""]


def lines():
    text = (HERE / "corpus.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip() and line.isascii()]


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.train_from_iterator(lines(), trainers.UnigramTrainer(
        vocab_size=160, special_tokens=[*SPECIAL, "<pad>"], unk_token="<unk>", show_progress=False))
    return tokenizer


def bpe(prepend):
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    trained.train_from_iterator(lines(), trainers.BpeTrainer(
        vocab_size=480, special_tokens=[*SPECIAL, *BYTES], show_progress=False))
    # Trained on words, used on whole texts, as Llama's.
    state = json.loads(trained.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] in SPECIAL]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    if prepend:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.pre_tokenizer = None
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(content=" ", left=1)])
    return tokenizer


def main():
    expected = {}
    for name, tokenizer in (("unigram", unigram()), ("bpe", bpe(False)), ("bpe_prepend", bpe(True))):
        folder = HERE / f"metaspace_{name}"
        folder.mkdir(exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        # Special tokens in a text are text here.
        tokenizer.encode_special_tokens = True
        cases = [(text, tokenizer.encode(text, add_special_tokens=False).ids) for text in TEXTS + lines()[3:40]]
        expected[name] = {"encode": [{"text": text, "ids": ids} for text, ids in cases],
                          "decode": [{"ids": ids, "text": tokenizer.decode(ids)} for _, ids in cases]}
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    (HERE / "metaspace.json").write_text(text.replace("},{", "},\n{") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
