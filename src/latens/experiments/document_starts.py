"""The starts of document 000, drawn as printed there: codes, loadings and usage all uniform at random.

They differ from `init="random"` of the estimators, where codes follow from the loadings: here a fit goes on from
random codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latens.core import Fit, Rows, State
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.least_squares import LeastSquares
from latens.families.normal_gamma import NormalGamma
from latens.families.relevance import Relevance
from latens.families.share import Share
from latens.inference.ascent import OnIteration, ascend
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import MeanField, Switches

__all__ = ["ard_model", "ard_start", "climb", "em_model", "em_start", "random_codes"]

N_SWEEPS = 30  # of one E step, `maxsteps` in the document
E_STEP = MeanField(n_sweeps=N_SWEEPS, tol=0.0)
SURENESS = 100.0  # rows' worth of belief in a starting value that the document holds as a point


@dataclass(frozen=True)
class Uniform:
    low: float
    high: float

    def draw(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        return rng.uniform(self.low, self.high, size=shape)


EM_VALUES = Uniform(0.25, 0.75)  # section 1.6: codes, loadings and usage
BAYES_VALUES, BAYES_USAGE = Uniform(0.2, 0.8), Uniform(0.2, 0.7)  # section 3.2
BAYES_ALPHA = 120.0


def climb(
    model: BinaryFactors,
    x: np.ndarray,
    start: State,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
) -> Fit:
    """Ascend from a start; an interrupt ends the experiment, which cannot use part of a fit."""
    fit = ascend(model, [Rows(x)], start, max_iter=max_iter, tol=tol, on_iteration=on_iteration)
    if fit.interrupted:
        raise KeyboardInterrupt
    return fit


def random_codes(n: int, k: int, rng: np.random.Generator) -> Switches:
    """q(z = 1) of n rows, as section 1.6 begins."""
    return Switches(EM_VALUES.draw(rng, n, k))


def em_model(x: np.ndarray) -> BinaryFactors:
    """Point estimates, mean-field codes."""
    return BinaryFactors(x.shape[1], points=True, floor=1e-9 * float(np.mean(x**2)), e_step=E_STEP)


def em_start(x: np.ndarray, k: int, rng: np.random.Generator) -> State:
    """Section 1.5, `init_params`: everything between a quarter and three quarters, sigma = 1."""
    n, d = x.shape
    codes = random_codes(n, k, rng)
    loadings = LeastSquares(EM_VALUES.draw(rng, k, d), np.ones(1), em_model(x).floor)
    return State(BinaryPosterior(Share.of(EM_VALUES.draw(rng, k)), loadings), locals=(codes,))


def ard_model(x: np.ndarray) -> BinaryFactors:
    """Relevance determination, mean-field codes; priors as the estimator sets them."""
    return BinaryFactors(x.shape[1], noise=(1e-3, 1e-3 * float(np.mean(x**2))), e_step=E_STEP)


def ard_start(x: np.ndarray, k: int, rng: np.random.Generator) -> State:
    """Section 3.2, `learn_bin_factors`: random codes, and loadings computed from them with alpha = 120.

    The noise follows from the same codes, where the document keeps its random sigma for one more step.
    """
    n, d = x.shape
    codes = Switches(BAYES_VALUES.draw(rng, n, k))
    loadings, usage = BAYES_VALUES.draw(rng, k, d), BAYES_USAGE.draw(rng, k)
    noise = float(rng.uniform()) ** 2
    sure = np.full(1, SURENESS)
    weights = NormalGamma(loadings, SURENESS * np.eye(k)[None], sure, sure * noise)
    half = np.full(k, 0.5 * d)  # the document's alpha is a precision in data units, ours in units of the noise's
    relevance = Relevance(weights, Gamma(half, half / (BAYES_ALPHA * noise)))
    q = BinaryPosterior(Beta(SURENESS * usage, SURENESS * (1 - usage)), relevance)
    model = ard_model(x)
    told = model.global_step(q, model.statistics(Rows(x), codes))
    return State(BinaryPosterior(q.usage, told.loadings), locals=(codes,))
