"""Where fits begin: directions found in a sample of the data. Randomness enters here and nowhere else.

What is found does not depend on the order of the columns: they are searched in an order of their own.
"""

from __future__ import annotations

import warnings

import numpy as np

from latens.array import Array, Floats, Index
from latens.array.transfer import is_sparse, short_indices
from latens.core import Rows
from latens.estimators.rows.sampling import column_places

__all__ = [
    "independent_directions",
    "is_mostly_positive",
    "kmeans_labels",
    "nearest_labels",
    "positive_parts",
    "random_parts",
    "within_variances",
]


def is_mostly_positive(x: Floats) -> bool:
    """Whether what is below zero could be noise about non-negative parts."""
    below = np.sum(np.minimum(x, 0.0) ** 2)
    return bool(below <= 0.05 * np.sum(x**2))


def positive_parts(x: Array, k: int, rng: np.random.Generator, n_steps: int = 200) -> Floats:
    """(k, D), parts by non-negative matrix factorisation of x or CSR, as large as they are when strongly on."""
    from sklearn.decomposition import NMF

    places = column_places(Rows(x))
    x = _by_place(x, places)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(k, init="random", random_state=_seed(rng), max_iter=n_steps)
        amounts = model.fit_transform(x if is_sparse(x) else np.maximum(x, 0.0))
    return np.asarray((model.components_ * np.quantile(amounts, 0.9, axis=0)[:, None])[:, places])


def independent_directions(x: Floats, k: int, rng: np.random.Generator) -> Floats:
    """(k, D), independent components, each as long as the step between its two levels, the rarer level being on."""
    from sklearn.decomposition import FastICA

    places, (n, d) = column_places(Rows(x)), x.shape
    x = _by_place(x, places)
    centred = x - x.mean(axis=0)
    usable = int(min(k, n - 1, d, np.linalg.matrix_rank(centred)))
    rounding = 8 * float(np.finfo(np.float64).eps) * float(np.abs(x).max())  # of the mean, where rows are all alike
    if usable < 1 or float(np.abs(centred).max()) <= rounding:
        return np.array([centred[0]] * k)[:, places]  # rows that are all alike point nowhere
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ica = FastICA(usable, whiten="unit-variance", max_iter=400, tol=1e-3, random_state=_seed(rng))
        try:
            sources = ica.fit_transform(x)
        except ValueError:  # columns too far apart in size for it
            return np.array(centred[rng.integers(n, size=k)])[:, places]
    turn = np.where(np.mean(sources**3, axis=0) < 0, -1.0, 1.0)
    steps = np.array([_step(source) for source in (sources * turn).T])
    directions = (ica.mixing_ * turn * steps).T
    # more causes than directions: the rest start as residuals of single rows
    rest = centred[rng.integers(n, size=k - usable)]
    return np.asarray(np.nan_to_num(np.concatenate([directions, 0.3 * rest])), dtype=np.float64)[:, places]


def random_parts(x: Floats, k: int, rng: np.random.Generator) -> Floats:
    """(k, D), the textbook's start: uniform between a quarter and three quarters of the data's spread."""
    drawn = rng.uniform(0.25, 0.75, size=(k, x.shape[1]))[:, column_places(Rows(x))]
    return np.asarray(drawn * (np.sqrt(np.mean(x**2)) or 1.0) * 1.5)


def _step(source: Floats) -> float:
    """Distance between the centres of the lower and the upper cluster of a source: two-means in one dimension."""
    low, high = np.quantile(source, [0.1, 0.9])
    for _ in range(20):
        upper = source > (low + high) / 2
        if upper.all() or not upper.any():
            break
        low, high = source[~upper].mean(), source[upper].mean()
    return float(high - low)


def _by_place(x: Array, places: Index) -> Array:
    """The columns in the order of their places."""
    order = np.argsort(places)
    return x[:, order] if is_sparse(x) else np.take(x, order, axis=1)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def kmeans_labels(x: Array, k: int, rng: np.random.Generator) -> Index:
    """(n,), clusters of rows, which may be CSR, by k-means from a k-means++ start; some may be empty."""
    from sklearn.cluster import KMeans

    k, x = min(k, x.shape[0]), _by_place(x, column_places(Rows(x)))
    if is_sparse(x):
        x = short_indices(x.tocsr())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = KMeans(k, init="k-means++", n_init=1, max_iter=20, algorithm="lloyd", random_state=_seed(rng)).fit(x)
    return np.asarray(means.labels_, dtype=np.intp)


def nearest_labels(x: Array, centres: Floats) -> Index:
    """(n,), the nearest of given centres (K, D)."""
    return np.asarray(np.argmin(np.sum(centres**2, axis=1) - 2 * x @ centres.T, axis=1), dtype=np.intp)


def within_variances(x: Floats, k: int, limit: int = 1024) -> Floats:
    """(D,), variance of each column within k rough clusters; the same whatever is random elsewhere."""
    x = x[:: -(-len(x) // limit)]
    scale = np.sqrt(np.maximum(x.var(axis=0), np.finfo(float).tiny))
    labels = kmeans_labels(x / scale, k, np.random.default_rng(0))
    member = np.eye(labels.max() + 1)[labels]
    means = (member.T @ x) / np.maximum(member.sum(axis=0), 1.0)[:, None]
    return np.asarray(np.mean((x - means[labels]) ** 2, axis=0))
