"""Eight pictures behind 8 x 8 binary images, best of five starts; and the truncated bound beside the exact one."""

from __future__ import annotations

from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Goal, Row, Table, at_least, at_most
from latens.metrics import match_components

__all__ = ["run"]

K, FOUND = 8, 0.95
GOALS = {"all 8": at_least(1.0), "CPU s": at_most(3.0)}


def run(setting: Setting) -> list[Table]:
    n, n_seeds = (10_000, 5) if setting.name == "full" else (1_000, 1)
    ways: list[tuple[str, dict[str, Any], dict[str, Goal]]] = [
        ("latens ml, best of 5", {"prior": "ml"}, GOALS),
        ("latens ard, best of 5", {"prior": "ard"}, GOALS),
        ("latens ard, truncated, best of 5", {"prior": "ard", "e_step": "truncated"}, {"all 8": at_least(1.0)}),
        ("latens ard from 16 causes", {"prior": "ard", "n_components": 16}, {"exactly 8": at_least(1.0)}),
    ]
    latens.NoisyOr(K, n_init=1, max_iter=2, tol=0, e_step="truncated").fit(_rows(50, 0)[0])  # compiles
    rows = [_row(label, options, goals, n, n_seeds) for label, options, goals in ways]
    note = f"a picture counts as found at a cosine of {FOUND} with the true activation probabilities"
    return [Table(f"Noisy-OR images, N = {n}", rows, [note]), _bounds(n)]


def _rows(n: int, seed: int) -> tuple[np.ndarray, Any]:
    return latens.datasets.make_noisy_or(n, random_state=FIRST_SEED + seed)


def _row(label: str, options: dict[str, Any], goals: dict[str, Goal], n: int, n_seeds: int) -> Row:
    found, n_exact, seconds = 0, 0, []
    for seed in range(n_seeds):
        X, truth = _rows(n, seed)
        model = latens.NoisyOr(**{"n_components": K, "random_state": seed, "n_jobs": 1, **options})
        took, _ = cpu_seconds(lambda model=model, X=X: model.fit(X))
        all_found = match_components(model.components_, truth.components).found(FOUND) == K
        found += all_found
        n_exact += all_found and model.n_components_ == K
        seconds.append(took)
    cells = {"method": label, "all 8": Count(found, n_seeds), "exactly 8": Count(n_exact, n_seeds)}
    return Row({**cells, "CPU s": float(np.mean(seconds))}, goals)


def _bounds(n: int) -> Table:
    X, _ = _rows(n, 0)
    elbo = {}
    for e_step in ("exact", "truncated", "jensen"):
        rows = X[:1000] if e_step == "jensen" else X
        model = latens.NoisyOr(K, prior="ml", e_step=e_step, n_init=1, moves=False, tol=1e-5, random_state=0).fit(rows)
        likelihood = model.score(rows)  # sums over all states
        elbo[e_step] = (model.elbo_ / len(rows), likelihood)
    goals = {"truncated": {"gap": at_most(0.01)}}
    return Table(
        "Bound beside the likelihood at the same point, nats per row, prior ml",
        [
            Row({"e_step": name, "bound": bound, "likelihood": exact, "gap": exact - bound}, goals.get(name, {}))
            for name, (bound, exact) in elbo.items()
        ],
    )
