"""Compiled conditionals of normal rows with missing entries, one small factor for each pattern of holes and cluster.

Rows come sorted by how many holes they have, and those with the same holes follow each other: they share a factor.
Factors of several patterns with as many holes lie side by side, so that one instruction works on some of each.
Products of whole rows with precisions are left to the caller, which has matrix products for them. Scratch is in
double precision. Serial, and without the GIL, like all kernels.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, fill, log_normal
from latens.array.kernels.row_matrices_numba import N_SIDE, subtract_side_products

__all__ = ["condition_rows", "fill_rows", "gaps", "spread_rows"]

FEWEST_SIDE = 8  # patterns side by side, however many holes they have
SIDE_NUMBERS = 2**15  # of the factors side by side, which then stay in the cache that is nearest


@nb.njit(**COMPILED)
def gaps(x, rows, ends, holes, mean, out):
    """x - mean of these rows, and 0 in their holes, into `out` (m, D)."""
    for place in range(len(rows)):
        row, own = rows[place], out[place]
        one = x[row]
        for j in range(len(mean)):
            own[j] = one[j] - mean[j]
        for at in range(ends[row], ends[row + 1]):
            own[holes[at]] = 0.0


@nb.njit(**COMPILED)
def _side_patterns(begin, rows, pattern, ends, starts):
    """Where runs of equal patterns start among `rows` from `begin` on, while they have as many holes and there is room.

    Returns the number of runs; starts[number] is where the last of them ends.
    """
    h = ends[rows[begin] + 1] - ends[rows[begin]]
    most = min(N_SIDE, max(FEWEST_SIDE, SIDE_NUMBERS // max(h * h, 1)))
    side, at, last = 0, begin, -1
    while at < len(rows) and ends[rows[at] + 1] - ends[rows[at]] == h:
        own = pattern[rows[at]]
        if own != last:
            if side == most:
                break
            starts[side], last = at, own
            side += 1
        at += 1
    starts[side] = at
    return side


@nb.njit(**COMPILED)
def _scratch(rows, ends):
    """Room for the factors of one pass over rows, of which the last has the most holes: asked for once, since memory
    that is given back and asked for again takes longer than the factors."""
    h = ends[rows[-1] + 1] - ends[rows[-1]] if len(rows) else 0
    return np.empty(max(SIDE_NUMBERS, FEWEST_SIDE * h * h))


@nb.njit(**COMPILED)
def _side_by_side(scratch, h, side):
    return scratch[: h * h * side].reshape((h, h, side))


@nb.njit(**COMPILED)
def _one_of(matrices, s, out):
    """One of the matrices side by side, its lower triangle, in a place of its own."""
    h = len(matrices)
    alone = out[: h * h].reshape((h, h))
    for i in range(h):
        for j in range(i + 1):
            alone[i, j] = matrices[i, j, s]
    return alone


@nb.njit(**COMPILED)
def _factor(precision, rows, starts, ends, holes, low, volume):
    """Cholesky factors of precision[hole, hole] into the lower triangles of `low` (h, h, side), their diagonals
    inverted; log determinants into `volume` (side,)."""
    h, side = len(low), low.shape[2]
    for i in range(h):
        for j in range(i + 1):
            into = low[i, j]
            for s in range(side):
                first = ends[rows[starts[s]]]
                into[s] = precision[holes[first + i], holes[first + j]]
    fill(0.0, volume)
    for j in range(h):
        own = low[j, j]
        for i in range(j, h):
            subtract_side_products(low[i, j], low[i], low[j], 0, j)
        for s in range(side):
            volume[s] += log_normal(own[s])
            own[s] = 1.0 / np.sqrt(own[s])
        for i in range(j + 1, h):
            other = low[i, j]
            for s in range(side):
                other[s] *= own[s]


@nb.njit(**COMPILED)
def _inverses(precision, rows, starts, side, ends, holes, factors, inverses):
    """(h, h, side), the inverses of precision[hole, hole] of the patterns that start there."""
    h = ends[rows[starts[0]] + 1] - ends[rows[starts[0]]]
    low, inner, total = _side_by_side(factors, h, side), _side_by_side(inverses, h, side), np.empty(side)
    _factor(precision, rows, starts, ends, holes, low, total)
    for j in range(h):  # the inverse of each factor, turned, into the upper triangles
        for i in range(j + 1, h):
            fill(0.0, total)
            subtract_side_products(total, low[i], low[j], j, i)
            other, own = low[j, i], low[i, i]
            for s in range(side):
                other[s] = total[s] * own[s]
    for i in range(h):
        for j in range(i + 1):
            fill(0.0, total)
            subtract_side_products(total, low[i], low[j], i, h)
            one, turned = inner[i, j], inner[j, i]
            for s in range(side):
                one[s] = turned[s] = -total[s]
    return inner


@nb.njit(**COMPILED)
def _condition_side(pull, rows, ends, holes, low, level, form, volume):
    """The forms of rows that have a factor each, less the squares of L^-1 pull, and their log determinants."""
    h, side = len(low), len(rows)
    solved, reduction = np.empty((h, side)), np.zeros(side)
    for i in range(h):
        own, times = solved[i], low[i, i]
        for s in range(side):
            own[s] = pull[rows[s], holes[ends[rows[s]] + i]]
        subtract_side_products(own, low[i], solved, 0, i)
        for s in range(side):
            own[s] *= times[s]
            reduction[s] += own[s] * own[s]
    for s in range(side):
        form[rows[s]] = max(form[rows[s]] - reduction[s], 0.0)
        volume[rows[s]] = level[s]


@nb.njit(**COMPILED)
def _condition_run(pull, rows, ends, holes, low, level, form, volume):
    """The same of rows that share one factor (h, h)."""
    h = len(low)
    solved = np.empty(h)
    for row in rows:
        first, reduction = ends[row], 0.0
        for i in range(h):
            rest = pull[row, holes[first + i]]
            for m in range(i):
                rest -= low[i, m] * solved[m]
            solved[i] = rest * low[i, i]
            reduction += solved[i] * solved[i]
        form[row] = max(form[row] - reduction, 0.0)
        volume[row] = level


@nb.njit(**COMPILED)
def condition_rows(pull, rows, pattern, ends, holes, precision, form, volume):
    """Of one cluster: the quadratic forms of gaps that are 0 in the holes, less what holes take of it, (n,), and the
    log determinants of the precision of what is missing (n,); pull = precision gap, (n, D)."""
    starts, begin, scratch = np.empty(N_SIDE + 1, np.intp), 0, _scratch(rows, ends)
    alone = np.empty(pull.shape[1] ** 2)
    while begin < len(rows):
        side = _side_patterns(begin, rows, pattern, ends, starts)
        h = ends[rows[begin] + 1] - ends[rows[begin]]
        low, level = _side_by_side(scratch, h, side), np.empty(side)
        _factor(precision, rows, starts, ends, holes, low, level)
        if starts[side] - begin == side:
            _condition_side(pull, rows[begin : begin + side], ends, holes, low, level, form, volume)
        else:
            for s in range(side):
                run = rows[starts[s] : starts[s + 1]]
                _condition_run(pull, run, ends, holes, _one_of(low, s, alone), level[s], form, volume)
        begin = starts[side]


@nb.njit(**COMPILED)
def _fill_side(pull, begin, rows, ends, holes, mean, inner, full):
    """Expected entries in the holes of rows that have an inverse each, `full` and `pull` from `begin` on."""
    h, side = len(inner), len(rows)
    drive, entry = np.empty((h, side)), np.empty(side)
    for i in range(h):
        own = drive[i]
        for s in range(side):
            own[s] = pull[begin + s, holes[ends[rows[s]] + i]]
    for i in range(h):
        for s in range(side):
            entry[s] = mean[holes[ends[rows[s]] + i]]
        subtract_side_products(entry, inner[i], drive, 0, h)
        for s in range(side):
            full[begin + s, holes[ends[rows[s]] + i]] = entry[s]


@nb.njit(**COMPILED)
def _fill_run(pull, hole, mean, inner, full):
    """The same of rows that share one inverse (h, h)."""
    for row in range(len(pull)):
        for i in range(len(hole)):
            entry = mean[hole[i]]
            for j in range(i + 1):
                entry -= inner[i, j] * pull[row, hole[j]]
            for j in range(i + 1, len(hole)):
                entry -= inner[j, i] * pull[row, hole[j]]
            full[row, hole[i]] = entry


@nb.njit(**COMPILED)
def _fill(pull, begin, starts, side, rows, ends, holes, mean, inner, alone, full):
    if starts[side] - begin == side:
        _fill_side(pull, begin, rows[begin : begin + side], ends, holes, mean, inner, full)
    else:
        for s in range(side):
            first, last = starts[s], starts[s + 1]
            hole, own = holes[ends[rows[first]] : ends[rows[first] + 1]], _one_of(inner, s, alone)
            _fill_run(pull[first:last], hole, mean, own, full[first:last])


@nb.njit(**COMPILED)
def fill_rows(pull, rows, pattern, ends, holes, mean, precision, weight, full, squares):
    """Of one cluster: expected entries in the holes of `full` (m, D), which are `rows` in their order, and the weighted
    covariances of what is missing onto the upper triangle of `squares` (D, D); pull (m, D), weight (m,)."""
    starts, begin = np.empty(N_SIDE + 1, np.intp), 0
    factors, inverses, alone = _scratch(rows, ends), _scratch(rows, ends), np.empty(pull.shape[1] ** 2)
    while begin < len(rows):
        side = _side_patterns(begin, rows, pattern, ends, starts)
        inner = _inverses(precision, rows, starts, side, ends, holes, factors, inverses)
        _fill(pull, begin, starts, side, rows, ends, holes, mean, inner, alone, full)
        for s in range(side):
            mass, hole = 0.0, holes[ends[rows[starts[s]]] : ends[rows[starts[s]] + 1]]
            for place in range(starts[s], starts[s + 1]):
                mass += weight[place]
            for i in range(len(hole)):
                into = squares[hole[i]]
                for j in range(i, len(hole)):
                    into[hole[j]] += mass * inner[i, j, s]
        begin = starts[side]


@nb.njit(**COMPILED)
def spread_rows(pull, rows, pattern, ends, holes, mean, precision, full, variance):
    """Of one cluster: expected entries in the holes of `full` (n, D) and their variances into `variance` (n, D)."""
    starts, begin = np.empty(N_SIDE + 1, np.intp), 0
    factors, inverses, alone = _scratch(rows, ends), _scratch(rows, ends), np.empty(pull.shape[1] ** 2)
    while begin < len(rows):
        side = _side_patterns(begin, rows, pattern, ends, starts)
        inner = _inverses(precision, rows, starts, side, ends, holes, factors, inverses)
        _fill(pull, begin, starts, side, rows, ends, holes, mean, inner, alone, full)
        for s in range(side):
            hole = holes[ends[rows[starts[s]]] : ends[rows[starts[s]] + 1]]
            for place in range(starts[s], starts[s + 1]):
                for i in range(len(hole)):
                    variance[place, hole[i]] = inner[i, i, s]
        begin = starts[side]
