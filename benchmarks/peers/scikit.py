"""What scikit-learn offers for parts of which rows are sums; each returns (K, D) components."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import NMF, DictionaryLearning, FastICA
from sklearn.exceptions import ConvergenceWarning

from benchmarks.peers.source import Floats

__all__ = ["dictionary", "independent", "positive_dictionary", "positive_parts"]


def positive_parts(x: Floats, k: int, seed: int) -> Floats:
    return _fitted(NMF(k, max_iter=1000, random_state=seed), np.maximum(x, 0.0), lambda model: model.components_)


def dictionary(x: Floats, k: int, seed: int) -> Floats:
    """Codes that are not negative; the penalty is not the default of 1, which finds nothing here."""
    return _dictionary(x, k, seed, positive_dict=False)


def positive_dictionary(x: Floats, k: int, seed: int) -> Floats:
    """Neither codes nor components are negative."""
    return _dictionary(x, k, seed, positive_dict=True)


def independent(x: Floats, k: int, seed: int) -> Floats:
    """Directions of independent components, turned towards where their sources are skewed."""

    def directions(model: Any) -> Floats:
        sources = model.transform(x)
        return np.asarray((model.mixing_ * np.sign(np.mean(sources**3, axis=0))).T)

    return _fitted(FastICA(k, whiten="unit-variance", max_iter=1000, random_state=seed), x, directions)


def _dictionary(x: Floats, k: int, seed: int, *, positive_dict: bool) -> Floats:
    model = DictionaryLearning(
        k,
        alpha=0.1,
        max_iter=200,
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        positive_code=True,
        positive_dict=positive_dict,
        random_state=seed,
    )
    return _fitted(model, x, lambda model: model.components_)


def _fitted(model: Any, x: Floats, read: Callable[[Any], Floats]) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(read(model.fit(x)))
