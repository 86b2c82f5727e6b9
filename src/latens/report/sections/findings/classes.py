"""Sections about classes of rows: what each is like, and how surely rows belong to one."""

from __future__ import annotations

from latens.report.charts.numbers import number
from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["profiles"]

MOST_CLASSES = 12  # columns of a table that is still read
MOST_ROWS = 400


def profiles(entry: Entry) -> Section | None:
    """The columns of each class, the kinds that were taken, and how well the classes are distinguished."""
    if not hasattr(entry.model, "classification_table_") or not hasattr(entry.model, "profiles_"):
        return None
    found = entry.model.profiles_
    shown = found.rows[:MOST_ROWS]
    width = 3 + MOST_CLASSES
    rows = tuple((*map(str, row[:3]), *(number(float(value)) for value in row[3:width])) for row in shown)
    notes = [f"Relative entropy {entry.model.entropy_:.3f}: 1 where every row is certain of its class."]
    if len(found.rows) > MOST_ROWS or len(found.columns) > width:
        notes.append(f"The first {MOST_CLASSES} classes and {MOST_ROWS} rows of the table are shown; see profiles_.")
    return Section(
        "All numbers of the classes",
        notes=tuple(notes),
        table=Table(found.columns[:width], rows),
        folded=True,
        anchor="classes",
    )
