"""Exposures of rows, such as size factors or months under watch: of how much more or less their counts are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows

__all__ = ["TOTAL", "ExposureColumn", "ask_for_exposures", "column_aside", "exposure_numbers", "log_exposures"]

TOTAL = "total"  # what a row shows of counts, summed up


def ask_for_exposures(whose: str) -> ValueError:
    """What to say where a model was fitted with exposures and none are given; `whose` it is, and what rows are called.

    >>> raise ask_for_exposures("the model")
    Traceback (most recent call last):
        ...
    ValueError: the model was fitted with exposures; pass exposure= for these rows too, as to fit: an array of positive
    numbers, the name of a column of X, or 'total'.
    """
    return ValueError(
        f"{whose} was fitted with exposures; pass exposure= for these rows too, as to fit: an array of positive "
        "numbers, the name of a column of X, or 'total'."
    )


def column_aside(X: Any, exposure: Any) -> tuple[Any, Any]:
    """A frame without the column of exposures that is named, and that column; else both as they are."""
    if not isinstance(exposure, str) or exposure == TOTAL:
        return X, exposure
    names = {str(name): name for name in getattr(X, "columns", ())}
    if exposure not in names:
        raise ValueError(
            f"exposure={exposure!r} is no column of X; give an array, the name of a column of a data frame, or 'total'."
        )
    return X[[name for text, name in names.items() if text != exposure]], X[names[exposure]]


def exposure_numbers(values: Any) -> Floats:
    """What the caller gave, as numbers."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("exposure holds values that are no numbers; give a positive number for each sample.") from None


def log_exposures(numbers: Floats, shown: Any, remedy: str, whose: str = "") -> Floats:
    """(n,), 0 for rows that show no counts and have no exposure; others must have one."""
    fine = np.isfinite(numbers) & (numbers > 0)
    if (shown & ~fine).any():
        row = int(np.flatnonzero(shown & ~fine)[0])
        raise ValueError(f"exposure{whose} is {numbers[row]:g} in row {row}; {remedy}.")
    return np.log(np.where(fine, numbers, 1.0))


@dataclass(frozen=True)
class ExposureColumn:
    """How a column of a scan becomes exposures of the rows of a block."""

    whose: str = ""

    def __call__(self, values: Any, rows: Rows) -> Floats:
        shown, remedy = host(rows.present) > 0, "each row of the column needs a positive number"
        return log_exposures(exposure_numbers(values), shown, remedy, self.whose).astype(rows.x.dtype)
