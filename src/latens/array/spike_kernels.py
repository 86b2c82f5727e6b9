"""Compiled sweeps of sparse regressions, and sums over the entries that are not there.

Serial, and without the GIL, like all kernels.
"""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["moment_pairs", "spike_sweep", "subtract_listed"]


@nb.njit(cache=True, nogil=True)
def spike_sweep(drive, gram, places, scale, variance, bias, on, slab):  # type: ignore[no-untyped-def]
    """One pass of coordinate ascent over the coefficients of each row of `drive`, in place.

    The row's objective is scale (drive'w - w' gram w / 2); `gram` is packed, (1 or D, P), and `places` says where its
    entries stand. `variance` of each coefficient given that it is on, and the `bias` of its being on before the data
    pull at it, are known beforehand; an infinite bias: always on.
    """
    n, k = on.shape
    last, only = gram.shape[0] - 1, scale.shape[0] - 1
    full = np.empty((k, k), np.float64)
    left = np.empty(k, np.float64)
    mean = np.empty(k, np.float64)
    for d in range(n):
        tau = scale[min(d, only)]
        if d <= last:  # one for all rows is unpacked once
            for a in range(k):
                for b in range(k):
                    full[a, b] = gram[d, places[a, b]]
        for a in range(k):
            left[a] = drive[d, a]
            mean[a] = on[d, a] * slab[d, a]
        for b in range(k):
            for a in range(k):
                left[a] -= full[b, a] * mean[b]
        for a in range(k):
            pull = tau * (left[a] + full[a, a] * mean[a])
            best = pull * variance[d, a]
            chance = 1.0
            if bias[d, a] != np.inf:
                logit = bias[d, a] + 0.5 * pull * best
                grown = np.exp(-abs(logit))
                chance = (1.0 if logit >= 0 else grown) / (1.0 + grown)
            slab[d, a] = best
            on[d, a] = chance
            change = chance * best - mean[a]
            mean[a] += change
            for b in range(k):  # keeps drive - gram w current: a sweep costs K^2, in vector steps
                left[b] -= full[a, b] * change


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
