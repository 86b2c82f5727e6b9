"""Fits whose iterations are timed: no moves, one start, every iteration that was asked for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.scale.floors import Shape

__all__ = ["SUBJECTS", "Subject", "Timed", "timed_fit"]


@dataclass(frozen=True)
class Timed:
    iteration: float  # seconds from the end of one to the end of the next, the median
    whole: float  # seconds of the fit, start included
    elbo: float
    falls: int  # iterations in which the bound fell beyond rounding


@dataclass(frozen=True)
class Subject:
    make: Callable[..., Any]  # (n_components, options) -> estimator
    draw: Callable[[Shape, np.random.Generator], Any]  # float32 rows, or views
    device: Shape  # the size that is measured on a device
    host: Shape  # and on cores


def _sums(shape: Shape, rng: np.random.Generator) -> Any:
    """A few of K causes are on in each row, and their patterns add up."""
    loadings = 2 * rng.standard_normal((shape.k, shape.d), dtype=np.float32)
    return _noisy((rng.random((shape.n, shape.k), dtype=np.float32) < 3 / shape.k).astype(np.float32) @ loadings, rng)


def _clusters(shape: Shape, rng: np.random.Generator) -> Any:
    centres = 2 * rng.standard_normal((shape.k, shape.d), dtype=np.float32)
    return _noisy(centres[rng.integers(0, shape.k, shape.n)], rng)


def _sources(shape: Shape, rng: np.random.Generator) -> Any:
    sources = rng.laplace(size=(shape.n, shape.k)).astype(np.float32)
    return _noisy(sources @ rng.standard_normal((shape.k, shape.d), dtype=np.float32), rng)


def _factors(shape: Shape, rng: np.random.Generator) -> Any:
    codes = rng.standard_normal((shape.n, shape.k), dtype=np.float32)
    return _noisy(codes @ rng.standard_normal((shape.k, shape.d), dtype=np.float32), rng)


def _two_views(shape: Shape, rng: np.random.Generator) -> Any:
    x = _factors(shape, rng)
    return {"one": x[:, : shape.d // 2].copy(), "two": x[:, shape.d // 2 :].copy()}


def _two_views_with_holes(shape: Shape, rng: np.random.Generator) -> Any:
    found = _two_views(shape, rng)
    for x in found.values():
        x[rng.random(x.shape, dtype=np.float32) < 0.1] = np.nan
    return found


def _bits(shape: Shape, rng: np.random.Generator) -> Any:
    chances = rng.random((shape.k, shape.d), dtype=np.float32) ** 2
    return (rng.random((shape.n, shape.d), dtype=np.float32) < chances[rng.integers(0, shape.k, shape.n)]).astype(
        np.float32
    )


def _effects(shape: Shape, rng: np.random.Generator) -> Any:
    """Ones of causes that are on, one in twenty of the columns each, and a leak."""
    causes = rng.random((shape.k, shape.d), dtype=np.float32) < 0.05
    lit = (rng.random((shape.n, shape.k), dtype=np.float32) < 2 / shape.k).astype(np.float32) @ causes
    return (rng.random(lit.shape, dtype=np.float32) < 1 - 0.99 * 0.3**lit).astype(np.float32)


def _noisy(x: Any, rng: np.random.Generator) -> Any:
    x += 0.5 * rng.standard_normal(x.shape, dtype=np.float32)
    return x


def _of(name: str, **options: Any) -> Callable[..., Any]:
    def make(k: int, **more: Any) -> Any:
        import latens

        return getattr(latens, name)(k, **{**options, **more})

    return make


SUBJECTS = {
    "mixture diag": Subject(
        _of("GaussianMixture", covariance_type="diag"), _clusters, Shape(10**6, 50, 50), Shape(200_000, 50, 50)
    ),
    "mixture full": Subject(_of("GaussianMixture"), _clusters, Shape(10**6, 50, 50), Shape(200_000, 50, 50)),
    "mixture Bernoulli": Subject(_of("BernoulliMixture"), _bits, Shape(10**6, 784, 50), Shape(200_000, 200, 20)),
    "binary": Subject(
        _of("BinaryFactorAnalysis", e_step="mean-field"), _sums, Shape(10**6, 784, 64), Shape(200_000, 64, 32)
    ),
    "noisy ICA": Subject(_of("NoisyICA"), _sources, Shape(10**6, 64, 16), Shape(200_000, 16, 8)),
    "views": Subject(_of("MultiViewFactorAnalysis"), _two_views, Shape(100_000, 2000, 20), Shape(20_000, 1000, 10)),
    "views, 10 % missing": Subject(
        _of("MultiViewFactorAnalysis"), _two_views_with_holes, Shape(100_000, 2000, 20), Shape(20_000, 1000, 10)
    ),
    "noisy-OR": Subject(_of("NoisyOr"), _effects, Shape(200_000, 500, 40), Shape(200_000, 100, 20)),
}


def timed_fit(make: Callable[..., Any], k: int, x: Any, n_iterations: int, **options: Any) -> Timed:
    """Wall seconds: sums of an iteration come to the host, so that a device has done its work when it ends."""
    ends: list[float] = []  # of iterations: also what is done between them counts
    fixed = {"max_iter": n_iterations, "tol": 0, "moves": False, "n_init": 1, "random_state": 0}
    options["callbacks"] = lambda _: ends.append(time.perf_counter())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model = make(k, **fixed, **options).fit(x)
        whole = time.perf_counter() - began
    falls = sum("the bound fell" in str(warning.message) for warning in caught)
    return Timed(float(np.median(np.diff(ends[-n_iterations:]))), whole, float(model.elbo_), falls)
