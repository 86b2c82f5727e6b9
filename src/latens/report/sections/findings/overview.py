"""Sections about what a model found: its numbers, components, their usage, and rows explained by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latens.array.transfer import host
from latens.metrics import Match
from latens.plots.fitted import is_signed
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.tiles import Tile, tile_grid
from latens.report.charts.numbers import number
from latens.report.charts.svg import bar_chart
from latens.report.content import Figure, Section
from latens.report.measures.recovered import recovered
from latens.report.measures.sample import beside
from latens.report.sections.curve import curve_of
from latens.report.subject import Entry

__all__ = ["components", "facts", "rows", "usage"]

MOST_COMPONENTS = 64  # drawn; a page with more of them is not read
EXAMPLE_ROWS = 8


def facts(entry: Entry) -> tuple[tuple[str, str], ...]:
    """The numbers a reader looks for first; what the model does not have is left out."""
    model, true, curve = entry.model, entry.truth, curve_of(entry.model)
    found: list[tuple[str, str]] = []
    if hasattr(model, "n_components_"):
        found.append((entry.noun(2).removeprefix("on/off ") if hasattr(model, "posterior_") else "components",
                      number(entry.n_components)))  # fmt: skip
    again = recovered(entry)
    if again is not None:
        found.append(("true found", f"{again[0]} of {again[1]}"))
    found.append((f"{curve.name} (nats)", number(float(model.elbo_))))
    found += _deviation("noise (s.d.)", getattr(model, "noise_variance_", None))
    found += _deviation("true noise (s.d.)", getattr(true, "noise_variance", None))
    if curve.is_maximised:
        found.append(("converged", "yes" if model.converged_ else "no"))
    found.append(("seconds", number(entry.duration)))
    return tuple(found)


def components(entry: Entry) -> Section | None:
    """Images side by side with the true ones, where rows are images."""
    shape = entry.image_shape
    if entry.loadings is None or shape is None:
        return None
    k = len(entry.loadings)
    if k == 0 and entry.match is None:
        return Section("Components as images", "No component was needed to explain the rows.")
    text = f"{MOST_COMPONENTS} of {k:,} are shown." if k > MOST_COMPONENTS else ""
    return Section("Components as images", text, figures=(_images(entry, shape),), anchor="images")


def usage(entry: Entry) -> Section | None:
    """How often each component is on, beside the truth where that is known."""
    names, marks = entry.names[:MOST_COMPONENTS], _true_usage(entry)
    if not names or marks is None or not hasattr(entry.model, "usage_"):
        return None
    values = np.asarray(entry.model.usage_, dtype=np.float64)[: len(names)]
    bars = bar_chart(names, values, label="usage", marks=marks[: len(names)])
    note = "Share of the rows in which a component is on. The line across a bar is the true value."
    return Section("Usage", figures=(Figure(bars, note),))


def rows(entry: Entry) -> Section | None:
    """A few rows as images, and as the model rebuilds them from their codes."""
    shape, model = entry.image_shape, entry.model
    if shape is None or not hasattr(entry.X, "shape") or not hasattr(model, "inverse_transform"):
        return None
    head = entry.X[:EXAMPLE_ROWS]
    known = beside(entry.given, np.arange(head.shape[0]), entry.X.shape[0])
    given, rebuilt = _dense(head), _dense(model.inverse_transform(model.transform(head, **known)))
    tiles = [
        Tile(f"row {i}", (("given", row), ("rebuilt", again)))
        for i, (row, again) in enumerate(zip(given, rebuilt, strict=True))
    ]
    scale = replace(Scale.of(given, rebuilt), signed=is_signed(rebuilt))  # noise alone does not make rows signed
    note = "The first rows, and what the model makes of them: the sum of the components it takes to be present."
    return Section("Rows as images", figures=(Figure(tile_grid(tiles, shape, scale), note, wide=True),), anchor="tiles")


def _deviation(label: str, variance: Any) -> list[tuple[str, str]]:
    """A fact where the noise is one number for all columns, else none."""
    if variance is None or isinstance(variance, dict):
        return []
    return [] if np.ndim(variance) > 0 else [(label, number(float(np.sqrt(variance))))]


def _images(entry: Entry, shape: tuple[int, int]) -> Figure:
    learnt, match = np.asarray(entry.loadings), entry.match
    if match is None:
        tiles = [Tile(name, (("", image),)) for name, image in zip(entry.labels, learnt, strict=True)]
        return Figure(tile_grid(tiles[:MOST_COMPONENTS], shape, Scale.of(learnt)), wide=True)
    true = np.asarray(entry.truth.components, dtype=np.float64)
    tiles = [_pair(entry, match, k, true[k]) for k in range(len(true))]
    unmatched = np.setdiff1d(np.arange(len(learnt)), match.index)
    tiles += [Tile(f"{entry.labels[i]}, without partner", (("true", None), ("learnt", learnt[i]))) for i in unmatched]
    note = "Each true component beside the learnt one it was matched with."
    return Figure(tile_grid(tiles[:MOST_COMPONENTS], shape, Scale.of(learnt, true)), note, wide=True)


def _pair(entry: Entry, match: Match, k: int, true: np.ndarray) -> Tile:
    partner = int(match.index[k])
    if partner < 0:
        return Tile("not found", (("true", true), ("learnt", None)))
    learnt = np.asarray(entry.loadings)[partner] * match.sign[k]
    return Tile(f"{entry.labels[partner]}, cosine {match.similarity[k]:.3f}", (("true", true), ("learnt", learnt)))


def _true_usage(entry: Entry) -> np.ndarray | None:
    """The true usage in the order of the learnt components, NaN for those without a partner; shape (K,)."""
    known, match = getattr(entry.truth, "usage", None), entry.match
    if known is None or match is None:
        return None
    marks = np.full(len(entry.names), np.nan)
    paired = match.index >= 0
    marks[match.index[paired]] = np.asarray(known, dtype=np.float64)[paired]
    return marks


def _dense(values: Any) -> np.ndarray:
    return host(values.toarray() if hasattr(values, "toarray") else values)
