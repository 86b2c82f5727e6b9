"""Compiled algebra of many small positive definite matrices, one after another while each is in cache.

Scratch is in double precision whatever the rows are in. Serial, and without the GIL, like all kernels.
"""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["invert_rows", "log_determinant_rows"]


@nb.njit(cache=True, nogil=True)
def _factor(low):  # type: ignore[no-untyped-def]
    """Cholesky factor in the lower triangle, in place; False where the matrix is not definite."""
    k = low.shape[0]
    for j in range(k):
        total = low[j, j]
        for m in range(j):
            total -= low[j, m] * low[j, m]
        if not total > 0:
            return False
        low[j, j] = np.sqrt(total)
        for i in range(j + 1, k):
            total = low[i, j]
            for m in range(j):
                total -= low[i, m] * low[j, m]
            low[i, j] = total / low[j, j]
    return True


@nb.njit(cache=True, nogil=True)
def invert_rows(gram, diagonal, out):  # type: ignore[no-untyped-def]
    """(gram + diag(diagonal_n))^-1 of every row into `out`; gram has a leading axis of 1 or n. NaN if not definite."""
    n, k = diagonal.shape
    last = gram.shape[0] - 1
    low = np.empty((k, k), np.float64)
    for r in range(n):
        own = gram[min(r, last)]
        for i in range(k):
            for j in range(i + 1):
                low[i, j] = own[i, j]
            low[i, i] += diagonal[r, i]
        if not _factor(low):
            out[r] = np.nan
            continue
        for j in range(k):  # the factor's inverse, in place
            low[j, j] = 1.0 / low[j, j]
            for i in range(j + 1, k):
                total = 0.0
                for m in range(j, i):
                    total += low[i, m] * low[m, j]
                low[i, j] = -total / low[i, i]
        for i in range(k):
            for j in range(i + 1):
                total = 0.0
                for m in range(i, k):
                    total += low[m, i] * low[m, j]
                out[r, i, j] = total
                out[r, j, i] = total


@nb.njit(cache=True, nogil=True)
def log_determinant_rows(matrices, out):  # type: ignore[no-untyped-def]
    """log|matrix| of every row into `out`; NaN if not definite."""
    n, k, _ = matrices.shape
    low = np.empty((k, k), np.float64)
    for r in range(n):
        for i in range(k):
            for j in range(i + 1):
                low[i, j] = matrices[r, i, j]
        total = np.nan
        if _factor(low):
            total = 0.0
            for i in range(k):
                total += 2.0 * np.log(low[i, i])
        out[r] = total
