"""Whether nothing is found where nothing is: noise of several kinds and sizes, every estimator."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
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
ROWS, COLUMNS = (50, 500, 10_000, 100_000), (2, 10, 50)
MOST_ENTRIES = 10**6
GOAL = 0.98


def design(name: str) -> list[tuple[str, str, int, int]]:
    """(estimator, kind, rows, columns) of every row of the table, fixed before anything is fitted."""
    rows, columns = (ROWS, COLUMNS) if name == "full" else (ROWS[:2], COLUMNS[:2])
    sizes = [(n, d) for n in rows for d in columns if n * d <= MOST_ENTRIES]
    return [(who, kind, n, d) for who, (_, _, kinds) in CASES.items() for kind in kinds for n, d in sizes]


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
    cases = design(setting.name)
    seeds = {case: range(1 if setting.name != "full" else 10 if case[2] <= 10_000 else 2) for case in cases}
    tasks = [(*case, seed) for case in sorted(cases, key=lambda case: -case[2] * case[3]) for seed in seeds[case]]
    if setting.jobs == 1:
        found = dict(zip(tasks, map(_number, tasks), strict=True))
    else:
        with ProcessPoolExecutor(setting.jobs) as pool:
            found = dict(zip(tasks, pool.map(_number, tasks), strict=True))
    rows = [_row(case, [found[*case, seed] for seed in seeds[case]]) for case in cases]
    return [Table("Nothing in noise", [*rows, *_totals(rows)])]


def _number(task: tuple[str, str, int, int, int]) -> tuple[int, float]:
    """Components found, and CPU seconds."""
    who, kind, n, d, seed = task
    x, estimator = noise(kind, n, d, seed), CASES[who][0]

    def number() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return int(estimator(random_state=0, n_jobs=1).fit(x).n_components_)

    cpu, found = cpu_seconds(number)
    return found, cpu


def _row(case: tuple[str, str, int, int], found: list[tuple[int, float]]) -> Row:
    who, kind, n, d = case
    numbers = [number for number, _ in found]
    right = Count(numbers.count(CASES[who][1]), len(numbers))
    cells = {"model": who, "noise": kind, "rows": n, "columns": d, "right": right, "most": max(numbers)}
    return Row({**cells, "CPU s a fit": sum(cpu for _, cpu in found) / len(found)})


def _totals(rows: list[Row]) -> list[Row]:
    """Every estimator over all its noise, which is what the goal is for."""
    totals = []
    for who in CASES:
        counts = [row.cells["right"] for row in rows if row.cells["model"] == who]
        right = Count(sum(count.hits for count in counts), sum(count.total for count in counts))
        totals.append(Row({"model": who, "noise": "all", "right": right}, {"right": at_least(GOAL)}))
    return totals
