"""Rows as points in the plane, coloured by group: the picture that the page's script takes over."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import tick_labels, ticks
from latens.report.charts.svg import BOTTOM, LETTER, PICTURE, RIGHT, RULE, TEXT, TOP, inside

__all__ = ["plane_chart"]

WIDTH, HEIGHT = 640.0, 420.0
DOTS = Markup('<path class="dots tone{}" d="{}"/>')
MOST_POINTS = 2000  # points of the picture; the script draws all


def plane_chart(x: np.ndarray, y: np.ndarray, codes: np.ndarray, *, x_label: str, y_label: str) -> Markup:
    """Points of each group in its tone.

    Parameters
    ----------
    x, y : arrays of shape (n,)
        NaN where a row has no place.
    codes : array of shape (n,)
        Group of each row; -1 where unknown.

    Examples
    --------
    >>> a = np.arange(4.0)
    >>> plane_chart(a, a, np.array([0, 0, 1, -1]), x_label="a", y_label="b").count("<path")
    3
    """
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    keep = keep[:: max(1, -(-len(keep) // MOST_POINTS))]
    x, y, codes = x[keep], y[keep], codes[keep]
    (x_low, x_high), (y_low, y_high) = _limits(x), _limits(y)
    y_ticks = ticks(y_low, y_high)
    labels = tick_labels(y_ticks)
    left, bottom = 12 + LETTER * max(map(len, labels), default=1), HEIGHT - BOTTOM
    across = left + (x - x_low) / (x_high - x_low) * (WIDTH - RIGHT - left)
    up = bottom - (y - y_low) / (y_high - y_low) * (bottom - TOP)
    parts = [TEXT.format("label", left, 16, "start", y_label)]
    for value, label in zip(y_ticks, labels, strict=True):
        at = bottom - (value - y_low) / (y_high - y_low) * (bottom - TOP)
        parts += [RULE.format("grid", left, at, WIDTH - RIGHT, at), TEXT.format("tick", left - 6, at + 4, "end", label)]
    x_ticks = ticks(x_low, x_high)
    for value, label in zip(x_ticks, tick_labels(x_ticks), strict=True):
        at = inside(left + (value - x_low) / (x_high - x_low) * (WIDTH - RIGHT - left), label, WIDTH)
        parts.append(TEXT.format("tick", at, bottom + 16, "middle", label))
    parts.append(RULE.format("axis", left, bottom, WIDTH - RIGHT, bottom))
    parts.append(TEXT.format("label x-title", (left + WIDTH - RIGHT) / 2, bottom + 32, "middle", x_label))
    for code in np.unique(codes):
        mine = codes == code
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(across[mine], up[mine], strict=True))
        parts.append(DOTS.format("_none" if code < 0 else int(code), dots))
    return PICTURE.format(WIDTH, HEIGHT, f"{y_label} by {x_label}", Markup().join(parts))


def _limits(values: np.ndarray) -> tuple[float, float]:
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin
