"""Beta-negative-binomial posteriors of clusters of overdispersed counts.

    size_d               ~ uniform on the grid SIZES             one for all clusters
    p_kd | size_d        ~ Beta(1 + size_d on_kd, off_kd)        so that E[mu] = off / on whatever the size
    x_d | k              ~ NegativeBinomial(size_d, p_kd)        mean mu = size (1 - p) / p, variance mu + mu^2 / size

As the size grows the column becomes Poisson, and its mean Gamma(off, on). Given the size everything is conjugate, so
that q(size) q(p | size) is exact given the memberships. The base measure, log Gamma(x + size) - log Gamma(size) -
log x!, leaves the memberships; what it adds up to at every size of the grid is taken once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import digamma, gammaln, logsumexp, softmax, xlogy

from latens.array import Array, Floats, Index
from latens.array.fields import positive, record, simplex, sized
from latens.array.transfer import host, like, take

__all__ = ["SIZES", "NegativeBinomialColumns", "NegativeBinomialPoints"]

SIZES = 2.0 ** (np.arange(-26, 67) / 4)  # from .011 to 92,000
LEAST_WEIGHT = 1e-14  # of a size that still changes a sum
STIRLING_FROM = 32.0  # from here on Stirling's series is exact to rounding


@record
class NegativeBinomialColumns:
    on: Floats = positive("k d")  # entries seen, beside those that the prior is worth
    off: Floats = positive("k d")  # what they add up to
    weight: Floats = simplex(f"d {len(SIZES)}")  # q(size)
    joint: ClassVar[bool] = False

    @classmethod
    def prior(cls, mean: Floats, worth: Floats) -> NegativeBinomialColumns:
        """Of one cluster: means (D,) that are worth as many events (D,)."""
        return cls((worth / mean)[None], worth[None], np.full((len(mean), len(SIZES)), 1 / len(SIZES)))

    @property
    def mean(self) -> Floats:
        """(K, D), E[mu], which is the same at every size."""
        return np.asarray(self.off / self.on)

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries, as if p were known where it is infinite."""
        on, off = self._beta
        odds, finite = off / (on - 1), on > 2
        square = np.where(finite, off * (off + 1) / ((on - 1) * np.where(finite, on - 2, 1.0)), odds**2)
        second = self._size * (self._size + 1) * square + self._size * odds
        return np.asarray(np.maximum(self._expected(second) - self.mean**2, self.mean))

    @property
    def size(self) -> Floats:
        """(D,), the size in the middle of its posterior, on the scale of logarithms."""
        return np.asarray(np.exp(self.weight @ np.log(SIZES)))

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log p(x)] = theta'x + sum_d level, (K, D) each, but for the base measure."""
        log_p, log_rest = self._mean_logs
        return self._expected(log_rest), self._expected(self._size * log_p)

    @property
    def n_base(self) -> int:
        """One number for each column and size."""
        return int(self.weight.size)

    def base_sums(self, x: Array, weight: Array, seen: Array) -> Floats:
        """(D G,), weighted sums of the base measure at every size; weights (n, 1). Of a missing entry, 0, it is 1."""
        weights = np.broadcast_to(host(weight), x.shape)
        sums = np.zeros(self.weight.shape)
        for d, (values, which) in enumerate(_distinct(x)):
            sums[d] = np.bincount(which, weights[:, d], len(values)) @ _log_base(values[:, None], SIZES)
        return sums.reshape(-1)

    def base_total(self, base: Floats) -> float:
        """The base measure of all rows, linear in their sums."""
        return float(self.weight.reshape(-1) @ base)

    def base_measure(self, x: Array, seen: Array) -> Array:
        """(n,), its expected logarithm for each row."""
        measure = array_namespace(x).zeros_like(x[:, 0])
        for d, (values, which) in enumerate(_distinct(x)):
            each = _log_base(values[:, None], SIZES) @ self.weight[d]
            measure = measure + take(like(each, x), which)
        return measure

    def tiled(self, k: int) -> NegativeBinomialColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats, base: Floats) -> NegativeBinomialColumns:
        """Posterior after seen_kd entries that add up to x_kd, under the prior `self`."""
        every = np.full(self.weight.shape, 1 / len(SIZES))
        before, after = replace(self, weight=every), replace(self, on=self.on + seen, off=self.off + x, weight=every)
        level = np.sum(after._log_norm - before._log_norm, axis=1).T  # (D, G)
        weight = softmax(base.reshape(self.weight.shape) + level, axis=1)
        weight = np.where(weight > LEAST_WEIGHT, weight, 0.0)
        return replace(after, weight=weight / weight.sum(axis=1, keepdims=True))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: NegativeBinomialColumns | None = None) -> Floats:
        """(K,), log evidence of each cluster's entries, expected at the sizes of `current`, but for the base."""
        weight = self.weight if current is None else current.weight
        after = replace(self, on=self.on + seen, off=self.off + x, weight=weight)
        gain = after._log_norm - replace(self, weight=weight)._log_norm
        return np.asarray(after._expected(gain).sum(axis=1))

    def kl(self, other: NegativeBinomialColumns) -> float:
        """From the prior `other`, whose p may have another distribution at every size."""
        before = replace(other, weight=self.weight)
        (on, off), (on_before, off_before), (log_p, log_rest) = self._beta, before._beta, self._mean_logs
        each = (on - on_before) * log_p + (off - off_before) * log_rest + before._log_norm - self._log_norm
        of_sizes = np.sum(xlogy(self.weight, self.weight)) + len(self.weight) * np.log(len(SIZES))
        return float(self._expected(each).sum() + of_sizes)

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: beta-negative-binomials, mixed over sizes."""
        on, off = self._beta  # (G', K, D)
        density: Array = 0.0
        with np.errstate(divide="ignore"):
            log_weight = np.log(self._weight)  # (D, G')
        for d, (values, which) in enumerate(_distinct(x)):
            y, size = values[:, None, None], self._size[:, 0, 0]
            each = _log_beta(on[:, :, d].T + size, off[:, :, d].T + y) + _log_base(y, size)  # (U, K, G')
            table = logsumexp(each - self._log_norm[:, :, d].T + log_weight[d], axis=2)
            density = density + seen[:, d][:, None] * take(like(table, x), which)
        return density

    def sample(self, rng: np.random.Generator) -> NegativeBinomialPoints:
        at = np.array([rng.choice(len(SIZES), p=weight) for weight in self.weight])
        chance = np.maximum(rng.beta(1 + SIZES[at] * self.on, self.off), np.finfo(float).tiny)
        return NegativeBinomialPoints(SIZES[at], chance)

    def draw(self, label: Index, rng: np.random.Generator, exposure: Floats | float = 1.0) -> Floats:
        """(n, D), one row of each cluster in `label`, under one draw of sizes and chances; exposures are (n, 1)."""
        return self.sample(rng).draw(label, rng, exposure)

    def only(self, keep: Index) -> NegativeBinomialColumns:
        return replace(self, on=self.on[keep], off=self.off[keep])

    @cached_property
    def _active(self) -> Index:
        """(G',), sizes that count in any column."""
        return np.flatnonzero(np.any(self.weight > LEAST_WEIGHT, axis=0))

    @property
    def _weight(self) -> Floats:
        """(D, G')."""
        return self.weight[:, self._active]

    @property
    def _size(self) -> Floats:
        """(G', 1, 1)."""
        return SIZES[self._active][:, None, None]

    @cached_property
    def _beta(self) -> tuple[Floats, Floats]:
        """(G', K, D) each, the posterior of p at each size."""
        on = 1 + self._size * self.on
        return on, np.broadcast_to(self.off, on.shape)

    def _expected(self, each: Floats) -> Floats:
        """(K, D), averages over sizes of (G', K, D)."""
        return np.asarray(np.einsum("dg,gkd->kd", self._weight, each))

    @cached_property
    def _mean_logs(self) -> tuple[Floats, Floats]:
        on, off = self._beta
        return -_digamma_gain(on, off), digamma(off) - digamma(on + off)

    @cached_property
    def _log_norm(self) -> Floats:
        return _log_beta(*self._beta)


@record
class NegativeBinomialPoints:
    """Known sizes and chances: what one draw of the columns is."""

    size: Floats = sized("d")
    chance: Floats = sized("k d")

    @property
    def mean(self) -> Floats:
        return np.asarray(self.size * (1 - self.chance) / self.chance)

    @property
    def row_variance(self) -> Floats:
        return np.asarray(self.mean + self.mean**2 / self.size)

    def draw(self, label: Index, rng: np.random.Generator, exposure: Floats | float = 1.0) -> Floats:
        """(n, D), one row of each cluster in `label`; exposures are (n, 1)."""
        rate = rng.gamma(np.broadcast_to(self.size, (len(label), len(self.size)))) * (self.mean / self.size)[label]
        return rng.poisson(np.minimum(exposure * rate, 1e18)).astype(np.float64)

    def sample(self, rng: np.random.Generator) -> NegativeBinomialPoints:
        return self

    def only(self, keep: Index) -> NegativeBinomialPoints:
        return replace(self, chance=self.chance[keep])


def _distinct(x: Array) -> Iterator[tuple[Floats, Index]]:
    """Of each column its different counts, and which of them each row has: counts repeat."""
    for column in host(x).T:
        values, which = np.unique(column, return_inverse=True)
        yield values, which.reshape(-1)


def _log_base(x: Floats, size: Floats) -> Floats:
    return np.asarray(_log_gamma_gain(size, x) - gammaln(x + 1))


def _log_beta(a: Floats, b: Floats) -> Floats:
    """log B(a, b); a may be large beside b, where differences of log Gamma would lose their digits."""
    return np.asarray(gammaln(b) - _log_gamma_gain(a, b))


def _log_gamma_gain(a: Floats, b: Floats) -> Floats:
    """log Gamma(a + b) - log Gamma(a), by Stirling's series where a is large."""
    high = np.maximum(a, STIRLING_FROM)
    gain = (high - 0.5) * np.log1p(b / high) + b * (np.log(high + b) - 1) + _rest(high + b) - _rest(high)
    return np.where(a >= STIRLING_FROM, gain, gammaln(a + b) - gammaln(a))


def _rest(x: Floats) -> Floats:
    """What Stirling's formula leaves of log Gamma."""
    y = 1 / (x * x)
    return np.asarray((1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x)


def _digamma_gain(a: Floats, b: Floats) -> Floats:
    """digamma(a + b) - digamma(a), the same way."""
    high = np.maximum(a, STIRLING_FROM)
    gain = np.log1p(b / high) + _digamma_rest(high + b) - _digamma_rest(high)
    return np.where(a >= STIRLING_FROM, gain, digamma(a + b) - digamma(a))


def _digamma_rest(x: Floats) -> Floats:
    y = 1 / (x * x)
    return np.asarray(-0.5 / x - y * (1 / 12 - y * (1 / 120 - y / 252)))
