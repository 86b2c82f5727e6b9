"""Normal codes of a block of samples and the sums over them, compiled: one call, so that threads seldom meet.

What a thread waits for is the interpreter, each time that a call lets it go. Arrays of many samples are (samples,
what) where rows are multiplied by all coefficients at once, and (what, samples) where each sample has a matrix.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, add_rows, copy, fill
from latens.array.kernels.row_matrices_numba import N_SIDE, normal_columns
from latens.array.kernels.spike_slab_numba import moment_pairs, subtract_listed

__all__ = ["complete_samples", "samples_with_gaps"]

SMALL_PRODUCT = 800_000  # multiplications: below about a million libraries do not copy what they multiply
FEWEST_SAMPLES, MOST_SAMPLES = 16, 256  # of a product


@nb.njit(**COMPILED)
def _samples_at_once(d, k):
    whole = SMALL_PRODUCT // (d * k) // FEWEST_SAMPLES * FEWEST_SAMPLES
    return max(FEWEST_SAMPLES, min(MOST_SAMPLES, whole))


@nb.njit(**COMPILED)
def complete_samples(x, weights, shift, sums, second):
    """Means z = weights'x - shift of codes, and sums over samples of (z, 1) x' and of (z, 1) (z, 1)'.

    x (n, D), weights (D, K), shift (K,); sums (K + 1, D) and second (K + 1, K + 1) are added to. Rows are taken by so
    few that they are still at hand for their second product.
    """
    (n, d), k = x.shape, weights.shape[1]
    size = _samples_at_once(d, k)
    for start in range(0, n, size):
        rows = x[start : min(start + size, n)]
        mean, full = np.dot(rows, weights), np.empty((len(rows), k + 1))
        for i in range(len(rows)):
            for j in range(k):
                full[i, j] = mean[i, j] - shift[j]
            full[i, k] = 1.0
        add_rows(np.dot(full.T, rows), sums)
        add_rows(np.dot(full.T, full), second)


@nb.njit(**COMPILED)
def samples_with_gaps(x, weights, values, whole, there, across, lacking, down, lacked, shown, precision, places, outs):
    """The same of samples that lack entries, each with a covariance of its own.

    weights (D, K); values (P, D), what each column tells of products of K + 1 regressors, and whole (V, P), their sums
    over the columns of each view; there (V, n), whether a sample shows a view; columns that a sample lacks of these
    (across, lacking) and samples that lack a column (down, lacked), CSR lists; shown (V, D), the view of a column;
    precision (K, 1) of the prior. places: of products of codes among the P (K (K + 1) / 2,), of those with 1 (K,).

    Into outs: sums (K + 1, D) of (z, 1) x', grams (P, D), sums of E[(z, 1) (z, 1)'] over the samples that show each
    column, squares (K,), sums of E[z^2] over all, volume (1,), the sum of log determinants of covariances.
    """
    (sums, grams, squares, volume), (inner, beside) = outs, places
    (n, d), k, p = x.shape, weights.shape[1], values.shape[0]
    own, drive, gram = np.empty((p, n)), np.empty((k, n)), np.empty((len(inner), n))
    subtract_listed(across, lacking, values, whole, there, own)
    for a in range(len(inner)):
        copy(own[inner[a]], gram[a])
    size = _samples_at_once(d, k)
    for start in range(0, n, size):
        stop = min(start + size, n)
        pull = np.dot(x[start:stop], weights)
        for j in range(k):
            pulled, level = drive[j], own[beside[j]]
            for i in range(start, stop):
                pulled[i] = pull[i - start, j] - level[i]
    full, spread, volumes = np.empty((k + 1, n)), np.empty((k, k, n)), np.empty(n)
    normal_columns(drive, gram, precision, full[:k], spread, volumes, N_SIDE)
    fill(1.0, full[k])
    moment_pairs(full, spread, own)
    for start in range(0, n, size):
        rows = x[start : min(start + size, n)]
        add_rows(np.dot(np.ascontiguousarray(full[:, start : start + len(rows)]), rows), sums)
    seen = np.dot(there, own.T)
    subtract_listed(down, lacked, own, seen, shown, grams)
    at = 0
    for j in range(k):
        squares[j] = own[at].sum()
        at += k + 1 - j
    volume[0] = volumes.sum()
