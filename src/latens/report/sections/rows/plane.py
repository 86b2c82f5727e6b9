"""Section with the rows as points, their axes and colour to be chosen."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import number
from latens.report.charts.plane import plane_chart
from latens.report.content import Section
from latens.report.measures.plane import Axis, Colour, axes_of, colours_of, packed
from latens.report.subject import Entry

__all__ = ["rows_in_the_plane"]

MOST_NAME_LETTERS = 150_000  # of all rows together, on the page
PLANE = Markup('<div class="plane">{}</div>{}')
SWATCH = Markup('<span class="swatch tone{}"></span>{}')


def rows_in_the_plane(entry: Entry) -> Section | None:
    """Every row as a point; without the script, by the first two axes and the first colour."""
    sample = entry.sample
    if sample is None or entry.family == "regression" or entry.n_components == 0:
        return None
    axes, colours = axes_of(entry), colours_of(entry)
    if not axes:
        return None
    if len(axes) == 1:
        axes = [Axis("row", sample.index.astype(float)), axes[0]]
    colour = colours[0] if colours else Colour("none", [], np.full(len(sample), -1))
    chart = plane_chart(axes[0].values, axes[1].values, colour.codes, x_label=axes[0].name, y_label=axes[1].name)
    text = (
        f"All {number(len(sample))} rows."
        if sample.whole
        else (f"{number(len(sample))} of {number(sample.n_all)} rows, spread evenly over them.")
    )
    return Section(
        "Rows", text, body=PLANE.format(chart, _key(colour)), anchor="rows", data=_data(entry, axes, colours)
    )


def _key(colour: Colour) -> Markup:
    if not colour.levels:
        return Markup("")
    swatches = [SWATCH.format(code, level) for code, level in enumerate(colour.levels)]
    if np.any(colour.codes < 0):
        swatches.append(SWATCH.format("_none", "unknown"))
    return Markup('<p class="key static">{}: {}</p>').format(colour.name, Markup().join(swatches))


def _data(entry: Entry, axes: list[Axis], colours: list[Colour]) -> dict[str, object]:
    """Axes and groups as the script takes them; names of rows where they are few enough."""
    sample = entry.sample
    assert sample is not None
    names = sample.names
    if names is not None and sum(map(len, names)) > MOST_NAME_LETTERS:
        names = None
    return {
        "names": names,
        "first": None if names is not None else _steps(sample.index),
        "all": sample.n_all,
        "axes": [{"name": axis.name, "component": axis.component, **packed(axis.values)} for axis in axes],
        "colours": [
            {
                "name": colour.name,
                "levels": colour.levels,
                "ordered": colour.ordered,
                "codes": b64encode((colour.codes + 1).astype(np.uint8).tobytes()).decode("ascii"),
            }
            for colour in colours
        ],
    }


def _steps(index: np.ndarray) -> list[int] | None:
    """Places of the rows where they are not simply 0, 1, 2, ..."""
    return None if np.array_equal(index, np.arange(len(index))) else [int(i) for i in index]
