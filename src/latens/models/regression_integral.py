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
    Gamma priors    alpha ~ Gamma(a1, b1) in place of the half-Cauchys, beta ~ Gamma(a2, b2) in place of 1 / beta:
                    nu = n - 1 + 2 (a1 + a2), 2 (b2 + rho b1) added to RSS_rho, and a1 log rho to the log weight; where
                    one of the two is given, its conditional prior at that point of the grid

A flat intercept takes one degree of freedom; without one nu = n. The prior of the weights given rho is that of the
estimates, so that these are the posterior means at one point of the grid. Columns of one size share one half-Cauchy;
the mean over columns keeps a few large ones from ruling out weights that only small columns need, and makes the answer
the same in another unit of all columns. Cost O(D^3) once, O(D) for a point of the grid; of N < D rows O(N^2 D) once:
axes are then the directions V that rows span, and all others have the spread 1 / rho.

References: Gelman (2006) for the half-Cauchy; O'Hagan & Forster (2004), chapter 11; Wallace (1959).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln, ndtr, ndtri, stdtr, stdtrit

from latens.array import Floats

if TYPE_CHECKING:
    from latens.models.linear_regression import LinearRegression, Moments
    from latens.models.regression_sums import Spectrum

__all__ = ["RegressionIntegral", "integrated"]

GRID_POINTS = 97  # at least; more where a posterior is so wide that they would lie further apart than the next
COARSE_STEP = 0.25  # e-folds of rho, in the search for where its posterior lies
REACH = 40.0  # e-folds beyond the data's own scales, to either side, of that search
NEGLIGIBLE_NATS = 12.0  # nats below the highest weight: the grid ends there
FEWEST_LIKELY = 24  # points within those nats: the grid of a narrower posterior is laid anew between its ends
QUANTILE_STEPS = 60  # of Halley's method held within a bracket; two are enough for most
QUANTILE_DIGITS = 1e-10  # of the bracket's width
NEAR_LEVEL = 1e-3  # of the level: a step from as near as that leaves about the cube of it
BLOCK_ROWS = 4096  # rows whose quantiles are found together
NO_ROWS = 1e-9  # of a direction's square, beside all axes: below it rounding; of its precision, what rows may say
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class RegressionIntegral:
    """The posterior of weights, intercept and noise, one Student-t or Normal for each point of a grid of rho."""

    shares: Floats  # (J,), posterior probability of each point
    ratios: Floats  # (J,), rho
    noise: Floats  # (J,), variance of the noise: its scale RSS / nu, or 1 / beta
    dof: float  # degrees of freedom, inf where beta is known at each point
    noise_known: bool  # whether beta is one given number
    axes: (
        Floats  # (D, R), R = D unless rows are few: weights = axes @ coordinates / unit, and what lies beside the axes
    )
    unit: Floats  # (D,), what each column is divided by
    centres: Floats  # (R, J), means of the coordinates
    spreads: Floats  # (R, J), their variances in units of the noise
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
        if self._is_whole:
            found = self.axes @ (np.diag(within) + between) @ self.axes.T
        else:
            beside = float((1 / self.ratios) @ (self.shares * self.noise * heavy))
            found = self.axes @ (np.diag(within - beside) + between) @ self.axes.T
            found[np.diag_indices_from(found)] += beside
        return np.asarray(found / self.unit / self.unit[:, None])

    def weight_quantiles(self, levels: tuple[float, ...]) -> Floats:
        """(len(levels), D)."""
        parts = []
        for at in range(0, len(self.axes), BLOCK_ROWS):
            centres, scales = self.weight_mixtures(slice(at, at + BLOCK_ROWS))
            parts.append(self._quantiles(centres, scales, levels))
        return np.concatenate(parts, axis=1)

    def weight_mixtures(self, columns: slice = slice(None)) -> tuple[Floats, Floats]:
        """Centres and scales of weights at each point of the grid, (D, J) each, or of some of the columns."""
        axes, unit = self.axes[columns], self.unit[columns, None]
        spreads = axes**2 @ self.spreads
        if not self._is_whole:
            spreads += np.maximum(1 - np.sum(axes**2, axis=1), 0.0)[:, None] / self.ratios
        return axes @ self.centres / unit, np.sqrt(spreads * self.noise) / unit

    def line_quantiles(self, x: Floats, levels: tuple[float, ...], *, noise: bool) -> Floats:
        """(len(levels), n), of the line at rows x (n, D), or of new targets there; x = 0 is the intercept."""
        parts = []
        for at in range(0, len(x), BLOCK_ROWS):
            rows = (x[at : at + BLOCK_ROWS] - self.middle) / self.unit
            coordinates = rows @ self.axes
            spreads = coordinates**2 @ self.spreads + self.per_row + noise
            if not self._is_whole:
                spreads += np.sum((rows - coordinates @ self.axes.T) ** 2, axis=1)[:, None] / self.ratios
            parts.append(self._quantiles(coordinates @ self.centres, np.sqrt(spreads * self.noise), levels))
        return self.level + np.concatenate(parts, axis=1) if parts else np.zeros((len(levels), 0))

    def told_by_rows(self, x: Floats) -> tuple[Floats, Floats]:
        """What share of each weight's precision (D,), and of the line's at x (n, D), is the rows' and not the prior's.

        The variance of a number over what it would be under a flat prior, at the same noise: 0 where some of it lies
        along directions that no row moved along.
        """
        least = int(np.argmin(self.ratios))
        unit = self.ratios[least]  # of the prior's precision, so that variances are shares of the prior's
        left = unit * self.spreads[:, least]
        held = np.stack([left / np.maximum(1 - left, NO_ROWS), unit * (self.spreads @ self.shares)], axis=1)

        def share(directions: Floats, beside: Floats, per_row: Floats | float) -> Floats:
            variances = directions**2 @ held + unit * per_row
            known = variances[:, 0] == 0  # a line without an intercept, at 0
            return np.where(beside > NO_ROWS, 0.0, (variances[:, 1] + known) / (variances[:, 0] + known))

        gaps = (x - self.middle) / self.unit
        size = np.maximum(np.sqrt(np.sum(gaps**2, axis=1)), np.finfo(float).tiny ** 0.25)
        line = gaps @ self.axes / size[:, None]
        lost = [0.0 if self._is_whole else 1 - np.sum(each**2, axis=1) for each in (self.axes, line)]
        return share(self.axes, np.asarray(lost[0]), 0.0), share(line, np.asarray(lost[1]), self.per_row / size**2)

    def noise_quantiles(self, levels: tuple[float, ...]) -> Floats:
        """(len(levels),), of the variance of the noise."""
        if self.noise_known:
            return np.full(len(levels), self.noise[0])
        if np.isinf(self.dof):  # each point of the grid is one value of it
            order = np.argsort(self.noise)
            middle = np.cumsum(self.shares[order]) - 0.5 * self.shares[order]
            return np.exp(np.interp(levels, middle, np.log(self.noise[order])))
        half = 0.5 * self.dof  # the precision is Gamma(half, half * noise) at each point

        def below(log_precision: Floats, _: Any) -> tuple[Floats, Floats, Floats]:
            x = half * self.noise * np.exp(log_precision)[:, None]
            density = np.exp(half * np.log(x) - x - gammaln(half))  # of the logarithm
            return gammainc(half, x) @ self.shares, density @ self.shares, (density * (half - x)) @ self.shares

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
        steps = rng.normal(size=(n, len(self.axes)))
        coordinates, scales = steps, np.sqrt(self.spreads[:, at].T * noise[:, None])
        if not self._is_whole:
            coordinates = steps @ self.axes
            steps = (steps - coordinates @ self.axes.T) * np.sqrt(noise / self.ratios[at])[:, None]
        line = self.level + rng.normal(size=n) * np.sqrt(noise * self.per_row)
        weights = (self.centres[:, at].T + coordinates * scales) @ self.axes.T
        return np.asarray((weights if self._is_whole else weights + steps) / self.unit), line, noise

    @property
    def _is_whole(self) -> bool:
        """Whether there are axes for all directions."""
        return bool(self.axes.shape[0] == self.axes.shape[1])

    def _quantiles(self, centres: Floats, scales: Floats, levels: tuple[float, ...]) -> Floats:
        """(len(levels), n), of mixtures with these centres and scales (n, J)."""
        return np.stack([_mixture_quantile(self.shares, centres, scales, self.dof, level) for level in levels])


def integrated(
    model: LinearRegression,
    stats: Moments,
    weight_prior: tuple[float, float] | None = None,
    noise_prior: tuple[float, float] | None = None,
) -> RegressionIntegral | None:
    """The posterior with alpha and beta integrated out; None where both were given, or no row tells of the noise.

    Their priors are those above, or Gammas of this shape and rate.
    """
    dof = stats.n - model.intercept
    weights_free, noise_free = isinstance(model.alpha, str), isinstance(model.beta, str)
    if not (weights_free or noise_free) or (noise_free and dof <= 0 and noise_prior is None):
        return None
    at, unit = model.spectrum(stats), model.column_units(stats)
    columns = 2 * np.log(stats.deviations(model.intercept) / unit)
    ratio = _Ratio(model, at, dof, columns, weight_prior, noise_prior)
    logs, heights = ratio.grid()
    shares, ratios = np.exp(heights - heights.max()), np.exp(logs)
    if noise_free and weights_free:
        noise = ratio.left(ratios) / ratio.degrees
    else:
        noise = np.full(len(ratios), 1 / float(model.beta)) if weights_free else ratios / float(model.alpha)
    r = len(at.axes.values)
    spreads = np.tile(1 / ratios, (at.axes.scaled.shape[1], 1))
    spreads[:r] = 1 / (at.axes.values[:, None] + ratios)
    centres = np.zeros_like(spreads)
    centres[:r] = (np.sqrt(at.axes.values) * at.heights)[:, None] * spreads[:r]
    return RegressionIntegral(
        shares / shares.sum(),
        ratios,
        noise,
        ratio.degrees if noise_free and weights_free else np.inf,
        not noise_free,
        at.axes.scaled / at.axes.size[:, None],
        unit,
        centres,
        spreads,
        stats.y / stats.n if model.intercept else 0.0,
        stats.x / stats.n if model.intercept else np.zeros_like(stats.x),
        1 / stats.n if model.intercept else 0.0,
    )


@dataclass(frozen=True)
class _Ratio:
    """What is known of rho = alpha / beta."""

    model: LinearRegression
    at: Spectrum
    dof: float  # rows, less the one that an intercept takes
    columns: Floats  # (D,), logarithms of the columns' variances
    weight_prior: tuple[float, float] | None  # shape and rate of alpha; None: half-Cauchys
    noise_prior: tuple[float, float] | None  # of beta; None: 1 / beta

    @property
    def degrees(self) -> float:
        """Of freedom of the noise at each rho, where both precisions are free."""
        return float(self.dof + 2 * sum(prior[0] for prior in (self.weight_prior, self.noise_prior) if prior))

    def left(self, ratios: Floats) -> Floats:
        """(J,), sums of squares that beta sees, with those that priors are worth."""
        squares = self.at.left(ratios, self.model.resolution)
        of_weights, of_noise = (prior[1] if prior else 0.0 for prior in (self.weight_prior, self.noise_prior))
        return squares + 2 * (of_noise + ratios * of_weights)

    def log_weights(self, logs: Floats) -> Floats:
        """(J,), log posterior density of log rho at these points, but for a constant."""
        model, at, ratios = self.model, self.at, np.exp(logs)
        if not isinstance(model.alpha, str):
            alpha = float(model.alpha)
            # the flat intercept takes half a log beta
            evidence = at.log_evidences(alpha, alpha / ratios, model.resolution)
            level = _log_gamma(self.noise_prior, alpha / ratios) if self.noise_prior else 0.0
            return np.asarray(evidence - 0.5 * model.intercept * np.log(alpha / ratios) + level)
        if not isinstance(model.beta, str):
            beta = float(model.beta)
            level = (
                _log_gamma(self.weight_prior, ratios * beta)
                if self.weight_prior
                else _log_half_cauchys(self.columns, logs)
            )
            return np.asarray(at.log_evidences(ratios * beta, beta, model.resolution) + level)
        volume = -0.5 * np.sum(np.log1p(at.axes.values[:, None] / ratios), axis=0)
        level = self.weight_prior[0] * logs if self.weight_prior else _log_half_cauchys(self.columns, logs)
        return np.asarray(volume - 0.5 * self.degrees * np.log(self.left(ratios)) + level)

    def grid(self) -> tuple[Floats, Floats]:
        """(J,) each, log rho at equal steps over all that its posterior does not rule out, and its log density."""
        model, at = self.model, self.at
        scales = np.log(at.axes.values) if len(at.axes.values) else np.zeros(1)
        noise = np.log(max(at.yy / at.n, model.resolution))
        if not isinstance(model.alpha, str):  # rho is as large as the noise may be small
            scales = np.append(scales, noise + np.log(float(model.alpha)))
        for prior, of_noise in ((self.weight_prior, False), (self.noise_prior, True)):
            if prior:  # a strong one may lie far from what rows say
                size = np.log(prior[0] / prior[1])
                scales = np.append(scales, -size - noise if of_noise else size + noise)
        logs = np.arange(float(scales.min()) - REACH, float(scales.max()) + REACH, COARSE_STEP)
        heights, n_likely = self.log_weights(logs), 0
        while n_likely < FEWEST_LIKELY and len(np.unique(logs)) == len(logs):
            likely = np.flatnonzero(heights >= heights.max() - NEGLIGIBLE_NATS)
            low, high = max(likely[0] - 1, 0), min(likely[-1] + 1, len(logs) - 1)
            logs = np.linspace(logs[low], logs[high], max(GRID_POINTS, int(high - low + 1)))
            heights = self.log_weights(logs)
            n_likely = int(np.sum(heights >= heights.max() - NEGLIGIBLE_NATS))
        return logs, heights


def _log_gamma(prior: tuple[float, float], precision: Floats) -> Floats:
    """(J,), log density of log precisions, but for a constant."""
    return np.asarray(prior[0] * np.log(precision) - prior[1] * precision)


def _log_half_cauchys(columns: Floats, logs: Floats) -> Floats:
    """(J,), log sum_d [x_d / (1 + x_d^2)] of x_d^2 = the variance of a column over rho, given their logarithms.

    Each is as large for x as for 1 / x: with x below 1, one exponential tells it.
    """
    distances = 0.5 * np.abs(columns[:, None] - logs)
    least = distances.min(axis=0)
    sizes = np.exp(least - distances)
    return np.asarray(np.log(np.sum(sizes / (1 + sizes**2 * np.exp(-2 * least)), axis=0)) - least)


def _mixture_quantile(shares: Floats, centres: Floats, scales: Floats, dof: float, level: float) -> Floats:
    """(n,), of mixtures of Student-t or Normal distributions with these centres and scales (n, J)."""
    own = centres + scales * (ndtri(level) if np.isinf(dof) else stdtrit(dof, level))

    def mixture(at: Floats, which: Any, exact: bool = True) -> tuple[Floats, Floats, Floats]:
        z = (at[:, None] - centres[which]) / scales[which]
        cdf, density, steepness = _normal(z) if np.isinf(dof) else _student(z, dof, exact)
        density /= scales[which]
        return cdf @ shares, density @ shares, (density * steepness / scales[which]) @ shares

    low, high, start = own.min(axis=1), own.max(axis=1), own @ shares
    if not np.isinf(dof):  # whose distribution function is dear: one step by a cheap one comes near enough
        start = _solved(partial(mixture, exact=False), level, low, high, start, 1)
    return _solved(mixture, level, low, high, start)


def _normal(z: Floats) -> tuple[Floats, Floats, Floats]:
    """Distribution function, density, and the slope of its logarithm."""
    return np.asarray(ndtr(z), dtype=float), np.exp(-0.5 * (z**2 + LOG_2PI)), -z


def _student(z: Floats, dof: float, exact: bool = True) -> tuple[Floats, Floats, Floats]:
    """The same of a Student-t; the distribution function to a few digits, if that will do (Wallace, 1959)."""
    constant = gammaln(0.5 * (dof + 1)) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    squares = z**2 / dof
    logs = np.log1p(squares)
    normal = (8 * dof + 1) / (8 * dof + 3) * np.sqrt(dof)
    cdf = stdtr(dof, z) if exact else ndtr(np.copysign(normal * np.sqrt(logs), z))
    density = np.exp(constant - 0.5 * (dof + 1) * logs)
    return np.asarray(cdf, dtype=float), density, -(1 + 1 / dof) * z / (1 + squares)


def _solved(
    below: Callable[[Floats, Any], tuple[Floats, Floats, Floats]],
    level: float,
    low: Floats,
    high: Floats,
    start: Floats,
    max_steps: int = QUANTILE_STEPS,
) -> Floats:
    """Where distribution functions are `level`: Halley's method, by halves where a step would leave the bracket.

    `below` gives functions and their first two derivatives at points, and is told which of them; those that are found
    are not asked for again.
    """
    found, which = start.copy(), np.arange(len(start))
    digits = QUANTILE_DIGITS * np.maximum(high - low, np.finfo(float).tiny)
    at = start
    for _ in range(max_steps):
        cdf, density, slope = below(at, which)
        low, high = np.where(cdf < level, at, low), np.where(cdf < level, high, at)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = (cdf - level) / density
            step = newton / np.maximum(1 - 0.5 * newton * slope / density, 0.5)
        inside = (at - step > low) & (at - step < high)
        near = np.abs(cdf - level) <= NEAR_LEVEL * min(level, 1 - level)
        settled = (np.abs(step) <= digits) | (high - low <= digits)
        at = np.where(settled, at, np.where(inside, at - step, 0.5 * (low + high)))
        found[which] = at
        far = np.flatnonzero(~(settled | (near & inside)))
        if not len(far):
            break
        which = which[far]
        at, low, high, digits = at[far], low[far], high[far], digits[far]
    return found
