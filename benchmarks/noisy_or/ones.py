"""Time of one iteration against the number of ones, for sparse rows of many columns."""

from __future__ import annotations

import numpy as np
from scipy.sparse import random_array

import latens
from benchmarks.clocks import fastest
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most
from latens.core import Rows, State, blocks
from latens.inference.ascent import ascend

__all__ = ["run"]

K = 20
TVO_SECONDS = 4.2  # an epoch of its NoisyOR at N = 1,000, recorded once; it is not on PyPI


def run(setting: Setting) -> list[Table]:
    n, d = (10_000, 2_000) if setting.name == "full" else (1_000, 500)
    rows, first = [], 0.0
    for per_row in (5, 10, 20, 40, 80):
        seconds = _iteration(n, d, per_row)
        each = seconds / (n * per_row) * 1e6
        first = first or each
        cells = {"ones per row": per_row, "CPU s": seconds, "us per one": each, "over the first": each / first}
        rows.append(Row(cells, {"over the first": at_most(1.5)}))
    small = _images()
    peer = Row({"what": "one iteration, images, N = 1,000", "CPU s": small, "TVO over it": TVO_SECONDS / small})
    return [
        Table(f"Truncated iteration, N = {n}, D = {d}, K = {K}, CSR rows", rows, ["linear: us per one does not grow"]),
        Table("Beside TVO (recorded: 4.2 CPU s an epoch)", [peer]),
    ]


def _iteration(n: int, d: int, per_row: int) -> float:
    rng = np.random.default_rng(FIRST_SEED)
    X = random_array((n, d), density=per_row / d, format="csr", rng=rng, data_sampler=lambda size: np.ones(size))
    model = latens.NoisyOr(K, e_step="truncated", n_init=1, moves=False, max_iter=3, tol=0, random_state=0).fit(X)
    return _time(model, Rows(X))


def _images() -> float:
    X, _ = latens.datasets.make_noisy_or(1000, random_state=FIRST_SEED)
    model = latens.NoisyOr(8, e_step="truncated", n_init=1, moves=False, max_iter=3, tol=0, random_state=0).fit(X)
    return _time(model, Rows(X))


def _time(model: latens.NoisyOr, rows: Rows) -> float:
    batches = blocks(rows, model._model.floats_per_row(model.n_components_))
    warm = ascend(model._model, batches, State(model._state.q), max_iter=3, tol=0).state
    return fastest(lambda: ascend(model._model, batches, warm, max_iter=1, tol=0), 3)
