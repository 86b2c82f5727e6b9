"""Which likelihood suits a column of numbers, from their values alone: one rule for counts for all who ask.

And whether it may be a number of the rows rather than a measurement.

Kinds of the columns of a file (number, scale, count, id, ...) are told in `treatment`, which asks here about counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "COUNT_REACH",
    "EQUAL_STEPS",
    "MOST_LEVELS",
    "POISSON_RATIO",
    "count_kind",
    "ends_with_its_sum",
    "guess_kind",
    "how_rows_are_numbered",
    "refuse_levels",
    "too_many_levels",
]

LEAST_SKEW = 0.5  # of a Poisson variable's skewness, 1 / sqrt(mean), that counts have at least
POISSON_RATIO, MOST_RATIO = 0.5, 3.0  # variance over mean of a Poisson column, about 1; above it is overdispersed
MOST_LEVELS = 500  # of a column; one that has more is a name or a number, not a category
MANY_LEVELS = 20  # of a column, which must occur twice on average
OR_MEASUREMENTS = "or choose 'gaussian' if they are measurements"
MOST_FRACTIONS = 50  # levels of a scale that may have fractions, such as half steps
LEAST_NUMBERED, LEAST_ASCENDING = 20, 100  # rows that make a pattern of a coincidence; a sorted column is none so soon
EQUAL_STEPS, ASCENDING = "every value occurs once, at equal steps", "every value occurs once, in ascending order"
ROUNDING = 1e-9  # of a sum of numbers with decimals
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


def how_rows_are_numbered(values: NDArray[np.float64]) -> str:
    """What makes a column look like numbers of its rows, as of patients; "" where it does not.

    >>> how_rows_are_numbered(np.arange(5000.0, 5040.0)), how_rows_are_numbered(np.arange(100.0) ** 2)
    ('every value occurs once, at equal steps', 'every value occurs once, in ascending order')
    >>> how_rows_are_numbered(np.arange(40.0) % 7)
    ''
    """
    if len(values) < LEAST_NUMBERED or not np.array_equal(values, np.round(values)):  # NaN equals nothing
        return ""
    if np.all(np.diff(values) > 0):
        gaps, ascending = np.diff(values), True
    else:
        gaps, ascending = np.diff(np.sort(values)), False
    if gaps[0] > 0 and np.all(gaps == gaps[0]):
        return EQUAL_STEPS
    return ASCENDING if ascending and len(values) >= LEAST_ASCENDING else ""


def ends_with_its_sum(values: NDArray[np.float64]) -> bool:
    """Whether the last of these numbers is the sum of those before it, of which at least two are other than 0.

    >>> ends_with_its_sum(np.array([1.5, 2.25, np.nan, 3.75])), ends_with_its_sum(np.array([0.0, 0.0, 3.0, 3.0]))
    (True, False)
    """
    before, last = np.nan_to_num(values[:-1]), values[-1]
    if np.count_nonzero(before) < 2:
        return False
    return bool(abs(before.sum() - last) <= ROUNDING * np.abs(before).sum())  # NaN is no sum


def refuse_levels(column: str, kind: str, levels: NDArray[np.float64], n: int) -> None:
    """Refuse a column that cannot be levels: the one rule of all who take some.

    Parameters
    ----------
    column : str
        What it is called, such as "column 'colour'".
    kind : str
        What it is to be.
    levels : array
        Distinct values; of more than `MOST_LEVELS` any that are more.
    n : int
        Values it shows.

    Raises
    ------
    ValueError
        If it shows fewer than two levels, more than can be learnt, mostly such as occur once, or measurements.

    Examples
    --------
    >>> refuse_levels("column 'age'", "ordinal", np.arange(18.0, 80.0), 500)
    >>> refuse_levels("column 'c'", "categorical", np.array([2.0]), 500)
    Traceback (most recent call last):
    ValueError: column 'c' is to be categorical but shows only 2; a category needs two levels, so leave the column out.
    """
    found = f"{column} is to be {kind} but"
    if len(levels) < 2:
        shown = f"only {levels[0]:g}" if len(levels) else "no value at all"
        raise ValueError(f"{found} shows {shown}; a category needs two levels, so leave the column out.")
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"{found} {too_many_levels(OR_MEASUREMENTS)}")
    if kind == "ordinal" and len(levels) > MOST_FRACTIONS and np.any(levels != np.round(levels)):
        raise ValueError(
            f"{found} has {len(levels)} levels with fractions, as measurements have; choose 'gaussian', or round them "
            "to a few steps."
        )
    if len(levels) > MANY_LEVELS and n < 2 * len(levels):
        raise ValueError(
            f"{found} has {len(levels)} levels in {n} rows: nothing can be learnt of levels that occur once. Join rare "
            "levels, or leave the column out."
        )


def too_many_levels(remedy: str) -> str:
    """What is said of a column of more levels than can be learnt."""
    return f"has more than {MOST_LEVELS} levels, the most that can be learnt. Join rare levels, {remedy}."
