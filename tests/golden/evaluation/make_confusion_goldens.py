#!/usr/bin/env python3
"""Makes confusion.json of this folder: random truths and predictions, and scikit-learn's numbers for them.

Made with Python 3.11, scikit-learn 1.9.1, numpy 2.4.6, seed 5. Run: python make_confusion_goldens.py
"""
import json
import pathlib

import numpy
from sklearn import metrics

HERE = pathlib.Path(__file__).resolve().parent


def case(truth, guess, classes):
    f1 = lambda average: float(metrics.f1_score(truth, guess, average=average, zero_division=0))
    precision, recall, each, support = metrics.precision_recall_fscore_support(
        truth, guess, labels=list(range(classes)), zero_division=0)
    return {"classes": classes, "truth": truth, "guess": guess,
            "accuracy": float(metrics.accuracy_score(truth, guess)),
            "macro_f1": f1("macro"), "micro_f1": f1("micro"), "weighted_f1": f1("weighted"),
            "matthews": float(metrics.matthews_corrcoef(truth, guess)),
            "precision": precision.tolist(), "recall": recall.tolist(), "f1": each.tolist(),
            "support": support.tolist()}


def main():
    random = numpy.random.default_rng(5)
    cases = []
    for classes in (2, 3, 3, 5, 7):
        for right in (0.0, 0.5, 0.9):
            truth = random.integers(classes, size=40)
            guess = numpy.where(random.random(40) < right, truth, random.integers(classes, size=40))
            cases.append(case(truth.tolist(), guess.tolist(), classes))
    cases.append(case([0, 0, 0], [0, 0, 0], 2))           # one class only
    cases.append(case([0, 1, 0, 1], [1, 1, 1, 1], 2))     # one prediction only
    cases.append(case([0, 1, 2, 0], [0, 1, 2, 0], 5))     # classes that never come
    cases.append(case([1, 1, 1, 0], [2, 2, 2, 2], 4))     # predicted, but never true
    with open(HERE / "confusion.json", "w") as file:
        json.dump(cases, file)
        file.write("\n")


if __name__ == "__main__":
    main()
