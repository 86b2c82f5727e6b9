"""Longer steps of a multi-view model where coordinate ascent makes ever smaller ones.

Levels and sizes of codes, dispersions of counts and the prior of loadings each move little while the unknowns that
depend on them are held fixed. Here each is moved together with these, by a closed form or one of Newton's steps. The
bound judges the result, after an iteration from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from latens.array import Floats
from latens.array.packed_symmetric import pair_places
from latens.families.beta import Beta
from latens.families.gamma import Gamma

if TYPE_CHECKING:
    from latens.models.multi_view.coefficients import ViewPosterior, ViewStatistics
    from latens.models.multi_view.model import MultiView, MultiViewPosterior, MultiViewStatistics

__all__ = ["further", "with_prior_ahead"]

LEAST_GAIN_PER_ROW = 1e-5  # nats a row from which a longer step is worth an iteration
LEAST_DETERMINANT = 0.01  # share of a determinant that is left where two slopes are as good as one


def further(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics) -> MultiViewPosterior:
    """The posterior after all longer steps that promise enough; q itself where none does."""
    least = LEAST_GAIN_PER_ROW * stats.n
    q = _evened(model, _levelled(model, q, stats, least), stats, least)
    return _sparser(model, _dispersed(model, q, stats, least), stats, least)


def _levelled(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics, least: float) -> MultiViewPosterior:
    """The same model of the rows with codes of mean 0, as their prior expects, in every group and whatever covariates.

    Codes z -> z - M'u, where u is what is given, and coefficients of u, c -> c + M w, leave likelihoods alone. Plain
    ascent goes there by steps that are the smaller the better rows tell codes: of many rows it begins at levels that a
    sample of them told. What each view says of M counts alike, whatever its unit.
    """
    k = q.n_components
    if q.usage is not None or not k:
        return q
    places = pair_places(k + model.n_given)[k:]  # of products with what is given
    total = np.zeros(places.shape)
    for view in stats.views.values():
        beside = np.asarray(sum(gram.sum(axis=0) for gram in (view.gram, view.free_gram) if gram is not None))[places]
        total += beside / max(float(np.trace(beside[:, k:])), np.finfo(float).tiny)
    if len(total) == 1:
        found = np.asarray(total[:, :k] / max(float(total[0, k]), np.finfo(float).tiny))
    else:
        found = np.asarray(np.linalg.lstsq(total[:, k:], total[:, :k], rcond=None)[0])  # a group may have no samples
    squares = np.concatenate([stats.sizes, np.full(model.n_covariates, stats.n)])[:, None] * found**2
    precision = np.concatenate([q.activity.mean, np.repeat(q.activity.mean.mean(axis=0)[None], model.n_covariates, 0)])
    gain = 0.5 * float(np.sum(squares * precision))
    if not gain >= least or not np.isfinite(gain):
        return q
    views = {
        name: replace(p, offsets=replace(p.offsets, mean=p.offsets.mean + p.weights.mean @ found.T))
        for name, p in q.views.items()
    }
    return replace(q, views=views)


def _evened(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics, least: float) -> MultiViewPosterior:
    """The same model of the rows with the size of codes, and of loadings, at its best.

    Codes z -> z / c and loadings w -> c w leave likelihoods alone, and alpha follows w; plain ascent comes near the
    best c by ever smaller steps.
    """
    found = _size_by_groups(model, q) if isinstance(q.activity, Gamma) else _unit_size(q, stats)
    if found is None or not found[1] >= least:
        return q
    ratio, views = found[0], q.views
    activity = replace(q.activity, rate=q.activity.rate / ratio) if isinstance(q.activity, Gamma) else q.activity
    return replace(q, views={name: view.resized(np.sqrt(ratio)) for name, view in views.items()}, activity=activity)


def _unit_size(q: MultiViewPosterior, stats: MultiViewStatistics) -> tuple[Floats, float] | None:
    """(K,), c^2 = sum E[z^2] / N, which leaves codes the mean square 1 that their prior expects; the nats gained."""
    squares, n = stats.squares.sum(axis=0), stats.n
    if q.usage is not None or not n > 0 or not np.all(squares > 0):
        return None
    ratio = squares / n
    return ratio, 0.5 * n * float(np.sum(ratio - 1 - np.log(ratio)))


def _size_by_groups(model: MultiView, q: MultiViewPosterior) -> tuple[Floats, float] | None:
    """(K,), the best c^2 where each group has a precision a of its own, which follows: a -> c^2 a; and the nats gained.

    Only the priors of a and alpha tell sizes apart then. Of Gamma(s, r) and Gamma(t, u) they are

        (G s - sum t) log c^2 - r sum E[a] c^2 - sum u E[alpha] / c^2,

    sums over groups and over views, whose top is the root of a quadratic.
    """
    shape, rate = model.activity or (0.0, 0.0)
    shapes = model.n_groups * shape - sum(view.relevance[0] for view in model.views)
    grows = rate * q.activity.mean.sum(axis=0)
    shrinks = sum(view.relevance[1] * q.views[view.name].alpha.mean for view in model.views)
    if not np.all(grows > 0):
        return None
    ratio = (shapes + np.sqrt(shapes**2 + 4 * grows * shrinks)) / (2 * grows)
    if not np.all(np.isfinite(ratio) & (ratio > 0)):
        return None
    gain = shapes * np.log(ratio) - grows * (ratio - 1) - shrinks * (1 / ratio - 1)
    return ratio, float(np.sum(gain))


def _dispersed(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics, least: float) -> MultiViewPosterior:
    """The same after Newton's step in the noise of each column, of likelihoods that have one."""
    moved, gain, prior = dict(q.views), 0.0, model.prior(q.n_components)
    for view in model.views:
        sums, p = stats.views[view.name], q.views[view.name]
        if sums.way is None or not isinstance(p.noise, Gamma):
            continue
        found = view.likelihood.stride(p.noise, prior.views[view.name].noise, sums.way, sums.count)
        if found is not None:
            change, shift, more = found
            levels = p.offsets.mean.copy()
            levels[:, : model.n_groups] += shift[:, None]
            noise = replace(p.noise, rate=p.noise.rate * np.exp(-change))
            moved[view.name] = replace(p, offsets=replace(p.offsets, mean=levels), noise=noise)
            gain += more
    return q if gain < least else replace(q, views=moved)


def _sparser(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics, least: float) -> MultiViewPosterior:
    """The same after Newton's step in the prior of loadings, which follow it."""
    prior = model.prior(q.n_components)
    moved = {name: with_prior_ahead(p, prior.views[name], stats.views[name]) for name, p in q.views.items()}
    gain = sum(more for _, more in moved.values())
    return q if gain < least else replace(q, views={name: p for name, (p, _) in moved.items()})


@np.errstate(over="ignore", invalid="ignore")  # of units so far apart that squares are infinite nothing is told
def with_prior_ahead(p: ViewPosterior, prior: ViewPosterior, stats: ViewStatistics) -> tuple[ViewPosterior, float]:
    """A view with the prior of its loadings nearer to where it is best, and the nats that promises.

    Rows say of a loading, given the others, that it is normal of precision g about h / g. It is then in with log odds

        odds + log(alpha / (g + alpha)) / 2 + h^2 / (2 (g + alpha)),        odds = log theta / (1 - theta),

    and what rows say of all loadings of a factor has an evidence, of which one of Newton's steps in the odds and
    log alpha together is taken. Plain steps are small where many loadings are nearly in or out: these and their prior
    wait for each other.
    """
    if p.theta is None or prior.theta is None or not p.n_components:
        return p, 0.0
    from latens.array.kernels.spike_slab_numba import N_SIDE, prior_sums

    pull, gram = stats.at(p).parabolas(p.noise.mean)
    terms = (np.ascontiguousarray(part.T) for part in (pull, gram))
    alpha, (log_on, log_off), share = p.alpha.mean, p.theta.mean_log, p.theta.mean
    sums = np.empty((5, p.n_components))
    means = np.ascontiguousarray(p.mean.T)
    prior_sums(*terms, pair_places(len(means)), p.noise.mean, means, alpha, log_on - log_off, sums, N_SIDE)
    on, off_prior, doubt, both, curve = sums
    total = len(pull) + prior.theta.on + prior.theta.off
    by_odds = on + prior.theta.on - total * share
    by_log = 0.5 * off_prior + prior.alpha.shape - prior.alpha.rate * alpha
    odds_twice, both = doubt - total * share * (1 - share), 0.5 * both
    log_twice = curve - prior.alpha.rate * alpha
    volume = odds_twice * log_twice - both**2
    sure = (odds_twice < 0) & (volume > LEAST_DETERMINANT * odds_twice * log_twice)  # a top, and not a ridge
    volume = np.where(sure, volume, np.inf)
    step_odds = (both * by_log - log_twice * by_odds) / volume
    step_log = (both * by_odds - odds_twice * by_log) / volume
    times = 1 / np.maximum(np.maximum(np.abs(step_odds), np.abs(step_log)), 1.0)  # at most a factor of e
    used = total * expit(logit(share) + times * step_odds)
    alpha_ahead = replace(p.alpha, rate=p.alpha.rate * np.exp(-times * step_log))
    gain = 0.5 * float(np.sum(times * np.abs(by_odds * step_odds + by_log * step_log)))
    return (replace(p, alpha=alpha_ahead, theta=Beta(used, total - used)), gain) if np.isfinite(gain) else (p, 0.0)
