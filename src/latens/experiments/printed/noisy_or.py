"""Document 004, the noisy-OR vector quantizer: variational EM by Jensen's inequality, as the slides have it.

Rows x (N, D) of 0 and 1, theta (K, D) = -log(1 - p), q (N, D, K) with sum 1 over the sources. There is no leak: a pixel
is dark for certain where no source is on, and Jensen's inequality then bounds nothing (`jensen`). The M step searches
for theta numerically.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, xlogy

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTING", "Found", "functional", "infer", "jensen", "learn", "log_probability", "search_theta", "update_q"]

LEAST_THETA, MOST_THETA = 1e-6, 30.0  # of theta in the search
LEAST_SHARE = 1e-12  # of a share q


class Found(NamedTuple):
    theta: Floats  # (K, D)
    pi: Floats  # (K,)
    lam: Floats  # (N, K)
    q: Floats  # (N, D, K)
    functionals: Floats  # (iterations,)
    n_evaluations: int  # of the objective, in all searches for theta


def log_probability(theta: Floats, s: Floats) -> Floats:
    """log P(X_j = 1 | s) for each column, -inf where no source is on."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(-s @ theta)))


def jensen(theta: Floats, q: Floats, s: Floats) -> Floats:
    """The slide's lower bound of it: sum_i q_j(i) s_i log(1 - exp(-theta_ij / q_j(i))), with C = 0; q is (D, K)."""
    with np.errstate(all="ignore"):
        return np.asarray(np.sum(q * s * f(theta.T / q), axis=1))


def f(t: Floats) -> Floats:
    return np.asarray(np.log(-np.expm1(-t)))


def infer(x: Floats, theta: Floats, pi: Floats, q: Floats) -> Floats:
    """(N, K), P(s_i = 1 | x) when every column is a product over sources of h(x_j | s_i)."""
    lit = np.einsum("nd,ndk->nk", x, q * f(theta.T / q))
    dark = (1 - x) @ -theta.T
    return np.asarray(expit(logit(pi) + lit + dark))


def update_q(lam: Floats, theta: Floats, q: Floats) -> Floats:
    """The fixed point of dF/dq: shares in proportion to q times the slope of lambda q f(theta / q)."""
    u = theta.T / q
    with np.errstate(over="ignore"):
        slope = lam[:, None, :] * (f(u) - u / np.expm1(u))
    share = np.maximum(q * -slope, LEAST_SHARE)
    return np.asarray(share / share.sum(axis=2, keepdims=True))


def functional(x: Floats, theta: Floats, pi: Floats, lam: Floats, q: Floats) -> float:
    """What the slides maximise: the expected log of the product form, plus the entropy of the codes."""
    data = np.sum(lam * (np.einsum("nd,ndk->nk", x, q * f(theta.T / q)) - (1 - x) @ theta.T))
    codes = np.sum(xlogy(lam, pi) + xlogy(1 - lam, 1 - pi) - xlogy(lam, lam) - xlogy(1 - lam, 1 - lam))
    return float(data + codes)


def search_theta(x: Floats, lam: Floats, theta: Floats, q: Floats) -> tuple[Floats, int]:
    """Theta by numerical search, column by column; and how often the objective was evaluated."""
    found, count = theta.copy(), 0
    for j in range(x.shape[1]):
        on, off = x[:, j] > 0, x[:, j] == 0
        dark, share, weight = lam[off].sum(axis=0), q[on, j], lam[on]

        def loss(
            t: Floats, dark: Floats = dark, share: Floats = share, weight: Floats = weight
        ) -> tuple[float, Floats]:
            u = t / share
            slope = np.sum(weight / np.expm1(np.minimum(u, 700.0)), axis=0) - dark
            return -float(np.sum(weight * share * f(u)) - dark @ t), -slope

        answer = minimize(
            loss, theta[:, j], jac=True, method="L-BFGS-B", bounds=[(LEAST_THETA, MOST_THETA)] * len(theta)
        )
        found[:, j], count = answer.x, count + int(answer.nfev)
    return found, count


def learn(
    x: Floats, K: int, iterations: int, rng: np.random.Generator, start: tuple[Floats, Floats] | None = None
) -> Found:
    """Variational EM: codes, shares, theta, usage; from random theta and usage, or given ones."""
    theta, pi = start or (rng.uniform(0.1, 1.0, (K, x.shape[1])), rng.uniform(0.25, 0.75, K))
    q = np.full((*x.shape, K), 1 / K)
    functionals, count = [], 0
    for _ in range(iterations):
        lam = infer(x, theta, pi, q)
        q = update_q(lam, theta, q)
        theta, evaluations = search_theta(x, lam, theta, q)
        pi = np.clip(lam.mean(axis=0), LEAST_SHARE, 1 - LEAST_SHARE)
        count += evaluations
        functionals.append(functional(x, theta, pi, lam, q))
    return Found(theta, pi, lam, q, np.array(functionals), count)


LISTING = Listing(
    "noisy-or-images",
    "004",
    "slides of the noisy-OR vector quantizer, variational EM",
    learn,
    repairs=(
        Repair("q", "a fixed-point equation that is not printed", "q in proportion to q times the slope", "derived"),
        Repair("theta", "numerical search, not said which", "L-BFGS-B, theta between 1e-6 and 30", "to be run"),
        Repair("start", "none is printed", "theta uniform between .1 and 1, usage between .25 and .75", "to be run"),
        Repair("C", "a constant that is not printed", "0", "without a leak there is none that makes it a bound"),
    ),
    errors=(
        "without a leak the bound of P(X_j = 1 | s) is none",
        "the shares are said to sum to 1 over j; they do over i",
        "theta is searched for numerically, where a step in closed form exists",
    ),
)
