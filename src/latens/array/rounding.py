"""Columns of rounded numbers: how far apart their values stand, and what that adds to a cluster's variance.

A number rounded to steps of h may have been anything within h/2 of it. A normal cluster that forgets this becomes as
narrow as a single value, and clusters count values. So the square of a rounded entry is taken as y^2 + h^2/12, as if
what was rounded were uniform about y: covariances are larger by h^2/12 than those of the numbers as they stand. This is
a floor for densities, not Sheppard's correction, which subtracts as much to tell the variance before rounding.
"""

from __future__ import annotations

import numpy as np

from latens.array import Floats

__all__ = ["rounding_variances", "step"]

LEAST_SHARE_OF_VARIANCE = 1e-4  # of a column's variance, from which rounding tells
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


def step(values: Floats, precision: float = 0.0) -> float:
    """The distance of which all differences are multiples; 0 where most values occur once, or no step fits."""
    values = np.sort(np.asarray(values, dtype=np.float64))
    largest_gap = max(LARGEST_GAP * float(values.std()), ROUNDINGS * precision)
    levels = values[np.concatenate([[True], np.diff(values) > largest_gap])]
    if not 1 < len(levels) <= len(values) / 2:
        return 0.0
    gap = float(np.diff(levels).min())
    count = np.round((levels[-1] - levels[0]) / gap)
    gap = float(levels[-1] - levels[0]) / max(count, 1.0)  # from end to end: a single gap is the least exact
    whole = (levels - levels[0]) / gap
    off = np.maximum(OFF_GRID * np.maximum(whole, 1.0), ROUNDINGS * precision / gap)
    return gap if np.all(np.abs(whole - np.round(whole)) < off) else 0.0
