"""Compiled sweeps of sparse regressions, and sums over the entries that are not there.

Serial, and without the GIL, like all kernels.
"""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["moment_pairs", "spike_sweep", "subtract_listed"]


@nb.njit(cache=True, nogil=True)
def spike_sweep(drive, gram, places, scale, precision, log_odds, on, slab, variance):  # type: ignore[no-untyped-def]
    """One pass of coordinate ascent over the coefficients of each row of `drive`, in place.

    The row's objective is scale (drive'w - w' gram w / 2), w = s v with s ~ Bernoulli and v ~ Normal(0, 1 / precision).
    `gram` is packed, (1 or D, P); `places` says where its entries stand. Scale, precision and odds have a leading axis
    of 1 or D too. Infinite odds: the coefficient is always on.
    """
    n, k = on.shape
    last, only, shared = gram.shape[0] - 1, scale.shape[0] - 1, precision.shape[0] - 1
    mean = np.empty(k, np.float64)
    for d in range(n):
        own, tau = gram[min(d, last)], scale[min(d, only)]
        prior, odds = precision[min(d, shared)], log_odds[min(d, shared)]
        for a in range(k):
            mean[a] = on[d, a] * slab[d, a]
        for a in range(k):
            others = 0.0
            for b in range(k):
                others += own[places[a, b]] * mean[b]
            square = own[places[a, a]]
            pull = tau * (drive[d, a] - others + square * mean[a])
            stiff = tau * square + prior[a]
            slab[d, a] = pull / stiff
            variance[d, a] = 1.0 / stiff
            if odds[a] == np.inf:
                on[d, a] = 1.0
            else:
                logit = odds[a] + 0.5 * (np.log(prior[a] / stiff) + pull * slab[d, a])
                if logit >= 0:
                    on[d, a] = 1.0 / (1.0 + np.exp(-logit))
                else:
                    grown = np.exp(logit)
                    on[d, a] = grown / (1.0 + grown)
            mean[a] = on[d, a] * slab[d, a]


@nb.njit(cache=True, nogil=True)
def subtract_listed(bounds, listed, values, out):  # type: ignore[no-untyped-def]
    """From each row of `out` take those rows of `values` that are listed for it (CSR lists)."""
    width = out.shape[1]
    for i in range(out.shape[0]):
        at, end = bounds[i], bounds[i + 1]
        while at + 4 <= end:  # four at a time: the row of `out` is what is read and written most
            a, b, c, d = listed[at], listed[at + 1], listed[at + 2], listed[at + 3]
            for p in range(width):
                out[i, p] -= (values[a, p] + values[b, p]) + (values[c, p] + values[d, p])
            at += 4
        while at < end:
            a = listed[at]
            for p in range(width):
                out[i, p] -= values[a, p]
            at += 1


@nb.njit(cache=True, nogil=True)
def moment_pairs(mean, spread, out):  # type: ignore[no-untyped-def]
    """E[x_a x_b], a <= b, of rows with that mean; the first of their entries have a covariance (1 or n, K, K)."""
    n, width = mean.shape
    last, k = spread.shape[0] - 1, spread.shape[1]
    for i in range(n):
        own = spread[min(i, last)]
        at = 0
        for a in range(width):
            for b in range(a, width):
                out[i, at + b - a] = mean[i, a] * mean[i, b]
            if a < k:
                for b in range(a, k):
                    out[i, at + b - a] += own[a, b]
            at += width - a
