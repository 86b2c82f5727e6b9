"""Columns as they were read, before anyone asks what they are: numbers, text or dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.errors import TableRefused
from latens.intake.marks import NONE_WORDS, are_codes, is_absent, is_missing_mark, plain_number

__all__ = [
    "RawTable",
    "Values",
    "as_read",
    "declares_levels",
    "is_enumeration",
    "level_text",
    "logged_columns",
    "was_read",
]

READ, LOGS = "read by latens", "log1p"  # entries of the attrs of frames
Values = NDArray[Any]  # float64 with NaN, objects (str or None), or datetime64


@dataclass(frozen=True, eq=False)
class RawTable:
    """Names and values of the columns of a table.

    Parameters
    ----------
    names : tuple of str
    values : tuple of arrays (n,)
        float64 with NaN for missing; objects that are text, or None for missing; or datetime64.
    levels : dict of tuples
        Levels that the table itself declares for a column, in their order.
    row_names : tuple of str, optional
        Names of the rows that are no column of the table, such as the index of a data frame.
    row_name_column : str, optional
        The column that is known to name the rows.
    units, notes
        Units of columns by name, and what was found out about the file as a whole.
    known : dict of arrays
        What else the file says of the rows, such as `.obs` of AnnData; no columns of the table.
    """

    names: tuple[str, ...]
    values: tuple[Values, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    row_names: tuple[str, ...] | None = None
    row_name_column: str | None = None
    decimal: str = "."
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    known: Mapping[str, Values] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(self.values[0]) if self.values else 0

    @classmethod
    def of_frame(cls, frame: Any, fitted: Mapping[str, Collection[str]] | None = None, **more: Any) -> RawTable:
        """The columns of a data frame of pandas or polars.

        `fitted` are the levels of a fit by column: text that is one of them is no mark of a missing value.
        """
        fitted = fitted or {}
        names = tuple(map(str, frame.columns))
        levels: dict[str, tuple[str, ...]] = {}
        if not hasattr(frame, "iloc"):
            for name in frame.columns:
                if is_enumeration(frame[name].dtype):
                    levels[str(name)] = _named(map(level_text, frame[name].dtype.categories.to_list()))
            return cls(
                names,
                tuple(_polars_values(frame[name], fitted.get(str(name), ())) for name in frame.columns),
                levels,
                **more,
            )
        values = _frame_values(frame, names, levels, fitted)
        own = getattr(frame.index, "start", None) != 0 or getattr(frame.index, "step", None) != 1
        return cls(names, values, levels, tuple(map(str, frame.index)) if own else None, **more)

    def with_codes_as_levels(self, frame: Any, but: Collection[str] = ()) -> RawTable:
        """Its columns of text that hold a few whole numbers and nothing else as levels, but for some.

        In a data frame that has columns of numbers, somebody made them text, to say that they are names of levels;
        where all is text, or marks of missing values are among them, nobody did.
        """
        if not any(values.dtype.kind == "f" for values in self.values):
            return self
        found = dict(self.levels)
        for name, values, own in zip(self.names, self.values, frame.columns, strict=True):
            if values.dtype != object or name in found or name in but:
                continue
            cells = {value for value in values if value is not None}
            if are_codes(cells) and not any(isinstance(cell, str) and is_missing_mark(cell) for cell in frame[own]):
                found[name] = tuple(sorted(cells, key=float))
        return replace(self, levels=found)

    def holds(self, word: str) -> bool:
        """Whether any cell is this word, whatever its case, or this number."""
        number, folded = plain_number(word), word.casefold()
        return any(
            any(text is not None and text.casefold() == folded for text in values)
            if values.dtype == object
            else number is not None and values.dtype.kind == "f" and bool((values == number).any())
            for values in self.values
        )

    def without(self, words: Collection[str]) -> tuple[RawTable, dict[str, Counter[str]]]:
        """The table with None where a cell of text is one of these words, whatever its case; and how often, by column.

        >>> raw = RawTable(("a",), (np.array(["yes", "Refused", "no"], dtype=object),))
        >>> [values.tolist() for values in raw.without(["refused"])[0].values]
        [['yes', None, 'no']]
        """
        folded = {word.casefold() for word in words}
        values, missing_counts = list(self.values), {}
        for j, column in enumerate(self.values if folded else ()):
            if column.dtype == object:
                hits = [text is not None and text.casefold() in folded for text in column]
                if any(hits):
                    missing_counts[self.names[j]] = Counter(
                        text.casefold() for text, hit in zip(column, hits, strict=True) if hit
                    )
                    values[j] = column.copy()
                    values[j][hits] = None
        levels_left = {
            name: tuple(level for level in levels if level.casefold() not in folded)
            for name, levels in self.levels.items()
        }
        return replace(self, values=tuple(values), levels=levels_left), missing_counts

    def transposed(self) -> RawTable:
        """Rows for columns: the first column of text, if there is one, names the new columns."""
        named = [j for j, values in enumerate(self.values) if values.dtype == object]
        others = [j for j in range(len(self.names)) if j not in named]
        if len(named) > 1 or not others:
            texts = ", ".join(repr(self.names[j]) for j in named)
            raise TableRefused(
                f"a table to be transposed has names in one column and numbers in the others; {texts} hold text. "
                "Leave the others out: --drop NAME (drop=[...] in Python)."
            )
        matrix = np.column_stack([self.values[j] for j in others])
        names = self.row_names or tuple(f"x{i}" for i in range(len(matrix)))
        if named:
            names = tuple(str(name) for name in self.values[named[0]])
        return RawTable(
            _distinct(names), tuple(matrix), row_names=tuple(self.names[j] for j in others),
            notes=(*self.notes, "transposed"),
        )  # fmt: skip


def as_read(frame: Any, log1p: Collection[str] = ()) -> Any:
    """A pandas frame marked as one whose codes for missing were taken out, so that none are looked for again.

    `log1p` are columns of which log(1 + value) is to be taken.
    """
    frame.attrs[READ] = True
    if log1p:
        frame.attrs[LOGS] = list(log1p)
    return frame


def logged_columns(frame: Any) -> tuple[str, ...]:
    """Columns of a frame that `latens.read` made of which log(1 + value) was asked for."""
    return tuple(getattr(frame, "attrs", {}).get(LOGS, ()))


def was_read(frame: Any) -> bool:
    """Whether `latens.read` made a frame."""
    return bool(getattr(frame, "attrs", {}).get(READ, False))


def is_enumeration(kind: Any) -> bool:
    """Whether a type of polars has its levels in an order that was given: Categorical has forgotten it."""
    return type(kind).__name__ == "Enum" and hasattr(kind, "categories")


def declares_levels(kind: Any) -> bool:
    """Whether the type of a column of pandas or polars says that its values are levels, whatever they are called."""
    return hasattr(kind, "categories") or type(kind).__name__ == "Categorical"


def level_text(value: Any) -> str:
    """A value as the name of a level or row: whole numbers without a point, days without the time of day.

    >>> level_text(3.0), level_text(" yes "), level_text(True), level_text(np.datetime64("2024-03-01T00:00"))
    ('3', 'yes', 'True', '2024-03-01')
    """
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="s")).removesuffix("T00:00:00").replace("T", " ")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip()


def _frame_values(
    frame: Any, names: Sequence[str], levels: dict[str, tuple[str, ...]], fitted: Mapping[str, Collection[str]]
) -> tuple[Values, ...]:
    """Columns of a pandas frame; those of plain numbers are taken all at once."""
    kinds = list(frame.dtypes)
    plain = [j for j, kind in enumerate(kinds) if isinstance(kind, np.dtype) and kind.kind in "fiu"]
    out: list[Any] = [None] * len(kinds)
    if plain:
        block = np.asfortranarray(frame.iloc[:, plain].to_numpy(dtype=np.float64))
        for at, j in enumerate(plain):
            out[j] = block[:, at]
    for j, kind in enumerate(kinds):
        if out[j] is not None:
            continue
        series = frame.iloc[:, j]
        if hasattr(kind, "categories"):
            texts = [level_text(value) or None for value in kind.categories]
            levels[names[j]] = _named(texts)
            # by their codes: `tolist` has other values than the type where pandas turns 1 into 1.0 for the sake of NaN
            out[j] = np.array([*texts, None], dtype=object)[series.cat.codes.to_numpy()]
        elif getattr(kind, "kind", "") == "M":
            out[j] = series.to_numpy(dtype="M8[ns]", na_value=np.datetime64("NaT"))
        elif getattr(kind, "kind", "") == "m":
            out[j] = series.to_numpy(dtype="m8[ns]", na_value=np.timedelta64("NaT"))
        elif getattr(kind, "kind", "") in "fiu":
            out[j] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            out[j] = _objects(series.tolist(), fitted.get(names[j], ()))
    return tuple(out)


def _polars_values(series: Any, fitted: Collection[str]) -> Values:
    """A column of a polars frame; what its type calls a level is one, even NA."""
    cells = series.to_list()
    if not declares_levels(series.dtype):
        return _objects(cells, fitted)
    return np.array([None if cell is None else level_text(cell) or None for cell in cells], dtype=object)


def _named(levels: Iterable[str | None]) -> tuple[str, ...]:
    """Levels but for empty text, which says that there is no value."""
    return tuple(level for level in levels if level)


def _objects(values: Sequence[Any], fitted: Collection[str] = ()) -> Values:
    """Values of any types: numbers where all are, else text with None for what is missing and no level of the fit."""
    absent = [is_absent(value) for value in values]
    known = [value for value, is_missing in zip(values, absent, strict=True) if not is_missing]
    if known and all(isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_) for value in known):
        return np.array(
            [np.nan if is_missing else float(value) for value, is_missing in zip(values, absent, strict=True)]
        )
    if known and all(hasattr(value, "isoformat") for value in known):
        texts = ["NaT" if is_missing else value.isoformat() for value, is_missing in zip(values, absent, strict=True)]
        try:
            return np.array(texts, dtype="M8[ns]")
        except ValueError:
            pass  # times of day, or with time zones
    if known and all(isinstance(value, timedelta) for value in known):
        return np.array(
            ["NaT" if is_missing else value for value, is_missing in zip(values, absent, strict=True)], dtype="m8[ns]"
        )
    no_marks = {*NONE_WORDS, *fitted}
    out = np.empty(len(values), dtype=object)
    for i, (value, is_missing) in enumerate(zip(values, absent, strict=True)):
        text = None if is_missing else level_text(value)
        out[i] = None if text is None or (is_missing_mark(text) and text not in no_marks) else text
    return out


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names made unique by a number."""
    counts: dict[str, int] = {}
    out = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        out.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return tuple(out)
