"""Pictures side by side on one scale, as inline SVG: curves with a band about them, and fields over the plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from latens.report.charts.images.pixels import Scale, data_uri
from latens.report.charts.numbers import tick_labels, ticks
from latens.report.charts.svg import CLIPPED_AREA, CURVE, LETTER, N_TONES, PICTURE, RULE, TEXT, TONE_GROUP

__all__ = ["Band", "Field", "band_panels", "field_panels"]

WIDTH, GAP, TOP, BOTTOM = 880.0, 18.0, 26.0, 38.0  # of all panels together; twice a chart
BAND_HEIGHT = 230.0
AREA = Markup('<polygon points="{}" fill="currentColor" fill-opacity="{}"/>')
DOT = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="{}"/>')
RINGED_DOT = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2.1" fill="{}" stroke="#fff" stroke-width=".5"/>')
IMAGE = Markup(
    '<image class="pixels" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" preserveAspectRatio="none" '
    'href="{}"/><rect class="frame" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
)
COLOURS = ("#12406e", "#7d1020")  # of points on a field from blue to red


@dataclass(frozen=True)
class Band:
    """A curve over x (n,), and how far it may be off, (n,): bands of once and twice that are drawn."""

    title: str
    mean: np.ndarray
    spread: np.ndarray
    tone: int = 0


@dataclass(frozen=True)
class Field:
    """Values over the plane, (height, width), the first row at the bottom."""

    title: str
    values: np.ndarray


def band_panels(
    panels: list[Band],
    x: np.ndarray,
    points: np.ndarray,
    *,
    x_label: str,
    y_range: tuple[float, float],
    truth: np.ndarray | None = None,
) -> Markup:
    """One panel for each band, with the same points (n, 2) and the same dashed truth in all of them.

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)
    >>> panels = [Band("a", x, 0.1 + x), Band("b", x, 0.2 + x)]
    >>> band_panels(panels, x, np.zeros((3, 2)), x_label="x", y_range=(-1, 2)).count("<polygon")
    4
    """
    y_ticks = ticks(*y_range)
    labels = tick_labels(y_ticks)
    left, width = _room(labels, len(panels))
    height = BAND_HEIGHT
    first, last = float(x[0]), float(x[-1])

    def places(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        across = (a - first) / (last - first) * width
        return np.column_stack([across, (y_range[1] - b) / (y_range[1] - y_range[0]) * height])

    parts = []
    for value, label in zip(y_ticks, labels, strict=True):
        y = TOP + float(places(x[:1], np.array([value]))[0, 1])
        parts.append(TEXT.format("tick", left - 6, y + 4, "end", label))
        for i in range(len(panels)):
            at = left + i * (width + GAP)
            parts.append(RULE.format("grid", at, y, at + width, y))
    for i, panel in enumerate(panels):
        at = left + i * (width + GAP)
        drawn = [_area(places, x, panel, 2, 0.16), _area(places, x, panel, 1, 0.24)]
        if truth is not None:
            drawn.append(CURVE.format("curve dashed", _listed(places(x, truth))))
        drawn.append(CURVE.format("curve", _listed(places(x, panel.mean))))
        toned = TONE_GROUP.format(panel.tone % N_TONES, Markup().join(drawn))
        dots = Markup().join(DOT.format(a, b, 2) for a, b in places(points[:, 0], points[:, 1]))
        parts.append(CLIPPED_AREA.format(at, TOP, width, height, toned + dots))
        parts.append(RULE.format("axis", at, TOP + height, at + width, TOP + height))
        parts.append(TEXT.format("label", at + width / 2, 16, "middle", panel.title))
        steps = ticks(first, last)
        for value, label in zip(steps, tick_labels(steps), strict=True):
            place = at + float(places(np.array([value]), x[:1])[0, 0])
            parts.append(TEXT.format("tick", place, TOP + height + 16, "middle", label))
        parts.append(TEXT.format("label", at + width / 2, TOP + height + 32, "middle", x_label))
    return PICTURE.format(WIDTH, TOP + height + BOTTOM, _note(panels), Markup().join(parts))


def field_panels(panels: list[Field], corners: tuple[float, float, float, float], groups: list[np.ndarray]) -> Markup:
    """One panel for each field on one colour scale, with groups of points (n, 2); corners are (x0, x1, y0, y1).

    Examples
    --------
    >>> field_panels([Field("a", np.eye(3))], (0, 1, 0, 1), [np.zeros((4, 2))]).count("<circle")
    4
    """
    x0, x1, y0, y1 = corners
    left, width = _room([""], len(panels))
    height = width * (y1 - y0) / (x1 - x0)
    scale = Scale.of(*(panel.values for panel in panels))
    parts = []
    for i, panel in enumerate(panels):
        at = left + i * (width + GAP)
        box = (at, TOP, width, height)
        parts.append(IMAGE.format(*box, data_uri(scale.paint(panel.values[::-1])), *box))
        for group, colour in zip(groups, COLOURS, strict=False):
            places = (group - [x0, y0]) / [x1 - x0, y1 - y0]
            dots = (RINGED_DOT.format(at + a * width, TOP + (1 - b) * height, colour) for a, b in places)
            parts.append(Markup().join(dots))
        parts.append(TEXT.format("label", at + width / 2, 16, "middle", panel.title))
    return PICTURE.format(WIDTH, TOP + height + 4, _note(panels), Markup().join(parts))


def _room(labels: list[str], n: int) -> tuple[float, float]:
    """Where the first panel begins, and the width of each."""
    left = 8 + LETTER * max(map(len, labels), default=1)
    return left, (WIDTH - left - 4 - GAP * (n - 1)) / n


def _area(places: Callable[..., np.ndarray], x: np.ndarray, panel: Band, times: int, opacity: float) -> Markup:
    high, low = panel.mean + times * panel.spread, panel.mean - times * panel.spread
    around = np.concatenate([places(x, high), places(x, low)[::-1]])
    return AREA.format(_listed(around), opacity)


def _listed(points: np.ndarray) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in points)


def _note(panels: list[Band] | list[Field]) -> str:
    return ", ".join(panel.title for panel in panels)
