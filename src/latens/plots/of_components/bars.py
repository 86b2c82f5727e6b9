"""One bar for each component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.fitted_parts import component_shares
from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["usage"]


MOST_LETTERS = 42  # of names that stand side by side below the bars


def usage(model: Any, ax: Axes | None = None) -> Axes:
    """Draw how often each component is switched on, how large each cluster is, or what each factor explains.

    Parameters
    ----------
    model : fitted estimator
        Anything with `usage_` or `weights_` of shape (K,); of other estimators the shares of `summary()`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from latens import plots
    >>> len(plots.usage(SimpleNamespace(usage_=[0.3, 0.2])).patches)
    2
    """
    what = "weights_" if hasattr(model, "weights_") else "usage_"
    if not hasattr(model, what) and component_shares(model) is not None:
        shares, label = np.asarray(component_shares(model)), "share of variance (columns in their own sd)"
    else:
        shares = np.asarray(fitted(model, what), dtype=np.float64)  # (K,)
        label = "usage" if what == "usage_" else "share of rows"
    names = component_names(model, len(shares))
    ax = axes_for(ax)
    ax.bar(np.arange(len(shares)), shares)
    crowded = sum(map(len, names)) > MOST_LETTERS
    ax.set_xticks(np.arange(len(shares)), names, rotation=90 if crowded else 0)
    ax.set_xlabel("component")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=0)
    return ax
