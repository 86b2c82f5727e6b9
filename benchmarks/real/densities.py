"""Log density of held-out rows: default clusters beside scikit-learn's densities, each chosen on training rows alone.

Entries of rounded columns are scored by the mass of what they may have been: the density averaged over points within
half a step, the same points for every candidate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.decomposition import FactorAnalysis
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.real.tables import RealTable, chosen, splits
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table
from latens.array.rounding import step

__all__ = ["run"]

N_POINTS = 16  # within the steps of rounded columns
Density = Callable[[np.ndarray], Any]  # training rows -> a model with score_samples


def run(setting: Setting) -> list[Table]:
    """One row for each table and candidate: nats a row less those of independent columns, and the CPU time."""
    rows = [row for table in chosen(setting) for row in _rows(table, setting)]
    won = [row.cells["first or close"] for row in rows if row.cells["density"] == "latens.GaussianMixture"]
    there = [verdict for verdict in won if verdict is not None]
    notes = [
        "close: within max(.02 nats, one paired standard error) of the best",
        f"latens.GaussianMixture is first or close on {there.count('yes')} of {len(there)} tables (goal: 10 of 12)",
    ]
    return [Table("Held-out log density", rows, notes)]


def _rows(table: RealTable, setting: Setting) -> list[Row]:
    if not table.is_there:
        return [Row({"table": table.name, "density": f"{table.package} is not installed"})]
    x = table.load()
    steps = np.array([step(column) for column in x.T])
    scores: dict[str, list[np.ndarray]] = {name: [] for name in DENSITIES}
    seconds = dict.fromkeys(DENSITIES, 0.0)
    for number, (train, test) in enumerate(splits(x, setting)):
        spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        points = _points(test, steps / spread, number)
        for name, fit in DENSITIES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cpu, model = cpu_seconds(lambda fit=fit, train=train: fit(train))
                each = np.array([model.score_samples(part) for part in points])
            scores[name].append(logsumexp(each, axis=0) - np.log(len(points)))
            seconds[name] += cpu
    every = {name: np.concatenate(parts) for name, parts in scores.items()}
    return [_row(table.name, name, every, seconds[name], setting) for name in DENSITIES]


def _row(table: str, name: str, every: dict[str, np.ndarray], seconds: float, setting: Setting) -> Row:
    best = max(every, key=lambda other: float(every[other].mean()))
    behind = every[best] - every[name]
    close = behind.mean() <= max(0.02, behind.std() / np.sqrt(len(behind)))
    above = every[name] - every["independent"]
    return Row(
        {
            "table": table,
            "density": name,
            "nats above independent": float(above.mean()),
            "standard error": float(above.std() / np.sqrt(len(above))),
            "behind the best": float(behind.mean()),
            "first or close": "yes" if close else "no",
            "CPU s": seconds,
        }
    )


def _points(test: np.ndarray, steps: np.ndarray, seed: int) -> list[np.ndarray]:
    """The rows, or points within the steps that their entries were rounded to."""
    if not steps.any():
        return [test]
    rng = np.random.default_rng([FIRST_SEED, seed])
    return [test + steps * rng.uniform(-0.5, 0.5, size=test.shape) for _ in range(N_POINTS)]


class _Independent:
    def __init__(self, x: np.ndarray) -> None:
        self.mean, self.spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-3)

    def score_samples(self, x: np.ndarray) -> np.ndarray:
        return norm.logpdf(x, self.mean, self.spread).sum(axis=1)


def _by_bic(x: np.ndarray) -> GaussianMixture:
    sizes = range(1, min(8, len(x) // 4) + 1)
    fits = [GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=0).fit(x) for k in sizes]
    return min(fits, key=lambda fit: fit.bic(x))


def _factors(x: np.ndarray) -> Any:
    sizes = {"n_components": list(range(1, min(10, x.shape[1]) + 1))}
    return GridSearchCV(FactorAnalysis(), sizes, cv=3).fit(x).best_estimator_


def _kernels(x: np.ndarray) -> Any:
    widths = {"bandwidth": np.geomspace(0.05, 2.0, 12)}
    return GridSearchCV(KernelDensity(), widths, cv=3).fit(x).best_estimator_


DENSITIES: dict[str, Density] = {
    "latens.GaussianMixture": lambda x: latens.GaussianMixture(random_state=0, n_jobs=1).fit(x),
    "GaussianMixture by BIC": _by_bic,
    "BayesianGaussianMixture": lambda x: BayesianGaussianMixture(
        n_components=min(10, len(x) // 4), max_iter=500, random_state=0
    ).fit(x),
    "FactorAnalysis by CV": _factors,
    "KernelDensity by CV": _kernels,
    "independent": _Independent,
}
