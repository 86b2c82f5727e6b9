"""Compiled steps of normal clusters: of few columns, calls of NumPy cost more than what they find.

Matrices that all clusters share have a leading axis of 1.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import math

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, SUMS, log_normal
from latens.array.kernels.row_matrices_numba import volume_alone

__all__ = ["divergences", "natural_parameters", "pair_evidences", "scatters_about_means"]

LOG_2, LOG_2PI = math.log(2.0), math.log(2.0 * math.pi)


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
    """(K,) and (1 or K,): (m - c)'L(m - c), and the traces of scatters (1 or K, D, D) times precisions."""
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
        other = scatter[min(c, scatter.shape[0] - 1)]
        for i in range(d):
            for j in range(d):
                trace[c] += other[i, j] * precision[c, i, j]
    return form, trace


@nb.njit(**COMPILED)
def _sum_of_log_gammas(x, n):
    """log gamma(x) + log gamma(x - 1) + ... of n terms, all of arguments above 0."""
    total = n * math.lgamma(x - n + 1)  # the last one: the others are products beyond it
    for i in range(1, n):
        total += i * log_normal(x - i)
    return total


@nb.njit(**COMPILED)
def _log_norm(dof, d, volume):
    """Logarithm of the normaliser of a Wishart distribution, but for what depends on D alone."""
    gammas = _sum_of_log_gammas(0.5 * dof, (d + 1) // 2) + _sum_of_log_gammas(0.5 * (dof - 1), d // 2)
    return 0.5 * dof * (volume - d * LOG_2) - gammas


@nb.njit(**SUMS)
def pair_evidences(prior, stats, first, second, out):
    """Log evidence of the rows of two clusters together, for each pair of them, into `out`; NaN if not definite.

    The prior is (mean, strength, dof, scatter) of one cluster; `stats` are counts (K,), sums (K, D) and packed sums of
    products (K, D (D + 1) / 2).
    """
    mean, strength, dof, scatter = prior
    counts, sums, products = stats
    d = len(mean)
    low, total, known = np.empty((d, d)), np.empty(d), np.empty(d * (d + 1) // 2)
    at = 0
    for i in range(d):
        for j in range(i, d):
            known[at] = scatter[i, j] + strength * mean[i] * mean[j]
            low[j, i] = scatter[i, j]
            at += 1
    norm = _log_norm(dof, d, volume_alone(low))
    for p in range(len(out)):
        one, other = first[p], second[p]
        count = counts[one] + counts[other]
        for i in range(d):
            total[i] = strength * mean[i] + sums[one, i] + sums[other, i]
        at = 0
        for i in range(d):
            pull = total[i] / (strength + count)
            for j in range(i, d):
                low[j, i] = known[at] + products[one, at] + products[other, at] - pull * total[j]
                at += 1
        level = 0.5 * d * (math.log(strength / (strength + count)) - count * LOG_2PI)
        out[p] = level + norm - _log_norm(dof + count, d, volume_alone(low))
