"""Rows as points in the plane, by group, as inline SVG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import tick_labels, ticks
from latens.report.charts.svg import BOTTOM, LETTER, N_TONES, PICTURE, RIGHT, RULE, TEXT, TONE_GROUP, TOP, WIDTH, inside

__all__ = ["Points", "scatter_chart"]

HEIGHT = 400.0
DOT = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="1.8" opacity="0.55"/>')
CENTRE = Markup('<path class="mark" d="M {:.1f} {:.1f} h 12 m -6 -6 v 12"/>')
RING = Markup('<circle class="axis" fill="none" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>')
MOST_POINTS = 2000  # more would only fill the plane


@dataclass(frozen=True)
class Points:
    """A group of points (n, 2), its centre if it has one, and the radius of a ring about that."""

    places: np.ndarray
    tone: int = 0
    centre: np.ndarray | None = None
    radius: float = 0.0


def scatter_chart(groups: list[Points], *, x_label: str, y_label: str) -> Markup:
    """Points of each group in its tone, with a cross at its centre; both axes have one scale, so that rings are round.

    Examples
    --------
    >>> scatter_chart([Points(np.zeros((2, 2)))], x_label="a", y_label="b").count("circle")
    2
    """
    everything = np.concatenate([group.places for group in groups])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.05 * np.maximum(high - low, 1e-9 * (1 + np.abs(high)))
    low, high = low - margin, high + margin
    y_ticks = ticks(float(low[1]), float(high[1]))
    labels = tick_labels(y_ticks)
    left, bottom = 12 + LETTER * max(map(len, labels), default=1), HEIGHT - BOTTOM
    scale = float(np.min(np.array([WIDTH - left - RIGHT, bottom - TOP]) / (high - low)))
    room = np.array([WIDTH - left - RIGHT, bottom - TOP]) / scale - (high - low)
    low, high = low - room / 2, high + room / 2
    y_ticks = ticks(float(low[1]), float(high[1]))
    labels = tick_labels(y_ticks)

    def place(point: np.ndarray) -> tuple[float, float]:
        return left + float((point[0] - low[0]) * scale), bottom - float((point[1] - low[1]) * scale)

    parts = [TEXT.format("label", left, 16, "start", y_label)]
    for value, label in zip(y_ticks, labels, strict=True):
        y = place(np.array([low[0], value]))[1]
        parts += [RULE.format("grid", left, y, WIDTH - RIGHT, y), TEXT.format("tick", left - 6, y + 4, "end", label)]
    x_ticks = ticks(float(low[0]), float(high[0]))
    for value, label in zip(x_ticks, tick_labels(x_ticks), strict=True):
        x = inside(float(place(np.array([value, low[1]]))[0]), label)
        parts.append(TEXT.format("tick", x, bottom + 16, "middle", label))
    parts.append(RULE.format("axis", left, bottom, WIDTH - RIGHT, bottom))
    parts.append(TEXT.format("label", (left + WIDTH - RIGHT) / 2, bottom + 32, "middle", x_label))
    step = -(-len(everything) // MOST_POINTS)
    for group in groups:
        dots = Markup().join(DOT.format(*place(point)) for point in group.places[::step])
        parts.append(TONE_GROUP.format(group.tone % N_TONES, dots))
    for group in groups:
        if group.centre is not None:
            x, y = place(group.centre)
            if group.radius:
                parts.append(RING.format(x, y, group.radius * scale))
            parts.append(CENTRE.format(x - 6, y))
    return PICTURE.format(WIDTH, HEIGHT, f"{y_label} by {x_label}", Markup().join(parts))
