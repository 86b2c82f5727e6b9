"""Intervals of what the page shows, where they can be had in reasonable time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.core import Compressing
from latens.estimators.fitted_parts import fitted_parts

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Certainty", "certainty_of"]

LOADINGS = ("components", "mixing", "means", "level_probabilities")  # published numbers that the table of columns shows
MOST_NUMBERS = 3000  # whose mean-field intervals are drawn
MOST_WORK = 1e5  # rows times coordinates up to which responses are taken where each needs the rows
MOST_COORDINATES = 250  # whose response a page waits for; its cost grows with their square
QUICKLY_REFITTED = ("clusters", "classes", "switches")  # families whose bootstrap takes about a second on a page's rows
MOST_REFITTED = 2e5  # rows times columns up to which it does
TOO_NARROW = "The intervals are too narrow wherever the hidden values of rows are uncertain (mean field)."


@dataclass(frozen=True)
class Certainty:
    """Intervals of published numbers, and how they were made.

    Parameters
    ----------
    table : IntervalTable or None
        None where they would have taken too long, or cannot be had; `note` says what to type.
    note : str
    call : str
        The call of `intervals` that gives the same table.
    """

    table: Any
    note: str
    call: str = ""

    @property
    def narrow(self) -> bool:
        return self.table is not None and self.table.method == "mean-field"

    def loadings(self) -> dict[tuple[str, str, str], tuple[float, float, bool, str]]:
        """By component, view and feature: lower and upper end, whether they are sound, and why not."""
        if self.table is None:
            return {}
        return {
            (component, view, feature): (lower, upper, sound, why)
            for parameter, component, feature, view, _, _, lower, upper, sound, why in self.table.rows
            if parameter in LOADINGS
        }


def certainty_of(entry: Entry) -> Certainty:
    """95 % intervals by the best method that a page can wait for."""
    model = entry.model
    if not hasattr(model, "intervals") or not (hasattr(model, "posterior_") or hasattr(model, "coef_")):
        return Certainty(None, "")
    type_this = f"Intervals: {entry.call('model.intervals(X)')}."
    method = "auto"
    if hasattr(model, "_numbers"):
        n_numbers = _n_published(model)
        is_compressed = isinstance(fitted_parts(model).model, Compressing)  # sums in place of rows
        rows = 0 if is_compressed or entry.sample is None else len(entry.sample)
        n_coordinates = _n_coordinates(model)
        if n_coordinates > MOST_COORDINATES or rows * n_coordinates > MOST_WORK:
            method = "bootstrap" if _quickly_refitted(entry) else "mean-field"
        if method == "mean-field" and n_numbers > MOST_NUMBERS:
            return Certainty(None, f"{n_numbers:,} numbers are too many for a page. {type_this}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = (
                model.intervals(entry.X, method=method, **entry.given_to_fit)
                if entry.family != "regression"
                else model.intervals()
            )
    except (ValueError, TypeError, np.linalg.LinAlgError) as reason:
        return Certainty(None, f"No intervals: {reason}")
    own = "" if method == "auto" else f", method={method!r}"
    note = TOO_NARROW if table.method == "mean-field" else ""
    return Certainty(table, note, entry.call(f"model.intervals(X{own})"))


def _quickly_refitted(entry: Entry) -> bool:
    """Whether fits of rows drawn anew are a matter of a second."""
    sample = entry.sample
    if sample is None or not sample.whole or entry.family not in QUICKLY_REFITTED:
        return False
    return bool(np.size(sample.values) <= MOST_REFITTED)


def _n_coordinates(model: Any) -> int:
    from latens.core.coordinates import Chart

    return int(Chart(model.posterior_).size)


def _n_published(model: Any) -> int:
    values = (
        getattr(model, f"{name}_", ())
        for name in ("mixing" if hasattr(model, "mixing_") else "components", "covariances", "noise_variance")
    )
    return int(
        sum(np.size(part) for value in values for part in (value.values() if isinstance(value, dict) else [value]))
    )
