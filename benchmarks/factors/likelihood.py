"""Maximum likelihood written out the slow ways, to judge fits by."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

__all__ = ["by_em", "by_lbfgs", "log_likelihood"]


def log_likelihood(cov: np.ndarray, n: int, loadings: np.ndarray, noise: np.ndarray) -> float:
    """In nats, of n rows with that covariance; loadings (D, K)."""
    scaled = loadings / noise[:, None]
    inner = np.eye(loadings.shape[1]) + loadings.T @ scaled
    trace = np.sum(np.diag(cov) / noise) - np.trace(np.linalg.solve(inner, scaled.T @ cov @ scaled))
    level = len(cov) * np.log(2 * np.pi) + np.sum(np.log(noise)) + np.linalg.slogdet(inner)[1]
    return float(-0.5 * n * (level + trace))


def by_em(cov: np.ndarray, k: int, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    d = len(cov)
    w, v = eigh(cov, subset_by_index=[d - k, d - 1])
    noise, loadings = 0.5 * np.diag(cov), v * np.sqrt(0.5 * w)
    for _ in range(n_steps):
        scaled = loadings / noise[:, None]
        spread = np.linalg.inv(np.eye(k) + loadings.T @ scaled)
        weights = scaled @ spread
        a = cov @ weights
        loadings = np.linalg.solve(spread + weights.T @ a, a.T).T
        noise = np.maximum(np.diag(cov) - np.sum(loadings * a, axis=1), 1e-6 * np.diag(cov))
    return loadings, noise


def by_lbfgs(cov: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """On the profile likelihood in log psi, of standardised columns."""
    d, size = len(cov), np.sqrt(np.diag(cov))
    corr = cov / size / size[:, None]

    def factors(log_psi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        root = np.exp(0.5 * log_psi)
        w, v = eigh(corr / root / root[:, None], subset_by_index=[d - k, d - 1])
        e = np.maximum(w, 1.0)
        return w, e, v * np.sqrt(e - 1) * root[:, None]

    def height(log_psi: np.ndarray) -> tuple[float, np.ndarray]:
        w, e, loadings = factors(log_psi)
        psi = np.exp(log_psi)
        value = np.sum(np.log(e) + w / e) + np.sum(1 / psi) - w.sum() + log_psi.sum()
        return float(value), (psi + np.sum(loadings**2, axis=1) - 1) / psi

    bounds = [(np.log(1e-6), 0.0)] * d
    options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(height, np.full(d, np.log(0.5)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return factors(found.x)[2] * size[:, None], np.exp(found.x) * size**2
