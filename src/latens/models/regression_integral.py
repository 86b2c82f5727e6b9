"""Linear regression with its precisions integrated out: weights and new targets as mixtures of Student-t distributions.

Where alpha or beta were found from the rows, a posterior given their best values is too narrow. Here their ratio
rho = alpha / beta runs over a grid, and what is left has a closed form at each of its points. With X'X = V diag(d2) V',
columns about their means and c = V'theta,

    both free       p(beta) = 1 / beta; r = rho^-1/2 is the size of weights beside that of the noise, and r s_d, that of
                    what a column of standard deviation s_d adds to y, is half-Cauchy for one of the columns:
                    theta | rho  ~ Student-t of nu = n - 1 degrees, scale (RSS_rho / nu) (X'X + rho)^-1
                    log weight   = 1/2 sum log(rho / (d2 + rho)) - nu/2 log RSS_rho
                                   + log mean_d [r s_d / (1 + r^2 s_d^2)]
    alpha given     beta = alpha / rho;  theta | rho ~ Normal, weighted by the evidence of that beta
    beta given      theta | rho ~ Normal, weighted by the evidence of alpha = rho beta and by the same half-Cauchys

A flat intercept takes one degree of freedom; without one nu = n. The prior of the weights given rho is that of the
estimates, so that these are the posterior means at one point of the grid. Columns of one size share one half-Cauchy;
the mean over columns keeps a few large ones from ruling out weights that only small columns need, and makes the answer
the same in another unit of all columns. Cost O(D^3) once, O(D) for a point of the grid.

References: Gelman (2006) for the half-Cauchy; O'Hagan & Forster (2004), chapter 11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln, logsumexp, ndtr, ndtri, stdtr, stdtrit

from latens.array import Floats

if TYPE_CHECKING:
    from latens.models.linear_regression import LinearRegression, RegressionSums, Spectrum

__all__ = ["RegressionIntegral", "integrated"]

GRID_POINTS = 97  # at least; more where a posterior is so wide that they would lie further apart than the next
COARSE_STEP = 0.25  # e-folds of rho, in the search for where its posterior lies
REACH = 40.0  # e-folds beyond the data's own scales, to either side, of that search
NEGLIGIBLE = 12.0  # nats below the highest weight: the grid ends there
QUANTILE_STEPS = 60  # of Newton's method held within a bracket; six are enough for most
QUANTILE_DIGITS = 1e-10  # of the bracket's width
BLOCK_ROWS = 4096  # rows whose quantiles are found together
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class RegressionIntegral:
    """The posterior of weights, intercept and noise, one Student-t or Normal for each point of a grid of rho."""

    shares: Floats  # (J,), posterior probability of each point
    ratios: Floats  # (J,), rho
    noise: Floats  # (J,), variance of the noise: its scale RSS / nu, or 1 / beta
    dof: float  # degrees of freedom, inf where beta is known at each point
    noise_known: bool  # whether beta is one given number
    axes: Floats  # (D, D), weights = axes @ coordinates
    centres: Floats  # (D, J), means of the coordinates
    spreads: Floats  # (D, J), their variances in units of the noise
    level: float  # mean of y and of the rows, 0 without an intercept
    middle: Floats  # (D,)
    per_row: float  # 1 / n with an intercept, else 0: what it adds to a variance, in units of the noise

    @property
    def covariance(self) -> Floats:
        """(D, D), of the weights; where degrees of freedom leave none, that of the Student-t's scales."""
        heavy = self.dof / (self.dof - 2) if 2 < self.dof < np.inf else 1.0
        within = self.spreads @ (self.shares * self.noise * heavy)
        gaps = self.centres - (self.centres @ self.shares)[:, None]
        between = (gaps * self.shares) @ gaps.T
        return np.asarray(self.axes @ (np.diag(within) + between) @ self.axes.T)

    def weight_quantiles(self, levels: tuple[float, ...]) -> Floats:
        """(len(levels), D)."""
        scales = np.sqrt((self.axes**2 @ self.spreads) * self.noise)
        return self._quantiles(self.axes @ self.centres, scales, levels)

    def line_quantiles(self, x: Floats, levels: tuple[float, ...], *, noise: bool) -> Floats:
        """(len(levels), n), of the line at rows x (n, D), or of new targets there; x = 0 is the intercept."""
        parts = []
        for at in range(0, len(x), BLOCK_ROWS):
            coordinates = (x[at : at + BLOCK_ROWS] - self.middle) @ self.axes
            spreads = coordinates**2 @ self.spreads + self.per_row + noise
            parts.append(self._quantiles(coordinates @ self.centres, np.sqrt(spreads * self.noise), levels))
        return self.level + np.concatenate(parts, axis=1) if parts else np.zeros((len(levels), 0))

    def noise_quantiles(self, levels: tuple[float, ...]) -> Floats:
        """(len(levels),), of the variance of the noise."""
        if self.noise_known:
            return np.full(len(levels), self.noise[0])
        if np.isinf(self.dof):  # each point of the grid is one value of it
            order = np.argsort(self.noise)
            middle = np.cumsum(self.shares[order]) - 0.5 * self.shares[order]
            return np.exp(np.interp(levels, middle, np.log(self.noise[order])))
        half = 0.5 * self.dof  # the precision is Gamma(half, half * noise) at each point

        def below(log_precision: Floats) -> tuple[Floats, Floats]:
            x = half * self.noise * np.exp(log_precision)[:, None]
            density = np.exp(half * np.log(x) - x - gammaln(half))  # of the logarithm
            return gammainc(half, x) @ self.shares, density @ self.shares

        found = []
        for level in levels:
            own = np.log(gammaincinv(half, 1 - level) / (half * self.noise))[None]
            found.append(float(np.exp(-_solved(below, 1 - level, own.min(1), own.max(1), own @ self.shares))[0]))
        return np.array(found)

    def draws(self, rng: np.random.Generator, n: int) -> Floats:
        """(n, D), weights."""
        return self.joint_draws(rng, n)[0]

    def joint_draws(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats]:
        """Weights (n, D), the line at the mean of the rows (n,), and the variance of the noise (n,)."""
        at = rng.choice(len(self.shares), size=n, p=self.shares)
        noise = self.noise[at]
        if np.isfinite(self.dof):
            noise = noise * self.dof / rng.chisquare(self.dof, n)
        steps = rng.normal(size=(n, len(self.axes))) * np.sqrt(self.spreads[:, at].T * noise[:, None])
        line = self.level + rng.normal(size=n) * np.sqrt(noise * self.per_row)
        return np.asarray((self.centres[:, at].T + steps) @ self.axes.T), line, noise

    def _quantiles(self, centres: Floats, scales: Floats, levels: tuple[float, ...]) -> Floats:
        """(len(levels), n), of mixtures with these centres and scales (n, J)."""
        return np.stack([_mixture_quantile(self.shares, centres, scales, self.dof, level) for level in levels])


def integrated(model: LinearRegression, stats: RegressionSums) -> RegressionIntegral | None:
    """The posterior with alpha and beta integrated out; None where both were given, or no row tells of the noise."""
    dof = stats.n - model.intercept
    weights_free, noise_free = isinstance(model.alpha, str), isinstance(model.beta, str)
    if not (weights_free or noise_free) or (noise_free and dof <= 0):
        return None
    at, unit = model.spectrum(stats), model.column_units(stats)
    logs, heights = _grid(model, at, dof, 2 * np.log(stats.deviations(model.intercept) / unit))
    shares, ratios = np.exp(heights - heights.max()), np.exp(logs)
    if noise_free and weights_free:
        noise = at.left(ratios, model.resolution) / dof
    else:
        noise = np.full(len(ratios), 1 / float(model.beta)) if weights_free else ratios / float(model.alpha)
    r = len(at.axes.values)
    spreads = np.tile(1 / ratios, (model.n_features, 1))
    spreads[:r] = 1 / (at.axes.values[:, None] + ratios)
    centres = np.zeros_like(spreads)
    centres[:r] = (np.sqrt(at.axes.values) * at.heights)[:, None] * spreads[:r]
    return RegressionIntegral(
        shares / shares.sum(),
        ratios,
        noise,
        dof if noise_free and weights_free else np.inf,
        not noise_free,
        at.axes.scaled / at.axes.size[:, None] / unit[:, None],
        centres,
        spreads,
        stats.y / stats.n if model.intercept else 0.0,
        stats.x / stats.n if model.intercept else np.zeros_like(stats.x),
        1 / stats.n if model.intercept else 0.0,
    )


def _log_weights(model: LinearRegression, at: Spectrum, dof: float, columns: Floats, logs: Floats) -> Floats:
    """(J,), log posterior density of log rho at these points, but for a constant.

    `columns` are the logarithms of the columns' variances.
    """
    ratios = np.exp(logs)
    if not isinstance(model.alpha, str):
        alpha = float(model.alpha)
        # the flat intercept takes half a log beta
        evidence = at.log_evidences(alpha, alpha / ratios, model.resolution)
        return np.asarray(evidence - 0.5 * model.intercept * np.log(alpha / ratios))
    strengths = columns[:, None] - logs  # log (r s_d)^2
    half_cauchy = logsumexp(0.5 * strengths - np.logaddexp(0.0, strengths), axis=0)
    if not isinstance(model.beta, str):
        beta = float(model.beta)
        return np.asarray(at.log_evidences(ratios * beta, beta, model.resolution) + half_cauchy)
    volume = -0.5 * np.sum(np.log1p(at.axes.values[:, None] / ratios), axis=0)
    return np.asarray(volume - 0.5 * dof * np.log(at.left(ratios, model.resolution)) + half_cauchy)


def _grid(model: LinearRegression, at: Spectrum, dof: float, columns: Floats) -> tuple[Floats, Floats]:
    """(J,) each, log rho at equal steps over all that its posterior does not rule out, and its log density there."""
    scales = np.log(at.axes.values) if len(at.axes.values) else np.zeros(1)
    if not isinstance(model.alpha, str):  # rho is as large as the noise may be small
        noise = np.log(max(at.yy / at.n, model.resolution) * float(model.alpha))
        scales = np.append(scales, noise)
    coarse = np.arange(float(scales.min()) - REACH, float(scales.max()) + REACH, COARSE_STEP)
    heights = _log_weights(model, at, dof, columns, coarse)
    likely = np.flatnonzero(heights >= heights.max() - NEGLIGIBLE)
    low, high = max(likely[0] - 1, 0), min(likely[-1] + 1, len(coarse) - 1)
    logs = np.linspace(coarse[low], coarse[high], max(GRID_POINTS, int(high - low + 1)))
    return logs, _log_weights(model, at, dof, columns, logs)


def _mixture_quantile(shares: Floats, centres: Floats, scales: Floats, dof: float, level: float) -> Floats:
    """(n,), of mixtures of Student-t or Normal distributions with these centres and scales (n, J)."""
    own = centres + scales * (ndtri(level) if np.isinf(dof) else stdtrit(dof, level))

    def below(at: Floats) -> tuple[Floats, Floats]:
        z = (at[:, None] - centres) / scales
        cdf, density = _normal(z) if np.isinf(dof) else _student(z, dof)
        return cdf @ shares, (density / scales) @ shares

    return _solved(below, level, own.min(axis=1), own.max(axis=1), own @ shares)


def _normal(z: Floats) -> tuple[Floats, Floats]:
    """Distribution function and density."""
    return np.asarray(ndtr(z), dtype=float), np.exp(-0.5 * (z**2 + LOG_2PI))


def _student(z: Floats, dof: float) -> tuple[Floats, Floats]:
    """The same of a Student-t."""
    constant = gammaln(0.5 * (dof + 1)) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    return np.asarray(stdtr(dof, z), dtype=float), np.exp(constant - 0.5 * (dof + 1) * np.log1p(z**2 / dof))


def _solved(
    below: Callable[[Floats], tuple[Floats, Floats]], level: float, low: Floats, high: Floats, start: Floats
) -> Floats:
    """Where a distribution function is `level`: Newton's method, by halves where a step would leave the bracket.

    A point whose step has become small stays: it is an end of its own bracket, and half of that lies far away.
    """
    at, digits = start, QUANTILE_DIGITS * np.maximum(high - low, np.finfo(float).tiny)
    for _ in range(QUANTILE_STEPS):
        cdf, density = below(at)
        low, high = np.where(cdf < level, at, low), np.where(cdf < level, high, at)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = at - (cdf - level) / density
        settled = (np.abs(newton - at) <= digits) | (high - low <= digits)
        if np.all(settled):
            return at
        new = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
        at = np.where(settled, at, new)
    return at
