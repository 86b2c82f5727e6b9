"""The bound over the iterations of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for
from latens.plots.fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bound"]


def bound(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the bound (ELBO, in nats) at every iteration.

    Parameters
    ----------
    model : fitted estimator
        Anything with `elbo_history_` of shape (n_iter,).
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from latens import plots
    >>> plots.bound(SimpleNamespace(elbo_history_=[-90.0, -50.0, -48.0])).get_ylabel()
    'bound (nats)'
    """
    history = np.asarray(fitted(model, "elbo_history_"), dtype=np.float64)  # (n_iter,)
    ax = axes_for(ax)
    ax.plot(np.arange(1, len(history) + 1), history, marker="." if len(history) < 30 else None)
    ax.set_xlabel("iteration")
    ax.set_ylabel("bound (nats)")
    ax.margins(x=0.02)
    return ax
