"""Bayesian linear regression: a number predicted by a weighted sum of columns, with the weights' posterior.

    theta          ~ Normal(0, I / alpha)
    y_n | x_n      ~ Normal(c + theta'x_n, 1 / beta)

Posterior family: q(theta) = Normal(m, V), exact given alpha and beta; the intercept c is a point. alpha and beta are
each given, chosen to maximise the evidence, or have Gamma posteriors, q(theta) q(alpha) q(beta). Standardized, theta is
that of columns divided by their standard deviations, whatever units they came in. With numbers and
evidence the bound is the log evidence itself. Rows enter through their first two moments alone, which add
(`regression_sums`); columns may differ in size by many powers of ten (`latens.array.graded_eigen`).

How sure weights and predictions are where alpha or beta are not given: `regression_integral`.

Cost O(D^3) once and for each posterior, O(D) for each evidence, whatever the number of rows; of N < D rows O(N^2 D)
and no matrix of D x D, but where columns differ in size so much that it would cost digits.

References: MacKay (1992); Bishop (2006), sections 3.3, 3.5 and 10.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from latens.array import Floats
from latens.array.fields import record
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.regression_posterior import RegressionPosterior, expected, expected_log
from latens.models.regression_sums import RegressionRows, RegressionSums, Spectrum

__all__ = ["LinearRegression", "Moments", "Nothing"]

LOG_RANGE = 32.0  # e-folds beyond the data's own scales, to either side, in which the evidence is searched
STEP = 0.5

Moments = RegressionSums | RegressionRows  # all that a regression knows of its rows


@dataclass(frozen=True)
class Nothing:
    """Rows have no hidden values here."""


@record
class LinearRegression:
    n_features: int
    alpha: float | str = "evidence"  # a number, "evidence" or "gamma"
    beta: float | str = "evidence"
    alpha_prior: tuple[float, float] = (1e-6, 1e-6)  # shape and rate, where the posterior is a Gamma
    beta_prior: tuple[float, float] = (1e-6, 1e-6)
    intercept: bool = True
    resolution: float = 1e-200  # mean square of y below which there is no information: that of its rounding
    standardized: bool = False  # whether weights, and their prior, are those of columns over their deviations

    def prior(self, k: int) -> RegressionPosterior:
        d, (alpha, beta) = self.n_features, self._priors
        return RegressionPosterior.spanned(np.zeros(d), np.zeros((d, 0)), np.zeros(0), 1 / expected(alpha), alpha, beta)

    def local_step(self, q: RegressionPosterior, batch: Moments, warm: Nothing | None = None) -> Nothing:
        return Nothing()

    def exact_local(self, q: RegressionPosterior) -> bool:
        return True

    def statistics(self, batch: Moments, local: Nothing) -> Moments:
        return batch

    def global_step(self, q: RegressionPosterior, stats: Moments) -> RegressionPosterior:
        """alpha and beta first, then the weights given them."""
        at = self.spectrum(stats)
        if self.bound_is_evidence:
            return at.weights(*self._most_evident(at))
        return at.weights(*self._scales_given_weights(q, stats))

    def data_terms(self, q: RegressionPosterior, stats: Moments) -> dict[str, float]:
        level = 0.5 * stats.n * (expected_log(q.beta) - LOG_2PI)
        return {"likelihood": float(level - 0.5 * expected(q.beta) * self._squares(q, stats)[1])}

    def global_terms(self, q: RegressionPosterior) -> dict[str, float]:
        d, (alpha, beta) = self.n_features, self._priors
        sizes = q.mean @ q.mean + q.total_variance
        weights = d * expected_log(q.alpha) - expected(q.alpha) * sizes + q.log_volume + d
        return {
            "kl_weights": float(0.5 * weights),
            "kl_alpha": -q.alpha.kl(alpha) if isinstance(q.alpha, Gamma) and isinstance(alpha, Gamma) else 0.0,
            "kl_beta": -q.beta.kl(beta) if isinstance(q.beta, Gamma) and isinstance(beta, Gamma) else 0.0,
        }

    def floats_per_row(self, k: int) -> int:
        return self.n_features

    @property
    def bound_is_evidence(self) -> bool:
        """Whether nothing but the weights is uncertain, whose posterior is exact."""
        return "gamma" not in (self.alpha, self.beta)

    def spectrum(self, stats: Moments) -> Spectrum:
        if not self.standardized:
            return stats.centred_spectrum if self.intercept else stats.plain_spectrum
        return stats.centred_standard_spectrum if self.intercept else stats.plain_standard_spectrum

    def column_units(self, stats: Moments) -> Floats:
        """(D,), what each column is divided by before it meets its weight."""
        return stats.deviations(self.intercept) if self.standardized else np.ones(self.n_features)

    @property
    def _priors(self) -> tuple[Gamma | float, Gamma | float]:
        kinds = ((self.alpha, self.alpha_prior), (self.beta, self.beta_prior))
        alpha, beta = (
            Gamma(np.array([prior[0]]), np.array([prior[1]])) if kind == "gamma" else _number(kind)
            for kind, prior in kinds
        )
        return alpha, beta

    def _squares(self, q: RegressionPosterior, stats: Moments) -> tuple[float, float]:
        """E||theta||^2 and E||y - X theta||^2."""
        at = self.spectrum(stats)
        sizes = float(q.mean @ q.mean + q.total_variance)
        return sizes, at.misfit(q.mean) + float(np.sum(q.variances_of(at.axes.root)))

    def _scales_given_weights(self, q: RegressionPosterior, stats: Moments) -> tuple[Gamma | float, Gamma | float]:
        """Posteriors, or for "evidence" the points that raise the bound most."""
        (alpha, beta), (sizes, left) = self._priors, self._squares(q, stats)
        left = max(left, stats.n * self.resolution)
        if isinstance(alpha, Gamma):
            alpha = alpha.observe(self.n_features, np.array([sizes]))
        elif self.alpha == "evidence":
            alpha = self.n_features / sizes
        if isinstance(beta, Gamma):
            beta = beta.observe(stats.n, np.array([left]))
        elif self.beta == "evidence":
            beta = stats.n / left
        return alpha, beta

    def _most_evident(self, at: Spectrum) -> tuple[float, float]:
        """alpha and beta at the top of the evidence, along whichever of them is free."""
        widths = np.log(at.axes.values) if len(at.axes.values) else np.zeros(1)  # columns that never vary say nothing
        low, high = float(widths.min()), float(widths.max())
        noise = float(np.log(at.n / max(at.yy, at.n * self.resolution)))

        def height(alpha: Floats | float, beta: Floats | float) -> Floats:
            return at.log_evidences(alpha, beta, self.resolution)

        if self.alpha == "evidence" and self.beta == "evidence":
            # given their ratio, the best beta has a closed form

            def both(logs: Floats) -> tuple[Floats, Floats]:
                beta = at.n / at.left(np.exp(logs), self.resolution)
                return np.exp(logs) * beta, beta

            alpha, beta = both(np.array([_top(lambda logs: height(*both(logs)), low, high)]))
            return float(alpha[0]), float(beta[0])
        if self.alpha == "evidence":
            given = float(np.log(self.beta))
            ends = low + min(given, noise), high + max(given, noise)
            return float(np.exp(_top(lambda logs: height(np.exp(logs), float(self.beta)), *ends))), float(self.beta)
        if self.beta == "evidence":
            best = _top(lambda logs: height(float(self.alpha), np.exp(logs)), noise, noise)
            return float(self.alpha), float(np.exp(best))
        return float(self.alpha), float(self.beta)


def _number(kind: float | str) -> float:
    return 1.0 if isinstance(kind, str) else float(kind)


def _top(height: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Where a function of one number is highest: the best of a grid, and between its neighbours the root of the slope.

    Slopes are differences of fourth order; heights alone would tell the place to half the digits only.
    """
    grid = np.arange(low - LOG_RANGE, high + LOG_RANGE + STEP, STEP)
    best = int(np.argmax(height(grid)))
    if best in (0, len(grid) - 1):
        return float(grid[best])

    def slope(at: float, h: float = 1e-2) -> float:
        return float(np.array([1.0, -8.0, 8.0, -1.0]) @ height(at + h * np.array([-2.0, -1.0, 1.0, 2.0])))

    low, high = float(grid[best - 1]), float(grid[best + 1])
    if slope(low) > 0 > slope(high):
        return float(brentq(slope, low, high, xtol=1e-14))
    return float(minimize_scalar(lambda at: -float(height(np.array([at]))[0]), bounds=(low, high), method="bounded").x)
