"""The strongest columns of components: of one as bars with their signs, of all as a table of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, component_number
from latens.plots.strengths import strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["loadings", "top_features"]

PLUS, MINUS = "#b2182b", "#2166ac"
MOST_CELLS = 240  # whose numbers can be read


def loadings(
    model: Any, component: int | str = 0, n: int = 20, view: str | None = None, X: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the strongest columns of one component as bars, red upwards and blue downwards.

    Each column is in units of its own standard deviation, as in `summary()` and on the page.

    Parameters
    ----------
    model : fitted estimator
        Anything with `components_` or `mixing_`.
    component : int or str
        Which, by number or name.
    n : int
        How many columns, the strongest first.
    view : str, optional
        Which view of a model of several; all side by side otherwise.
    X : array or data frame of shape (N, D), optional
        Its standard deviations become the unit of each column where the model does not know them.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from latens import plots
    >>> ax = plots.loadings(SimpleNamespace(components_=np.array([[1.0, -3.0, 2.0]])), n=2)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x1', 'x2']
    """
    found = strengths(model, view, X)
    k = component_number(model, component, len(found.values))
    row, columns = found.values[k], found.columns
    order = found.strongest(k, n)
    ax = axes_for(ax, (5.0, 0.6 + 0.26 * len(order)))
    ax.barh(np.arange(len(order)), row[order], color=[PLUS if row[d] > 0 else MINUS for d in order])
    ax.set_yticks(np.arange(len(order)), [columns[d] for d in order])
    ax.invert_yaxis()
    ax.axvline(0, color="k", lw=0.8)
    ax.set_xlabel(found.unit)
    ax.set_title(component_names(model, len(found.values))[k])
    return ax


def top_features(model: Any, n: int = 5, view: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the strongest columns of every component: a row for each column, a column for each component.

    Each column is in units of its own standard deviation, as in `summary()` and on the page.

    Parameters
    ----------
    model : fitted estimator
        Anything with `components_` or `mixing_`.
    n : int
        Columns of each component.
    view : str, optional
        Which view of a model of several; all otherwise.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from latens import plots
    >>> ax = plots.top_features(SimpleNamespace(components_=np.eye(3)[:2]), n=1)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x0', 'x1']
    """
    found = strengths(model, view)
    values, columns = found.values, found.columns
    keep = list(dict.fromkeys(d for k in range(len(values)) for d in found.strongest(k, n)))
    shown = values[:, keep].T  # (columns, K)
    largest = max(float(np.max(np.abs(shown), initial=0.0)), np.finfo(float).tiny)
    ax = axes_for(ax, (1.6 + 0.7 * len(values), 0.8 + 0.24 * len(keep)))
    image = ax.imshow(shown, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.figure.colorbar(image, ax=ax, label=found.unit)
    ax.set_yticks(np.arange(len(keep)), [columns[d] for d in keep])
    ax.set_xticks(np.arange(len(values)), component_names(model, len(values)), rotation=45, ha="right")
    if shown.size <= MOST_CELLS:
        for (i, j), value in np.ndenumerate(shown):
            strong = abs(value) > 0.6 * largest
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=7, color="white" if strong else "black")
    return ax
