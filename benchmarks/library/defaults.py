"""Whether a default fit is good: its bound beside the best of 50 starts, on problems of every kind of model.

The design, fixed before anything was fitted: 30 problems of each kind, each with a seed of its own. Rows, columns and
components are drawn from these lists,

    kind                     rows              columns         components
    clusters                 150 300 600       2 4 8           2 to 6, ellipsoids that overlap
    binary clusters          150 300 600       8 12 16         2 to 6
    classes                  150 300 600       6 9 12          2 to 5, a third of the columns real, counts and 0 or 1
    views, sparse            100 200 400       12 20, twice    2 to 5, two in ten loadings are not 0
    views, half dense        100 200 400       12 20, twice    2 to 5, five in ten
    views, dense             100 200 400       12 20, twice    2 to 5, all
    causes of binary rows    200 400 800       8 12 16         2 to 4
    sources, square          300 600           3 4 5           as many as columns, Student-t, Laplace and uniform
    sources, more sensors    300 600           6 8 10          2 to 4, the same
    causes with offsets      150 300 600       6 9 12          2 to 4, and a level of every column
    factors                  100 300 600       8 12 16         1 to 4

and told to nobody: the fit beside which a default one is put has `n_init=50`, moves, and a seed of its own. A default
fit is good that is at most max(1, .001 N) nats below. One thread; answers are put on file and said one by one, so that
a run that was broken off goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.records import answers, slug
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, at_least

__all__ = ["KINDS", "Kind", "Problem", "design", "run"]

GOAL = 0.9
N_STARTS = 50
N_PROBLEMS = {"full": 30, "quick": 2}
DESIGN = 136  # apart from other sections' problems

Generator = np.random.Generator
Draw = Callable[[Generator, int, int, int], Any]


@dataclass(frozen=True)
class Kind:
    estimator: Callable[..., Any]
    draw: Draw  # rows, from n, d and k
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    components: tuple[int, ...]  # none: as many as columns


@dataclass(frozen=True)
class Problem:
    kind: str
    n: int
    d: int
    k: int
    seed: int

    def rows(self) -> Any:
        return KINDS[self.kind].draw(np.random.default_rng([FIRST_SEED, DESIGN, self.seed, 1]), self.n, self.d, self.k)


def design(name: str, kind: str) -> list[Problem]:
    """The problems of a kind, those of a quick run the first of all."""
    what, first = KINDS[kind], 1000 * list(KINDS).index(kind)
    problems = []
    for seed in range(first, first + N_PROBLEMS[name]):
        rng = np.random.default_rng([FIRST_SEED, DESIGN, seed])
        n, d = int(rng.choice(what.rows)), int(rng.choice(what.columns))
        problems.append(Problem(kind, n, d, int(rng.choice(what.components)) if what.components else d, seed))
    return problems


def run(setting: Setting) -> list[Table]:
    rows, notes = [], []
    for kind in filter(setting.asks_for, KINDS):
        problems = design(setting.name, kind)
        path = setting.results / f"defaults-{slug(kind)}-{setting.name}.jsonl"
        found = answers(path, partial(_beside_many, setting.name, kind), len(problems), setting.jobs)
        rows.append(_row(kind, problems, found))
        notes += [
            f"{one}: {each['short']:.2f} nats short, {each['found']} components beside {each['found of many']}"
            for one, each in zip(problems, found, strict=True)
            if not _good(one, each)
        ]
    return [Table(f"Default fits beside the best of {N_STARTS} starts", rows, notes)]


def _beside_many(setting: str, kind: str, number: int) -> dict[str, Any]:
    """One problem: by how many nats the default fit is below, what both found, and their CPU seconds."""
    problem = design(setting, kind)[number]
    estimator, x = KINDS[kind].estimator, problem.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, usual = cpu_seconds(lambda: estimator(random_state=0, n_jobs=1).fit(x))
        cpu_of_many, many = cpu_seconds(lambda: estimator(n_init=N_STARTS, moves=True, random_state=1, n_jobs=1).fit(x))
    said = {
        "short": float(many.elbo_ - usual.elbo_),
        "found": int(usual.n_components_),
        "found of many": int(many.n_components_),
        "cpu": cpu,
        "cpu of many": cpu_of_many,
    }
    words = ", ".join(f"{name} {value:.4g}" for name, value in said.items())
    print(f"{problem}: {'good' if _good(problem, said) else 'NOT GOOD'}, {words}", flush=True)
    return said


def _good(problem: Problem, answer: dict[str, Any]) -> bool:
    return bool(answer["short"] <= max(1.0, 0.001 * problem.n))


def _row(kind: str, problems: list[Problem], found: list[dict[str, Any]]) -> Row:
    good = Count(sum(map(_good, problems, found)), len(found))
    cells = {
        "problems": kind,
        "good": good,
        "most nats short": max(each["short"] for each in found),
        "most nats ahead": max(-each["short"] for each in found),
        "same number": Count(sum(each["found"] == each["found of many"] for each in found), len(found)),
        "CPU s a default": float(np.mean([each["cpu"] for each in found])),
        f"CPU s of {N_STARTS}": float(np.mean([each["cpu of many"] for each in found])),
    }
    return Row(cells, {"good": at_least(GOAL)})


def _clusters(rng: Generator, n: int, d: int, k: int) -> Any:
    centres = 2.5 * k ** (1 / d) * rng.normal(size=(k, d))
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d) + 0.5 * np.eye(d)
    which = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    return centres[which] + np.einsum("nij,nj->ni", shapes[which], rng.normal(size=(n, d)))


def _binary_clusters(rng: Generator, n: int, d: int, k: int) -> Any:
    chance = rng.beta(0.6, 0.6, size=(k, d)).clip(0.02, 0.98)
    return (rng.random((n, d)) < chance[rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))]).astype(float)


def _classes(rng: Generator, n: int, d: int, k: int) -> Any:
    which, m = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0))), d // 3
    real = (1.5 * rng.normal(size=(k, m)))[which] + rng.normal(size=(n, m))
    counts = rng.poisson(rng.gamma(2.0, 2.0, size=(k, m))[which])
    binary = rng.random((n, m)) < rng.beta(0.6, 0.6, size=(k, m))[which]
    return np.concatenate([real, counts, binary], axis=1).astype(float)


def _views(share: float, rng: Generator, n: int, d: int, k: int) -> Any:
    codes = rng.normal(size=(n, k))
    loadings = (rng.random((2, k, d)) < share) * rng.normal(size=(2, k, d))
    return {name: codes @ w + 0.7 * rng.normal(size=(n, d)) for name, w in zip("ab", loadings, strict=True)}


def _causes(rng: Generator, n: int, d: int, k: int) -> Any:
    strength = (rng.random((k, d)) < 0.4) * rng.uniform(0.6, 0.95, size=(k, d))
    on = rng.random((n, k)) < rng.uniform(0.1, 0.4, size=k)
    return (rng.random((n, d)) > 0.97 * np.exp(on @ np.log1p(-strength))).astype(float)


def _sources(rng: Generator, n: int, d: int, k: int) -> Any:
    draws = (
        lambda: rng.standard_t(4, size=n) / np.sqrt(2),
        lambda: rng.laplace(size=n) / np.sqrt(2),
        lambda: rng.uniform(-1, 1, size=n) * np.sqrt(3),
    )
    sources = np.stack([draws[which]() for which in rng.integers(len(draws), size=k)], axis=1)
    return sources @ rng.normal(size=(k, d)) + 0.2 * rng.normal(size=(n, d))


def _causes_with_offsets(rng: Generator, n: int, d: int, k: int) -> Any:
    on = rng.random((n, k)) < rng.uniform(0.15, 0.5, size=k)
    return 3 * rng.normal(size=d) + on @ (1.5 * rng.normal(size=(k, d))) + 0.5 * rng.normal(size=(n, d))


def _factors(rng: Generator, n: int, d: int, k: int) -> Any:
    noise = np.exp(0.5 * rng.normal(size=d))
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + noise * rng.normal(size=(n, d))


UP_TO_FOUR, UP_TO_FIVE = (2, 3, 4), (2, 3, 4, 5)
VIEWS = ((100, 200, 400), (12, 20), UP_TO_FIVE)
KINDS: dict[str, Kind] = {
    "clusters": Kind(latens.GaussianMixture, _clusters, (150, 300, 600), (2, 4, 8), (*UP_TO_FIVE, 6)),
    "binary clusters": Kind(latens.BernoulliMixture, _binary_clusters, (150, 300, 600), (8, 12, 16), (*UP_TO_FIVE, 6)),
    "classes": Kind(latens.LatentClassAnalysis, _classes, (150, 300, 600), (6, 9, 12), UP_TO_FIVE),
    "views, sparse": Kind(latens.MultiViewFactorAnalysis, partial(_views, 0.2), *VIEWS),
    "views, half dense": Kind(latens.MultiViewFactorAnalysis, partial(_views, 0.5), *VIEWS),
    "views, dense": Kind(latens.MultiViewFactorAnalysis, partial(_views, 1.0), *VIEWS),
    "causes of binary rows": Kind(latens.NoisyOr, _causes, (200, 400, 800), (8, 12, 16), UP_TO_FOUR),
    "sources, square": Kind(latens.NoisyICA, _sources, (300, 600), (3, 4, 5), ()),
    "sources, more sensors": Kind(latens.NoisyICA, _sources, (300, 600), (6, 8, 10), UP_TO_FOUR),
    "causes with offsets": Kind(
        latens.BinaryFactorAnalysis, _causes_with_offsets, (150, 300, 600), (6, 9, 12), UP_TO_FOUR
    ),
    "factors": Kind(partial(latens.FactorAnalysis, prior="ard"), _factors, (100, 300, 600), (8, 12, 16), (1, 2, 3, 4)),
}
