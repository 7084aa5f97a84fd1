#!/usr/bin/env python3
"""Makes the goldens of tests/tokenizer with Hugging Face's tokenizers and with sentencepiece.

    generate.py

Made with tokenizers 0.23.3 and sentencepiece 0.2.3 (Python packages), seed 1. Everything is written into
the folder of this script and made from its corpus.txt: the beginning of Shakespeare's Coriolanus (public
domain) and some lines in other scripts.

bpe/                    byte-level BPE trained by tokenizers' BpeTrainer (vocab.json, merges.txt,
                        tokenizer.json), 700 tokens with "<|endoftext|>" and "<|pad|>"
bpe.json                texts with their ids (special tokens as text, and read as tokens), and ids
                        with the text they decode to, broken characters included
spm_unigram.model       sentencepiece, identity normalisation, byte fallback
spm_bpe.model           sentencepiece, identity normalisation
wordpiece/              WordPiece trained by tokenizers' WordPieceTrainer: vocab.txt, and tokenizer.json as
                        BERT's uncased models have it
wordpiece.json          the same as bpe.json for that vocabulary, read uncased, cased, and in lower case
                        with accents
spm_unigram.json, spm_bpe.json   texts with ids, ids with texts
"""
import json
import os
import random

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = ["<|endoftext|>", "<|pad|>"]
TEXTS = [
    "", " ", "  ", "\n", "a", " a", "a ", "a  b", "x  y", "end  ", "a\t\tb", " \n  x", "\r\n\r\nx", "\n\n\n",
    "if a:\n\n    b =  1\n", "Hello, world!", "HELLO WORLD", "hello world hello world", "'", "''", "'s", "'S", "'re", "'r",
    "don't I'll we've they're it's he'd I'm", "DON'T", "o'er 'tis x'y", " 's", "x 's", "3.14 1,000 1234567", "a1b2c3",
    "½²Ⅷ٣٤", " ½ x²", "Größe Crème Brûlée", "e\u0301 n\u0303", "\u0301", " \u0301x", "क्षत्रिय", "你好，世界。", "日本語 テスト", "안녕하세요",
    "مرحبا بالعالم", "שלום", "ไทยข้อความ", "Привет, мир", "🦊", "hat 🦊é", "👩‍👩‍👧❤️🇩🇪", "a\u00a0b", "\u00a0\u00a0x", "a\u3000b", "\u2003x",
    "x\u0085y", "a\u2028b", "x\x1cy", "x\x0by", "a\x00b", "\x00", "\u200b", "\ufeffx", "\ufffd", "Ġ Ċ Ā ġ", "__init__", "@#$%^&*()",
    "http://a.example/b?c=d&e=f#g", "…—“quoted”", "!!! ... ---", "a<|endoftext|>b", "<|endoftext|>", "<|endoftext|><|pad|>",
    "<|endoftext", "x <|pad|> y", "\U00020000\U0001D7D8", "\u1680x", "ǅʰⅷ㊀〇", "\t", "\t x", "x \t y", "   x", "x   ",
    "for(int i=0;i<10;++i){a[i]+=b;}", "\n \n x", "  \n", "O, speak again, bright angel!", "wherefore art thou Romeo?",
]


def random_texts(rng, count):
    parts = [t for t in TEXTS if t]
    texts = []
    for _ in range(count):
        if rng.random() < 0.7:
            texts.append("".join(rng.choice(parts) for _ in range(rng.choice([2, 3, 6]))))
        else:
            ranges = [(1, 0x250), (0x250, 0x530), (0x5d0, 0x6d0), (0x900, 0xe00), (0x2000, 0x3100), (0x4e00, 0x9fa0), (0xac00, 0xd7a0)]
            texts.append("".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.choice([1, 4, 12]))))
    return texts


def write_json(name, lists):
    """{"encode": [...], "decode": [...]} with one case a line."""
    line = lambda case: json.dumps(case, separators=(",", ":"))
    parts = [f"{json.dumps(key)}: [\n" + ",\n".join(map(line, cases)) + "]" for key, cases in lists.items()]
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write("{" + ",\n".join(parts) + "}\n")


def make_bpe(corpus, texts, rng):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=700, min_frequency=2, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([corpus], trainer)
    folder = os.path.join(HERE, "bpe")
    os.makedirs(folder, exist_ok=True)
    tokenizer.model.save(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    encode = []
    for text in texts:
        tokenizer.encode_special_tokens = True
        ids = tokenizer.encode(text).ids
        tokenizer.encode_special_tokens = False
        encode.append({"text": text, "ids": ids, "special_ids": tokenizer.encode(text).ids})
    decode = []
    for _ in range(200):
        ids = [rng.randrange(700) for _ in range(rng.choice([1, 2, 5, 20]))]
        decode.append({"ids": ids, "text": tokenizer.decode(ids)})
    # Bytes alone, many of them broken characters.
    for _ in range(200):
        ids = [rng.randrange(2, 258) for _ in range(rng.choice([1, 2, 3, 5, 20]))]
        decode.append({"ids": ids, "text": tokenizer.decode(ids)})
    write_json("bpe.json", {"encode": encode, "decode": decode})


BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_wordpiece(corpus, texts):
    rng = random.Random(2)
    texts = texts + ["a [MASK] b", "[MASK]", "[CLS] x [SEP]", "[mask]", "unk [UNK]", "##ing ## #", "Crème Brûlée À Ñandú", "İSTANBUL ΣΑΣ ǅ",
                     "x" * 100, "x" * 101, "中国test中文", "ﬁ ½ ㎏ Å", "가각", "a\u0301\u0323b", "e\u200bf g\ufeffh", "tab\tnew\nline\r\nx"]
    # Every corner of Unicode.
    for _ in range(400):
        first = rng.choice([0x80, 0x250, 0x600, 0x900, 0x1000, 0x1800, 0x1ab0, 0x1c80, 0x1e00, 0x2000, 0x2b00, 0x3000, 0xa500, 0xfb00,
                            0x10000, 0x11000, 0x16800, 0x1b000, 0x1d100, 0x1f000, 0x20000, 0x2f800, 0xe0000])
        texts.append("".join(chr(first + rng.randrange(0x300)) for _ in range(12)))
    texts = [text for text in texts if not any(0xD800 <= ord(c) < 0xE000 for c in text)]

    def build(**normalizer):
        tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        return tokenizer

    folder = os.path.join(HERE, "wordpiece")
    os.makedirs(folder, exist_ok=True)
    trained = build()
    trainer = trainers.WordPieceTrainer(vocab_size=600, min_frequency=2, special_tokens=BERT_SPECIAL, show_progress=False)
    trained.train_from_iterator([corpus, "café naïve Größe"], trainer)
    path = os.path.join(folder, "vocab.txt")
    if not os.path.exists(path):  # its ids vary from run to run
        trained.model.save(folder)
    cases = {}
    for name, normalizer in {"uncased": {"lowercase": True}, "cased": {"lowercase": False},
                             "accents": {"lowercase": True, "strip_accents": False}}.items():
        tokenizer = build(**normalizer)
        tokenizer.model = models.WordPiece.from_file(path, unk_token="[UNK]")
        tokenizer.add_special_tokens(BERT_SPECIAL)
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        if name == "uncased":
            tokenizer.save(os.path.join(folder, "tokenizer.json"), pretty=False)
        encode = []
        for text in texts:
            tokenizer.encode_special_tokens = True
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            tokenizer.encode_special_tokens = False
            encode.append({"text": text, "ids": ids, "special_ids": tokenizer.encode(text, add_special_tokens=False).ids})
        size = tokenizer.get_vocab_size()
        decode = [[rng.randrange(size) for _ in range(rng.choice([1, 2, 5, 20]))] for _ in range(100)]
        cases[name] = {"encode": encode, "decode": [{"ids": ids, "text": tokenizer.decode(ids)} for ids in decode]}
    with open(os.path.join(HERE, "wordpiece.json"), "w", encoding="utf-8") as file:
        line = lambda case: json.dumps(case, separators=(",", ":"))
        parts = [f"{json.dumps(name)}: {{" + ",\n".join(f"{json.dumps(key)}: [\n" + ",\n".join(map(line, lists)) + "]"
                                                       for key, lists in case.items()) + "}" for name, case in cases.items()]
        file.write("{" + ",\n".join(parts) + "}\n")


def make_spm(kind, corpus_path, texts, rng, **options):
    prefix = "spm_" + kind  # relative, as the corpus' path is: the model keeps both
    sentencepiece.SentencePieceTrainer.train(
        input=os.path.relpath(corpus_path), model_prefix=prefix, model_type=kind, normalization_rule_name="identity", minloglevel=2,
        num_threads=1, **options)
    os.remove(prefix + ".vocab")
    processor = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    encode = [{"text": text, "ids": processor.encode(text)} for text in texts]
    decode = [{"ids": case["ids"], "text": processor.decode(case["ids"])} for case in encode]
    # Byte pieces at random are left out: sentencepiece puts one U+FFFD for each wrong byte, not for each sequence.
    plain = [i for i in range(processor.vocab_size()) if not processor.is_byte(i)]
    for _ in range(200):
        ids = [rng.choice(plain) for _ in range(rng.choice([1, 2, 5, 20]))]
        decode.append({"ids": ids, "text": processor.decode(ids)})
    write_json(f"spm_{kind}.json", {"encode": encode, "decode": decode})


def main():
    os.chdir(HERE)
    corpus_path = os.path.join(HERE, "corpus.txt")
    with open(corpus_path, encoding="utf-8", newline="") as file:
        corpus = file.read()
    rng = random.Random(1)
    texts = TEXTS + random_texts(rng, 250)
    make_wordpiece(corpus, texts)
    make_bpe(corpus, texts, rng)
    # sentencepiece stops at a NUL here and there: its texts do without.
    texts = [text for text in texts if "\x00" not in text]
    make_spm("unigram", corpus_path, texts, rng, vocab_size=900, byte_fallback=True, pad_id=3)
    make_spm("bpe", corpus_path, texts, rng, vocab_size=600)


main()
