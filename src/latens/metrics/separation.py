"""How well sources were separated: scores that order, sign and scale of the sources do not change."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

__all__ = ["amari_distance", "source_correlation"]


def amari_distance(unmixing: ArrayLike, mixing: ArrayLike) -> float:
    """Distance of an unmixing matrix from the inverse of a mixing matrix, up to order, sign and scale of sources.

    Parameters
    ----------
    unmixing : array-like of shape (K, D)
        From sensors to sources, such as `unmixing_` of a fit.
    mixing : array-like of shape (D, K)
        The truth, from sources to sensors.

    Returns
    -------
    float
        With P = ``|unmixing @ mixing|``, the mean over rows and columns of (sum / largest entry - 1) / (K - 1): 0 where
        each estimated source is one true source, 1 at most. One source has distance 0.

    Notes
    -----
    Amari, Cichocki & Yang (1996). K x K sums after one product, O(K^2 D).

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import amari_distance
    >>> amari_distance([[0.0, -3.0], [0.5, 0.0]], np.eye(2))
    0.0
    >>> amari_distance(np.ones((2, 2)), np.eye(2))
    1.0
    """
    w, a = np.asarray(unmixing, dtype=np.float64), np.asarray(mixing, dtype=np.float64)
    if w.ndim != 2 or a.ndim != 2 or w.shape != a.shape[::-1]:
        raise ValueError(
            f"unmixing has shape {w.shape} and mixing {a.shape}; expected (K, D) and (D, K). Delete or add sources "
            "first where their numbers differ."
        )
    if not (np.isfinite(w).all() and np.isfinite(a).all()):
        raise ValueError("a matrix contains NaN or infinite entries; compare finite matrices only.")
    gain = np.abs(w @ a)
    k = len(gain)
    if k == 1:
        return 0.0
    rows, columns = gain.max(axis=1), gain.max(axis=0)
    if not (rows.min() > 0 and columns.min() > 0):
        raise ValueError("a source is heard by no estimate, or an estimate hears no source; both matrices need rank K.")
    excess = np.sum(gain.sum(axis=1) / rows - 1) + np.sum(gain.sum(axis=0) / columns - 1)
    return float(excess / (2 * k * (k - 1)))


def source_correlation(sources: ArrayLike, truth: ArrayLike) -> float:
    """Mean absolute correlation of true sources with the estimates that are paired with them best; 0 without one.

    Parameters
    ----------
    sources : array-like of shape (N, K)
        Estimates.
    truth : array-like of shape (N, K_true)

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from latens.metrics import source_correlation
    >>> source_correlation([[1.0], [0.0], [-1.0]], [[-2.0], [0.0], [2.0]])
    1.0
    """
    a, b = np.asarray(sources, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or len(a) < 2:
        raise ValueError(f"sources have shape {a.shape} and truth {b.shape}; expected (N, K) and (N, K_true), N > 1.")
    gain = np.abs(_directions(a).T @ _directions(b))
    rows, columns = linear_sum_assignment(gain, maximize=True)
    return float(gain[rows, columns].sum() / b.shape[1])


def _directions(x: np.ndarray) -> np.ndarray:
    """Centred columns of length 1; 0 for those that do not vary beyond rounding, whose correlation is none."""
    gaps = x - x.mean(axis=0)
    peaks = np.abs(gaps).max(axis=0)
    varies = peaks > 4 * np.finfo(float).eps * np.abs(x).max(axis=0)
    # by their peaks first: squares of very small numbers would vanish
    gaps = np.where(varies, gaps / np.where(varies, peaks, 1.0), 0.0)
    return np.asarray(gaps / np.maximum(np.linalg.norm(gaps, axis=0), np.finfo(float).tiny))
