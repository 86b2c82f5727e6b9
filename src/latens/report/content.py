"""What a page consists of. A section may hold further sections: one model is a section, several are several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

__all__ = ["Figure", "Section", "Table"]


@dataclass(frozen=True)
class Figure:
    """A picture with a line of text below it.

    Parameters
    ----------
    body : Markup
        Safe HTML or SVG, as made by `latens.report.charts.svg` and `latens.report.charts.images.tiles`.
    caption : str
        Plain text, escaped on the page.
    wide : bool
        Whether it takes the whole width of the page instead of half of it.
    name : str
        What its file is called where pictures are also written one by one.
    drawing : Markup, optional
        The picture as SVG for that file; needed only where `body` is HTML.

    Examples
    --------
    >>> Figure(Markup("<svg></svg>"), "An empty chart.").wide
    False
    """

    body: Markup
    caption: str = ""
    wide: bool = False
    name: str = ""
    drawing: Markup | None = None


@dataclass(frozen=True)
class Table:
    """Rows of plain text under column names: numbers are set to the right, words and prose to the left.

    Examples
    --------
    >>> Table(("term", "nats"), (("noise", "-3.2"),)).columns
    ('term', 'nats')
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    prose: bool = False
    sortable: bool = False  # by a click on a heading, where the page's script runs
    even: bool = False  # whether columns of prose share the width, each broken into lines
    headed: bool = False  # whether cells name their column where a narrow screen has no room for headings

    @property
    def words(self) -> frozenset[int]:
        """Columns in which a cell begins with a letter, and which are therefore not set as numbers."""
        cells = ((i, cell) for row in self.rows for i, cell in enumerate(row))
        return frozenset(i for i, cell in cells if cell[:1].isalpha())


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; everything but the title may be left out.

    Parameters
    ----------
    title, text : str
        Plain text, escaped on the page.
    lead : str
        The sentence that matters most, in large letters above the text.
    body : Markup, optional
        Safe HTML that stands before figures and table.
    notes : tuple of str
        Statements one below the other, plain text too.
    facts : tuple of (str, str)
        Labelled values, shown prominently.
    figures : tuple of Figure
    table : Table, optional
    parts : tuple of Section
        Sections under this one.
    anchor : str
        Where links to it point, unique among the parts of one section.
    folded : bool
        Whether it is closed until a reader opens it; on paper it is open.
    data : dict, optional
        What the page's script needs to know of it: plain numbers, texts, lists and dicts.

    Examples
    --------
    >>> Section("Fit", parts=(Section("Bound"), Section("Usage"))).parts[1].title
    'Usage'
    """

    title: str
    text: str = ""
    lead: str = ""
    body: Markup | None = None
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    parts: tuple[Section, ...] = ()
    anchor: str = ""
    folded: bool = False
    data: dict[str, Any] | None = None
