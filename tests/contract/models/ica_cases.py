"""Rows of the contract table for noisy ICA, and what its bounds are below."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal, norm, qmc
from scipy.stats import t as student

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.noisy_ica.joint import JointNoisyIca
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_ica.posteriors import Shapes
from tests.contract.measurements import evidence


def start(kinds: str, model: NoisyIca, k: int, x: np.ndarray, rng: np.random.Generator) -> IcaPosterior:
    q = model.prior(k)
    size = float(np.sqrt(np.mean(x**2)))
    mean = rng.normal(size=q.loadings.mean.shape) * size
    light = np.array([kinds == "light" or (kinds == "mixed" and i % 2 == 0) for i in range(k)], dtype=bool)
    shapes = Shapes(rng.uniform(2.5, 8, k), np.where(light, rng.uniform(0.4, 0.9, k), 0.0))
    if isinstance(q.loadings, PointNormalGamma):
        noise = size**2 * rng.uniform(0.5, 2, model.n_features)
        return replace(q, shapes=shapes, loadings=PointNormalGamma(mean, noise, model.floor))
    weights = replace(q.loadings.weights, mean=mean, precision=q.loadings.weights.precision + 3 * np.eye(len(mean)))
    alpha = Gamma(rng.uniform(1, 3, len(mean)), rng.uniform(1, 3, len(mean)))
    return replace(q, shapes=shapes, loadings=replace(q.loadings, weights=weights, alpha=alpha))


def likelihood(model: NoisyIca, q: IcaPosterior, rows: Rows) -> float:
    """log p(rows | point): sources of two levels are summed over exactly, heavy ones by quasi-random draws."""
    x, seen = evidence.observed(rows)
    w, noise = q.loadings.mean, q.loadings.noise
    centre = w[q.n_components] if model.intercept else np.zeros(len(noise))
    if np.all(q.shapes.split > 0):
        signs = 2 * evidence.states(q.n_components) - 1
        w = w[: q.n_components]
        cov = w.T @ np.diag(1 - q.shapes.split**2) @ w + np.diag(noise)
        total = 0.0
        for row, there in zip(x, seen, strict=True):
            if not there.any():
                continue
            parts = [
                multivariate_normal.logpdf(
                    row[there], (centre + (s * q.shapes.split) @ w)[there], cov[np.ix_(there, there)]
                )
                for s in signs
            ]
            total += logsumexp(parts) - q.n_components * np.log(2)
        return float(total)
    z = draws(q.n_components, q.shapes, 15)
    means = z @ w[: q.n_components] + centre  # (S, D)
    total = 0.0
    for row, there in zip(x, seen, strict=True):
        gaps = (row - means)[:, there]
        density = -0.5 * np.sum(gaps**2 / noise[there] + np.log(noise[there]) + evidence.LOG_2PI, axis=1)
        total += logsumexp(density) - np.log(len(z))
    return float(total)


def marginal(model: NoisyIca, q: IcaPosterior, rows: Rows) -> float:
    """log p(rows | shapes) of one source: loadings and noise in closed form, relevance by a grid, sources by draws."""
    x, seen = evidence.observed(rows)
    n = len(x)
    one = q.shapes.only(np.array([0]))
    z = draws(n, Shapes(np.repeat(one.tails, n), np.repeat(one.split, n)), 12 if model.intercept else 15)  # (S, N)
    grid = np.arange(-9.0, 6.0, 0.6 if model.intercept else 0.25)
    step = grid[1] - grid[0]
    shape, rate = model.relevance
    mass = shape * np.log(rate) - gammaln(shape) + shape * grid - rate * np.exp(grid) + np.log(step)
    points = np.array(list(itertools.product(range(len(grid)), repeat=1 + model.intercept)))
    alpha, level = np.exp(grid)[points], np.broadcast_to(mass[points].sum(axis=1), (len(z), len(points)))
    a0, b0 = model.noise
    for d in range(x.shape[1]):
        there = seen[:, d]
        count, target = there.sum(), x[there, d]
        own = z[:, there]
        a = np.sum(own**2, axis=1)[:, None] + alpha[:, 0]
        pulled = (own @ target)[:, None]
        determinant, fitted = a, pulled**2 / a
        if model.intercept:
            b, c = own.sum(axis=1)[:, None], count + alpha[:, 1]
            determinant = a * c - b**2
            fitted = (c * pulled**2 - 2 * b * pulled * target.sum() + a * target.sum() ** 2) / determinant
        half = 0.5 * (target @ target - fitted)
        level = level + 0.5 * (np.log(alpha).sum(axis=1) - np.log(determinant)) - 0.5 * count * evidence.LOG_2PI
        level = level + a0 * np.log(b0) - gammaln(a0) + gammaln(a0 + count / 2) - (a0 + count / 2) * np.log(b0 + half)
    return float(logsumexp(level) - np.log(len(z)))


def draws(k: int, shapes: Shapes, log2: int) -> np.ndarray:
    """(2^log2, K), quasi-random sources by their quantiles."""
    uniform = _uniform(k, log2)
    heavy = student.ppf(uniform, shapes.tails)
    # each level's half of the unit interval, stretched
    sign = np.where(uniform < 0.5, -1.0, 1.0)
    inner = np.clip(2 * uniform - (uniform >= 0.5), 1e-12, 1 - 1e-12)
    light = sign * shapes.split + norm.ppf(inner) * np.sqrt(1 - shapes.split**2)
    return np.where(shapes.split > 0, light, heavy)


@cache
def _uniform(k: int, log2: int) -> np.ndarray:
    return qmc.Sobol(k, seed=11).random(2**log2) * (1 - 2e-12) + 1e-12


def options(
    kinds: str,
    *,
    points: bool = False,
    intercept: bool = False,
    diagonal: bool = False,
    kind: type[NoisyIca] = NoisyIca,
) -> dict[str, Any]:
    """Of a `Case`, with priors strong enough for their constants to matter."""
    return {
        "build": lambda d: kind(
            d,
            noise=(2.3, 1.7),
            relevance=(2.4, 1.6),
            points=points,
            intercept=intercept,
            diagonal=diagonal,
            floor=1e-2,
        ),
        "start": lambda model, k, x, rng: start(kinds, model, k, x, rng),
        "log_evidence": likelihood if points else marginal,
        "most_components": 2 if points else 1,
        "points": points,
        "exact_rows": kinds == "light",
        "hierarchical": not points,
    }


VARIANTS: dict[str, dict[str, Any]] = {
    "ica-heavy": {"kinds": "heavy"},
    "ica-light": {"kinds": "light"},
    "ica-heavy-intercept": {"kinds": "heavy", "intercept": True},
    "ica-mixed-intercept": {"kinds": "mixed", "intercept": True},
    "ica-heavy-mean-field": {"kinds": "heavy", "diagonal": True},
    "ica-heavy-scale-mixture": {"kinds": "heavy", "diagonal": True, "kind": JointNoisyIca},
    "ica-ml-heavy": {"kinds": "heavy", "points": True},
    "ica-ml-light-intercept": {"kinds": "light", "points": True, "intercept": True},
}
