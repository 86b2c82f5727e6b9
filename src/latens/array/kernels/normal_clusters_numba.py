"""Compiled ascent of a few normal clusters on the rows that they share, all else being as it is.

Numbers of rows are in rows of memory, (D, n) and (A, n): loops run along them.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import math

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import SUMS, fill
from latens.array.kernels.row_matrices_numba import factor_of, log_volume

__all__ = ["ascended_clusters"]

LOG_2PI = math.log(2 * math.pi)
LEAST_EXPONENT = -700.0
LEAST_SHARE = 1e-9  # of a row in a cluster that counts
FAR_BELOW_NATS = 50.0  # nats below what it must reach, from where the first iterations never lead there
LEAST_GAIN = 0.03  # nats of an iteration, after which the next ones change little


@nb.njit(**SUMS)
def _digamma(x):
    found = 0.0
    while x < 8.0:
        found -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return found + math.log(x) - 0.5 / x - series


@nb.njit(**SUMS)
def _log_norm(dof, d, volume):
    """Logarithm of the normaliser of a Wishart distribution but for what depends on D alone."""
    gammas = 0.0
    for i in range(d):
        gammas += math.lgamma(0.5 * (dof - i))
    return 0.5 * dof * (volume - d * math.log(2.0)) - gammas


@nb.njit(**SUMS)
def _weighted_sums(x, share, rounding, counts, sums, products):
    """Counts, sums and packed sums of products of rows x (D, n) in each cluster, with what rounding adds to squares.

    Most rows are in one cluster: those of each are put side by side, times the roots of their shares.
    """
    d, n = x.shape
    rows, root = np.empty((d, n)), np.empty(n)
    for c in range(share.shape[0]):
        own, total, m = share[c], 0.0, 0
        for r in range(n):
            if own[r] > LEAST_SHARE:
                total += own[r]
                root[m] = math.sqrt(own[r])
                for i in range(d):
                    rows[i, m] = root[m] * x[i, r]
                m += 1
        counts[c] = total
        at = 0
        for i in range(d):
            one, total = rows[i], 0.0
            for r in range(m):
                total += root[r] * one[r]
            sums[c, i] = total
            for j in range(i, d):
                other = rows[j]
                total = counts[c] * rounding[i] if i == j else 0.0
                for r in range(m):
                    total += one[r] * other[r]
                products[c, at] = total
                at += 1


@nb.njit(**SUMS)
def _posterior(mean, strength, scatter, worth, sums, products, centre, own):
    """Centre and scatter of a cluster after its rows, of which its centre is worth so many."""
    d, at = len(mean), 0
    for i in range(d):
        centre[i] = (strength * mean[i] + sums[i]) / worth
    for i in range(d):
        for j in range(i, d):
            own[i, j] = scatter[i, j] + products[at] + strength * mean[i] * mean[j] - worth * centre[i] * centre[j]
            own[j, i] = own[i, j]
            at += 1


@nb.njit(**SUMS)
def _log_densities(x, mean, low, dof, level, out):
    """level + E[log density] of rows x (D, n) but for the constants, of one cluster, into `out`; `low` is a factor."""
    d, n = x.shape
    left = np.empty((d, n))
    fill(level, out)
    for i in range(d):
        into, one = left[i], x[i]
        for r in range(n):
            into[r] = one[r] - mean[i]
        for j in range(i):
            weight, before = low[i, j], left[j]
            for r in range(n):
                into[r] -= weight * before[r]
        inverse = 1.0 / low[i, i]
        for r in range(n):
            into[r] *= inverse
            out[r] -= 0.5 * dof * into[r] * into[r]


@nb.njit(**SUMS)
def _rounded_form(low, rounding):
    """Trace of the inverse, of which `low` is the factor, times diag(rounding)."""
    d, total = low.shape[0], 0.0
    column = np.empty(d)
    for i in range(d):
        if rounding[i] <= 0.0:
            continue
        for j in range(i, d):
            left = 1.0 if i == j else 0.0
            for m in range(i, j):
                left -= low[j, m] * column[m]
            column[j] = left / low[j, j]
            total += rounding[i] * column[j] * column[j]
    return total


@nb.njit(**SUMS)
def _shared_out(mass, share):
    """Log densities (A, n) into memberships that add up to the mass of a row; returns their entropy."""
    k, n = share.shape
    entropy = 0.0
    for r in range(n):
        top = share[0, r]
        for c in range(1, k):
            top = max(top, share[c, r])
        total = 0.0
        for c in range(k):
            share[c, r] = math.exp(max(share[c, r] - top, LEAST_EXPONENT))
            total += share[c, r]
        for c in range(k):
            part = share[c, r] * mass[r] / total
            share[c, r] = part
            if part > 0.0:
                entropy -= part * math.log(part)
    return entropy


@nb.njit(**SUMS)
def ascended_clusters(x, mass, concentration, prior, rounding, n_steps, least, stats):
    """What the bound owes to a few clusters after at most so many iterations.

    The prior of a cluster is (mean, strength, dof, scatter), that of its weight the concentration; `rounding` (D,) is
    the variance of what entries lost by it. Clusters begin with the statistics (A,), (A, D) and packed
    (A, D (D + 1) / 2) that are given, and leave their last ones there. Rows x (D, n) have `mass` (n,) in all of them
    together, which stays. An ascent that would not reach `least` even if every remaining iteration gained as much as
    the last is ended.
    """
    mean, strength, dof, scatter = prior
    counts, sums, products = stats
    k, (d, n) = len(counts), x.shape
    share, low, own, centre = np.empty((k, n)), np.empty((d, d)), np.empty((d, d)), np.empty(d)
    if not factor_of(scatter, low):
        return -np.inf
    norm = _log_norm(dof, d, log_volume(low))
    bound, entropy, before = -np.inf, 0.0, -np.inf
    for step in range(n_steps + 1):
        bound = entropy
        for c in range(k):
            worth, spare = strength + counts[c], dof + counts[c]
            _posterior(mean, strength, scatter, worth, sums[c], products[c], centre, own)
            if not factor_of(own, low):
                return -np.inf
            volume = log_volume(low)
            bound += 0.5 * d * (math.log(strength / worth) - counts[c] * LOG_2PI) + math.lgamma(
                concentration + counts[c]
            )
            bound += norm - _log_norm(spare, d, volume)
            if step < n_steps:
                level = _digamma(concentration + counts[c]) - 0.5 * (volume + d / worth)
                for i in range(d):
                    level += 0.5 * _digamma(0.5 * (spare - i))
                level -= 0.5 * spare * _rounded_form(low, rounding)
                _log_densities(x, centre, low, spare, level, share[c])
        gain = bound - before
        if step > 0 and (
            bound < least - FAR_BELOW_NATS or bound + (n_steps - step) * gain < least or gain < LEAST_GAIN
        ):
            return bound
        before = bound if step else before
        if step < n_steps:
            entropy = _shared_out(mass, share)
            _weighted_sums(x, share, rounding, counts, sums, products)
    return bound
