"""Sections about a model of several views: how much of each a factor explains, and by which features."""

from __future__ import annotations

import numpy as np

from latens.report.charts.pixels import Scale
from latens.report.charts.svg import heat_map
from latens.report.charts.tiles import legend
from latens.report.content import Figure, Section, Table
from latens.report.subject import Entry

__all__ = ["explained", "features"]

STRONGEST = 6  # features told of each factor


def explained(entry: Entry) -> Section | None:
    """A heat map of shares, and all factors together in a table."""
    shares = getattr(entry.model, "explained_", None)
    if shares is None:
        return None
    layout, kinds = entry.model.layout_, entry.model.likelihoods_
    groups = layout.groups or ("",)
    parts = [(view, f"{group and ', '}{group}") for group in groups for view in layout.views]
    rows = [f"{view} ({kinds[view]}){group}" for view, group in parts]
    values = shares["per_factor"].reshape(len(rows), -1)
    scale = Scale.of(values)
    figure = Figure(
        heat_map(values, [view + group for view, group in parts], entry.names, scale) + legend(scale),
        "Share of each view that a factor explains alone; of binary views and counts, of the deviance.",
        wide=True,
    )
    total = Table(
        ("view", "all factors"),
        tuple((name, f"{100 * value:.1f} %") for name, value in zip(rows, np.ravel(shares["total"]), strict=True)),
    )
    return Section("Variance explained", figures=(figure,), table=total)


def features(entry: Entry) -> Section | None:
    """The strongest features of each factor."""
    if not hasattr(entry.model, "explained_"):
        return None
    top = entry.model.top_features(STRONGEST)
    rows = tuple((name, ", ".join(found)) for name, found in zip(entry.names, top.values(), strict=True))
    return Section("Strongest features", table=Table(("factor", "features"), rows, prose=True))
