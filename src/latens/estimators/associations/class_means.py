"""Means of a column in each cluster with their intervals, and whether clusters are alike in it.

    m_k          sum_n w_nk y_n / sum_n w_nk, w the weights of `Assigned`
    A_k          sum_n w_nk^2 (y_n - m_k)^2 / (sum_n w_nk)^2, by the cluster's own rows
    B_k          s^2 / n_k, by the spread s^2 of all rows within assignments; n_k the rows that a cluster is worth

Few rows do not tell their own spread, and the fewer the heavier the tails: n_k rows of kurtosis q tell a variance as
well as f_k = (n_k - 1) 2 / (q - 1) + 1 normal ones do. So the spread of all rows counts as d_0 = 4 rows more,

    Var m_k = (n_k / (n_k - 1) (f_k - 1) A_k + d_0 B_k) / (f_k - 1 + d_0),    Student's t of f_k - 1 + d_0 degrees,

which is the posterior of a variance whose prior is that of d_0 rows (Gelman et al. 2013, 3.3; Smyth 2004).

That clusters are alike in a number is tested by Welch's statistic on assignments, its variances drawn together in the
same way, among permutations of the rows: it is exact where a number has nothing to do with the clusters, whatever its
distribution, the sizes of clusters and their errors, and nearly right where spreads differ (Chung & Romano 2013).
Errors of assignments need no correction here: clusters that are alike are so however rows are assigned.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import fdtrc

from latens.array import Floats, Index
from latens.estimators.associations.assigned import Assigned, spread_with_drift
from latens.estimators.associations.permutations import log_arrangements, minus_log, permutation_p

__all__ = ["alike_numbers", "alike_shares", "class_means", "mean_ends", "share_ends"]

PRIOR_ROWS = 4.0  # d_0, as many rows the spread of all rows counts for that of a cluster
MOST_PERMUTATIONS, FEWEST_PERMUTATIONS = 2000, 200
MOST_PERMUTED = 20_000_000  # numbers in all permutations of a column
AT_ONCE = 2_000_000  # of them


def class_means(assigned: Assigned, keep: Index, y: Floats, described: Index) -> tuple[Floats, Floats, Floats]:
    """(J, K) means of J variables in each cluster over rows `keep`; variances (J, K) by these rows, and with drift.

    They are NaN of clusters that are not described.
    """
    weights, inverse = assigned.weights[keep], np.linalg.inv(assigned.errors)
    mass = np.where(np.isin(np.arange(len(assigned.names)), described), weights.sum(axis=0), np.nan)
    means = (weights.T @ y / mass[:, None]).T
    own = weights[:, None, :] * (y[:, :, None] - means) / mass  # (n', J, K)
    # the same summed over the rows of an assignment, (K, J, K), of which inverse' dH inverse is taken
    shown = np.eye(len(assigned.names))[assigned.labels[keep]]
    distances = np.tensordot(shown, (y[:, :, None] - means) / mass, axes=(0, 0))
    slopes = -np.einsum("sa,sjk,bk->jkab", inverse, distances, inverse)
    shape = (len(keep), means.size)
    error = assigned.with_drift(own.reshape(shape), keep, slopes.reshape(means.size, *inverse.shape))
    together = np.sum(error**2, axis=0).reshape(means.shape)
    return means, np.sum(own**2, axis=0), together


def mean_ends(
    labels: Index, n: Floats, y: Floats, means: Floats, own: Floats, together: Floats, level: float
) -> tuple[Floats, Floats]:
    """(K,), ends of intervals of the means (K,) of y (n',), whose variances by rows and with drift are (K,).

    Rows are assigned to `labels` (n',), and say as much of each cluster as n (K,) whose cluster is known.
    """
    residuals = y - _by_group(y, labels)[labels]
    groups, squares = len(np.unique(labels)), float(residuals @ residuals)
    spread = squares / max(len(y) - groups, 1)
    kurtosis = float(np.mean(residuals**4)) / (squares / len(y)) ** 2 if squares > 0 else 3.0
    tell = min(2 / max(kurtosis - 1, 1e-9), 1.0)
    degrees = np.maximum(n - 1, 0.0) * tell + PRIOR_ROWS
    pooled = spread / np.where(np.isnan(means), np.nan, n)
    better = (n * tell * own + PRIOR_ROWS * pooled) / degrees
    wide = stats.norm.isf(0.5 * (1 - level))  # of the drift of H, which is as of all rows
    wider = (stats.t.isf(0.5 * (1 - level), degrees) / wide) ** 2
    half = wide * np.sqrt(spread_with_drift(wider * better, own, together))
    return means - half, means + half


def share_ends(n: Floats, shares: Floats, variances: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """(J, K) shares, and ends of their intervals, in [0, 1], from variances of rows as they vary.

    Rows say as much of each cluster as n (K,) whose cluster is known.

    Weights may be negative, and so may shares by them: those are 0, and the others still add up to 1.
    """
    wide = float(stats.norm.isf(0.5 * (1 - level)))
    half, pseudo = wide * np.sqrt(variances), wide**2
    shown = np.maximum(shares, 0.0)
    shown = shown / shown.sum(axis=0)
    centre = (n * shown + 0.5 * pseudo) / (n + pseudo)
    reach = wide * np.sqrt(centre * (1 - centre) / (n + pseudo))
    low, high = np.minimum(shares - half, centre - reach), np.maximum(shares + half, centre + reach)
    return shown, np.clip(np.minimum(low, shown), 0.0, 1.0), np.clip(np.maximum(high, shown), 0.0, 1.0)


def alike_shares(assigned: Assigned, keep: Index, y: Floats, described: Index) -> float:
    """p of the score test that shares of levels y (n', J) are alike in all clusters described.

    Rows of each cluster vary as all rows do: one that happens to have no row of a level would else be sure of it. The
    last level is what the others leave.
    """
    j, k = max(y.shape[1] - 1, 1), len(described)
    if k < 2:
        return np.nan
    weights = assigned.weights[keep][:, described]
    weights = weights / weights.sum(axis=0)
    centred = (y - y.mean(axis=0))[:, :j]
    means = y[:, :j].T @ weights
    gap = (means[:, 1:] - means[:, :1]).ravel()
    turn = np.column_stack([-np.ones(k - 1), np.eye(k - 1)])
    spread = np.kron(centred.T @ centred / len(y), turn @ (weights.T @ weights) @ turn.T)
    return float(stats.chi2.sf(gap @ np.linalg.pinv(spread, hermitian=True) @ gap, len(gap)))


def alike_numbers(labels: Index, y: Floats) -> float:
    """p of a permutation test that numbers y (n,) are alike in all groups of labels; NaN where there is one group.

    Examples
    --------
    >>> alike_numbers(np.repeat([0, 1], 20), np.arange(40.0)) < 1e-6
    True
    """
    order = np.argsort(labels, kind="stable")
    y, sizes = (y - y.mean())[order], np.unique(labels, return_counts=True)[1]
    if len(sizes) < 2:
        return np.nan
    largest = float(np.abs(y).max())
    if largest == 0 or len(y) <= len(sizes):
        return 1.0
    y, rng = y / largest, np.random.default_rng(0)
    n_permutations = int(np.clip(MOST_PERMUTED // len(y), FEWEST_PERMUTATIONS, MOST_PERMUTATIONS))
    at_once = max(1, AT_ONCE // len(y))
    permuted = [
        _unlike(rng.permuted(np.tile(y, (min(at_once, n_permutations - done), 1)), axis=1), sizes)
        for done in range(0, n_permutations, at_once)
    ]
    return float(permutation_p(_unlike(y[None], sizes), np.concatenate(permuted), log_arrangements(sizes))[0])


def _unlike(y: Floats, sizes: Index) -> Floats:
    """(B,), minus the log of Welch's p for rows y (B, n), which come in groups of these sizes."""
    n, k, starts = y.shape[1], len(sizes), np.cumsum(sizes) - sizes
    mean = np.add.reduceat(y, starts, axis=1) / sizes
    squares = np.maximum(np.add.reduceat(y**2, starts, axis=1) - sizes * mean**2, 0.0)
    pooled = np.maximum(squares.sum(axis=1, keepdims=True) / (n - k), 1e-12 * np.mean(y**2, axis=1, keepdims=True))
    weight = sizes * (sizes - 1 + PRIOR_ROWS) / (squares + PRIOR_ROWS * pooled)
    centre = np.sum(weight * mean, axis=1, keepdims=True) / np.sum(weight, axis=1, keepdims=True)
    statistic = np.sum(weight * (mean - centre) ** 2, axis=1) / (k - 1)
    return minus_log(fdtrc(k - 1, n - k, statistic))


def _by_group(y: Floats, labels: Index) -> Floats:
    """(K,), means of y (n,) by label."""
    return np.asarray(np.bincount(labels, y) / np.maximum(np.bincount(labels), 1))
