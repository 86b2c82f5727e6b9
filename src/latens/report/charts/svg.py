"""Charts as inline SVG. Colours come from the page's style sheet, so they follow its light or dark scheme.

Every text and number enters through Markup.format, which escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from latens.report.charts.images.pixels import Scale, data_uri
from latens.report.charts.numbers import log_ticks, number, tick_labels, ticks

__all__ = ["Line", "bar_chart", "heat_map", "line_chart", "picture_rows"]

WIDTH, HEIGHT = 440.0, 250.0  # user units; a chart is about this many pixels wide on a page
WIDTH_OF_PAGE = 960.0  # of a chart that has the width of the page
TOP, RIGHT, BOTTOM = 30.0, 12.0, 38.0
KEY_HEIGHT, SWATCH = 18.0, 20.0  # of the key that tells curves apart
N_TONES = 6
LETTER = 7.0  # width of a letter of a label; the widest of the usual fonts
EDGE = 3.0  # a dot on the border of the plot is drawn whole
MOST_POINTS = 600  # more than a chart has pixels
MOST_DOTS, MOST_DOTTED = 40, 6  # points of a curve, and curves, beyond which dots would only thicken them
LONGEST_NAME = 22

PICTURE = Markup('<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>')
BROAD_BOX = Markup(
    '<div class="scroll broad">{}</div>'
)  # scrolls on a narrow screen, where its names would be too small
CLIPPED_AREA = Markup('<svg x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" overflow="hidden">{}</svg>')
TEXT = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
RULE = Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
TONE_GROUP = Markup('<g class="tone{}">{}</g>')
CURVE = Markup('<polyline class="{}" points="{}"/>')
DOT = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.4"/>')
BAR = Markup('<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5"/>')
FRAME = Markup('<rect class="frame" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
IMAGE = Markup(
    '<image class="pixels" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" preserveAspectRatio="none" href="{}"/>'
)
SLANTED_TEXT = Markup(
    '<text class="tick" text-anchor="end" transform="translate({:.1f} {:.1f}) rotate(-60)"><title>{}</title>{}</text>'
)


@dataclass(frozen=True)
class Line:
    """One curve: x and y of shape (n,).

    A faint one stays in the background, a dashed one is no data but something to compare with. Names appear in
    a key above the chart, each once: curves of one kind share a name and a tone.
    """

    x: np.ndarray
    y: np.ndarray
    faint: bool = False
    name: str = ""
    tone: int = 0
    dashed: bool = False

    @property
    def style(self) -> str:
        return "curve" + " faint" * self.faint + " dashed" * self.dashed


def line_chart(
    lines: list[Line],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
    log_y: bool = False,
    whole_y: bool = False,
    log_x: bool = False,
) -> Markup:
    """Curves over a common x axis, on linear or logarithmic axes; what lies outside `y_range` is cut off."""
    if log_x:
        lines = [replace(line, x=np.log10(line.x)) for line in lines]
    first, last = _extent([line.x for line in lines])
    lines = [_thinned(_finite(line, log_y)) for line in lines]
    low, high = _padded(y_range or _extent([line.y for line in lines]), whole_y)
    places, labels = log_ticks(low, high) if log_y else _linear_ticks(low, high, whole_y)
    left = 12 + LETTER * max(map(len, labels), default=1)
    key, below = _key(lines, left)
    top, bottom = TOP + below, HEIGHT + below - BOTTOM
    width, height = WIDTH - left - RIGHT, bottom - top
    x_scale, y_scale = width / ((last - first) or 1.0), height / (high - low)

    parts = [*key, TEXT.format("label", left, below + 16, "start", y_label)]
    for place, label in zip(places, labels, strict=True):
        y = top + (high - place) * y_scale
        parts += [RULE.format("grid", left, y, WIDTH - RIGHT, y), TEXT.format("tick", left - 6, y + 4, "end", label)]
    for place, label in zip(*_steps(first, last, log_x), strict=True):
        parts.append(TEXT.format("tick", inside(left + (place - first) * x_scale, label), bottom + 16, "middle", label))
    parts.append(RULE.format("axis", left, bottom, WIDTH - RIGHT, bottom))
    parts.append(TEXT.format("label", left + width / 2, bottom + 32, "middle", x_label))

    bold = [line for line in lines if line.style == "curve"]
    dotted = len(bold) <= MOST_DOTTED and all(len(line.x) <= MOST_DOTS for line in bold)
    curves = Markup().join(
        _curve(line, EDGE + (line.x - first) * x_scale, (high - line.y) * y_scale, dotted) for line in lines
    )
    parts.append(CLIPPED_AREA.format(left - EDGE, top, width + 2 * EDGE, height, curves))
    return PICTURE.format(WIDTH, HEIGHT + below, f"{y_label} by {x_label}", Markup().join(parts))


def bar_chart(
    names: list[str], values: np.ndarray, *, label: str, marks: np.ndarray | None = None, reach: float = 0.0
) -> Markup:
    """One horizontal bar for each name, its value beside it; `marks` (same length, NaN for none) are drawn across.

    The longest bar has the full length, or a bar of `reach` where that is more: charts side by side then compare.
    """
    names = [shortened(name) for name in names]
    pitch = 24.0 if len(names) <= 16 else 17.0
    left = 12 + LETTER * max(map(len, names), default=1)
    room = WIDTH - left - 62  # the value stands to the right of the longest bar
    reach = float(np.nanmax(np.concatenate([values, [] if marks is None else marks]), initial=reach)) or 1.0
    parts = [TEXT.format("label", left, 16, "start", label)]
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        top = TOP - 4 + i * pitch
        length = room * max(float(value), 0.0) / reach
        end = length
        parts.append(BAR.format(left, top + 0.16 * pitch, length, 0.68 * pitch))
        if marks is not None and np.isfinite(marks[i]):
            mark = room * float(marks[i]) / reach
            end = max(length, mark)
            parts.append(RULE.format("mark", left + mark, top + 2, left + mark, top + pitch - 2))
        parts.append(TEXT.format("tick", left - 6, top + pitch / 2 + 4, "end", name))
        parts.append(TEXT.format("value", left + end + 6, top + pitch / 2 + 4, "start", number(value.item())))
    height = TOP + len(names) * pitch
    parts.append(RULE.format("axis", left, TOP - 4, left, height - 4))
    return PICTURE.format(WIDTH, height, label, Markup().join(parts))


def heat_map(values: np.ndarray, rows: list[str], columns: list[str] | None, scale: Scale) -> Markup:
    """A table of shape (K, D) as coloured cells, with names where they can be read."""
    rows = [shortened(name) for name in rows]
    width = 2 * WIDTH  # twice a chart: heat maps take the whole page
    left = 12 + max(map(breadth, rows), default=LETTER)
    pitch = 24.0 if len(rows) <= 16 else 15.0
    bottom = len(rows) * pitch
    parts = [
        IMAGE.format(left, 1, width - left - 1, bottom, data_uri(scale.paint(values))),
        FRAME.format(left, 1, width - left - 1, bottom),
    ]
    for i, name in enumerate(rows):
        parts.append(TEXT.format("tick", left - 6, (i + 0.5) * pitch + 4, "end", name))
    margin = 8.0
    if columns is not None:
        margin = 16 + 0.87 * LETTER * max(len(shortened(name)) for name in columns)
        step = (width - left) / len(columns)
        for j, name in enumerate(columns):
            parts.append(SLANTED_TEXT.format(left + (j + 0.5) * step + 4, bottom + 12, name, shortened(name)))
    return BROAD_BOX.format(PICTURE.format(width, bottom + margin, "components", Markup().join(parts)))


def picture_rows(colours: np.ndarray, names: list[str], *, wide: bool = False) -> Markup:
    """Rows of pixels (K, n, 3), each with its name before it; `wide` has the width of the page, else half of it."""
    names = [shortened(name, 30) for name in names]
    left, pitch = 12 + max(map(breadth, names), default=LETTER), 18.0
    width, bottom = WIDTH_OF_PAGE if wide else WIDTH, len(names) * pitch
    parts = [
        IMAGE.format(left, 1, width - left - 1, bottom, data_uri(colours)),
        FRAME.format(left, 1, width - left - 1, bottom),
    ]
    parts += [TEXT.format("tick", left - 6, (i + 0.5) * pitch + 4, "end", name) for i, name in enumerate(names)]
    return PICTURE.format(width, bottom + 3, "rows from left to right", Markup().join(parts))


def breadth(text: str) -> float:
    """About how wide a label is; capitals take more room."""
    return 0.97 * LETTER * len(text) + 2.5 * sum(map(str.isupper, text))


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _steps(first: float, last: float, log_x: bool) -> tuple[list[float], list[str]]:
    """Where to label the x axis; a logarithmic one runs over logarithms to base ten and shows the numbers."""
    if log_x and last > first:
        return log_ticks(first, last)
    steps = ticks(first, last, whole=True) if last > first else [first]
    if len(steps) < 2 and last > first:  # shares and other numbers below 1
        steps = ticks(first, last)
    return steps, tick_labels([10**step for step in steps] if log_x else steps)


def _linear_ticks(low: float, high: float, whole: bool) -> tuple[list[float], list[str]]:
    places = ticks(low, high, whole=whole)
    return places, tick_labels(places)


def _finite(line: Line, log_y: bool) -> Line:
    """Only points that can be drawn; on a logarithmic axis, y becomes its logarithm to base ten."""
    keep = np.isfinite(line.y) & ((line.y > 0) if log_y else True)
    y = line.y[keep]
    return replace(line, x=line.x[keep], y=np.log10(y) if log_y else y)


def _thinned(line: Line) -> Line:
    if len(line.x) <= MOST_POINTS:
        return line
    keep = np.unique(np.linspace(0, len(line.x) - 1, MOST_POINTS).round().astype(int))
    return replace(line, x=line.x[keep], y=line.y[keep])


def _extent(arrays: list[np.ndarray]) -> tuple[float, float]:
    values = np.concatenate(arrays) if arrays else np.zeros(0)
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _padded(limits: tuple[float, float], whole: bool) -> tuple[float, float]:
    """Room above and below, so that no curve runs along the edge."""
    low, high = limits
    margin = 0.06 * (high - low) or (0.6 if whole else 0.05 * abs(low) or 1.0)
    return low - margin, high + margin


def _curve(line: Line, x: np.ndarray, y: np.ndarray, dotted: bool) -> Markup:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    drawn = CURVE.format(line.style, points)
    if dotted and line.style == "curve":
        drawn += Markup().join(DOT.format(a, b) for a, b in zip(x, y, strict=True))
    return TONE_GROUP.format(line.tone % N_TONES, drawn)


def inside(x: float, label: str, width: float = WIDTH) -> float:
    """Where the middle of a label stands that belongs to x and must not leave the picture on the right."""
    return min(x, width - LETTER * len(label) / 2)


def _key(lines: list[Line], left: float) -> tuple[list[Markup], float]:
    """Each name once with a stroke of its curve, data first, in rows above the chart; and the height they take."""
    parts, x, y = list[Markup](), left, 0.0
    named = sorted(({line.name: line for line in lines if line.name}).values(), key=lambda line: line.style != "curve")
    for line in named:
        width = SWATCH + 6 + breadth(line.name) + 12
        if x > left and x + width > WIDTH:
            x, y = left, y + KEY_HEIGHT
        stroke = CURVE.format(line.style, f"{x:.1f},{y + 10:.1f} {x + SWATCH:.1f},{y + 10:.1f}")
        text = TEXT.format("value", x + SWATCH + 6, y + 14, "start", line.name)
        parts += [TONE_GROUP.format(line.tone % N_TONES, stroke), text]
        x += width
    return parts, y + KEY_HEIGHT + 4 if parts else 0.0
