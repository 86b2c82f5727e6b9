"""How well a model fills cells that are hidden from it, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latens.diagnose.hidden_entries import SHARE, MixedFrame, comparable, filled_rows, hide_some, mixed_frame
from latens.report.measures.sample import beside

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["FEWEST_CELLS", "MOST_ROUNDS", "HiddenCells", "hidden_cells"]

MOST_ROWS, MOST_COLUMNS_JOINT = 200, 40  # rows that are hidden in; columns whose covariances are inverted row by row
MOST_ENTRIES = 400_000
FEWEST_CELLS = 100  # hidden cells that say something
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
    n_numbers : int
        How many of the cells `error` and `coverage` are about.
    """

    n: int
    error: float
    coverage: float
    right: float = float("nan")
    usual: float = float("nan")
    n_numbers: int = 0

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
    frame = mixed_frame(model, sample.X)
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
    if hide.sum() < FEWEST_CELLS:
        return None
    filled = filled_rows(model, np.where(hide, np.nan, rows), given)
    if filled is None:
        return None
    mean, std = filled
    spread = np.where(sample.spread > 0, sample.spread, 1.0)
    usual = np.nan_to_num(sample.means)
    error, plain = (((guess - rows) / spread)[hide] for guess in (mean, np.broadcast_to(usual, rows.shape)))
    inside = np.abs(mean - rows)[hide] <= 1.96 * std[hide]
    coverage = float("nan") if entry.binary or not np.any(std[hide] > 0) else float(np.mean(inside))
    n, ratio = int(hide.sum()), float(np.sqrt(np.mean(error**2) / np.mean(plain**2)))
    return HiddenCells(n, ratio, coverage, n_numbers=n)


def _looked_at(values: np.ndarray, d: int) -> np.ndarray:
    """Places of rows, spread evenly, in which enough cells of d columns can be hidden; few rows come several times."""
    wanted = max(MOST_ROWS, int(1.5 * FEWEST_CELLS / (SHARE * max(d, 1))))
    most = min(len(values) * MOST_ROUNDS, max(MOST_ENTRIES // values.shape[1], 20))
    n = int(min(wanted, most))
    if n > len(values):
        return np.resize(np.arange(len(values)), n)
    return np.linspace(0, len(values) - 1, n).round().astype(int)


def _in_frame(entry: Entry, frame: MixedFrame) -> HiddenCells | None:
    """The same for a frame with levels as text: numbers by their error, levels by how many are right."""
    model, sample = entry.model, entry.sample
    assert sample is not None
    if not hasattr(sample.X, "iloc"):
        return None
    names, levels, values = frame.names, frame.levels, np.asarray(frame.numbers(sample.X))
    at = _looked_at(values, len(names))
    rows = values[at]
    hide = hide_some(rows)
    if hide.sum() < FEWEST_CELLS:
        return None
    filled, std = frame.filled(model, sample.X.iloc[at], hide, beside(sample.given, at, len(values)))
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
    return HiddenCells(int(hide.sum()), error, coverage, right, usual, int(of_numbers.sum()))


def _most_frequent(column: np.ndarray) -> float:
    known, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    return float(known[np.argmax(counts)]) if len(known) else float("nan")
