"""Sections about classes of rows: what each is like, and how surely rows belong to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.report.charts.numbers import chance, number
from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["profiles"]

MOST_CLASSES = 12  # columns of a table that is still read
MOST_ROWS = 400
MOST_WITH_ENDS = 5  # classes whose columns have room for intervals
OF_LEVELS = ("categorical", "ordinal")


def profiles(entry: Entry) -> Section | None:
    """The columns of each class, the kinds that were taken, and how well the classes are distinguished."""
    if not hasattr(entry.model, "classification_table_") or not hasattr(entry.model, "profiles_"):
        return None
    found = entry.model.profiles_
    shown = found.rows[:MOST_ROWS]
    width = 3 + MOST_CLASSES
    known = entry.certainty.loadings() if len(found.columns) - 3 <= MOST_WITH_ENDS else {}
    classes = found.columns[3:width]
    rows = tuple(
        (
            *map(str, row[:3]),
            *(_cell(row, float(v), known.get((k, "", _told_as(row)))) for k, v in zip(classes, row[3:], strict=False)),
        )
        for row in shown
    )
    notes = [f"Relative entropy {entry.model.entropy_:.3f}: 1 where every row is certain of its class."]
    if known:
        notes.append(f"In brackets 95 % intervals. {entry.certainty.note}".strip())
    if len(found.rows) > MOST_ROWS or len(found.columns) > width:
        notes.append(f"The first {MOST_CLASSES} classes and {MOST_ROWS} rows of the table are shown; see profiles_.")
    return Section(
        "All numbers of the classes",
        notes=tuple(notes),
        table=Table(found.columns[:width], rows),
        folded=True,
        anchor="classes",
    )


def _told_as(row: tuple[Any, ...]) -> str:
    """What `intervals` calls a line of `profiles_`; no spread has an interval."""
    column, kind, of, *_ = row
    if kind in OF_LEVELS:
        return f"{column} = {of.removeprefix('P(').removesuffix(')')}"
    return str(column) if of == "mean" or of.startswith("P(") else ""


def _cell(row: tuple[Any, ...], value: float, ends: tuple[float, float, bool, str] | None) -> str:
    if ends is None or not np.isfinite(ends[:2]).all():
        return number(value)
    form = chance if row[2].startswith("P(") else number
    return f"{number(value)} [{form(ends[0])}, {form(ends[1])}]"
