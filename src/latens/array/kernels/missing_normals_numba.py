"""Compiled conditionals of normal rows with missing entries, one small factor for each row and cluster.

Rows are visited so that those with the same holes follow each other: they share the factor of their cluster. Scratch is
in double precision. Serial, and without the GIL, like all kernels.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED

__all__ = ["condition_rows", "row_moments", "sum_completed"]

LEAST_MEMBERSHIP = 1e-20  # of a row's membership: what it adds to a sum is below its rounding


@nb.njit(**COMPILED)
def _same(holes, start, stop, before, until):
    """Whether two lists of holes, of two rows, are one."""
    same, a = stop - start == until - before, 0
    while same and start + a < stop:
        same, a = holes[start + a] == holes[before + a], a + 1
    return same


@nb.njit(**COMPILED)
def _factor(precision, hole, low):
    """Cholesky factor of precision[hole, hole] into the lower triangle of `low`; its log determinant."""
    volume = 0.0
    for j in range(len(hole)):
        for i in range(j, len(hole)):
            rest = precision[hole[i], hole[j]]
            for m in range(j):
                rest -= low[i, m] * low[j, m]
            if i == j:
                volume += np.log(rest)
                low[j, j] = np.sqrt(rest)
            else:
                low[i, j] = rest / low[j, j]
    return volume


@nb.njit(**COMPILED)
def _invert(low, h, inner):
    """(L L')^-1 into `inner`, from the factor L in the lower triangle of `low`, which becomes its inverse."""
    for j in range(h):
        low[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, h):
            rest = 0.0
            for m in range(j, i):
                rest += low[i, m] * low[m, j]
            low[i, j] = -rest / low[i, i]
    for i in range(h):
        for j in range(i + 1):
            rest = 0.0
            for m in range(i, h):
                rest += low[m, i] * low[m, j]
            inner[i, j] = inner[j, i] = rest


@nb.njit(**COMPILED)
def _pull(x, mean, precision, hole, gap, pull):
    """gap = x - mean, 0 in the holes; pull = precision gap."""
    d = len(mean)
    for j in range(d):
        gap[j] = x[j] - mean[j]
        pull[j] = 0.0
    for a in range(len(hole)):
        gap[hole[a]] = 0.0
    for i in range(d):
        size = gap[i]
        if size != 0.0:
            line = precision[i]
            for j in range(d):
                pull[j] += size * line[j]


@nb.njit(**COMPILED)
def condition_rows(x, order, ends, holes, mean, precision, form, volume):
    """(n, K) each: quadratic form of the observed entries, and log determinant of the precision of the others."""
    (k_all, d), last = mean.shape, len(precision) - 1
    low, gap, pull = np.empty((d, d)), np.empty(d), np.empty(d)
    for k in range(k_all):
        own, before, until, level = precision[min(k, last)], 0, 0, 0.0
        for row in order:
            start, stop = ends[row], ends[row + 1]
            hole = holes[start:stop]
            if not _same(holes, start, stop, before, until):
                level = _factor(own, hole, low)
                before, until = start, stop
            _pull(x[row], mean[k], own, hole, gap, pull)
            total = 0.0
            for j in range(d):
                total += gap[j] * pull[j]
            for i in range(len(hole)):  # less the squares of L^-1 pull in the holes
                rest = pull[hole[i]]
                for m in range(i):
                    rest -= low[i, m] * gap[m]
                gap[i] = rest / low[i, i]
                total -= gap[i] * gap[i]
            form[row, k] = max(total, 0.0)
            volume[row, k] = level


@nb.njit(**COMPILED)
def _filled(x, mean, precision, inner, hole, gap, pull):
    """The row with its expected entries in the holes, into `gap`."""
    _pull(x, mean, precision, hole, gap, pull)
    for j in range(len(mean)):
        gap[j] = x[j]
    for i in range(len(hole)):
        entry = mean[hole[i]]
        for j in range(len(hole)):
            entry -= inner[i, j] * pull[hole[j]]
        gap[hole[i]] = entry


@nb.njit(**COMPILED)
def _spread(squares, mass, inner, hole):
    for i in range(len(hole)):
        for j in range(i, len(hole)):
            squares[hole[i], hole[j]] += mass * inner[i, j]


@nb.njit(**COMPILED)
def sum_completed(x, order, ends, holes, mean, precision, weight, first, second):
    """Adds weight E[x] to `first` (K, D) and weight E[xx'] to the upper triangles of `second` (K, D, D)."""
    (k_all, d), last = mean.shape, len(precision) - 1
    low, inner, row_full, pull = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    for k in range(k_all):
        own, before, until, mass = precision[min(k, last)], 0, 0, 0.0
        sums, squares = first[k], second[k]
        for row in order:
            w = weight[row, k]
            if w < LEAST_MEMBERSHIP:
                continue
            start, stop = ends[row], ends[row + 1]
            hole = holes[start:stop]
            if not _same(holes, start, stop, before, until):
                _spread(squares, mass, inner, holes[before:until])
                _factor(own, hole, low)
                _invert(low, len(hole), inner)
                before, until, mass = start, stop, 0.0
            mass += w
            _filled(x[row], mean[k], own, inner, hole, row_full, pull)
            for i in range(d):
                size, line = w * row_full[i], squares[i]
                sums[i] += size
                for j in range(i, d):
                    line[j] += size * row_full[j]
        _spread(squares, mass, inner, holes[before:until])


@nb.njit(**COMPILED)
def row_moments(x, order, ends, holes, mean, precision, weight, stretch, first, second):
    """Adds weight E[x] and weight E[x^2] to `first` and `second` (n, D); the spread of the holes is stretched."""
    (k_all, d), last = mean.shape, len(precision) - 1
    low, inner, row_full, pull = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    for k in range(k_all):
        own, before, until = precision[min(k, last)], 0, 0
        for row in order:
            start, stop = ends[row], ends[row + 1]
            hole = holes[start:stop]
            if not _same(holes, start, stop, before, until):
                _factor(own, hole, low)
                _invert(low, len(hole), inner)
                before, until = start, stop
            _filled(x[row], mean[k], own, inner, hole, row_full, pull)
            w = weight[row, k]
            for j in range(d):
                first[row, j] += w * row_full[j]
                second[row, j] += w * row_full[j] * row_full[j]
            for i in range(len(hole)):
                second[row, hole[i]] += w * stretch[row, k] * inner[i, i]
