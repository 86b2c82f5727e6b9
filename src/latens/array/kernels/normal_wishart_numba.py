"""Compiled steps of normal clusters: of few columns, calls of NumPy cost more than what they find.

Matrices that all clusters share have a leading axis of 1.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["divergences", "natural_parameters", "scatters_about_means"]


@nb.njit(cache=True, nogil=True)
def scatters_about_means(before, square, sums, strength, mean, out):
    """before + sums + square - strength mm', exactly symmetric, into `out` (1 or K, D, D); of 1 summed over clusters.

    `before` and `square` (1 or K, D, D) are the scatter of a prior and its strength times mm'; `sums`
    (1 or K, D (D + 1) / 2) are those of packed products.
    """
    k, d = mean.shape
    n = out.shape[0]
    for c in range(k):
        into, known = out[min(c, n - 1)], square[min(c, square.shape[0] - 1)]
        scatter, products = before[min(c, before.shape[0] - 1)], sums[min(c, sums.shape[0] - 1)]
        at = 0
        for i in range(d):
            pull = strength[c] * mean[c, i]
            for j in range(i, d):
                about = known[i, j] - pull * mean[c, j]
                into[i, j] = (scatter[i, j] + products[at] if c < n else into[i, j]) + about
                into[j, i] = into[i, j]
                at += 1


@nb.njit(cache=True, nogil=True)
def natural_parameters(mean, precision, theta):
    """Precisions times means, and their packed halves where `theta` (K, D or more) has room; returns m'Lm (K,)."""
    k, d = mean.shape
    form = np.empty(k)
    last = precision.shape[0] - 1
    for c in range(k):
        own, into = precision[min(c, last)], theta[c]
        total = 0.0
        for i in range(d):
            pull = 0.0
            for j in range(d):
                pull += own[i, j] * mean[c, j]
            into[i] = pull
            total += pull * mean[c, i]
        form[c] = total
        if len(into) > d:
            at = d
            for i in range(d):
                into[at] = -0.5 * own[i, i]
                at += 1
                for j in range(i + 1, d):
                    into[at] = -own[i, j]
                    at += 1
    return form


@nb.njit(cache=True, nogil=True)
def divergences(mean, precision, centre, scatter):
    """(K,) and (1 or K,): (m - c)'L(m - c), and the traces of scatters times precisions."""
    k, d = mean.shape
    n = precision.shape[0]
    form, trace = np.zeros(k), np.zeros(n)
    for c in range(k):
        own = precision[min(c, n - 1)]
        for i in range(d):
            pull = 0.0
            for j in range(d):
                pull += own[i, j] * (mean[c, j] - centre[c, j])
            form[c] += pull * (mean[c, i] - centre[c, i])
    for c in range(n):
        for i in range(d):
            for j in range(d):
                trace[c] += scatter[c, i, j] * precision[c, i, j]
    return form, trace
