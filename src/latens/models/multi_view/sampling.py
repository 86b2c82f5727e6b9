"""Several views for a Gibbs sampler: factor values, loadings with their spikes, levels and noise, each given the rest.

    z_n                 Normal, all factors of a sample at once
    t_nd                Polya-Gamma(1, eta_nd) for yes/no entries, which are Normal given it
    alpha_k, theta_k    given the loadings that are on, and how many are
    s_dk                on or off with its slab integrated out, then v_dk
    b_dg, tau_d         levels, coefficients of covariates, and noise given the loadings

Views are Gaussian, Gaussian with known precisions, or yes/no; every sample has every factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, expit

from latens.array import Floats, Index
from latens.array.packed_symmetric import unpacked
from latens.array.polya_gamma import draw_polya_gamma
from latens.array.transfer import host
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.point_normal_gamma import LEAST_POWER, LOG_2PI
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods import Tangent
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.coefficients import Regressors, ViewPosterior, ViewStatistics

if TYPE_CHECKING:
    from latens.models.multi_view.model import MultiView, MultiViewPosterior

__all__ = [
    "DrawnFactors",
    "FactorGuide",
    "draw_coefficients",
    "draw_factors",
    "draw_tangents",
    "draw_view",
    "draw_view_prior",
    "log_view_prior",
]


@dataclass(frozen=True)
class DrawnFactors:
    mean: Floats  # (n, K), the factor values themselves

    def reorder(self, order: Index) -> DrawnFactors:
        """Values of row order[n] for row n."""
        return DrawnFactors(self.mean[order])

    def codes(self, tangents: dict[str, Tangent]) -> JointCodes:
        """As a posterior of points."""
        k = self.mean.shape[1]
        return JointCodes(self.mean, np.zeros((1, k, k)), tangents)


@dataclass(frozen=True)
class FactorGuide:
    """Factors where a fit has them: a chain that starts with them need not come upon them.

    Where all loadings of a factor are off its values are draws of their prior, which hardly turn a loading on.
    """

    fitted: JointCodes

    @cached_property
    def precision(self) -> Floats:
        """(1, kinds or n, K, K)."""
        return np.asarray(np.linalg.inv(host(self.fitted.spread)))

    def share(self, t: float) -> float:
        """How much of the guide is left on the way."""
        return 1 - t

    def excess(self, drawn: DrawnFactors) -> float:
        """log q - log p of all values, p being their prior."""
        values = drawn.mean
        gap = values - host(self.fitted.mean)
        form = np.sum(gap * self._times(self.precision, gap)) - np.sum(values * values)
        volume = host(self.fitted.volume)
        kind = self.fitted.kind
        each = volume if kind is None else volume[host(kind)]
        return float(-0.5 * (form + np.sum(np.broadcast_to(each, len(values)))))

    def pulled(self, local: JointCodes | SparseCodes, share: float) -> JointCodes:
        """Codes whose prior p is p (q / p)^share instead."""
        before = np.asarray(np.linalg.inv(host(local.spread)))
        spread = np.asarray(np.linalg.inv(before + share * (self.precision - np.eye(before.shape[-1]))))
        drive = self._times(before, host(local.mean)) + share * self._times(self.precision, host(self.fitted.mean))
        return JointCodes(self._times(spread, drive), spread, local.tangents, self.fitted.kind)

    def _times(self, matrices: Any, values: Floats) -> Floats:
        """(n, K), of each row."""
        own = matrices if self.fitted.kind is None else matrices[host(self.fitted.kind)]
        return np.asarray((own @ values[:, :, None])[:, :, 0])


def draw_factors(
    model: MultiView,
    point: MultiViewPosterior,
    batch: Rows,
    last: DrawnFactors | None,
    rng: np.random.Generator,
    power: float = 1.0,
    guide: FactorGuide | None = None,
) -> DrawnFactors:
    """Factor values of each row given all else; those before say where yes/no entries were.

    The density of measurements given factors may go to a power, that of factors be between the prior's and a guide's.
    """
    before = DrawnFactors(np.zeros((len(batch), point.n_components))) if last is None else last
    tangents = draw_tangents(model, point, batch, before, rng)
    if power < 1:
        point = to_power(point, power)
    local: Any = model.codes_given(point, batch, tangents)
    if guide is not None and power < 1:
        local = guide.pulled(local, guide.share(power))
    root = np.linalg.cholesky(host(local.spread))
    root = root if local.kind is None else root[local.kind]
    noise = rng.standard_normal((*local.mean.shape, 1))
    return DrawnFactors(host(local.mean) + (root @ noise)[:, :, 0])


def draw_tangents(
    model: MultiView, point: MultiViewPosterior, batch: Rows, codes: DrawnFactors, rng: np.random.Generator
) -> dict[str, Tangent]:
    """Parabolas that the entries are, given Polya-Gamma draws for those that are yes or no."""
    held = codes.codes({})
    found = dict(model.tangents(point, batch, held))
    at = Regressors.of(held, model.given(batch))
    for view in model.views:
        if isinstance(view.likelihood, Bernoulli):
            part = batch.columns(view.columns)
            drawn = draw_polya_gamma(host(point.views[view.name].predictor(at)), rng) * part.mask
            found[view.name] = replace(found[view.name], precision=drawn, levels=np.zeros(drawn.shape[1]))
    return found


def to_power(point: MultiViewPosterior, t: float) -> MultiViewPosterior:
    """So that its density of measurements is, but for a factor, this one's to the power t."""
    t = max(t, LEAST_POWER)
    views = {name: replace(view, noise=KnownGamma(t * view.noise.mean)) for name, view in point.views.items()}
    return replace(point, views=views)


def draw_view_prior(prior: ViewPosterior, rng: np.random.Generator) -> ViewPosterior:
    """Relevances and inclusion, then what they are the priors of."""
    d, k = prior.weights.mean.shape
    alpha = prior.alpha.sample(rng).mean
    on = np.ones((d, k), dtype=bool)
    if prior.theta is not None:
        on = rng.random((d, k)) < prior.theta.sample(rng).mean
    w = np.where(on, rng.standard_normal((d, k)) / np.sqrt(alpha), 0.0)
    weights = SpikeSlab(on.astype(float), w, np.zeros((d, k)), 1 / alpha)
    return replace(prior, weights=weights, offsets=prior.offsets.sample(rng), noise=prior.noise.sample(rng))


def log_view_prior(prior: ViewPosterior, point: ViewPosterior) -> float:
    """Log density of loadings and noise, relevances and inclusion integrated out; levels have the same everywhere."""
    w = point.weights.mean
    on = np.ones_like(w) if prior.theta is None else (w != 0).astype(float)
    used, off = on.sum(axis=0), len(w) - on.sum(axis=0)
    level = np.sum(prior.alpha.log_integral(used, np.sum(w * w, axis=0))) - 0.5 * LOG_2PI * used.sum()
    if prior.theta is not None:
        level += np.sum(betaln(prior.theta.on + used, prior.theta.off + off) - betaln(prior.theta.on, prior.theta.off))
    if isinstance(prior.noise, Gamma):
        level += np.sum(prior.noise.log_density(point.noise.mean))
    return float(level)


def draw_view(
    prior: ViewPosterior, last: ViewPosterior, stats: ViewStatistics, rng: np.random.Generator
) -> ViewPosterior:
    """Relevances and inclusion given the loadings, loadings and levels one after another, then the noise."""
    w, (d, k) = last.weights.mean, last.weights.mean.shape
    on = w != 0 if prior.theta is not None else np.ones_like(w, dtype=bool)
    used = on.sum(axis=0).astype(float)
    alpha = prior.alpha.observe(used, np.sum(w * w, axis=0)).sample(rng).mean
    theta = None if prior.theta is None else prior.theta.observe(used, d - used).sample(rng).mean
    start = np.concatenate([w, last.offsets.mean], axis=1)
    width = start.shape[1]
    gram = np.broadcast_to(unpacked(stats.gram, width), (d, width, width))
    wide = np.broadcast_to(prior.given_precision, (d, width - k))
    precision = np.concatenate([np.broadcast_to(alpha, (d, k)), wide], axis=1)
    odds = np.full(k, np.inf) if theta is None else np.log(theta) - np.log1p(-theta)
    _, coefficients = draw_coefficients(stats.pull, gram, last.noise.mean, precision, odds, start, rng)
    on = np.ones((d, k)) if theta is None else (coefficients[:, :k] != 0).astype(float)
    drawn = ViewPosterior(
        SpikeSlab(on, coefficients[:, :k], np.zeros((d, k)), 1 / alpha),
        Offsets(coefficients[:, k:], np.zeros((d, coefficients.shape[1] - k))),
        Gamma(alpha, np.ones(k)),  # of which only the mean is used
        None if theta is None else Beta(theta, 1 - theta),  # likewise
        last.noise,
    )
    left = np.maximum(-2 * stats.parabola(drawn), 0.0)
    noise: KnownGamma = prior.noise.observe(stats.powers, left).sample(rng)
    return replace(drawn, noise=noise)


def draw_coefficients(
    pull: Floats,
    gram: Floats,
    tau: Floats,
    precision: Floats,
    log_odds: Floats,
    start: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Chances (D, K) of loadings to be in, from which they were drawn, and all coefficients (D, K + G), 0 where out.

    Of the parabolas tau (pull'w - w'gram w / 2), gram (D, K + G, K + G); `precision` (D, K + G) is that of slabs and
    levels, log odds (K,) are infinite where all loadings are in.
    """
    d, k = len(start), len(log_odds)
    coefficients, chances = start.copy(), np.ones((d, k))
    for j in range(start.shape[1]):
        others = np.einsum("di,di->d", gram[:, j], coefficients) - gram[:, j, j] * coefficients[:, j]
        drive, sharp = tau * (pull[:, j] - others), tau * gram[:, j, j] + precision[:, j]
        value = drive / sharp + rng.standard_normal(d) / np.sqrt(sharp)
        if j < k and np.isfinite(log_odds[j]):
            gain = 0.5 * (np.log(precision[:, j] / sharp) + drive * drive / sharp)
            chances[:, j] = expit(log_odds[j] + gain)
            value = np.where(rng.random(d) < chances[:, j], value, 0.0)
        coefficients[:, j] = value
    return chances, coefficients
