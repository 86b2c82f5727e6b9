"""Whether the number of components comes out right however many rows there are, and what finding it costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

SIZES = (2_000, 9_000, 20_000, 100_000)
Draw = Callable[[np.random.Generator, int], np.ndarray]


def run(setting: Setting) -> list[Table]:
    """Fits that are told nothing, beside fits told the number, on the same rows."""
    sizes = SIZES if setting.name == "full" else SIZES[:2]
    rows = [_row(name, n) for name in CASES for n in sizes]
    notes = ["short of told: nats that the fit that was told the number is ahead, negative where it is behind"]
    return [Table("The number of components", rows, notes)]


def _row(name: str, n: int) -> Row:
    estimator, k, draw = CASES[name]
    x = draw(np.random.default_rng(FIRST_SEED), n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, found = cpu_seconds(lambda: estimator(random_state=0, n_jobs=1).fit(x))
        dear, given = cpu_seconds(lambda: estimator(k, random_state=0, n_jobs=1).fit(x))
    return Row(
        {
            "model": name,
            "rows": n,
            "true": k,
            "found": found.n_components_,
            "short of told": given.elbo_ - found.elbo_,
            "CPU s": cpu,
            "CPU s told": dear,
        },
        {"found": at_most(k), "short of told": at_most(max(0.5, 1e-5 * n))},
    )


def _normal_clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    centres = 4 * rng.normal(size=(10, 20))
    return centres[rng.integers(0, 10, n)] + rng.normal(size=(n, 20))


def _binary_clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    chance = rng.uniform(0.05, 0.95, size=(5, 20))
    return (rng.random((n, 20)) < chance[rng.integers(0, 5, n)]).astype(float)


def _dense_factors(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.laplace(size=(n, 5)) @ rng.normal(size=(5, 20)) + 0.5 * rng.normal(size=(n, 20))


def _causes(rng: np.random.Generator, n: int) -> np.ndarray:
    strength = (rng.random((5, 20)) < 0.3) * 0.8
    on = rng.random((n, 5)) < 0.2
    dark = 0.97 * np.prod(1 - on[:, :, None] * strength, axis=1)
    return (rng.random((n, 20)) > dark).astype(float)


CASES: dict[str, tuple[Any, int, Draw]] = {
    "GaussianMixture": (latens.GaussianMixture, 10, _normal_clusters),
    "BernoulliMixture": (latens.BernoulliMixture, 5, _binary_clusters),
    "MultiViewFactorAnalysis": (latens.MultiViewFactorAnalysis, 5, _dense_factors),
    "NoisyOr": (latens.NoisyOr, 5, _causes),
}
