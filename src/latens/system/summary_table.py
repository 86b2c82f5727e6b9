"""A small table that reads well in a terminal and in a notebook, and converts where pandas is at hand."""

from __future__ import annotations

import html
import warnings
from dataclasses import dataclass, field
from typing import Any

from latens.system.optional_imports import require

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Column names and rows of plain values; NaN is printed as -.

    >>> print(Table(("name", "share"), (("a", 0.25), ("b", 0.125))))
    name  share
    a     0.25
    b     0.125
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_keys: int = field(default=0, kw_only=True)  # leading columns that say what a row is about: a frame's index
    note: str = field(default="", kw_only=True)  # a sentence below

    def __getitem__(self, column: str) -> list[Any]:
        """The values of one column."""
        if column not in self.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}.")
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(map(_cell, row)) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
        return "\n".join([*(line.rstrip() for line in lines), *([self.note] if self.note else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(_html_row("td", cells) for cells in self.rows)
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table>{_html_row('th', self.columns)}{body}</table>{note}"

    def to_frame(self) -> Any:
        """Convert to pandas.

        Returns
        -------
        pandas.DataFrame
            The rows and columns; columns that say what a row is about, such as group and view, are its index.
        """
        frame = require("pandas", "frames").DataFrame([list(row) for row in self.rows], columns=list(self.columns))
        return frame.set_index(list(self.columns[: self.n_keys])) if self.n_keys else frame

    def to_pandas(self) -> Any:
        """The former name of `to_frame`."""
        warnings.warn("to_pandas is now to_frame; write to_frame instead.", FutureWarning, stacklevel=2)
        return self.to_frame()

    @property
    def loc(self) -> Any:
        """`to_frame().loc`, for tables that were frames in the release before."""
        warnings.warn(
            "this is a table of latens, with or without pandas; write table.to_frame().loc instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.to_frame().loc


def _html_row(tag: str, cells: tuple[Any, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(_cell(cell))}</{tag}>" for cell in cells) + "</tr>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if value != value:
            return "-"  # there is no such number
        return f"{value:.1f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
