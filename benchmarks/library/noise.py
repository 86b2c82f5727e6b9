"""Whether nothing is found where nothing is: noise of several kinds and sizes, every estimator.

The design, fixed before anything was fitted: 100 data sets for each estimator,

    rows        columns 2, 10, 50
    50          12  12  12
    500         12  12  12
    10,000       8   8   6
    100,000      3   2   1

of the kinds that the estimator takes in turn: normal entries, Student-t of 5 degrees, 0 and 1 with a frequency of each
column's own. Every set has a seed of its own, default fits, one thread. Answers are put on file one by one, so that a
run that was broken off goes on.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.records import answers, slug
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
SETS = {  # data sets of each size
    **{(50, d): 12 for d in (2, 10, 50)},
    **{(500, d): 12 for d in (2, 10, 50)},
    (10_000, 2): 8,
    (10_000, 10): 8,
    (10_000, 50): 6,
    (100_000, 2): 3,
    (100_000, 10): 2,
    (100_000, 50): 1,
}
QUICK_SETS = {(50, 2): 1, (50, 10): 1, (500, 2): 1}
GOAL = 0.98


def design(name: str, who: str) -> list[tuple[str, int, int, int]]:
    """(kind, rows, columns, seed) of every data set of an estimator, the small ones first."""
    sets, kinds = SETS if name == "full" else QUICK_SETS, CASES[who][2]
    sizes = [size for size in sorted(sets, key=lambda size: size[0] * size[1]) for _ in range(sets[size])]
    return [(kinds[seed % len(kinds)], *size, seed) for seed, size in enumerate(sizes)]


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
    rows, totals = [], []
    for who in filter(setting.asks_for, CASES):
        sets = design(setting.name, who)
        path = setting.results / f"noise-{slug(who)}-{setting.name}.jsonl"
        found = answers(path, partial(_number, setting.name, who), len(sets), setting.jobs)
        cells = [_cells(who, size, sets, found) for size in dict.fromkeys(each[:3] for each in sets)]
        right = Count(sum(cell["right"].hits for cell in cells), len(sets))
        rows += [Row(cell) for cell in cells]
        totals.append(Row({"model": who, "noise": "all", "right": right}, {"right": at_least(GOAL)}))
    return [Table("Nothing in noise", [*rows, *totals])]


def _number(setting: str, who: str, number: int) -> tuple[int, float]:
    """Components found in one data set, and CPU seconds."""
    x, estimator = noise(*design(setting, who)[number]), CASES[who][0]

    def n_found() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return int(estimator(random_state=0, n_jobs=1).fit(x).n_components_)

    cpu, found = cpu_seconds(n_found)
    return found, cpu


def _cells(
    who: str, size: tuple[str, int, int], sets: list[tuple[str, int, int, int]], found: list[tuple[int, float]]
) -> dict[str, Any]:
    """What was found in all sets of one kind and size."""
    here = [answer for each, answer in zip(sets, found, strict=True) if each[:3] == size]
    numbers = [number for number, _ in here]
    kind, n, d = size
    right = Count(numbers.count(CASES[who][1]), len(numbers))
    cells = {"model": who, "noise": kind, "rows": n, "columns": d, "right": right, "most": max(numbers)}
    return {**cells, "CPU s a fit": sum(cpu for _, cpu in here) / len(here)}
