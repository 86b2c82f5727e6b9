"""Components as columns of the data show them: each column in units of its own standard deviation.

    factors, sources            loading / sd of the column
    causes of yes/no rows       probability that the cause alone makes a 1 / sd, with the probability in the cell
    clusters, classes           (mean of the cluster - mean) / sd
    yes/no columns, levels      (probability - usual share) / sd, with the probability in the cell
    views that are not real     the loading itself, on the scale of its link

So columns of metres and of millimetres can be compared, and one colour scale serves all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.fitted_parts import fitted_parts
from latens.models.likelihoods.names import MEASUREMENTS

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Profile", "profile_of"]


@dataclass(frozen=True)
class Profile:
    """A table of columns by components.

    Parameters
    ----------
    columns : list of str
    strength : array of shape (D, K)
        In standard deviations of each column: what colours show and what orders columns.
    shown : array of shape (D, K), optional
        What cells tell in place of it, such as probabilities; NaN where it is the strength itself.
    unit : str
        What the cells are, in words.
    centre, scale : arrays of shape (D,)
        A published number less the centre, over the scale, is a strength.
    known_as : list of str, optional
        What `intervals` calls each column, "" where it has none; the columns' own names otherwise.
    lift : array of shape (D, K), optional
        Where cells are probabilities, how many times the usual share they are; NaN elsewhere.
    """

    columns: list[str]
    strength: np.ndarray
    shown: np.ndarray
    unit: str
    centre: np.ndarray
    scale: np.ndarray
    known_as: list[str] | None = None
    lift: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        columns: list[str],
        values: np.ndarray,
        centre: np.ndarray,
        scale: np.ndarray,
        unit: str,
        shown: np.ndarray | None = None,
    ) -> Profile:
        """From published values of shape (K, D); columns that do not vary have no strength."""
        gaps = np.asarray(values - centre)
        strength = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0).T
        return cls(columns, strength, np.full(strength.shape, np.nan) if shown is None else shown, unit, centre, scale)

    def in_unit(self, d: int, k: int, value: float) -> float:
        """A published number of column d in the unit of its cells."""
        if not np.isnan(self.shown[d, k]):
            return value
        return float((value - self.centre[d]) / self.scale[d]) if self.scale[d] > 0 else 0.0

    def top(self, k: int, n: int) -> list[int]:
        """The columns in which component k is strongest."""
        return [int(d) for d in np.argsort(-np.abs(self.strength[:, k]), kind="stable")[:n]]

    def notable(self, k: int, n: int) -> list[int]:
        """Those of them that stand out: no tiny strengths, no probabilities that are raised and yet below the usual."""
        lift = np.full(self.strength.shape, np.nan) if self.lift is None else self.lift
        return [
            d for d in self.top(k, n)
            if abs(self.strength[d, k]) >= NEGLIGIBLE and not (self.strength[d, k] > 0 and lift[d, k] < 1)
        ]  # fmt: skip


NEGLIGIBLE = 0.05  # strengths, in standard deviations of a column
LOADINGS = "what a component adds to a column, in standard deviations of that column"
RAW = "what a component adds to a column, in the column's own unit (without rows there is no standard deviation)"
GAPS = "how far a cluster's mean is from that of all rows, in standard deviations of the column"
ACTIVATIONS = (
    "probability that a cause, where it is on, makes a 1; colours show it in standard deviations of the column"
)
CHANCES = "probability of a 1; colours show how far it is from the usual share, in standard deviations"
MIXED = "numbers: means of a class; levels: probabilities; colours show the distance from all rows in their sd"


def profile_of(entry: Entry) -> Profile | None:
    """The table for a fitted model, or None where it has no single table of components."""
    model, sample = entry.model, entry.sample
    if entry.family == "classes":
        return _of_classes(model)
    loadings = _wide_loadings(entry)
    if loadings is None or not len(loadings):
        return None
    columns = entry.column_names(loadings.shape[1])
    if entry.family in ("clusters", "causes"):
        return _of_means(entry, columns, loadings)
    zero = np.zeros(len(columns))
    if sample is None or sample.values.shape[1] != loadings.shape[1]:
        return Profile.of(columns, loadings, zero, zero + 1, RAW)
    spread = sample.spread.copy()
    if entry.family == "views":
        spread[~_real_columns(model)] = 1.0
    return Profile.of(columns, loadings, zero, spread, LOADINGS)


def _wide_loadings(entry: Entry) -> np.ndarray | None:
    """(K, D), what each component adds to each column, in data units; views side by side."""
    if entry.family != "views":
        return entry.loadings
    parts = [np.asarray(part, dtype=np.float64) for part in entry.model.components_.values()]
    return np.concatenate(parts, axis=1)


def _real_columns(model: Any) -> np.ndarray:
    """(D,), whether each column of all views is real."""
    kinds = [
        str(model.likelihoods_[view]) in MEASUREMENTS
        for view, names in zip(model.layout_.views, model.layout_.features, strict=True)
        for _ in names
    ]
    return np.array(kinds)


def _of_means(entry: Entry, columns: list[str], means: np.ndarray) -> Profile:
    """Clusters beside all rows: in numbers, or in probabilities where rows are binary."""
    model, sample = entry.model, entry.sample
    if entry.family == "causes":
        usual = 1 - (1 - np.asarray(model.leak_)) * np.prod(1 - np.asarray(model.usage_)[:, None] * means, axis=0)
        spread = np.sqrt(np.maximum(usual * (1 - usual), 1e-12))
        found = Profile.of(columns, means, np.zeros_like(usual), spread, ACTIVATIONS, means.T)
        return replace(found, lift=_lift((1 - (1 - np.asarray(model.leak_)) * (1 - means)).T, usual))
    usual = np.asarray(model.weights_) @ means
    if entry.binary:
        spread = np.sqrt(np.maximum(usual * (1 - usual), 1e-12))
        return replace(Profile.of(columns, means, usual, spread, CHANCES, means.T), lift=_lift(means.T, usual))
    if sample is not None and sample.values.shape[1] == means.shape[1]:
        spread = sample.spread
    else:
        between = np.asarray(model.weights_) @ (means - usual) ** 2
        spread = np.sqrt(
            between + model.posterior_.clusters.row_variance.mean(axis=0) * fitted_parts(model).units.scale ** 2
        )
    return Profile.of(columns, means, usual, spread, GAPS)


def _lift(probability: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(D, K), probabilities over the usual share of their column (D,)."""
    return np.asarray(probability / np.maximum(usual, 1e-12)[:, None])


def _of_classes(model: Any) -> Profile:
    """Rows of `profiles_` but spreads: means beside their spread, probabilities beside the usual share."""
    weights, columns, known_as, strength, shown, lift = np.asarray(model.weights_), [], [], [], [], []
    rows = model.profiles_.rows
    spreads = {row[0]: np.array(row[3:], dtype=float) for row in rows if row[2] == "s.d."}
    for name, kind, what, *values in rows:
        if what in ("s.d.", "size"):
            continue
        value = np.array(values, dtype=float)
        usual = float(weights @ value)
        if what == "mean":
            within = spreads[name] ** 2 if name in spreads else np.maximum(value, 0.0)  # of counts, about their mean
            variance = float(weights @ ((value - usual) ** 2 + within))
            columns.append(name)
        else:
            variance = usual * (1 - usual)
            columns.append(f"{name} = {what.removeprefix('P(').removesuffix(')')}")
        known_as.append("" if kind in ("categorical", "ordinal") else name)
        strength.append((value - usual) / np.sqrt(max(variance, 1e-12)))
        shown.append(value)
        lift.append(np.full(len(value), np.nan) if what == "mean" else value / max(usual, 1e-12))
    zero, one = np.zeros(len(columns)), np.ones(len(columns))
    return Profile(columns, np.array(strength), np.array(shown), MIXED, zero, one, known_as, np.array(lift))
