"""Mean-field EM for binary factors in the form in which it was printed, with its errors put right.

Kept: the start, uniform between .25 and .75; the loop over causes, each with an N x D residual of its own; 30 inner
sweeps; the M step. Put right: sweeps are counted per sweep and not per cause; the stop test is above rounding; the free
energy has the right entropy, belongs to the codes that are returned and forms no N x N matrix; sums over rows
are matrix products; a cause that nobody uses does not break the M step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, xlog1py, xlogy

__all__ = ["Factors", "Floats", "learn", "mean_field", "second_moments", "start", "sweep"]

Floats = NDArray[np.float64]
N_SWEEPS = 30
TINY = 1e-12


@dataclass(frozen=True)
class Factors:
    loadings: Floats  # (D, K)
    sigma: float
    usage: Floats  # (K,)


def learn(x: Floats, k: int, seed: int, n_iterations: int = 200, tol: float = 1e-5) -> Floats:
    """(k, D), the causes at the highest free energy of a run; `tol` is a gain in nats per row."""
    codes, factors = start(x, k, np.random.default_rng(seed))
    best, best_energy, last = factors, -np.inf, -np.inf
    for _ in range(n_iterations):
        codes = mean_field(x, factors, codes)
        energy = free_energy(x, factors, codes)
        if energy > best_energy:
            best, best_energy = factors, energy
        if abs(energy - last) < tol * len(x):
            break
        last, factors = energy, m_step(x, codes)
    return best.loadings.T


def start(x: Floats, k: int, rng: np.random.Generator) -> tuple[Floats, Factors]:
    codes = rng.uniform(0.25, 0.75, size=(len(x), k))
    return codes, Factors(rng.uniform(0.25, 0.75, size=(x.shape[1], k)), 1.0, rng.uniform(0.25, 0.75, size=k))


def mean_field(x: Floats, factors: Factors, codes: Floats) -> Floats:
    codes = codes.copy()
    last = -np.inf
    for _ in range(N_SWEEPS):
        sweep(x, factors, np.sum(factors.loadings**2, axis=0), codes)
        energy = free_energy(x, factors, codes)
        if abs(energy - last) <= 1e-10 * abs(energy):
            break
        last = energy
    return codes


def sweep(x: Floats, factors: Factors, squares: Floats, codes: Floats) -> None:
    """Every cause once, in place; `squares` (K,) are the expected squared lengths of the causes."""
    precision = factors.sigma**-2
    for i in range(codes.shape[1]):
        others = np.delete(codes, i, 1) @ np.delete(factors.loadings, i, 1).T
        pull = precision * (x - others) @ factors.loadings[:, i]
        codes[:, i] = expit(logit(factors.usage[i]) + pull - 0.5 * precision * squares[i])


def free_energy(x: Floats, factors: Factors, codes: Floats) -> float:
    n, d = x.shape
    prior = np.sum(xlogy(codes, factors.usage) + xlog1py(1 - codes, -factors.usage))
    entropy = -np.sum(xlogy(codes, codes) + xlog1py(1 - codes, -codes))
    misfit = np.sum((x - codes @ factors.loadings.T) ** 2)
    misfit += np.sum((codes - codes**2) @ np.sum(factors.loadings**2, axis=0))
    return float(prior + entropy - 0.5 * n * d * np.log(2 * np.pi * factors.sigma**2) - 0.5 * misfit / factors.sigma**2)


def m_step(x: Floats, codes: Floats) -> Factors:
    second = second_moments(codes)
    cross = codes.T @ x  # (K, D)
    loadings: Any = (np.linalg.pinv(second, hermitian=True) @ cross).T
    left = np.sum(x**2) + np.sum((loadings.T @ loadings) * second) - 2 * np.sum(cross * loadings.T)
    return Factors(loadings, float(np.sqrt(max(left, TINY) / x.size)), np.clip(codes.mean(axis=0), TINY, 1 - TINY))


def second_moments(codes: Floats) -> Floats:
    """(K, K), the sum over rows of E[s s']."""
    second: Floats = codes.T @ codes
    np.fill_diagonal(second, codes.sum(axis=0))
    return second
