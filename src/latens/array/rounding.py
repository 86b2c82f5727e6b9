"""Columns of rounded numbers: how far apart their values stand, and what that adds to a variance.

A number rounded to steps of h may have been anything within h/2 of it. A normal cluster that forgets this becomes as
narrow as a single value, and clusters count values. So the square of a rounded entry is taken as y^2 + h^2/12, as if
what was rounded were uniform about y: covariances are larger by h^2/12 than those of the numbers as they stand. This is
a floor for densities, not Sheppard's correction, which subtracts as much to tell the variance before rounding.

A value that many rows share, the 0 of what is seldom there or the end of a scale, stands for an interval likewise: as
far as half-way to the nearest other value.
"""

from __future__ import annotations

import numpy as np

from latens.array import Array, Floats

__all__ = ["interval_variances", "rounding_variances", "step", "steps_of"]

LEAST_SHARE_OF_VARIANCE = 1e-4  # of a column's variance, from which rounding tells
LEAST_SHARE_OF_ROWS = 0.2  # that share a value which stands for an interval, in columns without steps that tell
MOST_OF_VARIANCE = 1 / 3  # that intervals have: that of 0 and 1 in as many rows; a narrower interval is one, too
OFF_GRID = 1e-6  # of a step: how far from whole steps values may lie
LARGEST_GAP = 1e-6  # of a column's spread: values that are no further apart are one
ROUNDINGS = 8  # of the numbers themselves, which tell values of a single-precision table no further apart


def rounding_variances(x: Floats, precision: Floats | float = 0.0) -> Floats | None:
    """(D,), h^2 / 12 of each column, where that is not negligible beside its variance; None where it is nowhere.

    `precision` (D,) is how far each entry of x may be from what was written down: the rounding of its floating point.
    """
    each = np.broadcast_to(precision, x.shape[1])
    variances = np.array([step(column, float(own)) ** 2 / 12 for column, own in zip(x.T, each, strict=True)])
    variances[variances < LEAST_SHARE_OF_VARIANCE * x.var(axis=0)] = 0.0
    return variances if variances.any() else None


def interval_variances(x: Floats, precision: Floats | float = 0.0, seen: Array | None = None) -> Floats | None:
    """(D,), mean of w^2 / 12 over entries that stand for intervals of width w, of the same columns or None.

    w is the step of a column that has one. In columns without, a value that many rows share reaches half-way to the
    nearest other value, on either side, and w of other entries is 0. No two intervals overlap. Entries outside `seen`
    tell nothing.
    """
    each, variances = np.broadcast_to(precision, x.shape[1]), np.zeros(x.shape[1])
    for d, own in enumerate(each):
        column = np.asarray(x[:, d] if seen is None else x[seen[:, d], d], dtype=np.float64)
        if not len(column):
            continue
        spread = float(column.var())
        of_steps, of_shared = step(column, float(own)) ** 2 / 12, _mean_square_of_shared(column, float(own)) / 12
        telling = (one for one in (of_steps, of_shared) if one >= LEAST_SHARE_OF_VARIANCE * spread)
        variances[d] = min(next(telling, 0.0), MOST_OF_VARIANCE * spread)
    return variances if variances.any() else None


def _mean_square_of_shared(values: Floats, precision: float) -> float:
    """Over all entries, of widths of values that many of them share; 0 of the others."""
    ordered = np.sort(values)
    first = np.flatnonzero(_begins_level(ordered, precision))
    if len(first) < 2:
        return 0.0
    gaps = np.diff(ordered[first], prepend=-np.inf, append=np.inf)
    nearest, counts = np.minimum(gaps[:-1], gaps[1:]), np.diff(first, append=len(ordered))
    shared = counts >= LEAST_SHARE_OF_ROWS * len(values)
    return float(np.sum(counts[shared] * nearest[shared] ** 2)) / len(values)


def step(values: Floats, precision: float = 0.0) -> float:
    """The distance of which all differences are multiples; 0 where most values occur once, or no step fits."""
    values = np.sort(np.asarray(values, dtype=np.float64))
    levels = values[_begins_level(values, precision)]
    if not 1 < len(levels) <= len(values) / 2:
        return 0.0
    gap = float(np.diff(levels).min())
    count = np.round((levels[-1] - levels[0]) / gap)
    gap = float(levels[-1] - levels[0]) / max(count, 1.0)  # from end to end: a single gap is the least exact
    whole = (levels - levels[0]) / gap
    off = np.maximum(OFF_GRID * np.maximum(whole, 1.0), ROUNDINGS * precision / gap)
    return gap if np.all(np.abs(whole - np.round(whole)) < off) else 0.0


def steps_of(variances: Floats | None, d: int) -> Floats:
    """(D,), the widths that these variances are of; 0 where there are none."""
    return np.zeros(d) if variances is None else np.sqrt(12 * variances)


def _begins_level(ordered: Floats, precision: float) -> Array:
    """(n,), whether each of these ordered values is further above the one before than one value may be."""
    largest_gap = max(LARGEST_GAP * float(ordered.std()), ROUNDINGS * precision) if len(ordered) else 0.0
    return np.diff(ordered, prepend=-np.inf) > largest_gap
