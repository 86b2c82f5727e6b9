"""Coefficients and predictions of linear regressions: how often 95 % intervals hold the truth."""

from __future__ import annotations

import numpy as np

import latens
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most

__all__ = ["run"]

SHAPES = ((6, 3), (12, 5), (20, 15), (30, 3))  # rows and columns
LEAST_COVERAGE, MOST_COVERAGE = 0.90, 0.98


def run(setting: Setting) -> list[Table]:
    """Weights and noise of unit size, an intercept of 2; default fits."""
    n_sets = 400 if setting.name == "full" else 5
    return [Table("Linear regression, nominal 95 %", [_row(n, d, n_sets) for n, d in SHAPES])]


def _row(n: int, d: int, n_sets: int) -> Row:
    inside, narrow, targets = [], [], []
    for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
        rng = np.random.default_rng([seed, n, d])
        x, weights = rng.normal(size=(n + 20, d)), rng.normal(size=d)
        y = x @ weights + 2 + rng.normal(size=n + 20)
        model = latens.BayesianLinearRegression().fit(x[:n], y[:n])
        for method, held in (("auto", inside), ("mean-field", narrow)):
            table = model.intervals(method=method, quantities="coef")
            held.append(np.mean((table["lower"] < weights) & (weights < table["upper"])))
        mean, std = model.predict(x[n:], return_std=True)
        targets.append(np.mean(np.abs(y[n:] - mean) < 1.96 * std))
    cells = {
        "rows": n,
        "columns": d,
        "data sets": n_sets,
        "coefficients": float(np.mean(inside)),
        "two standard errors": 2 * float(np.std(inside) / np.sqrt(n_sets)),
        "given precisions": float(np.mean(narrow)),
        "predictions": float(np.mean(targets)),
    }
    goals = {"coefficients": at_least(LEAST_COVERAGE), "predictions": at_most(MOST_COVERAGE)}
    return Row(cells, goals)
