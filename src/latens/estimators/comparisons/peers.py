"""Other people's estimators, for experiments that set ours beside them, and the data that they bring along."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import FactorAnalysis, FastICA

from latens.array import Floats, Index
from latens.families.low_rank import LowRankNormal

__all__ = ["diabetes", "digits", "factors_then_fast_ica", "fast_ica", "picard", "scikit_learn_factors"]


def digits() -> tuple[Floats, Index]:
    """Images (1797, 64) between 0 and 1, and the digit that each shows."""
    found = load_digits()
    return np.asarray(found.data) / 16, np.asarray(found.target)


def diabetes() -> tuple[Floats, Floats]:
    """442 patients by 10 columns, and the progress of their disease a year later; bundled with scikit-learn."""
    x, y = load_diabetes(return_X_y=True)
    return np.asarray(x), np.asarray(y)


def scikit_learn_factors(x: Floats, k: int, seed: int) -> LowRankNormal:
    """scikit-learn's factor analysis with its defaults: randomised SVD, at most 1000 iterations, tol 0.01."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FactorAnalysis(min(k, *x.shape), random_state=seed).fit(x)
    noise = np.maximum(model.noise_variance_, np.finfo(float).tiny)
    return LowRankNormal(np.asarray(model.mean_), np.asarray(model.components_), noise)


def fast_ica(x: Floats, k: int, seed: int) -> tuple[Floats, Floats]:
    """scikit-learn's FastICA, which takes no noise into account: unmixing (K, D) and sources (N, K)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FastICA(k, whiten="unit-variance", max_iter=1000, random_state=seed)
        sources = model.fit_transform(x)
    return np.asarray(model.components_), np.asarray(sources)


def factors_then_fast_ica(x: Floats, k: int, seed: int) -> tuple[Floats, Floats]:
    """The same after sensors were weighted by their noise, by scikit-learn's factor analysis run to convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factors = FactorAnalysis(k, tol=1e-4, max_iter=2000).fit(x)
    weighted = factors.components_ / factors.noise_variance_
    project = np.linalg.solve(weighted @ factors.components_.T, weighted)
    unmixing, sources = fast_ica((x - factors.mean_) @ project.T, k, seed)
    return unmixing @ project, sources


def picard(x: Floats, k: int, seed: int) -> tuple[Floats, Floats] | None:
    """Picard's maximum likelihood (python-picard), likewise without noise; None where it is not installed."""
    try:
        from picard import picard as separate
    except ModuleNotFoundError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whitening, turn, sources = separate(x.T, n_components=k, random_state=seed, max_iter=1000)
    return np.asarray(turn @ whitening), np.asarray(sources.T)
