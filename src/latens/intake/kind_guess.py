"""Which likelihood suits a column of numbers, from their values alone: one rule for counts for all who ask.

Kinds of the columns of a file (number, scale, count, id, ...) are told in `treatment`, which asks here about counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["COUNT_REACH", "POISSON_RATIO", "count_kind", "guess_kind", "refuse_lone_levels"]

LEAST_SKEW = 0.5  # of a Poisson variable's skewness, 1 / sqrt(mean), that counts have at least
POISSON_RATIO, MOST_RATIO = 0.5, 3.0  # variance over mean of a Poisson column, about 1; above it is overdispersed
MANY_LEVELS = 20  # of a column, which must occur twice on average
COUNT_REACH = 10.0  # times its lowest value that a column of large counts has as its highest, at least


def guess_kind(values: NDArray[np.float64]) -> str:
    """The likelihood of a column from its observed values.

    Only 0 and 1: "bernoulli". Whole numbers from 0, with zeros, skewed to the right: "poisson" where the variance is
    .5 to 3 times the mean, "negative-binomial" above. Anything else: "gaussian", small whole numbers too.

    >>> guess_kind(np.array([0.0, 1.0, 1.0])), guess_kind(np.array([1.0, 2.0, 5.0, 4.0, 3.0]))
    ('bernoulli', 'gaussian')
    >>> guess_kind(np.array([0.0, 0.0, 1.0, 3.0, 0.0, 1.0])), guess_kind(np.array([0.0, 0.0, 1.0, 40.0]))
    ('poisson', 'negative-binomial')
    """
    if not len(values):
        return "gaussian"
    if np.isin(values, (0.0, 1.0)).all():
        return "bernoulli"
    if values.min() != 0 or not np.array_equal(values, np.floor(values)):
        return "gaussian"
    mean = float(values.mean())
    centred = values - mean
    return count_kind(mean, float(np.mean(centred**2)), float(np.mean(centred**3))) or "gaussian"


def count_kind(mean: float, variance: float, third_moment: float) -> str | None:
    """Which counts whole numbers from 0 are that show zeros, by their central moments; None where they are none."""
    if not mean > 0 or variance < POISSON_RATIO * mean:
        return None
    if third_moment < LEAST_SKEW * variance**1.5 / np.sqrt(mean):
        return None
    return "poisson" if variance <= MOST_RATIO * mean else "negative-binomial"


def refuse_lone_levels(name: str, kind: str, n_levels: int, n: int) -> None:
    """Refuse a column of names that is to be levels: most of them occur once in its n values."""
    if n_levels > MANY_LEVELS and n < 2 * n_levels:
        raise ValueError(
            f"column {name!r} is to be {kind} but has {n_levels} levels in {n} rows: nothing can be learnt of levels "
            "that occur once. Join rare levels, or leave the column out."
        )
