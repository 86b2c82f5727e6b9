"""Exposures of samples, such as size factors: by how much more of a sample its counts are made of.

A count of a sample with exposure s has the mean s exp(eta). Rows of a wide table carry log s for each view that has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.frames.raw_frames import is_frame
from latens.estimators.multi_view.tables.row_names import align
from latens.estimators.multi_view.tables.wide import WideTable, tables_of
from latens.estimators.rows.exposures import (
    TOTAL,
    ask_for_exposures,
    column_aside,
    doubt_totals,
    exposure_numbers,
    log_exposures,
    row_totals,
    usual_counts,
)
from latens.intake import Intake
from latens.models.likelihoods.names import Kind
from latens.models.multi_view.view import exposure_of
from latens.system.wording import listed

__all__ = ["check_exposed", "exposure_aside", "with_exposure"]


def exposure_aside(X: Any, exposure: Any, *, expected: bool = False) -> tuple[Any, Any]:
    """A data frame without the column of exposures that is named, and that column; else both as they are.

    With `expected`, for a model of one table that was fitted with exposures, a frame without `exposure` is refused:
    else its column of exposures would be taken for a column of counts too many.
    """
    frame = X.frame if isinstance(X, Intake) else X
    if expected and exposure is None and is_frame(frame):
        raise ask_for_exposures("the model")
    if isinstance(exposure, str) and exposure != TOTAL and hasattr(frame, "columns") and not hasattr(frame, "obs"):
        return column_aside(frame, exposure)
    return X, exposure


def with_exposure(
    table: WideTable, exposure: Any, views: Any, kinds: Mapping[str, Kind], known: tuple[str, ...] | None = None
) -> WideTable:
    """The table with the exposures of its samples.

    Parameters
    ----------
    exposure : array (n,), dict of arrays by view, str or None
        Positive numbers, aligned by row name where both have names; the name of a column of `.obs`; or "total": the
        sum of a sample's counts in the view, told by those that it shows where others are missing.
    views : as given to `fit`
        Where `.obs` is found.
    kinds : dict of likelihoods or their classes
        Of each view: those of counts take exposures.
    known : tuple of str, optional
        Views whose exposures a fitted model expects; None at a fit.
    """
    counted = [view for view in table.layout.views if kinds[view].takes_exposure]
    if exposure is None:
        absent = [view for view in known or () if _is_shown(table, view)]
        if absent:
            raise ask_for_exposures(f"view {absent[0]!r}")
        given: dict[str, Any] = {}
    else:
        given = _by_view(exposure, views, counted)
    if known is not None and set(given) - set(known):
        raise ValueError("exposure was given, but the model was fitted without; leave it out.")
    names = tuple(name for name in table.layout.views if name in given) if known is None else known
    if not names:
        return table
    aux, usual = dict(table.rows.aux), dict(table.layout.usual_counts)
    for name in names:
        totals = isinstance(given.get(name), str)
        if known is None and totals:
            usual[name] = usual_counts(_part(table, name))
        elif totals and name not in usual:
            doubt_totals(f"view {name!r}")
        logs = _logs(name, given[name], table, usual.get(name, ())) if name in given else np.zeros(len(table.rows))
        aux[exposure_of(name)] = like(logs, table.rows.x)
    layout = replace(table.layout, exposed=names, usual_counts=usual)
    return replace(table, rows=replace(table.rows, aux=aux), layout=layout)


def _by_view(exposure: Any, views: Any, counted: list[str]) -> dict[str, Any]:
    if not counted:
        view = next(iter(map(str, tables_of(views))), "counts")
        raise ValueError(
            "exposure is for counts; no view is 'poisson' or 'negative-binomial'. Say which holds counts, such as "
            f"likelihoods={{{view!r}: 'poisson'}}, or leave exposure out."
        )
    if isinstance(exposure, Mapping):
        given = {str(name): values for name, values in exposure.items()}
        strange = [name for name in given if name not in counted]
        if strange:
            raise ValueError(f"exposure names {listed(strange)}; views of counts are {listed(counted)}.")
    else:
        given = dict.fromkeys(counted, exposure)
    return {
        name: _from_notes(name, values, views) if isinstance(values, str) and values != TOTAL else values
        for name, values in given.items()
    }


def _from_notes(view: str, column: str, views: Any) -> Any:
    """A column of `.obs`, of the view itself or of all views together."""
    modalities = getattr(views, "mod", {})  # of data frames it is a method
    holders: list[Any] = (
        [views.get(view)]
        if isinstance(views, Mapping)
        else [modalities.get(view) if isinstance(modalities, Mapping) else None, views]
    )
    for holder in holders:
        if column in getattr(getattr(holder, "obs", None), "columns", ()):
            return holder.obs[column]
    raise ValueError(f"exposure={column!r} is no column of .obs; give an array, a dict by view, or 'total'.")


def _is_shown(table: WideTable, view: str) -> bool:
    part = _part(table, view)
    return part.seen is None or bool(array_namespace(part.x).any(part.seen))


def _part(table: WideTable, view: str) -> Rows:
    return table.rows.columns(table.layout.bounds[table.layout.views.index(view)])


def _logs(view: str, values: Any, table: WideTable, usual: Sequence[float]) -> Floats:
    """(n,), logarithms of a view's exposures; 0 for samples that do not show it and have none."""
    part, n = _part(table, view), len(table.rows)
    shown = host(part.present) > 0
    if isinstance(values, str):
        numbers = row_totals(part, usual)
    else:
        numbers = exposure_numbers(align("exposure", values, table.row_names, n))
    if numbers.shape != (n,):
        raise ValueError(f"exposure of view {view!r} has shape {numbers.shape}; expected ({n},), one for each sample.")
    remedy = "leave the sample out" if isinstance(values, str) else "give positive numbers, or leave the sample out"
    return log_exposures(numbers, shown, remedy, f" of view {view!r}")


def check_exposed(kinds: Mapping[str, Kind], exposed: Sequence[str]) -> None:
    """Refuse exposures of views that are no counts."""
    other = [view for view in exposed if not kinds[view].takes_exposure]
    if other:
        raise ValueError(
            f"exposure is for counts; view {other[0]!r} is {kinds[other[0]].name}, so leave its exposure out."
        )
