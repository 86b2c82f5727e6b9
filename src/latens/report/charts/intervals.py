"""Estimates with their standard errors, one below the other, as inline SVG."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import tick_labels, ticks
from latens.report.charts.svg import LETTER, N_TONES, PICTURE, RIGHT, RULE, TEXT, TONE_GROUP, TOP, WIDTH

__all__ = ["interval_chart"]

PITCH, BOTTOM = 26.0, 24.0
MOST_LETTERS = 36  # of a name
DOT = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3.6"/>')
BAND = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="currentColor" stroke-width="{}"/>')


def interval_chart(
    names: list[str],
    centres: np.ndarray,
    errors: np.ndarray,
    *,
    label: str,
    tones: list[int] | None = None,
    width: float = WIDTH,
) -> Markup:
    """A dot for each estimate, with a thick bar of one and a thin one of two standard errors, and a line at 0.

    An estimate whose error is not finite has a dot alone. `tones` number colours, and `label` says what is measured.

    Examples
    --------
    >>> chart = interval_chart(["a", "b"], np.array([1.0, 2.0]), np.array([0.1, np.nan]), label="gain")
    >>> chart.count("circle"), chart.count('stroke-width="4"')
    (2, 1)
    """
    names = [name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…" for name in names]
    tones = [0] * len(names) if tones is None else tones
    reach = np.nan_to_num(errors, nan=0.0)
    low, high = min(0.0, float(np.min(centres - 2 * reach))), max(0.0, float(np.max(centres + 2 * reach)))
    margin = 0.05 * (high - low) or 1.0
    low, high = low - margin, high + margin
    left = 14 + LETTER * max(map(len, names), default=1)
    scale = (width - left - RIGHT) / (high - low)
    bottom = TOP + len(names) * PITCH

    def place(value: float) -> float:
        return left + (value - low) * scale

    steps = ticks(low, high)
    parts = [TEXT.format("label", width - RIGHT, 16, "end", label)]
    for value, text in zip(steps, tick_labels(steps), strict=True):
        parts.append(RULE.format("grid", place(value), TOP, place(value), bottom))
        parts.append(TEXT.format("tick", place(value), bottom + 16, "middle", text))
    parts.append(RULE.format("axis", place(0.0), TOP, place(0.0), bottom))
    for i, (name, centre, error) in enumerate(zip(names, centres, errors, strict=True)):
        y = TOP + (i + 0.5) * PITCH
        drawn = Markup()
        for times, thick in ((2, 1.5), (1, 4)) if np.isfinite(error) else ():
            drawn += BAND.format(place(centre - times * error), y, place(centre + times * error), y, thick)
        parts.append(TEXT.format("tick", left - 8, y + 4, "end", name))
        parts.append(TONE_GROUP.format(tones[i] % N_TONES, drawn + DOT.format(place(centre), y)))
    return PICTURE.format(width, bottom + BOTTOM, label, Markup().join(parts))
