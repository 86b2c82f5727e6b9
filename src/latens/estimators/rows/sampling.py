"""A sample of the rows to start from, the same however the rows are ordered, repeated or weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.transfer import host, is_sparse, like
from latens.core import Rows

__all__ = ["blocks", "chosen_rows", "column_variances", "distinct", "filled", "row_keys", "sample_rows", "stacked"]

BLOCK_FLOATS = 2**20  # a block's rows and scratch on the host: a few megabytes, near the caches
DEVICE_FLOATS = 2**27  # elsewhere a block must be large enough to keep the device busy


def blocks(rows: Rows, floats_per_row: int) -> list[Rows]:
    """Consecutive blocks of rows that each need about as much memory, scratch included.

    Their size is fixed by the shape of the problem alone, so that sums are added in the same order on any machine.
    """
    sparse = is_sparse(rows.x)
    stored = -(-rows.x.nnz // max(len(rows), 1)) if sparse else int(rows.x.shape[1])
    budget = BLOCK_FLOATS if sparse or is_numpy_array(rows.x) else DEVICE_FLOATS
    size = max(64, budget // max(stored + floats_per_row, 1))
    return [rows[slice(at, min(at + size, len(rows)))] for at in range(0, len(rows), size)]


def sample_rows(rows: Rows, limit: int = 4096) -> Rows:
    """Host rows at equal steps of cumulative weight along a fixed order, up to `limit`; sparse rows stay sparse.

    As many as all rows count, or as are distinct where they count less: equal rows are in it as often as they are
    common, and weights that add up to little leave none out.
    """
    keys = np.concatenate([_keys(block) for block in blocks(rows, 0)], axis=1)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0])  # rows that tie are the same row
    if rows.weight is None:
        mass = np.arange(1.0, len(order) + 1)
    else:
        weight = host(rows.weight)
        order = order[weight[order] > 0]
        mass = np.cumsum(weight[order])
    along = keys[:, order]
    distinct = 1 + int(np.count_nonzero(np.any(along[:, 1:] != along[:, :-1], axis=0)))
    size = min(limit, max(distinct, int(np.ceil(mass[-1] * (1 - 1e-9)))))
    # half a step in, and a hair less: a boundary between rows must not depend on the rounding of the sum
    at = np.searchsorted(mass, (np.arange(size) + 0.5) / size * mass[-1] * (1 - 1e-12))
    return chosen_rows(rows, order[np.minimum(at, len(order) - 1)])


def chosen_rows(rows: Rows, which: Index) -> Rows:
    """These rows on the host, in this order and without their weights; sparse ones stay sparse."""
    if is_sparse(rows.x):
        return Rows(rows.x[which])
    return Rows(host(_take(rows.x, which)), None if rows.seen is None else host(_take(rows.seen, which)) > 0)


def distinct(rows: Rows) -> Rows:
    """Rows on the host, each once, with their number as weight; those with other holes are others."""
    x, seen = host(rows.x), None if rows.seen is None else host(rows.seen) > 0
    told = x if seen is None else np.concatenate([x, seen], axis=1)
    _, first, which = np.unique(told, axis=0, return_index=True, return_inverse=True)
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    return Rows(x[first], None if seen is None else seen[first], np.bincount(which.reshape(-1), weight, len(first)))


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows on the host, one part below the other."""
    weights = [np.ones(len(part)) if part.weight is None else host(part.weight) for part in parts]
    seen = None
    if any(part.seen is not None for part in parts):
        seen = np.concatenate([np.broadcast_to(host(part.mask) > 0, part.x.shape) for part in parts])
    return Rows(np.concatenate([host(part.x) for part in parts]), seen, np.concatenate(weights))


def filled(sample: Rows) -> Floats:
    """(n, D), the sample with column means in its holes: good enough to start from."""
    x = sample.x.toarray() if is_sparse(sample.x) else host(sample.x)
    if sample.seen is None:
        return x
    means = x.sum(axis=0) / np.maximum(sample.seen.sum(axis=0), 1)
    return np.where(sample.seen, x, means)


def column_variances(x: Any) -> Floats:
    """(D,), of a sample, which may be CSR."""
    if not is_sparse(x):
        return np.asarray(x.var(axis=0))
    mean = np.asarray(x.mean(axis=0), dtype=np.float64)
    return np.maximum(np.asarray(x.multiply(x).mean(axis=0), dtype=np.float64) - mean**2, 0.0)


def _keys(block: Rows) -> Floats:
    """(1 or 2, n), numbers that equal rows share and others do not, of values and of holes: the sample's order."""
    d = block.x.shape[1]
    fixed = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, d))
    if is_sparse(block.x):
        return np.asarray(block.x @ fixed[0], dtype=np.float64)[None]
    xp = array_namespace(block.x)
    along = like(fixed[0], block.x)
    if is_numpy_array(block.x):
        values = np.asarray(np.einsum("nd,d->n", block.x, along))[None]  # unlike a matrix product, alike for equal rows
    else:
        values = host(xp.sum(block.x * along, axis=1))[None]
    if block.seen is None:
        return values
    # apart from the values, whose unit is anything
    return np.concatenate([values, host(xp.sum(block.mask * like(fixed[1], block.x), axis=1))[None]])


def row_keys(rows: Rows) -> Floats:
    """(2, n), the same with a key of missing entries also where none are missing: blocks of one table compare."""
    keys = _keys(rows)
    if len(keys) == 2:
        return keys
    d = rows.x.shape[1]
    complete = _keys(Rows(np.zeros((1, d)), np.ones((1, d), dtype=bool)))[1]
    return np.concatenate([keys, np.full((1, len(rows)), complete)])


def _take(x: Array, rows: Index) -> Any:
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(rows, device=device(x)), axis=0)
