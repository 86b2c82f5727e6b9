"""Document 000, section 3.2: variational Bayes for binary factors with relevances, with the numbers of the print.

Q(mu_i) = N(M_i, C_i I) factor by factor, points for sigma, pi and alpha. What is wrong in the listing stays: its free
energy has neither the divergence of Q(mu) from its prior nor the variance of mu under squared codes, and a factor
counts as effective while its alpha is below 1200, although alpha stands still once nobody uses the factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latens.array import Floats
from latens.experiments.printed.binary_factors import RANDOM, SIGMOID, clip, compute_ESS, free_energy, sweep
from latens.experiments.printed.listing import Listing

__all__ = [
    "LISTING",
    "Learnt",
    "compute_moments",
    "hyper_m",
    "init_params",
    "learn_bin_factors",
    "m_step",
    "mean_field",
]

ALPHA = 120.0
THRESHOLD = 10 * ALPHA
MAXSTEPS = 30
Start = tuple[Floats, Floats, Floats, float]


class Learnt(NamedTuple):
    mu_ES: Floats  # (D, K), means of the factors
    sigma: float
    pie: Floats  # (1, K)
    Lambda: Floats  # (N, K)
    free_energies: Floats  # (iterations,)
    alphas: Floats  # (iterations, K)
    nfactors: Floats  # (iterations,)
    path: list[tuple[Floats, Floats, float, Floats, Floats, Floats]]  # mu_ES, mu_ESS, sigma, pie, Lambda, alpha


def mean_field(
    X: Floats, mu_ES: Floats, mu_ESS: Floats, sigma: float, pie: Floats, lambda0: Floats, maxsteps: int
) -> tuple[Floats, float, list[float]]:
    """Codes, the last free energy, and all of them; `mu_ESS` (K,) are expected squared lengths."""
    Lambda = lambda0.copy()
    f: list[float] = []
    eps = 1.0
    cIter = 0
    with np.errstate(all="ignore"):
        while abs(eps) > 1e-15 and cIter <= maxsteps:
            clip(Lambda)
            f.append(free_energy(X, mu_ES, mu_ESS, sigma, pie, Lambda))
            if cIter > 0:
                eps = f[cIter] - f[cIter - 1]
            cIter += 1
            sweep(X, mu_ES, mu_ESS, sigma, pie, Lambda)
    return Lambda, f[-1], f


def compute_moments(
    X: Floats, mu_ES: Floats, sigma: float, lambda0: Floats, alpha: Floats, maxsteps: int
) -> tuple[Floats, Floats]:
    """Means (D, K) and expected squared lengths (K,) of the factors, one factor after the other."""
    D = X.shape[1]
    mu_ES_ = mu_ES.copy()
    with np.errstate(all="ignore"):
        C_ = 1 / (lambda0.sum(axis=0) / sigma**2 + alpha)
        seen, together = X.T @ lambda0, lambda0.T @ lambda0
        for _ in range(maxsteps):
            for i in range(mu_ES.shape[1]):
                others = mu_ES_ @ together[:, i] - mu_ES_[:, i] * together[i, i]
                mu_ES_[:, i] = C_[i] / sigma**2 * (seen[:, i] - others)
        return mu_ES_, D * C_ + np.einsum("dk,dk->k", mu_ES_, mu_ES_)


def m_step(X: Floats, ES: Floats, ESS: Floats, mu_ES: Floats, mu_ESS: Floats) -> tuple[float, Floats]:
    """Noise (equation 36) and usage (1, K)."""
    N, D = X.shape
    total = ESS.sum(axis=0) if ESS.ndim == 3 else ESS
    products = mu_ES.T @ mu_ES
    np.fill_diagonal(products, mu_ESS)
    residual = np.sum(X * X) + np.sum(products * total.T) - 2 * np.sum((ES.T @ X) * mu_ES.T)
    with np.errstate(all="ignore"):
        return float(np.sqrt(residual / (N * D))), ES.mean(axis=0, keepdims=True)


def hyper_m(D: int, mu_ESS: Floats) -> Floats:
    """Equation 34."""
    with np.errstate(all="ignore"):
        return np.asarray(D / mu_ESS)


def init_params(N: int, D: int, K: int, rng: np.random.Generator) -> Start:
    """Codes and loadings between .2 and .8, usage between .2 and .7, sigma anywhere below 1."""
    return rng.uniform(0.2, 0.8, (N, K)), rng.uniform(0.2, 0.8, (D, K)), rng.uniform(0.2, 0.7, (1, K)), rng.uniform()


def learn_bin_factors(
    X: Floats, K: int, iterations: int, rng: np.random.Generator, start: Start | None = None
) -> Learnt:
    """The whole of section 3.2, from its random start or from another."""
    N, D = X.shape
    Lambda, mu_ES, pie, sigma = init_params(N, D, K, rng) if start is None else start
    alpha = np.full(K, ALPHA)
    free_energies, alphas, nfactors, path = [], [], [], []
    mu_ES, mu_ESS = compute_moments(X, mu_ES, sigma, Lambda, alpha, 5)
    for _ in range(iterations):
        Lambda, f, _ = mean_field(X, mu_ES, mu_ESS, sigma, pie, Lambda, MAXSTEPS)
        free_energies.append(f)
        mu_ES, mu_ESS = compute_moments(X, mu_ES, sigma, Lambda, alpha, 5)
        sigma, pie = m_step(X, Lambda, compute_ESS(Lambda), mu_ES, mu_ESS)
        alpha = hyper_m(D, mu_ESS)
        alphas.append(alpha)
        nfactors.append(float(np.sum(alpha < THRESHOLD)))
        path.append((mu_ES, mu_ESS, sigma, pie, Lambda, alpha))
    return Learnt(mu_ES, sigma, pie, Lambda, np.array(free_energies), np.array(alphas), np.array(nfactors), path)


LISTING = Listing(
    "binary-ard",
    "000",
    "section 3.2, VB binary latent factor",
    learn_bin_factors,
    repairs=(SIGMOID, RANDOM),
    errors=(
        "the free energy lacks the divergence of Q(mu) from its prior",
        "its likelihood lacks D C_i lambda^2, the variance of mu under squared codes",
        "alpha below 1200 counts factors that nobody uses",
        "stop at a change of 1e-15, below the resolution of the sum",
    ),
)
