"""What each component looks like: small images where rows are images, a heat map otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, feature_names, image_shape, is_signed, loadings
from latens.plots.strengths import strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["components"]

MOST_COLUMN_LABELS = 40  # more names than this along one axis cannot be read


def components(
    model: Any, X: Any = None, shape: Sequence[int] | None = None, ax: Axes | None = None, view: str | None = None
) -> Axes:
    """Draw the components.

    Parameters
    ----------
    model : fitted estimator
        Anything with `components_` of shape (K, D), or `mixing_` of shape (D, K).
    X : data frame, optional
        Gives names to the columns where the fit did not; its values are not used.
    shape : (int, int), optional
        Height and width of a row drawn as an image. Without it, rows are images if D is a square and the
        columns have no names, and the components are a heat map otherwise.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.
    view : str, optional
        Which view to draw of a model of several.

    Returns
    -------
    matplotlib Axes
        All components share one colour scale: grey from 0 for nonnegative ones, blue through white (0) to
        red for signed ones. Images are in data units, the columns of a heat map each in units of its own standard
        deviation, as in `summary()` and on the page; its scale says which.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from latens import plots
    >>> ax = plots.components(SimpleNamespace(components_=np.eye(16)[:3]))
    >>> [text.get_text() for text in ax.texts]
    ['0', '1', '2']
    """
    found = loadings(model)
    if isinstance(found, dict):
        view = next(iter(found)) if view is None and len(found) == 1 else view
        if view not in found:
            raise ValueError(f"view={view!r}: the model has the views {', '.join(map(repr, found))}; choose one.")
        columns: list[str] | None = list(model.layout_.features[model.layout_.views.index(view)])
        found = found[view]
    else:
        columns = feature_names(model, X)
    values = np.asarray(found, dtype=np.float64)  # (K, D)
    size = image_shape(values.shape[1], shape, named=columns is not None or hasattr(model, "columns_"))
    names = component_names(model, len(values))
    if size is not None:
        return _images(values, names, size, ax)
    table = strengths(model, view)
    if hasattr(model, "columns_"):  # levels of classes are columns
        columns = table.columns
    return _heat_map(table.values, names, columns, table.unit, ax)


def _images(values: np.ndarray, names: list[str], size: tuple[int, int], ax: Axes | None) -> Axes:
    """All images in one array, in a grid, with a margin that matplotlib leaves blank."""
    height, width = size
    gap = max(1.0, height / 4)  # room for a name above each image
    across = max(1, min(len(values), math.ceil(math.sqrt(1.6 * len(values) * height / width))))
    down = math.ceil(len(values) / across)
    ax = axes_for(ax, (1.3 * across, 1.6 * down))
    colours = _colours(values)
    for i, (image, name) in enumerate(zip(values, names, strict=True)):
        left, top = (i % across) * (width + gap / 2), (i // across) * (height + gap)
        ax.imshow(image.reshape(size), extent=(left, left + width, top + height, top), **colours)
        ax.text(left + width / 2, top - gap / 8, name, ha="center", va="bottom", fontsize="small")
        ax.plot(
            [left, left + width, left + width, left, left], [top, top, top + height, top + height, top], "k", lw=0.5
        )
    ax.set_xlim(-gap / 4, across * (width + gap / 2) - gap / 4)
    ax.set_ylim(down * (height + gap) - gap / 2, -gap)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _heat_map(values: np.ndarray, names: list[str], columns: list[str] | None, unit: str, ax: Axes | None) -> Axes:
    k, d = values.shape
    ax = axes_for(ax)
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **_colours(values))
    ax.figure.colorbar(image, ax=ax, label=unit)
    ax.set_yticks(np.arange(k), names)
    ax.set_ylabel("component")
    if columns is not None and len(columns) == d <= MOST_COLUMN_LABELS:
        ax.set_xticks(np.arange(d), columns, rotation=90)
    else:
        ax.set_xlabel("column")
    return ax


def _colours(values: np.ndarray) -> dict[str, Any]:
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    return (
        {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
        if is_signed(values)
        else {"cmap": "Greys", "vmin": 0, "vmax": largest}
    )
