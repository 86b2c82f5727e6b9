"""Columns of rounded numbers: how far apart their values stand, and what that adds to a cluster's variance.

A number rounded to steps of h may have been anything within h/2 of it. A normal cluster that forgets this becomes as
narrow as a single value, and clusters count values.
"""

from __future__ import annotations

import numpy as np

from latens.array import Floats

__all__ = ["rounding_variances", "step"]

NOTICED = 1e-4  # of a column's variance, from which rounding tells
OFF_GRID = 1e-6  # of a step: how far from whole steps values may lie


def rounding_variances(x: Floats) -> Floats | None:
    """(D,), h^2 / 12 of each column, where that is not negligible beside its variance; None where it is nowhere."""
    variances = np.array([step(column) ** 2 / 12 for column in x.T])
    variances[variances < NOTICED * x.var(axis=0)] = 0.0
    return variances if variances.any() else None


def step(values: Floats) -> float:
    """The distance of which all differences are multiples; 0 where most values are met once, or no step fits."""
    levels = np.unique(values)
    if not 1 < len(levels) <= len(values) / 2:
        return 0.0
    gap = float(np.diff(levels).min())
    whole = (levels - levels[0]) / gap
    return gap if np.all(np.abs(whole - np.round(whole)) < OFF_GRID * np.maximum(whole, 1.0)) else 0.0
