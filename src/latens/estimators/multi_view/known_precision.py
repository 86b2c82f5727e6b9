"""Precisions that the caller knows entry by entry, beside the views they belong to in the wide table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.multi_view.input_tables import listed
from latens.estimators.multi_view.row_names import align
from latens.estimators.multi_view.wide_table import Layout, WideTable

__all__ = ["with_precision"]


def with_precision(table: WideTable, precision: Mapping[str, Any] | None, known: tuple[str, ...] | None) -> WideTable:
    """The table with a column of precisions for each column of the views named in `precision`.

    Parameters
    ----------
    precision : dict of arrays (n, D_m), or None
        Positive numbers, 1 / variance of each entry's noise, aligned by row name where both have names.
    known : tuple of str, or None
        Views whose precisions a fitted model expects; None at a fit.
    """
    given = _checked(precision, table.layout)
    names = tuple(name for name in table.layout.views if name in given) if known is None else known
    if not names:
        if given:
            raise ValueError(f"precision names {listed(list(given))}, but the model was fitted without; leave it out.")
        return table
    layout, rows, xp = table.layout, table.rows, array_namespace(table.rows.x)
    columns, told = [], []  # precisions, and of which entries they are
    for name in names:
        part = rows.columns(layout.bounds[layout.views.index(name)])
        if name in given:
            numbers, fine = _values(name, given[name], part, table)
            columns.append(numbers)
            told.append(fine)
        elif part.seen is not None and not bool(xp.any(part.seen)):  # a view that is not there has no noise either
            columns.append(xp.ones_like(part.x))
            told.append(xp.zeros_like(part.seen))
        else:
            raise ValueError(f"view {name!r} was fitted with known precisions; pass precision={{{name!r}: ...}} too.")
    d = layout.n_columns
    x = xp.concat([rows.x[:, :d], *columns, rows.x[:, d:]], axis=1)
    seen = rows.seen
    if seen is not None:
        seen = xp.concat([seen[:, :d], *(xp.astype(part, seen.dtype) for part in told), seen[:, d:]], axis=1)
    return WideTable(Rows(x, seen, rows.weight), replace(layout, precise=names), table.row_names)


def _checked(precision: Any, layout: Layout) -> dict[str, Any]:
    if precision is None:
        return {}
    if not isinstance(precision, Mapping):
        raise ValueError(f"precision is a {type(precision).__name__}; give a dict from view to array of its shape.")
    given = {str(name): values for name, values in precision.items()}
    strange = [name for name in given if name not in layout.views]
    if strange:
        raise ValueError(f"precision names the view(s) {listed(strange)}; there are {listed(layout.views)}.")
    return given


def _values(name: str, values: Any, part: Rows, table: WideTable) -> tuple[Array, Array]:
    """(n, D_m), positive, and where it was told: a missing entry may do without, and has 1 here."""
    what = f"precision[{name!r}]"
    values = align(what, values, table.row_names, len(part))
    features = table.layout.features[table.layout.views.index(name)]
    if hasattr(values, "iloc") and set(map(str, values.columns)) == set(features):
        values = values.rename(columns=str)[list(features)]
    numbers: Floats = np.asarray(values, dtype=float)
    if numbers.shape != tuple(part.x.shape):
        raise ValueError(f"{what} has shape {numbers.shape}; expected {tuple(part.x.shape)}, that of the view.")
    there = np.ones(numbers.shape, dtype=bool) if part.seen is None else host(part.seen) > 0
    fine = np.isfinite(numbers) & (numbers > 0)
    if not fine[there].all():
        raise ValueError(f"{what} holds values that are not positive numbers where the view was observed.")
    return like(np.where(fine, numbers, 1.0), part.x), like(fine.astype(float), part.x) > 0
