"""The number at a million rows of five columns, and how the time grows up to there."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.clocks import cpu_seconds
from benchmarks.library.drawn import Problem, in_processes
from benchmarks.library.truth import solve
from benchmarks.setting import Setting
from benchmarks.tables import Count, Row, Table, at_least, at_most

__all__ = ["design", "run"]

D = 5
SIZES = (10_000, 100_000, 1_000_000)
STEEPEST = 1.1  # slope of log time on log rows
# five columns tell so many components of each model apart; binary clusters need more columns
LISTED = (
    *(("GaussianMixture", k) for k in (1, 3, 5, 8, 12)),
    ("BinaryFactorAnalysis", 2),
    ("BinaryFactorAnalysis", 4),
    ("NoisyICA", 2),
    ("NoisyOr", 1),
    ("MultiViewFactorAnalysis", 1),
)
TIMED = ("GaussianMixture", 5), ("BinaryFactorAnalysis", 2), ("NoisyICA", 2), ("MultiViewFactorAnalysis", 1)


def design(name: str) -> list[Problem]:
    """Every problem, fixed before anything is fitted."""
    n = SIZES[-1] if name == "full" else 1000
    return [Problem(model, n, D, k, number) for number, (model, k) in enumerate(LISTED)]


def run(setting: Setting) -> list[Table]:
    problems = [problem for problem in design(setting.name) if setting.asks_for(problem.model)]
    rows = [
        Row(
            {
                "model": one.problem.model,
                "true": one.problem.k,
                "found": one.found if one.fair else None,
                "nats short": one.short,
                "CPU s": one.cpu,
                "CPU s told": one.cpu_told,
                "right": int(one.right),
            },
            {"right": at_least(1)} if one.fair else {},
        )
        for one in in_processes(solve, problems, setting.jobs)
    ]
    sizes = SIZES if setting.name == "full" else (500, 1000)
    grown = [_growth(model, k, sizes) for model, k in TIMED if setting.asks_for(model)]
    title = "The number of components in as many rows as there are at most"
    return [Table(title, rows), Table("CPU s of default fits over the number of rows", grown)]


def _growth(model: str, k: int, sizes: tuple[int, ...]) -> Row:
    """CPU seconds at each number of rows, and the slope of their logarithms."""
    spent = [_seconds(Problem(model, n, D, k, len(LISTED))) for n in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
    cells: dict[str, str | int | float | Count | None] = {"model": model, "K": k}
    cells |= {f"{n:,} rows": seconds for n, seconds in zip(sizes, spent, strict=True)}
    return Row({**cells, "slope": slope}, {"slope": at_most(STEEPEST)})


def _seconds(problem: Problem) -> float:
    x, _ = problem.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cpu_seconds(lambda: problem.fitted(x))[0]
