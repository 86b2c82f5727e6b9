"""An independent answer to what the factors of a sample are, once the loadings are given: plain NumPy, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit


def codes_given_loadings(model: Any, views: dict[str, np.ndarray], steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (n, K) of factors under the posterior of a fitted model without groups.

    Each step sets the bound of every entry where the linear predictor is now, and then solves for the factors. How
    uncertain they are in the end is by the likelihoods themselves, with the noise and the levels that are published.
    """
    q, k = model.posterior_, model.n_components_
    n = len(next(iter(views.values())))
    scale = np.broadcast_to(model._units.scale, model._units.origin.shape)
    at = dict(zip(model.layout_.views, model.layout_.bounds, strict=True))
    mean, std = np.zeros((n, k)), np.zeros((n, k))
    for i in range(n):
        z, spread = np.zeros(k), np.eye(k)
        for _ in range(steps):
            before, precision, drive, true = z, np.eye(k), np.zeros(k), np.eye(k)
            for name, rows in views.items():
                p, seen = q.views[name], ~np.isnan(rows[i])
                y = (rows[i] - model._units.origin[at[name]])[seen] / scale[at[name]][seen]
                w, b = p.weights.mean[seen], p.offsets.mean[seen, 0]
                extra = p.weights.square[seen] - w**2
                eta = b + w @ z
                second = eta**2 + p.offsets.variance[seen, 0] + extra @ (z**2 + np.diag(spread))
                second = second + np.einsum("da,ab,db->d", w, spread, w)
                kind = _kinds(model, name)[seen]
                tau, response = _parabola(kind, y, eta, second, p.noise.mean[seen])
                precision = precision + (w * tau[:, None]).T @ w + np.diag(tau @ extra)
                bend = _bend(kind, y, eta, p.noise.mean[seen])
                if name in getattr(model, "dispersion_", {}):
                    log_mean = model.intercepts_[name][0][seen] + w @ z
                    gamma = _counts_by_gamma(model, name)[seen]
                    bend = np.where(gamma, _gamma_bend(y, log_mean, 1 / model.dispersion_[name][seen]), bend)
                true = true + (w * bend[:, None]).T @ w + np.diag(bend @ extra)
                drive = drive + w.T @ (response - tau * b)
            spread = np.linalg.inv(precision)
            z = spread @ drive
            if np.abs(z - before).max(initial=0.0) < 1e-13:
                break
        mean[i], std[i] = z, np.sqrt(np.diag(np.linalg.inv(true)))
    sign = np.sign([(model.transform(views)[:, j] @ mean[:, j]) for j in range(k)])
    return mean * sign, std


def _kinds(model: Any, view: str) -> np.ndarray:
    """(D,), of each column: its likelihood, or whether it has rare or common counts."""
    likelihood = next(one.likelihood for one in model._model.views if one.name == view)
    if hasattr(likelihood, "rare"):
        return np.where(likelihood.rare > 0, "rare", "common")
    return np.full(len(model.posterior_.views[view].noise.mean), likelihood.name)


def _counts_by_gamma(model: Any, view: str) -> np.ndarray:
    """(D,), whether the noise of answers is gamma."""
    return next(one.likelihood.ratio > 0 for one in model._model.views if one.name == view)


def _gamma_bend(y: np.ndarray, log_mean: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The same of negative binomials: of their slope, size (y - mean) / (size + mean)."""
    mean = np.exp(log_mean)
    return size * mean * (size + y) / (size + mean) ** 2


def _parabola(
    kind: np.ndarray, y: np.ndarray, eta: np.ndarray, second: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Precision and response of the quadratic that stands for each entry."""
    curve = np.tanh(np.sqrt(second) / 2) / (2 * np.sqrt(second))
    grown = _log_normal_mean(y, eta, noise)
    middle = np.log(grown) - 0.5 / (noise + grown)
    precision = {"gaussian": noise, "bernoulli": curve, "rare": (y + noise) * curve, "common": noise}
    response = {"gaussian": noise * y, "bernoulli": y - 0.5, "rare": 0.5 * (y - noise), "common": noise * middle}
    return (
        np.select([kind == one for one in precision], list(precision.values())),
        np.select([kind == one for one in response], list(response.values())),
    )


def _log_normal_mean(y: np.ndarray, eta: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """A of common counts, by bisection on its logarithm."""
    low, high = np.full(len(y), -60.0), np.full(len(y), 60.0)
    for _ in range(120):
        a = 0.5 * (low + high)
        above = a - eta - (y - np.exp(a)) / tau - 0.5 / (tau + np.exp(a)) > 0
        low, high = np.where(above, low, a), np.where(above, a, high)
    return np.exp(0.5 * (low + high))


def _bend(kind: np.ndarray, y: np.ndarray, eta: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """How fast the slope of the log-likelihood falls at eta."""
    flat = expit(eta) * expit(-eta)
    grown = _log_normal_mean(y, eta, noise)
    bends = {
        "gaussian": noise,
        "bernoulli": flat,
        "rare": (y + noise) * flat,
        "common": noise * grown / (noise + grown),
    }
    return np.select([kind == one for one in bends], list(bends.values()))
