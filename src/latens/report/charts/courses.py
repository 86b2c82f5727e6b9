"""Signals over time, one below the other, as inline SVG."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import tick_labels, ticks
from latens.report.charts.svg import BROAD_BOX, CURVE, LETTER, PICTURE, RULE, TEXT, TONE_GROUP, inside, shortened

__all__ = ["course_chart"]

WIDTH, PITCH, BOTTOM = 880.0, 56.0, 24.0
N_PIXELS = 700  # stretches of time that are distinguished
NAME_OF_COURSE = Markup('<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end" data-k="{}">{}</text>')


def course_chart(time: np.ndarray, signals: np.ndarray, names: list[str]) -> Markup:
    """One curve for each column of `signals` (n, K), each on its own scale.

    Examples
    --------
    >>> course_chart(np.arange(50), np.random.default_rng(0).normal(size=(50, 3)), ["a", "b", "c"]).count("<polyline")
    3
    """
    left = 16 + LETTER * max((len(shortened(name)) for name in names), default=1)
    bottom = PITCH * len(names)
    first, last = float(time[0]), max(float(time[-1]), float(time[0]) + 1)
    parts = []
    steps = ticks(first, last, whole=True)
    for value, label in zip(steps, tick_labels(steps), strict=True):
        mark = left + (value - first) / (last - first) * (WIDTH - left - 8)
        parts.append(RULE.format("grid", mark, 0.0, mark, bottom))
        parts.append(TEXT.format("tick", inside(mark, label, WIDTH), bottom + 16, "middle", label))
    for k, name in enumerate(names):
        at, values = _envelope(time.astype(float), signals[:, k])
        low, high = float(values.min()), float(values.max())
        x = left + (at - first) / (last - first) * (WIDTH - left - 8)
        y = PITCH * k + 4 + (high - values) / max(high - low, 1e-300) * (PITCH - 8)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        parts.append(TONE_GROUP.format(0, CURVE.format("curve thin", points)))
        rest = PITCH * k + 4 + (high - float(np.median(values))) / max(high - low, 1e-300) * (PITCH - 8)
        parts.append(NAME_OF_COURSE.format(left - 8, rest + 4, k, shortened(name)))
    return BROAD_BOX.format(PICTURE.format(WIDTH, bottom + BOTTOM, "sources over rows", Markup().join(parts)))


def _envelope(time: np.ndarray, signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The signal, or the lowest and highest value of each stretch that a pixel holds."""
    if len(signal) <= 2 * N_PIXELS:
        return time, signal
    parts = np.array_split(np.arange(len(signal)), N_PIXELS)
    ends = [sorted((int(p[np.argmin(signal[p])]), int(p[np.argmax(signal[p])]))) for p in parts]
    keep = np.array(ends).ravel()
    return time[keep], signal[keep]
