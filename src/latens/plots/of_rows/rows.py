"""Rows by their hidden values: as points, as swarms by group, or over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array.transfer import host
from latens.plots.canvas import axes_for
from latens.plots.fitted import component_names, component_number, fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["codes_of", "scores", "sources"]

MOST_POINTS = 5000
MOST_LEVELS = 10
N_BINS = 40  # of a swarm


def scores(
    model: Any,
    X: Any,
    components: Sequence[int | str] | None = None,
    by: Any = None,
    kind: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw hidden values of rows: two components as points, or several as swarms.

    Parameters
    ----------
    model : fitted estimator
        Anything with `transform`.
    X : as given to `fit`
    components : sequence of int or str
        Two for points, the first two otherwise; any number for swarms.
    by : array of shape (N,), optional
        What is known of each row; numbers colour by a scale, labels by a colour each.
    kind : "scatter" or "beeswarm", optional
        Points, or swarms where there is one component.
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
    >>> model = SimpleNamespace(transform=lambda X: X)
    >>> plots.scores(model, np.random.default_rng(0).normal(size=(9, 2)), by=list("aab") * 3).get_xlabel()
    '0'
    """
    if kind not in (None, "scatter", "beeswarm"):
        raise ValueError(f"kind={kind!r} is not one of 'scatter' and 'beeswarm'.")
    codes = codes_of(model, X)
    if components is None:
        components = (0,) if codes.shape[1] == 1 and kind != "scatter" else (0, 1)
        kind = "beeswarm" if len(components) == 1 else kind
    chosen = [component_number(model, component, codes.shape[1]) for component in components]
    names = component_names(model, codes.shape[1])
    keep = np.arange(len(codes))[:: max(1, -(-len(codes) // MOST_POINTS))]
    known = None if by is None else np.asarray(by, dtype=object)
    if known is not None and len(known) != len(codes):
        raise ValueError(f"by has {len(known)} entries for {len(codes)} rows; give one for each row.")
    codes, known = codes[keep], None if known is None else known[keep]
    if kind == "beeswarm":
        return _swarms(axes_for(ax), codes[:, chosen], [names[k] for k in chosen], known)
    if len(chosen) != 2:
        raise ValueError(f"components={tuple(components)!r}: points need two; choose two, or kind='beeswarm'.")
    ax = axes_for(ax)
    _points(ax, codes[:, chosen[0]], codes[:, chosen[1]], known)
    ax.set_xlabel(names[chosen[0]])
    ax.set_ylabel(names[chosen[1]])
    return ax


def sources(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw every component over the rows, taken as time points, one below the other.

    Parameters
    ----------
    model : fitted estimator
        Anything with `transform`; made for `NoisyICA`.
    X : as given to `fit`
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
    >>> len(plots.sources(SimpleNamespace(transform=lambda X: X), np.zeros((9, 3))).lines)
    3
    """
    codes = codes_of(model, X)
    k = codes.shape[1]
    step = 1.1 * max(float(np.max(np.ptp(codes, axis=0), initial=0.0)), 1e-300)
    ax = axes_for(ax, (8.0, 0.8 + 0.7 * k))
    for i, z in enumerate(codes.T):
        ax.plot(np.arange(len(z)), z - i * step, lw=0.7)
    ax.set_yticks(-step * np.arange(k), component_names(model, k))
    ax.set_xlabel("row")
    ax.margins(x=0)
    return ax


def codes_of(model: Any, X: Any) -> np.ndarray:
    answer = fitted(model, "transform", "this picture shows hidden values of rows.")(X)
    return np.asarray(answer if hasattr(answer, "iloc") else host(answer), dtype=np.float64)


def _groups(known: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Labels with their rows, the commonest first; the rest are one."""
    labels = np.array(["unknown" if value is None or value != value else str(value) for value in known])
    levels, counts = np.unique(labels, return_counts=True)
    order = [str(levels[i]) for i in np.argsort(-counts, kind="stable")]
    shown = order if len(order) <= MOST_LEVELS else order[: MOST_LEVELS - 1]
    groups = [(level, np.flatnonzero(labels == level)) for level in shown]
    return groups if len(shown) == len(order) else [*groups, ("others", np.flatnonzero(~np.isin(labels, shown)))]


def _numbers(known: np.ndarray) -> np.ndarray | None:
    if any(isinstance(value, str | bool) for value in known):
        return None
    try:
        x = np.array([np.nan if value is None else float(value) for value in known])
    except (TypeError, ValueError):
        return None
    return x if len(np.unique(x[np.isfinite(x)])) > MOST_LEVELS else None


def _points(ax: Axes, x: np.ndarray, y: np.ndarray, known: np.ndarray | None) -> None:
    style: dict[str, Any] = {"s": 10, "alpha": 0.7, "linewidths": 0}
    numbers = None if known is None else _numbers(known)
    if known is None:
        ax.scatter(x, y, **style)
    elif numbers is not None:
        ax.figure.colorbar(ax.scatter(x, y, c=numbers, cmap="viridis", **style), ax=ax)
    else:
        for label, rows in _groups(known):
            ax.scatter(x[rows], y[rows], label=label, **style)
        ax.legend(frameon=False, fontsize="small")


def _swarms(ax: Axes, codes: np.ndarray, names: list[str], known: np.ndarray | None) -> Axes:
    """Points of each component beside each other, spread where they are many."""
    groups = [("", np.arange(len(codes)))] if known is None else _groups(known)
    width = 0.8 / len(groups)
    for k in range(codes.shape[1]):
        for g, (label, rows) in enumerate(groups):
            z = codes[rows, k]
            centre = k - 0.4 + width * (g + 0.5)
            ax.scatter(
                centre + 0.45 * width * _offsets(z), z, s=5, color=f"C{g}", alpha=0.6, linewidths=0,
                label=label if k == 0 and label else None,
            )  # fmt: skip
    ax.set_xticks(np.arange(len(names)), names)
    ax.set_ylabel("score")
    if known is not None:
        ax.legend(frameon=False, fontsize="small")
    return ax


def _offsets(z: np.ndarray) -> np.ndarray:
    """Between -1 and 1, so that points of one height stand beside each other."""
    if not len(z):
        return z
    edges = np.linspace(z.min(), z.max() + 1e-300, N_BINS + 1)
    bins = np.clip(np.searchsorted(edges, z, side="right") - 1, 0, N_BINS - 1)
    most = np.bincount(bins).max()
    out = np.zeros(len(z))
    for b in np.unique(bins):
        here = np.flatnonzero(bins == b)
        out[here] = (np.arange(len(here)) - (len(here) - 1) / 2) / max(most / 2, 1)
    return out
