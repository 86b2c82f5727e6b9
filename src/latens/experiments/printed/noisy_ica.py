"""Document 000, section 2: noisy ICA, its equations as printed.

Equations 15 to 18 update the mean of a sensor where the loadings belong: no source enters them. The rule for the tails
(below equation 21) sums over sources and not over rows. Equation 22 gives every source a Gamma(alpha_k / 2, 1); the
document says that alpha_k of a source that is not needed grows without bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTINGS", "Sources", "learn_alpha", "learn_sources", "log_p_z", "solve_digamma", "update_mixing"]

LEAST_ALPHA, MOST_ALPHA = 1e-6, 1e8  # ends of the search for alpha


class Sources(NamedTuple):
    A: Floats  # (D, K)
    alpha: Floats  # (iterations, K)
    variance: Floats  # (iterations, K), mean square of each source times its column's squared length


def log_p_z(z: Floats, alpha: float) -> Floats:
    """Section 2.1: the log density of a source, a Student-t."""
    level = gammaln((alpha + 1) / 2) - gammaln(alpha / 2) - 0.5 * np.log(np.pi * alpha)
    return np.asarray(level - (alpha + 1) / 2 * np.log1p(z**2 / alpha))


def update_mixing(x_k: Floats, mu_0: float, nu: float, alpha: float, beta: float) -> tuple[float, float, float, float]:
    """Equations 15 to 18, from the values of one sensor (N,) and nothing else."""
    N, mean = len(x_k), float(np.mean(x_k))
    spread = 0.5 * float(np.sum((x_k - mean) ** 2))
    return (
        (nu * mu_0 + N * mean) / (nu + N),
        nu + N,
        alpha + N / 2,
        beta + spread + N * nu / (nu + N) * (mean - mu_0) ** 2 / 2,
    )


def learn_alpha(E_log_u: Floats, E_u: Floats) -> float:
    """The one alpha of all sources, from <log u_k> and <u_k> (K,), or (N, K) for the sum over rows that is missing.

    Solves log(alpha / 2) + 1 - digamma(alpha / 2) + mean(<log u> - <u>) = 0; where no finite alpha does, the end of
    the search is returned.
    """
    rest = 1 + float(np.mean(E_log_u - E_u))

    def slope(alpha: float) -> float:
        return float(np.log(alpha / 2) - digamma(alpha / 2)) + rest

    if slope(MOST_ALPHA) >= 0:
        return MOST_ALPHA
    return float(brentq(slope, LEAST_ALPHA, MOST_ALPHA, xtol=1e-12, rtol=1e-13))


def solve_digamma(E_log_u_k: float) -> float:
    """The rule of section 2.4.2: alpha_k with digamma(alpha_k / 2) = <log u_k>."""
    half = float(np.exp(E_log_u_k) + 0.5) if E_log_u_k > -2 else -1 / (E_log_u_k - float(digamma(1)))
    low, high = half, half
    while digamma(low) > E_log_u_k:
        low /= 2
    while digamma(high) < E_log_u_k:
        high *= 2
    return 2 * (low if low == high else float(brentq(lambda a: digamma(a) - E_log_u_k, low, high, rtol=1e-13)))


def learn_sources(X: Floats, K: int, iterations: int, rng: np.random.Generator, nu: float | None = None) -> Sources:
    """Section 2.4.2 run: u_k ~ Gamma(alpha_k / 2, 1) with its rule for alpha_k, on centred rows (N, D).

    Q(z) of a row is Gaussian, Q(u) = Gamma((alpha + 1) / 2, 1 + <z^2> / 2). Loadings are points by least squares, or,
    with `nu`, have the posterior Normal(A_d, Psi_dd V) that equation 14 wants, about mu_0 = 0; the noise is a point.
    """
    N, D = X.shape
    X = X - X.mean(axis=0)
    A = rng.standard_normal((D, K)) * np.sqrt(X.var(axis=0).mean() / K)
    psi, u, alpha = X.var(axis=0) / 2, np.ones((N, K)), np.full(K, 3.0)
    V = np.zeros((K, K))
    alphas, variances = [], []
    for _ in range(iterations):
        gram = A.T @ (A / psi[:, None]) + D * V
        S = np.linalg.inv(u[:, :, None] * np.eye(K) + gram)  # (N, K, K)
        z = np.einsum("nij,nj->ni", S, X @ (A / psi[:, None]))
        squares = z**2 + np.einsum("nii->ni", S)
        u = (alpha + 1) / (2 + squares)
        E_log_u = digamma((alpha + 1) / 2) - np.log1p(squares / 2)
        alpha = np.array([solve_digamma(value) for value in E_log_u.mean(axis=0)])
        zz = z.T @ z + S.sum(axis=0)
        precision = zz if nu is None else zz + nu * np.eye(K)
        A = np.linalg.solve(precision, z.T @ X).T
        V = V if nu is None else np.linalg.inv(precision)
        psi = np.maximum(np.mean(X**2, axis=0) - np.sum(A * (X.T @ z), axis=1) / N, 1e-9 * X.var())
        alphas.append(alpha)
        variances.append(squares.mean(axis=0) * np.sum(A**2, axis=0))
    return Sources(A, np.array(alphas), np.array(variances))


LISTINGS = (
    Listing(
        "noisy-ica",
        "000",
        "section 2.3, equations 15 to 18",
        update_mixing,
        errors=("the regression of a sensor on the sources is missing: the update is that of a mean",),
    ),
    Listing(
        "shared-tail",
        "000",
        "section 2.4.1, equation 21 and below",
        learn_alpha,
        errors=("no sum over rows", "one alpha for all sources"),
    ),
    Listing(
        "number-of-sources",
        "000",
        "section 2.4.2, equation 22 and below",
        learn_sources,
        repairs=(
            Repair(
                "Q(u_k)", "not printed", "Gamma((alpha + 1) / 2, 1 + <z^2> / 2)", "conjugate where z and u are apart"
            ),
            Repair("alpha_k", "no sum over rows", "the mean over rows", "each row has its own u_k"),
            Repair(
                "A, Psi",
                "equations 15 to 18",
                "least squares on the sources, or with nu the posterior of that regression",
                "the print never uses the sources",
            ),
        ),
        errors=("alpha_k sets scale and tails at once",),
    ),
)
