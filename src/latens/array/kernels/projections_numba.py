"""Compiled iterative projection: rows of a turn in turn, each at its best given the others."""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED

__all__ = ["project_rows"]


@nb.njit(**COMPILED)
def project_rows(inverses, pulls, turn, back):
    """One pass over the rows t_k of `turn` (K, K), which `back` is the inverse of; both are changed in place.

    inverses (K, K, K) are those of M_k, pulls (K, K) are M_k^-1 v_k: the row becomes M_k^-1 (v_k + a / c), where a is
    the k-th column of `back` and c > 0 or < 0 makes a't_k = c.
    """
    k = len(turn)
    solved, line = np.empty(k), np.empty(k)
    for i in range(k):
        for m in range(k):
            solved[m] = 0.0
            line[m] = 0.0
        for j in range(k):
            a, inner = back[j, i], inverses[i, j]
            for m in range(k):
                solved[m] += a * inner[m]
        p, r = 0.0, 0.0
        for j in range(k):
            p += back[j, i] * pulls[i, j]
            r += back[j, i] * solved[j]
        c = 0.5 * (p + np.copysign(np.sqrt(p * p + 4 * r), p))
        for j in range(k):
            new = pulls[i, j] + solved[j] / c
            change, own = new - turn[i, j], back[j]
            turn[i, j] = new
            for m in range(k):
                line[m] += change * own[m]
        for j in range(k):  # the inverse after a change of one row, by Sherman and Morrison
            share, own = back[j, i] / c, back[j]
            for m in range(k):
                own[m] -= share * line[m]
