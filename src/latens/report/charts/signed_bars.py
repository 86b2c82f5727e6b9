"""Bars to both sides of 0, one below the other, as inline SVG."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.heat_table import signed
from latens.report.charts.svg import PICTURE, RULE, TEXT, TOP, WIDTH, breadth, shortened

__all__ = ["signed_bars"]

ROOM = 46.0  # for the number at the end of a bar
BAR = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
HEADING = Markup('<text class="label" x="{:.1f}" y="16" text-anchor="middle" data-k="{}">{}</text>')


def signed_bars(names: list[str], values: np.ndarray, *, reach: float, label: str, component: int) -> Markup:
    """A bar for each of `values` (n,), to the right where it is positive; one of length `reach` fills its side.

    `label` is the name of the component that the chart is about, and `component` its number.

    Examples
    --------
    >>> chart = signed_bars(["a", "b"], np.array([1.0, -0.5]), reach=1.0, label="source0", component=0)
    >>> chart.count("more"), chart.count("less")
    (1, 1)
    """
    names = [shortened(name) for name in names]
    pitch = 20.0 if len(names) <= 16 else 15.0
    left = 12 + max(map(breadth, names), default=1)
    half = (WIDTH - left - 2 * ROOM) / 2
    middle, bottom = left + ROOM + half, TOP + len(names) * pitch
    parts = [HEADING.format(middle, component, label)]
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        top, length = TOP + i * pitch, half * abs(float(value)) / reach
        start = middle if value > 0 else middle - length
        parts.append(BAR.format("more" if value > 0 else "less", start, top + 0.18 * pitch, length, 0.64 * pitch))
        parts.append(TEXT.format("tick", left - 6, top + pitch / 2 + 4, "end", name))
        side, anchor = (length + 5, "start") if value > 0 else (-length - 5, "end")
        parts.append(TEXT.format("value", middle + side, top + pitch / 2 + 4, anchor, signed(round(float(value), 2))))
    parts.append(RULE.format("axis", middle, TOP, middle, bottom))
    return PICTURE.format(WIDTH, bottom + 4, label, Markup().join(parts))
