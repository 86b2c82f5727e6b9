"""Precisions that the caller knows entry by entry, as the rows of a wide table carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.multi_view.tables.row_names import align
from latens.estimators.multi_view.tables.wide import Layout, WideTable
from latens.models.multi_view.view import precision_of
from latens.system.wording import listed

__all__ = ["with_precision"]


def with_precision(table: WideTable, precision: Mapping[str, Any] | None, known: tuple[str, ...] | None) -> WideTable:
    """The table with the precisions of all entries of the views named in `precision`.

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
    found = {}
    for name in names:
        part = rows.columns(layout.bounds[layout.views.index(name)])
        if name in given:
            found[precision_of(name)] = _values(name, given[name], part, table)
        elif part.seen is not None and not bool(xp.any(part.seen)):  # a view that is not there has no noise either
            found[precision_of(name)] = xp.zeros_like(part.x)
        else:
            raise ValueError(f"view {name!r} was fitted with known precisions; pass precision={{{name!r}: ...}} too.")
    return replace(table, rows=replace(rows, aux={**found, **rows.aux}), layout=replace(layout, precise=names))


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


def _values(name: str, values: Any, part: Rows, table: WideTable) -> Array:
    """(n, D_m), positive, or 0 where it is not known: a missing entry may do without."""
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
    return like(np.where(fine, numbers, 0.0), part.x)
