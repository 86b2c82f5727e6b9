"""Whether nothing is found where nothing is: noise of several kinds and sizes, every estimator."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, at_least

__all__ = ["CASES", "design", "noise", "run"]

CASES: dict[str, tuple[Any, int, tuple[str, ...]]] = {  # estimator, what it says of noise, kinds of noise
    "GaussianMixture": (latens.GaussianMixture, 1, ("normal", "t5")),
    "BernoulliMixture": (latens.BernoulliMixture, 1, ("bernoulli",)),
    "LatentClassAnalysis": (latens.LatentClassAnalysis, 1, ("normal", "t5", "bernoulli")),
    "MultiViewFactorAnalysis": (latens.MultiViewFactorAnalysis, 0, ("normal", "t5", "bernoulli")),
    "FactorAnalysis": (partial(latens.FactorAnalysis, prior="ard"), 0, ("normal", "t5")),
    "BinaryFactorAnalysis": (latens.BinaryFactorAnalysis, 0, ("normal", "t5")),
    "NoisyICA": (latens.NoisyICA, 0, ("normal", "t5")),
    "NoisyOr": (latens.NoisyOr, 0, ("bernoulli",)),
}
ROWS, COLUMNS = (50, 500, 10_000), (2, 10, 50)
GOAL = 0.98


def design(name: str) -> list[tuple[str, str, int, int]]:
    """(estimator, kind, rows, columns) of every row of the table, fixed before anything is fitted."""
    rows, columns = (ROWS, COLUMNS) if name == "full" else (ROWS[:2], COLUMNS[:2])
    return [(who, kind, n, d) for who, (_, _, kinds) in CASES.items() for kind in kinds for n in rows for d in columns]


def noise(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    """(n, d), independent entries; columns of 0 and 1 have frequencies from .1 to .9."""
    rng = np.random.default_rng([FIRST_SEED + seed, n, d])
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "t5":
        return rng.standard_t(5, size=(n, d))
    return (rng.random((n, d)) < rng.uniform(0.1, 0.9, size=d)).astype(float)


def run(setting: Setting) -> list[Table]:
    """Default fits of noise; a fit is right that finds nothing, or one cluster."""
    n_seeds = 10 if setting.name == "full" else 1
    rows = [_row(*case, n_seeds) for case in design(setting.name)]
    return [Table("Nothing in noise", rows)]


def _row(who: str, kind: str, n: int, d: int, n_seeds: int) -> Row:
    estimator, nothing, _ = CASES[who]

    def found() -> list[int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = (estimator(random_state=0, n_jobs=1).fit(noise(kind, n, d, seed)) for seed in range(n_seeds))
            return [fit.n_components_ for fit in fits]

    cpu, numbers = cpu_seconds(found)
    right = Count(numbers.count(nothing), n_seeds)
    cells = {"model": who, "noise": kind, "rows": n, "columns": d, "right": right, "most": max(numbers)}
    return Row({**cells, "CPU s a fit": cpu / n_seeds}, {"right": at_least(GOAL)})
