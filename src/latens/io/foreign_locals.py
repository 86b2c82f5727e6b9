"""Local posteriors of rows that another library holds, such as torch: of NumPy in files, and like the rows in fits.

A search on a sample works on the host and on all rows where they are, so that one journal may hold both kinds: those
that are to go back are marked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from latens.array.fields import record
from latens.array.transfer import of_library, to_numpy
from latens.core import State

__all__ = ["ForeignLocal", "for_file", "for_fit"]


@record
class ForeignLocal:
    """A local posterior whose arrays were those of another library."""

    local: Any


def for_file(state: State) -> State:
    """The state with arrays of NumPy alone."""
    return _with_locals(state, lambda local: ForeignLocal(_changed(local, to_numpy)) if _is_foreign(local) else local)


def for_fit(state: State, rows: Any) -> State:
    """The state as a fit of these rows has it; rows of NumPy if None."""

    def back(local: Any) -> Any:
        if not isinstance(local, ForeignLocal):
            return local
        return local.local if rows is None else _changed(local.local, lambda values: of_library(values, rows))

    return _with_locals(state, back)


def _with_locals(state: State, change: Callable[[Any], Any]) -> State:
    return state if state.locals is None else replace(state, locals=tuple(map(change, state.locals)))


def _is_foreign(local: Any) -> bool:
    found = list[bool]()
    _changed(local, lambda values: found.append(not isinstance(values, np.ndarray)))
    return any(found)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with each array within it changed."""
    if is_array_api_obj(value):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _changed(getattr(value, f.name), change) for f in fields(value) if f.init})
    if isinstance(value, list | tuple):
        return type(value)(_changed(entry, change) for entry in value)
    if isinstance(value, dict):
        return {name: _changed(entry, change) for name, entry in value.items()}
    return value
