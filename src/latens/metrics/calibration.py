"""Whether predicted probabilities and intervals keep their word."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtri

from latens.array import Floats

__all__ = ["best_temperature", "brier", "coverage", "expected_calibration_error", "reliability", "tempered"]

MOST_TEMPERATURE = 20.0  # and its inverse the least
LEAST_PROBABILITY = 1e-300  # of a class that a prediction leaves out


def expected_calibration_error(probabilities: Any, y: Any, n_bins: int = 15) -> float:
    """Mean difference between the confidence and the accuracy of predictions.

    Parameters
    ----------
    probabilities : array of shape (N, C), or (N,)
        Probabilities of the classes 0 to C - 1; of class 1 if there is one column.
    y : array of shape (N,)
        True classes.
    n_bins : int
        Bins of equal width for the probability of the predicted class.

    Returns
    -------
    float
        ``sum_b n_b/N |accuracy_b - confidence_b|``; 0 is perfect.

    Examples
    --------
    >>> from latens.metrics import expected_calibration_error
    >>> expected_calibration_error([[0.9, 0.1], [0.9, 0.1]], [0, 1])
    0.4
    """
    counts, sure, right = reliability(probabilities, y, n_bins)
    return float(np.sum(counts * np.abs(right - sure)) / counts.sum())


def reliability(probabilities: Any, y: Any, n_bins: int = 15) -> tuple[Floats, Floats, Floats]:
    """Confidence and accuracy of predictions, by bins of confidence.

    Parameters
    ----------
    probabilities : array of shape (N, C), or (N,)
        Probabilities of the classes 0 to C - 1; of class 1 if there is one column.
    y : array of shape (N,)
        True classes.
    n_bins : int
        Bins of equal width for the probability of the predicted class.

    Returns
    -------
    counts, confidence, accuracy : ndarrays
        For each bin with rows: their number, the mean probability of the predicted class, the accuracy.

    Examples
    --------
    >>> from latens.metrics import reliability
    >>> reliability([0.9, 0.9, 0.6], [1, 0, 1])
    (array([1., 2.]), array([0.6, 0.9]), array([1. , 0.5]))
    """
    if isinstance(n_bins, bool) or int(n_bins) != n_bins or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r}; expected a whole number from 1 on.")
    p, y = _classes(probabilities, y)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    weights = np.ones(len(y)), confidence, right
    counts, sure, hits = (np.bincount(bins, w, minlength=n_bins).astype(np.float64) for w in weights)
    filled = counts > 0
    return counts[filled], sure[filled] / counts[filled], hits[filled] / counts[filled]


def brier(probabilities: Any, y: Any) -> float:
    """Mean squared difference between the probabilities and the true classes.

    Summed over the classes, so that two columns give twice the value of one, (p - y)^2.

    Parameters
    ----------
    probabilities : array of shape (N, C), or (N,)
        Probabilities of the classes 0 to C - 1; of class 1 if there is one column.
    y : array of shape (N,)
        True classes.

    Returns
    -------
    float
        0 is perfect.

    Examples
    --------
    >>> from latens.metrics import brier
    >>> brier([0.8, 0.4], [1, 0])
    0.1
    """
    single = np.ndim(probabilities) == 1
    p, y = _classes(probabilities, y)
    truth = np.eye(p.shape[1])[y]
    return float(np.mean(np.sum((p - truth) ** 2, axis=1)) / (2 if single else 1))


def tempered(probabilities: Any, temperature: float) -> Floats:
    """Probabilities to the power of 1 / T, normalised: T above 1 makes them less certain, below 1 more certain.

    Parameters
    ----------
    probabilities : array of shape (N, C), or (N,)
        Probabilities of the classes 0 to C - 1; of class 1 if there is one column.
    temperature : float
        T, above 0. The most probable class does not change.

    Returns
    -------
    ndarray
        Of the shape of `probabilities`.

    Examples
    --------
    >>> from latens.metrics import tempered
    >>> tempered([[0.9, 0.1], [0.5, 0.5]], 2.0)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature={temperature!r}; expected a number above 0, 1 leaves everything as it is.")
    p = _probabilities(probabilities)
    values = np.exp(_log_tempered(p, temperature))
    return np.asarray(values[:, 1] if np.ndim(probabilities) == 1 else values)


def best_temperature(probabilities: Any, y: Any) -> float:
    """The temperature at which the true classes have the highest likelihood.

    Compute it on hold-out rows, and apply it to other predictions with `tempered`.

    Parameters
    ----------
    probabilities : array of shape (N, C), or (N,)
        Probabilities of the classes 0 to C - 1; of class 1 if there is one column.
    y : array of shape (N,)
        True classes.

    Returns
    -------
    float
        From .05 to 20; an end if an even smaller, or larger, temperature would be better.

    Examples
    --------
    >>> from latens.metrics import best_temperature
    >>> round(best_temperature([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]), 3)  # three of four is what .75 promises
    2.0
    """
    p, y = _classes(probabilities, y)

    def loss(log_temperature: float) -> float:
        return -float(_log_tempered(p, float(np.exp(log_temperature)))[np.arange(len(y)), y].mean())

    end = float(np.log(MOST_TEMPERATURE))
    found = minimize_scalar(loss, bounds=(-end, end), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def _log_tempered(p: Floats, temperature: float) -> Floats:
    powers = np.log(np.maximum(p, LEAST_PROBABILITY)) / temperature
    return np.asarray(powers - logsumexp(powers, axis=1, keepdims=True))


def coverage(y: Any, mean: Any, variance: Any, level: float = 0.95) -> float:
    """Share of targets inside their central Gaussian interval; it should be `level`.

    Parameters
    ----------
    y, mean, variance : arrays of one shape
    level : float
        Between 0 and 1.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from latens.metrics import coverage
    >>> coverage([0.0, 1.0, 3.0, -1.0], [0.0] * 4, [1.0] * 4)
    0.75
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}; expected a number between 0 and 1.")
    y, mean, variance = (np.asarray(a, dtype=np.float64) for a in (y, mean, variance))
    if not y.shape == mean.shape == variance.shape or y.size == 0:
        raise ValueError(f"y, mean and variance have shapes {y.shape}, {mean.shape}, {variance.shape}; expected one.")
    if not (np.isfinite(y).all() and np.isfinite(mean).all() and (variance >= 0).all()):
        raise ValueError("y or mean is not finite, or a variance is negative or NaN.")
    half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return float(np.mean(np.abs(y - mean) <= half))


def _probabilities(given: Any) -> Floats:
    """(N, C)."""
    p = np.asarray(given, dtype=np.float64)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if p.ndim != 2 or p.size == 0 or not ((p >= 0) & (p <= 1)).all() or (np.abs(p.sum(axis=1) - 1) > 1e-3).any():
        raise ValueError(
            f"these are not probabilities (shape {p.shape}); expected rows (N, C) from 0 to 1 that sum to 1."
        )
    return p


def _classes(probabilities: Any, y: Any) -> tuple[Floats, np.ndarray]:
    """Probabilities (N, C) and classes as indices."""
    p, y = _probabilities(probabilities), np.asarray(y)
    if y.shape != (len(p),) or not np.array_equal(y, y.astype(int)) or y.min() < 0 or y.max() >= p.shape[1]:
        raise ValueError(f"y of shape {y.shape} is not {len(p)} classes from 0 to {p.shape[1] - 1}.")
    return p, y.astype(int)
