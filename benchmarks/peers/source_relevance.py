"""Variational Bayes with relevance determination as it was printed: a posterior factorised over causes.

Kept: the start, alpha = 120 for every cause, a cause counted while its alpha is below 1200, 30 inner sweeps over
codes and 5 over loadings. Put right as in `source`; and since its free energy lacks terms, a loop ends when codes
rest instead.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.source import N_SWEEPS, TINY, Factors, Floats, second_moments, sweep

__all__ = ["learn"]

ALPHA = 120.0
CUT = 10 * ALPHA
N_INNER = 5


def learn(x: Floats, k: int, seed: int, n_iterations: int = 100) -> tuple[Floats, Floats]:
    """The causes (K', D) alive by the source's own count, alpha below its cut; and those that any row uses at all."""
    rng = np.random.default_rng(seed)
    codes = rng.uniform(0.2, 0.8, size=(len(x), k))
    loadings = rng.uniform(0.2, 0.8, size=(x.shape[1], k))
    usage, sigma = rng.uniform(0.2, 0.7, size=k), float(rng.uniform(TINY, 1))
    alpha = np.full(k, ALPHA)
    loadings, squares = moments(x, codes, loadings, sigma, alpha)
    for _ in range(n_iterations):
        before = codes
        codes = settle(x, Factors(loadings, sigma, usage), squares, codes)
        loadings, squares = moments(x, codes, loadings, sigma, alpha)
        sigma = noise(x, codes, loadings, squares)
        usage = np.clip(codes.mean(axis=0), TINY, 1 - TINY)
        alpha = x.shape[1] / squares
        if np.max(np.abs(codes - before)) < 1e-6:
            break
    return loadings.T[alpha < CUT], loadings.T[codes.sum(axis=0) >= 1]


def settle(x: Floats, factors: Factors, squares: Floats, codes: Floats) -> Floats:
    codes = codes.copy()
    for _ in range(N_SWEEPS):
        before = codes.copy()
        sweep(x, factors, squares, codes)
        if np.max(np.abs(codes - before)) < 1e-8:
            break
    return codes


def moments(x: Floats, codes: Floats, loadings: Floats, sigma: float, alpha: Floats) -> tuple[Floats, Floats]:
    """Means (D, K) and expected squared lengths (K,) of the causes, one cause at a time."""
    precision, loadings = sigma**-2, loadings.copy()
    variance = 1 / (precision * codes.sum(axis=0) + alpha)
    for _ in range(N_INNER):
        for i in range(codes.shape[1]):
            overlap = np.delete(codes, i, 1).T @ codes[:, i]
            others = np.delete(loadings, i, 1) @ overlap
            loadings[:, i] = variance[i] * precision * (x.T @ codes[:, i] - others)
    return loadings, x.shape[1] * variance + np.sum(loadings**2, axis=0)


def noise(x: Floats, codes: Floats, loadings: Floats, squares: Floats) -> float:
    second, gram = second_moments(codes), loadings.T @ loadings
    np.fill_diagonal(gram, squares)
    left = np.sum(x**2) + np.sum(gram * second) - 2 * np.sum((codes.T @ x) * loadings.T)
    return float(np.sqrt(max(left, TINY) / x.size))
