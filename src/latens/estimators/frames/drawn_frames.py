"""Rows that a model draws as a data frame like that of the fit: its columns, types and categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latens.array import Floats
from latens.intake import Encoding
from latens.intake.columns import Column
from latens.intake.marks import is_absent
from latens.intake.numbers.format import ColumnFormat
from latens.intake.raw_table import level_text
from latens.system.optional_imports import require

__all__ = ["drawn_frame", "with_types"]

SEVERAL_TYPES = "of several types"
PREFIX_OF_ORDERED = "ordered "  # before the type of categories that have an order


def with_types(encoding: Encoding, X: Any) -> Encoding:
    """The encoding of a frame, whose columns know their types and categories."""
    series = {str(name): X[name] for name in X.columns}
    return replace(encoding, columns=tuple(_with_type(column, series[column.name]) for column in encoding.columns))


def _with_type(column: Column, series: Any) -> Column:
    kind, is_pandas = series.dtype, hasattr(series, "iloc")
    if not is_pandas:
        levels = getattr(kind, "categories", ()) if type(kind).__name__ == "Enum" else ()
        return replace(column, type=f"polars {str(kind).partition('(')[0]}", categories=tuple(map(str, levels)))
    if hasattr(kind, "categories"):
        word = f"pandas {PREFIX_OF_ORDERED if kind.ordered else ''}category {kind.categories.dtype}"
        return replace(column, type=word, categories=tuple(map(level_text, kind.categories)))
    if str(kind) != "object":
        return replace(column, type=f"pandas {kind}")
    kinds = {type(value).__name__ for value in series if not is_absent(value)}
    return replace(column, type=f"pandas object {kinds.pop() if len(kinds) == 1 else SEVERAL_TYPES}")


def drawn_frame(encoding: Encoding, values: Floats, texts: Sequence[tuple[str, ...]]) -> Any:
    """A frame of values (n, D) of the columns of an encoding; None where types are not known, as of a file's table.

    Parameters
    ----------
    values : array (n, D)
        Of levels, their number.
    texts : sequence of tuples of str
        Names of the levels by number; () for columns of numbers.

    Returns
    -------
    DataFrame or None
        Whole numbers are rounded. Numbers that the frame of the fit wrote as text, such as 12 %, are written so.
    """
    if not all(column.type for column in encoding.columns):
        return None
    library = encoding.columns[0].type.partition(" ")[0]
    build = _pandas_column if library == "pandas" else _polars_column
    frames = require(library, "frames")
    columns = {
        column.name: build(frames, column, [names[int(number)] for number in own] if names else _as_given(column, own))
        for column, own, names in zip(encoding.columns, values.T, texts, strict=True)
    }
    return frames.DataFrame(columns)


def _as_given(column: Column, values: Floats) -> Floats | list[str]:
    """Numbers of a column, of which models may take logarithms; as text where the frame of the fit had text."""
    numbers = np.expm1(values) if column.log1p else values
    if not column.written:
        return numbers
    written = ColumnFormat.of(column.written, column.reading)
    return [written.write(number) for number in numbers]


def _pandas_column(pandas: Any, column: Column, values: Any) -> Any:
    kind = column.type.partition(" ")[2]
    if column.categories:
        order, _, own = kind.rpartition("category ")
        read = partial(_interval, pandas) if own.startswith("interval") else _reader(own)
        categories = [read(level) for level in column.categories]
        return pandas.Categorical(
            [read(value) for value in values], categories=categories, ordered=order == PREFIX_OF_ORDERED
        )
    if kind.startswith("object "):
        return pandas.Series([_reader(kind)(value) for value in values], dtype=object)
    if isinstance(values, list) or _is_whole(kind):
        return pandas.Series([_reader(kind)(value) for value in values]).astype(kind)
    return pandas.Series(values).astype(kind if kind.casefold().startswith("float") else "float64")


def _polars_column(polars: Any, column: Column, values: Any) -> Any:
    kind = column.type.partition(" ")[2]
    if kind == "Enum":
        return polars.Series(column.name, list(values), dtype=polars.Enum(list(column.categories)))
    if isinstance(values, list) or _is_whole(kind):
        read = [_reader(kind)(value) for value in values]
        return polars.Series(column.name, read, dtype=getattr(polars, kind))
    return polars.Series(column.name, values, dtype=getattr(polars, kind if kind.startswith("Float") else "Float64"))


def _is_whole(kind: str) -> bool:
    return "int" in kind.casefold()


def _interval(pandas: Any, text: str) -> Any:
    """The interval that pandas writes as a text such as (0.5, 1.0]."""
    low, high = map(float, text[1:-1].split(","))
    sides = {(False, True): "right", (True, False): "left", (True, True): "both", (False, False): "neither"}
    return pandas.Interval(low, high, closed=sides[text.startswith("["), text.endswith("]")])


def _reader(kind: str) -> Callable[[Any], Any]:
    """What makes a value of a type from the name of a level, or from a number."""
    name = kind.casefold()
    if "bool" in name:
        return lambda value: str(value).casefold() in ("true", "1", "1.0")
    if "int" in name:
        return lambda value: round(float(value))
    if "float" in name:
        return float
    if "bytes" in name:
        return lambda value: str(value).encode()
    return lambda value: value
