"""Bayesian linear regression: a number predicted by a weighted sum of columns, with the weights' posterior.

    theta          ~ Normal(0, I / alpha)
    y_n | x_n      ~ Normal(c + theta'x_n, 1 / beta)

Posterior family: q(theta) = Normal(m, V), exact given alpha and beta; the intercept c is a point. alpha and beta are
each given, chosen to maximise the evidence, or have Gamma posteriors, q(theta) q(alpha) q(beta). With numbers and
evidence the bound is the log evidence itself. Rows enter through their first two moments alone, which add.

Cost O(D^3) once, then O(D) an iteration, whatever the number of rows.

References: MacKay (1992); Bishop (2006), sections 3.3, 3.5 and 10.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from latens.array import Floats, Index
from latens.array.domains import positive_definite, real
from latens.core import Statistics
from latens.families.gamma import Gamma
from latens.families.least_squares import LOG_2PI

__all__ = ["LinearRegression", "Nothing", "RegressionPosterior", "RegressionSums", "regression_sums"]

WIDEST = 25.0  # e-folds to either side of the data's own scale in which the evidence is searched
N_GRID = 101
HAIR = 1e-13  # of the sum of squares of y


@dataclass(frozen=True)
class RegressionPosterior:
    mean: Floats = real()  # (D,)
    covariance: Floats = positive_definite()  # (D, D)
    alpha: Gamma | float = 1.0
    beta: Gamma | float = 1.0

    def __post_init__(self) -> None:
        if not (expected(self.alpha) > 0 and expected(self.beta) > 0):
            raise ValueError(f"precisions must be positive, got alpha={self.alpha} and beta={self.beta}")

    @property
    def n_components(self) -> int:
        return len(self.mean)

    def only(self, keep: Index) -> RegressionPosterior:
        return replace(self, mean=self.mean[keep], covariance=self.covariance[np.ix_(keep, keep)])

    def sample(self, rng: np.random.Generator) -> RegressionPosterior:
        mean = rng.multivariate_normal(self.mean, self.covariance)
        return RegressionPosterior(mean, np.zeros_like(self.covariance), expected(self.alpha), expected(self.beta))


@dataclass(frozen=True)
class Nothing:
    """Rows have no hidden values here."""


@dataclass(frozen=True, eq=False)
class RegressionSums(Statistics):
    n: float
    x: Floats  # (D,)
    y: float
    xx: Floats  # (D, D)
    xy: Floats  # (D,)
    yy: float

    @property
    def entries(self) -> float:
        return self.n

    def about(self, centred: bool) -> tuple[Floats, Floats, float]:
        """X'X, X'y and y'y, of columns less their means if so asked."""
        if not centred:
            return self.xx, self.xy, self.yy
        mean, level = self.x / self.n, self.y / self.n
        xx = self.xx - np.outer(self.x, mean)
        return 0.5 * (xx + xx.T), self.xy - self.x * level, max(self.yy - self.y * level, 0.0)

    @cached_property
    def centred_spectrum(self) -> _Spectrum:
        return _Spectrum.of(self.n, *self.about(True))

    @cached_property
    def plain_spectrum(self) -> _Spectrum:
        return _Spectrum.of(self.n, *self.about(False))


def regression_sums(x: Floats, y: Floats, weight: Floats | None) -> RegressionSums:
    weighted = x if weight is None else x * weight[:, None]
    heavy = y if weight is None else y * weight
    n = float(len(x)) if weight is None else float(weight.sum())
    return RegressionSums(n, weighted.sum(axis=0), float(heavy.sum()), weighted.T @ x, weighted.T @ y, float(heavy @ y))


@dataclass(frozen=True)
class _Spectrum:
    """The regression in the axes of X'X."""

    n: float
    values: Floats  # (D,)
    vectors: Floats  # (D, D)
    pulled: Floats  # (D,), X'y in those axes
    yy: float

    @classmethod
    def of(cls, n: float, xx: Floats, xy: Floats, yy: float) -> _Spectrum:
        values, vectors = np.linalg.eigh(xx)
        there = values > 8 * len(values) * np.finfo(float).eps * values[-1]  # what no row moved along is rounding
        return cls(n, np.where(there, values, 0.0), np.asarray(vectors), np.where(there, vectors.T @ xy, 0.0), yy)

    def log_evidence(self, alpha: float, beta: float) -> float:
        precision = alpha + beta * self.values
        energy = 0.5 * beta * self.left(alpha / beta)
        volume = 0.5 * (len(self.values) * np.log(alpha) - np.sum(np.log(precision)))
        return float(volume + 0.5 * self.n * (np.log(beta) - LOG_2PI) - energy)

    def left(self, ratio: float) -> float:
        """||y - X m||^2 + ratio ||m||^2 at the best m.

        A hair more: where columns can explain every row, noise would go to 0 and the evidence to infinity.
        """
        hair = HAIR * max(self.yy, np.finfo(float).tiny)
        return max(float(self.yy - np.sum(self.pulled**2 / (ratio + self.values))), 0.0) + hair


@dataclass(frozen=True)
class LinearRegression:
    n_features: int
    alpha: float | str = "evidence"  # a number, "evidence" or "gamma"
    beta: float | str = "evidence"
    alpha_prior: tuple[float, float] = (1e-6, 1e-6)  # shape and rate, where the posterior is a Gamma
    beta_prior: tuple[float, float] = (1e-6, 1e-6)
    intercept: bool = True

    def prior(self, k: int) -> RegressionPosterior:
        d, (alpha, beta) = self.n_features, self._priors
        return RegressionPosterior(np.zeros(d), np.eye(d) / expected(alpha), alpha, beta)

    def local_step(self, q: RegressionPosterior, batch: RegressionSums, warm: Nothing | None = None) -> Nothing:
        return Nothing()

    def statistics(self, batch: RegressionSums, local: Nothing) -> RegressionSums:
        return batch

    def global_step(self, q: RegressionPosterior, stats: RegressionSums) -> RegressionPosterior:
        """alpha and beta first, then the weights given them."""
        at = self.spectrum(stats)
        if "gamma" in (self.alpha, self.beta):
            alpha, beta = self._scales_given_weights(q, stats)
        else:
            alpha, beta = self._most_evident(at)
        variance = 1 / (expected(alpha) + expected(beta) * at.values)
        mean = at.vectors @ (expected(beta) * at.pulled * variance)
        return RegressionPosterior(mean, (at.vectors * variance) @ at.vectors.T, alpha, beta)

    def data_terms(self, q: RegressionPosterior, stats: RegressionSums) -> dict[str, float]:
        level = 0.5 * stats.n * (expected_log(q.beta) - LOG_2PI)
        return {"likelihood": float(level - 0.5 * expected(q.beta) * self._squares(q, stats)[1])}

    def global_terms(self, q: RegressionPosterior) -> dict[str, float]:
        d, (alpha, beta) = self.n_features, self._priors
        sizes = q.mean @ q.mean + np.trace(q.covariance)
        weights = d * expected_log(q.alpha) - expected(q.alpha) * sizes + np.linalg.slogdet(q.covariance)[1] + d
        return {
            "kl_weights": float(0.5 * weights),
            "kl_alpha": -q.alpha.kl(alpha) if isinstance(q.alpha, Gamma) and isinstance(alpha, Gamma) else 0.0,
            "kl_beta": -q.beta.kl(beta) if isinstance(q.beta, Gamma) and isinstance(beta, Gamma) else 0.0,
        }

    def floats_per_row(self, k: int) -> int:
        return self.n_features

    def spectrum(self, stats: RegressionSums) -> _Spectrum:
        return stats.centred_spectrum if self.intercept else stats.plain_spectrum

    @property
    def _priors(self) -> tuple[Gamma | float, Gamma | float]:
        kinds = ((self.alpha, self.alpha_prior), (self.beta, self.beta_prior))
        alpha, beta = (
            Gamma(np.array([prior[0]]), np.array([prior[1]])) if kind == "gamma" else _number(kind)
            for kind, prior in kinds
        )
        return alpha, beta

    def _squares(self, q: RegressionPosterior, stats: RegressionSums) -> tuple[float, float]:
        """E||theta||^2 and E||y - X theta||^2."""
        xx, xy, yy = stats.about(self.intercept)
        sizes = float(q.mean @ q.mean + np.trace(q.covariance))
        fit = yy - 2 * q.mean @ xy + q.mean @ xx @ q.mean
        return sizes, max(float(fit), 0.0) + float(np.sum(q.covariance * xx))

    def _scales_given_weights(
        self, q: RegressionPosterior, stats: RegressionSums
    ) -> tuple[Gamma | float, Gamma | float]:
        """Posteriors, or for "evidence" the points that raise the bound most."""
        (alpha, beta), (sizes, left) = self._priors, self._squares(q, stats)
        if isinstance(alpha, Gamma):
            alpha = alpha.observe(self.n_features, np.array([sizes]))
        elif self.alpha == "evidence":
            alpha = self.n_features / max(sizes, np.finfo(float).tiny)
        if isinstance(beta, Gamma):
            beta = beta.observe(stats.n, np.array([left]))
        elif self.beta == "evidence":
            beta = stats.n / max(left, np.finfo(float).tiny)
        return alpha, beta

    def _most_evident(self, at: _Spectrum) -> tuple[float, float]:
        """alpha and beta at the top of the evidence, along whichever of them is free."""
        width = float(np.mean(at.values))
        level = float(np.log(width)) if width > 0 else 0.0  # columns that never vary say nothing of their weights
        noise = float(np.log(max(at.n, 1.0) / max(at.yy, np.finfo(float).tiny)))
        if self.alpha == "evidence" and self.beta == "evidence":
            # given their ratio, the best beta has a closed form

            def both(log_ratio: float) -> tuple[float, float]:
                beta = at.n / at.left(float(np.exp(log_ratio)))
                return float(np.exp(log_ratio)) * beta, beta

            best = _top(lambda log_ratio: at.log_evidence(*both(log_ratio)), level)
            return both(best)
        if self.alpha == "evidence":
            beta = float(self.beta)
            best = _top(lambda log: at.log_evidence(float(np.exp(log)), beta), level + float(np.log(beta)))
            return float(np.exp(best)), beta
        alpha = float(self.alpha)
        if self.beta == "evidence":
            return alpha, float(np.exp(_top(lambda log: at.log_evidence(alpha, float(np.exp(log))), noise)))
        return alpha, float(self.beta)


def expected(value: Gamma | float) -> float:
    return float(value.mean[0]) if isinstance(value, Gamma) else float(value)


def expected_log(value: Gamma | float) -> float:
    return float(value.mean_log[0]) if isinstance(value, Gamma) else float(np.log(value))


def _number(kind: float | str) -> float:
    return 1.0 if isinstance(kind, str) else float(kind)


def _top(height: Callable[[float], float], about: float) -> float:
    """Where a function of one number is highest: the best of a grid, and between its neighbours the root of the slope.

    Slopes are differences of fourth order; heights alone would tell the place to half the digits only.
    """
    grid = about + np.linspace(-WIDEST, WIDEST, N_GRID)
    best = int(np.argmax([height(float(at)) for at in grid]))
    if best in (0, N_GRID - 1):
        return float(grid[best])

    def slope(at: float, h: float = 1e-2) -> float:
        return 8 * (height(at + h) - height(at - h)) - (height(at + 2 * h) - height(at - 2 * h))

    low, high = float(grid[best - 1]), float(grid[best + 1])
    if slope(low) > 0 > slope(high):
        return float(brentq(slope, low, high, xtol=1e-14))
    return float(minimize_scalar(lambda at: -height(float(at)), bounds=(low, high), method="bounded").x)
