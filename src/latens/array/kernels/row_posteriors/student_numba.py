"""Scales of Student-t sources, compiled: what would be many short operations is one call a block.

Arrays are (what, rows): the numbers of many rows lie together.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, add_rows, copy, fill, log_normal
from latens.array.kernels.row_matrices_numba import N_SIDE, normal_columns
from latens.array.kernels.spike_slab_numba import moment_pairs

__all__ = ["student_columns", "student_sources"]

SIDE_BY_SIDE = 4 * N_SIDE  # rows whose numbers stay in the cache from their codes to the sums over them


@nb.njit(**COMPILED)
def student_columns(mean, spread, tails, shape, rate, expected, log_rate):
    """Of q(u) = Gamma(shape, rate) with rate = (tails + E[z^2]) / 2: the rate, E[u] and log rate, (K, n) each.

    mean (K, n) and spread (K, K, n) are those of z; tails and shape (K,).
    """
    for a in range(mean.shape[0]):
        at, wide, tail, size = mean[a], spread[a, a], tails[a], shape[a]
        into, quiet, logarithm = rate[a], expected[a], log_rate[a]
        for i in range(len(at)):
            found = 0.5 * (tail + at[i] * at[i] + wide[i])
            into[i] = found
            quiet[i] = size / found
            logarithm[i] = log_normal(found)


@nb.njit(**COMPILED)
def student_sources(x, weights, shift, gram, was, tails, shape, quiet, sums, pull, logs):
    """One step of Student-t sources of all rows, and the sums over them, without a stop in between.

    Of x (n, D), weights (K, D), shift (K,), gram (P, 1) packed and E[u] before `was` (K, n): q(z) is normal of
    precision gram + diag(was), its mean that times weights x - shift; then E[u] into `quiet` (K, n). Added over rows:
    (u, 1) times the products of pairs of (z, 1) to sums (K + 1, P'), (z, 1) x' to pull (K + 1, D), and the logarithms
    of rates and of determinants to logs (K + 1,).
    """
    (n, _), k, p = x.shape, weights.shape[0], sums.shape[1]
    for start in range(0, n, SIDE_BY_SIDE):
        rows = x[start : min(start + SIDE_BY_SIDE, n)]
        side = len(rows)
        drive, before = np.dot(weights, rows.T), np.empty((k, side))
        for a in range(k):
            own, less = drive[a], shift[a]
            for i in range(side):
                own[i] -= less
            copy(was[a, start:], before[a])
        full, spread, volume = np.empty((k + 1, side)), np.empty((k, k, side)), np.empty(side)
        normal_columns(drive, gram, before, full[:k], spread, volume, N_SIDE)
        fill(1.0, full[k])
        rate, scales, log_rate = drive, np.empty((k + 1, side)), np.empty((k, side))
        student_columns(full[:k], spread, tails, shape, rate, scales[:k], log_rate)
        fill(1.0, scales[k])
        pairs = np.empty((p, side))
        moment_pairs(full, spread, pairs)
        add_rows(np.dot(scales, pairs.T), sums)
        add_rows(np.dot(full, rows), pull)
        for a in range(k):
            copy(scales[a], quiet[a, start : start + side])
            logs[a] += log_rate[a].sum()
        logs[k] += volume.sum()
