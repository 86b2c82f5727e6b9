"""How well a model fills cells that are hidden from it, row by row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.fitted_parts import fitted_parts

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["HiddenCells", "filled_rows", "hidden_cells"]

MOST_ROWS, MOST_COLUMNS_JOINT = 200, 40  # rows that are hidden in; columns whose covariances are inverted row by row
MOST_ENTRIES = 400_000
SHARE = 0.1  # of the cells
FEWEST = 100  # hidden cells that say something


@dataclass(frozen=True)
class HiddenCells:
    """What came of filling cells that were hidden.

    Parameters
    ----------
    n : int
        Cells that were hidden.
    error : float
        Root mean squared error beside that of filling with each column's mean: below 1 is better than that.
    coverage : float
        Share of the cells of real columns within their 95 % interval; NaN where there is none.
    """

    n: int
    error: float
    coverage: float


def hidden_cells(entry: Entry) -> HiddenCells | None:
    """Hide a tenth of the cells of some rows and fill them from the rest; None where that says nothing."""
    model, sample = entry.model, entry.sample
    if sample is None or not hasattr(model, "impute") or entry.n_components == 0 or entry.family == "regression":
        return None
    if entry.family == "classes" and model.columns_.table is not None:
        return None  # levels of text are not numbers to be compared
    values = sample.values
    real = _comparable(entry, values.shape[1])
    joint = getattr(model, "covariance_type", "") in ("full", "tied")
    if values.shape[1] < 2 or (joint and values.shape[1] > MOST_COLUMNS_JOINT):
        return None
    n = int(min(MOST_ROWS, len(values), max(MOST_ENTRIES // values.shape[1], 20)))
    rows = values[np.linspace(0, len(values) - 1, n).round().astype(int)]
    hide = (np.random.default_rng(0).random(rows.shape) < SHARE) & np.isfinite(rows) & real
    hide[np.isfinite(rows).sum(axis=1) - hide.sum(axis=1) < 1] = False
    if hide.sum() < FEWEST:
        return None
    filled = filled_rows(model, np.where(hide, np.nan, rows))
    if filled is None:
        return None
    mean, std = filled
    spread = np.where(sample.spread > 0, sample.spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        usual = np.nan_to_num(np.nanmean(values, axis=0))
    error, beside = (((guess - rows) / spread)[hide] for guess in (mean, np.broadcast_to(usual, rows.shape)))
    inside = np.abs(mean - rows)[hide] <= 1.96 * std[hide]
    coverage = float("nan") if entry.binary or not np.any(std[hide] > 0) else float(np.mean(inside))
    return HiddenCells(int(hide.sum()), float(np.sqrt(np.mean(error**2) / np.mean(beside**2))), coverage)


def _comparable(entry: Entry, d: int) -> np.ndarray:
    """(D,), whether the distance of two entries of a column means something."""
    if entry.family == "views":
        layout, kinds = entry.model.layout_, entry.model.likelihoods_
        return np.array(
            [str(kinds[v]) == "gaussian" for v, f in zip(layout.views, layout.features, strict=True) for _ in f]
        )
    if entry.family == "classes":
        return np.array([kind in ("gaussian", "bernoulli") for kind in entry.model.columns_.kinds])
    return np.ones(d, dtype=bool)


def filled_rows(model: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Means and standard deviations (n, D) of all entries, observed ones as they are."""
    layout = getattr(model, "layout_", None)
    asked: Any = rows
    if layout is not None and not fitted_parts(model).one_table:
        asked = {name: rows[:, at] for name, at in zip(layout.views, layout.bounds, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            filled = model.impute(asked, return_std=True)
        except (ValueError, TypeError):  # rows with a group, a precision or an exposure that are not at hand
            return None
    mean, std = (list(part.values()) if isinstance(part, dict) else [part] for part in filled)
    return np.concatenate(mean, axis=1), np.concatenate(std, axis=1)
