"""Classes beside all rows together: each mean and probability of a level, in standard deviations of its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.display.strongest import least_strength, standard_errors

__all__ = ["ClassRow", "class_rows"]


@dataclass(frozen=True)
class ClassRow:
    """A line of `profiles_`: the mean of a column, or the probability of a level, in each class."""

    column: str
    kind: str
    level: str  # "" of a mean
    value: Floats  # (K,)
    usual: float  # over all classes
    spread: float
    value_error: Floats  # (K,), of a mean of the rows that show the column; inf where none does

    @property
    def name(self) -> str:
        return f"{self.column} = {self.level}" if self.level else self.column

    @property
    def strength(self) -> Floats:
        """(K,), in standard deviations."""
        return np.asarray((self.value - self.usual) / max(self.spread, 1e-6))

    @property
    def error(self) -> Floats:
        """(K,), of the strength, likewise."""
        return np.asarray(self.value_error / max(self.spread, 1e-6))

    @property
    def least(self) -> Floats:
        """(K,), the lower end of the strength."""
        return least_strength(self.strength, self.error)


def class_rows(model: Any) -> list[ClassRow]:
    """The lines of `profiles_` but those of spreads, each beside all classes together."""
    weights, found, lines = np.asarray(model.weights_), [], model.profiles_.rows
    exposed = bool(getattr(model, "_is_exposed", False))
    spreads = {row[0]: np.array(row[3:], dtype=float) for row in lines if row[2] in ("s.d.", "scale")}
    sizes = {row[0]: np.array(row[3:], dtype=float) for row in lines if row[2] == "size"}
    shown = dict(zip(model.columns_.names, model._rows_shown().T, strict=True))  # (K,) of each column
    for name, kind, what, *values in lines:
        if what in ("s.d.", "scale", "size", "degrees of freedom"):
            continue
        value = np.array(values, dtype=float)
        usual = float(weights @ value)
        if what == "mean":
            counted = np.maximum(value, 0.0)
            of_rows = spreads[name] ** 2 if name in spreads else counted + counted**2 / sizes.get(name, np.inf)
            # counts vary about as much as their mean; rates as much as exposures let them, so that theirs are set
            # beside what classes differ by
            within = spreads[name] ** 2 if name in spreads else (0.0 if exposed else 1.0) * counted
            variance, level = float(weights @ ((value - usual) ** 2 + within)), ""
        else:
            of_rows = value * (1 - value)
            variance, level = usual * (1 - usual), what.removeprefix("P(").removesuffix(")")
        errors = standard_errors(np.maximum(of_rows, 0.0), shown[name])
        found.append(ClassRow(name, kind, level, value, usual, float(np.sqrt(max(variance, 0.0))), errors))
    return found
