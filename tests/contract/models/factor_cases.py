"""Rows of the contract table for factor analysis, and what its bounds are below."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import norm, qmc

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.factor_analysis.model import FactorAnalysisPosterior, Factors
from tests.contract.measurements import evidence


def start(model: Factors, k: int, x: np.ndarray, rng: np.random.Generator) -> FactorAnalysisPosterior:
    q = model.prior(k)
    size = float(np.sqrt(np.mean(x**2)))
    mean, center = rng.normal(size=(k, model.n_features)) * size, rng.normal(size=model.n_features) * 0.3 * size
    if isinstance(q.loadings, PointNormalGamma):
        noise = size**2 * rng.uniform(0.5, 2, model.n_features)
        return FactorAnalysisPosterior(PointNormalGamma(mean, noise, model.floor), center)
    weights = replace(q.loadings.weights, mean=mean, precision=q.loadings.weights.precision + 3 * np.eye(k))
    alpha = Gamma(rng.uniform(1, 3, k), rng.uniform(1, 3, k))
    return FactorAnalysisPosterior(replace(q.loadings, weights=weights, alpha=alpha), center)


def likelihood(model: Factors, q: FactorAnalysisPosterior, rows: Rows) -> float:
    """log Normal(x | c, W'W + diag(noise)) of what was seen of each row, in dense algebra."""
    x, seen = evidence.observed(rows)
    cov = q.loadings.mean.T @ q.loadings.mean + np.diag(q.loadings.noise)
    total = 0.0
    for row, there in zip(x, seen, strict=True):
        part, gap = cov[np.ix_(there, there)], (row - q.center)[there]
        total -= 0.5 * (gap @ np.linalg.solve(part, gap) + np.linalg.slogdet(part)[1] + there.sum() * evidence.LOG_2PI)
    return float(total)


def marginal(model: Factors, q: FactorAnalysisPosterior, rows: Rows) -> float:
    """log p(rows | c) for one factor: loadings and noise in closed form, alpha by a grid, h by quasi-random draws."""
    x, seen = evidence.observed(rows)
    x = np.where(seen, x - q.center, 0.0)
    h = _draws(len(x))  # (S, N)
    a0, b0 = model.noise
    shape, rate = model.relevance
    grid = np.linspace(-9, 6, 61)
    alpha = np.exp(grid)
    mass = shape * np.log(rate) - gammaln(shape) + shape * grid - rate * alpha + np.log(grid[1] - grid[0])
    level = np.broadcast_to(mass, (len(h), len(grid)))
    for d in range(x.shape[1]):
        n = seen[:, d].sum()
        squares, pulled = h**2 @ seen[:, d], h @ x[:, d]
        precision = squares[:, None] + alpha
        half = 0.5 * (x[:, d] @ x[:, d] - pulled[:, None] ** 2 / precision)
        level = level + 0.5 * (grid - np.log(precision)) - 0.5 * n * evidence.LOG_2PI
        level = level + a0 * np.log(b0) - gammaln(a0) + gammaln(a0 + n / 2) - (a0 + n / 2) * np.log(b0 + half)
    return float(logsumexp(level) - np.log(len(h)))


@cache
def _draws(n: int) -> np.ndarray:
    return norm.ppf(qmc.Sobol(n, seed=7).random(2**15) * (1 - 2e-12) + 1e-12)


def options(points: bool) -> dict[str, Any]:
    """Of a `Case`, with priors strong enough for their constants to matter."""
    return {
        "build": lambda d: Factors(d, noise=(2.3, 1.7), relevance=(2.4, 1.6), points=points, floor=1e-4),
        "start": start,
        "log_evidence": likelihood if points else marginal,
        "most_components": 2 if points else 1,
        "points": points,
        "exact_rows": True,
        "hierarchical": not points,
    }
