"""Whether columns differ so much in size that one prior of all weights is none for some of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latens.errors import DoubtfulScale, warn
from latens.models.linear_regression import LinearRegression, Moments

__all__ = ["SHARED_PRIOR", "doubt_column_sizes", "too_different"]

MOST_DIFFERENT = 30.0  # largest over smallest standard deviation
SHARED_PRIOR = "columns of very different sizes share one prior"


def too_different(model: LinearRegression, sums: Moments) -> bool:
    """Whether a prior that was found from the rows is shared by columns of very different standard deviations."""
    if model.standardized or not isinstance(model.alpha, str):  # a number that was given is the caller's own prior
        return False
    sizes = sums.deviations(model.intercept)
    return bool(sizes.max() > MOST_DIFFERENT * sizes.min())


def doubt_column_sizes(model: LinearRegression, sums: Moments, names: Sequence[str], scale: float) -> None:
    """Warn where columns are too different; `scale` is the unit of the sums in that of the data."""
    if not too_different(model, sums):
        return
    sizes = sums.deviations(model.intercept) * scale
    small, large = int(np.argmin(sizes)), int(np.argmax(sizes))
    warn(
        DoubtfulScale(
            f"standard deviations of the columns go from {sizes[small]:.3g} ({str(names[small])!r}) to "
            f"{sizes[large]:.3g} ({str(names[large])!r}), and all weights share one prior precision: those of small "
            "columns, which need large weights, may be pulled to 0.",
            "Pass standardize=True: the prior is then per standard deviation, and weights stay in the units of X.",
        )
    )
