"""Whether planted components return in halves of the rows, and components forced on noise do not.

Planted ones are worth ten nats and more in half of the rows: a fit there with one component fewer has a bound that is
lower by as much. Components that are forced on noise are asked for by number and kept (`prune=False`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.records import answers, slug
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most

__all__ = ["run"]

N = 400
LEAST_WORTH = 10.0  # nats in half of the rows
RETURNS, STAYS_AWAY = 0.9, 0.3


def run(setting: Setting) -> list[Table]:
    rows = [row for name in SUBJECTS if setting.asks_for(name) for row in _rows(name, setting)]
    return [Table(f"Components that return in halves of {N} rows", rows)]


def _rows(name: str, setting: Setting) -> list[Row]:
    n_sets = 10 if setting.name == "full" else 1
    results = setting.results / "returning" / f"{setting.name}-{slug(name)}.jsonl"
    found = answers(results, partial(judged, name), n_sets, setting.jobs)
    planted = [rate for one in found for rate, worth in one["planted"] if worth >= LEAST_WORTH]
    forced = [rate for one in found for rate in one["forced"]]
    coverage = [one["coverage"] for one in found if one["coverage"] is not None]
    high = {"least": min(planted, default=0.0), "mean": float(np.mean(planted or [0.0]))}
    low = {"most": max(forced), "mean": float(np.mean(forced))}
    return [
        Row({"what": f"{name}, planted", "components": len(planted), **high,
             "in 90 % intervals": float(np.mean(coverage)) if coverage else None}, {"least": at_least(RETURNS)}),
        Row({"what": f"{name}, forced on noise", "components": len(forced), **low}, {"most": at_most(STAYS_AWAY)}),
    ]  # fmt: skip


def judged(name: str, number: int) -> dict[str, Any]:
    """Return rates of planted components with what the least of them is worth in half of the rows, and of forced."""
    rng, (make, draw, k, settings) = np.random.default_rng(FIRST_SEED + number), SUBJECTS[name]
    x, noise = draw(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(k, random_state=0, **settings).fit(x)
        found = latens.stability(model, x)
        half, exact = _half(x), settings | {"prune": False}
        more, less = (make(size, random_state=0, **exact).fit(half).elbo_ for size in (k, k - 1))
        forced = latens.stability(make(k, random_state=0, **exact).fit(noise), noise)
    coverage = None if np.isnan(found.coverage) else float(found.coverage)
    return {
        "planted": [[float(rate), float(more - less)] for rate in found.return_rate],
        "forced": [float(rate) for rate in forced.return_rate],
        "coverage": coverage,
    }


def _half(x: Any) -> Any:
    return {view: values[: N // 2] for view, values in x.items()} if isinstance(x, dict) else x[: N // 2]


def _clusters(rng: np.random.Generator) -> tuple[Any, Any]:
    centres = 3.0 * rng.normal(size=(3, 6))
    return centres[rng.integers(0, 3, N)] + rng.normal(size=(N, 6)), rng.normal(size=(N, 6))


def _factors(rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.normal(size=(N, 3)) @ rng.normal(size=(3, 12)) + rng.normal(size=(N, 12)), rng.normal(size=(N, 12))


def _views(rng: np.random.Generator) -> tuple[Any, Any]:
    z = rng.normal(size=(N, 3))
    planted = {"a": z @ rng.normal(size=(3, 15)) + rng.normal(size=(N, 15)),
               "b": z[:, :2] @ rng.normal(size=(2, 10)) + rng.normal(size=(N, 10))}  # fmt: skip
    return planted, {"a": rng.normal(size=(N, 15)), "b": rng.normal(size=(N, 10))}


def _sources(rng: np.random.Generator) -> tuple[Any, Any]:
    z = rng.standard_t(3.0, size=(N, 3))
    return z @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(N, 8)), rng.normal(size=(N, 8))


def _switches(rng: np.random.Generator) -> tuple[Any, Any]:
    s = (rng.random((N, 3)) < 0.4).astype(float)
    return s @ (2.0 * rng.normal(size=(3, 10))) + rng.normal(size=(N, 10)), rng.normal(size=(N, 10))


def _causes(rng: np.random.Generator) -> tuple[Any, Any]:
    on, parts = rng.random((N, 3)) < 0.3, np.kron(np.eye(3), np.full(5, 0.8))
    off = np.exp(on @ np.log1p(-parts)) * 0.98
    return (rng.random((N, 15)) < 1 - off).astype(float), (rng.random((N, 15)) < 0.3).astype(float)


def _binary_clusters(rng: np.random.Generator) -> tuple[Any, Any]:
    chance = rng.choice([0.1, 0.9], (3, 12))[rng.integers(0, 3, N)]
    return (rng.random((N, 12)) < chance).astype(float), (rng.random((N, 12)) < 0.4).astype(float)


def _classes(rng: np.random.Generator) -> tuple[Any, Any]:
    """Measurements, counts, and yes and no."""
    label, flat = rng.integers(0, 3, N), np.zeros(N, dtype=int)
    centre, rate, on = 2.0 * rng.normal(size=(3, 3)), rng.gamma(2.0, 3.0, (3, 3)), rng.uniform(0.05, 0.95, (3, 4))

    def rows(own: Any) -> Any:
        return np.column_stack([centre[own] + rng.normal(size=(N, 3)), rng.poisson(rate[own]),
                                rng.random((N, 4)) < on[own]]).astype(float)  # fmt: skip

    return rows(label), rows(flat)


# the estimator, planted rows and noise, the number of components, and settings
SUBJECTS: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, Any]], int, dict[str, Any]]] = {
    "gaussian clusters": (latens.GaussianMixture, _clusters, 3, {}),
    "binary clusters": (latens.BernoulliMixture, _binary_clusters, 3, {}),
    "classes": (latens.LatentClassAnalysis, _classes, 3, {}),
    "factors": (latens.FactorAnalysis, _factors, 3, {"prior": "ard"}),
    "views": (latens.MultiViewFactorAnalysis, _views, 3, {}),
    "sources": (latens.NoisyICA, _sources, 3, {}),
    "switches": (latens.BinaryFactorAnalysis, _switches, 3, {}),
    "causes": (latens.NoisyOr, _causes, 3, {}),
}
