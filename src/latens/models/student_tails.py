"""How heavy the tails of Student-t distributions are, from what is expected of the scales of their values."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, zeta

from latens.array import Floats

__all__ = ["best_tail"]


def best_tail(excess: Floats, heaviest: float, lightest: float) -> Floats:
    """Roots a of log(a/2) + 1 - digamma(a/2) + excess = 0, excess = mean(E[log u] - E[u]) < -1, between two limits.

    The equation of a Gamma's shape: Minka's approximation is good to two digits, Newton's steps in log a double them.
    """
    gap = np.maximum(-1 - excess, 1e-12)
    half = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(5):
        miss = np.log(half) - digamma(half) - gap
        half = half * np.exp(np.clip(miss / (half * zeta(2, half) - 1), -1.0, 1.0))  # zeta(2, .): the trigamma function
    return np.asarray(np.clip(2 * half, heaviest, lightest))
