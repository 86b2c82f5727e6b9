"""What a method says of published numbers, before it is a table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from latens.array import Floats
from latens.estimators.intervals.students import IntervalTails

__all__ = ["Answer", "reach_of"]


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
