"""What a method says of published numbers, before it is a table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from latens.array import Floats
from latens.estimators.intervals.students import IntervalTails

__all__ = ["Answer", "chance_ends", "reach_of"]


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
