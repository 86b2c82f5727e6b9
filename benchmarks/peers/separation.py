"""Other ways to separate sources: each answers with an unmixing matrix (K, D) and sources (N, K)."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np

from latens.estimators.peers import factors_then_fast_ica, fast_ica

__all__ = ["METHODS", "picard"]


def picard(x: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from picard import picard as separate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whitening, turn, sources = separate(x.T, n_components=k, random_state=seed, max_iter=1000)
    return turn @ whitening, sources.T


METHODS = {"FastICA": fast_ica, "FA, then FastICA": factors_then_fast_ica}
if importlib.util.find_spec("picard"):
    METHODS["picard"] = picard
