"""The data behind a fit: what is there and what is missing, and entries in the order of a component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.estimators.fitted_parts import entries_of, has_fitted_parts
from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, component_number, feature_names, loadings_table
from latens.plots.of_rows.rows import codes_of
from latens.plots.strengths import strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["data_heatmap", "data_overview"]

MOST_ROWS = 1000


def data_heatmap(model: Any, X: Any, component: int | str = 0, n: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the entries of a component's strongest columns, rows in the order of its values.

    Parameters
    ----------
    model : fitted estimator
    X : as given to `fit`
    component : int or str
        Which, by number or name.
    n : int
        How many columns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        Each column about its mean in its own sd, red above and blue below; grey where missing.

    Examples
    --------
    >>> import latens
    >>> from latens import plots
    >>> X, _ = latens.datasets.make_factor_model(50, n_features=5, n_components=1, random_state=0)
    >>> plots.data_heatmap(latens.FactorAnalysis(1).fit(X), X, n=3).get_xlabel()
    'rows by factor0'
    """
    values, columns = loadings_table(model)
    k = component_number(model, component, len(values))
    x, codes = _entries(model, X), codes_of(model, X)[:, k]
    spread = np.nanstd(x, axis=0)
    found = strengths(model, X=X).values
    strength = found[k] if found.shape == values.shape else _separation(x, codes, spread)
    top = np.argsort(-np.abs(strength), kind="stable")[:n]
    top = top[np.argsort(-strength[top], kind="stable")]
    order = np.argsort(codes, kind="stable")
    order = order[:: max(1, -(-len(order) // MOST_ROWS))]
    z = (x[:, top] - np.nanmean(x[:, top], axis=0)) / np.where(spread[top] > 0, spread[top], 1.0)
    ax = axes_for(ax, (7.0, 0.8 + 0.26 * len(top)))
    ax.set_facecolor("0.85")
    image = ax.imshow(z[order].T, aspect="auto", interpolation="nearest", cmap="RdBu_r", vmin=-2.5, vmax=2.5)
    ax.figure.colorbar(image, ax=ax, label="sd from the column's mean")
    ax.set_yticks(np.arange(len(top)), [columns[d] for d in top])
    ax.set_xticks([])
    ax.set_xlabel(f"rows by {component_names(model, len(values))[k]}")
    return ax


def data_overview(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw which rows show which columns, or which views where there are several.

    Parameters
    ----------
    model : fitted estimator
    X : as given to `fit`
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        Rows that show the same stand together; the share that is there stands behind each name.

    Examples
    --------
    >>> import latens
    >>> import numpy as np
    >>> from latens import plots
    >>> X, _ = latens.datasets.make_factor_model(50, n_features=3, n_components=1, random_state=0)
    >>> X[:10, 1] = np.nan
    >>> ax = plots.data_overview(latens.FactorAnalysis(1, prior="ard").fit(X), X)
    >>> ax.get_yticklabels()[1].get_text()
    'x1 (80 %)'
    """
    there = np.isfinite(_entries(model, X))
    layout = getattr(model, "layout_", None)
    if layout is not None and len(layout.views) > 1:
        there = np.stack([there[:, at].any(axis=1) for at in layout.bounds], axis=1)
        names = list(layout.views)
    else:
        named = feature_names(model, X) if layout is None else layout.features[0]
        names = list(named or [f"x{d}" for d in range(there.shape[1])])
    order = np.lexsort(there.T[::-1])[::-1]
    order = order[:: max(1, -(-len(order) // MOST_ROWS))]
    ax = axes_for(ax, (7.0, 0.8 + 0.26 * len(names)))
    ax.imshow(there[order].T, aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=1.4)
    shares = there.mean(axis=0)
    labels = [f"{name} ({100 * share:.0f} %)" for name, share in zip(names, shares, strict=True)]
    ax.set_yticks(np.arange(len(names)), labels)
    ax.set_xticks([])
    ax.set_xlabel(f"{len(there):,} rows")
    return ax


def _separation(x: np.ndarray, codes: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """(D,), how far the mean of a class's members is from that of all rows; of categories, of the numbers of levels."""
    weight = np.where(np.isfinite(x), codes[:, None], 0.0)
    inside = np.sum(np.nan_to_num(x) * weight, axis=0) / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    gap = inside - np.nanmean(x, axis=0)
    return np.asarray(np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0))


def _entries(model: Any, X: Any) -> np.ndarray:
    """(N, D), NaN where missing."""
    if has_fitted_parts(model) and hasattr(model, "transform"):
        return np.asarray(entries_of(model, X))
    parts = list(X.values()) if isinstance(X, Mapping) else [X]
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)
