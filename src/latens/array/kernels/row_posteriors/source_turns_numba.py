"""The best turn of sources, compiled: a hundred operations on small matrices in one call.

What is maximised, and why by pairs of sources, stands in `models.noisy_ica.turns`.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, copy, fill
from latens.array.kernels.row_matrices_numba import inverse_of_square

__all__ = ["climb_turns"]


@nb.njit(**COMPILED)
def _height(n, quadratic, linear, gram, columns, shape, rate, turn, volume):
    k, r = linear.shape
    cost, likely = 0.0, 0.0
    for j in range(r):
        cost += np.log(rate + 0.5 * gram[j, j])
    for a in range(k):
        row, own = turn[a], quadratic[a]
        square = 0.0
        for i in range(r):
            total = 0.0
            for j in range(r):
                total += own[i, j] * row[j]
            square += row[i] * total
        likely += linear[a, a] - 0.5 * square
    return (n - columns) * volume + likely - (shape + 0.5 * columns) * cost


@nb.njit(**COMPILED)
def _newton(n, quadratic, linear, gram, columns, shape, rate, turn, shallowest, step):
    """Slope over curvature of each pair of sources into `step` (R, R)."""
    k, r = linear.shape
    back = np.ascontiguousarray(turn.T)
    half = np.dot(quadratic.reshape(k * r, r), back).reshape(k, r, r)  # M_k T'
    slope, curved, own = np.empty((k, r)), np.empty((k, r)), np.empty((k, k))
    least, both = shallowest * n, n + columns
    for a in range(k):
        for j in range(r):
            square, cross = 0.0, 0.0
            for i in range(r):
                square += half[a, i, j] * back[i, j]
                cross += turn[a, i] * half[a, i, j]
            alpha = (shape + 0.5 * columns) / (rate + 0.5 * gram[j, j])
            slope[a, j] = linear[a, j] - cross + alpha * gram[a, j]
            curved[a, j] = max(square + alpha * gram[a, a], least)
            if a == j:
                own[a, a] = square
        slope[a, a] += n - columns
    for a in range(r):
        fill(0.0, step[a])
    for a in range(k):
        for j in range(k, r):
            step[a, j] = slope[a, j] / curved[a, j]
        for j in range(k):
            there, here = curved[a, j], curved[j, a]
            more = max(least - 0.5 * (there + here) + np.sqrt((0.5 * (there - here)) ** 2 + both**2), 0.0)
            there, here = there + more, here + more
            step[a, j] = (here * slope[a, j] - both * slope[j, a]) / (there * here - both**2)
        step[a, a] = slope[a, a] / (own[a, a] + n)


@nb.njit(**COMPILED)
def climb_turns(n, quadratic, linear, gram, columns, shape, rate, n_steps, least, sizes_only, limits, out):
    """Up to n_steps turns, each shortened until the height rises, into `out` (K, R).

    quadratic (K, R, R), linear (K, R), gram (R, R); columns, shape and rate price loadings. limits: the longest entry
    of a step, the shallowest curvature in n, by how much a step is shortened, and how often at most.
    """
    (k, r), (longest, shallowest, shorter, most) = linear.shape, limits
    turn, step, back = np.eye(r), np.empty((r, r)), np.empty((r, r))
    volume = 0.0
    height = _height(n, quadratic, linear, gram, columns, shape, rate, turn, volume)
    for _ in range(n_steps):
        _newton(n, quadratic, linear, gram, columns, shape, rate, turn, shallowest, step)
        largest = 1e-300
        for i in range(r):
            for j in range(r):
                if sizes_only and i < k and j < k and i != j:
                    step[i, j] = 0.0
                largest = max(largest, abs(step[i, j]))
        length, found = min(1.0, longest / largest), -np.inf
        small, moved, priced, trial, more = step, linear, gram, turn, 0.0
        for _ in range(int(most)):
            small = np.eye(r) + length * step
            more, sign = inverse_of_square(small, back)
            if sign > 0:
                moved, priced = np.dot(linear, small.T), np.dot(np.ascontiguousarray(back.T), np.dot(gram, back))
                trial = np.dot(small, turn)
                found = _height(n, quadratic, moved, priced, columns, shape, rate, trial, volume + more)
                if found > height:
                    break
            length *= shorter
        if not found > height or found - height < least * n:
            break
        turn, linear, gram, volume, height = trial, moved, priced, volume + more, found
    for a in range(k):
        copy(turn[a], out[a])
