"""How strongly components move columns, in units in which columns can be compared.

    factors, sources, causes of numbers   loading / sd of the column
    clusters of numbers                   (mean of the cluster - mean of all rows) / sd
    classes                               the same, and of levels (probability - usual share) / sd
    models of yes/no rows                 the probability of a 1, which has no unit

Standard deviations are those of the fitted model, as in `summary()` and on pages. A stand-in that does not know them is
told as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.estimators.display.strongest import least_strength, strongest
from latens.estimators.fitted_parts import column_spread, strength_errors
from latens.estimators.mixtures.class_rows import class_rows
from latens.plots.fitted import loadings_table

__all__ = ["Strengths", "strengths"]

LOADING = "loading"
IN_SD = "loading (sd of the column)"
DISTANCE_LABEL = "distance from the mean of all rows (sd of the column)"
CHANCE = "probability of a 1"


@dataclass(frozen=True)
class Strengths:
    """Values (K, D), names of the columns, what the values are, and their standard errors (K, D)."""

    values: np.ndarray
    columns: list[str]
    unit: str
    errors: np.ndarray

    def strongest(self, k: int, n: int) -> list[int]:
        """The columns that describe a component, as `top_features` names them."""
        return strongest(least_strength(self.values[k], self.errors[k]), n)


def strengths(model: Any, view: str | None = None, X: Any = None) -> Strengths:
    """Of one view or of all, those side by side; X gives units to a stand-in, and names to columns without."""
    if hasattr(model, "profiles_") and hasattr(model, "columns_"):
        rows = class_rows(model)
        values, own = (np.stack([getattr(row, name) for row in rows], axis=1) for name in ("strength", "error"))
        return Strengths(values, [row.name for row in rows], DISTANCE_LABEL, own)
    values, columns = loadings_table(model, view, X)
    spread, errors = column_spread(model), strength_errors(model)
    if spread is None or errors is None:
        return _of_stand_in(values, columns, X)
    if view is not None:
        at = model.layout_.bounds[model.layout_.views.index(view)]
        spread, errors = spread[at], errors[:, at]
    if getattr(type(model), "binary", False):
        return Strengths(values, columns, CHANCE, errors * spread)
    grouped = hasattr(model, "weights_")
    centre = np.asarray(model.weights_) @ values if grouped else np.zeros(values.shape[1])
    return Strengths(_over(values - centre, spread), columns, DISTANCE_LABEL if grouped else IN_SD, errors)


def _of_stand_in(values: np.ndarray, columns: list[str], X: Any) -> Strengths:
    """In the spread of the rows where there are some that fit, else as it is."""
    rows = None if X is None or isinstance(X, dict) else np.asarray(X, dtype=np.float64)
    if rows is None or rows.ndim != 2 or rows.shape[1] != values.shape[1]:
        return Strengths(values, columns, LOADING, np.zeros_like(values))
    return Strengths(_over(values, np.nanstd(rows, axis=0)), columns, IN_SD, np.zeros_like(values))


def _over(values: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """0 where a column does not vary."""
    return np.asarray(np.divide(values, spread, out=np.zeros_like(values), where=spread > 0))
