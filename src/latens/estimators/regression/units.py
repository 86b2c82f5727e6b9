"""Units of the columns of a regression and of its target."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.fields import part, record
from latens.core import Rows, Survey
from latens.estimators.rows.units import Units

__all__ = ["RegressionUnits"]

GRID = 2.0**-10  # of a column's own spread; origins lie on it, so that the order of rows does not reach the model


@record
class RegressionUnits(Units):
    """Units of the columns, and of what they predict."""

    target: Units = part(d="1")  # of one column

    @classmethod
    def of_pairs(cls, x: Floats, y: Floats, weight: Floats | None, *, centred: bool) -> RegressionUnits:
        """One unit for all columns, since their weights share one prior; an origin for each, however small it is."""
        columns, target = (Units.of(Rows(rows, None, weight), centred=centred) for rows in (x, y[:, None]))
        if not centred:
            return cls(columns.origin, columns.exponent, target)
        inside = columns.enter(Rows(x)).x
        mean = np.average(inside, axis=0, weights=weight)
        spread = np.sqrt(np.average((inside - mean) ** 2, axis=0, weights=weight))
        return cls._centred(columns, target, mean, spread)

    @classmethod
    def of_surveys(cls, x: Survey, y: Survey, dtype: np.dtype[Any], *, centred: bool) -> RegressionUnits:
        """The same from surveys of the columns and of the target."""
        columns, target = (Units.of_survey(part, dtype, centred=centred) for part in (x, y))
        if not centred:
            return cls(columns.origin, columns.exponent, target)
        mean = columns.enter_direction(x.mean - columns.origin)
        spread = columns.enter_direction(x.deviation / np.sqrt(x.count))
        return cls._centred(columns, target, mean, spread)

    @classmethod
    def _centred(cls, columns: Units, target: Units, mean: Floats, spread: Floats) -> RegressionUnits:
        """Origins on a grid of each column's own, from means and spreads in the unit of `across`."""
        spread = np.maximum(spread, np.finfo(float).eps * np.abs(mean))
        grid = GRID * 2.0 ** np.round(np.log2(spread, out=np.zeros_like(spread), where=spread > 0))
        return cls(columns.origin + np.ldexp(np.round(mean / grid) * grid, columns.exponent), columns.exponent, target)

    def __post_init__(self) -> None:
        if self.target.origin.shape != (1,):
            raise ValueError(f"the target has an origin of shape {self.target.origin.shape}; expected (1,)")
