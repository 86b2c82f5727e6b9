"""One view of several: its coefficients, and its sums over samples.

Beside the K codes of a sample stand G regressors that are given: its membership in each group, then its covariates.
Coefficients are likewise loadings followed by offsets. Products of pairs are packed, each pair once,
P = (K + G)(K + G + 1) / 2 of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, sized
from latens.array.kernels.spike_slab import sweep_spikes
from latens.array.packed_symmetric import (
    diagonal_places,
    moment_pairs,
    multiplicity,
    of_pairs,
    pair_places,
    times_vectors,
    unpacked,
    upper,
    upper_indices,
)
from latens.array.row_matrices import side_by_side
from latens.array.transfer import column_sums, cross_sums, host, like
from latens.core import Rows, Statistics
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.point_normal_gamma import column_sizes
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods import Likelihood, Tangent
from latens.models.likelihoods.ordered_logit import Cuts
from latens.models.likelihoods.student import Tails
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.system.cached_value import cached_value

__all__ = ["Regressors", "ViewPosterior", "ViewStatistics", "code_blocks", "code_places", "pull_and_gram"]


@dataclass(frozen=True, eq=False)
class Regressors:
    """What coefficients are multiplied with: E[z] and what is given, and how uncertain the codes are."""

    codes: Array  # (n, K)
    spread: Array  # (1, number of kinds, or n, K, K)
    given: Array  # (n, G)
    kind: Array | None = None  # (n,), which spread is whose

    @classmethod
    def of(cls, local: JointCodes | SparseCodes, given: Array) -> Regressors:
        return cls(local.mean, local.spread, given, local.kind)

    @cached_value
    def mean(self) -> Array:
        """(n, K + G)."""
        return side_by_side(self.codes, self.given)

    @cached_value
    def pairs(self) -> Array:
        """(n, P), expected products."""
        return moment_pairs(self.mean, self.spread if self.kind is None else self.spread[self.kind])

    def summed(self, batch: Rows, present: Array | None = None) -> Floats:
        """(1, P), the products summed over samples, or over those present; over all they are the same for all views."""
        if present is not None:
            return self._summed(batch, present)
        if "everything" not in vars(self):
            vars(self)["everything"] = self._summed(batch)
        found: Floats = vars(self)["everything"]
        return found

    def _summed(self, batch: Rows, present: Array | None = None) -> Floats:
        if self.kind is None and self.spread.shape[0] == 1 and present is None and batch.weight is None:
            full, times = cross_sums(self.mean, self.mean), np.array([batch.n])  # no product per sample
        else:
            ones = array_namespace(self.mean).ones_like(self.mean[:, :1])
            weight = batch.weigh(ones if present is None else present[:, None])
            if self.kind is None and self.spread.shape[0] > 1:
                return cross_sums(weight, self.pairs)
            full, kinds = cross_sums(weight * self.mean, self.mean), self.spread.shape[0]
            times = column_sums(weight) if self.kind is None else _by_kind(host(weight)[:, 0], self.kind, kinds)
        k = self.spread.shape[1]
        full[:k, :k] += (times @ host(self.spread).reshape(len(times), k * k)).reshape(k, k)
        return np.asarray(upper(full[None]))


def _by_kind(weight: Floats, kind: Index, kinds: int) -> Floats:
    """(kinds,), sums of weights (n,)."""
    return np.asarray(np.bincount(kind, weight, kinds), dtype=float)


@record
class ViewPosterior:
    weights: SpikeSlab  # (D, K)
    offsets: Offsets  # (D, G)
    alpha: Gamma = part("k")
    theta: Beta | None = part("k")  # None: every feature belongs to every factor
    noise: Gamma | KnownGamma = part("d")
    parameters: Tails | Cuts | None = part("d", default=None)  # those of the likelihood, where it has some

    @classmethod
    def prior(
        cls,
        d: int,
        k: int,
        g: int,
        *,
        noise: tuple[float, float | Floats] | None,
        relevance: tuple[float, float],
        inclusion: tuple[float, float] | None,
        offset: float,
        slopes: Floats | None = None,
        parameters: Any = None,
    ) -> ViewPosterior:
        """`offset` and `slopes` (D, C) are the precisions of levels and of the coefficients of covariates."""
        alpha = Gamma(np.full(k, relevance[0]), np.full(k, relevance[1]))
        theta = None if inclusion is None else Beta(*(np.full(k, count) for count in inclusion))
        share = np.ones(k) if theta is None else theta.mean
        wide = 1 / alpha.mean
        weights = SpikeSlab(np.tile(share, (d, 1)), np.zeros((d, k)), np.tile(wide, (d, 1)), wide)
        tau = KnownGamma(np.ones(d)) if noise is None else Gamma(*(np.full(d, 1.0) * value for value in noise))
        variance = np.full((d, g), 1 / offset)
        if slopes is not None:
            variance = np.concatenate([variance, 1 / slopes], axis=1)
        return cls(weights, Offsets(np.zeros_like(variance), variance), alpha, theta, tau, parameters)

    @property
    def n_components(self) -> int:
        return len(self.alpha.shape)

    @property
    def coordinate_sizes(self) -> dict[str, Any]:
        """Loadings and levels of each column are in its own unit (`Sized`)."""
        size = column_sizes(self.weights.mean.T, self.noise.mean)[:, None]
        return {"weights": {"slab": size}, "offsets": {"mean": size}}

    def only(self, keep: Index) -> ViewPosterior:
        return replace(
            self,
            weights=self.weights.only(keep),
            alpha=self.alpha.only(keep),
            theta=self.theta and self.theta.only(keep),
        )

    def resized(self, times: Floats) -> ViewPosterior:
        """All loadings of factors so many times (K,) as large; precisions follow."""
        return replace(
            self, weights=self.weights.resized(times), alpha=replace(self.alpha, rate=self.alpha.rate * times**2)
        )

    def sample(self, rng: np.random.Generator) -> ViewPosterior:
        return replace(
            self, weights=self.weights.sample(rng), offsets=self.offsets.sample(rng), noise=self.noise.sample(rng)
        )

    def at_mean(self) -> ViewPosterior:
        return replace(
            self, weights=self.weights.at_mean(), offsets=self.offsets.at_mean(), noise=KnownGamma(self.noise.mean)
        )

    @cached_property
    def parabola_of_step(self) -> tuple[ViewStatistics | None, Floats]:
        """The sums that set these coefficients, if any did, and their parabola, which that gave at no cost."""
        return None, np.zeros(0)

    @cached_property
    def given_precision(self) -> Floats:
        """(1 or D, G), of the coefficients of what is given; one row where all columns have the same."""
        precision = 1 / self.offsets.variance
        return (
            precision[:1] if np.array_equal(precision, np.broadcast_to(precision[:1], precision.shape)) else precision
        )

    @cached_property
    def mean(self) -> Floats:
        """(D, K + G)."""
        return np.asfortranarray(np.concatenate([self.weights.mean, self.offsets.mean], axis=1))

    @cached_property
    def square(self) -> Floats:
        """(D, K + G), second moments."""
        return np.asfortranarray(np.concatenate([self.weights.square, self.offsets.square], axis=1))

    @cached_property
    def pairs(self) -> Floats:
        """(D, P), expected products."""
        from latens.array.kernels.spike_slab_numba import coefficient_pairs

        d, width = self.mean.shape
        out = np.empty((width * (width + 1) // 2, d))
        coefficient_pairs(np.ascontiguousarray(self.mean.T), np.ascontiguousarray(self.square.T), out)
        return out.T

    @cached_property
    def form(self) -> Floats:
        """(P, D), what products of regressors are multiplied by to give E[eta^2]: each pair counts twice."""
        return np.ascontiguousarray((self.pairs * multiplicity(self.mean.shape[1])).T)

    @cached_property
    def scaled(self) -> Floats:
        """(D, K + G), tau_d E[w_d]."""
        return self.noise.mean[:, None] * self.mean

    @cached_property
    def scaled_pairs(self) -> Floats:
        """(D, P), tau_d E[w_d w_d']."""
        return self.noise.mean[:, None] * self.pairs

    @cached_property
    def gram(self) -> Floats:
        """(1, P), sum_d tau_d E[w_d w_d']."""
        full = self.scaled.T @ self.mean
        np.fill_diagonal(full, self.noise.mean @ self.square)
        return np.asarray(upper(full[None]))

    def predictor(self, at: Regressors) -> Array:
        """(n, D), E[eta]."""
        return at.mean @ like(self.mean.T, at.mean)

    def second(self, at: Regressors) -> Array:
        """(n, D), E[eta^2]."""
        return at.pairs @ like(self.form, at.mean)

    def energy(self, gram: Floats) -> Floats:
        """(D,), E[w_d' gram_d w_d] for packed Grams (D, P), or one (1, P) for all."""
        if len(gram) > 1:
            return np.asarray((self.pairs * gram) @ multiplicity(self.mean.shape[1]))
        full, w = unpacked(gram, self.mean.shape[1])[0], self.mean
        return np.asarray(np.einsum("dk,dk->d", w @ full, w) + (self.square - w**2) @ np.diagonal(full))

    def observe(self, prior: ViewPosterior, stats: ViewStatistics) -> ViewPosterior:
        """Coefficients one after another, then what their priors and the noise are."""
        d, k = self.weights.on.shape
        log_on, log_off = (np.full(k, np.inf), 0.0) if self.theta is None else self.theta.mean_log
        wide = prior.given_precision
        odds = np.concatenate([log_on - log_off, np.full(wide.shape[1], np.inf)])
        precision = np.concatenate([np.broadcast_to(self.alpha.mean, (len(wide), k)), wide], axis=1)
        parameters, given = self.parameters, stats
        if parameters is not None:
            parameters = parameters.improved(stats, self.mean)
            stats = parameters.applied(stats)
        scale = self.noise.mean
        found = sweep_spikes(*stats.parabolas(scale), scale, precision, odds[None], self.mean)
        square, used = found.on * (found.slab**2 + found.variance), found.used[:k]  # as what nothing is remembered of
        alpha = _relevance(prior.alpha, d, used, found.size[:k])
        idle = 1 / alpha.mean
        weights = SpikeSlab(found.on[:, :k], found.slab[:, :k], found.variance[:, :k], idle)
        entropy = found.entropy[:k] + 0.5 * ((d - used) * np.log(idle) + d)
        # what the sweep has found anyhow is not taken again
        sizes = found.size[:k] + (d - used) * idle
        vars(weights).update(mean=found.mean[:, :k], square=square[:, :k], used=used, entropy=entropy, sizes=sizes)
        moved = ViewPosterior(
            weights,
            Offsets(found.slab[:, k:], found.variance[:, k:]),
            alpha,
            prior.theta and prior.theta.observe(used, d - used),
            self.noise,
            parameters,
        )
        vars(moved).update(mean=found.mean, square=square)
        parabola = stats.level + found.gain if stats.free_pull is None else stats.parabola(moved)
        noise = prior.noise.observe(stats.powers, np.maximum(-2 * parabola, 0.0), current=self.noise)
        moved = replace(moved, noise=noise)
        vars(moved).update(mean=found.mean, square=square, parabola_of_step=(given, parabola))
        return moved

    def slopes(self, prior: ViewPosterior, stats: ViewStatistics) -> dict[str, Any] | None:
        """Derivatives of the view's part of the bound at fixed sums; None where its likelihood lacks its own."""
        d, k = self.weights.on.shape
        of_parameters = None if self.parameters is None else self.parameters.slopes(stats, self.mean)
        if (of_parameters is None) != (self.parameters is None):
            return None
        stats = stats.at(self)
        means, squares = self._all_pulls(stats)
        used, sizes = self.weights.used, self.weights.sizes
        found = {
            "weights": self.weights.slopes(self.alpha, self.theta, means[:, :k], squares[:, :k]),
            "offsets": self.offsets.slopes(prior.offsets, means[:, k:], squares[:, k:]),
            "alpha": self.alpha.slopes(prior.alpha, d, sizes),
            "noise": self.noise.slopes(prior.noise, stats.powers, -2 * stats.parabola(self)),
        }
        if of_parameters is not None:
            found["parameters"] = of_parameters
        if self.theta is not None and prior.theta is not None:
            found["theta"] = self.theta.slopes(prior.theta, used, d - used)
        return found

    def _all_pulls(self, stats: ViewStatistics) -> tuple[Floats, Floats]:
        """(D, K + G) each: derivatives of the view's data terms by E[w] and E[w^2], given the others."""
        means, squares = (self.noise.mean[:, None] * part for part in self._pulls(stats.pull, stats.gram))
        if stats.free_pull is not None and stats.free_gram is not None:
            more = self._pulls(stats.free_pull, stats.free_gram)
            means, squares = means + more[0], squares + more[1]
        return means, squares

    def _pulls(self, pull: Floats, gram: Floats) -> tuple[Floats, Floats]:
        """(D, K + G) each: derivatives of a summed parabola by E[w] and E[w^2]."""
        own = gram[:, diagonal_places(self.mean.shape[1])]
        rest = pull - times_vectors(gram, self.mean) + own * self.mean
        return rest, np.broadcast_to(-0.5 * own, self.mean.shape)

    def kl(self, prior: ViewPosterior) -> float:
        return (
            float(np.sum(self.weights.kl(self.alpha, self.theta)))
            + self.offsets.kl(prior.offsets)
            + self.alpha.kl(prior.alpha)
            + (self.theta.kl(prior.theta) if self.theta and prior.theta else 0.0)
            + self.noise.kl(prior.noise)
            - (0.0 if self.parameters is None else self.parameters.log_prior())
        )


@record
class ViewStatistics(Statistics):
    """Sums of the parabola times regressors; a Gram has a leading axis of 1 where all columns share it."""

    n: float
    count: Floats = sized("d")  # samples in which each column was seen
    level: Floats = sized("d")  # sum of the constants
    pull: Floats = sized("d k+n_groups+n_covariates")  # sum of response times regressors
    gram: Floats = sized("1|d sym(k+n_groups+n_covariates)")  # sum of precision times their products
    # the same of what tau does not multiply, and the sum of what log tau is multiplied by; None where there is none
    free_level: Floats | None = sized("d", default=None)
    free_pull: Floats | None = sized("d k+n_groups+n_covariates", default=None)
    free_gram: Floats | None = sized("d sym(k+n_groups+n_covariates)", default=None)
    log_powers: Floats | None = sized("d", default=None)
    own: Floats | None = sized("d own", default=None)  # what the likelihood's parameters are learnt from
    way: Floats | None = sized("d 3", default=None)  # how far the noise should go: `Tangent.way`

    def __add__(self, other: Self) -> Self:
        """Files of earlier versions have no `way`; without that of some rows, that of all is not known.

        Their `own` may end sooner, before sums that were 0 then.
        """
        if (self.way is None) is not (other.way is None):
            return replace(self, way=None) + replace(other, way=None)
        one, two = self.own, other.own
        if one is not None and two is not None and one.shape != two.shape:
            most = max(one.shape[1], two.shape[1])
            one, two = (np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in (one, two))
            return replace(self, own=one) + replace(other, own=two)
        return super().__add__(other)

    def at(self, p: ViewPosterior) -> ViewStatistics:
        """The sums where the likelihood has the parameters of that posterior."""
        return self if p.parameters is None else p.parameters.applied(self)

    def parabolas(self, tau: Floats) -> tuple[Floats, Floats]:
        """Pull (D, K + G) and Gram (1 or D, P) of all terms together, to be multiplied by tau (D,)."""
        if self.free_pull is None or self.free_gram is None:
            return self.pull, self.gram
        return self.pull + self.free_pull / tau[:, None], self.gram + self.free_gram / tau[:, None]

    @property
    def powers(self) -> Floats:
        """(D,), twice what log tau is multiplied by: of normal noise one for each observed entry."""
        return self.count if self.log_powers is None else 2 * self.log_powers

    @property
    def entries(self) -> float:
        return float(self.count.sum())

    @classmethod
    def of(cls, part: Rows, likelihood: Likelihood, tangent: Tangent, at: Regressors) -> ViewStatistics:
        # codes first: the faster of the two orders, and what is summed for all columns lies together
        pull = cross_sums(part.weigh(at.mean), tangent.response).T
        if tangent.precision is not None:
            gram = cross_sums(part.weigh(at.pairs), tangent.precision).T
        elif part.whole:
            gram = at.summed(part, None if part.seen is None else part.present)
        else:
            gram = _over_seen_rows(part, part.weigh(at.pairs))
        powers = tangent.power_sums
        if powers is None and tangent.powers is not None:
            powers = column_sums(part.weigh(tangent.powers()))
        free = _free_sums(part, tangent, at)
        own = None if tangent.own is None else tangent.own(part, at.mean)
        return cls(part.n, part.counts, likelihood.levels(part, tangent), pull, gram, *free, powers, own, tangent.way)

    def parabola(self, p: ViewPosterior) -> Floats:
        """(D,), E_q of each column's summed parabola, linear in the sums."""
        sums, found = p.parabola_of_step
        if sums is self:
            return found
        return np.asarray(self.level + np.einsum("dk,dk->d", p.mean, self.pull) - 0.5 * p.energy(self.gram))

    def free_part(self, p: ViewPosterior) -> float:
        """E_q of what tau does not multiply, and of log tau where it is not that of normal noise."""
        total = 0.0 if self.free_level is None else float(self.free_level.sum())
        if self.free_pull is not None and self.free_gram is not None:
            total += float(np.sum(p.mean * self.free_pull) - 0.5 * np.sum(p.energy(self.free_gram)))
        return total if self.log_powers is None else total + float(self.log_powers @ p.noise.mean_log)

    def signals(self, p: ViewPosterior) -> Floats:
        """(D, K), sum over the entries of each column of what each factor adds, squared, in units of the noise."""
        places = diagonal_places(p.mean.shape[1])[: p.n_components]
        squares = p.noise.mean[:, None] * p.weights.mean**2 * self.gram[:, places]
        if self.free_gram is not None:
            squares = squares + p.weights.mean**2 * self.free_gram[:, places]
        return np.asarray(squares)

    def signal(self, p: ViewPosterior) -> Floats:
        """(K,), the same over all columns."""
        return np.asarray(self.signals(p).sum(axis=0))

    def gain(self, p: ViewPosterior) -> Floats:
        """(K,), about how much likelihood each factor adds; where the noise is learnt, it would have grown instead."""
        if isinstance(p.noise, KnownGamma):
            return 0.5 * self.signal(p)
        count = np.maximum(self.count, np.finfo(float).tiny)[:, None]
        return np.asarray(0.5 * np.sum(self.count[:, None] * np.log1p(self.signals(p) / count), axis=0))

    def column_shares(self, p: ViewPosterior, n_groups: int) -> Floats:
        """(D, K), share in the variance of each column that a factor of variance 1 has.

        Units of columns change nothing, and factors of p need not be those that were summed: what entries weigh is
        what their levels have been summed with.
        """
        first = self.pull.shape[1] - p.mean.shape[1] + p.n_components  # levels stand behind the factors
        levels = diagonal_places(self.pull.shape[1])[first : first + n_groups]
        weights = p.noise.mean * self.gram[:, levels].sum(axis=1)
        if self.free_gram is not None:
            weights = weights + self.free_gram[:, levels].sum(axis=1)
        signals = weights[:, None] * p.weights.mean**2
        whole = np.maximum(self.count + signals.sum(axis=1), np.finfo(float).tiny)
        return np.asarray(signals / whole[:, None])

    def shares(self, p: ViewPosterior) -> tuple[Floats, Floats]:
        """(K,) each, the part of each factor in signal and noise together: in units of the noise, and in variance."""
        signals, tiny = self.signals(p), np.finfo(float).tiny
        noise, variance = signals.sum(axis=0), (signals / p.noise.mean[:, None]).sum(axis=0)
        total = float(np.sum(self.count / p.noise.mean) + variance.sum())
        return noise / max(float(self.count.sum() + noise.sum()), tiny), np.maximum(variance / max(total, tiny), tiny)


def _relevance(prior: Gamma, d: int, used: Floats, squares: Floats) -> Gamma:
    """Posterior of alpha (K,): `used` of d loadings are in, with expected squares that sum to `squares`.

    Loadings that are out have the variance 1 / E[alpha] under q, which moves with alpha here. Held fixed, it would let
    alpha go only `used / d` of its way in each step.
    """
    shape = prior.shape + 0.5 * d
    return Gamma(shape, shape * (prior.rate + 0.5 * squares) / (prior.shape + 0.5 * used))


def _free_sums(part: Rows, tangent: Tangent, at: Regressors) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Level, pull and Gram of what tau does not multiply."""
    free = tangent.free
    if free is None:
        return None, None, None
    levels = column_sums(part.weigh(free.constant())) if free.levels is None else free.levels
    if free.response is None:
        return levels, None, None
    pull = cross_sums(part.weigh(at.mean), free.response).T
    return levels, pull, cross_sums(part.weigh(at.pairs), free.precision).T


def pull_and_gram(p: ViewPosterior, part: Rows, tangent: Tangent, rows: Index | None = None) -> tuple[Array, Array]:
    """(n, K) and (1 or n, P): what a view says of a sample's codes z: pull'z - r' Gram r / 2, with r = [z, given ones].

    pull = sum_d tau_d E[w_d] response_nd over loadings, Gram = sum_d tau_d E[w_d w_d'] precision_nd over loadings and
    offsets, and of what tau does not multiply the same without it. The Gram of codes with what is given is not taken
    from the pull here: the caller does.

    `rows`, one of each kind of sample, where a sample shows a view wholly or not at all: the Grams of these alone.
    """
    x, free = tangent.response, tangent.free
    if tangent.precision is not None and free is not None and free.response is not None:  # in one product
        scale = like(p.noise.mean, x)
        response, precision = scale * x, scale * tangent.precision
        response += free.response
        precision += free.precision
        return (like(p.mean[:, : p.n_components].T, x) @ response.T).T, (like(p.pairs.T, x) @ precision.T).T
    pull = (like(p.scaled[:, : p.n_components].T, x) @ x.T).T  # the faster order of products that are narrow
    if free is not None and free.response is not None:
        pull = pull + (like(p.mean[:, : p.n_components].T, x) @ free.response.T).T
    if tangent.precision is not None:
        return pull, (like(p.scaled_pairs.T, x) @ tangent.precision.T).T
    if part.whole:
        present = part.present if rows is None else part.present[rows]
        return pull, like(p.gram, x) if part.seen is None else present[:, None] * like(p.gram, x)
    return pull, _over_seen_columns(part, like(p.scaled_pairs, x), like(p.gram, x))


def code_blocks(gram: Array, k: int, g: int) -> tuple[Array, list[Array]]:
    """Of packed products of K + G regressors those of the codes, packed, and those with each given one, (1 or n, K)."""
    inner, cross = code_places(k, g)
    return of_pairs(gram, inner), [of_pairs(gram, beside) for beside in cross]


@lru_cache(maxsize=64)
def code_places(k: int, g: int) -> tuple[Index, list[Index]]:
    """Where products of codes stand among those of K + G regressors, and those with each given one."""
    places = pair_places(k + g)
    return places[upper_indices(k)], [np.ascontiguousarray(places[:k, k + j]) for j in range(g)]


def _over_seen_columns(part: Rows, values: Array, whole: Array) -> Array:
    """(n, P), for each row the sum of values (D, P) over the columns it shows; `whole` (1, P) is that over all."""
    if part.few_gaps:
        return _by_complement(part.gaps[0], values, whole[0], part.present)
    return array_namespace(part.x).astype(part.seen, part.x.dtype) @ values


def _over_seen_rows(part: Rows, values: Array) -> Floats:
    """(D, P), for each column the sum of values (n, P) over the rows that show it."""
    if part.few_gaps:
        whole = cross_sums(part.present[:, None], values)
        return host(_by_complement(part.gaps[1], values, whole[0], np.ones(part.x.shape[1])))
    return cross_sums(values, array_namespace(part.x).astype(part.seen, part.x.dtype)).T


def _by_complement(gaps: tuple[Index, Index], values: Array, whole: Array, there: Array) -> Array:
    """All less what is not there."""
    from latens.array.kernels.spike_slab_numba import subtract_listed

    out = np.empty((values.shape[1], len(there)), whole.dtype)
    subtract_listed(*gaps, np.ascontiguousarray(values.T), whole[None], there[None], out)
    return out.T
