"""p values by permutation, continued beyond what so many permutations can show.

    u            minus the log of the p value that a textbook's reference gives a statistic: exponential of mean 1 where
                 the reference is right, whatever the statistic
    u_1 .. u_B   the same of B permutations, of which the m largest exceed v

    p = (1 + #{u_b >= u}) / (B + 1)                       where enough permutations reach u
    p = (m + 1) / (B + 1) exp(-r (u - v))                 beyond, at a rate r = min(1, m / sum_b (u_b - v)_+)

Outcomes or loadings of heavy tails, and groups of few, have r < 1: the reference's p is raised to that power. p is
never below that of the one arrangement among all different ones.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from latens.array import Floats, Index

__all__ = ["log_arrangements", "minus_log", "permutation_p"]

FEWEST_BEYOND = 10  # permutations that reach a statistic, from which on they are counted
MOST_IN_TAIL = 100  # permutations by which the tail is continued
SMALLEST_P = 1e-300  # of a reference


def minus_log(p: Floats) -> Floats:
    """Minus the log of a reference's p, finite."""
    return np.asarray(-np.log(np.maximum(p, SMALLEST_P)))


def log_arrangements(sizes: Index) -> float:
    """Log of the number of ways to deal rows to groups of these sizes.

    >>> round(float(np.exp(log_arrangements(np.array([2, 2])))))
    6
    """
    return float(gammaln(np.sum(sizes) + 1) - np.sum(gammaln(np.asarray(sizes) + 1)))


def permutation_p(u: Floats, permuted: Floats, most: float) -> Floats:
    """p of statistics u (S,) beside those of permutations (B,), both as minus the log of a reference's p.

    Parameters
    ----------
    most : float
        `log_arrangements` of what is permuted.

    Examples
    --------
    >>> permuted = np.random.default_rng(0).exponential(size=2000)
    >>> p = permutation_p(np.array([1.0, 20.0]), permuted, 1e3)
    >>> bool(abs(p[0] - np.exp(-1.0)) < 0.03), bool(1e-12 < p[1] < 1e-5)
    (True, True)
    """
    ordered, n = np.sort(permuted), len(permuted)
    beyond = n - np.searchsorted(ordered, u * (1 - 1e-9), side="left")
    p = (beyond + 1) / (n + 1)
    m = min(MOST_IN_TAIL, n // 10)
    if m >= FEWEST_BEYOND:
        v = ordered[n - m - 1]
        rate = min(1.0, m / max(float(np.sum(ordered[n - m :] - v)), np.finfo(float).tiny))
        tail = (m + 1) / (n + 1) * np.exp(-rate * np.maximum(u - v, 0.0))
        p = np.where(beyond < FEWEST_BEYOND, np.minimum(tail, (FEWEST_BEYOND + 1) / (n + 1)), p)
    return np.asarray(np.clip(p, np.exp(-min(most, -np.log(SMALLEST_P))), 1.0))
