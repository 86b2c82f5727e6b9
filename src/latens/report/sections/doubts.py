"""Section about what the fit warned of."""

from __future__ import annotations

from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["warned"]


def warned(entry: Entry) -> Section | None:
    """Every warning of the fit: what was seen, and what to do about it."""
    rows = entry.warned
    if rows is None:
        rows = [(record.message, record.remedy) for record in getattr(entry.model, "warnings_", ())]
    if not rows:
        return None
    return Section(
        "To look at first",
        "What the fit warned of.",
        table=Table(("what was seen", "what to do"), tuple(rows), prose=True),
        anchor="warnings",
    )
