"""Scales of Student-t sources, compiled: what would be many short operations is one call a block.

Arrays are (what, rows): the numbers of many rows lie together.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb

from latens.array.kernels.fastmath_numba import COMPILED, log_normal

__all__ = ["student_columns"]


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
