"""Which factors go with what is known about the rows: age, sex, batch, outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from scipy import stats

from latens.array import Floats
from latens.estimators.associations.written_numbers import has_levels, read_texts
from latens.estimators.effect_intervals import correlation_ends, rank_share_ends
from latens.estimators.frames.row_labels import are_counted, is_labelled, places_of_rows
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["as_date", "as_numbers", "associate", "holds_dates", "metadata_columns"]

FEWEST_ROWS = 3  # rows in which a test means anything
NO_EFFECT = (0.0, 1.0, np.nan, np.nan)  # effect, p and the ends of its interval where nothing can be tested


def associate(
    scores: Floats,
    factor_names: Sequence[str],
    metadata: Any,
    row_names: Sequence[str] | None = None,
) -> Table:
    """Test each factor against each column of metadata.

    Parameters
    ----------
    scores : array of shape (n, K)
    factor_names : sequence of str
    metadata : data frame, Series, dict of arrays or structured array
        One entry per row of `scores`; a frame with row names is matched by them where `row_names` are given, and rows
        it lacks are left out; names that only count rows, where both sides count the same ones. Numbers are tested by
        Pearson's correlation, labels (and numbers of two values) by the Kruskal-Wallis test, whose effect is eta
        squared. Missing values are left out column by column. Text that holds numbers, such as $1,000.00, is numbers.
    row_names : sequence of str, optional
        Of the rows of `scores`.

    Returns
    -------
    Table
        factor, column, test, effect, p, adjusted p (Benjamini-Hochberg over all tests), n, and low and high, the ends
        of the effect's 95 % interval (NaN where rows are too few to tell), the smallest adjusted p first. A column that
        does not vary, or differs in every row, has effect 0 and p 1, and is none of the tests.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.arange(12.0)[:, None]
    >>> table = associate(z, ["growth"], {"age": 40 + 2 * z[:, 0], "sex": ["f", "m"] * 6})
    >>> table["column"], table["test"]
    (['age', 'sex'], ['Pearson', 'Kruskal-Wallis'])
    """
    scores = np.asarray(scores, dtype=np.float64)
    rows = []
    described = metadata_columns(metadata, len(scores), row_names)
    if not described:
        raise ValueError("metadata has no columns; give at least one.")
    for column, values in described.items():
        numbers = as_numbers(values)
        known = [value is not None for value in values] if numbers is None else np.isfinite(numbers)
        keep = np.flatnonzero(known)
        for name, z in zip(factor_names, scores.T, strict=True):
            if numbers is None:
                test, found = "Kruskal-Wallis", _kruskal(z[keep], [str(values[i]) for i in keep])
            else:
                test, found = "Pearson", _pearson(z[keep], numbers[keep])
            effect, p, low, high = found
            rows.append((str(name), column, test, effect, p, len(keep), low, high))
    adjusted = np.array([row[4] for row in rows])
    tested = [i for i, row in enumerate(rows) if (row[3], row[4]) != NO_EFFECT[:2]]
    if tested:  # columns that cannot be tested are no tests that might have been lucky
        adjusted[tested] = stats.false_discovery_control(adjusted[tested])
    order = sorted(range(len(rows)), key=lambda i: (adjusted[i], rows[i][4], -abs(rows[i][3])))
    columns = ("factor", "column", "test", "effect", "p", "adjusted p", "n", "low", "high")
    return Table(columns, tuple((*rows[i][:5], float(adjusted[i]), *rows[i][5:]) for i in order))


def _pearson(z: Floats, x: Floats) -> tuple[float, float, float, float]:
    """The correlation, its p, and the ends of its interval."""
    if len(z) < FEWEST_ROWS or not _varies(z) or not _varies(x):
        return NO_EFFECT
    found = stats.pearsonr(z, x / np.max(np.abs(x)))
    effect = float(found.statistic)
    return effect, float(found.pvalue), *correlation_ends(effect, len(z))


def _kruskal(z: Floats, labels: list[str]) -> tuple[float, float, float, float]:
    """Eta squared of the ranks, the test's p, and the ends of the interval of eta squared."""
    levels = sorted(set(labels))
    if len(z) < FEWEST_ROWS or not 1 < len(levels) < len(z) or not _varies(z):
        return NO_EFFECT
    place = {level: i for i, level in enumerate(levels)}
    which = np.array([place[label] for label in labels])
    found = stats.kruskal(*(z[which == level] for level in range(len(levels))))
    statistic = float(found.statistic)
    effect = max((statistic - len(levels) + 1) / (len(z) - len(levels)), 0.0)
    return effect, float(found.pvalue), *rank_share_ends(z, which, statistic)


def _varies(x: Floats) -> bool:
    return float(np.ptp(x)) > 1e-12 * float(np.max(np.abs(x)))


def metadata_columns(
    metadata: Any,
    n: int,
    row_names: Sequence[str] | None,
    what: str = "metadata",
    *,
    may_lack: bool = True,
    reads_text: bool = True,
) -> dict[str, list[Any]]:
    """Values of each column of metadata, one for each of n rows, None where missing.

    `what` it is called in errors, and whether it may lack rows: they are missing then. Numbers that are written as
    text, such as $1,000.00, are numbers where `reads_text`.
    """
    if hasattr(metadata, "to_frame") and hasattr(metadata, "dtype"):  # a Series is one column
        metadata = metadata.to_frame(metadata.name or what)
    if hasattr(metadata, "iloc") and hasattr(metadata, "columns"):
        at = _places(metadata.index, row_names, what, may_lack)
        found = {name: _placed(metadata[name], at) for name in metadata.columns}
    elif isinstance(metadata, Mapping):
        found = {
            name: _placed(values, _places(values.index, row_names, what, may_lack) if is_labelled(values) else None)
            for name, values in metadata.items()
        }
    elif hasattr(metadata, "columns") and hasattr(metadata, "schema"):
        found = {name: metadata[name].to_list() for name in metadata.columns}
    elif getattr(getattr(metadata, "dtype", None), "names", None):
        found = {name: list(metadata[name]) for name in metadata.dtype.names}
    else:
        raise ValueError(
            f"{what} is a {type(metadata).__name__}; give a data frame, a dict of columns, a Series or a "
            "structured array."
        )
    for name, values in found.items():
        if len(values) != n:
            raise ValueError(
                f"column {str(name)!r} of {what} has {len(values)} entries for {n} rows; give one for each row, or a "
                "data frame with row names."
            )
    columns = {name: [None if _is_missing(value) else value for value in values] for name, values in found.items()}
    if reads_text:
        columns = {
            name: values if has_levels(metadata[name]) else read_texts(str(name), values, what)
            for name, values in columns.items()
        }
    return {str(name): values for name, values in columns.items()}


def _placed(values: Any, at: Sequence[int] | None) -> list[Any]:
    """Values of a column, those at these places, None where a row has none; all as they are where `at` is None."""
    entries = list(values)
    return entries if at is None else [None if i < 0 else entries[i] for i in at]


def _places(index: Any, row_names: Sequence[str] | None, what: str, may_lack: bool) -> Sequence[int] | None:
    """Where each row stands in a frame, -1 where it does not; None where rows are matched by place."""
    names = [str(name) for name in index]
    if row_names is None:
        return None
    may_lack = may_lack or len(names) < len(row_names)  # how many are missing is said by whoever needs all
    places = places_of_rows(what, names, row_names, may_lack=may_lack)
    no_name_shared = places is None and not set(names) & set(row_names)
    if no_name_shared and not (len(names) == len(row_names) and (are_counted(row_names) or are_counted(names))):
        raise ValueError(
            f"{what} and the model have no row name in common: {listed(names, 2)}, against "
            f"{listed(list(row_names), 2)}. Names of rows are in its first column, in Python in its index."
        )
    return places


def as_numbers(values: list[Any]) -> Floats | None:
    """(n,), NaN where missing; None where the values are labels, or take only two values."""
    there = {value for value in values if value is not None}
    if any(isinstance(value, str | bytes | bool | np.bool_) for value in there) or len(there) <= 2:
        return None
    try:
        return np.array([np.nan if value is None else _number(value) for value in values])
    except (TypeError, ValueError):
        return None


def _number(value: Any) -> float:
    """A number, or the seconds of a date since 1970, in UTC."""
    if not isinstance(value, date | np.datetime64):
        return float(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float((np.datetime64(value) - np.datetime64(0, "s")) / np.timedelta64(1, "s"))


def holds_dates(values: list[Any]) -> bool:
    """Whether the values that are there are dates."""
    there = [value for value in values if value is not None]
    return bool(there) and all(isinstance(value, date | np.datetime64) for value in there)


def as_date(seconds: float) -> np.datetime64:
    """The date so many seconds after 1970; NaT of NaN.

    >>> print(as_date(86_400.2))
    1970-01-02T00:00:00
    """
    return np.datetime64(round(seconds), "s") if np.isfinite(seconds) else np.datetime64("NaT", "s")


def _is_missing(value: Any) -> bool:
    return value is None or bool(str(value) in ("nan", "<NA>", "NaT", "None", ""))
