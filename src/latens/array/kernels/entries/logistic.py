"""Averages and deviances of entries: compiled for NumPy arrays, plain array operations for others."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.special import expit, softplus
from latens.array.transfer import like

__all__ = [
    "count_deviance",
    "count_deviance_plain",
    "logistic_averages",
    "logistic_averages_plain",
    "logistic_deviance",
    "logistic_deviance_plain",
]


def logistic_averages(mean: Array, variance: Array, nodes: int) -> tuple[Array, Array]:
    """E[p] and E[p (1 - p)], p = 1 / (1 + e^-eta), eta ~ Normal(mean, variance), (n, D) each, by quadrature."""
    if not isinstance(mean, np.ndarray):
        return logistic_averages_plain(mean, variance, nodes)
    from latens.array.kernels.entries.logistic_numba import average_logistic

    chance, spread = np.empty_like(mean, order="C"), np.empty_like(mean, order="C")
    wide = np.broadcast_to(variance, mean.shape)
    average_logistic(np.ascontiguousarray(mean), np.ascontiguousarray(wide), *_nodes(nodes), chance, spread)
    return chance, spread


def logistic_averages_plain(mean: Array, variance: Array, nodes: int) -> tuple[Array, Array]:
    sd = array_namespace(mean).sqrt(variance)
    chance = spread = 0 * mean
    for place, weight in zip(*(part.tolist() for part in _nodes(nodes)), strict=True):
        p = expit(mean + place * sd)
        chance, spread = chance + weight * p, spread + weight * p * (1 - p)
    return chance, spread


def _nodes(n: int) -> tuple[np.ndarray, np.ndarray]:
    places, masses = np.polynomial.hermite_e.hermegauss(n)
    return places, masses / masses.sum()


def logistic_deviance(y: Array, eta: Array) -> Array:
    """(n, D), -2 log p(y | eta) of yes/no entries."""
    if not isinstance(eta, np.ndarray):
        return logistic_deviance_plain(y, eta)
    from latens.array.kernels.entries.logistic_numba import lose_logistic

    out = np.empty_like(eta, order="C")
    lose_logistic(np.ascontiguousarray(y), np.ascontiguousarray(eta), out)
    return out


def logistic_deviance_plain(y: Array, eta: Array) -> Array:
    return 2 * softplus((1 - 2 * y) * eta)


def count_deviance(y: Array, log_level: Array, size: Array, gamma: Array) -> Array:
    """(n, D), twice what counts y lose beside a perfect prediction where their means are e^log_level.

    Negative binomials of that size (D,) where `gamma` (D,) is positive, Poisson elsewhere; |log_level| at most 700.
    """
    if not isinstance(log_level, np.ndarray):
        return count_deviance_plain(y, log_level, size, gamma)
    from latens.array.kernels.entries.logistic_numba import lose_counts

    out, sides = np.empty_like(log_level, order="C"), (np.broadcast_to(part, y.shape[1:]) for part in (size, gamma))
    lose_counts(np.ascontiguousarray(y), np.ascontiguousarray(log_level), *map(np.ascontiguousarray, sides), out)
    return out


def count_deviance_plain(y: Array, log_level: Array, size: Array, gamma: Array) -> Array:
    xp = array_namespace(log_level)
    level, log_ratio = xp.exp(log_level), xp.log(xp.maximum(y, xp.ones_like(y))) - log_level  # 0 log 0 = 0
    r, has_noise = like(size, y), like(gamma, y) > 0
    lost = (y + r) * xp.log1p((level - y) / (y + r))  # (y + r) log((mu + r) / (y + r))
    return 2 * (y * log_ratio + xp.where(has_noise, lost, level - y))
