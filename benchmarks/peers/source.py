"""The source's methods as printed, for contests; and its form of one sweep, for timing.

Contests run the listings of `latens.experiments.printed` with their own number of inner sweeps, and take what they end
with. The timed sweep keeps the listing's form, a loop over causes, each with an N x D residual of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["Factors", "Floats", "learn", "learn_number", "sweep"]

Floats = NDArray[np.float64]
N_ITERATIONS = 100


@dataclass(frozen=True)
class Factors:
    loadings: Floats  # (D, K)
    sigma: float
    usage: Floats  # (K,)


def learn(x: Floats, k: int, seed: int) -> Floats:
    """(k, D), the causes that the listing of mean-field EM ends with; zeros where it broke off."""
    from latens.experiments.printed import binary_factors  # with all experiments, which a timed sweep needs not

    found = binary_factors.learn_bin_factors(x, k, N_ITERATIONS, np.random.default_rng(seed))
    return np.nan_to_num(found.mu.T)


def learn_number(x: Floats, k: int, seed: int) -> tuple[Floats, Floats]:
    """The causes (K', D) with alpha below the listing's cut, and those that at least one row has on."""
    from latens.experiments.printed import binary_relevance

    found = binary_relevance.learn_bin_factors(x, k, N_ITERATIONS, np.random.default_rng(seed))
    causes = np.nan_to_num(found.mu_ES.T)
    return causes[found.alphas[-1] < binary_relevance.THRESHOLD], causes[found.Lambda.sum(axis=0) >= 1]


def sweep(x: Floats, factors: Factors, squares: Floats, codes: Floats) -> None:
    """Every cause once, in place; `squares` (K,) are the expected squared lengths of the causes."""
    precision = factors.sigma**-2
    for i in range(codes.shape[1]):
        others = np.delete(codes, i, 1) @ np.delete(factors.loadings, i, 1).T
        pull = precision * (x - others) @ factors.loadings[:, i]
        codes[:, i] = expit(logit(factors.usage[i]) + pull - 0.5 * precision * squares[i])
