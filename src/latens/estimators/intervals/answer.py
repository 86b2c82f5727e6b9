"""What a method says of published numbers, before it is a table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from latens.array import Floats
from latens.estimators.intervals.students import IntervalTails

__all__ = ["Answer", "chance_ends", "covariance_ends", "reach_of"]


@dataclass(frozen=True)
class Answer:
    """Numbers on the scales of their links."""

    estimate: Floats  # (m,), in the units of the data
    std: Floats  # (m,), on the link's scale
    why: list[str]  # (m,), "" where the interval is sound
    missing: Floats  # (m,), share of missing information
    draws: Floats | None = None  # (n, m), in the units of the data, where intervals are their quantiles
    n_std: float = math.inf  # refits that std was taken from; few make its ends uncertain
    tails: IntervalTails | None = None  # None: normal on the link's scale, as far as n_std goes


def reach_of(answer: Answer, upper: float) -> Floats:
    """(m,), standard deviations from the estimate to the end of an interval below which `upper` of the chance lies."""
    if answer.tails is None:
        z = ndtri(upper) if math.isinf(answer.n_std) else stdtrit(answer.n_std - 1, upper)
        return np.full(len(answer.std), float(z))
    freedom, widening = answer.tails
    few = np.isfinite(freedom)
    return np.asarray(widening * np.where(few, stdtrit(np.where(few, freedom, 1.0), upper), ndtri(upper)))


def chance_ends(chance: Floats, std: Floats, lower: Floats, upper: Floats, level: float) -> tuple[Floats, Floats]:
    """(m,) each, ends of probabilities with these standard deviations: those of a Beta with the same moments.

    One that rows never show has a logit with so long a tail that its upper end would be near one half. Ends are `lower`
    and `upper` where no Beta spreads as far.

    Examples
    --------
    >>> low, high = chance_ends(np.array([0.001]), np.array([0.003]), np.array([1e-6]), np.array([0.4]), 0.95)
    >>> bool(high[0] < 0.02)
    True
    """
    total = chance * (1 - chance) / std**2 - 1  # of both pseudo-counts
    is_beta = (total > 0) & (chance > 0) & (chance < 1)
    n = np.where(is_beta, total, 1.0)
    a, b = np.where(is_beta, chance, 0.5) * n, np.where(is_beta, 1 - chance, 0.5) * n
    ends = (betaincinv(a, b, 0.5 - 0.5 * level), betaincinv(a, b, 0.5 + 0.5 * level))
    return np.where(is_beta, ends[0], lower), np.where(is_beta, ends[1], upper)


def covariance_ends(covariance: Floats, std: Floats, size: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """(m,) each, ends of covariances of two columns whose standard deviations have these products.

    With both columns in units of their own, a covariance is half the mean square of their sum less that of their
    difference, which are nearly independent. Each of the two has an interval on the scale of its logarithm; from their
    distances to their estimates come those of the difference (Zou & Donner 2008). Of columns that are equal it is the
    interval of a variance, of columns that do not go together a symmetric one.

    Examples
    --------
    >>> low, high = covariance_ends(np.array([1.0, 0.0]), np.array([0.1, 0.1]), np.ones(2), np.full(2, 2.0))
    >>> np.log([high[0], low[0]]).round(6).tolist(), bool(np.isclose(low[1], -high[1]))
    ([0.2, -0.2], True)
    """
    share = np.clip(covariance / size, -1.0, 1.0)
    of_sum, of_difference = 0.5 * size * (1 + share), 0.5 * size * (1 - share)
    with np.errstate(over="ignore", invalid="ignore"):
        step = reach * std / np.hypot(of_sum, of_difference)  # of both logarithms
        up, down = np.expm1(step), -np.expm1(-step)
        lower = covariance - np.hypot(of_sum * down, of_difference * up)
        upper = covariance + np.hypot(of_sum * up, of_difference * down)
    return np.where(np.isfinite(lower), lower, -np.inf), np.where(np.isfinite(upper), upper, np.inf)
