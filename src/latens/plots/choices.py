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
    ranked = _of_result(result, "ranked", "ranking", "latens.compare(models) or latens.suggest(X)")
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
    _of_result(result, "heights", "sweep", "latens.sweep(model, X)")
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
    rates = _of_result(result, "return_rate", "return_rates", "latens.stability(model, X)")
    places = np.arange(len(result.names))
    ax = axes_for(ax, (6.4, 1.2 + 0.35 * len(places)))
    ax.barh(places, rates)
    ax.set_yticks(places, result.names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("return rate above chance")
    return ax


def _of_result(result: Any, attribute: str, picture: str, made_by: str) -> Any:
    """What a picture reads of a result, or an error that says where the result comes from."""
    if not hasattr(result, attribute):
        raise ValueError(
            f"{type(result).__name__} is not what plots.{picture} draws: give it what {made_by} returned, as in "
            f"plots.{picture}({made_by.split(' or ')[0]})."
        )
    return getattr(result, attribute)
