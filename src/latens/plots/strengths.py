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

from latens.estimators.fitted_parts import column_spread
from latens.plots.fitted import loadings_table

__all__ = ["ClassRow", "Strengths", "class_rows", "strengths"]

LOADING = "loading"
IN_SD = "loading (sd of the column)"
DISTANCE_LABEL = "distance from the mean of all rows (sd of the column)"
CHANCE = "probability of a 1"


@dataclass(frozen=True)
class Strengths:
    """Values (K, D), names of the columns, and what the values are."""

    values: np.ndarray
    columns: list[str]
    unit: str


@dataclass(frozen=True)
class ClassRow:
    """A line of `profiles_`: the mean of a column, or the probability of a level, in each class."""

    column: str
    kind: str
    level: str  # "" of a mean
    value: np.ndarray  # (K,)
    usual: float  # over all classes
    spread: float

    @property
    def name(self) -> str:
        return f"{self.column} = {self.level}" if self.level else self.column

    @property
    def strength(self) -> np.ndarray:
        """(K,), in standard deviations."""
        return np.asarray((self.value - self.usual) / max(self.spread, 1e-6))


def strengths(model: Any, view: str | None = None, X: Any = None) -> Strengths:
    """Of one view or of all, those side by side; X gives units to a stand-in, and names to columns without."""
    if hasattr(model, "profiles_") and hasattr(model, "columns_"):
        rows = class_rows(model)
        return Strengths(np.stack([row.strength for row in rows], axis=1), [row.name for row in rows], DISTANCE_LABEL)
    values, columns = loadings_table(model, view, X)
    if getattr(type(model), "binary", False):
        return Strengths(values, columns, CHANCE)
    spread = column_spread(model)
    if spread is None:
        return _of_stand_in(values, columns, X)
    if view is not None:
        spread = spread[model.layout_.bounds[model.layout_.views.index(view)]]
    grouped = hasattr(model, "weights_")
    centre = np.asarray(model.weights_) @ values if grouped else np.zeros(values.shape[1])
    return Strengths(_over(values - centre, spread), columns, DISTANCE_LABEL if grouped else IN_SD)


def class_rows(model: Any) -> list[ClassRow]:
    """The lines of `profiles_` but those of spreads, each beside all classes together."""
    weights, found, exposed = np.asarray(model.weights_), [], bool(getattr(model, "_is_exposed", False))
    spreads = {row[0]: np.array(row[3:], dtype=float) for row in model.profiles_.rows if row[2] in ("s.d.", "scale")}
    for name, kind, what, *values in model.profiles_.rows:
        if what in ("s.d.", "scale", "size", "degrees of freedom"):
            continue
        value = np.array(values, dtype=float)
        usual = float(weights @ value)
        if what == "mean":
            # counts vary about as much as their mean; rates as much as exposures let them, so that theirs are set
            # beside what classes differ by
            within = spreads[name] ** 2 if name in spreads else (0.0 if exposed else 1.0) * np.maximum(value, 0.0)
            variance, level = float(weights @ ((value - usual) ** 2 + within)), ""
        else:
            variance, level = usual * (1 - usual), what.removeprefix("P(").removesuffix(")")
        found.append(ClassRow(name, kind, level, value, usual, float(np.sqrt(max(variance, 0.0)))))
    return found


def _of_stand_in(values: np.ndarray, columns: list[str], X: Any) -> Strengths:
    """In the spread of the rows where there are some that fit, else as it is."""
    rows = None if X is None or isinstance(X, dict) else np.asarray(X, dtype=np.float64)
    if rows is None or rows.ndim != 2 or rows.shape[1] != values.shape[1]:
        return Strengths(values, columns, LOADING)
    return Strengths(_over(values, np.nanstd(rows, axis=0)), columns, IN_SD)


def _over(values: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """0 where a column does not vary."""
    return np.asarray(np.divide(values, spread, out=np.zeros_like(values), where=spread > 0))
