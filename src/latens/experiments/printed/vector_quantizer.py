"""Document 004: the cooperative vector quantizer, by EM and by variational Bayes, its equations as printed.

Rows x (N, d), codes lambda (N, K), weights W (d, K). What is wrong on the slides stays: F adds the entropy's negative;
the linear equations for W have the sign of x and a factor 2 wrong; F(Q) adds the divergence of the parameters where it
must be taken off; gamma is called a variance and used as a precision, which `gamma_is` lets one choose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, expit, gammaln, xlogy

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTINGS", "Bayes", "bound", "functional", "learn_bayes", "m_step_pi", "m_step_w", "sweep", "vbe", "vbm"]

READINGS = ("precision", "variance")
PRIORS = {"alpha": 1.0, "beta": 1.0, "a": 1e-3, "b": 1e-3, "c": 1e-3, "d": 1e-3}


def functional(x: Floats, lam: Floats, W: Floats, pi: Floats, sigma: float) -> float:
    """F(Q, Theta) of all rows: the slides add sum lambda log lambda + (1 - lambda) log(1 - lambda)."""
    N, d = x.shape
    moments = lam.T @ lam
    np.fill_diagonal(moments, lam.sum(axis=0))
    residual = np.sum(x**2) - 2 * np.sum(x * (lam @ W.T)) + np.sum(moments * (W.T @ W))
    codes = np.sum(xlogy(lam, pi) + xlogy(1 - lam, 1 - pi)) + np.sum(xlogy(lam, lam) + xlogy(1 - lam, 1 - lam))
    return float(-N * d * np.log(sigma) - residual / (2 * sigma**2) + codes)


def sweep(x: Floats, lam: Floats, W: Floats, pi: Floats, sigma: float) -> Floats:
    """The fixed point equations of the E step, once for every source."""
    lam = lam.copy()
    for u in range(lam.shape[1]):
        others = lam @ W.T - np.outer(lam[:, u], W[:, u])
        field = (x - others) @ W[:, u] / sigma**2 - W[:, u] @ W[:, u] / (2 * sigma**2)
        lam[:, u] = expit(field + np.log(pi[u] / (1 - pi[u])))
    return lam


def m_step_pi(lam: Floats) -> Floats:
    return np.asarray(lam.mean(axis=0))


def m_step_w(x: Floats, lam: Floats) -> Floats:
    """(d, K), the solution of the printed equations: lambda_v x_u + 2 (sum over j) + 2 lambda_v w_uv = 0."""
    moments = lam.T @ lam
    np.fill_diagonal(moments, lam.sum(axis=0))
    return np.asarray(-0.5 * np.linalg.solve(moments, lam.T @ x).T)


class Bayes(NamedTuple):
    """Posteriors: Beta of pi, Normal of the rows of W with one covariance, Gammas of gamma and tau; codes."""

    alpha: Floats  # (K,)
    beta: Floats  # (K,)
    m: Floats  # (d, K)
    Sigma: Floats  # (K, K)
    a: float
    b: Floats  # (K,)
    c: float
    d: float
    lam: Floats  # (N, K)

    @property
    def gamma(self) -> Floats:
        return np.asarray(self.a / self.b)

    @property
    def tau(self) -> float:
        return self.c / self.d

    @property
    def gram(self) -> Floats:
        """<W'W>."""
        return np.asarray(self.m.T @ self.m + len(self.m) * self.Sigma)


def vbe(y: Floats, q: Bayes) -> Floats:
    """Codes, one source after the other."""
    lam, gram, seen = q.lam.copy(), q.gram, y @ q.m
    odds = digamma(q.alpha) - digamma(q.beta)
    for k in range(lam.shape[1]):
        others = lam @ gram[:, k] - lam[:, k] * gram[k, k]
        lam[:, k] = expit(odds[k] + q.tau * (seen[:, k] - others - 0.5 * gram[k, k]))
    return lam


def vbm(y: Floats, lam: Floats, q: Bayes, gamma_is: str = "precision") -> Bayes:
    """Posteriors of the parameters, in the order of the slides: pi, W, gamma, tau."""
    if gamma_is not in READINGS:
        raise ValueError(f"gamma_is is {gamma_is!r}; choose one of {', '.join(READINGS)}.")
    (N, D), prior = y.shape, PRIORS
    on, moments = lam.sum(axis=0), lam.T @ lam
    np.fill_diagonal(moments, on)
    relevance = q.gamma if gamma_is == "precision" else 1 / q.gamma
    Sigma: Floats = np.asarray(np.linalg.inv(np.diag(relevance) + q.tau * moments), dtype=np.float64)
    m = q.tau * (y.T @ lam) @ Sigma
    squares = np.sum(m**2, axis=0) + D * np.diag(Sigma)
    residual = np.sum(y**2) - 2 * np.sum(y * (lam @ m.T)) + np.sum((m.T @ m + D * Sigma) * moments)
    return Bayes(
        prior["alpha"] + on,
        prior["beta"] + N - on,
        m,
        Sigma,
        prior["a"] + D / 2,
        prior["b"] + squares / 2,
        prior["c"] + N * D / 2,
        prior["d"] + 0.5 * float(residual),
        lam,
    )


def bound(y: Floats, q: Bayes) -> tuple[float, float]:
    """The expectation under the codes, and the divergence of the parameters: the slides add the two."""
    (N, D), K, prior = y.shape, q.lam.shape[1], PRIORS
    lam = q.lam
    moments = lam.T @ lam
    np.fill_diagonal(moments, lam.sum(axis=0))
    total = digamma(q.alpha + q.beta)
    residual = np.sum(y**2) - 2 * np.sum(y * (lam @ q.m.T)) + np.sum(q.gram * moments)
    log_tau, log_gamma = digamma(q.c) - np.log(q.d), digamma(q.a) - np.log(q.b)
    inside = np.sum(lam * (digamma(q.alpha) - total) + (1 - lam) * (digamma(q.beta) - total))
    inside -= np.sum(xlogy(lam, lam) + xlogy(1 - lam, 1 - lam))
    inside += N * D / 2 * (log_tau - np.log(2 * np.pi)) - q.tau / 2 * residual
    squares = np.diag(q.gram)
    weights = -0.5 * D * (K * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(q.Sigma)[1])
    weights -= np.sum(D / 2 * (log_gamma - np.log(2 * np.pi)) - q.gamma * squares / 2)
    divergence = weights + float(np.sum(_kl_gamma(q.a, q.b, prior["a"], prior["b"])))
    divergence += float(_kl_gamma(q.c, np.array(q.d), prior["c"], prior["d"]))
    ones = gammaln(q.alpha + q.beta) - gammaln(q.alpha) - gammaln(q.beta)
    divergence += float(
        np.sum(ones + (q.alpha - 1) * (digamma(q.alpha) - total) + (q.beta - 1) * (digamma(q.beta) - total))
    )
    return float(inside), float(divergence)


def _kl_gamma(a: float, b: Floats, a0: float, b0: float) -> Floats:
    return np.asarray(
        (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
    )


def learn_bayes(
    y: Floats,
    K: int,
    iterations: int,
    rng: np.random.Generator,
    gamma_is: str = "precision",
    start: Floats | None = None,
) -> tuple[Bayes, list[Bayes]]:
    """VBE and VBM in turn from random codes or given ones, and the posteriors after each round."""
    (N, D), prior = y.shape, PRIORS
    lam = rng.uniform(0.25, 0.75, (N, K)) if start is None else start
    q = Bayes(
        np.ones(K),
        np.ones(K),
        np.zeros((D, K)),
        np.eye(K),
        prior["a"] + D / 2,
        np.full(K, D / 2 * float(np.mean(y**2))),
        1.0,
        float(np.var(y)),
        lam,
    )
    q = vbm(y, lam, q, gamma_is)
    path = []
    for _ in range(iterations):
        q = vbm(y, vbe(y, q), q, gamma_is)
        path.append(q)
    return q, path


START = Repair("start", "none is printed", "codes uniform between a quarter and three quarters", "as document 000")
LISTINGS = (
    Listing(
        "image-separation",
        "004",
        "slides VBE and VBM, Bayesian CVQ model",
        learn_bayes,
        repairs=(
            START,
            Repair("priors", "alpha, beta, a, b, c, d without values", "flat, and .001 for the Gammas", "none given"),
        ),
        errors=(
            "F(Q) adds the divergence of the parameters",
            "gamma is called a variance and used as a precision",
        ),
    ),
    Listing(
        "cooperative-quantizer",
        "004",
        "slides on the mean field approximation and variational EM",
        functional,
        errors=(
            "F adds the sum of lambda log lambda, which is to be taken off",
            "the equations for W: the sign of x, and a factor 2",
            "the derivative by pi has logarithms of 1 / pi for 1 / pi; its solution is right",
            "the normal density has sigma^(-d/2) for sigma^(-d)",
        ),
    ),
)
