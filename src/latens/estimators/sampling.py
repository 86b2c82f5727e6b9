"""A sample of the rows to start from, the same however the rows are ordered, repeated or weighted."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from latens.array import Array, Floats, Index
from latens.array.transfer import host, like
from latens.core import Rows

__all__ = ["filled", "rows_per_block", "sample_rows", "split"]

BLOCK_FLOATS = 2**20  # a block's rows and scratch: a few megabytes, near the caches


def rows_per_block(n_features: int, floats_per_row: int) -> int:
    """Fixed by the shape of the problem alone, so that sums are added in the same order on any machine."""
    return max(64, BLOCK_FLOATS // max(n_features + floats_per_row, 1))


def split(rows: Rows, size: int) -> list[Rows]:
    """Consecutive blocks of at most `size` rows."""
    return [rows[slice(at, at + size)] for at in range(0, len(rows), size)]


def sample_rows(rows: Rows, limit: int = 4096) -> Rows:
    """Host rows at equal steps of cumulative weight along a fixed order; as many as are distinct, up to `limit`."""
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    key = np.concatenate([_keys(block) for block in split(rows, rows_per_block(rows.x.shape[1], 0))])
    order = np.argsort(key, kind="stable")
    order = order[weight[order] > 0]
    mass = np.cumsum(weight[order])
    distinct = 1 + int(np.count_nonzero(np.diff(key[order])))
    size = min(limit, distinct)
    # half a step in, and a hair less: a boundary between rows must not depend on the rounding of the sum
    at = np.searchsorted(mass, (np.arange(size) + 0.5) / size * mass[-1] * (1 - 1e-12))
    chosen = order[np.minimum(at, len(order) - 1)]
    x = host(_take(rows.x, chosen))
    return Rows(x, None if rows.seen is None else host(_take(rows.seen, chosen)) > 0)


def filled(sample: Rows) -> Floats:
    """(n, D), the sample with column means in its holes: good enough to start from."""
    x = host(sample.x)
    if sample.seen is None:
        return x
    means = x.sum(axis=0) / np.maximum(sample.seen.sum(axis=0), 1)
    return np.where(sample.seen, x, means)


def _keys(block: Rows) -> Floats:
    """(n,), one number per row that equal rows share and others do not; its order is the sample's order."""
    xp, d = array_namespace(block.x), block.x.shape[1]
    fixed = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, d))
    key = xp.sum(block.x * like(fixed[0], block.x), axis=1)
    if block.seen is not None:
        key = key + xp.sum(block.mask * like(fixed[1], block.x), axis=1)
    return host(key)


def _take(x: Array, rows: Index) -> Any:
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(rows, device=device(x)), axis=0)
