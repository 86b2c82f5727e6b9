"""A small table that reads well in a terminal and in a notebook, and converts where pandas is at hand."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from latens.system.optional_imports import require

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Column names and rows of plain values.

    >>> print(Table(("name", "share"), (("a", 0.25), ("b", 0.125))))
    name  share
    a     0.25
    b     0.125
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

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
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(_html_row("td", cells) for cells in self.rows)
        return f"<table>{_html_row('th', self.columns)}{body}</table>"

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return require("pandas", "frames").DataFrame([list(row) for row in self.rows], columns=list(self.columns))


def _html_row(tag: str, cells: tuple[Any, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(_cell(cell))}</{tag}>" for cell in cells) + "</tr>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
