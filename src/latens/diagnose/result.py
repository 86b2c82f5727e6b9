"""What `compare`, `sweep`, `suggest` and `stability` return: a table with its verdict, a picture and a page."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import latens
from latens.system.summary_table import Table

__all__ = ["Ranked", "Result"]


@dataclass(frozen=True)
class Ranked:
    """Differences to draw: names from top to bottom, with paired standard errors where there are any."""

    names: tuple[str, ...]
    differences: tuple[float, ...]  # to the first of them, in nats
    errors: tuple[float, ...]  # NaN where there is none
    label: str


@dataclass(frozen=True, repr=False)
class Result:
    """A table and what it says in a sentence; a subclass names its picture in `latens.plots`."""

    table: Table
    verdict: str

    title: ClassVar[str]
    picture: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.verdict}\n\n{self.table}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.verdict)}</p>{self.table._repr_html_()}"

    def plot(self, ax: Any = None) -> Any:
        """Draw it with matplotlib, into `ax` or a new figure; returns the Axes."""
        return getattr(latens.plots, self.picture)(self, ax)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write it as a page: one HTML file that opens anywhere, offline. Returns its absolute path."""
        page: Path = latens.report(self, None, path)
        return page
