"""Raw data frames of pandas or polars as numbers, and back: columns of text are levels, given by their number.

What each column holds is found by `latens.intake`; its encoding is learnt at the fit and applied to later frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from latens.array import Floats
from latens.errors import MissingCodes, OrderAssumed, UnusedColumns, warn
from latens.estimators.frames.drawn_frames import with_types
from latens.intake import Encoding, RawTable
from latens.intake.columns import KEPT, Column, times
from latens.intake.layouts import looks_long
from latens.intake.marks import FALSE_WORDS, MISSING_MARKS, NONE_WORDS, TRUE_WORDS, are_truths, plain_number
from latens.intake.numbers.later import format_of_later
from latens.intake.raw_table import as_read, declares_levels, is_enumeration, level_text, logged_columns, was_read
from latens.intake.treatment import Choices, tell_codes, tell_several_ways, treat, word_among_numbers
from latens.system.wording import listed

__all__ = [
    "as_frame",
    "in_types_of",
    "is_frame",
    "is_mixed_frame",
    "is_raw_frame",
    "learn_encoding",
    "level_numbers",
    "refilled",
    "refuse_lazy_frame",
    "refuse_repeated_names",
]

LEVEL_WORDS = ("categorical", "ordinal")  # likelihoods of levels
LEVEL_KINDS = {"binary": "bernoulli", "category": "categorical"}
WIDEST_MIXED = 100  # columns of numbers beyond which a frame is one assay, whose features may look different by chance


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars with one level of column names."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2:
        return getattr(X.columns, "nlevels", 1) == 1
    return hasattr(X, "schema") and hasattr(X, "to_numpy") and hasattr(X, "columns")


def refuse_lazy_frame(X: Any, name: str = "X") -> None:
    """A LazyFrame of polars is a plan for a table, of which nothing has been read."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "to_numpy"):
        raise TypeError(
            f"{name} is a LazyFrame, whose rows have not been read; give {name}.collect(), or, of numbers that do not "
            f"fit into memory, latens.scan({name})."
        )


def is_raw_frame(X: Any) -> bool:
    """Whether X is a data frame with a column that is no numbers, such as text, categories or dates."""
    if not is_frame(X):
        return False
    if logged_columns(X):
        return True  # numbers of which logarithms are to be taken
    if hasattr(X, "iloc"):
        return any(getattr(kind, "kind", "O") not in "fiub" or hasattr(kind, "categories") for kind in X.dtypes)
    return any(not kind.is_numeric() for kind in X.schema.values())


def is_mixed_frame(X: Any) -> bool:
    """Whether X is a data frame of columns of several kinds, rather than one table of like measurements.

    That is one with a column that is no numbers; or of at most 100 columns of numbers of which some hold only 0 and 1
    (or are of truth values) and others measurements: fractions, negative numbers, or numbers without a 0.
    """
    if is_raw_frame(X):
        return True
    if not is_frame(X) or not 1 < len(X.columns) <= WIDEST_MIXED:
        return False
    columns = [_numbers_of(X[name]) for name in X.columns]
    shown = [values[np.isfinite(values)] for values in columns]
    binary = [len(values) > 0 and set(np.unique(values)) == {0.0, 1.0} for values in shown]
    return any(binary) and any(map(_is_measured, shown))


def _numbers_of(series: Any) -> Floats:
    values = series.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(series, "iloc") else series.to_numpy()
    return np.asarray(values, dtype=np.float64)


def _is_measured(values: Floats) -> bool:
    """Whether a column cannot be counts, of which some are 0."""
    return len(values) > 0 and bool(values.min() != 0 or np.any(values != np.floor(values)))


def refuse_repeated_names(X: Any, name: str = "X") -> None:
    """Columns are told apart by their names in answers, files and pages."""
    columns = getattr(X, "columns", None)
    if columns is None or getattr(columns, "is_unique", True):  # polars has no such frames
        return
    twice = list(dict.fromkeys(str(each) for each in columns[columns.duplicated()]))
    raise ValueError(
        f"{name} has several columns called {listed(twice)}; give each a name of its own, or keep the first of each: "
        f"{name}.loc[:, ~{name}.columns.duplicated()]."
    )


def learn_encoding(X: Any, given: Any, *, in_stream: bool = False) -> tuple[Encoding, dict[str, str]]:
    """How the columns of a frame become numbers, and the kinds of columns of levels; warns of columns left out.

    Parameters
    ----------
    X : DataFrame
    given : dict of str to str, or anything else
        The caller's kinds: columns of text that are to be levels are taken as such, however many they have.
    in_stream : bool
        Whether later batches may show levels that the type of a column has and these rows do not.
    """
    refuse_repeated_names(X)
    if len(X) < 2:
        raise ValueError(f"X has {'one row' if len(X) else 'no rows'}; give at least two.")
    _refuse_infinite(X, X.columns)
    chosen = {str(name): kind for name, kind in given.items()} if isinstance(given, dict) else {}
    raw = RawTable.of_frame(X)
    if not was_read(X):
        _refuse_long(raw)
        for_all = dict.fromkeys(raw.names, given) if isinstance(given, str) else {}
        numbers = [name for name, kind in (chosen or for_all).items() if kind not in LEVEL_WORDS]
        raw = raw.with_codes_as_levels(X, but=numbers)
    texts = [name for name, values in zip(raw.names, raw.values, strict=True) if values.dtype == object]
    typed = raw.levels if in_stream else ()
    category = tuple(name for name in texts if chosen.get(name) in LEVEL_WORDS or name in typed)
    columns, _ = treat(raw, Choices(category=category, missing=() if was_read(X) else None, log1p=logged_columns(X)))
    columns = tuple(
        _as_chosen(column, chosen[column.name], column.name in texts) if column.name in chosen else column
        for column in columns
    )
    # notes may end with the option of the command line that keeps a column; in Python the warning says what does
    notes = {column.name: column.note.partition("; --")[0] for column in columns if not column.is_kept}
    out = [f"{column.name} ({notes[column.name] or column.kind})" for column in columns if not column.is_kept]
    used_columns = tuple(column for column in columns if column.is_kept)
    remedies = _remedies(X, raw, [column for column in columns if not column.is_kept], texts)
    if not used_columns:
        also = f" Or {', or '.join(remedies)}." if remedies else ""
        raise ValueError(
            f"no column of X can be used: {listed(out, 8, str)}. Give numbers, yes/no or categories.{also}"
        )
    if out:
        remedy = ", or ".join(["Drop them", *remedies])
        warn(UnusedColumns(f"{len(out)} column(s) are not used: {listed(out, 8, str)}.", f"{remedy}."))
    _tell_marks(X, used_columns)
    tell_codes(used_columns, "give the frame through latens.read(X, missing='none').frame")
    tell_several_ways(used_columns)
    types = {str(name): getattr(X[name], "dtype", None) for name in X.columns}
    scales = {name for name, kind in types.items() if getattr(kind, "ordered", False) or is_enumeration(kind)}
    kinds = {column.name: LEVEL_KINDS[column.kind] for column in used_columns if column.kind in LEVEL_KINDS}
    every = "ordinal" if given == "ordinal" else None
    steps = [column for column in used_columns if chosen.get(column.name, every) == "ordinal" and column.name in texts]
    _doubt_order(X, [column for column in steps if column.name not in scales], raw.levels)
    ordinal = {name: "ordinal" for name in scales if kinds.get(name) == "categorical"}
    return with_types(Encoding(used_columns), X), kinds | ordinal


def _refuse_long(raw: RawTable) -> None:
    if looks_long(raw):
        raise ValueError(
            f"X looks like a long table, one line per value ({', '.join(raw.names)}): fit "
            "latens.read(X, format='long') in its place, or latens.read(X, format='matrix') if each line is a sample."
        )


def _remedies(X: Any, raw: RawTable, unused: Sequence[Column], texts: Sequence[str]) -> list[str]:
    """What may be done with columns that cannot be used, beside leaving them out."""
    found = []
    lasting = next((column.name for column in unused if column.kind == "duration"), None)
    if lasting is not None:
        found.append(f"give durations as numbers of a unit: {_in_hours(X, lasting)}")
    words = [
        word
        for name, values in zip(raw.names, raw.values, strict=True)
        if name in {column.name for column in unused if column.kind == "text"}
        and (word := word_among_numbers(values)) is not None
    ]
    if words:
        named = list(dict.fromkeys(words))
        found.append(f"name words that mean missing: latens.read(X, missing={named!r}) in place of X")
    if any(column.kind == "text" for column in unused):
        found.append("give the kind of those that are categories: likelihoods={name: 'categorical'}")
    elif any(column.kind in ("counter", "id") and column.name not in texts for column in unused):
        found.append("give the kind of those that measure something: likelihoods={name: 'gaussian'}")
    return found


def _in_hours(X: Any, name: str) -> str:
    """The call that turns a column of durations into numbers."""
    of = f"X[{name!r}].dt"
    return f"{of}.total_seconds() / 3600" if hasattr(X, "iloc") else f"{of}.total_hours(fractional=True)"


def _as_chosen(column: Column, kind: Any, is_text: bool) -> Column:
    """A column whose kind the caller chose, which goes before what its values look like, where they allow it."""
    word = kind if isinstance(kind, str) else getattr(kind, "name", "")
    if column.kind in ("constant", "empty"):
        shows = "shows no value at all" if column.kind == "empty" else f"is {column.note}"
        needs = "a category needs two levels, so " if word in LEVEL_WORDS else ""
        raise ValueError(f"column {column.name!r} is to be {word} but {shows}; {needs}leave the column out.")
    if column.kind in ("date", "duration") or (is_text and column.kind in ("text", "id")):
        held = {"date": "dates", "duration": "durations"}.get(column.kind, "text")
        raise ValueError(
            f"column {column.name!r} is to be {word} but holds {held}; turn it into numbers, or leave the column out."
        )
    if column.kind in ("counter", "id"):
        return replace(column, kind="number", role=KEPT, note="")
    if column.kind == "binary" and word not in ("bernoulli", *LEVEL_WORDS):
        if any(plain_number(level) is None for level in column.levels):
            raise ValueError(
                f"column {column.name!r} holds {column.levels[0]!r} and {column.levels[1]!r} and cannot be {word}; "
                "choose 'bernoulli', or turn it into numbers."
            )
        return replace(column, kind="number", levels=())
    return column


def _refuse_infinite(X: Any, names: Sequence[Any]) -> None:
    """Infinities are no numbers of a model, in frames as in arrays."""
    for name in names:
        kind = X[name].dtype
        is_float = getattr(kind, "kind", "") == "f" if hasattr(X, "iloc") else kind.is_float()
        infinite = np.isinf(_numbers_of(X[name])) if is_float else np.zeros(0, dtype=bool)
        if infinite.any():
            raise ValueError(
                f"column {name!r} holds {int(infinite.sum())} infinite value(s), the first in row "
                f"{int(np.argmax(infinite))}; give numbers, or NaN where a value is missing."
            )


def _tell_marks(X: Any, columns: Sequence[Column]) -> None:
    """Warn of marks among levels that are taken as missing, and may be meant as a level, such as NA for Namibia."""
    own = {str(name): X[name] for name in X.columns}
    marked = []
    for column in columns:
        if column.kind not in LEVEL_KINDS or declares_levels(own[column.name].dtype):
            continue
        cells = Counter(cell.strip() for cell in own[column.name].to_list() if isinstance(cell, str))
        marked += [(column.name, mark, cells[mark]) for mark in MISSING_MARKS if mark and cells[mark]]
    if marked:
        name, mark, _ = marked[0]
        shown = [f"{name} ({mark!r}, {times(count)})" for name, mark, count in marked]
        as_type = "astype('category')" if hasattr(X, "iloc") else "cast(polars.Categorical)"
        warn(
            MissingCodes(
                f"marks that stand for no value are taken as missing, in {listed(shown, 8, str)}.",
                f"If they are a level, give it a name: X[{name!r}].replace({mark!r}, 'other'); or say by the type of "
                f"the column that all it holds are levels: X[{name!r}].{as_type}.",
            )
        )


def _doubt_order(X: Any, columns: Sequence[Column], declared: Mapping[str, Sequence[str]]) -> None:
    """Warn of words that are to be steps of a scale and have no order but that of the alphabet."""
    ordered = [
        column
        for column in columns
        if column.kind == "category" and not all(level[:1].isdigit() for level in column.levels)
        and list(declared.get(column.name, ())) in ([], sorted(column.levels))
    ]  # fmt: skip
    if ordered:
        name, levels = ordered[0].name, list(ordered[0].levels)
        shown = [f"{column.name} ({' < '.join(column.levels[:5])})" for column in ordered]
        given = f"pandas.Categorical(X[{name!r}], {levels!r}, ordered=True)"
        as_type = given if hasattr(X, "iloc") else f"X[{name!r}].cast(polars.Enum({levels!r}))"
        warn(
            OrderAssumed(
                f"levels of a scale are taken in the order of the alphabet, in {listed(shown, 4, str)}.",
                f"Give them in theirs: {as_type}, with the levels from low to high.",
            )
        )


def level_numbers(encoding: Encoding, X: Any) -> Floats:
    """(n, D), rows of a frame as numbers, NaN where missing: of a category the number of its level."""
    if not len(X):
        raise ValueError("X has no rows; give at least one.")
    own = {column.name for column in encoding.columns}
    _refuse_infinite(X, [name for name in X.columns if str(name) in own])
    encoded, columns, at = encoding.encode(X), [], 0
    for column in encoding.columns:
        width = len(column.encoded_names)
        block = encoded.matrix[:, at : at + width]
        if column.kind == "category":
            number = np.argmax(block, axis=1).astype(np.float64)
            number[~(block.max(axis=1) > 0)] = np.nan  # missing, or no level of the fit
            block = number[:, None]
        columns.append(block)
        at += width
    return np.concatenate(columns, axis=1)


def refilled(X: Any, encoding: Encoding, values: Floats, texts: Sequence[tuple[str, ...]]) -> Any:
    """A copy of a frame with its missing cells filled, in the types that its columns have.

    Numbers that are written as text, such as $3,750.00 or 12 %, are written like the others of their column.

    Parameters
    ----------
    values : array (n, D)
        Of the columns of the encoding; of levels, their number.
    texts : sequence of tuples of str
        Names of the levels by number; () for columns of numbers.
    """
    pandas = hasattr(X, "iloc")
    out = X.copy() if pandas else X.clone()
    keys = {str(key): key for key in X.columns}
    raw = dict(zip(keys, encoding.columns_as_read(X).values, strict=True))
    for column, numbers, names in zip(encoding.columns, values.T, texts, strict=True):
        if column.name not in keys:
            continue
        key, hole = keys[column.name], _holes(raw[column.name], column)
        if not hole.any():
            continue
        series, numbers = X[key], np.expm1(numbers) if column.log1p else numbers
        cells = _cells(series)
        known = next((cell for cell, is_missing in zip(cells, hole, strict=True) if not is_missing), None)
        written = None
        if not names and (isinstance(known, str) or (known is None and _holds_text(series.dtype))):
            shown = [cell for cell in cells if isinstance(cell, str)]
            written = format_of_later(shown, column.written, column.reading, column.is_written)
        if known is None and not _holds_text(series.dtype):
            known = _value_like(column.type)  # cells that are all missing do not tell of what type others are
        own = _values_by_name(series, cells, hole) if names else {}
        for i in np.flatnonzero(hole):
            cells[i] = _cell(numbers[i], names, known, own) if written is None else written.write(numbers[i])
        filled = _column_of(series, cells)
        if pandas:
            out[key] = filled
        else:
            out = out.with_columns(filled)
    return out


def _column_of(series: Any, cells: list[Any]) -> Any:
    """A column of the type of another; of that of its cells where the other cannot hold them.

    A column of words without any value arrives as one of numbers, all of them NaN.
    """
    if hasattr(series, "iloc"):
        try:
            return type(series)(cells, index=series.index, dtype=series.dtype)
        except (TypeError, ValueError):
            return type(series)(cells, index=series.index)
    try:
        return type(series)(series.name, cells, dtype=series.dtype)
    except TypeError:
        words = any(isinstance(cell, str) for cell in cells)  # polars has no cells of two types
        return type(series)(series.name, [level_text(cell) for cell in cells] if words else cells)


def as_frame(X: Any, encoding: Encoding, values: Floats) -> Any:
    """Numbers (n, D) of the columns of an encoding as a frame like X, of floats."""
    names = [column.name for column in encoding.columns]
    keys = {str(key): key for key in X.columns}
    if hasattr(X, "iloc"):
        return as_read(type(X)(values, index=X.index, columns=[keys.get(name, name) for name in names]))
    return type(X)(values, schema=names)


def in_types_of(X: Any, filled: Any) -> Any:
    """A frame of numbers that was filled, in the types of those of its columns that X has; what X shows is as it was.

    Whole numbers are rounded, and of truth values the more probable is taken.
    """
    pandas, columns = hasattr(X, "iloc"), {}
    for name in filled.columns:
        if name not in X.columns:
            columns[name] = filled[name]
            continue
        own, values = X[name], filled[name]
        hole = own.isna() if pandas else own.is_null() | (own.is_nan() if own.dtype.is_float() else False)
        if hole.any():
            kind = own.dtype.kind if pandas else "i" if own.dtype.is_integer() else "f"
            values = values > 0.5 if kind == "b" else values.round(0) if kind in "iu" else values
            values = values.astype(own.dtype) if pandas else values.cast(own.dtype)
            own = own.where(~hole, values) if pandas else values.zip_with(hole, own)
        columns[name] = own
    return type(X)(columns, index=X.index, columns=filled.columns) if pandas else type(X)(columns)


def _holes(values: Any, column: Column) -> Any:
    """(n,), whether a cell is missing, codes for missing included; a level that the fit did not see is there."""
    if values.dtype == object:
        none = NONE_WORDS if column.kind not in LEVEL_KINDS else ()
        return np.array([value is None or value in none for value in values])
    return np.isnan(values) | np.isin(values, column.codes)


def _cells(series: Any) -> list[Any]:
    """The values of a column; categories of pandas as its type has them, where `tolist` may turn 1 into 1.0."""
    if not hasattr(series, "iloc"):
        return list(series.to_list())
    if not hasattr(series.dtype, "categories"):
        return list(series.tolist())
    categories = list(series.dtype.categories)
    return [None if code < 0 else categories[code] for code in series.cat.codes]


def _holds_text(kind: Any) -> bool:
    """Whether cells of a column of this type can be text alone."""
    return str(kind).casefold() in ("str", "string", "utf8") or str(kind).startswith("string")


def _value_like(kind: str) -> Any:
    """A number of the type that a column of the fit had; None where that is another type, or not known.

    >>> _value_like("pandas int64"), _value_like("polars Boolean"), _value_like("pandas object str")
    (0, False, None)
    """
    word = kind.rpartition(" ")[2].casefold()
    values = {"int": 0, "uint": 0, "float": 0.0, "bool": False}
    return next((value for name, value in values.items() if word.startswith(name)), None)


def _values_by_name(series: Any, cells: Sequence[Any], hole: Any) -> dict[str, Any]:
    """What levels are in a column: intervals, tuples, bytes and the like are no text, and have one as their name."""
    values = getattr(series.dtype, "categories", None) if hasattr(series, "iloc") else None
    held = (
        [cell for cell, is_missing in zip(cells, hole, strict=True) if not is_missing]
        if values is None
        else list(values)
    )
    return {level_text(value): value for value in reversed(held)}


def _cell(number: float, names: tuple[str, ...], known: Any, own: Mapping[str, Any]) -> Any:
    """A value of the type that a column holds; `own` has those of its levels that it shows, or may hold."""
    if not names:
        if isinstance(known, Decimal):  # with as many digits after its point
            return Decimal(float(number)).quantize(known)
        if hasattr(known, "freq") and hasattr(known, "ordinal"):  # years as periods of pandas
            return type(known)(year=round(float(number)), freq=known.freq)
        return round(float(number)) if isinstance(known, int | np.integer) else float(number)
    name = names[int(np.clip(round(float(number)), 0, len(names) - 1))]
    if name in own:
        return own[name]
    if are_truths(names):  # in whatever words this column has them
        word = next((word for word in own if word.casefold() in (FALSE_WORDS, TRUE_WORDS)[names.index(name)]), None)
        if word is not None:
            return own[word]
        if isinstance(known, int | float | np.bool_):
            return type(known)(names.index(name))
    if isinstance(known, bool | np.bool_):
        return name.casefold() in TRUE_WORDS
    if isinstance(known, bytes):
        return name.encode()
    is_number = isinstance(known, int | float) and plain_number(name) is not None
    return type(known)(float(name)) if is_number else name
