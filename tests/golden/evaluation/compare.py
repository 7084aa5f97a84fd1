#!/usr/bin/env python3
"""Random corpora, scored by the library and by sacreBLEU and rouge-score: every score, of the corpus and of each line,
must agree to 1e-9 (relative above 1), names, signatures and details must be equal.

    ninja -C build/release zoo_metric_server
    compare.py --server build/release/tests/evaluation/zoo_metric_server [--corpora 12000] [--seed 1] [--metrics ter]
    compare.py --write goldens.json        the goldens of tests/evaluation, from sacreBLEU and rouge-score alone

Written for Python 3.11, sacrebleu 2.6.0, rouge-score 0.1.2.
"""
import argparse
import collections
import itertools
import json
import pathlib
import random
import subprocess
import sys

import numpy
import regex
import sacrebleu
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

METRICS = {"bleu": BLEU, "chrf": CHRF, "ter": TER}
WORDS = ("the a an of to cat dog house River BLEU score don't it's John's U.S. e.g. well-known 3.14 1,000 10-20 2019. "
         "50% $5 x=y a/b http://a.b/c?d=e&f=g (hi) [x] {y} \"quoted\" 'single' ... -- – — … “so” „da“ « oui » &amp; "
         "&quot;a&quot; &lt;b&gt; &amp;lt; <skipped> naïve café Straße ŒUVRE İstanbul ΣΟΦΟΣ ΣΑΣ Ὀδυσσεύς ЁЛКА москва "
         "中文 分词 测试 日本語 です カタカナ 한국어 テスト。 「引用」 全角!ABC,123 ① ㎏ 🦊 👩‍👩‍👧 ❤️ ☃ € ½ Ⅷ १२३ ٣٤ ไทย "
         "हिन्दी עברית العربية ǅ ﬁ a.b,c 1.2,3 .5 5. ,5 5, 1-a a-1 -1 1- '' `` ~ ^_^ # @@ @-@ sub@@ words").split(" ")
SPACES = [" "] * 30 + ["  ", "\t", "\r", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85", "\u2028", "\u200b", "", ""]
LETTERS = "abcABC019.,-'!?%&;:()/\\ \t\u00e9\u0130\u03a3\u03c3\u4e2d\u3042\u30a2\uff01\u3002\u20ac\u201c\U0001f98a"


def word(rng):
    kind = rng.random()
    if kind < 0.8:
        text = rng.choice(WORDS)
    elif kind < 0.9:
        text = str(rng.randrange(10 ** rng.randrange(1, 7)))
    else:
        text = "".join(rng.choice(LETTERS) for _ in range(rng.randrange(1, 6)))
    if rng.random() < 0.12:
        text += rng.choice(".,!?;:。、")
    if rng.random() < 0.05:
        text = text.upper()
    return text


def line(rng, words):
    if rng.random() < 0.05:
        return rng.choice(["", "", " ", "\r", ".", "。", "中"])
    length = int(rng.expovariate(1 / 9)) + 1 if rng.random() < 0.97 else rng.randrange(40, 160)
    return "".join(rng.choice(words) + rng.choice(SPACES) for _ in range(length))


def edited(rng, text, words):
    """A hypothesis of its reference: words dropped, added, replaced, a run of them moved."""
    if rng.random() < 0.08:
        return line(rng, words)
    parts = text.split(" ")
    for _ in range(rng.choice([0, 1, 1, 2, 3, 6])):
        at = rng.randrange(len(parts) + 1)
        change = rng.random()
        if change < 0.25:
            parts.insert(at, rng.choice(words))
        elif change < 0.5:
            parts[at:at + 1] = []
        elif change < 0.7:
            parts[at:at + 1] = [rng.choice(words)]
        else:
            end = at + rng.randrange(1, 6)
            run, parts = parts[at:end], parts[:at] + parts[end:]
            to = rng.randrange(len(parts) + 1)
            parts[to:to] = run
    return " ".join(parts)


def options(rng, metric):
    def some(**choices):
        return {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.7}

    flag = [False, True]
    if metric == "bleu":
        chosen = some(tokenize=["13a", "intl", "zh", "char", "none"], smooth_method=["exp", "floor", "add-k", "none"],
                      lowercase=flag, effective_order=flag)
        if chosen.get("smooth_method") in ("floor", "add-k") and rng.random() < 0.5:
            chosen["smooth_value"] = rng.choice([0.01, 0.1, 0.5, 1.0, 2.0])
        return chosen
    if metric == "chrf":
        return some(char_order=[1, 2, 4, 6, 8], word_order=[0, 1, 2, 3], beta=[1, 2, 3], lowercase=flag,
                    whitespace=flag, eps_smoothing=flag)
    if metric == "ter":
        return some(normalized=flag, no_punct=flag, asian_support=flag, case_sensitive=flag)
    return {}


def corpus(rng, metric):
    # A small vocabulary gives more matches, shifts and repeated words.
    words = [word(rng) for _ in range(rng.choice([3, 6, 12, 40, 200]))]
    lines = rng.choice([1, 1, 2, 3, 5, 8])
    first = [line(rng, words) for _ in range(lines)]
    references = [first] + [[edited(rng, text, words) for text in first] for _ in range(rng.choice([0, 0, 1, 2, 3]))]
    hypotheses = [edited(rng, rng.choice(references)[i], words) for i in range(lines)]
    return {"metric": metric, "options": options(rng, metric), "hypotheses": hypotheses, "references": references}


def expected(request):
    """The answer of the package that the metric comes from."""
    hypotheses, references = request["hypotheses"], request["references"]
    of_lines = list(zip(*references))
    if request["metric"].startswith("rouge"):
        scorer = rouge_scorer.RougeScorer([request["metric"]])
        scores = [scorer.score_multi(list(refs), hyp)[request["metric"]] for hyp, refs in zip(hypotheses, of_lines)]
        percent = [100 * score.fmeasure for score in scores]
        return {"name": request["metric"], "score": sum(percent) / len(percent), "sentences": percent}
    metric = METRICS[request["metric"]](**request["options"])
    score = metric.corpus_score(hypotheses, references)
    signature = str(metric.get_signature())
    return {"name": score.name, "score": score.score, "signature": signature, "details": score._verbose,
            "sentences": [metric.sentence_score(hyp, list(refs)).score for hyp, refs in zip(hypotheses, of_lines)]}


def agrees(ours, theirs):
    def near(a, b):
        return abs(a - b) <= 1e-9 * max(1.0, abs(b))

    return (all(ours[key] == theirs[key] for key in ("name", "signature", "details") if key in theirs)
            and near(ours["score"], theirs["score"]) and all(map(near, ours["sentences"], theirs["sentences"])))


ALL = ["bleu"] * 10 + ["chrf"] * 6 + ["ter"] * 6 + ["rouge1", "rouge2", "rougeL", "rougeL"]


def requests(corpora, seed, metrics=ALL):
    rng = random.Random(seed)
    for _ in range(corpora):
        yield corpus(rng, rng.choice(metrics))


DOG = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
DOG_A = ["The dog bit the man.", "It was not unexpected.", "The man bit him first."]
DOG_B = ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."]


def chosen_cases():
    """What once went wrong somewhere: empty lines, characters outside ASCII, quirks of sacreBLEU that count."""
    def case(metric, hypotheses, references, **options):
        return {"metric": metric, "options": options, "hypotheses": hypotheses, "references": references}

    for metric in ["bleu", "chrf", "ter", "rougeL", "rouge1", "rouge2"]:
        yield case(metric, DOG, [DOG_A, DOG_B])
        yield case(metric, ["", ""], [["", "a"], ["b", ""]])
        yield case(metric, ["a b"], [[""]])
    for tokenize in ["13a", "intl", "zh", "char", "none"]:
        yield case("bleu", DOG, [DOG_A], tokenize=tokenize)
        yield case("bleu", ["It's 3.5% (maybe more)!"], [["It's 3.5% (maybe less)!"]], tokenize=tokenize)
        yield case("bleu", ["a..b ,5 5, 1-2-3 x-y &amp;lt; <skipped>.", "“引用”、中文€½ Ⅷ १२३."],
                   [["a . . b , 5 5 , 1- 2-3 x-y < .", "“ 引用 ” 、中 文€ ½ Ⅷ १२३ ."]], tokenize=tokenize)
    for smooth in ["exp", "floor", "add-k", "none"]:
        yield case("bleu", ["am I am a character sequence"], [["I am a symbol string sequence a a"]], smooth_method=smooth)
        yield case("bleu", ["this is a fest", "x"], [["this is a test", "y"]], smooth_method=smooth, effective_order=True)
    for metric in ["bleu", "chrf"]:
        yield case(metric, ["ΑΣ ΑΣΑ Σ İSTANBUL ǅ ẞ"], [["ας ασα σ i̇stanbul ǆ ß"]], lowercase=True)
    yield case("chrf", ["(hi) a, .b"], [["(hi ) a , . b"]], word_order=2)
    yield case("chrf", ["a b"], [["ab "]], whitespace=True)
    yield case("ter", ["d a b c e f"], [["a b c d e f"]])
    yield case("ter", ["a " * 60 + "b c"], [["b c " + "a " * 60]])
    yield case("ter", ["it's x", "中文。字"], [["it's\u2003x &amp;lt;", "中 文 。 字"]], normalized=True, asian_support=True)
    yield case("ter", ["a. b, 中。"], [["a b 中"]], no_punct=True, asian_support=True)
    yield case("rougeL", ["Ein Hund, \u212alein"], [["ein hund klein"], ["klein ein Hund"]])


def is_small(request):
    return sum(len(text) for texts in [request["hypotheses"], *request["references"]] for text in texts) < 400


def write(path, seed):
    """Goldens: the chosen cases and small random ones, with sacreBLEU's lines, JSON and bootstrap."""
    cases = list(chosen_cases())
    cases += itertools.islice(filter(is_small, requests(4000, seed)), 150)
    for case in cases:
        case["expected"] = expected(case)
    rng = random.Random(seed)
    words = [word(rng) for _ in range(30)]
    reference = [line(rng, words) for _ in range(40)]
    systems = [[edited(rng, edited(rng, text, words), words) for text in reference] for _ in range(2)]
    printed, paired = [], []
    for name, metric in METRICS.items():
        score = metric().corpus_score(systems[1], [reference])
        interval = metric()
        with_interval = interval.corpus_score(systems[1], [reference], n_bootstrap=200)
        scorer = metric()
        scorer.corpus_score(DOG, [DOG_A])
        signature, bootstrap_signature = str(scorer.get_signature()), str(interval.get_signature())
        printed.append({"metric": name, "line": score.format(1, False, signature),
                        "json": json.loads(score.format(1, False, signature, True)),
                        "interval_line": with_interval.format(1, False, bootstrap_signature),
                        "interval_json": json.loads(with_interval.format(1, False, bootstrap_signature, True))})
        test = PairedTest([("Baseline: a", systems[0]), ("b", systems[1])], {name.upper(): metric()}, [reference],
                          test_type="bs", n_samples=200)
        signatures, scores = test()
        (key, signature), = signatures.items()
        paired.append({"metric": name, "signature": str(signature), "results": [vars(result) for result in scores[key]]})
    goldens = {"made_with": f"compare.py --write, sacrebleu {sacrebleu.__version__}, rouge-score 0.1.2, "
                            f"numpy {numpy.__version__}, regex {regex.__version__}, Python {sys.version.split()[0]}, seed {seed}",
               "cases": cases, "systems": systems, "reference": reference, "printed": printed, "paired": paired}
    path.write_text(json.dumps(goldens, indent=0, default=float) + "\n")
    return 0


def compare(server, corpora, seed, metrics):
    process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    compared, wrong = collections.Counter(), 0
    for request in requests(corpora, seed, metrics):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        ours, theirs = json.loads(process.stdout.readline()), expected(request)
        compared[request["metric"]] += 1
        if not agrees(ours, theirs):
            wrong += 1
            if wrong <= 5:
                print(json.dumps({"request": request, "ours": ours, "theirs": theirs}, ensure_ascii=False))
    process.stdin.close()
    print(f"sacrebleu {sacrebleu.__version__}, seed {seed}: {sum(compared.values())} corpora {dict(compared)}, {wrong} differ")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--corpora", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--metrics", nargs="+", choices=sorted(set(ALL)), default=ALL)
    args = parser.parse_args()
    if args.write:
        return write(args.write, args.seed)
    return compare(args.server, args.corpora, args.seed, args.metrics)


if __name__ == "__main__":
    import logging

    logging.disable(logging.WARNING)
    sys.exit(main())
