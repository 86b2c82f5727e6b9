"""Section about independent sources: what each does over time."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.courses import course_chart
from latens.report.charts.signed_bars import signed_bars
from latens.report.content import Figure, Section
from latens.report.subject import Entry

__all__ = ["courses", "maps"]

MOST_SOURCES = 16
MOST_SENSORS = 40  # columns of a map


def maps(entry: Entry) -> Section | None:
    """Where each source is seen: its strength in each column, one small chart for each source."""
    profile = entry.profile
    if entry.family != "sources" or profile is None or entry.image_shape is not None:
        return None
    d = len(profile.columns)
    keep = (
        np.arange(d) if d <= MOST_SENSORS else np.sort(np.argsort(-np.abs(profile.strength).max(axis=1))[:MOST_SENSORS])
    )
    names = [profile.columns[i] for i in keep]
    reach = float(np.max(np.abs(profile.strength[keep]), initial=1e-300))
    figures = tuple(
        Figure(signed_bars(names, profile.strength[keep, k], reach=reach, label=name, component=k))
        for k, name in enumerate(entry.labels[:MOST_SOURCES])
    )
    text = f"How strongly each source shows in each column: {profile.unit}; red adds to it, blue takes from it."
    text += f" Of {d:,} columns, the {MOST_SENSORS} with the largest entries." if d > MOST_SENSORS else ""
    return Section("Maps of the sources", text, figures=figures, anchor="maps")


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
    if sample.names is not None:
        note += f" Row 0 is {sample.names[0]}, the last one {sample.names[-1]}."
    return Section("Sources over rows", figures=(Figure(chart, note, wide=True),), anchor="sources")
