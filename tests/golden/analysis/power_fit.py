"""Slopes with their 95 % intervals and quantiles of Student's t by SciPy: the goldens of
tests/analysis/power_fit_test.cpp.

Made with scipy 1.17.1, numpy 2.4.6: python tests/golden/analysis/power_fit.py
"""

import numpy as np
import scipy
from scipy import stats


def show(name, x, y):
    fit = stats.linregress(x, y)
    error = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    print(name, *(f"{value:.15g}" for value in (fit.slope, fit.intercept, fit.slope - error, fit.slope + error)))


def main():
    print("scipy", scipy.__version__, "numpy", np.__version__)
    x = np.array([1.0, 2, 4, 7, 11])
    y = np.array([2.5, 3.1, 6.4, 9.0, 15.2])
    show("line", x, y)
    show("power", np.log(x), np.log(y))
    show("three", x[:3], y[:3])
    for freedom, confidence in ((1, 0.95), (2, 0.95), (3, 0.99), (10, 0.95), (57, 0.5), (1000, 0.95)):
        print("t", freedom, confidence, f"{stats.t.ppf((1 + confidence) / 2, freedom):.15g}")


if __name__ == "__main__":
    main()
