"""Pictures as files of their own: SVG that any viewer opens, without the page around it."""

from __future__ import annotations

import re

from markupsafe import Markup

from latens.report.content import Figure
from latens.report.page import style_sheet

__all__ = ["draw"]

ZOOM = 1.5  # pixels of a viewer for each unit of a chart
FONT = 'text { font-family: system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; }'
FILE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{:.0f}" height="{:.0f}" viewBox="{} {} {} {}">'
    '<style>{}</style><rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>{}</svg>\n'
)
OPENING = re.compile(r'<svg class="chart" viewBox="0 0 (\d+) (\d+)"[^>]*>')
MARGIN = 8


def draw(figure: Figure) -> str:
    """The figure as the text of an SVG file, in the colours of a light page.

    Examples
    --------
    >>> from latens.report.charts.svg import bar_chart
    >>> import numpy as np
    >>> draw(Figure(bar_chart(["a"], np.ones(1), label="usage"))).startswith("<svg xmlns=")
    True
    """
    picture = figure.body if figure.drawing is None else figure.drawing
    opening = OPENING.match(picture)
    if opening is None:
        raise ValueError(f"the figure {figure.name!r} is no SVG chart; give it a drawing, such as a tile sheet.")
    colours = _light_palette()
    # viewers other than browsers know no CSS variables
    style = re.sub(r"var\(--(\w+)\)", lambda use: colours[use[1]], style_sheet("charts") + FONT)
    width, height = (int(side) + 2 * MARGIN for side in opening.groups())
    box = (-MARGIN, -MARGIN, width, height)
    content = Markup(picture[opening.end() : -len("</svg>")])
    return FILE.format(ZOOM * width, ZOOM * height, *box, Markup(style), *box, colours["paper"], content)


def _light_palette() -> dict[str, str]:
    light, _, _ = style_sheet("palette").partition("}")
    return dict(re.findall(r"--(\w+): (#\w+)", light))
