"""Models beside each other: how far each is behind the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ranking"]


def ranking(result: Any, ax: Axes | None = None) -> Axes:
    """Draw how far each model is behind the first, with two standard errors where they are known.

    Parameters
    ----------
    result : what `latens.compare` or `latens.suggest` returned
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    ranked = result.ranked
    places = np.arange(len(ranked.names))
    ax = axes_for(ax, (6.4, 1.2 + 0.35 * len(places)))
    ax.errorbar(ranked.differences, places, xerr=2 * np.nan_to_num(ranked.errors), fmt="o", capsize=3)
    ax.axvline(0.0, linewidth=0.8, color="0.6")
    ax.set_yticks(places, ranked.names)
    ax.invert_yaxis()
    ax.set_xlabel(f"{ranked.label}, nats behind the first")
    return ax
