"""Section about independent sources: what each does over time."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.courses import course_chart
from latens.report.content import Figure, Section
from latens.report.subject import Entry

__all__ = ["courses"]

MOST_SOURCES = 16


def courses(entry: Entry) -> Section | None:
    """Each source as a curve over the rows, taken as time points."""
    sample = entry.sample
    if entry.family != "sources" or sample is None or not sample.codes.shape[1]:
        return None
    names = entry.labels[:MOST_SOURCES]
    chart: Markup = course_chart(sample.index, np.asarray(sample.codes[:, : len(names)]), names)
    note = (
        "Sources have unit variance; rows from left to right, of stretches that a pixel holds the lowest and highest."
    )
    return Section("Sources over rows", figures=(Figure(chart, note, wide=True),), anchor="sources")
