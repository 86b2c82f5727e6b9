"""Problems drawn from the models themselves, with the truth to start from; what each is, is fixed by its number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

import latens
from benchmarks.setting import FIRST_SEED

__all__ = ["MODELS", "Model", "Problem", "in_processes", "listed"]

Floats = np.ndarray
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Model:
    estimator: Callable[..., Any]
    draw: Callable[[np.random.Generator, int, int, int], tuple[Floats, Floats]]  # rows, and where the truth starts
    fewest_columns: Callable[[int], int]  # that tell so many components apart
    has_units: bool = True  # whether rows are real numbers
    has_units_of_columns: bool = True  # whether every column has a scale of its own
    at_most_columns: bool = False  # whether more components than columns are refused


@dataclass(frozen=True)
class Problem:
    model: str
    n: int
    d: int
    k: int
    seed: int

    def rows(self, again: int = 0) -> tuple[Floats, Floats]:
        """(n, d) and the truth; the same for the same number of tries."""
        rng = np.random.default_rng([FIRST_SEED, self.seed, self.n, self.d, self.k, again])
        return MODELS[self.model].draw(rng, self.n, self.d, self.k)

    def limit(self, n_components: int) -> int:
        """As many components, or as the estimator allows."""
        return min(n_components, self.d) if MODELS[self.model].at_most_columns else n_components

    def fitted(self, x: Floats, sample_weight: Floats | None = None, **options: Any) -> Any:
        estimator = MODELS[self.model].estimator(random_state=0, n_jobs=1, **options)
        return estimator.fit(x) if sample_weight is None else estimator.fit(x, sample_weight=sample_weight)


def listed(
    n_problems: int, rows: Sequence[int], columns: Sequence[int], components: Sequence[int], most_entries: int
) -> list[Problem]:
    """Models in turn; sizes drawn from the lists, as far as columns tell the components apart and rows are enough."""
    rng, problems = np.random.default_rng(FIRST_SEED), list[Problem]()
    names = list(MODELS)
    while len(problems) < n_problems:
        name = names[len(problems) % len(names)]
        n, d, k = (int(rng.choice(sizes)) for sizes in (rows, columns, components))
        if n * d <= most_entries and d >= MODELS[name].fewest_columns(k) and n >= 100 * k:
            problems.append(Problem(name, n, d, k, len(problems)))
    return problems


def in_processes(task: Callable[[Problem], Outcome], problems: Sequence[Problem], jobs: int) -> Iterable[Outcome]:
    """The largest first, so that none is left alone at the end; answers in the order of the problems."""
    if jobs == 1:
        return [task(problem) for problem in problems]
    order = sorted(range(len(problems)), key=lambda i: -problems[i].n * problems[i].d * problems[i].k)
    with ProcessPoolExecutor(jobs) as pool:
        found = dict(zip(order, pool.map(task, [problems[i] for i in order]), strict=True))
    return [found[i] for i in range(len(problems))]


def _normal_clusters(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    centres = 3 * k ** (1 / d) * rng.normal(size=(k, d))
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d) + 0.5 * np.eye(d)
    which = rng.integers(0, k, n)
    return centres[which] + np.einsum("nij,nj->ni", shapes[which], rng.normal(size=(n, d))), centres


def _binary_clusters(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    chance = rng.beta(0.4, 0.4, size=(k, d)).clip(0.02, 0.98)
    return (rng.random((n, d)) < chance[rng.integers(0, k, n)]).astype(float), chance


def _causes(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    strength = (rng.random((k, d)) < 0.4) * rng.uniform(0.6, 0.95, size=(k, d))
    on = rng.random((n, k)) < 0.2
    dark = 0.97 * np.exp(on @ np.log1p(-strength))
    return (rng.random((n, d)) > dark).astype(float), strength


def _parts(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    parts = 1.5 * rng.normal(size=(k, d))
    return (rng.random((n, k)) < 0.3) @ parts + 0.5 * rng.normal(size=(n, d)), parts


def _sparse_factors(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    loadings = (rng.random((k, d)) < 0.5) * rng.normal(size=(k, d))
    return rng.normal(size=(n, k)) @ loadings + 0.5 * rng.normal(size=(n, d)), loadings


def _sources(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Floats, Floats]:
    mixing = rng.normal(size=(k, d))
    return rng.laplace(size=(n, k)) @ mixing / np.sqrt(2) + 0.3 * rng.normal(size=(n, d)), mixing


MODELS: dict[str, Model] = {
    "GaussianMixture": Model(latens.GaussianMixture, _normal_clusters, lambda k: 2),
    "BernoulliMixture": Model(latens.BernoulliMixture, _binary_clusters, lambda k: 4 + 2 * k, False, False),
    "NoisyOr": Model(latens.NoisyOr, _causes, lambda k: 4 * k, False, False),
    "BinaryFactorAnalysis": Model(
        partial(latens.BinaryFactorAnalysis, fit_intercept=False), _parts, lambda k: k, has_units_of_columns=False
    ),
    "MultiViewFactorAnalysis": Model(
        latens.MultiViewFactorAnalysis, _sparse_factors, lambda k: 4 * k, has_units_of_columns=False
    ),
    "NoisyICA": Model(latens.NoisyICA, _sources, lambda k: 2 * k, at_most_columns=True),
}
