"""Whether predictions keep their word, as a curve beside the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.diagnose.hidden_entries import filled_rows, hide_some, measured, of_text
from latens.estimators.fitted_parts import entries_of
from latens.metrics import coverage, expected_calibration_error, reliability
from latens.plots.canvas import axes_for
from latens.plots.fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration"]

LEVELS = np.linspace(0.05, 0.95, 19)
MOST_ROWS = 1000  # in which entries are hidden
LARGEST_DOT = 220.0  # squared points


def calibration(
    model: Any, X: Any = None, y: Any = None, n_bins: int = 10, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often predictions came true against how sure they were; on the diagonal they keep their word.

    Of entries that are predicted as probabilities: accuracy in bins of the probability of the likelier value, with
    twice its standard error and dots as large as the bins are full. Of numbers: share inside central Gaussian intervals
    of each level. Below the diagonal the predictions are too sure.

    Parameters
    ----------
    model : fitted estimator, or what a posterior of weights predicted, or array of probabilities (N, C) or (N,)
        A regression predicts its targets; every other estimator is shown rows of which a tenth of the entries are
        hidden, and fills them.
    X : array, data frame or dict of views
        Rows like those of `fit`; beside predictions, the true classes from 0 on, or the targets.
    y : array of shape (N,), optional
        Targets of a regression.
    n_bins : int
        Of equal width; for classes only.
    label : str, optional
        Name in the legend; the expected calibration error, or the coverage at 95 %, is added to it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise. Several predictions may share one.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from latens import plots
    >>> plots.calibration(np.array([0.9, 0.8, 0.7, 0.9]), [1, 1, 0, 1]).get_ylabel()
    'share that is right'
    """
    if hasattr(model, "get_params"):
        return _of_estimator(model, X, y, n_bins, label, ax)
    true = y if X is None else X
    if true is None:
        raise ValueError("calibration needs what came true: calibration(prediction, y), or calibration(model, X).")
    if hasattr(model, "sample") and hasattr(model, "predict"):
        raise ValueError(
            f"{type(model).__name__} is a posterior of weights; give what it predicts and the truth: "
            "calibration(posterior.predict(loader), y)."
        )
    if hasattr(model, "mean") and hasattr(model, "variance"):
        return _coverage(model.mean, model.variance, true, label, ax)
    return _reliability(getattr(model, "probabilities", model), true, n_bins, label, ax)


def _of_estimator(model: Any, X: Any, y: Any, n_bins: int, label: str | None, ax: Axes | None) -> Axes:
    """Targets of a regression, or hidden entries of rows."""
    name = type(model).__name__
    if X is None:
        raise ValueError(f"calibration of {name} needs rows: calibration(model, X{', y' * hasattr(model, 'coef_')}).")
    if hasattr(model, "coef_std_"):
        if y is None:
            raise ValueError(f"calibration of {name} needs targets: calibration(model, X, y).")
        mean, std = model.predict(X, return_std=True)
        return _coverage(np.asarray(mean), np.asarray(std) ** 2, np.asarray(y, dtype=np.float64), label, ax)
    fitted(model, "posterior_")
    rows = entries_of(model, X)
    rows = rows[:: max(1, -(-len(rows) // MOST_ROWS))]
    hidden = hide_some(rows)
    binary = bool(getattr(type(model), "binary", False))
    if not binary:
        hidden &= measured(model, rows.shape[1])
    answer = filled_rows(model, np.where(hidden, np.nan, rows)) if hidden.any() and not of_text(model) else None
    if answer is None:
        raise ValueError(
            f"calibration of {name} hides entries and fills them, which needs columns of numbers, or of 0 and 1, and "
            "rows that can be filled without groups or exposures; for others: calibration(probabilities, y)."
        )
    mean, std = answer
    if binary:
        return _reliability(mean[hidden], rows[hidden].astype(int), n_bins, label, ax)
    return _coverage(mean[hidden], std[hidden] ** 2, rows[hidden], label, ax)


def _reliability(probabilities: Any, y: Any, n_bins: int, label: str | None, ax: Axes | None) -> Axes:
    counts, sure, right = reliability(probabilities, y, n_bins)
    error = expected_calibration_error(probabilities, y, n_bins)
    lowest = 0.5 if np.ndim(probabilities) == 1 else 1 / np.shape(probabilities)[1]
    ax = _diagonal(ax, min(lowest, float(sure.min())))
    (line,) = ax.plot(sure, right, label=_named(label, f"calibration error {error:.3f}"))
    half = 2 * np.sqrt(right * (1 - right) / counts)
    ax.errorbar(sure, right, half, fmt="none", color=line.get_color(), alpha=0.6)
    ax.scatter(sure, right, LARGEST_DOT * counts / counts.max() + 8, color=line.get_color())
    ax.set_ylim(
        bottom=min(ax.get_ylim()[0], float(np.min(right - half)) - 0.02)
    )  # the diagonal alone is not low enough
    ax.set_xlabel("probability of the predicted class")
    ax.set_ylabel("share that is right")
    ax.legend(loc="upper left", frameon=False)
    return ax


def _coverage(mean: Any, variance: Any, y: Any, label: str | None, ax: Axes | None) -> Axes:
    shares = [coverage(y, mean, variance, float(level)) for level in LEVELS]
    note = f"{100 * coverage(y, mean, variance):.0f} % inside 95 %"
    ax = _diagonal(ax, 0.0)
    ax.plot(LEVELS, shares, marker=".", label=_named(label, note))
    ax.set_xlabel("level of the interval")
    ax.set_ylabel("share inside")
    ax.legend(loc="upper left", frameon=False)
    return ax


def _diagonal(ax: Axes | None, lowest: float) -> Axes:
    ax = axes_for(ax, (4.4, 4.2))
    ax.plot([lowest, 1], [lowest, 1], color="0.6", linestyle="--", linewidth=1, zorder=0)
    ax.set_xlim(right=1.02)
    ax.set_ylim(top=1.03)
    return ax


def _named(label: str | None, note: str) -> str:
    return note if label is None else f"{label}: {note}"
