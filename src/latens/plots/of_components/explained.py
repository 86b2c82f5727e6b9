"""How much of each view each factor explains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.fitted_parts import component_shares, has_fitted_parts
from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["variance_explained"]

MOST_CELLS = 120  # more numbers than this cannot be read


def variance_explained(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of each view's variance that each factor explains, in per cent.

    Columns of measurements are in units of their own standard deviation, as in `variance_explained_` and on the page;
    of other views it is the deviance.

    Parameters
    ----------
    model : fitted MultiViewFactorAnalysis, or what `latens.interop.read_mofa2` returns
        Anything with `layout_` and `explained_`; of factors, sources and on/off causes of one table, that table.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        One row for each view, its total beside its name, and one column for each factor. With several groups of rows,
        the views of the first group stand above those of the next.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from latens import plots
    >>> model = SimpleNamespace(
    ...     layout_=SimpleNamespace(views=("rna", "mut"), groups=()),
    ...     explained_={"per_factor": np.array([[[0.3, 0.1], [0.0, 0.2]]]), "total": np.array([[0.4, 0.2]])},
    ... )
    >>> [label.get_text() for label in plots.variance_explained(model).get_yticklabels()]
    ['rna (40 %)', 'mut (20 %)']
    """
    views, groups, values, totals = _shares(model)
    n_groups, n_views, k = values.shape
    ax = axes_for(ax, (1.8 + 0.45 * max(k, 6), 1.2 + 0.4 * max(n_groups * n_views, 3)))
    cells = values.reshape(n_groups * n_views, k)
    largest = max(float(np.max(cells, initial=0.0)), 1e-12)
    image = ax.imshow(cells, aspect="auto", interpolation="nearest", cmap="Greys", vmin=0, vmax=largest)
    unit = ",\ncolumns in their own sd" if has_fitted_parts(model) else ""
    ax.figure.colorbar(image, ax=ax, label=f"variance explained (%){unit}")
    ax.set_xticks(np.arange(k), component_names(model, k))
    ax.set_xlabel("factor")
    named = n_groups > 1
    ax.set_yticks(
        np.arange(n_groups * n_views),
        [
            f"{groups[g] + ': ' if named else ''}{view} ({totals[g, m]:.0f} %)"
            for g in range(n_groups)
            for m, view in enumerate(views)
        ],
    )
    for g in range(1, n_groups):
        ax.axhline(g * n_views - 0.5, color="k", lw=0.8)
    if cells.size <= MOST_CELLS:
        for (i, j), value in np.ndenumerate(cells):
            if value >= 0.5:
                tone = "white" if value > 0.6 * largest else "black"
                ax.text(j, i, f"{value:.0f}", ha="center", va="center", color=tone, fontsize="small")
    return ax


def _shares(model: Any) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Views, groups, and shares in per cent of each factor (G, M, K) and of all (G, M)."""
    own = component_shares(model)
    if own is not None and hasattr(model, "noise_variance_") and not hasattr(model, "layout_"):
        return ["all columns"], [], 100 * own[None, None, :], np.full((1, 1), 100 * own.sum())
    layout, explained = fitted(model, "layout_"), fitted(model, "explained_")
    if not explained:
        raise ValueError(f"{type(model).__name__} does not say what its factors explain; this picture needs it.")
    values, totals = (100 * np.asarray(explained[name], dtype=np.float64) for name in ("per_factor", "total"))
    return list(layout.views), list(layout.groups), values, totals
