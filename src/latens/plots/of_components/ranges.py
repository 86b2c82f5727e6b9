"""Estimates with their intervals, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["intervals"]

LEAST_RATIO_OF_LOGARITHMS = 100.0  # ratio of positive numbers from which their logarithms are drawn


def intervals(
    model: Any, X: Any = None, quantities: Any = None, components: Any = None, n: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw published numbers with their intervals; what is not sound is grey and dashed.

    Parameters
    ----------
    model : fitted estimator, or the table that its `intervals` returned
    X : as given to `fit`, optional
        For models that do not keep sums in place of rows.
    quantities, components
        Which, as in `intervals`.
    n : int
        How many at most, the first of the table.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import latens
    >>> from latens import plots
    >>> X, _ = latens.datasets.make_factor_model(200, n_features=4, n_components=1, random_state=0)
    >>> ax = plots.intervals(latens.FactorAnalysis(1).fit(X), quantities="noise_variance")
    >>> len(ax.get_yticklabels())
    4
    """
    table = model if hasattr(model, "rows") else model.intervals(X, quantities=quantities, components=components)
    rows = table.rows[:n]
    if not rows:
        raise ValueError("there are no intervals to draw; see the `quantities` and `components` that were asked for.")
    names = []
    ax = axes_for(ax, (6.0, 0.8 + 0.24 * len(rows)))
    for i, (parameter, component, feature, view, estimate, _, lower, upper, sound, _) in enumerate(rows):
        names.append(" ".join(part for part in (parameter, component, view, feature) if part))
        colour, style = ("C0", "-") if sound else ("0.55", "--")
        if np.isfinite([lower, upper]).all():
            ax.plot([lower, upper], [i, i], color=colour, ls=style, lw=1.8)
        ax.plot(estimate, i, "o", color=colour, ms=4)
    ax.set_yticks(np.arange(len(rows)), names, fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel(f"estimate and interval ({table.method})")
    ax.grid(axis="x", alpha=0.3)
    ends = np.array([row[i] for row in rows for i in (4, 6, 7)], dtype=float)
    ends = ends[np.isfinite(ends)]
    if ends.min() > 0 and ends.max() > LEAST_RATIO_OF_LOGARITHMS * ends.min():
        ax.set_xscale("log")
    return ax
