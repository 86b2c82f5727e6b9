"""Normal rows with missing entries: compiled for NumPy arrays, batched algebra of the library for others.

Under a normal with mean m and precision P, o observed and u unobserved, g = x_o - m_o,

    x_u | x_o  ~ Normal(m_u - P_uu^-1 P_uo g, P_uu^-1)
    x_o        has quadratic form g' P_oo g - g' P_ou P_uu^-1 P_uo g and the precision's determinant |P| / |P_uu|

so that a row asks for a factor as large as its holes, and rows with the same holes share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.transfer import cast, host, like

LEAST_MEMBERSHIP = 1e-20  # of a row's membership: what it adds to a sum is below its rounding

__all__ = ["Holes", "completed_moments", "completed_sums", "conditioned", "drawn_entries", "holes_of"]


class Holes(NamedTuple):
    """Where entries are missing."""

    seen: Array  # (1 or n, D), boolean; one row where nothing is missing
    order: Index  # (n,), rows by how many holes they have; those with the same holes follow each other
    pattern: Index  # (n,), a number for each row that rows with the same holes share
    ends: Index  # (n + 1,), where the columns of each row begin in `columns`
    columns: Index


def holes_of(seen: Array) -> Holes:
    missing = ~host(seen).astype(bool)
    count, bits = missing.sum(axis=1), np.packbits(missing, axis=1)
    order = np.lexsort((*bits.T, count)).astype(np.intp)
    is_new = (np.diff(bits[order], axis=0, prepend=~bits[order[:1]]) != 0).any(axis=1)
    pattern = np.empty(len(order), np.intp)
    pattern[order] = np.cumsum(is_new)
    ends = np.concatenate([[0], np.cumsum(count)]).astype(np.intp)
    return Holes(seen, order, pattern, ends, np.nonzero(missing)[1].astype(np.intp))


def conditioned(x: Array, holes: Holes, mean: Floats, precision: Floats) -> tuple[Array, Array]:
    """(n, K) each: the quadratic form of what was observed, and log |P_uu|; mean (K, D), precision (1 or K, D, D)."""
    if not len(holes.columns):
        return _complete_forms(x, mean, precision)
    if not is_numpy_array(x):
        return conditioned_plain(x, holes, mean, precision)
    from latens.array.kernels.missing_normals_numba import condition_rows, gaps

    rows, every = _double(x), np.arange(len(x))
    (form, volume), (gap, pull) = np.empty((2, len(mean), len(x))), np.empty((2, *x.shape))
    for k in range(len(mean)):
        own = precision[min(k, len(precision) - 1)]
        gaps(rows, every, holes.ends, holes.columns, _double(mean[k]), gap)
        np.matmul(gap, own, out=pull)
        np.einsum("nd,nd->n", gap, pull, out=form[k])
        condition_rows(pull, *_by_pattern(holes), _double(own), form[k], volume[k])
    return form.T, volume.T


def conditioned_plain(x: Array, holes: Holes, mean: Floats, precision: Floats) -> tuple[Array, Array]:
    xp = array_namespace(x)
    forms, volumes = [], []
    for k in range(len(mean)):
        gap, pull, left, matrix = _gap_plain(x, holes, mean, precision, k)
        forms.append(xp.sum(gap * pull, axis=1) - xp.sum(left * _solved(matrix, left), axis=1))
        volumes.append(xp.linalg.slogdet(matrix)[1])
    return xp.stack(forms, axis=1), xp.stack(volumes, axis=1)


def completed_sums(x: Array, holes: Holes, mean: Floats, precision: Floats, weight: Array) -> tuple[Floats, Floats]:
    """Sums of E[x] (K, D) and E[xx'] (K, D, D) over rows, what is missing being in expectation; weight (n, K)."""
    if not is_numpy_array(x):
        return completed_sums_plain(x, holes, mean, precision, weight)
    from latens.array.kernels.missing_normals_numba import fill_rows, gaps

    (k_all, d), rows, room = mean.shape, _double(x), np.empty((2, *x.shape))
    first, second = np.empty((k_all, d)), np.empty((k_all, d, d))
    for k in range(k_all):
        order = holes.order[weight[holes.order, k] >= LEAST_MEMBERSHIP]
        own, centre, heavy = _double(precision[min(k, len(precision) - 1)]), _double(mean[k]), _double(weight[order, k])
        (gap, pull), full, spread = room[:, : len(order)], rows[order], np.zeros((d, d))
        gaps(rows, order, holes.ends, holes.columns, centre, gap)
        np.matmul(gap, own, out=pull)
        fill_rows(pull, order, *_by_pattern(holes)[1:], centre, own, heavy, full, spread)
        first[k] = heavy @ full
        full *= np.sqrt(heavy)[:, None]
        second[k] = full.T @ full + spread
    below = np.tril_indices(d, -1)
    second[:, below[0], below[1]] = second[:, below[1], below[0]]
    return first, second


def completed_sums_plain(
    x: Array, holes: Holes, mean: Floats, precision: Floats, weight: Array
) -> tuple[Floats, Floats]:
    xp, first, second = array_namespace(x), [], []
    for k in range(len(mean)):
        full, spread = _completed_plain(x, holes, mean, precision, k)
        own = cast(weight[:, k], full)[:, None]
        first.append(host(xp.sum(own * full, axis=0)))
        second.append(host((own * full).T @ full + xp.sum(own[:, :, None] * spread, axis=0)))
    return np.stack(first), np.stack(second)


def completed_moments(
    x: Array, holes: Holes, mean: Floats, precision: Floats, weight: Array, stretch: Array
) -> tuple[Array, Array]:
    """(n, D) each: mean and variance of every entry of the mixture with weights (n, K), which are shares.

    `stretch` (n, K) multiplies the spread of what is missing.
    """
    xp = array_namespace(x)
    if is_numpy_array(x):
        from latens.array.kernels.missing_normals_numba import gaps, spread_rows

        rows, order, (gap, first, second) = _double(x), holes.order, np.zeros((3, *x.shape))
        for k in range(len(mean)):
            own, centre = _double(precision[min(k, len(precision) - 1)]), _double(mean[k])
            gaps(rows, order, holes.ends, holes.columns, centre, gap)
            full, variance = rows[order], np.zeros(x.shape)
            spread_rows(gap @ own, *_by_pattern(holes), centre, own, full, variance)
            share, wider = weight[order, k, None], stretch[order, k, None]
            first[order] += share * full
            second[order] += share * (full**2 + wider * variance)
    else:
        first, second = xp.zeros_like(x), xp.zeros_like(x)
        for k in range(len(mean)):
            full, spread = _completed_plain(x, holes, mean, precision, k)
            own, wider = weight[:, k][:, None], stretch[:, k][:, None]
            first = first + own * full
            second = second + own * (full**2 + wider * xp.linalg.diagonal(spread))
    return cast(first, x), cast(second - first**2, x)


def drawn_entries(x: Floats, holes: Holes, mean: Floats, precision: Floats, label: Index, noise: Floats) -> Floats:
    """(n, D), rows of clusters `label` (n,) whose missing entries are drawn given the others, of normals (n, D)."""
    missing = ~np.asarray(holes.seen, dtype=bool)
    rows = np.flatnonzero(missing.any(axis=1))
    hidden, own = missing[rows], precision[np.minimum(label[rows], len(precision) - 1)]
    gap = np.where(hidden, 0.0, x[rows] - mean[label[rows]])
    left = np.where(hidden, _times(own, gap), 0.0)
    matrix = np.where(hidden[:, :, None] & hidden[:, None, :], own, np.eye(x.shape[1]))
    root = np.linalg.cholesky(matrix)
    whitened = np.linalg.solve(root, left[:, :, None])[:, :, 0]
    entries = (
        mean[label[rows]] - np.linalg.solve(np.swapaxes(root, 1, 2), (whitened - noise[rows])[:, :, None])[:, :, 0]
    )
    found = x.copy()
    found[rows] = np.where(hidden, entries, x[rows])
    return found


def _complete_forms(x: Array, mean: Floats, precision: Floats) -> tuple[Array, Array]:
    """The same of rows that miss nothing, one product for each cluster."""
    xp, forms = array_namespace(x), []
    for k in range(len(mean)):
        gap = x - like(mean[k], x)
        forms.append(xp.sum((gap @ like(precision[min(k, len(precision) - 1)], x)) * gap, axis=1))
    form = xp.stack(forms, axis=1)
    return form, xp.zeros_like(form)


def _double(values: Array) -> Floats:
    return np.ascontiguousarray(values, np.float64)


def _by_pattern(holes: Holes) -> tuple[Index, Index, Index, Index]:
    """What compiled loops ask of the holes: rows in their order, their patterns, and the columns of each."""
    return holes.order, holes.pattern, holes.ends, holes.columns


def _gap_plain(x: Array, holes: Holes, mean: Floats, precision: Floats, k: int) -> tuple[Array, Array, Array, Array]:
    """Of one cluster: the gap of what was seen, its product with the precision, that in the holes, and P_uu.

    Matrices are (n, D, D), with ones on the diagonal where an entry was seen.
    """
    xp = array_namespace(x)
    seen = xp.astype(holes.seen, x.dtype)
    own = like(precision[min(k, len(precision) - 1)], x)
    gap = (x - like(mean[k], x)) * seen
    pull, missing = gap @ own, 1 - seen
    matrix = own * missing[:, :, None] * missing[:, None, :] + seen[:, :, None] * like(np.eye(x.shape[1]), x)
    return gap, pull, pull * missing, matrix


def _completed_plain(x: Array, holes: Holes, mean: Floats, precision: Floats, k: int) -> tuple[Array, Array]:
    """Rows with their expected entries (n, D), and the covariance of what is missing (n, D, D)."""
    xp = array_namespace(x)
    _, _, left, matrix = _gap_plain(x, holes, mean, precision, k)
    missing = 1 - xp.astype(holes.seen, x.dtype)
    spread = xp.linalg.inv(matrix) * missing[:, :, None] * missing[:, None, :]
    return x + missing * (like(mean[k], x) - _times(spread, left)), spread


def _solved(matrix: Array, vectors: Array) -> Array:
    return array_namespace(vectors).linalg.solve(matrix, vectors[:, :, None])[:, :, 0]


def _times(matrix: Array, vectors: Array) -> Array:
    return (matrix @ vectors[:, :, None])[:, :, 0]
