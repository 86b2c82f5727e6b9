"""One view of several: its coefficients, and its sums over samples.

Beside the K codes of a sample stand G observed regressors, its membership in each group. Coefficients are likewise
loadings followed by offsets. Products of pairs are packed, each pair once, P = (K + G)(K + G + 1) / 2 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.quadratic import diagonal_places, multiplicity, unpacked, upper, with_pairs
from latens.array.spikes import sweep_spikes
from latens.array.transfer import column_sums, cross_sums, host, like
from latens.core import Rows, Statistics
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known import Known
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods import Likelihood, Tangent

__all__ = ["Regressors", "ViewPosterior", "ViewStatistics", "pull_and_gram"]

FEW = 0.35  # share of missing entries up to which sums over what is there are best taken by complement


@dataclass(frozen=True, eq=False)
class Regressors:
    """What coefficients are multiplied with: E[z] and membership, and how uncertain the codes are."""

    mean: Array  # (n, K + G)
    spread: Array  # (1 or n, K, K)

    @classmethod
    def of(cls, codes: Array, spread: Array, members: Array) -> Regressors:
        return cls(array_namespace(codes).concat([codes, members], axis=1), spread)

    @cached_property
    def pairs(self) -> Array:
        """(n, P), expected products."""
        k, (n, width) = self.spread.shape[-1], self.mean.shape
        if is_numpy_array(self.mean):
            from latens.array.spike_kernels import moment_pairs

            out = np.empty((n, width * (width + 1) // 2), self.mean.dtype)
            moment_pairs(self.mean, self.spread, out)
            return out
        xp, pairs = array_namespace(self.mean), with_pairs(self.mean)[:, width:]
        flat = xp.zeros((width - k, k), dtype=pairs.dtype, device=pairs.device)
        side = xp.broadcast_to(flat[None, :, :], (self.spread.shape[0], width - k, k))
        tall = xp.concat([self.spread, side], axis=1)
        wide = xp.zeros((tall.shape[0], width, width - k), dtype=pairs.dtype, device=pairs.device)
        return pairs + upper(xp.concat([tall, wide], axis=2))

    def summed(self, batch: Rows, present: Array | None = None) -> Floats:
        """(1, P), the products summed over samples, or over those present; no product per sample is formed."""
        some = present is not None
        mean = self.mean * present[:, None] if some else self.mean  # type: ignore[index]
        full = cross_sums(batch.weigh(mean), self.mean)
        n, k, _ = self.spread.shape
        if n == 1:
            times = batch.n if not some else float(column_sums(batch.weigh(present[:, None]))[0])  # type: ignore[index]
            full[:k, :k] += times * host(self.spread[0, :, :])
        else:
            weight = batch.weigh(present if some else array_namespace(mean).ones_like(mean[:, 0]))
            flat = array_namespace(mean).reshape(self.spread, (n, k * k))
            full[:k, :k] += cross_sums(weight[:, None], flat).reshape(k, k)
        return np.asarray(upper(full[None]))


@dataclass(frozen=True)
class ViewPosterior:
    weights: SpikeSlab  # (D, K)
    offsets: Offsets  # (D, G)
    alpha: Gamma  # (K,)
    theta: Beta | None  # (K,); None: every feature belongs to every factor
    noise: Gamma | Known  # (D,)

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
    ) -> ViewPosterior:
        alpha = Gamma(np.full(k, relevance[0]), np.full(k, relevance[1]))
        theta = None if inclusion is None else Beta(*(np.full(k, count) for count in inclusion))
        share = np.ones(k) if theta is None else theta.mean
        wide = 1 / alpha.mean
        weights = SpikeSlab(np.tile(share, (d, 1)), np.zeros((d, k)), np.tile(wide, (d, 1)), wide)
        tau = Known(np.ones(d)) if noise is None else Gamma(*(np.full(d, 1.0) * value for value in noise))
        return cls(weights, Offsets(np.zeros((d, g)), np.full((d, g), 1 / offset)), alpha, theta, tau)

    @property
    def n_components(self) -> int:
        return len(self.alpha.shape)

    def only(self, keep: Index) -> ViewPosterior:
        return ViewPosterior(
            self.weights.only(keep),
            self.offsets,
            self.alpha.only(keep),
            self.theta and self.theta.only(keep),
            self.noise,
        )

    def sample(self, rng: np.random.Generator) -> ViewPosterior:
        return ViewPosterior(
            self.weights.sample(rng), self.offsets.sample(rng), self.alpha, self.theta, self.noise.sample(rng)
        )

    def at_mean(self) -> ViewPosterior:
        return ViewPosterior(
            self.weights.at_mean(), self.offsets.at_mean(), self.alpha, self.theta, Known(self.noise.mean)
        )

    @cached_property
    def mean(self) -> Floats:
        """(D, K + G)."""
        return np.concatenate([self.weights.mean, self.offsets.mean], axis=1)

    @cached_property
    def square(self) -> Floats:
        """(D, K + G), second moments."""
        return np.concatenate([self.weights.square, self.offsets.square], axis=1)

    @cached_property
    def pairs(self) -> Floats:
        """(D, P), expected products."""
        pairs = np.ascontiguousarray(with_pairs(self.mean)[:, self.mean.shape[1] :])
        pairs[:, diagonal_places(self.mean.shape[1])] = self.square
        return pairs

    @cached_property
    def form(self) -> Floats:
        """(P, D), what products of regressors are multiplied by to give E[eta^2]: each pair counts twice."""
        return np.ascontiguousarray((self.pairs * multiplicity(self.mean.shape[1])).T)

    @cached_property
    def gram(self) -> Floats:
        """(1, P), sum_d tau_d E[w_d w_d']."""
        full = (self.noise.mean[:, None] * self.mean).T @ self.mean
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
        w, b, k = self.weights, self.offsets, self.n_components
        log_on, log_off = (np.full(k, np.inf), 0.0) if self.theta is None else self.theta.mean_log
        on = np.concatenate([w.on, np.ones_like(b.mean)], axis=1)
        slab = np.concatenate([w.slab, b.mean], axis=1)
        wide = 1 / prior.offsets.variance[0]
        odds = np.concatenate([log_on - log_off, np.full(len(wide), np.inf)])
        precision = np.concatenate([self.alpha.mean, wide])
        found = sweep_spikes(stats.pull, stats.gram, self.noise.mean, precision[None], odds[None], on, slab)
        kept, rest = ([np.ascontiguousarray(part[:, side]) for part in found] for side in (slice(k), slice(k, None)))
        weights = SpikeSlab(kept[0], kept[1], kept[2], 1 / self.alpha.mean)
        offsets = Offsets(rest[1], rest[2])
        used = weights.on.sum(axis=0)
        alpha = prior.alpha.observe(len(on), weights.size.sum(axis=0))
        theta = prior.theta and prior.theta.observe(used, len(on) - used)
        moved = ViewPosterior(weights, offsets, alpha, theta, self.noise)
        noise = prior.noise.observe(stats.count, np.maximum(-2 * stats.parabola(moved), 0.0))
        return ViewPosterior(weights, offsets, alpha, theta, noise)

    def kl(self, prior: ViewPosterior) -> float:
        return (
            float(np.sum(self.weights.kl(self.alpha, self.theta)))
            + self.offsets.kl(prior.offsets)
            + self.alpha.kl(prior.alpha)
            + (self.theta.kl(prior.theta) if self.theta and prior.theta else 0.0)
            + self.noise.kl(prior.noise)  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class ViewStatistics(Statistics):
    """Sums of the parabola times regressors; a Gram has a leading axis of 1 where all columns share it."""

    n: float
    count: Floats  # (D,), samples in which each column was seen
    level: Floats  # (D,), sum of the constants
    pull: Floats  # (D, K + G), sum of response times regressors
    gram: Floats  # (1 or D, P), sum of precision times their products

    @property
    def entries(self) -> float:
        return float(self.count.sum())

    @classmethod
    def of(cls, part: Rows, likelihood: Likelihood, tangent: Tangent, at: Regressors) -> ViewStatistics:
        # codes first: the faster of the two orders of a product that is narrow on one side
        pull = np.ascontiguousarray(cross_sums(part.weigh(at.mean), tangent.response).T)
        if tangent.precision is not None:
            gram = np.ascontiguousarray(cross_sums(part.weigh(at.pairs), tangent.precision).T)
        elif part.whole:
            gram = at.summed(part, None if part.seen is None else part.present)
        else:
            gram = _over_seen_rows(part, part.weigh(at.pairs))
        return cls(part.n, part.counts, likelihood.levels(part, tangent), pull, gram)

    def parabola(self, p: ViewPosterior) -> Floats:
        """(D,), E_q of each column's summed parabola, linear in the sums."""
        return np.asarray(self.level + np.einsum("dk,dk->d", p.mean, self.pull) - 0.5 * p.energy(self.gram))

    def signals(self, p: ViewPosterior) -> Floats:
        """(D, K), sum over the entries of each column of what each factor adds, squared, in units of the noise."""
        squares = self.gram[:, diagonal_places(p.mean.shape[1])[: p.n_components]]
        return np.asarray(p.noise.mean[:, None] * p.weights.mean**2 * squares)

    def signal(self, p: ViewPosterior) -> Floats:
        """(K,), the same over all columns."""
        return np.asarray(self.signals(p).sum(axis=0))

    def gain(self, p: ViewPosterior) -> Floats:
        """(K,), about how much likelihood each factor adds; where the noise is learnt, it would have grown instead."""
        if isinstance(p.noise, Known):
            return 0.5 * self.signal(p)
        count = np.maximum(self.count, np.finfo(float).tiny)[:, None]
        return np.asarray(0.5 * np.sum(self.count[:, None] * np.log1p(self.signals(p) / count), axis=0))

    def shares(self, p: ViewPosterior) -> Floats:
        """(K,), each factor's part in signal and noise together."""
        signal = self.signal(p)
        return np.asarray(signal / max(float(self.count.sum() + signal.sum()), np.finfo(float).tiny))


def pull_and_gram(p: ViewPosterior, part: Rows, tangent: Tangent) -> tuple[Array, Array]:
    """(n, K) and (1 or n, P): the view's parabola as a function of a sample's regressors."""
    x, tau = tangent.response, p.noise.mean[:, None]
    pull = (like((tau * p.weights.mean).T, x) @ x.T).T  # the faster order of so narrow a product
    if tangent.precision is not None:
        return pull, tangent.precision @ like(tau * p.pairs, x)
    if part.whole:
        return pull, like(p.gram, x) if part.seen is None else part.present[:, None] * like(p.gram, x)
    return pull, _over_seen_columns(part, like(tau * p.pairs, x), like(p.gram, x))


def _over_seen_columns(part: Rows, values: Array, whole: Array) -> Array:
    """(n, P), for each row the sum of values (D, P) over the columns it shows; `whole` is that over all."""
    return _by_complement(part, 0, values, lambda: part.present[:, None] * whole, lambda mask: mask @ values)


def _over_seen_rows(part: Rows, values: Array) -> Floats:
    """(D, P), for each column the sum of values (n, P) over the rows that show it."""

    def everything() -> Floats:
        return np.repeat(cross_sums(part.present[:, None], values), part.x.shape[1], axis=0)

    return host(_by_complement(part, 1, values, everything, lambda mask: cross_sums(mask, values)))


def _by_complement(
    part: Rows, axis: int, values: Array, everything: Callable[[], Array], direct: Callable[[Array], Array]
) -> Array:
    """What is there as all less what is not, where that is little and the arrays are NumPy's."""
    if not is_numpy_array(part.x) or len(part.gaps[0][1]) > FEW * part.x.size:
        return direct(array_namespace(part.x).astype(part.seen, part.x.dtype))
    from latens.array.spike_kernels import subtract_listed

    out = everything()
    subtract_listed(*part.gaps[axis], np.ascontiguousarray(values), out)
    return out
