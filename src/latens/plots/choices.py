"""Models beside each other: how far each is behind the best, and how many components to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ranking", "return_rates", "sweep"]


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


def sweep(result: Any, ax: Axes | None = None) -> Axes:
    """Draw the bound, or the log density of new rows, for each number of components.

    Parameters
    ----------
    result : what `latens.sweep` returned
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    numbers = np.array(list(result.models))
    heights = np.array(result.heights)
    ax = axes_for(ax)
    ax.errorbar(numbers, heights, yerr=2 * np.nan_to_num(result.errors), marker="o", capsize=3)
    if result.leader is not None:
        at = int(np.flatnonzero(numbers == result.leader)[0])
        ax.plot(numbers[at], heights[at], "o", markersize=11, fillstyle="none", color="C1")
    ax.set_xticks(numbers)
    ax.set_xlabel("components")
    ax.set_ylabel(result.label)
    return ax


def return_rates(result: Any, ax: Axes | None = None) -> Axes:
    """Draw how often each component returned in halves of the rows, above chance.

    Parameters
    ----------
    result : what `latens.stability` returned
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    places = np.arange(len(result.names))
    ax = axes_for(ax, (6.4, 1.2 + 0.35 * len(places)))
    ax.barh(places, result.return_rate)
    ax.set_yticks(places, result.names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("return rate above chance")
    return ax
