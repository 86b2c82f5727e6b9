"""What an experiment is: named settings, one function of them, and what it answers of a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np

from latens.experiments.printed.listing import Listing
from latens.report import Section, Table
from latens.report.charts.numbers import number

__all__ = ["Claim", "Comparison", "Experiment", "Numbers", "Print", "Progress", "Result", "Value", "Verdict"]

S = TypeVar("S")
Value = str | int | float
Progress = Callable[[str], None]  # called with what is being worked on
Verdict = Literal["agrees", "agrees in part", "does not come back", "error in the print", "no result in the document"]


@dataclass(frozen=True)
class Numbers:
    """A table of unrounded values, as written to files; `shown` is how a reader sees it.

    Examples
    --------
    >>> Numbers("bounds", ("K", "bound"), ((8, -1234.5678),)).shown.rows
    (('8', '−1,234.6'),)
    """

    name: str  # what its file is called
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Numbers:
        """From rows that may hold NumPy's numbers, which become Python's own."""
        return cls(name, tuple(columns), tuple(tuple(map(_plain, row)) for row in rows))

    @property
    def shown(self) -> Table:
        cells = (tuple(cell if isinstance(cell, str) else number(cell) for cell in row) for row in self.rows)
        return Table(self.columns, tuple(cells))


@dataclass(frozen=True)
class Claim:
    """What a document reports at one place, what this run finds, and whether the two agree."""

    place: str  # figure, table, equation or section
    reported: str
    found: str
    verdict: Verdict


class Comparison(NamedTuple):
    """The print beside its correction: pictures, the difference as numbers, and what follows for the document."""

    section: Section
    table: Numbers
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Result:
    """The numbers, the first table being the one to print; the pictures made of them; and what they say."""

    tables: tuple[Numbers, ...]
    figures: tuple[Section, ...]
    notes: tuple[str, ...]
    claims: tuple[Claim, ...] = ()

    def beside(self, *comparisons: Comparison, claims: tuple[Claim, ...] = ()) -> Result:
        """With comparisons of print and correction added, and with further claims before theirs."""
        return Result(
            (*self.tables, *(one.table for one in comparisons)),
            (*self.figures, *(one.section for one in comparisons)),
            self.notes,
            (*self.claims, *claims, *(claim for one in comparisons for claim in one.claims)),
        )


@dataclass(frozen=True)
class Print(Generic[S]):
    """Listings of the document that an experiment is about, and a run of them alone."""

    listings: tuple[Listing, ...]
    run: Callable[[S, np.random.Generator, Progress], Result]


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """A part of a source document, to be regenerated.

    Parameters
    ----------
    name : str
        What a user types.
    title : str
        One line.
    document, place : str
        The document's number; section and figures.
    about : str
        What is done and drawn.
    settings, quick : frozen dataclass
        Those of the document, and smaller ones that show the same in a moment.
    run : callable
        (settings, rng, progress) to Result; all randomness comes from `rng`.
    printed : Print, optional
        What the document itself would compute, where it has a listing or an algorithm.
    graph : str
        The graphical model to draw, by its name in `latens.report.graphical_models`.
    """

    name: str
    title: str
    document: str
    place: str
    about: str
    settings: S
    quick: S
    run: Callable[[S, np.random.Generator, Progress], Result]
    printed: Print[S] | None = None
    graph: str = ""

    @property
    def source(self) -> str:
        return f"document {self.document}, {self.place}"


def _plain(value: object) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    raise TypeError(f"{value!r} is neither text nor a number, and a table holds nothing else.")
