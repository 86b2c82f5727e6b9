"""Sections about a model of several views: how much of each a factor explains, and by which features."""

from __future__ import annotations

import numpy as np

from latens.estimators.fitted_parts import has_fitted_parts
from latens.report.charts.heat_table import component_name
from latens.report.charts.images.pixels import Scale
from latens.report.charts.svg import picture_rows
from latens.report.content import Figure, Section, Table
from latens.report.subject import Entry

__all__ = ["explained", "overview", "top_entries"]

MOST_FEATURES, MOST_SAMPLES = 10, 400  # of the heat map of a factor's strongest features
MOST_FACTORS = 6
ABSENT, THERE = (226, 214, 178), (90, 130, 170)


def explained(entry: Entry) -> Section | None:
    """Shares of each view by factor, alone, and of all together."""
    if not hasattr(entry.model, "explained_") or not len(entry.names):  # no factor, nothing explained
        return None
    shares = entry.model.explained_
    layout, kinds = entry.model.layout_, entry.model.likelihoods_
    groups = layout.groups or ("",)
    words = dict(zip(layout.views, entry.view_names, strict=True))
    parts = [(view, f"{group and ', '}{group}") for group in groups for view in layout.views]
    rows = [f"{words[view]} ({kinds[view]}){group}" for view, group in parts]
    values = np.asarray(shares["per_factor"]).reshape(len(rows), -1)
    total = np.ravel(shares["total"])
    heads = (
        "kind of column" if entry.by_kind else "view",
        "all factors",
        *(component_name(k, name) for k, name in enumerate(entry.labels)),
    )
    cells = tuple(
        (name, f"{100 * both:.1f} %", *(f"{100 * value:.1f} %" for value in each))
        for name, both, each in zip(rows, total, values, strict=True)
    )
    text = f"Share of each {heads[0]} that all factors explain, and that each explains alone"
    text += ", each column in its own sd" if has_fitted_parts(entry.model) else ""
    return Section(
        "Variance explained",
        f"{text}; of yes/no columns and counts, of the deviance.",
        table=Table(heads, cells, sortable=True),
        anchor="explained",
    )


def overview(entry: Entry) -> Section | None:
    """Which rows show which views."""
    layout, sample = getattr(entry.model, "layout_", None), entry.sample
    if layout is None or sample is None or len(layout.views) < 2:
        return None
    there = np.stack([np.isfinite(sample.values[:, at]).mean(axis=1) for at in layout.bounds])  # (M, n)
    if np.all(there > 0):
        return None
    order = np.lexsort(tuple(there[::-1] > 0))[::-1]
    step = max(1, -(-len(order) // MOST_SAMPLES))
    shown = there[:, order[::step]]
    colours = np.where(shown[..., None] > 0, THERE, ABSENT).astype(np.uint8)
    names = [
        f"{view} ({100 * float(np.mean(row > 0)):.0f} % of rows)" for view, row in zip(layout.views, there, strict=True)
    ]
    chart = picture_rows(colours, names, wide=True)
    note = "Rows from left to right, those that show the same views together; sand: the whole view is missing there."
    return Section("Which rows show which views", figures=(Figure(chart, note, wide=True),), anchor="views")


def top_entries(entry: Entry) -> Section | None:
    """The strongest features of each factor over the rows, in the order of the factor."""
    sample, profile = entry.sample, entry.profile
    if entry.family != "views" or sample is None or profile is None or entry.n_components == 0:
        return None
    figures = []
    for k in range(min(entry.n_components, MOST_FACTORS)):
        order = np.argsort(sample.codes[:, k], kind="stable")
        order = order[:: max(1, -(-len(order) // MOST_SAMPLES))]
        top = profile.top(k, MOST_FEATURES)
        top = sorted(top, key=lambda d: -profile.strength[d, k])
        x = sample.values[order][:, top]
        centre = np.nan_to_num(sample.means[top])
        z = (x - centre) / np.where(sample.spread[top] > 0, sample.spread[top], 1.0)
        chart = picture_rows(Scale(2.5, True).paint(z.T), [profile.columns[d] for d in top])
        figures.append(Figure(chart, f"{entry.labels[k]}: rows from its lowest to its highest value."))
    text = "Each feature in its own sd: red above its mean, blue below, sand where missing."
    return Section("Strongest features over the rows", text, figures=tuple(figures), anchor="top-features")
