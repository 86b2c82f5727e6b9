"""CPU time of one iteration beside scikit-learn's BayesianGaussianMixture: long runs less short ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.mixture import BayesianGaussianMixture

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Goal, Row, Table, Value, at_least, at_most

__all__ = ["run"]

SIZES = {"full": ((10_000, 20, 20), (50_000, 50, 20)), "quick": ((2_000, 10, 5),)}
SHORT, LONG = 2, 8
GOALS = {"full": 3.0, "diag": 2.0}


def run(setting: Setting) -> list[Table]:
    rows = [row for n, d, k in SIZES[setting.name] for kind in GOALS for row in _size(n, d, k, kind, setting.n_repeats)]
    notes = [
        "one thread; iterations 3 to 8, least of several, both packages in turn; errors are of memberships under the "
        "same posterior, single against double precision"
    ]
    return [Table("One iteration of a Gaussian mixture", rows, notes)]


def _size(n: int, d: int, k: int, kind: str, repeats: int) -> list[Row]:
    x, truth = latens.datasets.make_mixture(
        n, n_components=k, n_features=d, spread=4 * np.sqrt(2 / d), random_state=FIRST_SEED
    )
    single = x.astype(np.float32)

    def ours(rows: Any) -> Callable[[int], Any]:
        options = {"covariance_type": kind, "init": truth.means, "moves": False, "tol": 0, "n_jobs": 1}
        return lambda steps: latens.GaussianMixture(k, max_iter=steps, **options).fit(rows)

    def peer(steps: int) -> Any:
        options = {"covariance_type": kind, "tol": 0, "init_params": "random_from_data", "random_state": 0}
        return BayesianGaussianMixture(n_components=k, max_iter=steps, **options).fit(x)

    ways: dict[str, Callable[[int], Any]] = {"peer": peer, "double": ours(x), "single": ours(single)}
    least = _least(ways, repeats)
    model = ours(x)(LONG)
    error = float(np.abs(model.predict_proba(single.astype(float)) - model.predict_proba(single)).max())
    what = f"{n} x {d}, K = {k}, {kind}"
    double: dict[str, Value] = {"what": what, "ms": 1e3 * least["double"], "scikit-learn ms": 1e3 * least["peer"]}
    faster: dict[str, Value] = {"times faster": least["peer"] / least["double"]}
    goals: dict[str, Goal] = {"times faster": at_least(GOALS[kind])}
    rows = [Row(double | faster, goals)]
    cells: dict[str, Value] = {
        "what": f"{what}, float32",
        "ms": 1e3 * least["single"],
        "scikit-learn ms": 1e3 * least["peer"],
        "times faster": least["peer"] / least["single"],
        "membership error": error,
    }
    wanted = {"membership error": at_most(1e-4)} | ({"times faster": at_least(5.0)} if kind == "full" else {})
    return [*rows, Row(cells, wanted)]


def _least(ways: dict[str, Callable[[int], Any]], repeats: int) -> dict[str, float]:
    """CPU seconds of one iteration, by way."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for way in ways.values():
            way(1)
        for _ in range(repeats):
            for name, way in ways.items():
                short, long = (cpu_seconds(lambda steps=steps, way=way: way(steps))[0] for steps in (SHORT, LONG))
                times[name].append((long - short) / (LONG - SHORT))
    return {name: max(min(seconds), 1e-9) for name, seconds in times.items()}
