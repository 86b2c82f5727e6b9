"""Whether predictions keep their word, as a curve beside the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.metrics import coverage, expected_calibration_error, reliability
from latens.plots.canvas import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration"]

LEVELS = np.linspace(0.05, 0.95, 19)
LARGEST = 220.0  # of a dot, in squared points


def calibration(prediction: Any, y: Any, n_bins: int = 10, label: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how often predictions came true against how sure they were; on the diagonal they keep their word.

    Parameters
    ----------
    prediction : ClassPrediction, RegressionPrediction, or array of probabilities (N, C) or (N,)
        Classes: accuracy in bins of the probability of the predicted class, with twice its standard error and dots
        as large as the bins are full. Regression: share of targets inside central Gaussian intervals of each level.
        Below the diagonal the predictions are too sure.
    y : array
        True classes from 0 on, or targets in the shape of `prediction.mean`.
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
    if hasattr(prediction, "mean") and hasattr(prediction, "variance"):
        return _coverage(prediction, y, label, ax)
    return _reliability(getattr(prediction, "probabilities", prediction), y, n_bins, label, ax)


def _reliability(probabilities: Any, y: Any, n_bins: int, label: str | None, ax: Axes | None) -> Axes:
    counts, sure, right = reliability(probabilities, y, n_bins)
    error = expected_calibration_error(probabilities, y, n_bins)
    lowest = 0.5 if np.ndim(probabilities) == 1 else 1 / np.shape(probabilities)[1]
    ax = _diagonal(ax, min(lowest, float(sure.min())))
    (line,) = ax.plot(sure, right, label=_named(label, f"calibration error {error:.3f}"))
    half = 2 * np.sqrt(right * (1 - right) / counts)
    ax.errorbar(sure, right, half, fmt="none", color=line.get_color(), alpha=0.6)
    ax.scatter(sure, right, LARGEST * counts / counts.max() + 8, color=line.get_color())
    ax.set_ylim(
        bottom=min(ax.get_ylim()[0], float(np.min(right - half)) - 0.02)
    )  # the diagonal alone is not low enough
    ax.set_xlabel("probability of the predicted class")
    ax.set_ylabel("share that is right")
    ax.legend(loc="upper left", frameon=False)
    return ax


def _coverage(prediction: Any, y: Any, label: str | None, ax: Axes | None) -> Axes:
    shares = [coverage(y, prediction.mean, prediction.variance, float(level)) for level in LEVELS]
    note = f"{100 * coverage(y, prediction.mean, prediction.variance):.0f} % inside 95 %"
    ax = _diagonal(ax, 0.0)
    ax.plot(LEVELS, shares, marker=".", label=_named(label, note))
    ax.set_xlabel("level of the interval")
    ax.set_ylabel("share of targets inside")
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
