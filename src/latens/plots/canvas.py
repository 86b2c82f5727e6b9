"""Where a picture goes: the caller's Axes, or a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latens.system.optional_imports import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes_for"]


def axes_for(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """The given Axes, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot")
    new: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
    return new
