"""Counts whose mean is the exponential of eta, by column in one of two ways, each with a dispersion that is learnt.

    common, mean count >= 5:  x ~ Normal(eta, 1 / tau),         y ~ Poisson(e^x)             log-normal noise
    rare, below:              y ~ negative binomial of size tau and mean  tau e^eta          gamma noise

A large tau means no dispersion beyond Poisson's. Each bound is loose where the other is tight, hence the two ways.

Common columns have a normal q(x) = Normal(x, v) in each entry, found anew where eta is, m = E[eta]:

    a = log A:   a - m - (y - A) / tau - 1 / (2 (tau + A)) = 0,    v = 1 / (tau + A),    x = a - v / 2
    log p >= tau (x eta - eta^2 / 2 - (x^2 + v) / 2) + log(tau) / 2 + y x - A - log y! + (1 + log v) / 2

Rare columns take the bound of Jaakkola and Jordan of log(1 + e^eta) with weight y + tau, xi^2 = E[eta^2], and of the
Gamma functions one that is linear in log tau and touches at log r = E[log tau], so that tau has a Gamma posterior, too:

    -log(1 + e^eta)                  >=  c - eta / 2 - t eta^2 / 2,     t = tanh(xi/2) / (2 xi)
    log Gamma(y + tau) / Gamma(tau)  >=  log Gamma(y + r) / Gamma(r) + l (log tau - log r),  l = sum_{j<y} r / (r + j)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace
from scipy.stats import nbinom, poisson

from latens.array import Array, Floats, Index
from latens.array.fields import record, sized
from latens.array.kernels.quadratic_bounds import logistic_constant, masked, touch_logistic
from latens.array.special import expit, gammaln
from latens.array.transfer import column_sums, host, like, take
from latens.core import Rows
from latens.families.gamma import Gamma
from latens.models.likelihoods.interface import Columns, Free, Likelihood, Look, Predictor, Tangent

__all__ = ["Counts", "NegativeBinomial", "PoissonCounts", "count_limits", "refused_counts"]

COMMON = 5.0  # mean count from which a column is common: about here both bounds lose the same
LEAST_TAU, MOST_TAU = 0.02, 1e6  # between which q(x) is looked for; any q(x) gives a bound
MOST_STEPS, CLOSE, LONGEST = 30, 1e-9, 2.0  # of Newton's method: steps, their size at the end, and at most
LARGEST_LOG = 40.0  # log of a mean, and variance of eta, up to which moments of counts are computed
RARE_START, COMMON_START = (
    (0.05, 10.0),
    (0.05, 100.0),
)  # between which tau starts: far above the mean it would stay there


@dataclass(frozen=True, eq=False)
class Counts(Likelihood):
    """Columns of both kinds, as one view."""

    learns_noise: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = True
    prior: ClassVar[tuple[float, float]] = (1.0, 1e-3)  # shape and rate of tau
    common: ClassVar[float] = COMMON

    rare: Floats = sized("d")  # 1 for rare columns, 0 for common ones

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
        places = _places(self.rare)
        if len(places[1]) == 0:
            return _of_common(rows, rows.x, at.mean(), at.columns.noise.mean).tangent(rows, at, even=True)
        if len(places[0]) == 0:
            return _of_rare(rows, rows.x, at.square(), at.columns.noise.mean_log).tangent(rows, at)
        mean, square, noise = at.mean(), at.square(), at.columns.noise
        common, rare = (_part(rows, place) for place in places)
        parts = (
            _of_common(common, common.x, take(mean, places[0], axis=1), noise.mean[places[0]]),
            _of_rare(rare, rare.x, take(square, places[1], axis=1), noise.mean_log[places[1]]),
        )
        order = np.argsort(np.concatenate(places))
        joined = _Entries(*(_side_by_side(pair, order) for pair in zip(*parts, strict=True)))
        return joined.tangent(rows, at)

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        xp, shift, spread = array_namespace(mean), self._shift(columns, mean), self._spread(columns, mean)
        wide = xp.clip(variance, 0.0, LARGEST_LOG)
        level = xp.exp(xp.clip(mean + shift + 0.5 * wide, -LARGEST_LOG, LARGEST_LOG))
        return level, level + level**2 * xp.expm1(spread + wide)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        mean, tau = at.mean(), like(at.columns.noise.mean, rows.x)
        a = _solve(_double(rows.x), _double(mean), _within(_double(tau)))
        grown = array_namespace(a).astype(array_namespace(a).exp(a), mean.dtype)
        chance = expit(mean)
        rare = like(self.rare, mean)
        own = (1 - rare) * grown / (tau + grown) + rare * (rows.x / tau + 1) * chance * (1 - chance)
        return masked(own, rows.seen)

    def middle(self, eta: Array, columns: Columns) -> Array:
        xp = array_namespace(eta)
        return xp.exp(xp.clip(eta + self._shift(columns, eta), -LARGEST_LOG, LARGEST_LOG))

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        xp, level = array_namespace(eta), self.middle(eta, columns)
        log_ratio = xp.log(xp.maximum(y, xp.ones_like(y))) - xp.log(level)  # 0 log 0 = 0
        size = like(columns.noise.mean, y)
        lost = (y + size) * xp.log1p((level - y) / (y + size))  # (y + r) log((mu + r) / (y + r))
        rare = like(self.rare, y)
        return 2 * (y * log_ratio + rare * lost + (1 - rare) * (level - y))

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
        tau = np.broadcast_to(columns.noise.mean, eta.shape)
        gamma = rng.gamma(tau)
        normal = np.exp(rng.normal(size=eta.shape) / np.sqrt(tau))
        level = np.exp(np.clip(eta, -LARGEST_LOG, LARGEST_LOG)) * np.where(self.rare > 0, gamma, normal)
        return np.asarray(rng.poisson(np.minimum(level, 1e15)), dtype=float)

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        return count_limits(mean, variance, tail)

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        return refused_counts(look)

    def _shift(self, columns: Columns, x: Array) -> Array:
        """(D,), log E[y | eta] - eta."""
        tau = columns.noise.mean
        return like(np.where(self.rare > 0, np.log(tau), 0.5 / np.maximum(tau, LEAST_TAU)), x)

    def _spread(self, columns: Columns, x: Array) -> Array:
        """(D,), log of E[rate^2 | eta] / E[rate | eta]^2."""
        inverse = 1 / np.maximum(columns.noise.mean, LEAST_TAU)
        return like(np.where(self.rare > 0, np.log1p(inverse), inverse), x)


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
    prior: ClassVar[tuple[float, float]] = (3.0, 1e-2)


class _Entries(NamedTuple):
    """A parabola entry by entry (n, D); zero at missing entries."""

    response: Array
    precision: Array
    constant: Array
    powers: Array
    free_constant: Array
    free_response: Array
    free_precision: Array

    def tangent(self, rows: Rows, at: Predictor, even: bool = False) -> Tangent:
        """`even`: nothing but constants is free, and all observed entries have a precision of 1."""
        parts = () if even else (self.free_response, self.free_precision)
        return Tangent(
            self.response,
            None if even else self.precision,
            at=at,
            constant=lambda: self.constant,
            free=Free(lambda: self.free_constant, *parts),
            powers=lambda: self.powers,
        )


def _of_common(rows: Rows, y: Array, mean: Array, tau: Floats) -> _Entries:
    xp, single, y, mean = array_namespace(y), y.dtype, _double(y), _double(mean)
    precision = _within(like(tau, y))
    a = _solve(y, mean, precision)
    grown = xp.exp(a)
    v = 1 / (precision + grown)
    x = a - 0.5 * v
    free = y * x - grown - gammaln(y + 1) + 0.5 * (1 + xp.log(v))
    ones, none = masked(xp.ones_like(y), rows.seen), xp.zeros_like(y)
    parts = (x, ones, -0.5 * (x**2 + v), 0.5 * ones, free)
    return _Entries(*(xp.astype(masked(part, rows.seen), single) for part in parts), *[xp.astype(none, single)] * 2)


def _of_rare(rows: Rows, y: Array, square: Array, mean_log: Floats) -> _Entries:
    constant = logistic_constant(square, rows.seen)
    curve = touch_logistic(square, rows.seen)[0]
    half = masked(-0.5 * array_namespace(y).ones_like(y), rows.seen)
    powers, rising = _gamma_ratio(y, np.exp(mean_log))
    free = y * constant - gammaln(y + 1) + rising - powers * like(mean_log, y)
    return _Entries(half, curve, constant, powers, free, y * (1 + half), y * curve)


def _gamma_ratio(y: Array, r: Floats) -> tuple[Array, Array]:
    """(n, D) each: l of the counts, and log Gamma(y + r) / Gamma(r), both 0 where y is 0."""
    counts = host(y).astype(np.intp)
    steps = r + np.arange(counts.max(initial=0))[:, None]  # (Y, D)
    first = np.zeros((1, len(r)))
    tables = [np.concatenate([first, np.cumsum(part, axis=0)]) for part in (r / steps, np.log(steps))]
    low, high = (np.take_along_axis(table, counts, axis=0) for table in tables)
    return like(low, y), like(high, y)


def _solve(y: Array, mean: Array, tau: Array) -> Array:
    """The a of common columns, by Newton's method from a point near it; its equation rises, with slope 1 at least."""
    xp = array_namespace(y)
    log_tau = xp.log(tau)
    d = mean + y / tau - log_tau
    large = xp.maximum(d, xp.ones_like(d))
    a = log_tau + xp.where(d > 1, xp.log(large - xp.log(large)), d - expit(d))
    for _ in range(MOST_STEPS):
        grown = xp.exp(a)
        v = 1 / (tau + grown)
        gap = a - mean - (y - grown) / tau - 0.5 * v
        step = xp.clip(gap / (1 + grown / tau + 0.5 * grown * v**2), -LONGEST, LONGEST)
        a = a - step
        if not bool(xp.any(xp.abs(step) > CLOSE)):
            break
    return a


def _double(values: Array) -> Array:
    """In double precision, which counts of a thousand need: a part of A / tau in a million is lost in single."""
    xp = array_namespace(values)
    return xp.astype(values, xp.float64)


def _within(tau: Array) -> Array:
    return array_namespace(tau).clip(tau, LEAST_TAU, MOST_TAU)


def _places(rare: Floats) -> tuple[Index, Index]:
    """Common columns, and rare ones."""
    return np.flatnonzero(rare == 0), np.flatnonzero(rare > 0)


def _part(rows: Rows, place: Index) -> Rows:
    """Some columns; made once, as they are asked for in every step."""
    parts: Rows = rows.cached(
        f"columns {place.tobytes().hex()}",
        lambda: Rows(take(rows.x, place, axis=1), None if rows.seen is None else take(rows.seen, place, axis=1)),
    )
    return parts


def _side_by_side(parts: tuple[Array, Array], order: Index) -> Array:
    return take(array_namespace(parts[0]).concat(list(parts), axis=1), order, axis=1)


def count_limits(mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
    """Limits of counts; a negative binomial of those moments stands for an overdispersed one."""
    xp, middle, spread = array_namespace(mean), host(mean), host(variance)
    extra = np.maximum(spread - middle, 1e-9 * middle + 1e-300)
    size = middle**2 / extra
    few = np.where(size < 1e6, size, 1.0)
    limits = [
        np.where(size < 1e6, nbinom.ppf(at, few, few / (few + middle)), poisson.ppf(at, middle))
        for at in (tail, 1 - tail)
    ]
    low, high = (xp.asarray(limit, dtype=mean.dtype) for limit in limits)
    return low, high


def refused_counts(look: Look) -> str | None:
    """What is wrong with values that are to be counts."""
    if look.whole and look.smallest >= 0:
        return None
    what = "negative values" if look.smallest < 0 else "fractions"
    return f"holds {what}; give counts from 0, or choose 'gaussian' for it."
