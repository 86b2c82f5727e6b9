"""Document 003: spike-and-slab factors with a precision for every entry, the updates as printed.

One view; y (N, D), tau (N, D), w = s * w_hat (D, K), z (N, K). `update_weights` keeps the four slips of the print: log
alpha and the squared term without their halves, <z> for <z^2> in the spike's precision, and lambda, a log odds, in the
place of a probability. `likelihood` puts means into the Bernoulli density, which is then no bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTING", "Factors", "Weights", "learn", "likelihood", "pseudo_data", "update_codes", "update_weights"]


class Weights(NamedTuple):
    mu: Floats  # (D, K), of q(w_hat | s = 1)
    sigma2: Floats  # (D, K)
    lam: Floats  # (D, K), log odds of s
    gamma: Floats  # (D, K), q(s = 1)

    @property
    def mean(self) -> Floats:
        """<s w_hat>."""
        return self.gamma * self.mu

    @property
    def square(self) -> Floats:
        """<(s w_hat)^2>."""
        return self.gamma * (self.mu**2 + self.sigma2)


class Factors(NamedTuple):
    weights: Weights
    z: Floats  # (N, K)
    z_variance: Floats  # (N, K)
    path: list[tuple[Weights, Floats, Floats]]  # weights, means and variances of the codes by iteration


def update_codes(y: Floats, tau: Floats, weights: Weights, z: Floats) -> tuple[Floats, Floats]:
    """Means and variances of q(z_nk), one factor after the other."""
    z = z.copy()
    variance = 1 / (tau @ weights.square + 1)
    for k in range(z.shape[1]):
        others = z @ weights.mean.T - np.outer(z[:, k], weights.mean[:, k])
        z[:, k] = variance[:, k] * ((tau * (y - others)) @ weights.mean[:, k])
    return z, variance


def update_weights(
    y: Floats, tau: Floats, weights: Weights, z: Floats, z_variance: Floats, alpha: Floats, theta: float
) -> Weights:
    """q(w_hat, s), one factor after the other; alpha (K,) is the precision of the slab."""
    mu, sigma2, lam, gamma = (np.array(part) for part in weights)
    for k in range(z.shape[1]):
        mean = gamma * mu
        pull = np.sum(tau * (y - z @ mean.T + np.outer(z[:, k], mean[:, k])) * z[:, k : k + 1], axis=0)
        sigma2[:, k] = 1 / (tau.T @ (z[:, k] ** 2 + z_variance[:, k]) + alpha[k])
        mu[:, k] = sigma2[:, k] * pull
        below = tau.T @ z[:, k] + alpha[k]  # <z^2> belongs here
        with np.errstate(all="ignore"):  # with <z> it may be negative
            odds = np.log(theta / (1 - theta)) + pull**2 / below + np.log(alpha[k]) - 0.5 * np.log(below)
        lam[:, k] = odds
        gamma[:, k] = np.where(np.isnan(odds), gamma[:, k], expit(odds))
    return Weights(mu, sigma2, lam, gamma)


def likelihood(y: Floats, weights: Weights, z: Floats) -> Floats:
    """(N, D), section 0.1.5: the Bernoulli log density at the means."""
    eta = z @ weights.mean.T
    return np.asarray(y * eta - np.logaddexp(0, eta))


def pseudo_data(y: Floats, weights: Weights, z: Floats, z_variance: Floats) -> tuple[Floats, Floats]:
    """Jaakkola's view of a binary entry as a Gaussian one: value and precision (N, D)."""
    mean = z @ weights.mean.T
    square = mean**2 + (z**2 + z_variance) @ weights.square.T - z**2 @ (weights.mean**2).T
    xi = np.sqrt(square)
    tau = np.tanh(xi / 2) / (2 * xi)
    return (y - 0.5) / tau, tau


def learn(
    y: Floats,
    tau: Floats,
    K: int,
    alpha: Floats,
    theta: float,
    iterations: int,
    rng: np.random.Generator,
    start: Floats | None = None,
) -> Factors:
    """Codes, then weights, again and again, on real entries of known precision; from random codes or given ones."""
    D = y.shape[1]
    z, z_variance = rng.standard_normal((len(y), K)) if start is None else start, np.ones((len(y), K))
    weights = Weights(np.zeros((D, K)), np.ones((D, K)), np.zeros((D, K)), np.full((D, K), 0.5))
    weights = update_weights(y, tau, weights, z, z_variance, alpha, theta)
    path = []
    for _ in range(iterations):
        z, z_variance = update_codes(y, tau, weights, z)
        weights = update_weights(y, tau, weights, z, z_variance, alpha, theta)
        path.append((weights, z, z_variance))
    return Factors(weights, z, z_variance, path)


LISTING = Listing(
    "multi-view",
    "003",
    "section 0.1.4, updates of the codes and of the weights; section 0.1.5, likelihood",
    learn,
    repairs=(
        Repair("alpha, theta", "updated in another file", "given numbers", "that file is not part of the document"),
        Repair(
            "q(s)",
            "the logarithm of a negative number, where <z> stands for <z^2>",
            "q(s) stays what it was",
            "NaN would end the run",
        ),
        Repair("tau", "the update of the bound's parameter is not printed", "xi^2 = <eta^2>", "Jaakkola's optimum"),
    ),
    errors=(
        "log(alpha) and the squared term lack their halves",
        "z_nk stands for <z_nk^2>",
        "q(w_hat, s) has lambda, a log odds, for the probability gamma",
        "the cross term of z is halved twice",
        "the likelihood of the bound is taken at the means",
    ),
)
