"""95 % intervals of what `associate` tells: correlations, and shares of the ranks' variance between labels.

Of a share two intervals are made and the ends that are farther apart are taken. One inverts the F test on ranks, as
for a share of the variance of normal groups; it holds 0 exactly where the test at 5 % does not see labels differ, but
is too short where groups differ much in shape. The other is of the influence of each row on the share, which knows the
shapes but not the end at 0.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from scipy.special import ncfdtrinc

from latens.array import Floats

__all__ = ["correlation_ends", "rank_share_ends"]

LEVEL = 0.95
REACH = 1.959964  # standard deviations
FEWEST_ROWS = 5  # rows


def correlation_ends(r: float, n: int) -> tuple[float, float]:
    """Fisher's interval of a correlation among n rows; NaN where these are too few.

    Examples
    --------
    >>> low, high = correlation_ends(0.5, 100)
    >>> round(low, 2), round(high, 2)
    (0.34, 0.63)
    """
    if n < FEWEST_ROWS:
        return math.nan, math.nan
    if abs(r) >= 1:
        return r, r
    centre, half = math.atanh(r), REACH / math.sqrt(n - 3)
    return math.tanh(centre - half), math.tanh(centre + half)


def rank_share_ends(z: Floats, which: Floats, statistic: float) -> tuple[float, float]:
    """Interval of the share of the variance of the ranks of z (n,) that is between labels.

    Parameters
    ----------
    z : array of shape (n,)
    which : array of int, of shape (n,)
        The label of each row, from 0 to k - 1.
    statistic : float
        Of the Kruskal-Wallis test.

    Examples
    --------
    >>> z, which = np.arange(40.0), np.arange(40) % 2
    >>> low, high = rank_share_ends(z, which, 0.07)
    >>> low, high < 0.2
    (0.0, True)
    """
    n, k = len(z), int(np.max(which)) + 1
    if n < FEWEST_ROWS or n <= k:
        return math.nan, math.nan
    share = max((statistic - k + 1) / (n - k), 0.0)
    low, high = _by_f_test(statistic, n, k)
    if 0 < share < 1:
        root = math.sqrt(share)
        centre, half = math.atanh(root), REACH * _std_by_rows(z, which, k) / (2 * root * (1 - share))
        low = min(low, math.tanh(max(centre - half, 0.0)) ** 2)
        high = max(high, math.tanh(centre + half) ** 2)
    return min(low, share), max(high, share)


def _by_f_test(statistic: float, n: int, k: int) -> tuple[float, float]:
    """Shares that the F test on ranks does not refuse."""
    within = n - 1 - statistic  # of the ranks' variance, in units of its mean
    if within <= 1e-9 * n:  # labels never overlap
        return 1.0, 1.0
    f = (statistic / (k - 1)) / (within / (n - k))
    reached = stats.f.cdf(f, k - 1, n - k)
    ends = []
    for chance in (0.5 + 0.5 * LEVEL, 0.5 - 0.5 * LEVEL):
        shift = float(ncfdtrinc(k - 1, n - k, chance, f)) if reached > chance else 0.0
        ends.append(shift / (shift + n))
    return ends[0], ends[1]


def _std_by_rows(z: Floats, which: Floats, k: int) -> float:
    """Standard deviation of the share, 12 sum_j s_j^2 / p_j with s_j = E[1(label j) (rank - 1/2)], by influences."""
    n = len(z)
    rank = (stats.rankdata(z) - 0.5) / n
    influence = np.zeros(n)
    for label in range(k):
        own = which == label
        p, s = float(np.mean(own)), float(np.mean(own * (rank - 0.5)))
        if p == 0:
            continue
        there = np.sort(z[own])
        below = 0.5 * (np.searchsorted(there, z, "left") + np.searchsorted(there, z, "right")) / len(there)
        of_s = own * (rank - 0.5) - s + p * (1 - below) - np.mean(own * rank)  # of a row itself, and of others' ranks
        influence += 12 * (2 * s / p * of_s - (s / p) ** 2 * (own - p))
    return float(np.sqrt(np.mean(influence**2) / n))
