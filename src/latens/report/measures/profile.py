"""Components as columns of the data show them: each column in units of its own standard deviation.

    factors, sources            loading / sd of the column
    causes of yes/no rows       probability that the cause alone makes a 1 / sd, with the probability in the cell
    clusters, classes           (mean of the cluster - mean) / sd
    yes/no columns, levels      (probability - usual share) / sd, with the probability in the cell
    views that are not real     the same on the scale of their link, with noise of variance 1

Standard deviations are those of the fitted model, as in `summary` and `top_features`.

So columns of metres and of millimetres can be compared, and one colour scale serves all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.display.strongest import least_strength, strongest
from latens.estimators.fitted_parts import column_spread, strength_errors
from latens.estimators.mixtures.class_rows import class_rows
from latens.models.likelihoods.names import MEASUREMENTS

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Ends", "Profile", "ends_of", "profile_of"]

Ends = dict[tuple[int, int], tuple[float, float, bool, str]]  # by column and component: ends, sound, why not


@dataclass(frozen=True)
class Profile:
    """A table of columns by components.

    Parameters
    ----------
    columns : list of str
    strength : array of shape (D, K)
        In standard deviations of each column: what colours show.
    error : array of shape (D, K)
        Its standard error, infinite where no row of a component shows the column. Columns are listed by what is left of
        the strength after it, as by `top_features`.
    shown : array of shape (D, K), optional
        What cells tell in place of it, such as probabilities; NaN where it is the strength itself.
    unit : str
        What the cells are, in words.
    centre, scale : arrays of shape (D,)
        A published number less the centre, over the scale, is a strength.
    known_as : list of str, optional
        What `intervals` calls each column; the columns' own names otherwise.
    lift : array of shape (D, K), optional
        Where cells are probabilities, how many times the usual share they are; NaN elsewhere.
    usual : array of shape (D,), optional
        The published number that is no strength at all, that of all rows; the centre otherwise.
    """

    columns: list[str]
    strength: np.ndarray
    error: np.ndarray
    shown: np.ndarray
    unit: str
    centre: np.ndarray
    scale: np.ndarray
    known_as: list[str] | None = None
    lift: np.ndarray | None = None
    usual: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        columns: list[str],
        values: np.ndarray,
        centre: np.ndarray,
        scale: np.ndarray,
        unit: str,
        shown: np.ndarray | None = None,
        error: np.ndarray | None = None,
    ) -> Profile:
        """From published values of shape (K, D), and errors likewise; columns that do not vary have no strength."""
        gaps = np.asarray(values - centre)
        strength = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0).T
        error = np.zeros(strength.shape) if error is None else error.T
        shown = np.full(strength.shape, np.nan) if shown is None else shown
        return cls(columns, strength, error, shown, unit, centre, scale)

    def in_unit(self, d: int, k: int, value: float) -> float:
        """A published number of column d in the unit of its cells."""
        if not np.isnan(self.shown[d, k]):
            return value
        return float((value - self.centre[d]) / self.scale[d]) if self.scale[d] > 0 else 0.0

    def top(self, k: int, n: int) -> list[int]:
        """The columns in which component k is surely strongest."""
        return strongest(self._least[:, k], n)

    @property
    def is_shown(self) -> np.ndarray:
        """(D, K), whether any row of a component shows the column."""
        return np.asarray(np.isfinite(self.error))

    @cached_property
    def _least(self) -> np.ndarray:
        return least_strength(self.strength, self.error)

    def notable(self, k: int, n: int, ends: Ends | None = None) -> list[int]:
        """Those of all columns that surely stand out: no tiny strengths, no raised probabilities below the usual.

        `ends` are intervals in the unit of cells. One that holds the number of all rows leaves the sign open: the
        standard error takes the codes of rows for known, and an interval need not.
        """
        least, strength = self._least[:, k], self.strength[:, k]
        clear = (np.abs(strength) >= LEAST_STRENGTH) & (least > 0)
        if self.lift is not None:
            clear &= ~((strength > 0) & (self.lift[:, k] < 1))
        found = (d for d in strongest(least, len(least)) if clear[d] and not self._holds_usual(d, k, ends or {}))
        return list(islice(found, n))

    def _holds_usual(self, d: int, k: int, ends: Ends) -> bool:
        """Whether the interval of a number is known and holds that of all rows."""
        lower, upper, *_ = ends.get((d, k), (np.nan, np.nan))
        usual = self.in_unit(d, k, float((self.centre if self.usual is None else self.usual)[d]))
        return bool(np.isfinite([lower, upper]).all() and lower <= usual <= upper)


LEAST_STRENGTH = 0.05  # strengths, in standard deviations of a column
LOADINGS = "what a component adds to a column, in standard deviations of that column"
NOTE_ON_LINKS = "; of yes/no columns, levels and counts on the scale of their link, with noise of variance 1 there"
NOTE_ON_UNITS = (
    "what a component adds to a column, in the column's own unit (without rows there is no standard deviation)"
)
GAPS = "how far a cluster's mean is from that of all rows, in standard deviations of the column"
ACTIVATIONS = (
    "probability that a cause, where it is on, makes a 1; colours show it in standard deviations of the column"
)
CHANCES = "probability of a 1; colours show how far it is from the usual share, in standard deviations"
NOTE_ON_KINDS = "numbers: means of a class; levels: probabilities; colours show the distance from all rows in their sd"


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
    zero, spread = np.zeros(len(columns)), column_spread(model)
    if spread is None and sample is not None and sample.values.shape[1] == loadings.shape[1]:
        spread = sample.spread
    if spread is None:
        return Profile.of(columns, loadings, zero, zero + 1, NOTE_ON_UNITS)
    linked = entry.family == "views" and not all(str(kind) in MEASUREMENTS for kind in model.likelihoods_.values())
    unit = f"{LOADINGS}{NOTE_ON_LINKS if linked else ''}"
    return Profile.of(columns, loadings, zero, spread, unit, error=strength_errors(model))


def _wide_loadings(entry: Entry) -> np.ndarray | None:
    """(K, D), what each component adds to each column, in data units; views side by side."""
    if entry.family != "views":
        return entry.loadings
    parts = [np.asarray(part, dtype=np.float64) for part in entry.model.components_.values()]
    return np.concatenate(parts, axis=1)


def _of_means(entry: Entry, columns: list[str], means: np.ndarray) -> Profile:
    """Clusters beside all rows: in numbers, or in probabilities where rows are binary."""
    model = entry.model
    spread, error = column_spread(model), strength_errors(model)
    if entry.family == "causes":
        usual = 1 - (1 - np.asarray(model.leak_)) * np.prod(1 - np.asarray(model.usage_)[:, None] * means, axis=0)
        spread = np.sqrt(np.maximum(usual * (1 - usual), 1e-12)) if spread is None else spread
        found = Profile.of(columns, means, np.zeros_like(usual), spread, ACTIVATIONS, means.T, error)
        return replace(found, lift=_lift((1 - (1 - np.asarray(model.leak_)) * (1 - means)).T, usual))
    usual = np.asarray(model.weights_) @ means
    assert spread is not None  # only estimators of latens are clusters
    if entry.binary:
        found = Profile.of(columns, means, usual, spread, CHANCES, means.T, error)
        return replace(found, lift=_lift(means.T, usual))
    return Profile.of(columns, means, usual, spread, GAPS, error=error)


def _lift(probability: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(D, K), probabilities over the usual share of their column (D,)."""
    return np.asarray(probability / np.maximum(usual, 1e-12)[:, None])


def _of_classes(model: Any) -> Profile:
    """Rows of `profiles_` but spreads: means beside their spread, probabilities beside the usual share."""
    rows = class_rows(model)
    zero, one = np.zeros(len(rows)), np.ones(len(rows))
    known_as = [row.name if row.kind in ("categorical", "ordinal") else row.column for row in rows]
    lift = [row.value / max(row.usual, 1e-12) if row.level else np.full(len(row.value), np.nan) for row in rows]
    strength, shown = np.array([row.strength for row in rows]), np.array([row.value for row in rows])
    names, error = [row.name for row in rows], np.array([row.error for row in rows])
    usual = np.array([row.usual for row in rows])
    return Profile(names, strength, error, shown, NOTE_ON_KINDS, zero, one, known_as, np.array(lift), usual)


def ends_of(entry: Entry) -> Ends:
    """By (column, component), the interval in the unit of the cell, whether it is sound, and why not."""
    profile, known = entry.profile, entry.certainty.loadings()
    if profile is None or not known:
        return {}
    layout = getattr(entry.model, "layout_", None)
    if profile.known_as is not None:
        pairs = [("", name) for name in profile.known_as]
    elif layout is None:
        pairs = [("", name) for name in _published_names(entry, len(profile.columns))]
    else:
        pairs = [(view, name) for view, names in zip(layout.views, layout.features, strict=True) for name in names]
    if len(pairs) != len(profile.columns):
        return {}
    components = [str(name) for name in entry.model.get_feature_names_out()]
    found: Ends = {}
    for d, (view, feature) in enumerate(pairs):
        for k, component in enumerate(components):
            ends = known.get((component, view, feature))
            if ends is not None:
                lower, upper = (profile.in_unit(d, k, end) for end in ends[:2])
                found[d, k] = (lower, upper, ends[2], ends[3])
    return found


def _published_names(entry: Entry, d: int) -> list[str]:
    known = getattr(entry.model, "feature_names_in_", None)
    return [f"x{i}" for i in range(d)] if known is None else [str(name) for name in known]
