"""The same rows asked in another way: larger limits, other order, repetition, units. No answer may be lower."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.library.drawn import MODELS, Floats, Problem, in_processes, listed
from benchmarks.setting import Setting
from benchmarks.tables import Count, Row, Table, at_least, at_most

__all__ = ["WAYS", "asked_again", "design", "run"]

GOAL_ALIKE, MOST_SHORT = 0.95, 0.01  # of all pairs; nats a row, of any
FULL_SIZE, QUICK_SIZE = 200, 6


@dataclass(frozen=True)
class Again:
    """A fit asked in another way, its bound in the units of the first."""

    fit: Any
    bound: float


Way = Callable[[Problem, Floats, np.random.Generator], Again]


@dataclass(frozen=True)
class Pair:
    model: str
    way: str
    short: float  # nats by which the second is lower
    short_a_row: float
    alike: bool


def design(name: str) -> list[Problem]:
    """Every problem, fixed before anything is fitted."""
    if name == "full":
        return listed(FULL_SIZE, (200, 500, 1_000, 2_000), (2, 5, 10, 20), range(1, 7), 20_000)
    return listed(QUICK_SIZE, (200,), (2, 5, 10), (1, 2), 10_000)


def run(setting: Setting) -> list[Table]:
    pairs = [pair for found in in_processes(asked_again, design(setting.name), setting.jobs) for pair in found]
    rows = [_row(name, "all", [pair for pair in pairs if pair.model == name]) for name in MODELS]
    rows += [_row("all", way, [pair for pair in pairs if pair.way == way]) for way in WAYS]
    rows.append(_row("all", "all", pairs, judged=True))
    return [Table("The same rows asked in another way", rows)]


def asked_again(problem: Problem) -> list[Pair]:
    x, _ = problem.rows()
    rng = np.random.default_rng([problem.seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = problem.fitted(x, n_components=problem.limit(2 * problem.k))
        found = {way: WAYS[way](problem, x, rng) for way in WAYS if _has_meaning(problem, way)}
    pairs = []
    for way, again in found.items():
        short = first.elbo_ - again.bound
        alike = short <= max(0.5, 1e-5 * problem.n) and again.fit.n_components_ == first.n_components_
        pairs.append(Pair(problem.model, way, short, short / problem.n, alike))
    return pairs


def _has_meaning(problem: Problem, way: str) -> bool:
    model = MODELS[problem.model]
    return {"units of the table": model.has_units, "units of columns": model.has_units_of_columns}.get(way, True)


def _larger(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    fit = problem.fitted(x, n_components=problem.limit(4 * problem.k))
    return Again(fit, fit.elbo_)


def _unlimited(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    fit = problem.fitted(x)
    return Again(fit, fit.elbo_)


def _shuffled(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    fit = problem.fitted(x[rng.permutation(len(x))], n_components=problem.limit(2 * problem.k))
    return Again(fit, fit.elbo_)


def _repeated(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    half = np.full(2 * len(x), 0.5)
    fit = problem.fitted(np.repeat(x, 2, axis=0), half, n_components=problem.limit(2 * problem.k))
    return Again(fit, fit.elbo_)


def _rescaled(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    unit = 10.0 ** rng.uniform(-4, 4)
    fit = problem.fitted(x * unit, n_components=problem.limit(2 * problem.k))
    return Again(fit, fit.elbo_ + x.size * np.log(unit))


def _rescaled_columns(problem: Problem, x: Floats, rng: np.random.Generator) -> Again:
    unit = 10.0 ** rng.uniform(-3, 3, size=x.shape[1])
    fit = problem.fitted(x * unit, n_components=problem.limit(2 * problem.k))
    return Again(fit, fit.elbo_ + len(x) * np.log(unit).sum())


WAYS: dict[str, Way] = {
    "twice the limit": _larger,
    "no limit": _unlimited,
    "other order": _shuffled,
    "every row twice, half the weight": _repeated,
    "units of the table": _rescaled,
    "units of columns": _rescaled_columns,
}


def _row(model: str, way: str, pairs: list[Pair], *, judged: bool = False) -> Row:
    most = max((pair.short_a_row for pair in pairs), default=0.0)
    alike = Count(sum(pair.alike for pair in pairs), len(pairs))
    cells = {
        "model": model,
        "way": way,
        "alike": alike,
        "most nats short": max((pair.short for pair in pairs), default=0.0),
        "most short a row": most,
    }
    return Row(cells, {"alike": at_least(GOAL_ALIKE), "most short a row": at_most(MOST_SHORT)} if judged else {})
