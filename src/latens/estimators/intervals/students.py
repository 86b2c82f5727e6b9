"""Means and loadings after few rows: the noise they are measured by is itself uncertain, so that Student's t has them.

Clusters: the logarithm of a variance with v degrees of freedom has variance trigamma(v / 2), so that the standard
deviation that was found for the variance of a column, on the scale of its logarithm, tells v, which are those of its
mean, too. Of a full covariance in D dimensions the precision has D - 1 degrees of freedom more, and the scale of a mean
is larger than this precision says by the root of (v + D - 1) / v: marginal distributions of a Normal-Wishart. Factors:
a column is a regression on K codes and a level, which leaves as many rows as there are beyond these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latens.array import Floats
from latens.array.special import inverse_trigamma
from latens.estimators.intervals.table import AXES, COVARIANCES, PublishedNumber

__all__ = ["IntervalTails", "tails_of"]

LOCATIONS = ("means", "components", "mixing", "mean", "intercept", "intercepts", "covariate_coefficients")
FEWEST_DEGREES = 1.0  # degrees of freedom that a tail has at least


class IntervalTails(NamedTuple):
    """(m,) each; normal tails have infinitely many degrees of freedom."""

    freedom: Floats
    widening: Floats  # of the standard deviation


def tails_of(
    numbers: Sequence[PublishedNumber],
    std: Floats,
    *,
    n_rows: float,
    n_columns: int,
    n_components: int,
    covariance_type: str = "",
) -> IntervalTails:
    """Of numbers with these standard deviations on the scales of their links; those without noise are normal."""
    at = {(n.parameter, n.view, n.place): i for i, n in enumerate(numbers)}
    widths = {(n.component, n.feature): i for i, n in enumerate(numbers) if n.parameter == "standard_deviations"}
    is_width = np.array([n.parameter == "standard_deviations" for n in numbers], dtype=bool)
    with np.errstate(all="ignore"):  # of those that are not known
        degrees = 2 * inverse_trigamma(np.where(is_width, 2 * std, std) ** 2)
    freedom, widening = np.full(len(numbers), math.inf), np.ones(len(numbers))
    for i, number in enumerate(numbers):
        if number.parameter not in LOCATIONS or number.link != "real":
            continue
        d, view = number.place[AXES[number.parameter][0].index("d")], number.view
        if ("noise_variance", view, (d,)) in at or ("noise_variance", view, ()) in at:
            freedom[i] = max(n_rows - n_components - 1, FEWEST_DEGREES)
            continue
        width = widths.get((number.component, number.feature))
        if width is not None and 0 < std[width] < math.inf:
            freedom[i] = max(degrees[width], FEWEST_DEGREES)
            continue
        axes = COVARIANCES.get(covariance_type, "")
        place = tuple({"k": number.component, "d": d, "e": d}[axis] for axis in axes)
        own = at.get(("covariances", view, place))  # type: ignore[arg-type]  # a mean of a cluster has a component
        if own is not None and 0 < std[own] < math.inf:
            freedom[i] = max(degrees[own], FEWEST_DEGREES)
            widening[i] = math.sqrt((freedom[i] + n_columns - 1) / freedom[i]) if "e" in axes else 1.0
    return IntervalTails(freedom, widening)
