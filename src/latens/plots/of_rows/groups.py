"""Rows as points in the plane of two columns, coloured by cluster, under the ellipses of the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, feature_names, fitted
from latens.system.optional_imports import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["clusters"]

MOST_POINTS = 5000  # more would only fill the plane
N_BINS = 40


def clusters(
    model: Any, X: Any, columns: Sequence[int | str] = (0, 1), width: float = 2.0, ax: Axes | None = None
) -> Axes:
    """Draw rows in the colour of their most probable cluster, and an ellipse about each cluster's centre.

    Parameters
    ----------
    model : fitted estimator
        Anything with `means_`, `covariances_`, `covariance_type` and `predict`, of this library or of scikit-learn.
    X : array of shape (n, D)
        Rows; those that miss one of the two columns are not drawn.
    columns : (int or str, int or str)
        Which two columns, by number or name. Data of one column are drawn as a histogram.
    width : float
        Radius of the ellipses, in standard deviations of a cluster.
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
    >>> X = np.array([[0.0, 0.0], [5.0, 5.0]])
    >>> model = SimpleNamespace(means_=X, covariances_=np.ones(2), covariance_type="spherical")
    >>> model.predict = lambda X: np.arange(2)
    >>> len(plots.clusters(model, X).patches)
    2
    """
    means = np.asarray(fitted(model, "means_"), dtype=np.float64)  # (K, D)
    covariances = _matrices(model, means.shape)
    label = np.asarray(model.predict(X)).astype(int)
    x = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    x, label = x[:: -(-len(x) // MOST_POINTS)], label[:: -(-len(x) // MOST_POINTS)]
    names = feature_names(model, X) or [f"x{d}" for d in range(means.shape[1])]
    ax = axes_for(ax)
    if means.shape[1] == 1:
        return _histogram(ax, x[:, 0], label, means[:, 0], np.sqrt(covariances[:, 0, 0]), names[0])
    across, up = _chosen(columns, names)
    patches, pair = require("matplotlib.patches", "plot"), [across, up]
    for k, name in enumerate(component_names(model, len(means))):
        colour = f"C{k % 10}"
        mine = x[label == k][:, pair]
        mine = mine[np.isfinite(mine).all(axis=1)]
        ax.scatter(mine[:, 0], mine[:, 1], s=6, color=colour, alpha=0.6, linewidths=0, rasterized=True)
        spread, turn = np.linalg.eigh(covariances[k][np.ix_(pair, pair)])
        radii = 2 * width * np.sqrt(np.maximum(spread, 0.0))
        angle = float(np.degrees(np.arctan2(turn[1, 1], turn[0, 1])))
        centre = tuple(means[k, pair])
        ax.add_patch(
            patches.Ellipse(centre, radii[1], radii[0], angle=angle, fill=False, edgecolor=colour, linewidth=1.5)
        )
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": colour, "alpha": 0.85}
        ax.annotate(name, centre, ha="center", va="center", fontsize="small", bbox=box)
    ax.autoscale_view()
    ax.set_xlabel(names[across])
    ax.set_ylabel(names[up])
    return ax


def _matrices(model: Any, shape: tuple[int, int]) -> np.ndarray:
    """(K, D, D), whatever the covariance type."""
    (k, d), values = shape, np.asarray(fitted(model, "covariances_"), dtype=np.float64)
    kind = fitted(model, "covariance_type")
    if kind == "full":
        return values
    if kind == "tied":
        return np.broadcast_to(values, (k, d, d))
    each = values if kind == "diag" else np.repeat(values[:, None], d, axis=1)
    return np.asarray(each[:, :, None] * np.eye(d))


def _chosen(columns: Sequence[int | str], names: list[str]) -> tuple[int, int]:
    found = [names.index(c) if c in names else c for c in columns]
    if len(found) != 2 or not all(isinstance(c, int | np.integer) and -len(names) <= c < len(names) for c in found):
        raise ValueError(f"columns={tuple(columns)!r} are not two of the {len(names)} columns; give numbers or names.")
    return int(found[0]) % len(names), int(found[1]) % len(names)


def _histogram(ax: Axes, x: np.ndarray, label: np.ndarray, means: np.ndarray, sd: np.ndarray, name: str) -> Axes:
    seen = np.isfinite(x)
    groups = [x[seen & (label == k)] for k in range(len(means))]
    _, edges, _ = ax.hist(groups, bins=N_BINS, stacked=True, color=[f"C{k % 10}" for k in range(len(means))], alpha=0.6)
    at = np.linspace(edges[0], edges[-1], 400)
    for k, (mean, width) in enumerate(zip(means, sd, strict=True)):
        height = len(groups[k]) * (edges[1] - edges[0]) / (width * np.sqrt(2 * np.pi))
        ax.plot(at, height * np.exp(-0.5 * ((at - mean) / width) ** 2), color=f"C{k % 10}")
    ax.set_xlabel(name)
    ax.set_ylabel("rows")
    return ax
