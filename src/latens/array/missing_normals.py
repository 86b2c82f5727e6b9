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

__all__ = ["Holes", "completed_moments", "completed_sums", "conditioned", "drawn_entries", "holes_of"]


class Holes(NamedTuple):
    """Where entries are missing."""

    seen: Array  # (1 or n, D), boolean; one row where nothing is missing
    order: Index  # (n,), rows such that those with the same holes follow each other
    ends: Index  # (n + 1,), where the columns of each row begin in `columns`
    columns: Index


def holes_of(seen: Array) -> Holes:
    missing = ~host(seen).astype(bool)
    order = np.lexsort(np.packbits(missing, axis=1).T)
    ends = np.concatenate([[0], np.cumsum(missing.sum(axis=1))])
    return Holes(seen, order.astype(np.intp), ends.astype(np.intp), np.nonzero(missing)[1].astype(np.intp))


def conditioned(x: Array, holes: Holes, mean: Floats, precision: Floats) -> tuple[Array, Array]:
    """(n, K) each: the quadratic form of what was observed, and log |P_uu|; mean (K, D), precision (1 or K, D, D)."""
    if not len(holes.columns):
        return _complete_forms(x, mean, precision)
    if not is_numpy_array(x):
        return conditioned_plain(x, holes, mean, precision)
    from latens.array.kernels.missing_normals_numba import condition_rows

    form, volume = np.empty((2, len(x), len(mean)))
    condition_rows(*_compiled(x, holes, mean, precision), form, volume)
    return form, volume


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
    from latens.array.kernels.missing_normals_numba import sum_completed

    (k, d) = mean.shape
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    weight = np.ascontiguousarray(weight, np.float64)
    sum_completed(*_compiled(x, holes, mean, precision), weight, first, second)
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
        from latens.array.kernels.missing_normals_numba import row_moments

        first, second = np.zeros((2, *x.shape))
        shares = (np.ascontiguousarray(part, np.float64) for part in (weight, stretch))
        row_moments(*_compiled(x, holes, mean, precision), *shares, first, second)
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


def _compiled(x: Array, holes: Holes, mean: Floats, precision: Floats) -> tuple[Array, ...]:
    rows = np.ascontiguousarray(x, np.float64)
    return rows, holes.order, holes.ends, holes.columns, np.ascontiguousarray(mean), np.ascontiguousarray(precision)


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
