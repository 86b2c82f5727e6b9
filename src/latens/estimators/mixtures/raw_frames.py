"""Raw data frames of pandas or polars as numbers, and back: columns of text are levels, given by their number.

What each column holds is found by `latens.intake`; its encoding is learnt at the fit and applied to later frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.errors import UnusedColumns, warn
from latens.intake import Encoding, RawTable
from latens.intake.treatment import Choices, treat

__all__ = ["is_raw_frame", "learn_encoding", "level_numbers", "refilled"]

LEVEL_KINDS = {"binary": "bernoulli", "category": "categorical"}


def is_raw_frame(X: Any) -> bool:
    """Whether X is a data frame with a column that is no numbers, such as text, categories or dates."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2:
        return any(getattr(kind, "kind", "O") not in "fiub" or hasattr(kind, "categories") for kind in X.dtypes)
    if hasattr(X, "schema") and hasattr(X, "to_numpy") and hasattr(X, "columns"):
        return any(not kind.is_numeric() for kind in X.schema.values())
    return False


def learn_encoding(X: Any, given: Any) -> tuple[Encoding, dict[str, str]]:
    """How the columns of a frame become numbers, and the kinds of those that say it; columns left out are named.

    Parameters
    ----------
    X : DataFrame
    given : dict of str to str, or anything else
        The caller's kinds: columns of text that are to be levels are taken as such, however many they have.
    """
    raw = RawTable.of_frame(X)
    chosen = given if isinstance(given, dict) else {}
    texts = [name for name, values in zip(raw.names, raw.values, strict=True) if values.dtype == object]
    category = tuple(name for name in texts if chosen.get(name) in ("categorical", "ordinal"))
    columns, _ = treat(raw, Choices(category=category))
    out = [f"{column.name} ({column.note or column.kind})" for column in columns if not column.is_kept]
    if out:
        more = f" and {len(out) - 8} more" if len(out) > 8 else ""
        warn(
            UnusedColumns(
                f"{len(out)} column(s) are not used: {', '.join(out[:8])}{more}.",
                "Drop them, or give the kind of those that are categories: likelihoods={name: 'categorical'}.",
            )
        )
    kept = tuple(column for column in columns if column.is_kept)
    if not kept:
        raise ValueError(f"no column of X can be used: {', '.join(out[:8])}. Give numbers, yes/no or categories.")
    scales = {str(name) for name in X.columns if getattr(getattr(X[name], "dtype", None), "ordered", False)}
    kinds = {column.name: LEVEL_KINDS[column.kind] for column in kept if column.kind in LEVEL_KINDS}
    return Encoding(kept), kinds | {name: "ordinal" for name in scales if kinds.get(name) == "categorical"}


def level_numbers(encoding: Encoding, X: Any) -> Floats:
    """(n, D), rows of a frame as numbers, NaN where missing: of a category the number of its level."""
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


def refilled(X: Any, encoding: Encoding, values: Floats, texts: list[tuple[str, ...]]) -> Any:
    """A copy of a frame with its missing cells filled, in the types that its columns have.

    Parameters
    ----------
    values : array (n, D)
        Of the columns of the encoding; of levels, their number.
    texts : list of tuples of str
        Names of the levels by number; () for columns of numbers.
    """
    pandas = hasattr(X, "iloc")
    out = X.copy() if pandas else X.clone()
    for column, numbers, names in zip(encoding.columns, values.T, texts, strict=True):
        if column.name not in map(str, X.columns):
            continue
        key = next(key for key in X.columns if str(key) == column.name)
        series = X[key]
        hole = np.asarray(series.isna() if pandas else series.is_null().to_numpy())
        if not hole.any():
            continue
        cells = series.tolist() if pandas else series.to_list()
        known = next((cell for cell, gone in zip(cells, hole, strict=True) if not gone), None)
        for i in np.flatnonzero(hole):
            cells[i] = _cell(numbers[i], names, known)
        if pandas:
            out[key] = type(series)(cells, index=series.index, dtype=series.dtype)
        else:
            out = out.with_columns(type(series)(key, cells, dtype=series.dtype))
    return out


def _cell(number: float, names: tuple[str, ...], known: Any) -> Any:
    """A value of the type that a column holds."""
    if not names:
        return round(float(number)) if isinstance(known, int | np.integer) else float(number)
    name = names[int(np.clip(round(float(number)), 0, len(names) - 1))]
    if isinstance(known, bool | np.bool_):
        return name.casefold() in ("true", "1")
    return type(known)(float(name)) if isinstance(known, int | float) else name
