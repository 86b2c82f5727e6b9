"""Clusters of rows about centres drawn at random.

c_n       ~ Categorical(weights)
mu_k      ~ Normal(0, spread^2 I)
x_n       ~ Normal(mu_{c_n}, covariance_k)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from latens.datasets.switching import whole
from latens.system.seeds import Seed, generator

__all__ = ["MixtureTruth", "make_mixture"]


@dataclass(frozen=True)
class MixtureTruth:
    """Where the clusters lie, and which row belongs to which.

    Attributes
    ----------
    means : ndarray of shape (K, D)
    covariances : ndarray of shape (K, D, D)
    weights : ndarray of shape (K,)
        Probability of each cluster.
    labels : ndarray of shape (N,)
        The cluster of each row.

    Examples
    --------
    >>> from latens.datasets import make_mixture
    >>> X, truth = make_mixture(50, random_state=0)
    >>> truth.means.shape, truth.covariances.shape
    ((5, 2), (5, 2, 2))
    """

    means: np.ndarray  # (K, D)
    covariances: np.ndarray  # (K, D, D)
    weights: np.ndarray  # (K,)
    labels: np.ndarray  # (N,)


def make_mixture(
    n_samples: int = 500,
    *,
    n_components: int = 5,
    n_features: int = 2,
    spread: float = 5.0,
    noise: float = 1.0,
    shape: str = "round",
    weights: ArrayLike | None = None,
    random_state: Seed = None,
) -> tuple[np.ndarray, MixtureTruth]:
    """Draw rows from Gaussian clusters whose centres are drawn at random.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, N.
    n_components : int, default=5
        Number of clusters, K.
    n_features : int, default=2
        Number of columns, D.
    spread : float, default=5.0
        Standard deviation of the centres in every column.
    noise : float, default=1.0
        Standard deviation of the rows about their centre, on average over directions.
    shape : {"round", "any"}, default="round"
        Whether clusters are round, or stretched along directions drawn at random.
    weights : array-like of shape (K,), optional
        Probability of each cluster; equal by default.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, D)
    truth : MixtureTruth
        Centres, covariances, weights, and the cluster of each row.

    Examples
    --------
    >>> from latens.datasets import make_mixture
    >>> X, truth = make_mixture(100, n_components=3, random_state=0)
    >>> X.shape, truth.means.shape, truth.labels.shape
    ((100, 2), (3, 2), (100,))
    """
    n, k = whole("n_samples", n_samples, smallest=1), whole("n_components", n_components, smallest=1)
    d, rng = whole("n_features", n_features, smallest=1), generator(random_state)
    if shape not in ("round", "any"):
        raise ValueError(f"shape={shape!r} is not known; choose 'round' or 'any'.")
    chance = _chances(weights, k)
    means = _deviation("spread", spread) * rng.normal(size=(k, d))
    roots = _deviation("noise", noise) * np.tile(np.eye(d), (k, 1, 1))
    if shape == "any":
        turned = rng.normal(size=(k, d, 2 * d))
        scatter = turned @ np.swapaxes(turned, 1, 2) / (2 * d)
        roots = np.asarray(float(noise) * np.linalg.cholesky(scatter), dtype=np.float64)
    labels = rng.choice(k, size=n, p=chance)
    rows = means[labels] + (roots[labels] @ rng.normal(size=(n, d, 1)))[:, :, 0]
    return rows, MixtureTruth(means, roots @ np.swapaxes(roots, 1, 2), chance, labels)


def _chances(weights: ArrayLike | None, k: int) -> np.ndarray:
    if weights is None:
        return np.full(k, 1 / k)
    remedy = f"choose {k} numbers of at least 0 that add up to 1"
    try:
        chance = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights={weights!r} are not numbers; {remedy}.") from error
    if chance.shape != (k,) or not np.all(chance >= 0) or not abs(chance.sum() - 1) < 1e-6:
        raise ValueError(f"weights={weights!r} are not the shares of {k} clusters; {remedy}.")
    return np.asarray(chance / chance.sum())


def _deviation(name: str, value: float) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name}={value!r} is no standard deviation; choose a finite number of at least 0.")
    return float(value)
