"""How well a model fills cells that are hidden from it, row by row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from latens.diagnose.hidden_entries import SHARE, comparable, filled_rows, hide_some, of_text
from latens.estimators.frames.raw_frames import is_frame, level_numbers
from latens.report.measures.sample import beside

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["FEWEST", "MOST_ROUNDS", "HiddenCells", "hidden_cells"]

MOST_ROWS, MOST_COLUMNS_JOINT = 200, 40  # rows that are hidden in; columns whose covariances are inverted row by row
MOST_ENTRIES = 400_000
FEWEST = 100  # hidden cells that say something
MOST_ROUNDS = 4  # in which a row of a small table is looked at, with other cells hidden


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
    right, usual : float
        Share of hidden levels of text that were filled rightly, and that the most frequent level gets right; NaN where
        no column is of levels. `error` is NaN where all are.
    """

    n: int
    error: float
    coverage: float
    right: float = float("nan")
    usual: float = float("nan")

    @property
    def helpful(self) -> bool:
        """Whether cells are filled clearly better than without a model, and intervals hold what they should."""
        closer = self.error < 0.95 or (np.isnan(self.error) and self.right > self.usual)
        return closer and not self.coverage < 0.85


def hidden_cells(entry: Entry) -> HiddenCells | None:
    """Hide a tenth of the cells of some rows and fill them from the rest; None where that says nothing."""
    model, sample = entry.model, entry.sample
    if sample is None or not hasattr(model, "impute") or entry.n_components == 0 or entry.family == "regression":
        return None
    frame = _frame_of(model, sample.X)
    if frame is not None:
        return _in_frame(entry, frame)
    values = sample.values
    real = comparable(model, values.shape[1])
    joint = getattr(model, "covariance_type", "") in ("full", "tied")
    if values.shape[1] < 2 or (joint and values.shape[1] > MOST_COLUMNS_JOINT):
        return None
    at = _looked_at(values, int(real.sum()))
    rows, given = values[at], beside(sample.given, at, len(values))
    hide = hide_some(rows) & real
    if hide.sum() < FEWEST:
        return None
    filled = filled_rows(model, np.where(hide, np.nan, rows), given)
    if filled is None:
        return None
    mean, std = filled
    spread = np.where(sample.spread > 0, sample.spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        usual = np.nan_to_num(np.nanmean(values, axis=0))
    error, plain = (((guess - rows) / spread)[hide] for guess in (mean, np.broadcast_to(usual, rows.shape)))
    inside = np.abs(mean - rows)[hide] <= 1.96 * std[hide]
    coverage = float("nan") if entry.binary or not np.any(std[hide] > 0) else float(np.mean(inside))
    return HiddenCells(int(hide.sum()), float(np.sqrt(np.mean(error**2) / np.mean(plain**2))), coverage)


def _looked_at(values: np.ndarray, d: int) -> np.ndarray:
    """Places of rows, spread evenly, in which enough cells of d columns can be hidden; few rows come several times."""
    wanted = max(MOST_ROWS, int(1.5 * FEWEST / (SHARE * max(d, 1))))
    most = min(len(values) * MOST_ROUNDS, max(MOST_ENTRIES // values.shape[1], 20))
    n = int(min(wanted, most))
    if n > len(values):
        return np.resize(np.arange(len(values)), n)
    return np.linspace(0, len(values) - 1, n).round().astype(int)


@dataclass(frozen=True)
class _Frame:
    """Columns of a frame of numbers and levels that a model was fitted to, as it is."""

    names: list[str]
    levels: NDArray[np.bool_]  # (D,), which of them are of levels
    numbers: Callable[[Any], np.ndarray]  # (n, D) of such a frame, of levels their number


def _frame_of(model: Any, X: Any) -> _Frame | None:
    """How rows are given to a model of text; None where they are given as numbers."""
    if of_text(model):
        levels = np.array([kind in ("bernoulli", "categorical", "ordinal") for kind in model.columns_.kinds])
        return _Frame(list(model.columns_.names), levels, partial(level_numbers, model.columns_.table))
    encodings = getattr(model, "encodings_", None) or {}
    if not hasattr(model, "layout_") or not is_frame(X) or len(encodings) != 1:
        return None
    (encoding,) = encodings.values()
    levels = np.array([column.kind in ("binary", "category") for column in encoding.columns])
    return _Frame([column.name for column in encoding.columns], levels, partial(level_numbers, encoding))


def _in_frame(entry: Entry, frame: _Frame) -> HiddenCells | None:
    """The same for a frame with levels as text: numbers by their error, levels by how many are right."""
    model, sample = entry.model, entry.sample
    assert sample is not None
    if not hasattr(sample.X, "iloc"):
        return None
    names, levels, values = frame.names, frame.levels, np.asarray(frame.numbers(sample.X))
    at = _looked_at(values, len(names))
    rows, gappy = values[at], sample.X.iloc[at].copy()
    hide = hide_some(rows)
    if hide.sum() < FEWEST:
        return None
    for j, name in enumerate(names):
        gappy[name] = gappy[name].mask(hide[:, j])
    given = beside(sample.given, at, len(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (answer, std), coded = model.impute(gappy, return_std=True, **given), gappy.copy()
        for name, of_levels in zip(names, levels, strict=True):
            coded[name] = answer[name] if of_levels else gappy[name]
        filled = np.asarray(frame.numbers(coded))
    for j in np.flatnonzero(~levels).tolist():  # an expected count is no count, which the model would refuse
        # cells that were not hidden stay as they are written, such as 14 %; a decimal comma is in those filled too
        filled[hide[:, j], j] = [float(str(cell).replace(",", ".")) for cell in answer[names[j]][hide[:, j]]]
    std = np.asarray(std[names] if hasattr(std, "columns") else std, dtype=np.float64)
    of_levels, of_numbers = hide & levels, hide & ~levels
    right = usual = error = coverage = float("nan")
    if of_levels.any():
        mode = np.array([_most_frequent(values[:, j]) for j in range(len(names))])
        right = float(np.mean(filled[of_levels] == rows[of_levels]))
        usual = float(np.mean(np.broadcast_to(mode, rows.shape)[of_levels] == rows[of_levels]))
    if of_numbers.any():
        spread, mean = np.nanstd(values, axis=0), np.nanmean(values, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        gaps, plain = (((guess - rows) / spread)[of_numbers] for guess in (filled, np.broadcast_to(mean, rows.shape)))
        error = float(np.sqrt(np.mean(gaps**2) / max(float(np.mean(plain**2)), 1e-300)))
        coverage = float(np.mean(np.abs(filled - rows)[of_numbers] <= 1.96 * std[of_numbers]))
    return HiddenCells(int(hide.sum()), error, coverage, right, usual)


def _most_frequent(column: np.ndarray) -> float:
    known, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    return float(known[np.argmax(counts)]) if len(known) else float("nan")
