"""Other people's estimators, for experiments that set ours beside them."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.decomposition import FactorAnalysis

from latens.array import Floats
from latens.families.low_rank import LowRankNormal

__all__ = ["scikit_learn_factors"]


def scikit_learn_factors(x: Floats, k: int, seed: int) -> LowRankNormal:
    """scikit-learn's factor analysis with its defaults: randomised SVD, at most 1000 iterations, tol 0.01."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FactorAnalysis(min(k, *x.shape), random_state=seed).fit(x)
    noise = np.maximum(model.noise_variance_, np.finfo(float).tiny)
    return LowRankNormal(np.asarray(model.mean_), np.asarray(model.components_), noise)
