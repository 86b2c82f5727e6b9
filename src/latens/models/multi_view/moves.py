"""Other factors a multi-view model might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from latens.array import Floats
from latens.array.packed_symmetric import unpacked
from latens.core import Proposal, Removal, Rows
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.spike_slab import SpikeSlab
from latens.models.multi_view.turns import Loadings, sparser

if TYPE_CHECKING:
    from latens.models.multi_view.coefficients import ViewPosterior, ViewStatistics
    from latens.models.multi_view.model import MultiView, MultiViewPosterior, MultiViewStatistics

__all__ = ["deletions", "propose"]

# nats of likelihood per nat of divergence from which a factor is not worth trying to do without
LEAST_GAIN_PER_NAT = 1.5
N_POWERS = 40  # steps of the power method towards what rows leave unexplained
LEAST_GAIN = 0.1  # nats that other axes promise at least
QUIET, NOISIER = 0.05, 0.3  # share of noise in a column's variance that is doubtful, and what is tried instead
N_QUIET = 2  # columns tried
LEAST_PROBABILITY = 1e-3  # probability of a turned loading at least
START_UNCERTAINTY = 1e-2  # uncertainty of a new factor's loadings, as a share of their variance


def propose(
    model: MultiView,
    q: MultiViewPosterior,
    stats: MultiViewStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[MultiViewPosterior | Proposal]:
    """Deletions; axes of sparser loadings; columns that factors do not explain so wholly; below `limit`, one more.

    The last is one factor along the largest residual.
    """
    yield from deletions(q, stats)
    yield from _in_other_axes(q, stats)
    yield from _noisier(q)
    if q.n_components < limit:
        yield _with_factor(model, q, sample, rng)


def deletions(q: MultiViewPosterior, stats: MultiViewStatistics) -> Iterator[Proposal]:
    """Without factors that hardly pay for codes and loadings: all that do not at once, then each alone."""
    pairs = [(view, q.views[name]) for name, view in stats.views.items()]
    signal = np.sum([view.signal(p) for view, p in pairs], axis=0)
    gain = np.sum([view.gain(p) for view, p in pairs], axis=0)
    cost = np.sum([p.weights.kl(p.alpha, p.theta) for _, p in pairs], axis=0)
    cost = cost + 0.5 * stats.n * np.log1p(signal / stats.n)  # what codes that know so much cost
    order = np.argsort(gain - cost, kind="stable")
    if q.n_components > 1:
        losing = order[gain[order] < cost[order]][: q.n_components - 1]  # one is left in any case
        if len(losing) > 1:
            keep = np.setdiff1d(order, losing)
            yield Proposal(q.only(keep), keep)
        doubtful = 1 + np.sum(gain[order[1:]] < LEAST_GAIN_PER_NAT * cost[order[1:]])  # the weakest is always tried
        for k in order[:doubtful]:
            keep = np.setdiff1d(order, [k])
            yield Removal(q.only(keep), keep)


def _in_other_axes(q: MultiViewPosterior, stats: MultiViewStatistics) -> Iterator[MultiViewPosterior]:
    """The same factors in axes in which loadings are sparser. Codes that may be 0 have their directions fixed.

    So have groups in which factors differ in strength, as far as they do: the bound tells.
    """
    if q.n_components < 2 or q.usage is not None:
        return
    size = np.ones(q.n_components)  # of codes, which are of mean square 1 where there are no groups
    if isinstance(q.activity, Gamma):
        size = np.sqrt(np.maximum(stats.squares.sum(axis=0) / max(stats.n, 1.0), np.finfo(float).tiny))
    free = {name: _unpruned(q.views[name], view) for name, view in stats.views.items()}
    free = {name: (mean * size, variance * np.mean(size**2)) for name, (mean, variance) in free.items()}
    loadings = Loadings(
        np.concatenate([mean for mean, _ in free.values()]).T.copy(),
        np.concatenate([variance for _, variance in free.values()]),
        np.cumsum([len(mean) for mean, _ in free.values()]),
        _second(stats, q.n_components) / size / size[:, None],
        stats.n,
        np.array([float(q.views[name].theta is None) for name in free]),
    )
    # asked for twice, by candidates for all rows and for those that are explained badly
    asked = vars(stats).get("turned")
    axes = asked[1] if asked is not None and asked[0] is q else sparser(loadings, LEAST_GAIN)
    vars(stats).update(turned=(q, axes))
    if axes is not None:
        times = axes.clearness(loadings)
        mixing = axes.mixing * times
        views = {
            name: _redirected(q.views[name], mean @ mixing, variance, axes.width[m], axes.share[m]).resized(1 / times)
            for m, (name, (mean, variance)) in enumerate(free.items())
        }
        yield replace(q, views=views, activity=_turned(q.activity, size, axes.mixing))


def _turned(activity: Gamma | KnownGamma, size: Floats, mixing: Floats) -> Gamma | KnownGamma:
    """How strong factors are in each group once codes z, in units of `size` (K,), are mixing^-1 z."""
    if isinstance(activity, KnownGamma):
        return activity
    variance = (1 / activity.mean / size**2) @ (np.linalg.inv(mixing) ** 2).T
    return Gamma(activity.shape, activity.shape * variance)


def _noisier(q: MultiViewPosterior) -> Iterator[MultiViewPosterior]:
    """With more noise in one of the columns that have next to none.

    A factor that follows a single column turns its noise into codes, and ascent goes back over hundreds of iterations.
    """
    quiet = []
    for name, p in q.views.items():
        if isinstance(p.noise, Gamma):
            left, explained = 1 / p.noise.mean, np.sum(p.weights.mean**2, axis=1)
            shares = left / (left + explained)
            for column in np.argsort(shares, kind="stable")[:N_QUIET]:
                if shares[column] < QUIET:
                    quiet.append((float(shares[column]), name, int(column), p.noise))
    for share, name, column, noise in sorted(quiet, key=lambda each: each[0])[:N_QUIET]:
        p = q.views[name]
        slab, more = p.weights.slab.copy(), np.ones(len(p.weights.slab))
        slab[column] *= np.sqrt((1 - NOISIER) / (1 - share))
        more[column] = NOISIER / share
        noisier = replace(p, weights=replace(p.weights, slab=slab), noise=Gamma(noise.shape, noise.rate * more))
        yield replace(q, views={**q.views, name: noisier})


def _unpruned(p: ViewPosterior, stats: ViewStatistics) -> tuple[Floats, Floats]:
    """(D, K) and (D,): the view's loadings as the rows tell them, where none is shut out, and their variance.

    What is shut out hides how far factors are mixed: in other axes, it would be missing.
    """
    stats, k, width = stats.at(p), p.n_components, p.mean.shape[1]
    tau, gram, pull = p.noise.mean[:, None], stats.gram, stats.pull
    if stats.free_pull is not None and stats.free_gram is not None:
        pull, gram = pull + stats.free_pull / tau, gram + stats.free_gram / tau
    full = unpacked(gram, width)
    # what no row tells beside a column says nothing: all of it where none shows the column, or a covariate's level that
    # those which do never have
    column, unseen = np.nonzero(np.diagonal(full, axis1=1, axis2=2) == 0)
    full[column, unseen, unseen] = 1.0
    own = np.maximum(np.diagonal(full, axis1=1, axis2=2)[:, :k], np.finfo(float).tiny)
    mean = np.linalg.lstsq(full[0], pull.T, rcond=None)[0].T if len(full) == 1 else _solved(full, pull)
    return mean[:, :k], 1 / (p.noise.mean * own.mean(axis=1))


def _solved(full: Floats, pull: Floats) -> Floats:
    """(D, W), the solution for each column; the shortest where regressors, such as levels, are not told apart."""
    try:
        return np.asarray(np.linalg.solve(full, pull[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.asarray((np.linalg.pinv(full, hermitian=True) @ pull[:, :, None])[:, :, 0])


def _second(stats: MultiViewStatistics, k: int) -> Floats:
    """(K, K), the sum of E[zz'] over samples; of entries that count unequally, as those of single columns tell it."""
    total = np.zeros((k, k))
    for view in stats.views.values():
        width = view.pull.shape[1]
        for gram in (view.gram, view.free_gram):
            if gram is not None:
                total += unpacked(gram.sum(axis=0)[None], width)[0, :k, :k]
    sizes = np.sqrt(stats.squares.sum(axis=0) / np.maximum(np.diagonal(total), np.finfo(float).tiny))
    return np.asarray(total * sizes * sizes[:, None])


def _redirected(p: ViewPosterior, loadings: Floats, variance: Floats, width: Floats, share: Floats) -> ViewPosterior:
    """The view's coefficients where rows tell these loadings (D, K) with that variance (D,), under this prior (K,)."""
    wide, least = variance[:, None] + width, np.finfo(float).tiny
    gap = 0.5 * (loadings**2 * (1 / variance[:, None] - 1 / wide) + np.log(variance[:, None] / wide))
    on = np.ones_like(loadings)
    if p.theta is not None:
        on = np.clip(
            expit(gap + logit(np.clip(share, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))), LEAST_PROBABILITY, 1.0
        )
    weights = SpikeSlab(on, loadings * width / wide, np.maximum(variance[:, None] * width / wide, least), width)
    d, used = len(on), on.sum(axis=0)
    theta = None if p.theta is None else Beta(1 + used, 1 + d - used)
    return replace(p, weights=weights, alpha=Gamma(0.5 * d + np.zeros_like(width), 0.5 * d * width), theta=theta)


def _with_factor(model: MultiView, q: MultiViewPosterior, sample: Rows, rng: np.random.Generator) -> MultiViewPosterior:
    """One factor more: the widest direction of what is left of the sample, in units of the noise."""
    gaps, weights, precisions = zip(*model.residuals(q, sample), strict=True)
    usual = [np.maximum(precision.mean(axis=0), np.finfo(float).tiny) for precision in precisions]
    parts = [np.sqrt(w / level) * gap for gap, w, level in zip(gaps, weights, usual, strict=True)]
    codes = _leading(parts, rng)
    views = {}
    for view, gap, precision in zip(model.views, gaps, precisions, strict=True):
        squares = (codes**2) @ (precision + np.zeros_like(gap))
        direction = (codes @ gap) / np.maximum(squares, np.finfo(float).tiny)
        views[view.name] = _extended(q.views[view.name], model.prior(1).views[view.name], direction)
    more = model.prior(1)
    activity = q.activity
    if isinstance(activity, KnownGamma):
        activity = KnownGamma(np.concatenate([activity.mean, more.activity.mean], axis=1))
    else:
        ones = np.ones((len(activity.shape), 1))  # like no column of it: there may be none
        activity = Gamma(np.concatenate([activity.shape, ones], axis=1), np.concatenate([activity.rate, ones], axis=1))
    usage = q.usage
    if usage is not None and more.usage is not None:
        usage = Beta(
            np.concatenate([usage.on, more.usage.on], axis=1), np.concatenate([usage.off, more.usage.off], axis=1)
        )
    return replace(q, views=views, activity=activity, usage=usage)


def _extended(p: ViewPosterior, prior: ViewPosterior, direction: Floats) -> ViewPosterior:
    """The view's coefficients with one factor more, of these loadings (D,)."""
    size = max(float(np.mean(direction**2)), np.finfo(float).tiny)
    ones, w = np.ones((len(direction), 1)), p.weights
    weights = SpikeSlab(
        np.concatenate([w.on, ones], axis=1),
        np.concatenate([w.slab, direction[:, None]], axis=1),
        np.concatenate([w.variance, START_UNCERTAINTY * size * ones], axis=1),
        np.append(w.idle, size),
    )
    alpha = Gamma(np.append(p.alpha.shape, 1.0), np.append(p.alpha.rate, size))
    theta = None
    if p.theta is not None and prior.theta is not None:
        theta = Beta(np.append(p.theta.on, prior.theta.on), np.append(p.theta.off, prior.theta.off))
    return replace(p, weights=weights, alpha=alpha, theta=theta)


def _leading(parts: list[Floats], rng: np.random.Generator) -> Floats:
    """(n,), of mean square 1: where rows lie along the widest direction of views (n, D_m)."""
    codes = rng.normal(size=len(parts[0]))
    for _ in range(N_POWERS):
        codes = np.sum([part @ (codes @ part) for part in parts], axis=0)
        codes = codes / max(float(np.sqrt(np.mean(codes**2))), np.finfo(float).tiny)
    return np.asarray(codes)
