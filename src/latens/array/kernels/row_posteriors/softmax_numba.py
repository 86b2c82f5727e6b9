"""Softmax of rows and entropies, compiled: a block is one call, in which threads do not wait for each other.

Arrays of the softmax are (what, rows): the numbers of many rows lie together, and loops over some rows at once are
vectorised.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, LARGEST_EXPONENT, log_normal, shrunk

__all__ = ["N_LANES", "N_SIDE", "softmax_columns", "switch_entropies"]

N_SIDE = 256  # rows side by side
N_LANES = 16  # entries of a row side by side
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


@nb.njit(**COMPILED)
def softmax_columns(x, share, entropy, n_side):
    """exp(x) down each column of x (K, n), divided by its sum, into `share`; its entropy into `entropy` (n,)."""
    k, n = x.shape
    top, size, spread = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    for start in range(0, n, n_side):
        m = min(n_side, n - start)
        for i in range(m):
            top[i], size[i], spread[i] = x[0, start + i], 0.0, 0.0
        for a in range(1, k):
            row = x[a, start : start + m]
            for i in range(m):
                top[i] = max(top[i], row[i])
        for a in range(k):
            row, into = x[a, start : start + m], share[a, start : start + m]
            for i in range(m):
                below = top[i] - row[i]
                grown = 0.0 if below > LARGEST_EXPONENT else shrunk(below)[0]  # not a number stays none
                size[i] += grown
                spread[i] += grown * min(below, LARGEST_EXPONENT)
                into[i] = grown
        for i in range(m):
            entropy[start + i] = log_normal(size[i]) + spread[i] / size[i]
        for i in range(m):
            size[i] = 1.0 / size[i]
        for a in range(k):
            into = share[a, start : start + m]
            for i in range(m):
                into[i] *= size[i]


@nb.njit(**COMPILED)
def switch_entropies(on, entropy, n_lanes):
    """-sum_k [p log p + (1 - p) log(1 - p)] of rows p (n, K) into `entropy` (n,)."""
    n, k = on.shape
    lanes = np.empty(n_lanes)
    for i in range(n):
        row = on[i]
        for j in range(n_lanes):
            lanes[j] = 0.0
        for start in range(0, k, n_lanes):
            for j in range(min(n_lanes, k - start)):
                p = np.float64(row[start + j])
                rest = 1.0 - p
                up, down = max(p, SMALLEST_NORMAL), max(rest, SMALLEST_NORMAL)
                lanes[j] -= p * log_normal(up) + rest * log_normal(down)
        total = 0.0
        for j in range(n_lanes):
            total += lanes[j]
        entropy[i] = total
