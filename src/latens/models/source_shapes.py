"""Points that the distributions of sources, and the turn that makes them independent, are best at."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from latens.array import Floats

__all__ = ["GAUSSIAN", "best_split", "best_tail", "project"]

GAUSSIAN = 1e4  # degrees of freedom beyond which a tail is called Gaussian
HEAVIEST = 0.2
SMALLEST_SPLIT = 1e-3  # two levels so close are one; 0 would be another kind of source
LARGEST_SPLIT = 1 - 1e-6


def best_tail(excess: Floats) -> Floats:
    """(K,), roots of log(a/2) + 1 - digamma(a/2) + excess = 0, excess = mean(E[log u] - E[u]) < -1.

    The left side falls with a, so halving an interval of log a is safe; 60 halvings leave rounding.
    """
    low, high = np.full_like(excess, np.log(HEAVIEST / 2)), np.full_like(excess, np.log(GAUSSIAN / 2))
    for _ in range(60):
        middle = 0.5 * (low + high)
        rises = middle + 1 - digamma(np.exp(middle)) + excess > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.asarray(2 * np.exp(0.5 * (low + high)))


def best_split(signed: Floats, square: Floats) -> Floats:
    """(K,), the m in (0, 1) of highest -1/2 log(1 - m^2) - (E[z^2] - 2 m E[z s] + m^2) / (2 (1 - m^2)).

    Its slope has the sign of -m^3 + E[zs] m^2 - E[z^2] m + E[zs].
    """

    def height(m: Floats) -> Floats:
        return np.asarray(-0.5 * np.log(1 - m**2) - 0.5 * (square - 2 * m * signed + m**2) / (1 - m**2))

    low, high = np.full_like(signed, SMALLEST_SPLIT), np.full_like(signed, LARGEST_SPLIT)
    grid = np.linspace(low, high, 65)  # (G, K): the slope may vanish more than once
    top = np.argmax(height(grid), axis=0)
    low, high = (np.take_along_axis(grid, at[None], axis=0)[0] for at in (np.maximum(top - 1, 0), np.minimum(top + 1, 64)))
    for _ in range(60):
        m = 0.5 * (low + high)
        rises = ((signed - m) * m - square) * m + signed > 0
        low, high = np.where(rises, m, low), np.where(rises, high, m)
    return np.asarray(0.5 * (low + high))


def project(quadratic: Floats, linear: Floats, n_passes: int) -> Floats:
    """(K, K), T that ascends log|T| + sum_k (t_k'v_k - 1/2 t_k'M_k t_k), one row t_k at a time, from T = I.

    With a the k-th column of T^-1, which other rows fix, t_k = M_k^-1 (v_k + a / c) where c = a't_k solves
    c^2 - (a'M_k^-1 v_k) c - a'M_k^-1 a = 0.
    """
    k = len(quadratic)
    turn = np.eye(k)
    for _ in range(n_passes):
        for i in range(k):
            a = np.linalg.solve(turn, np.eye(k)[i])
            solved = np.linalg.solve(quadratic[i], np.stack([a, linear[i]], axis=1))
            p, r = a @ solved[:, 1], a @ solved[:, 0]
            c = 0.5 * (p + np.copysign(np.sqrt(p * p + 4 * r), p))
            turn[i] = solved[:, 1] + solved[:, 0] / c
    return turn
