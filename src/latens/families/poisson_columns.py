"""Gamma-Poisson posteriors of clusters of counts.

    rate_kd      ~ Gamma(shape_kd, rate_kd)
    x_d | k      ~ Poisson(s rate_kd)                  s: exposure of the row, 1 where none is given

A missing entry is a count of 0 with exposure 0, so that what says which entries were seen also says how much of each.
The base measure, x log s - log x!, is the same in all clusters: it leaves the memberships, and belongs in every bound.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import gammaln as host_gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import part, record
from latens.array.special import gammaln
from latens.array.transfer import host, like
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma

__all__ = ["PoissonColumns", "log_exposure"]


@record
class PoissonColumns:
    rate: Gamma | KnownGamma = part("k d")  # known after a draw
    joint: ClassVar[bool] = False

    @property
    def mean(self) -> Floats:
        """(K, D), E[rate]."""
        return self.rate.mean

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries."""
        uncertain = self.rate.mean / self.rate.rate if isinstance(self.rate, Gamma) else 0.0
        return np.asarray(self.rate.mean + uncertain)

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log Poisson(x)] = theta'x + sum_d level, (K, D) each, but for the base measure."""
        return self.rate.mean_log, -self.rate.mean

    @property
    def n_base(self) -> int:
        """One number for each column."""
        return int(self.mean.shape[1])

    def base_sums(self, x: Array, weight: Array, seen: Array) -> Floats:
        """(D,), weighted sums of log x! - x log s, of which 0 is that of a missing entry; weights are (n, 1)."""
        return np.asarray(np.sum(host(gammaln(x + 1) - x * log_exposure(seen)) * host(weight), axis=0))

    def base_total(self, base: Floats) -> float:
        """The base measure of all rows, linear in their sums."""
        return -float(base.sum())

    def base_measure(self, x: Array, seen: Array) -> Array:
        """(n,), its logarithm for each row."""
        return array_namespace(x).sum(x * log_exposure(seen) - gammaln(x + 1), axis=1)

    def tiled(self, k: int) -> PoissonColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats, base: Floats | None = None) -> PoissonColumns:
        """Posterior after seen_kd entries that add up to x_kd."""
        prior = self._gamma
        return PoissonColumns(prior.observe_events(x, np.broadcast_to(seen, x.shape)))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: Any = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`, but for the base measure."""
        before, after = self._gamma, self._gamma.observe_events(x, np.broadcast_to(seen, x.shape))
        return np.asarray(np.sum(_log_norm(after) - _log_norm(before), axis=1))

    def kl(self, other: PoissonColumns) -> float:
        return self.rate.kl(other.rate)

    def slopes(self, prior: PoissonColumns, seen: Floats, x: Floats, xx: Floats) -> dict[str, Any]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrices times the way there."""
        now, before = self._gamma, prior._gamma
        exposure = np.broadcast_to(seen, x.shape)
        return {"rate": now.slopes_towards(before.shape + x - now.shape, before.rate + exposure - now.rate)}

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: negative binomial; `seen` are exposures."""
        if isinstance(self.rate, KnownGamma):
            theta, level = self.natural
            return x @ like(theta.T, x) + seen @ like(level.T, x) + self.base_measure(x, seen)[:, None]
        xp, shape, rate = array_namespace(x), self.rate.shape, self.rate.rate
        density: Array = self.base_measure(x, seen)[:, None]
        for d in range(shape.shape[1]):  # of a missing entry all terms are 0
            count, exposure, own = x[:, d][:, None], seen[:, d][:, None], like(shape[:, d], x)
            shared = own * xp.log1p(exposure * like(1 / rate[:, d], x)) + count * xp.log(like(rate[:, d], x) + exposure)
            density = density + gammaln(count + own) - like(host_gammaln(shape[:, d]), x) - shared
        return density

    def draw(self, label: Index, rng: np.random.Generator, exposure: Floats | float = 1.0) -> Floats:
        """(n, D), one row of each cluster in `label`; exposures are (n, 1)."""
        return rng.poisson(exposure * self.mean[label]).astype(np.float64)

    def sample(self, rng: np.random.Generator) -> PoissonColumns:
        if isinstance(self.rate, KnownGamma):
            return self
        return PoissonColumns(KnownGamma(np.maximum(self.rate.sample(rng).mean, np.finfo(float).tiny)))

    def only(self, keep: Index) -> PoissonColumns:
        return PoissonColumns(self.rate.only(keep))

    @property
    def _gamma(self) -> Gamma:
        if not isinstance(self.rate, Gamma):
            raise TypeError("only a Gamma prior of rates learns; points do not.")
        return self.rate


def log_exposure(exposure: Array) -> Array:
    """The logarithm of exposures, and 0 where nothing was looked at."""
    xp = array_namespace(exposure)
    return xp.log(xp.where(exposure > 0, exposure, xp.ones_like(exposure)))


def _log_norm(gamma: Gamma) -> Floats:
    return np.asarray(host_gammaln(gamma.shape) - gamma.shape * np.log(gamma.rate))
