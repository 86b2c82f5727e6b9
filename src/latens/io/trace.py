"""The course of a fit as columns: thousands of iterations are a few short arrays, not a long text."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby
from typing import Any

import numpy as np

from latens.core import Iteration
from latens.errors import FileRefused
from latens.io.checks.type_checks import hints_of

__all__ = ["from_columns", "to_columns"]

_DTYPES = {int: np.dtype(np.int64), float: np.dtype(np.float64)}


def to_columns(trace: tuple[Iteration, ...]) -> list[dict[str, Any]]:
    """Columns of numbers, in blocks of iterations whose bounds have the same terms. Posteriors are left out."""
    return [_block(list(group)) for _, group in groupby(trace, key=lambda event: tuple(event.terms))]


def from_columns(blocks: list[dict[str, Any]]) -> tuple[Iteration, ...]:
    """The iterations that `to_columns` wrote."""
    return tuple(event for block in blocks for event in _events(block))


def _numbers() -> dict[str, np.dtype[Any]]:
    """The fields of an iteration that hold one number."""
    hints = hints_of(Iteration)
    return {f.name: _DTYPES[hints[f.name]] for f in fields(Iteration) if hints[f.name] in _DTYPES}


def _block(events: list[Iteration]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: np.array([getattr(event, name) for event in events], dtype) for name, dtype in _numbers().items()
    }
    columns["terms"] = {name: np.array([event.terms[name] for event in events], float) for name in events[0].terms}
    return columns


def _events(block: dict[str, Any]) -> list[Iteration]:
    wanted, terms = _numbers(), block.get("terms")
    if set(block) != {*wanted, "terms"} or not isinstance(terms, dict):
        raise FileRefused(f"its trace has the columns {', '.join(block)}; expected {', '.join(wanted)}, terms.")
    columns = [(name, block[name], dtype) for name, dtype in wanted.items()]
    columns += [(f"terms[{name!r}]", column, _DTYPES[float]) for name, column in terms.items()]
    n = np.size(block["elbo"])
    for name, column, dtype in columns:
        if not isinstance(column, np.ndarray) or column.shape != (n,) or column.dtype != dtype:
            raise FileRefused(f"the column {name} of its trace is no array of {n} numbers of type {dtype}.")
    lists = {name: block[name].tolist() for name in wanted}
    by_term = {name: column.tolist() for name, column in terms.items()}
    return [
        Iteration(
            terms={name: column[i] for name, column in by_term.items()},
            **{name: column[i] for name, column in lists.items()},
        )
        for i in range(n)
    ]
