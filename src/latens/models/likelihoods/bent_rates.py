"""Rates of counts in answers: above a knee their logarithms rise more slowly than those of the model.

    log rate = x                      below the knee t,
               t + b (x - t)          above it, up to what a column may show;      x ~ Normal(level, variance)

Logarithms of counts have a long tail below, zeros, and none above. A normal distribution as wide as they are has both,
so that entries of which little is known would be filled, and drawn, with more than columns hold. The slope b is the one
at which entries, each expected from the others of its row, add up to the counts of their column.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr

from latens.array import Floats

__all__ = ["LARGEST_LOG", "bent", "bent_moments", "best_slope", "unbent"]

LARGEST_LOG = 40.0  # log of a mean up to which moments of counts are computed
LEAST_SLOPE, HALVINGS = 0.2, 7  # of the search for a slope


def bent(x: Floats, knee: Floats, slope: Floats) -> Floats:
    """The log rate that stands for x.

    >>> bent(np.array([1.0, 4.0]), 2.0, 0.5).tolist()
    [1.0, 3.0]
    """
    return np.asarray(x - (1 - slope) * np.maximum(x - knee, 0.0))


def unbent(x: Floats, knee: Floats, slope: Floats) -> Floats:
    """The x that a log rate stands for."""
    return np.asarray(x + (1 / slope - 1) * np.maximum(x - knee, 0.0))


def bent_moments(level: Floats, variance: Floats, knee: Floats, slope: Floats, top: Floats) -> tuple[Floats, Floats]:
    """E[rate] and E[rate^2], x that is above `top` being counted as that."""
    sd, found = np.sqrt(variance), []
    at_knee = np.minimum(knee, top)  # where the top is below, nothing is bent
    for power in (1, 2):
        below = power * level + 0.5 * power**2 * variance + log_ndtr((at_knee - level) / sd - power * sd)
        steep = power * slope
        start = power * (1 - slope) * at_knee + steep * level + 0.5 * steep**2 * variance
        ends = [(each - level) / sd - steep * sd for each in (at_knee, top)]
        between = start + _log_difference(*ends)
        beyond = power * bent(top, at_knee, slope) + log_ndtr((level - top) / sd)
        whole = np.logaddexp(np.logaddexp(below, between), beyond)
        found.append(np.exp(np.minimum(whole, power * LARGEST_LOG)))
    return found[0], found[1]


def _log_difference(low: Floats, high: Floats) -> Floats:
    """log(Phi(high) - Phi(low)), from the side on which both are small; -inf where they are equal."""
    flip = low > 0
    small, large = np.where(flip, -high, low), np.where(flip, -low, high)
    log_small, log_large = log_ndtr(small), log_ndtr(large)
    with np.errstate(divide="ignore"):
        return np.asarray(log_large + np.log1p(-np.exp(np.minimum(log_small - log_large, 0.0))))


def best_slope(counted: Floats, by_chance: Floats, expected: Callable[[Floats], Floats]) -> Floats:
    """(D,), at which what is expected at a slope adds up to what was counted; 1 where it is as much, but for chance."""
    low, high = np.full_like(counted, LEAST_SLOPE), np.ones_like(counted)
    fits = expected(high) <= counted + by_chance
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        less = expected(middle) <= counted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.where(fits, 1.0, 0.5 * (low + high))
