"""Document 000, sections 1.1 and 1.5: mean-field EM for binary factors, with the numbers of the print.

Names, shapes and the order of updates are those of the listings. What is wrong in them stays: a stop that no double
can meet, codes cut at 1e-8 from 0 but at 1e-5 from 1, and a free energy that belongs to the codes before the last
sweep. `equation_8` is the free energy as the text has it, which is not what the listing computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTING", "Learnt", "compute_ESS", "equation_8", "init_params", "learn_bin_factors", "m_step", "mean_field"]

CONSTANT = 1e-15


class Learnt(NamedTuple):
    mu: Floats  # (D, K)
    sigma: float
    pie: Floats  # (1, K)
    Lambda: Floats  # (N, K)
    free_energies: Floats  # (iterations,)


def mean_field(
    X: Floats, mu: Floats, sigma: float, pie: Floats, lambda0: Floats, maxsteps: int
) -> tuple[Floats, float]:
    """Codes (N, K) after at most `maxsteps` + 1 sweeps, and the last free energy that was computed."""
    Lambda = lambda0.copy()
    squares = np.einsum("dk,dk->k", mu, mu)
    f: list[float] = []
    eps = 1.0
    cIter = 0
    with np.errstate(all="ignore"):
        while abs(eps) > CONSTANT and cIter <= maxsteps:
            clip(Lambda)
            f.append(free_energy(X, mu, squares, sigma, pie, Lambda))
            if cIter > 0:
                eps = f[cIter] - f[cIter - 1]
            sweep(X, mu, squares, sigma, pie, Lambda)
            cIter += 1
    return Lambda, f[-1]


def clip(Lambda: Floats) -> None:
    """In place: codes near 0 or 1 by NumPy's `isclose`, whose tolerance is 1e-8, and 1e-5 more at the 1."""
    Lambda[np.abs(Lambda) <= 1e-8] = CONSTANT
    Lambda[np.abs(Lambda - 1) <= 1e-8 + 1e-5] = 1 - CONSTANT


def free_energy(X: Floats, mu: Floats, squares: Floats, sigma: float, pie: Floats, Lambda: Floats) -> float:
    """The listing's six terms; `squares` (K,) are the squared lengths of the columns of `mu`, or their expectations."""
    N, D = X.shape
    codes = np.sum(Lambda * np.log(pie / Lambda)) + np.sum((1 - Lambda) * np.log((1 - pie) / (1 - Lambda)))
    return float(codes + likelihood(X, mu, squares, sigma, Lambda) - N * D / 2 * np.log(2 * np.pi))


def equation_8(X: Floats, mu: Floats, sigma: float, pie: Floats, Lambda: Floats) -> float:
    """The free energy of the text: a ratio of two logarithms where the logarithm of the ratio belongs."""
    N, D = X.shape
    Lambda = Lambda.copy()
    clip(Lambda)
    with np.errstate(all="ignore"):
        codes = np.sum(Lambda * np.log(pie / Lambda)) + np.sum((1 - Lambda) * np.log(1 - pie) / np.log(1 - Lambda))
    squares = np.einsum("dk,dk->k", mu, mu)
    return float(codes + likelihood(X, mu, squares, sigma, Lambda) - N * D / 2 * np.log(2 * np.pi))


def likelihood(X: Floats, mu: Floats, squares: Floats, sigma: float, Lambda: Floats) -> float:
    """The terms of the data but for the constant."""
    N, D = X.shape
    residual = np.sum((X - Lambda @ mu.T) ** 2) + np.sum((Lambda - Lambda**2) * squares)
    return float(-N * D * np.log(sigma) - residual / (2 * sigma**2))


def sweep(X: Floats, mu: Floats, squares: Floats, sigma: float, pie: Floats, Lambda: Floats) -> None:
    """Equation 10 for each factor in turn, in place; products with the loadings are formed once."""
    seen, products = X @ mu, mu.T @ mu
    for i in range(Lambda.shape[1]):
        others = Lambda @ products[:, i] - Lambda[:, i] * products[i, i]
        field = np.log(pie[0, i]) - np.log(1 - pie[0, i]) + (seen[:, i] - others) / sigma**2
        Lambda[:, i] = expit(field - squares[i] / (2 * sigma**2))


def compute_ESS(Lambda: Floats) -> Floats:
    """(N, K, K), E[s s'] of every row."""
    ESS = np.einsum("nj,nk->njk", Lambda, Lambda)
    each = np.arange(Lambda.shape[1])
    ESS[:, each, each] += Lambda - Lambda**2
    return np.asarray(ESS)


def m_step(X: Floats, ES: Floats, ESS: Floats) -> tuple[Floats, float, Floats]:
    """Loadings (D, K), noise and usage (1, K), from sections 1.2 and 1.3."""
    N, D = X.shape
    total = ESS.sum(axis=0)
    mu = (np.linalg.inv(total) @ ES.T @ X).T
    residual = np.sum(X * X) + np.sum((mu.T @ mu) * total.T) - 2 * np.sum((ES.T @ X) * mu.T)
    return mu, float(np.sqrt(residual / (N * D))), ES.mean(axis=0, keepdims=True)


def init_params(N: int, D: int, K: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, float]:
    """Codes, loadings and usage between a quarter and three quarters, sigma = 1."""
    return rng.uniform(0.25, 0.75, (N, K)), rng.uniform(0.25, 0.75, (D, K)), rng.uniform(0.25, 0.75, (1, K)), 1.0


def learn_bin_factors(
    X: Floats,
    K: int,
    iterations: int,
    rng: np.random.Generator,
    start: tuple[Floats, Floats, Floats, float] | None = None,
) -> Learnt:
    """EM for a given number of iterations, from the listing's start or from another (codes, loadings, usage, noise)."""
    N, D = X.shape
    Lambda, mu, pie, sigma = init_params(N, D, K, rng) if start is None else start
    maxsteps = 30
    free_energies = []
    for _ in range(iterations):
        Lambda, f = mean_field(X, mu, sigma, pie, Lambda, maxsteps)
        free_energies.append(f)
        mu, sigma, pie = m_step(X, Lambda, compute_ESS(Lambda))
    return Learnt(mu, sigma, pie, Lambda, np.array(free_energies))


RANDOM = Repair(
    "init_params", "numbers of NumPy's global state", "a Generator that is given", "a run that can be repeated"
)
SIGMOID = Repair("mean_field", "sigmoid is called but not defined", "the logistic function", "NameError")

LISTING = Listing(
    "binary-factors",
    "000",
    "sections 1.1 and 1.5, mean_field and learn_bin_factors",
    learn_bin_factors,
    repairs=(
        Repair(
            "mean_field",
            "the counter of sweeps grows inside the loop over factors",
            "it grows once a sweep, as in section 3.2",
            "IndexError in the second sweep where K is above 1",
        ),
        SIGMOID,
        Repair("learn_bin_factors", "m_step is called but not printed", "the solutions of 1.2 and 1.3", "NameError"),
        RANDOM,
        Repair("learn_bin_factors", "free energies are printed", "they are returned, codes too", "to be drawn"),
    ),
    errors=(
        "stop at a change of 1e-15, below the resolution of the sum",
        "codes cut at 1e-8 from 0 and at 1e-5 from 1",
        "the free energy returned belongs to the codes before the last sweep",
        "equation 8 of the text: log(1 - pi) / log(1 - lambda) for the logarithm of the ratio",
    ),
)
