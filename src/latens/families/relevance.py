"""Regression with relevance determination: Normal-Gamma weights whose prior precision is learnt.

alpha_k         ~ Gamma                                        large: component k is not needed
w_kd | tau_d    ~ Normal(0, 1 / (tau_d alpha_k)),   tau_d ~ Gamma
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from latens.array import Array, Floats, Index
from latens.array.fields import part, record
from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.point_normal_gamma import LOG_2PI, PointNormalGamma, column_sizes

__all__ = ["SHAPE_OF_PROPER", "Relevance", "drawn", "learnt"]

SHAPE_OF_PROPER = 1.0  # shape of a Gamma that says where a number is, and not much more


@record
class Relevance:
    """q(w, tau) q(alpha)."""

    weights: NormalGamma
    alpha: Gamma = part("k")

    @classmethod
    def prior(cls, k: int, d: int, noise: Gamma, alpha: tuple[float, float], n_empty: int = 0) -> Relevance:
        """Before any data; `noise` has one entry for all columns, or one each."""
        relevance = Gamma(np.full(k, alpha[0]), np.full(k, alpha[1]))
        precision = np.diag(relevance.mean)[None]
        weights = NormalGamma(np.zeros((k, d)), precision, noise.shape, noise.rate, n_empty=n_empty)
        return cls(weights, relevance)

    @property
    def mean(self) -> Floats:
        return self.weights.mean

    @property
    def tau(self) -> Floats:
        return self.weights.tau

    @property
    def log_tau(self) -> Floats:
        return self.weights.log_tau

    @property
    def mean_noise(self) -> Floats:
        return self.weights.mean_noise

    @cached_property
    def scaled(self) -> Floats:
        """(K, D), tau_d w_d."""
        return np.asarray(self.tau * self.mean)

    def column_sizes(self, k: int | None = None) -> Floats:
        """(D,), standard deviations of columns whose first k codes, or all, have variance 1, the others none."""
        return column_sizes(self.mean[:k], self.tau)

    def coordinate_sizes(self, k: int | None = None) -> dict[str, Any]:
        """What free coordinates of weights are in (`core.coordinates.Sized`): the unit of their column."""
        return {"weights": {"mean": self.column_sizes(k)}}

    @property
    def grams(self) -> Floats:
        return self.weights.grams

    @cached_property
    def gram(self) -> Floats:
        return self.weights.gram

    @property
    def spread(self) -> Floats:
        return self.weights.spread

    def observe(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats, *, current: Any) -> Relevance:
        """One coordinate step from the prior `self`: weights and noise given E[alpha], then alpha."""
        moved = Relevance(self._given(current.alpha).observe(seen, zz, zx, xx), self.alpha)
        return Relevance(moved.weights, self.alpha.observe(moved.weights.n_columns, moved._sizes))

    def beyond(self, old: Relevance, times: float) -> Relevance:
        """So many times as far from `old`: weights as they are, their noise and relevances in logarithms."""
        weights, noise = self.weights, self.weights.noise.beyond(old.weights.noise, times)
        mean = old.mean + times * (weights.mean - old.mean)
        return Relevance(replace(weights, mean=mean, rate=noise.rate), self.alpha.beyond(old.alpha, times))

    @property
    def _sizes(self) -> Floats:
        """(K,), sum over columns of E[tau w^2], which is what alpha sees."""
        k, d = self.mean.shape
        variances = np.broadcast_to(np.diagonal(self.spread, axis1=1, axis2=2), (d, k))
        empty = self.weights.n_empty * np.diagonal(self.spread[0])
        return np.asarray(np.sum(self.tau * self.mean**2, axis=1) + variances.sum(axis=0) + empty)

    def transformed(self, axes: Floats, prior: Any) -> Relevance:
        """q of `axes` (K, K) times the weights, with the relevances that are best for them given the prior."""
        back = np.linalg.inv(axes)
        precision = back.T @ self.weights.precision @ back
        precision = np.asarray(0.5 * (precision + np.swapaxes(precision, -1, -2)), dtype=float)
        weights = replace(self.weights, mean=axes @ self.mean, precision=precision)
        moved = Relevance(weights, self.alpha)
        return Relevance(weights, prior.alpha.observe(self.weights.n_columns, moved._sizes))

    def with_relevances_at(self, axes: Floats, prior: Any) -> Relevance:
        """These weights, with the relevances of `axes` times them (`transformed`): all that `observe` asks for."""
        d = self.mean.shape[1]
        variances = np.broadcast_to(np.sum((axes @ self.spread) * axes, axis=2), (d, len(axes)))
        sizes = np.asarray(np.sum(self.tau * (axes @ self.mean) ** 2, axis=1) + variances.sum(axis=0))
        return Relevance(self.weights, prior.alpha.observe(d, sizes))

    def draw_given(
        self, sums: tuple[Floats, Floats, Floats, Floats], point: PointNormalGamma, rng: np.random.Generator
    ) -> PointNormalGamma:
        """From the prior `self`: relevances given the weights `point`, then weights and noise given them and sums."""
        sizes = np.sum(point.tau * point.mean**2, axis=1)
        alpha = self.alpha.observe(point.mean.shape[1], sizes).sample(rng).mean
        # a Gamma of which only the mean is used
        return self._given(Gamma(alpha, np.ones_like(alpha))).observe(*sums).sample(rng)

    def draw(self, rng: np.random.Generator) -> PointNormalGamma:
        """Relevances from the prior `self`, then weights and noise given them."""
        alpha = self.alpha.sample(rng).mean
        return self._given(Gamma(alpha, np.ones_like(alpha))).sample(rng)  # of which only the mean is used

    def log_density_at(self, point: PointNormalGamma) -> float:
        """Log density of weights and noise under the prior `self`, relevances integrated out."""
        noise = np.asarray(self.weights.noise.log_density(point.tau))
        d, log_tau = point.mean.shape[1], np.broadcast_to(point.log_tau, point.mean.shape[1:])
        scales = 0.5 * float(np.sum(log_tau) - d * LOG_2PI) * len(point.mean)
        sizes = np.sum(point.tau * point.mean**2, axis=1)
        return float(noise.sum() + scales + np.sum(self.alpha.log_integral(d, sizes)))

    def about(self) -> tuple[tuple[float, Floats], tuple[float, float]]:
        """(shape, rate) of the noise and of one relevance for all: proper Gamma priors centred at this posterior."""
        alpha = float(np.exp(np.mean(np.log(self.alpha.mean)))) if len(self.alpha.mean) else 1.0
        return (SHAPE_OF_PROPER, SHAPE_OF_PROPER / self.tau), (SHAPE_OF_PROPER, SHAPE_OF_PROPER / alpha)

    def log_likelihood(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> float:
        return self.weights.log_likelihood(seen, zz, zx, xx)

    def slopes(self, prior: Any, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> dict[str, Any]:
        """Derivatives of `log_likelihood - kl(prior)`: those of the weights at E[alpha], and those of alpha."""
        weights = self.weights.slopes(prior._given(self.alpha), seen, zz, zx, xx)
        return {"weights": weights, "alpha": self.alpha.slopes(prior.alpha, self.weights.n_columns, self._sizes)}

    def log_density(self, states: Floats, x: Array, seen: Array) -> Array:
        return self.weights.log_density(states, x, seen)

    def kl(self, other: Any) -> float:
        """KL from the prior `other`, whose weights are given by alpha alone."""
        # the weights' divergence is taken at log E[alpha]; the bound has E[log alpha]
        jensen = 0.5 * self.weights.n_columns * float(np.sum(np.log(self.alpha.mean) - self.alpha.mean_log))
        return float(self.weights.kl(other._given(self.alpha)) + jensen + self.alpha.kl(other.alpha))

    def sample(self, rng: np.random.Generator) -> PointNormalGamma:
        return self.weights.sample(rng)

    def only(self, keep: Index) -> Relevance:
        return Relevance(self.weights.only(keep), self.alpha.only(keep))

    def _given(self, alpha: Gamma) -> NormalGamma:
        w, mean = self.weights, np.zeros((len(alpha.shape), self.mean.shape[1]))
        return NormalGamma(mean, np.diag(alpha.mean)[None], w.shape, w.rate, n_empty=w.n_empty)


def learnt(loadings: Relevance | PointNormalGamma) -> Relevance:
    """The loadings, where they are a distribution: a posterior, or a prior."""
    if not isinstance(loadings, Relevance):
        raise TypeError("points have no posterior to draw from.")
    return loadings


def drawn(loadings: Relevance | PointNormalGamma) -> PointNormalGamma:
    """The loadings, where they are a point: a draw."""
    if not isinstance(loadings, PointNormalGamma):
        raise TypeError("a posterior is no draw of it.")
    return loadings
