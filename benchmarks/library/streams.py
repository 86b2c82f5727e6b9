"""Streams in three orders beside a fit of all rows: how far apart they end, and what it costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

WITHIN = 0.05  # nats a row
Draw = Callable[[np.random.Generator, int], np.ndarray]


def run(setting: Setting) -> list[Table]:
    """Rows come from the draws in order of what is hidden in them."""
    full = setting.name == "full"
    rows = [
        row
        for name, (draw, n) in CASES.items()
        for row in _rows(name, draw, n if full else n // 10, 500 if full else 100)
    ]
    notes = ["short of fit: nats a row, over the rows of the stream", "kB: of the rows that are kept of it"]
    return [Table("Streams in any order", rows, notes)]


def _rows(name: str, draw: Draw, n: int, size: int) -> Iterator[Row]:
    x = draw(np.random.default_rng(FIRST_SEED), n)
    estimator = getattr(latens, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost, whole = cpu_seconds(lambda: estimator(random_state=0, n_jobs=1).fit(x))
        level = whole.score(x)
        for order, which in _orders(n).items():
            model = estimator(random_state=0, n_jobs=1)
            cpu, _ = cpu_seconds(lambda rows=x[which], model=model: _stream(model, rows, size))
            messages = ", ".join(each.code for each in model.warnings_)
            yield Row(
                {
                    "model": name,
                    "rows": n,
                    "order": order,
                    "K of fit": whole.n_components_,
                    "other K": abs(model.n_components_ - whole.n_components_),
                    "short of fit": level - model.score(x),
                    "CPU s of fit": cost,
                    "CPU s": cpu,
                    "rows kept": len(model.stream_.reservoir.keys),
                    "kB": model.stream_.nbytes / 1000,
                    "warnings": messages,
                },
                {"short of fit": at_most(WITHIN), "other K": at_most(0)},
            )


def _stream(model: Any, x: np.ndarray, size: int) -> None:
    for at in range(0, len(x), size):
        model.partial_fit(x[at : at + size])


def _orders(n: int, n_blocks: int = 5) -> dict[str, np.ndarray]:
    shuffled = np.random.default_rng(0).permutation(n)
    blocks = np.concatenate([np.sort(part) for part in np.array_split(shuffled, n_blocks)])
    return {"shuffled": shuffled, "sorted": np.arange(n), "sorted in blocks": blocks}


def _normal_clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return (6 * rng.normal(size=(5, 5)))[np.sort(rng.integers(5, size=n))] + rng.normal(size=(n, 5))


def _binary_clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.random((n, 20)) < rng.uniform(0.05, 0.95, size=(5, 20))[np.sort(rng.integers(5, size=n))]).astype(float)


def _shapes(rng: np.random.Generator, n: int) -> np.ndarray:
    x, truth = latens.datasets.make_shapes(n, random_state=int(rng.integers(2**31)))
    return np.asarray(x[np.lexsort(truth.codes.T)])


def _causes(rng: np.random.Generator, n: int) -> np.ndarray:
    strength, on = (rng.random((5, 20)) < 0.3) * 0.8, rng.random((n, 5)) < 0.2
    on = on[np.lexsort(on.T)]
    return (rng.random((n, 20)) > 0.97 * np.prod(1 - on[:, :, None] * strength, axis=1)).astype(float)


def _sources(rng: np.random.Generator, n: int) -> np.ndarray:
    sources = rng.standard_t(3, size=(n, 4))
    return sources[np.argsort(sources[:, 0])] @ rng.normal(size=(4, 8)) + 0.3 * rng.normal(size=(n, 8))


def _factors(rng: np.random.Generator, n: int) -> np.ndarray:
    codes, loadings = rng.normal(size=(n, 3)), rng.normal(size=(3, 20)) * (rng.random((3, 20)) < 0.6)
    return codes[np.argsort(codes[:, 0])] @ loadings + 0.5 * rng.normal(size=(n, 20))


CASES: dict[str, tuple[Draw, int]] = {
    "GaussianMixture": (_normal_clusters, 20_000),
    "LatentClassAnalysis": (_normal_clusters, 20_000),
    "BernoulliMixture": (_binary_clusters, 20_000),
    "BinaryFactorAnalysis": (_shapes, 8_000),
    "NoisyOr": (_causes, 8_000),
    "NoisyICA": (_sources, 8_000),
    "MultiViewFactorAnalysis": (_factors, 10_000),
}
