"""Bayesian linear regression: a number predicted by a weighted sum of columns, with the weights' posterior.

    theta          ~ Normal(0, I / alpha)
    y_n | x_n      ~ Normal(c + theta'x_n, 1 / beta)

Posterior family: q(theta) = Normal(m, V), exact given alpha and beta; the intercept c is a point. alpha and beta are
each given, chosen to maximise the evidence, or have Gamma posteriors, q(theta) q(alpha) q(beta). Standardized, theta is
that of columns divided by their standard deviations, whatever units they came in. With numbers and
evidence the bound is the log evidence itself. Rows enter through their first two moments alone, which add; columns may
differ in size by many powers of ten (`latens.array.graded_eigen`).

How sure weights and predictions are where alpha or beta are not given: `regression_integral`.

Cost O(D^3) once and for each posterior, O(D) for each evidence, whatever the number of rows.

References: MacKay (1992); Bishop (2006), sections 3.3, 3.5 and 10.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from latens.array import Floats, Index
from latens.array.fields import part, positive_definite, real, record, sized
from latens.array.graded_eigen import GradedAxes, graded_axes
from latens.core import Statistics
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["LinearRegression", "Nothing", "RegressionPosterior", "RegressionSums", "Spectrum", "regression_sums"]

WIDEST = 32.0  # e-folds beyond the data's own scales, to either side, in which the evidence is searched
STEP = 0.5
HAIR = 1e-13  # of the sum of squares of y
ROUNDING = 64 * float(np.finfo(float).eps)  # of a sum of squares: what is left of it below that says nothing


@record
class RegressionPosterior:
    mean: Floats = real("d")
    covariance: Floats = positive_definite("d d")
    alpha: Gamma | float = part("1", default=1.0)
    beta: Gamma | float = part("1", default=1.0)
    log_det: float | None = None  # of the covariance, where it is known to more digits than the matrix tells

    def __post_init__(self) -> None:
        if not (expected(self.alpha) > 0 and expected(self.beta) > 0):
            raise ValueError(f"precisions must be positive, got alpha={self.alpha} and beta={self.beta}")

    @property
    def n_components(self) -> int:
        return len(self.mean)

    def only(self, keep: Index) -> RegressionPosterior:
        return replace(self, mean=self.mean[keep], covariance=self.covariance[np.ix_(keep, keep)], log_det=None)

    def sample(self, rng: np.random.Generator) -> RegressionPosterior:
        mean = self.draws(rng, 1)[0]
        return RegressionPosterior(mean, np.zeros_like(self.covariance), expected(self.alpha), expected(self.beta))

    def draws(self, rng: np.random.Generator, n: int) -> Floats:
        """(n, D), weights; drawn in units of their own spread, lest the widest blur the others."""
        spread, correlation = self._told_apart
        return self.mean + rng.multivariate_normal(np.zeros(len(spread)), correlation, n) * spread

    @property
    def log_volume(self) -> float:
        """log |V|."""
        if self.log_det is not None:
            return self.log_det
        spread, correlation = self._told_apart
        return float(np.linalg.slogdet(correlation)[1] + 2 * np.sum(np.log(spread)))

    @property
    def _told_apart(self) -> tuple[Floats, Floats]:
        """Standard deviations (D,), and correlations (D, D)."""
        spread = np.sqrt(np.diag(self.covariance))
        unit = np.where(spread > 0, spread, 1.0)
        return spread, self.covariance / unit / unit[:, None]


@dataclass(frozen=True)
class Nothing:
    """Rows have no hidden values here."""


@record(eq=False)
class RegressionSums(Statistics):
    n: float
    x: Floats = sized("d")
    y: float
    xx: Floats = sized("d d")
    xy: Floats = sized("d")
    yy: float

    @property
    def entries(self) -> float:
        return self.n

    def about(self, centred: bool) -> tuple[Floats, Floats, float]:
        """X'X, X'y and y'y, of columns less their means if so asked; 0 where only rounding would be left of them."""
        if not centred:
            return self.xx, self.xy, self.yy
        mean, level = self.x / self.n, self.y / self.n
        xx, xy, yy = self.xx - np.outer(self.x, mean), self.xy - self.x * level, self.yy - self.y * level
        varied, target_varies = np.diag(xx) > ROUNDING * np.diag(self.xx), yy > ROUNDING * self.yy
        xx = np.where(varied & varied[:, None], 0.5 * (xx + xx.T), 0.0)
        return xx, np.where(varied & target_varies, xy, 0.0), float(yy) if target_varies else 0.0

    def deviations(self, centred: bool) -> Floats:
        """(D,), of the columns, about their means if so asked; that of the largest for those that never vary."""
        found = np.sqrt(np.diag(self.about(centred)[0]) / self.n)
        return np.where(found > 0, found, float(found.max()) or 1.0)

    @cached_property
    def centred_spectrum(self) -> Spectrum:
        return Spectrum.of(self.n, *self.about(True))

    @cached_property
    def plain_spectrum(self) -> Spectrum:
        return Spectrum.of(self.n, *self.about(False))

    @cached_property
    def centred_standard_spectrum(self) -> Spectrum:
        return self._standard_spectrum(True)

    @cached_property
    def plain_standard_spectrum(self) -> Spectrum:
        return self._standard_spectrum(False)

    def _standard_spectrum(self, centred: bool) -> Spectrum:
        (xx, xy, yy), unit = self.about(centred), self.deviations(centred)
        return Spectrum.of(self.n, xx / unit / unit[:, None], xy / unit, yy)


def regression_sums(x: Floats, y: Floats, weight: Floats | None) -> RegressionSums:
    """Weighted sums over rows x (n, D) and targets y (n,) of 1, x, y and all their products."""
    weighted_x = x if weight is None else x * weight[:, None]
    weighted_y = y if weight is None else y * weight
    n = float(len(x)) if weight is None else float(weight.sum())
    return RegressionSums(
        n=n,
        x=weighted_x.sum(axis=0),
        y=float(weighted_y.sum()),
        xx=weighted_x.T @ x,
        xy=weighted_x.T @ y,
        yy=float(weighted_y @ y),
    )


@dataclass(frozen=True)
class Spectrum:
    """The regression in the axes of X'X."""

    n: float
    axes: GradedAxes
    heights: Floats  # (R,), of y along the directions in which rows differ
    rest: float  # of y'y, which no weights explain

    @classmethod
    def of(cls, n: float, xx: Floats, xy: Floats, yy: float) -> Spectrum:
        axes = graded_axes(xx)
        r = len(axes.values)
        heights = axes.scaled[:, :r].T @ (xy / axes.size) / np.sqrt(axes.values)
        return cls(n, axes, heights, max(yy - float(heights @ heights), 0.0))

    @property
    def yy(self) -> float:
        return float(self.rest + self.heights @ self.heights)

    def weights(self, alpha: Gamma | float, beta: Gamma | float) -> RegressionPosterior:
        """Their posterior given the expectations of both."""
        precisions, (alpha, beta) = (alpha, beta), (expected(alpha), expected(beta))
        at, r = self.axes, len(self.axes.values)
        variance = np.full(len(at.size), 1 / alpha)
        variance[:r] = 1 / (alpha + beta * at.values)
        mean = at.scaled[:, :r] @ (beta * np.sqrt(at.values) * self.heights * variance[:r]) / at.size
        covariance = (at.scaled * variance) @ at.scaled.T / at.size / at.size[:, None]
        log_det = float(np.sum(np.log(variance)))
        return RegressionPosterior(mean, 0.5 * (covariance + covariance.T), *precisions, log_det)

    def misfit(self, mean: Floats) -> float:
        """||y - X m||^2."""
        return self.rest + float(np.sum((self.axes.root @ mean - self.heights) ** 2))

    def log_evidence(self, alpha: float, beta: float, resolution: float = 0.0) -> float:
        return float(self.log_evidences(np.array([alpha]), np.array([beta]), resolution)[0])

    def log_evidences(self, alpha: Floats | float, beta: Floats | float, resolution: float) -> Floats:
        """(J,), of each pair of precisions (J,), of which one may be the same in all."""
        energy = 0.5 * beta * self.left(np.asarray(alpha / beta), resolution)
        volume = -0.5 * np.sum(np.log1p(beta / alpha * self.axes.values[:, None]), axis=0)
        return np.asarray(volume + 0.5 * self.n * (np.log(beta) - LOG_2PI) - energy)

    def left(self, ratios: Floats, resolution: float = 0.0) -> Floats:
        """(J,), ||y - X m||^2 + ratio ||m||^2 at the best m of each ratio.

        A hair more: where columns can explain every row, noise would go to 0 and the evidence to infinity.
        """
        shrunk = self.heights**2 @ (ratios / (ratios + self.axes.values[:, None]))
        return np.asarray(self.rest + shrunk + max(HAIR * self.yy, self.n * resolution))


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
        return RegressionPosterior(np.zeros(d), np.eye(d) / expected(alpha), alpha, beta)

    def local_step(self, q: RegressionPosterior, batch: RegressionSums, warm: Nothing | None = None) -> Nothing:
        return Nothing()

    def exact_local(self, q: RegressionPosterior) -> bool:
        return True

    def statistics(self, batch: RegressionSums, local: Nothing) -> RegressionSums:
        return batch

    def global_step(self, q: RegressionPosterior, stats: RegressionSums) -> RegressionPosterior:
        """alpha and beta first, then the weights given them."""
        at = self.spectrum(stats)
        if self.bound_is_evidence:
            return at.weights(*self._most_evident(at))
        return at.weights(*self._scales_given_weights(q, stats))

    def data_terms(self, q: RegressionPosterior, stats: RegressionSums) -> dict[str, float]:
        level = 0.5 * stats.n * (expected_log(q.beta) - LOG_2PI)
        return {"likelihood": float(level - 0.5 * expected(q.beta) * self._squares(q, stats)[1])}

    def global_terms(self, q: RegressionPosterior) -> dict[str, float]:
        d, (alpha, beta) = self.n_features, self._priors
        sizes = q.mean @ q.mean + np.trace(q.covariance)
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

    def spectrum(self, stats: RegressionSums) -> Spectrum:
        if not self.standardized:
            return stats.centred_spectrum if self.intercept else stats.plain_spectrum
        return stats.centred_standard_spectrum if self.intercept else stats.plain_standard_spectrum

    def column_units(self, stats: RegressionSums) -> Floats:
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

    def _squares(self, q: RegressionPosterior, stats: RegressionSums) -> tuple[float, float]:
        """E||theta||^2 and E||y - X theta||^2."""
        at = self.spectrum(stats)
        sizes = float(q.mean @ q.mean + np.trace(q.covariance))
        return sizes, at.misfit(q.mean) + float(np.sum((at.axes.root @ q.covariance) * at.axes.root))

    def _scales_given_weights(
        self, q: RegressionPosterior, stats: RegressionSums
    ) -> tuple[Gamma | float, Gamma | float]:
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


def expected(value: Gamma | float) -> float:
    return float(value.mean[0]) if isinstance(value, Gamma) else float(value)


def expected_log(value: Gamma | float) -> float:
    return float(value.mean_log[0]) if isinstance(value, Gamma) else float(np.log(value))


def _number(kind: float | str) -> float:
    return 1.0 if isinstance(kind, str) else float(kind)


def _top(height: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Where a function of one number is highest: the best of a grid, and between its neighbours the root of the slope.

    Slopes are differences of fourth order; heights alone would tell the place to half the digits only.
    """
    grid = np.arange(low - WIDEST, high + WIDEST + STEP, STEP)
    best = int(np.argmax(height(grid)))
    if best in (0, len(grid) - 1):
        return float(grid[best])

    def slope(at: float, h: float = 1e-2) -> float:
        return float(np.array([1.0, -8.0, 8.0, -1.0]) @ height(at + h * np.array([-2.0, -1.0, 1.0, 2.0])))

    low, high = float(grid[best - 1]), float(grid[best + 1])
    if slope(low) > 0 > slope(high):
        return float(brentq(slope, low, high, xtol=1e-14))
    return float(minimize_scalar(lambda at: -float(height(np.array([at]))[0]), bounds=(low, high), method="bounded").x)
