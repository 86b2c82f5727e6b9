"""A start of document 000 for the models of this library: codes uniform at random, from which an ascent goes on.

It differs from `init="random"` of the estimators, where codes follow from the loadings.
"""

from __future__ import annotations

import numpy as np

from latens.core import Fit, Rows, State
from latens.inference.ascent import ascend
from latens.models.binary_factors.model import BinaryFactors
from latens.models.binary_factors.posteriors import Switches

__all__ = ["ascent", "random_codes"]


def ascent(model: BinaryFactors, x: np.ndarray, start: State, *, max_iter: int, tol: float) -> Fit:
    """Ascend from a start; an interrupt ends the experiment, which cannot use part of a fit."""
    fit = ascend(model, [Rows(x)], start, max_iter=max_iter, tol=tol)
    if fit.interrupted:
        raise KeyboardInterrupt
    return fit


def random_codes(n: int, k: int, rng: np.random.Generator) -> Switches:
    """q(z = 1) of n rows, as section 1.6 begins: between a quarter and three quarters."""
    return Switches(rng.uniform(0.25, 0.75, size=(n, k)))
