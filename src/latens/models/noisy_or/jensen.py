"""Noisy-OR by Jensen's inequality: independent causes and, for every one, weights over its possible causes.

    pi_k        ~ Beta(usage)                                  how often cause k is on
    theta_kj    ~ Gamma(rate),   theta_0j ~ Gamma(leak)        p = 1 - e^-theta
    s_nk        ~ Bernoulli(pi_k)
    x_nj = 0    with chance e^-(theta_0j + sum_k s_nk theta_kj)

For any weights r_k >= 0 that add up to 1, and because log(1 - e^-t) is concave,

    log P(x = 1 | s) >= sum_k r_k [ s_k f(theta_0 + theta_k / r_k) + (1 - s_k) f(theta_0) ],    f(t) = log(1 - e^-t)

The leak is what makes it a bound: without theta_0 a weight spent on a cause that is off would have to cost infinitely
much, and leaving that out overstates the likelihood. Each bracket is the chance that a Poisson count is not 0; with
that count as one more local unknown all updates have a closed form, also under Gamma posteriors, where f meets
e^<log theta>. Posterior family: q(pi) q(theta) prod_nk q(s_nk), the weights r per one, the counts summed out. The
bound is looser than that of `noisy_or.model` by a nat or more per row; it is here because the literature uses it.

With `points` all globals are point estimates. Runs on the host. Cost per iteration O(ones K), memory O(ones K).

References: Jaakkola & Jordan (1999) and Saul & Jordan (1996) on variational noisy-OR networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, simplex, sized, unit
from latens.array.kernels.noisy_or.states import meets_kernels, score_all
from latens.array.special import logsumexp, xlogx
from latens.array.states import MOST_SWITCHES
from latens.array.transfer import host, like
from latens.core import Proposal, Rows, Statistics, transient
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.families.point_gamma import PointGamma
from latens.models.noisy_or.model import MOST_ENUMERATED, CausePosterior, NoisyOrCauses
from latens.models.noisy_or.moves import fewer_causes, other_causes

__all__ = ["Attributions", "JensenNoisyOr", "RatePosterior", "RateStatistics"]

GAP_OF_OPTIMA = 2e-2  # of the bound, by which rows that settle anew may come to another optimum than in the fit


@record
class RatePosterior:
    usage: Beta | PointBeta = part("k")
    causes: Gamma | PointGamma = part("k d")
    leak: Gamma | PointGamma = part("d")

    @property
    def n_components(self) -> int:
        return len(self.usage.mean)

    def only(self, keep: Index) -> RatePosterior:
        return RatePosterior(self.usage.only(keep), self.causes.only(keep), self.leak)

    def sample(self, rng: np.random.Generator) -> RatePosterior:
        causes, leak = (
            PointGamma(part.sample(rng).mean) if isinstance(part, Gamma) else part for part in (self.causes, self.leak)
        )
        return RatePosterior(self.usage.sample(rng), causes, leak)

    def with_cause(self, k: int, strength: Floats) -> RatePosterior:
        """Cause k exchanged for one that makes columns 1 with these chances (D,)."""
        rate = -np.log1p(-strength)
        if isinstance(self.causes, PointGamma):
            mean = self.causes.mean.copy()
            mean[k] = rate
            return replace(self, causes=PointGamma(mean))
        shape = self.causes.shape.copy()
        shape[k] = np.maximum(rate * self.causes.rate[k], 1e-6)
        return replace(self, causes=Gamma(shape, self.causes.rate))

    @cached_property
    def points(self) -> CausePosterior:
        """Expected chances, which give a row's expected probability: each rate occurs once in it."""
        chances = (PointBeta.of(part.mean_chance) for part in (self.causes, self.leak))
        return CausePosterior(PointDirichlet(np.ones(1)), PointBeta.of(self.usage.mean[None]), *chances)


@record
class Attributions:
    on: Floats = unit("n k")  # q(s = 1)
    weight: Floats = simplex("ones k")  # r: which cause made each one
    at: RatePosterior = transient()  # q of the counts has these parameters

    @property
    def mean(self) -> Floats:
        return self.on


@record
class RateStatistics(Statistics):
    n: float
    seen: Floats = sized("d")
    on: Floats = sized("k")
    caused: Floats = sized("k d")  # expected counts
    exposed: Floats = sized("k 1|d")
    leaked: Floats = sized("d")
    entropy: float

    @property
    def entries(self) -> float:
        return float(self.seen.sum())

    def only(self, keep: Index) -> RateStatistics:
        return replace(self, on=self.on[keep], caused=self.caused[keep], exposed=self.exposed[keep])


@record
class JensenNoisyOr:
    n_features: int
    usage: tuple[float, float] = (1.0, 1.0)
    rate: tuple[float, float] = (0.5, 0.5)
    leak: tuple[float, float] = (0.5, 5.0)
    points: bool = False
    n_sweeps: int = 2  # of weights and causes per local step
    n_inner: int = 3  # of weights alone

    def fewest(self, q: RatePosterior, stats: Statistics) -> RatePosterior | None:
        return None if self.points else q.only(np.arange(0))

    def prior(self, k: int) -> RatePosterior:
        d = self.n_features
        if self.points:
            return RatePosterior(
                PointBeta.of(np.full(k, 0.5)), PointGamma(np.full((k, d), 0.5)), PointGamma(np.full(d, 0.5))
            )
        usage = Beta(np.full(k, self.usage[0]), np.full(k, self.usage[1]))
        causes = Gamma(np.full((k, d), self.rate[0]), np.full((k, d), self.rate[1]))
        return RatePosterior(usage, causes, Gamma(np.full(d, self.leak[0]), np.full(d, self.leak[1])))

    def local_step(self, q: RatePosterior, batch: Rows, warm: Attributions | None = None) -> Attributions:
        """E step: weights r and q(s) in turn, from those of `warm`, or from where `_first` begins."""
        from latens.array.kernels.noisy_or.jensen_numba import LEAST_WEIGHT, weigh_ones

        bounds, columns = _ones(batch)
        rate, leak = _geometric(q)
        log_on, log_off = q.usage.mean_log
        drive = log_on - log_off - host(batch.mask) @ q.causes.mean.T
        if warm is None:
            on = self._first(q, batch)
            weight = np.repeat(np.maximum(on, 1e-3), np.diff(bounds), axis=0) * rate[columns]
            weight = np.maximum(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300), LEAST_WEIGHT)
            weight /= weight.sum(axis=1, keepdims=True)
        else:
            on, weight = warm.on.copy(), warm.weight.copy()
        drive = np.array(np.broadcast_to(drive, on.shape), order="C")  # a view would have the loop compiled once more
        weigh_ones(bounds, columns, rate, leak, drive, on, weight, self.n_sweeps, self.n_inner)
        return Attributions(on, weight, q)

    def statistics(self, batch: Rows, local: Attributions) -> RateStatistics:
        q, times = local.at, np.ones(len(batch)) if batch.weight is None else host(batch.weight)
        counted = times @ local.on
        caused, leaked, level = self._counted(q, batch, local, times)
        sums = RateStatistics(
            n=batch.n,
            seen=batch.counts,
            on=counted,
            caused=caused,
            exposed=counted[:, None] if batch.seen is None else (times[:, None] * local.on).T @ host(batch.mask),
            leaked=leaked,
            entropy=0.0,
        )
        rest = float(times @ (level + self._price(q, batch, local))) - sum(self.data_terms(q, sums).values())
        return replace(sums, entropy=rest)

    def global_step(self, q: RatePosterior, stats: RateStatistics) -> RatePosterior:
        prior = self.prior(len(stats.on))
        return RatePosterior(
            usage=prior.usage.observe(stats.on, np.maximum(stats.n - stats.on, 0.0)),
            causes=prior.causes.observe_events(stats.caused, np.broadcast_to(stats.exposed, stats.caused.shape)),
            leak=prior.leak.observe_events(stats.leaked, stats.seen),
        )

    def data_terms(self, q: RatePosterior, stats: RateStatistics) -> dict[str, float]:
        return {
            "codes": q.usage.log_likelihood(stats.on, stats.n - stats.on),
            "causes": q.causes.log_counts(stats.caused, stats.exposed),
            "leak": q.leak.log_counts(stats.leaked, stats.seen),
            "entropy": stats.entropy,
        }

    def global_terms(self, q: RatePosterior) -> dict[str, float]:
        prior = self.prior(q.n_components)
        return {
            "kl_usage": -q.usage.kl(prior.usage),
            "kl_causes": -q.causes.kl(prior.causes),
            "kl_leak": -q.leak.kl(prior.leak),
        }

    def codes(self, batch: Rows, local: Attributions) -> tuple[Array, Array]:
        return like(local.on, batch.x), like(local.on * (1 - local.on), batch.x)

    def log_predictive(self, q: RatePosterior, batch: Rows, local: Attributions) -> Array:
        """log E_q[p(row)] by enumeration while that is feasible, else the row's own bound."""
        if self.score_is_bound(q):
            return self.row_bounds(q, batch, local)
        return logsumexp(score_all(q.points.at_means, batch.x, batch.mask))[:, 0]

    def score_is_bound(self, q: RatePosterior) -> bool:
        return q.n_components > MOST_ENUMERATED

    def row_bounds(self, q: RatePosterior, batch: Rows, local: Attributions) -> Array:
        """(n,), each row's part of the bound; weighted, they add up to `data_terms`."""
        level = self._counted(q, batch, local, np.ones(len(batch)))[2]
        return like(level + self._price(q, batch, local), batch.x)

    def impute(self, q: RatePosterior, batch: Rows, local: Attributions) -> tuple[Array, Array]:
        lit = self.reconstruct(q, like(local.on, batch.x))
        return lit, lit * (1 - lit)

    def reconstruct(self, q: RatePosterior, codes: Array) -> Array:
        """Chance of a one when each cause is on with the given chance, independently."""
        dark = 1 - like(q.leak.mean_chance, codes)
        for k in range(q.n_components):
            dark = dark * (1 - codes[:, k][:, None] * like(q.causes.mean_chance[k], codes))
        return 1 - dark

    def draw(self, q: RatePosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and codes under one draw of the globals."""
        point = q.sample(rng)
        codes = (rng.random((n, q.n_components)) < point.usage.mean).astype(float)
        return (rng.random((n, self.n_features)) < self.reconstruct(point, codes)).astype(float), codes

    def importance(self, q: RatePosterior, stats: RateStatistics) -> Floats:
        """(K,), share of the counts that each cause brought about; 0 for one that is on in less than a row."""
        caused = stats.caused.sum(axis=1)
        share: Floats = caused / max(float(caused.sum() + stats.leaked.sum()), np.finfo(float).tiny)
        if self.points:
            return np.maximum(share, np.finfo(float).tiny)
        share[(stats.on < 1.0) | (caused < 1.0)] = 0.0
        return share

    def exact_local(self, q: RatePosterior) -> bool:
        return False

    def biased_local(self, q: RatePosterior) -> bool:
        return True

    def gap_of_optima(self, q: RatePosterior, n: float, bound: float) -> float:
        return GAP_OF_OPTIMA * abs(bound)

    def rows_alone(self, stats: RateStatistics) -> Floats:
        return np.asarray(stats.seen)

    def floats_per_row(self, k: int) -> int:
        return 8 * k + (3 * 2**k if k <= MOST_ENUMERATED else 0)

    def candidates(
        self, q: RatePosterior, stats: RateStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Proposal | RatePosterior]:
        # rows that have gone far with their first weights settle better anew: a posterior without their codes
        yield q
        local = self.local_step(q, sample)
        if not self.points:
            yield from fewer_causes(self, q, stats, sample, local)
        yield from other_causes(self, q, stats, sample, local, rng)

    def _first(self, q: RatePosterior, batch: Rows) -> Floats:
        """(n, K), where rows begin: what the best few states say. From usage alone they end in poor optima."""
        if q.n_components > MOST_SWITCHES:
            return np.tile(q.usage.mean, (len(batch), 1))
        rows = (
            batch
            if meets_kernels(batch.x)
            else Rows(host(batch.x), None if batch.seen is None else host(batch.mask) > 0)
        )
        few = NoisyOrCauses(self.n_features, points=True, most_exact=0, n_states=8)
        return np.asarray(few.local_step(q.points, rows).mean, dtype=np.float64)

    def _counted(
        self, q: RatePosterior, batch: Rows, local: Attributions, times: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Counts by cause (K, D) and by leak (D,), and what the ones add to each row's bound (n,)."""
        from latens.array.kernels.noisy_or.jensen_numba import count_lit

        rate, leak = _geometric(q)
        caused, leaked, level = np.zeros(rate.shape), np.zeros(len(leak)), np.empty(len(batch))
        count_lit(*_ones(batch), rate, leak, local.on, local.weight, times, caused, leaked, level)
        return caused.T, leaked, level

    def _price(self, q: RatePosterior, batch: Rows, local: Attributions) -> Floats:
        """(n,), the rest of the bound: codes, and every seen column dark."""
        log_on, log_off = q.usage.mean_log
        on, mask = local.on, host(batch.mask)
        codes = on @ log_on + (1 - on) @ log_off - np.sum(xlogx(on) + xlogx(1 - on), axis=1)
        return np.asarray(codes - mask @ q.leak.mean - np.sum(on * (mask @ q.causes.mean.T), axis=1))


def _geometric(q: RatePosterior) -> tuple[Floats, Floats]:
    """e^<log theta> of the causes (D, K) and of the leak (D,)."""
    return np.ascontiguousarray(np.exp(q.causes.mean_log).T), np.exp(q.leak.mean_log)


def _ones(batch: Rows) -> tuple[Index, Index]:
    """CSR bounds and columns of the ones."""
    if meets_kernels(batch.x):
        return batch.ones
    x = csr_array(host(batch.x))
    return x.indptr.astype(np.intp), x.indices.astype(np.intp)
