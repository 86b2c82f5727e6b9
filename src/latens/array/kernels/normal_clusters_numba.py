"""Compiled ascent of a few normal clusters with Normal-Wishart posteriors, on the rows that they share.

Memberships of rows in all other clusters are held. Arrays have rows of the data along their last axis, (D, n) and
(A, n) for A clusters, so that the inner loops run over neighbours in memory.
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
LEAST_SHARE = 1e-9  # membership of a row, below which it is left out of a cluster's sums
FAR_BELOW_NATS = 50.0  # nats by which a bound may miss what it must reach; one that misses more never gets there
LEAST_GAIN = 0.03  # nats of an iteration, below which the ascent ends


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
        of_cluster, total, m = share[c], 0.0, 0
        for r in range(n):
            if of_cluster[r] > LEAST_SHARE:
                total += of_cluster[r]
                root[m] = math.sqrt(of_cluster[r])
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
def _posterior(mean, strength, scatter, strength_after, sums, products, mean_after, scatter_after):
    """Mean and scatter matrix of a cluster's posterior, of this strength, into `mean_after` and `scatter_after`."""
    d, at = len(mean), 0
    for i in range(d):
        mean_after[i] = (strength * mean[i] + sums[i]) / strength_after
    for i in range(d):
        for j in range(i, d):
            scatter_after[i, j] = (
                scatter[i, j]
                + products[at]
                + strength * mean[i] * mean[j]
                - strength_after * mean_after[i] * mean_after[j]
            )
            scatter_after[j, i] = scatter_after[i, j]
            at += 1


@nb.njit(**SUMS)
def _log_densities(x, mean, low, dof, level, out):
    """level - dof/2 (x - mean)' scatter^-1 (x - mean) of rows x (D, n), into `out`; `low` is the scatter's factor."""
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
    """Trace of the inverse of low low', times diag(rounding)."""
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
    """Turns log densities (A, n) into memberships that add up to `mass` (n,), in place; returns their entropy."""
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
    """The terms of the bound that a few clusters contribute, after at most `n_steps` iterations.

    The prior of a cluster is (mean, strength, dof, scatter) of a Normal-Wishart, that of the weights a symmetric
    Dirichlet; `rounding` (D,) is the variance of rounding errors. `stats` are counts (A,), sums (A, D) and packed sums
    of products (A, D (D + 1) / 2), from which the ascent begins and which hold the last ones at its end. The
    memberships of each row x (D, n) in these clusters add up to `mass` (n,) throughout. The ascent is ended early where
    it would not reach `least` even if every remaining iteration gained as much as the last.
    """
    mean, strength, dof, scatter = prior
    counts, sums, products = stats
    k, (d, n) = len(counts), x.shape
    share, low, scatter_after, mean_after = np.empty((k, n)), np.empty((d, d)), np.empty((d, d)), np.empty(d)
    if not factor_of(scatter, low):
        return -np.inf
    norm = _log_norm(dof, d, log_volume(low))
    bound, entropy, before = -np.inf, 0.0, -np.inf
    for step in range(n_steps + 1):
        bound = entropy
        for c in range(k):
            strength_after, dof_after = strength + counts[c], dof + counts[c]
            _posterior(mean, strength, scatter, strength_after, sums[c], products[c], mean_after, scatter_after)
            if not factor_of(scatter_after, low):
                return -np.inf
            volume = log_volume(low)
            bound += 0.5 * d * (math.log(strength / strength_after) - counts[c] * LOG_2PI) + math.lgamma(
                concentration + counts[c]
            )
            bound += norm - _log_norm(dof_after, d, volume)
            if step < n_steps:
                level = _digamma(concentration + counts[c]) - 0.5 * (volume + d / strength_after)
                for i in range(d):
                    level += 0.5 * _digamma(0.5 * (dof_after - i))
                level -= 0.5 * dof_after * _rounded_form(low, rounding)
                _log_densities(x, mean_after, low, dof_after, level, share[c])
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
