"""An independent answer to what the factors of a sample are, once the loadings are given: plain NumPy, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit


def codes_given_loadings(model: Any, views: dict[str, np.ndarray], steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (n, K) of factors under the posterior of a fitted model without groups.

    Each step sets the bound of every entry where the linear predictor is now, and then solves for the factors. How
    uncertain they are in the end is by the likelihoods themselves, differentiated numerically.
    """
    q, k = model.posterior_, model.n_components_
    n = len(next(iter(views.values())))
    scale = np.broadcast_to(model.frame_.scale, model.frame_.origin.shape)
    at = dict(zip(model.layout_.views, model.layout_.bounds, strict=True))
    mean, std = np.zeros((n, k)), np.zeros((n, k))
    for i in range(n):
        z, spread = np.zeros(k), np.eye(k)
        for _ in range(steps):
            before, precision, drive, true = z, np.eye(k), np.zeros(k), np.eye(k)
            for name, rows in views.items():
                p, seen = q.views[name], ~np.isnan(rows[i])
                y = (rows[i] - model.frame_.origin[at[name]])[seen] / scale[at[name]][seen]
                w, b = p.weights.mean[seen], p.offsets.mean[seen, 0]
                extra = p.weights.square[seen] - w**2
                eta = b + w @ z
                second = eta**2 + p.offsets.variance[seen, 0] + extra @ (z**2 + np.diag(spread))
                second = second + np.einsum("da,ab,db->d", w, spread, w)
                tau, response = _parabola(model.likelihoods_[name], y, eta, second, p.noise.mean[seen])
                precision = precision + (w * tau[:, None]).T @ w + np.diag(tau @ extra)
                bend = _bend(model.likelihoods_[name], y, eta, p.noise.mean[seen])
                true = true + (w * bend[:, None]).T @ w + np.diag(bend @ extra)
                drive = drive + w.T @ (response - tau * b)
            spread = np.linalg.inv(precision)
            z = spread @ drive
            if np.abs(z - before).max(initial=0.0) < 1e-13:
                break
        mean[i], std[i] = z, np.sqrt(np.diag(np.linalg.inv(true)))
    sign = np.sign([(model.transform(views)[:, j] @ mean[:, j]) for j in range(k)])
    return mean * sign, std


def _parabola(
    kind: str, y: np.ndarray, eta: np.ndarray, second: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Precision and response of the quadratic that stands for each entry."""
    if kind == "gaussian":
        return noise, noise * y
    if kind == "bernoulli":
        xi = np.sqrt(second)
        return np.tanh(xi / 2) / (2 * xi), y - 0.5
    kappa, rate = 0.25 + 0.17 * y, np.log1p(np.exp(eta))
    return kappa, kappa * eta - expit(eta) * (1 - y / rate)


def _bend(kind: str, y: np.ndarray, eta: np.ndarray, noise: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """How fast the slope of the log-likelihood falls at eta."""

    def slope(at: np.ndarray) -> np.ndarray:
        return y - expit(at) if kind == "bernoulli" else expit(at) * (y / np.log1p(np.exp(at)) - 1)

    return noise if kind == "gaussian" else (slope(eta - step) - slope(eta + step)) / (2 * step)
