"""Counts whose mean is the exponential of eta, by column in one of two ways, each with a dispersion that is learnt.

    common, mean count >= 5:  x ~ Normal(eta, 1 / tau),         y ~ Poisson(e^x)             log-normal noise
    rare, below:              y ~ negative binomial of size tau and mean  tau e^eta          gamma noise

A large tau means no dispersion beyond Poisson's. Each bound is loose where the other is tight, hence the two ways.
Answers about entries have the noise that rows show without these bounds, gamma or log-normal, whichever they are more
probable with; it is found after the fit (`gamma_noise`).

Common columns have a normal q(x) = Normal(x, v) in each entry, found anew where eta is, m = E[eta]:

    a = log A:   a - m - (y - A) / tau - 1 / (2 (tau + A)) = 0,    v = 1 / (tau + A),    x = a - v / 2
    log p >= tau (x eta - eta^2 / 2 - (x^2 + v) / 2) + log(tau) / 2 + y x - A - log y! + (1 + log v) / 2

Rare columns take the bound of Jaakkola and Jordan of log(1 + e^eta) with weight y + tau, xi^2 = E[eta^2], and of the
Gamma functions one that is linear in log tau and touches at log r = E[log tau], so that tau has a Gamma posterior, too:

    -log(1 + e^eta)                  >=  c - eta / 2 - t eta^2 / 2,     t = tanh(xi/2) / (2 xi)
    log Gamma(y + tau) / Gamma(tau)  >=  log Gamma(y + r) / Gamma(r) + l (log tau - log r),  l = sum_{j<y} r / (r + j)

A coordinate step in a dispersion is short: parabolas that touch the log-likelihood at its old value are far too curved
at another. Newton's step in log tau needs the first and second derivative of the bound by it, parabolas touching at the
new tau as well, all else fixed (in rare columns the mean e^eta tau, too). Their sums over rows are taken with the
parabolas (`way`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import record, sized
from latens.array.kernels.entries.logistic import count_deviance, logistic_averages
from latens.array.kernels.quadratic_bounds import logistic_constant, masked, touch_rare_counts
from latens.array.special import expit, gammaln
from latens.array.transfer import column_sums, host, like, take
from latens.core import Rows
from latens.families.gamma import Gamma
from latens.models.likelihoods.count_rates import (
    LARGEST_LOG,
    bent,
    bent_moments,
    best_slope,
    count_limits,
    unbent,
    wide_limits,
)
from latens.models.likelihoods.gamma_noise import NODES as NODES_OF_ETA
from latens.models.likelihoods.gamma_noise import WEIGHTS, GammaNoise
from latens.models.likelihoods.interface import Columns, Free, Likelihood, Look, Predictor, Tangent

__all__ = ["Counts", "NegativeBinomial", "PoissonCounts", "refused_counts"]

LEAST_SIZE = 1e-6  # of gamma noise
LEAST_TAU, MOST_TAU = 0.02, 1e6  # between which q(x) is looked for; any q(x) gives a bound
MOST_STEPS, LAST_STEP, LONGEST_STEP = 30, 1e-9, 2.0  # of Newton's method: steps, their size at the end, and at most
LEAST_MEAN_OF_COMMON = 5.0  # mean count from which a column is common: about here both bounds lose the same
LEAP = 2.0  # times as large, or as small, that tau becomes in one step at most
NODES = 7  # of slopes and curvatures, which are smooth
MOST_DRAWN = 1e15  # mean of a count that is drawn
LEAST_EXCESS = 2.0  # standard errors by which means of entries are above counts where rates are bent
LEAST_LEFT = 0.05  # of the precision of eta that is left without an entry, at least
# sd of a log rate above its middle, and units above it, that its mean goes by, even where no count was as large
FAR_ABOVE, MOST_ABOVE = 2.0, 1.0
SAFE = 8.0  # sd beyond which nothing is left of a mean or a variance
LEAST_SPREAD = 0.1  # variance of log rates above which moments do not tell the limits of counts
SIZE_OF_NORMAL = 30.0  # of gamma noise, from which it is as good as log-normal
RARE_START, COMMON_START = (
    (0.05, 10.0),
    (0.05, 100.0),
)  # between which tau starts: far above the mean it would stay there


@dataclass(frozen=True, eq=False)
class Counts(Likelihood):
    """Columns of both kinds, as one view."""

    learns_noise: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = True
    prior: ClassVar[tuple[float, float]] = (0.1, 1e-4)  # shape and rate of tau; flat in log tau but for a nat
    common: ClassVar[float] = LEAST_MEAN_OF_COMMON

    rare: Floats = sized("d")  # 1 for rare columns, 0 for common ones
    # of answers: the size of gamma noise over tau, 0 where noise is log-normal, and what is added to log means; None:
    # both are those of the bound
    ratio: Floats | None = sized("d", default=None)
    shift: Floats | None = sized("d", default=None)
    # logarithm of the largest count that rows show, by the unit of exposure; None: not known
    most: Floats | None = sized("d", default=None)
    # of answers: log rate above which others rise more slowly, by the unit of exposure, and how fast; None: none do
    knee: Floats | None = sized("d", default=None)
    slope: Floats | None = sized("d", default=None)

    @classmethod
    def for_rows(cls, rows: Rows) -> Self:
        means = column_sums(rows.weigh(rows.x)) / np.maximum(rows.counts, 1.0)
        return cls((means < cls.common).astype(float))

    @property
    def even(self) -> bool:  # type: ignore[override]  # a constant of most likelihoods
        return not self.rare.any()

    @property
    def noise_prior(self) -> tuple[float, float]:
        return self.prior

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        places, mean, noise = _places(self.rare), at.mean(), at.columns.noise
        if len(places[1]) == 0:
            return of_common(rows, mean, at.square(), noise.mean).tangent(at)
        if len(places[0]) == 0:
            return of_rare(rows, mean, at.square, noise).tangent(at)
        means, squares = ([take(values, place, axis=1) for place in places] for values in (mean, at.square()))
        parts = [some_columns(rows, place) for place in places]
        common = of_common(parts[0], means[0], squares[0], noise.mean[places[0]])
        rare = of_rare(parts[1], means[1], lambda: squares[1] + 0.0, noise.only(places[1]))
        return beside(common, rare, parts[0].seen, np.argsort(np.concatenate(places))).tangent(at)

    def stride(self, noise: Any, prior: Any, way: Floats, counts: Floats) -> tuple[Floats, Floats, float]:
        """From the tau at which parabolas touched; tau changes by a factor of at most LEAP."""
        seen = counts > 0
        at = np.exp(way[:, 0] / np.where(seen, counts, 1.0))
        slope, bend = way[:, 1] + prior.shape - prior.rate * at, way[:, 2] - prior.rate * at
        far = np.log(LEAP)
        near = bend < -np.abs(slope) / far
        step = np.where(near, -slope / np.where(near, bend, -1.0), far * np.sign(slope))
        there = np.clip(np.log(at) + step, np.log(LEAST_TAU), np.log(MOST_TAU))
        step = np.where(seen, there - np.log(noise.mean), 0.0)
        return step, -self.rare * step, 0.5 * float(np.sum(np.abs(step * slope)))

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        xp, shift, spread = array_namespace(mean), self._shift(columns, mean), self._spread(columns, mean)
        wide = xp.clip(variance, 0.0, LARGEST_LOG)
        level = xp.exp(xp.clip(mean + shift + 0.5 * wide, -LARGEST_LOG, LARGEST_LOG))
        expected = level, level + level**2 * xp.expm1(spread + wide)
        return expected if self.most is None else self._supported(mean + shift, wide, columns, expected, self.most)

    def _supported(
        self, log_mean: Array, wide: Array, columns: Columns, expected: tuple[Array, Array], most: Floats
    ) -> tuple[Array, Array]:
        """Mean and variance, rates far above all counts of the column being counted as `most` or a little more.

        The mean of a rate whose logarithm varies by several units is that of a tail beyond anything that was seen:
        thousands of times the largest count, and above the limits that 95 % fall below.
        """
        gamma, tau = host(self._gamma(log_mean)) > 0, np.maximum(columns.noise.mean, LEAST_TAU)
        normal = np.where(gamma, 0.0, 1 / tau)
        level, variance = host(log_mean) - 0.5 * normal, np.maximum(host(wide) + normal, np.finfo(float).tiny)
        sd, (knee, slope) = np.sqrt(variance), self._bend(columns, level)
        offset = 0.0 if columns.offset is None else host(columns.offset)
        top = np.maximum(unbent(most + offset, knee, slope), level + np.minimum(FAR_ABOVE * sd, MOST_ABOVE))
        near = (np.where(slope < 1, np.minimum(knee, top), top) - level) / sd < 2 * sd + SAFE
        if not near.any():
            return expected
        first, second = bent_moments(*(part[near] for part in (level, variance, knee, slope, top)))
        grown = 1 + np.broadcast_to(np.where(gamma, 1 / np.maximum(self._size(columns), LEAST_TAU), 0.0), near.shape)
        found = [np.array(host(part)) for part in expected]
        found[0][near], found[1][near] = first, first + np.maximum(second * grown[near] - first**2, 0.0)
        return like(found[0], log_mean), like(found[1], log_mean)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        xp, mean, tau = array_namespace(rows.x), at.mean(), like(at.columns.noise.mean, rows.x)
        gamma, size = self._gamma(mean), like(self._size(at.columns), mean)
        chance = expit(mean + self._shift(at.columns, mean) - xp.log(size))
        own = (rows.x + size) / tau * chance * (1 - chance)
        if not bool(xp.all(gamma > 0)):
            grown = xp.astype(xp.exp(touching_point(rows.x, mean, tau)), mean.dtype)
            own = xp.where(gamma > 0, own, grown / (tau + grown))
        return masked(own, rows.seen)

    def matched(self, rows: Rows, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        """With gamma noise averaged over eta, with log-normal noise at its mean."""
        xp, gamma, size = array_namespace(mean), self._gamma(mean), like(self._size(columns), mean)
        psi = mean + self._shift(columns, mean) - xp.log(size)
        chance, spread = logistic_averages(psi, variance, NODES)
        slope, bend = rows.x - (rows.x + size) * chance, (rows.x + size) * spread
        if not bool(xp.all(gamma > 0)):
            tau = like(columns.noise.mean, mean)
            a = touching_point(rows.x, mean, tau)
            grown = xp.astype(xp.exp(a), mean.dtype)
            slope = xp.where(gamma > 0, slope, tau * (a - 0.5 / (tau + grown) - mean))
            bend = xp.where(gamma > 0, bend, tau * grown / (tau + grown))
        return masked(slope, rows.seen), masked(bend, rows.seen)

    def only(self, columns: slice | Index) -> Counts:
        known = (
            None if part is None else part[columns]
            for part in (self.ratio, self.shift, self.most, self.knee, self.slope)
        )
        return type(self)(self.rare[columns], *known)

    def answering(
        self, rows: Rows, mean: Floats, variance: Floats, columns: Columns, prior: tuple[float, float | Floats]
    ) -> Self:
        """The same, answering with the noise of rows whose eta are Normal(mean, variance), (n, D) each.

        `prior` has shape and rate of the size.
        """
        tau, of_bound = columns.noise.mean, replace(self, ratio=None, shift=None)._shift(columns, mean)
        gamma = GammaNoise(rows, mean + of_bound, variance)
        shift = gamma.shift(self._size(columns))
        size = gamma.size(shift, prior, None if self.ratio is None else self._size(columns))
        common, log_normal = np.flatnonzero(self.rare == 0), np.zeros(len(tau), dtype=bool)
        if len(common):
            own = some_columns(rows, common)
            height = log_normal_height(own, mean[:, common], variance[:, common], tau[common])
            log_normal[common] = height > gamma.height(shift, size)[common]
        largest = np.log(np.where(host(rows.mask) > 0, np.maximum(rows.x, 1.0), 1.0))
        most = np.max(largest if columns.offset is None else largest - columns.offset, axis=0)
        ratio, shift = (np.where(log_normal, 0.0, part) for part in (size / tau, shift))
        found = replace(self, ratio=ratio, shift=shift, most=most)
        return found if self.ratio is None else found._with_means_of_columns(rows, mean, variance, columns)

    def _with_means_of_columns(self, rows: Rows, mean: Floats, variance: Floats, columns: Columns) -> Self:
        """The same, rates being bent so that entries, as the others of their rows tell them, add up to the counts."""
        slopes, bends = self.matched(rows, mean, variance, columns)  # what an entry itself says of its eta
        width = 1 / np.maximum(1 / variance - bends, LEAST_LEFT / variance)
        place = mean - width * slopes
        expected = host(self.expect(place, width, columns)[0])
        counted, sums = (column_sums(rows.weigh(masked(part, rows.seen))) for part in (host(rows.x), expected))
        by_chance = np.sqrt(column_sums(rows.weigh(masked((expected - rows.x) ** 2, rows.seen))))
        most = np.flatnonzero(sums > counted + LEAST_EXCESS * by_chance)
        if not len(most):
            return self
        exposure = np.zeros_like(mean) if columns.offset is None else columns.offset + np.zeros_like(mean)
        exposed = column_sums(rows.weigh(masked(np.exp(exposure), rows.seen)))
        knee, slope = np.log(np.maximum(counted, 1.0) / np.where(exposed > 0, exposed, 1.0)), np.ones_like(counted)
        part, own, about = some_columns(rows, most), self.only(most), replace(columns, noise=columns.noise.only(most))

        def summed(slope: Floats) -> Floats:
            there = replace(own, knee=knee[most], slope=slope)
            return column_sums(part.weigh(masked(there.expect(place[:, most], width[:, most], about)[0], part.seen)))

        slope[most] = best_slope(counted[most], summed)
        return replace(self, knee=knee, slope=slope)

    def middle(self, eta: Array, columns: Columns) -> Array:
        xp = array_namespace(eta)
        return xp.exp(xp.clip(eta + self._shift(columns, eta), -LARGEST_LOG, LARGEST_LOG))

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        log_level = array_namespace(eta).clip(eta + self._shift(columns, eta), -LARGEST_LOG, LARGEST_LOG)
        return count_deviance(y, log_level, self._size(columns), self.rare if self.ratio is None else self.ratio)

    def link(self, level: Floats, columns: Columns) -> Floats:
        return np.asarray(np.log(np.maximum(level, np.exp(-LARGEST_LOG))) - self._shift(columns, level))

    def intercept(self, offsets: Floats, columns: Columns) -> Floats:
        """Logarithms of mean counts."""
        return np.asarray(offsets + self._shift(columns, offsets)[:, None])

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        level = np.maximum(level, 1e-3)
        return np.log(level), level / (level + 0.5)

    def working(self, y: Floats) -> Floats:
        return np.asarray(np.log(y + 0.5))

    def start_noise(self, prior: Any, rows: Rows, squares: Floats) -> Any:
        """By the variance of counts beyond that of Poisson's."""
        counts = np.maximum(rows.counts, 1.0)
        mean = column_sums(rows.weigh(rows.x)) / counts
        beyond = rows.squares / counts - mean**2 - mean
        size = np.where(beyond > 0, mean**2 / np.where(beyond > 0, beyond, 1.0), np.inf)
        size = np.where(self.rare > 0, np.clip(size, *RARE_START), np.clip(size, *COMMON_START))
        shape = prior.shape + 0.5 * counts
        return Gamma(shape, shape / size)

    def start_at(self, eta: Floats, noise: Any) -> Floats:
        return np.asarray(eta - (self.rare * np.log(noise.mean))[:, None])

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        tau, size = columns.noise.mean, self._size(columns)
        gamma = rng.gamma(np.broadcast_to(size, eta.shape)) / size
        normal = rng.normal(size=eta.shape) / np.sqrt(tau) - 0.5 / tau
        is_gamma = self._gamma(eta) > 0
        log_rate = eta + self._shift(columns, eta) + np.where(is_gamma, 0.0, normal)
        log_rate = bent(log_rate, *self._bend(columns, log_rate))
        if self.most is not None:  # as means count it
            log_rate = np.minimum(log_rate, self.most + (0.0 if columns.offset is None else host(columns.offset)))
        rate = np.exp(np.clip(log_rate, -LARGEST_LOG, LARGEST_LOG)) * np.where(is_gamma, gamma, 1.0)
        return np.asarray(rng.poisson(np.minimum(rate, MOST_DRAWN)), dtype=float)

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        return count_limits(mean, variance, tail)

    def between(self, mean: Array, variance: Array, columns: Columns, tail: float) -> tuple[Array, Array]:
        """By the distribution of rates itself where these are wide: a negative binomial of its moments is mostly 0."""
        sides = self.limits(*self.expect(mean, variance, columns), tail)
        gamma = host(self._gamma(mean)) > 0
        size = np.where(gamma, self._size(columns), np.inf)
        normal = np.where(gamma, 0.0, 1 / np.maximum(columns.noise.mean, LEAST_TAU))
        few = gamma & (size > SIZE_OF_NORMAL)  # gamma noise that is as good as log-normal
        normal, size = np.where(few, 1 / np.where(few, size, 1.0), normal), np.where(few, np.inf, size)
        spread = np.clip(host(variance), 0.0, LARGEST_LOG) + normal
        wide = spread > LEAST_SPREAD
        if not wide.any():
            return sides
        level = host(mean) + host(self._shift(columns, mean)) - 0.5 * normal
        parts = (level, spread, np.broadcast_to(size, spread.shape), *self._bend(columns, level))
        ends = wide_limits(tail, *(part[wide] for part in parts))
        found = [np.array(host(side)) for side in sides]
        for side, end in zip(found, ends, strict=True):
            side[wide] = end
        return like(found[0], mean), like(found[1], mean)

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        return refused_counts(look)

    def dispersion(self, noise: Any) -> Floats:
        """(D,), variance of the rate relative to its mean squared; of log-normal noise that of its logarithm."""
        return np.asarray(1 / self._size(Columns(noise)))

    def _gamma(self, x: Array) -> Array:
        """(D,), 1 where noise is gamma, 0 where it is log-normal."""
        return like(self.rare if self.ratio is None else self.ratio > 0, x)

    def _size(self, columns: Columns) -> Floats:
        """(D,), of gamma noise; elsewhere tau."""
        tau = np.maximum(columns.noise.mean, LEAST_SIZE)
        return np.asarray(tau if self.ratio is None else tau * np.where(self.ratio > 0, self.ratio, 1.0))

    def _shift(self, columns: Columns, x: Array) -> Array:
        """(D,), log E[y | eta] - eta."""
        tau = columns.noise.mean
        shift = np.where(self.rare > 0, np.log(tau), 0.5 / np.maximum(tau, LEAST_TAU))
        return like(shift if self.shift is None else shift + self.shift, x)

    def _bend(self, columns: Columns, like_rows: Floats) -> list[Floats]:
        """(n, D) each: the log rate above which others rise more slowly, and how fast."""
        knee = np.zeros(len(self.rare)) if self.knee is None else self.knee
        slope = np.ones(len(self.rare)) if self.slope is None else self.slope
        there = knee if columns.offset is None else knee + host(columns.offset)
        return [np.broadcast_to(part, like_rows.shape) for part in (there, slope)]

    def _spread(self, columns: Columns, x: Array) -> Array:
        """(D,), log of E[rate^2 | eta] / E[rate | eta]^2."""
        inverse = 1 / np.maximum(self._size(columns), LEAST_TAU)
        return like(np.where(self._gamma(x) > 0, np.log1p(inverse), inverse), x)


@record(eq=False)
class NegativeBinomial(Counts):
    """Overdispersed counts.

    Their noise is gamma as long as its bound holds: where dispersion is large it is tight at higher means, and the
    log-normal noise of common columns predicts counts with gamma noise .03 nats an entry worse.
    """

    name: ClassVar[str] = "negative-binomial"
    common: ClassVar[float] = 20.0


@record(eq=False)
class PoissonCounts(Counts):
    """Counts that are not expected to be overdispersed: their dispersion is drawn towards none."""

    name: ClassVar[str] = "poisson"
    prior: ClassVar[tuple[float, float]] = (0.3, 1e-3)


def _places(rare: Floats) -> tuple[Index, Index]:
    """Common columns, and rare ones."""
    return np.flatnonzero(rare == 0), np.flatnonzero(rare > 0)


def refused_counts(look: Look) -> str | None:
    """What is wrong with values that are to be counts."""
    if look.whole and look.smallest >= 0:
        return None
    what = "negative values" if look.smallest < 0 else "fractions"
    return f"holds {what}; give counts from 0, or choose 'gaussian' for it."


class Constants(NamedTuple):
    """Of every entry (n, D); zero at missing ones."""

    scaled: Array  # multiplied by tau in the bound
    powers: Array  # multiplied by log tau
    free: Array  # by neither


@dataclass(frozen=True)
class Parabolas:
    """Those of some columns; zero at missing entries."""

    response: Array  # (n, D)
    precision: Array | None  # (n, D)
    free_response: Array | None
    free_precision: Array | None
    sums: Constants  # (D,) each, of entries times the weights of their rows
    way: Floats  # (D, 3), sums of log tau, and of the bound's first and second derivative by it
    each: Callable[[], Constants]

    def tangent(self, at: Predictor) -> Tangent:
        free = Free(lambda: self.each().free, self.free_response, self.free_precision, self.sums.free)
        return Tangent(
            self.response,
            self.precision,
            self.sums.scaled,
            at=at,
            constant=lambda: self.each().scaled,
            free=free,
            powers=lambda: self.each().powers,
            power_sums=self.sums.powers,
            way=self.way,
        )


def beside(common: Parabolas, rare: Parabolas, seen: Array | None, order: Index) -> Parabolas:
    """Columns of both kinds as one view, in this order."""
    none = array_namespace(common.response).zeros_like(common.response)
    ones = masked(none + 1, seen)

    def joined(*parts: Any) -> Array:
        return take(array_namespace(*parts).concat(list(parts), axis=1), order, axis=1)

    return Parabolas(
        joined(common.response, rare.response),
        joined(ones, rare.precision),
        joined(none, rare.free_response),
        joined(none, rare.free_precision),
        Constants(*(np.concatenate(pair)[order] for pair in zip(common.sums, rare.sums, strict=True))),
        np.concatenate([common.way, rare.way])[order],
        lambda: Constants(*(joined(*pair) for pair in zip(common.each(), rare.each(), strict=True))),
    )


def of_common(rows: Rows, mean: Array, square: Array, tau: Floats) -> Parabolas:
    """Nothing but constants is free, and all observed entries have a precision of 1."""
    xp, single, y, m = array_namespace(rows.x), rows.x.dtype, _double(rows.x), _double(mean)
    precision = _within(like(tau, y))
    a = touching_point(y, m, precision)
    grown = xp.exp(a)
    v = 1 / (precision + grown)
    x = a - 0.5 * v
    free = masked(y * x - grown + 0.5 * (1 + xp.log(v)), rows.seen) - _log_factorials(rows)
    scaled, half = masked(-0.5 * (x**2 + v), rows.seen), 0.5 * masked(xp.ones_like(y), rows.seen)
    entries = Constants(*(xp.astype(part, single) for part in (scaled, half, free)))
    gap = x - m
    off = gap**2 + v + _double(square) - m**2
    narrower = v**2 * precision * (v * grown * gap - 1) / (1 + 0.5 * v**3 * grown * precision)
    moved = -v * (precision * gap + 0.5 * grown * narrower)
    bend = -0.5 * precision * (off + 2 * gap * moved + narrower)
    counts = rows.counts
    way = [counts * np.log(tau), *(_summed(rows, part) for part in (0.5 - 0.5 * precision * off, bend))]
    return Parabolas(
        xp.astype(masked(x, rows.seen), single),
        None,
        None,
        None,
        Constants(_summed(rows, scaled), 0.5 * counts, _summed(rows, free)),
        np.stack(way, axis=1),
        lambda: entries,
    )


def of_rare(rows: Rows, mean: Array, square: Callable[[], Array], noise: Any) -> Parabolas:
    y, tau, log_r = rows.x, noise.mean, noise.mean_log
    curve, (scaled, free, slope, bend) = touch_rare_counts(y, mean, square(), tau, rows.seen, rows.weight)
    half = rows.cached("half", lambda: masked(-0.5 * array_namespace(y).ones_like(y), rows.seen))
    above = rows.counts_above
    steps = np.exp(log_r) + np.arange(len(above))[:, None]  # (Y, D)
    chances = np.exp(log_r) / steps
    powers, rising = np.sum(above * chances, axis=0), np.sum(above * np.log(steps), axis=0)
    free = free + rising - powers * log_r - _summed(rows, _log_factorials(rows))
    bend = bend + np.sum(above * chances * (1 - chances), axis=0)

    def each() -> Constants:
        constant, (low, high) = logistic_constant(square(), rows.seen), _gamma_ratio(y, np.exp(log_r))
        return Constants(constant, low, y * constant - _log_factorials(rows) + high - low * like(log_r, y))

    way = np.stack([rows.counts * np.log(tau), slope + powers, bend], axis=1)
    counted = rows.cached("half counts", lambda: 0.5 * y)
    return Parabolas(half, curve, counted, y * curve, Constants(scaled, powers, free), way, each)


def _gamma_ratio(y: Array, r: Floats) -> tuple[Array, Array]:
    """(n, D) each: l of the counts, and log Gamma(y + r) / Gamma(r), both 0 where y is 0."""
    counts = host(y).astype(np.intp)
    steps = r + np.arange(counts.max(initial=0))[:, None]  # (Y, D)
    first = np.zeros((1, len(r)))
    tables = [np.concatenate([first, np.cumsum(part, axis=0)]) for part in (r / steps, np.log(steps))]
    low, high = (np.take_along_axis(table, counts, axis=0) for table in tables)
    return like(low, y), like(high, y)


def _log_factorials(rows: Rows) -> Array:
    """(n, D), log y!; missing entries are stored as 0, of which it is 0, too."""
    return rows.cached("log factorials", lambda: gammaln(rows.x + 1))


def touching_point(y: Array, mean: Array, tau: Array) -> Array:
    """The a of common columns, by Newton's method from a point near it; its equation rises, with slope 1 at least."""
    xp, y, mean, tau = array_namespace(y), _double(y), _double(mean), _within(_double(tau))
    log_tau = xp.log(tau)
    d = mean + y / tau - log_tau
    large = xp.maximum(d, xp.ones_like(d))
    a = log_tau + xp.where(d > 1, xp.log(large - xp.log(large)), d - expit(d))
    for _ in range(MOST_STEPS):
        grown = xp.exp(a)
        v = 1 / (tau + grown)
        gap = a - mean - (y - grown) / tau - 0.5 * v
        step = xp.clip(gap / (1 + grown / tau + 0.5 * grown * v**2), -LONGEST_STEP, LONGEST_STEP)
        a = a - step
        if not bool(xp.any(xp.abs(step) > LAST_STEP)):
            break
    return a


def log_normal_height(rows: Rows, mean: Floats, variance: Floats, tau: Floats) -> Floats:
    """(D,), sums of a bound of E[log p(y | eta)] with log-normal noise, eta ~ Normal(mean, variance), without log y!.

    Where eta is known and tau at least 1, this bound is at most .01 nats an entry below log p.
    """
    y, tau, total = host(rows.x), np.asarray(_within(tau)), np.zeros_like(tau)
    for node, weight in zip(NODES_OF_ETA, WEIGHTS, strict=True):
        eta = mean + node * np.sqrt(variance)
        a = touching_point(y, eta, tau)
        v = 1 / (tau + np.exp(a))
        x = a - 0.5 * v
        each = y * x - np.exp(a) + 0.5 * (1 + np.log(v * tau)) - 0.5 * tau * ((x - eta) ** 2 + v)
        total += weight * _summed(rows, each)
    return total


def some_columns(rows: Rows, place: Index) -> Rows:
    """These columns; made once, as they are asked for in every step."""
    parts: Any = rows.cached(
        f"columns {place.tobytes().hex()}",
        lambda: Rows(
            take(rows.x, place, axis=1), None if rows.seen is None else take(rows.seen, place, axis=1), rows.weight
        ),
    )
    return parts  # type: ignore[no-any-return]


def _summed(rows: Rows, values: Array) -> Floats:
    """(D,), of entries that were seen."""
    return column_sums(rows.weigh(masked(values, rows.seen)))


def _double(values: Array) -> Array:
    """In double precision, which counts of a thousand need: a part of A / tau in a million is lost in single."""
    xp = array_namespace(values)
    return xp.astype(values, xp.float64)


def _within(tau: Array) -> Array:
    return array_namespace(tau).clip(tau, LEAST_TAU, MOST_TAU)
