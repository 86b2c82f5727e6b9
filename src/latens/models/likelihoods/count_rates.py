"""Rates of counts in answers, their moments, and limits between which counts fall.

Above a knee the logarithms of rates rise more slowly than those of the model:

    log rate = x                      below the knee t,
               t + b (x - t)          above it, up to what a column may show;      x ~ Normal(level, variance)

Logarithms of counts have a long tail below, zeros, and none above. A normal distribution as wide as they are has both,
so that entries of which little is known would be filled, and drawn, with more than columns hold. The slope b is the one
at which entries, each expected from the others of its row, add up to the counts of their column.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from array_api_compat import array_namespace
from scipy.special import betainc, gammaincc, log_ndtr, ndtri
from scipy.stats import nbinom, poisson

from latens.array import Array, Floats
from latens.array.transfer import host

__all__ = ["LARGEST_LOG", "bent", "bent_moments", "best_slope", "count_limits", "unbent", "wide_limits"]

LARGEST_LOG = 40.0  # log of a mean up to which moments of counts are computed
LEAST_SLOPE, HALVINGS = 0.2, 7  # of the search for a slope
LOG_OF_MANY = 3.0  # log of counts from which they are as good as continuous
# of log rates, of logarithms of their variances and sizes, of knees and slopes: counts within have the same limits
STEPS_OF_LIMITS = np.array([0.04, 0.1, 0.02, 0.04, 0.02])
# standard deviations of log rates to either side, and rates that are summed, without and with gamma noise
REACH, STEPS_OF_RATES = 5.0, (81, 31)


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


def best_slope(counted: Floats, expected: Callable[[Floats], Floats]) -> Floats:
    """(D,), at which what is expected at a slope adds up to what was counted, where it is more at a slope of 1."""
    low, high = np.full_like(counted, LEAST_SLOPE), np.ones_like(counted)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        less = expected(middle) <= counted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return 0.5 * (low + high)


def count_limits(mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
    """Limits of counts; a negative binomial of those moments stands for an overdispersed one."""
    xp, middle, spread = array_namespace(mean), host(mean), host(variance)
    extra = np.maximum(spread - middle, 1e-9 * middle + 1e-300)
    size = middle**2 / extra
    few = np.where(size < 1e6, size, 1.0)
    limits = [
        np.where(size < 1e6, nbinom.ppf(at, few, few / (few + middle)), poisson.ppf(at, middle))
        for at in (tail, 1 - tail)
    ]
    low, high = (xp.asarray(limit, dtype=mean.dtype) for limit in limits)
    return low, high


def wide_limits(tail: float, level: Floats, spread: Floats, size: Floats, knee: Floats, slope: Floats) -> list[Floats]:
    """Limits (E,) of counts whose log rate is Normal(level, spread), bent, times gamma noise of a size, inf for none.

    Large counts are as good as continuous; of others chances are summed over rates, once for all that are alike.
    """
    ends = []
    for at in (tail, 1 - tail):
        z, end = float(ndtri(at)), level
        for _ in range(20):  # the noise of a Poisson variable adds 1 / rate to the variance of its logarithm
            end = level + z * np.sqrt(spread + np.exp(-np.clip(end, 0.0, LARGEST_LOG)))
        counts = np.floor(np.exp(np.clip(bent(end, knee, slope), -LARGEST_LOG, LARGEST_LOG)))
        few = np.flatnonzero((end < LOG_OF_MANY) | np.isfinite(size))
        keys = np.stack([level, np.log(spread), np.log(size), knee, slope], axis=1)[few]
        places, where = np.unique(np.round(keys / STEPS_OF_LIMITS), axis=0, return_inverse=True)
        alike, found = STEPS_OF_LIMITS * places, np.empty(len(places))
        for own, steps in zip((np.isinf(alike[:, 2]), np.isfinite(alike[:, 2])), STEPS_OF_RATES, strict=True):
            variance, sizes = np.exp(alike[own, 1:3].T)
            found[own] = _least_count(alike[own, 0], variance, sizes, alike[own, 3:], at, steps)
        counts[few] = found[where.ravel()]
        ends.append(counts)
    return ends


def _least_count(level: Floats, spread: Floats, size: Floats, bends: Floats, chance: float, steps: int) -> Floats:
    """(E,), the least count that is not exceeded with that chance, by bisection."""
    points = np.linspace(-REACH, REACH, steps)
    masses = np.exp(-0.5 * points**2) / np.exp(-0.5 * points**2).sum()
    log_rates = bent(level[:, None] + np.sqrt(spread)[:, None] * points, bends[:, :1], bends[:, 1:])
    rates = np.exp(np.clip(log_rates, -LARGEST_LOG, LARGEST_LOG))
    gamma = np.isfinite(size)
    own = np.where(gamma, size, 1.0)[:, None]
    low, high = np.full(len(level), -1.0), np.ceil((rates[:, -1] + 10) * (1 + 20 / own[:, 0]))
    for _ in range(80):
        going = np.flatnonzero(high - low > np.maximum(1.0, 1e-3 * high))
        if not len(going):
            break
        middle = np.floor(np.expm1(0.5 * (np.log1p(low[going] + 1) + np.log1p(high[going] + 1)))) - 1
        middle = np.clip(middle, low[going] + 1, high[going] - 1)
        above, smooth = np.empty((len(going), len(points))), gamma[going]
        upto = middle[:, None] + 1
        above[~smooth] = gammaincc(upto[~smooth], rates[going[~smooth]])
        share = own[going[smooth]] / (own[going[smooth]] + rates[going[smooth]])
        above[smooth] = betainc(own[going[smooth]], upto[smooth], share)
        enough = above @ masses >= chance
        high[going], low[going] = np.where(enough, middle, high[going]), np.where(enough, low[going], middle)
    return high
