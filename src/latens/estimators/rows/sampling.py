"""A sample of the rows to start from, the same however the rows are ordered, repeated or weighted.

Nor does its order depend on that of the columns: whatever is drawn for columns, such as the direction along which
rows are put in order, goes by what they hold (`column_places`), not by where they stand. Of more rows than a sample
has, which are in it does depend on that: blocks of rows are chosen from before anybody has seen all of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.sparse import csr_array, hstack

from latens.array import Array, Floats, Index
from latens.array.transfer import host, is_sparse, like, take, to_numpy
from latens.core import Rows, blocks

__all__ = [
    "chosen_rows",
    "column_places",
    "column_variances",
    "distinct",
    "filled",
    "in_order",
    "row_keys",
    "sample_rows",
    "stacked",
    "without_units",
]

NUMBERS_AT_HAND = 2**17  # that a core has at hand, and what is made of them
LEAST_SPREAD = 1e-12  # spread beside the mean, below which it is rounding


def sample_rows(rows: Rows, limit: int = 4096, exponents: Index | None = None) -> Rows:
    """Host rows at equal steps of cumulative weight along a fixed order, up to `limit`; sparse rows stay sparse.

    As many as all rows count, or as are distinct where they count less: equal rows are in it as often as they are
    common, and weights that add up to little leave none out. `exponents` (D,) are the powers of two that columns are
    divided by for the order, so that their units have no part in it.
    """
    if rows.weight is None and _has_one_key_elsewhere(rows):
        size = min(limit, len(rows))
        return chosen_rows(rows, _ordered_there(rows, exponents, _even_steps(np.arange(1.0, len(rows) + 1), size)))
    keys = np.concatenate([_keys(block, exponents) for block in blocks(rows, 0)], axis=1)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0])  # rows that tie are the same row
    if rows.weight is None:
        mass = np.arange(1.0, len(order) + 1)
    else:
        weight = host(rows.weight)
        order = order[weight[order] > 0]
        mass = np.cumsum(weight[order])
    sorted_keys = keys[:, order]
    distinct = 1 + int(np.count_nonzero(np.any(sorted_keys[:, 1:] != sorted_keys[:, :-1], axis=0)))
    size = min(limit, max(distinct, int(np.ceil(mass[-1] * (1 - 1e-9)))))
    return chosen_rows(rows, order[_even_steps(mass, size)])


def _even_steps(mass: Floats, size: int) -> Index:
    """(size,), where a cumulative sum reaches the middle of each of so many equal steps."""
    # a hair less than half a step in: a boundary between rows must not depend on the rounding of the sum
    at = np.searchsorted(mass, (np.arange(size) + 0.5) / size * mass[-1] * (1 - 1e-12))
    return np.asarray(np.minimum(at, len(mass) - 1), dtype=np.intp)


def _has_one_key_elsewhere(rows: Rows) -> bool:
    """Whether rows of another library, complete and with nothing else known of them, are sorted where they are."""
    return not is_sparse(rows.x) and not is_numpy_array(rows.x) and rows.seen is None and not rows.aux


def _ordered_there(rows: Rows, exponents: Index | None, at: Index) -> Index:
    """Which rows stand at these places of the fixed order; the host would take longer to sort a million than to fit."""
    xp, d = array_namespace(rows.x), int(rows.x.shape[1])
    direction = _directions(d, d, exponents)[0]
    order = xp.argsort(xp.concat([_value_keys(block.x, direction) for block in blocks(rows, 0)]), stable=True)
    return np.asarray(to_numpy(take(order, at)), dtype=np.intp)


def without_units(sample: Rows) -> Rows:
    """The same rows in an order that does not depend on the units of single columns, but for rounding."""
    x = np.asarray(filled(sample), dtype=np.float64)
    spread = x.std(axis=0)
    z = Rows((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0), sample.seen)
    return sample.take(_by_content(z))


def in_order(sample: Rows) -> Rows:
    """The same rows in an order that does not depend on that of the columns."""
    return sample.take(_by_content(sample))


def _by_content(sample: Rows) -> Index:
    keys = _keys(sample, places=column_places(sample))
    return np.asarray(np.lexsort(keys[::-1]), dtype=np.intp)


def column_places(rows: Rows) -> Index:
    """(D,), the place of each column in an order that depends on what columns hold, and not on where they stand.

    It is that of E[z_d |z|^2] over rows z in units of their columns' spread, the same for shuffled, repeated and
    weighted rows and for other units: how skewed a column is, and which way rows lie that are far out in others.
    """
    d, n = int(rows.x.shape[1]), np.maximum(rows.counts, np.finfo(float).tiny)
    parts = _at_hand(rows) if isinstance(rows.x, np.ndarray) else blocks(rows, 0)
    mean = np.sum([_column_sums(part) for part in parts], axis=0) / n
    spread = np.sqrt(np.sum([_column_squares(part, mean) for part in parts], axis=0) / n)
    scale = np.where(spread > LEAST_SPREAD * np.abs(mean), 1 / np.where(spread > 0, spread, 1.0), 0.0)
    places = np.empty(d, dtype=np.intp)
    places[np.argsort(np.sum([_far_out(part, mean, scale) for part in parts], axis=0), kind="stable")] = np.arange(d)
    return places


def _at_hand(rows: Rows) -> list[Rows]:
    """Parts that stay in a cache from one sum to the next."""
    size = max(1, NUMBERS_AT_HAND // max(int(rows.x.shape[1]), 1))
    return [rows[slice(at, at + size)] for at in range(0, len(rows), size)]


def _weights(block: Rows) -> Any:
    """(n,), where its rows are."""
    if block.weight is not None:
        return block.weight
    return np.ones(len(block)) if is_sparse(block.x) else array_namespace(block.x).ones_like(block.x[:, 0])


def _column_sums(block: Rows) -> Floats:
    """(D,); a missing entry is stored as 0."""
    return np.asarray(host(_weights(block) @ block.x), dtype=np.float64)


def _column_squares(block: Rows, mean: Floats) -> Floats:
    """(D,), sums of squares about the means, of the entries that were seen."""
    if is_sparse(block.x):
        weight, x = _weights(block), block.x
        return np.asarray(x.multiply(x).T @ weight - 2 * mean * (x.T @ weight) + mean**2 * weight.sum())
    residuals = block.x - like(mean, block.x)
    residuals = residuals if block.seen is None else residuals * block.mask
    return np.asarray(host(_weights(block) @ (residuals * residuals)), dtype=np.float64)


def _far_out(block: Rows, mean: Floats, scale: Floats) -> Floats:
    """(D,), sum of z |z|^2 over the rows z of a block, missing entries being at their mean."""
    x, weight = block.x, _weights(block)
    if is_sparse(x):
        far = weight * (x.multiply(x) @ scale**2 - 2 * (x @ (mean * scale**2)) + np.sum((mean * scale) ** 2))
        return np.asarray(scale * (x.T @ far - mean * far.sum()), dtype=np.float64)
    z = (x - like(mean, x)) * (like(scale, x) if block.seen is None else block.mask * like(scale, x))
    return np.asarray(host((weight * array_namespace(x).sum(z * z, axis=1)) @ z), dtype=np.float64)


def chosen_rows(rows: Rows, which: Index) -> Rows:
    """These rows on the host, in this order and without their weights; sparse ones stay sparse."""
    rows = replace(rows, weight=None).take(which)
    aux = {name: host(values) for name, values in rows.aux.items()}
    if is_sparse(rows.x):
        return replace(rows, aux=aux)
    return Rows(host(rows.x), None if rows.seen is None else host(rows.seen) > 0, aux=aux)


def distinct(rows: Rows) -> Rows:
    """Rows on the host, each once, with their number as weight; other holes make another row."""
    wide = side_by_side(rows)
    keys = host(wide.x) if wide.seen is None else np.concatenate([host(wide.x), host(wide.seen) > 0], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    return replace(chosen_rows(rows, first), weight=np.bincount(which.reshape(-1), weight, len(first)))


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows on the host, one part below the other; all know the same besides their values."""
    weights = [np.ones(len(part)) if part.weight is None else host(part.weight) for part in parts]
    seen = None
    if any(part.seen is not None for part in parts):
        seen = np.concatenate([np.broadcast_to(host(part.mask) > 0, part.x.shape) for part in parts])
    aux = {name: np.concatenate([host(part.aux[name]) for part in parts]) for name in parts[0].aux}
    return Rows(np.concatenate([host(part.x) for part in parts]), seen, np.concatenate(weights), aux)


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


def _keys(block: Rows, exponents: Index | None = None, places: Index | None = None) -> Floats:
    """(1 or 2, n), numbers that equal rows share and others do not, of values and of holes: the sample's order."""
    n_columns, block = block.x.shape[1], side_by_side(block)
    d = block.x.shape[1]
    fixed = _directions(d, n_columns, exponents, places)
    if is_sparse(block.x):
        return np.asarray(block.x @ fixed[0], dtype=np.float64)[None]
    xp, values = array_namespace(block.x), host(_value_keys(block.x, fixed[0]))[None]
    if block.seen is None:
        return values
    # apart from the values, whose unit is anything
    return np.concatenate([values, host(xp.sum(block.mask * like(fixed[1], block.x), axis=1))[None]])


def _directions(d: int, n_columns: int, exponents: Index | None, places: Index | None = None) -> Floats:
    """(2, D), what values and holes are multiplied with in the keys of a row; of columns by their places, if given."""
    fixed = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, d))
    if places is not None:
        fixed[:, :n_columns] = fixed[:, places]
    if exponents is not None:
        fixed[0, :n_columns] = np.ldexp(fixed[0, :n_columns], -exponents)
    return fixed


def _value_keys(x: Array, direction: Floats) -> Array:
    """(n,), of values alone, where they are."""
    weights = like(direction, x)
    if is_numpy_array(x):
        return np.einsum("nd,d->n", x, weights)  # unlike a matrix product, alike for equal rows
    return array_namespace(x).sum(x * weights, axis=1)


def row_keys(rows: Rows, exponents: Index | None = None) -> Floats:
    """(2, n), the same with a key of missing entries also where none are missing: blocks of one table compare."""
    keys = _keys(rows, exponents)
    if len(keys) == 2:
        return keys
    d = side_by_side(rows[:1]).x.shape[1]
    complete = _keys(Rows(np.zeros((1, d)), np.ones((1, d), dtype=bool)))[1]
    return np.concatenate([keys, np.full((1, len(rows)), complete)])


def _width(values: Array) -> int:
    """Columns of what else is known of rows, of which there may be none."""
    return int(values.shape[1]) if values.ndim > 1 else 1


def side_by_side(rows: Rows) -> Rows:
    """The rows with what else is known of them as further columns: those that differ in it are different rows."""
    if not rows.aux:
        return rows
    if is_sparse(rows.x):
        known = [np.nan_to_num(host(values)).reshape(len(rows), _width(values)) for values in rows.aux.values()]
        return Rows(csr_array(hstack([rows.x, *map(csr_array, known)])))
    xp = array_namespace(rows.x)
    known = [xp.astype(xp.reshape(values, (len(rows), _width(values))), rows.x.dtype) for values in rows.aux.values()]
    holes = [xp.isnan(values) for values in known]
    x = xp.concat(
        [rows.x, *(xp.where(hole, xp.zeros_like(v), v) for hole, v in zip(holes, known, strict=True))], axis=1
    )
    if rows.seen is None and not any(bool(xp.any(hole)) for hole in holes):
        return Rows(x)
    seen = xp.ones(rows.x.shape, dtype=xp.bool, device=device(rows.x)) if rows.seen is None else rows.seen
    return Rows(x, xp.concat([seen, *(~hole for hole in holes)], axis=1))
