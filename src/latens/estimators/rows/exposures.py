"""Exposures of rows, such as size factors or months under watch: of how much more or less their counts are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows
from latens.errors import DoubtfulScale, warn

__all__ = [
    "TOTAL",
    "ExposureColumn",
    "ask_for_exposures",
    "column_aside",
    "doubt_totals",
    "exposure_numbers",
    "log_exposures",
    "row_totals",
    "usual_counts",
]

TOTAL = "total"  # what a row shows of counts, summed up
MOST_SWEEPS, LEAST_MOVE = 200, 1e-8  # over totals and counts in turn, and the relative move of totals that ends them


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


def doubt_totals(whose: str) -> None:
    """Warn where answers are asked for with totals, and the fit had exposures of another kind.

    Files of former versions do not say which kind theirs were.
    """
    warn(
        DoubtfulScale(
            f"{whose} was fitted with exposures that were given, and is asked with exposure='total': these are of one "
            "unit only if totals were what was given.",
            "Give exposures of these rows as to fit, or fit with exposure='total'.",
        )
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


def usual_counts(rows: Rows) -> tuple[float, ...]:
    """(D,), what a usual row counts in each column: the geometric mean of totals, dealt by the columns' shares.

    Where entries are missing, totals s_n and shares p_d find each other: counts are thought to be Poisson(s_n p_d),
    whose likelihood is highest where s_n = sum_d x_nd / sum_d p_d and p_d = sum_n x_nd / sum_n s_n over what is seen.

    >>> usual_counts(Rows(np.array([[90.0, 10.0], [9.0, 1.0], [0.0, 2.0]]), np.array([[1, 1], [1, 1], [0, 1]]) > 0))
    (24.0..., 2.7...)
    """
    weight = np.ones(len(rows)) if rows.weight is None else np.asarray(host(rows.weight), dtype=np.float64)
    x = np.asarray(host(rows.x), dtype=np.float64)
    seen = np.ones((1, x.shape[1])) if rows.seen is None else np.asarray(host(rows.seen), dtype=np.float64)
    counted = weight @ x + 0.5  # half an event, since nothing is known of a share of 0
    shares, totals = counted / counted.sum(), np.zeros(len(x))
    for _ in range(MOST_SWEEPS):
        before, totals = totals, x.sum(axis=1) / np.maximum(seen @ shares, np.finfo(float).tiny)
        if rows.seen is None or np.max(np.abs(totals - before) / np.maximum(totals, 1.0), initial=0.0) < LEAST_MOVE:
            break
        shares = counted / np.maximum((weight * totals) @ seen, np.finfo(float).tiny)
        shares /= shares.sum()
    some = (totals > 0) & (weight > 0)
    usual = np.exp(np.average(np.log(totals[some]), weights=weight[some])) if some.any() else 1.0
    return tuple(float(count) for count in usual * shares)


def row_totals(rows: Rows, usual: Sequence[float]) -> Floats:
    """(n,), sums of counts; where some are missing, what the sum of those shown says of that of all.

    `usual` counts of the columns (D,) say how much of a total those shown are; without them, () in files of former
    versions, columns are alike. A row that shows nothing has the usual total.
    """
    totals = np.asarray(host(array_namespace(rows.x).sum(rows.x, axis=1)), dtype=np.float64)
    if rows.seen is None:
        return totals
    known = np.asarray(usual if len(usual) else np.ones(rows.x.shape[1]), dtype=np.float64)
    shown = np.asarray(host(rows.seen), dtype=np.float64) @ known
    whole = np.asarray(host(rows.observed)) == rows.x.shape[1]
    scaled = np.where(
        shown > 0, totals * (known.sum() / np.where(shown > 0, shown, 1.0)), known.sum() * bool(len(usual))
    )
    return np.where(whole, totals, scaled)


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
