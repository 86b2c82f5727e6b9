"""Other factors a multi-view model might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.spike_slab import SpikeSlab

if TYPE_CHECKING:
    from latens.models.multi_view.coefficients import ViewPosterior
    from latens.models.multi_view.model import MultiView, MultiViewPosterior, MultiViewStatistics

__all__ = ["deletions", "propose", "sparse_turn"]

PAYING = 1.5  # nats of likelihood per nat of divergence from which a factor is not worth trying to do without
N_POWERS = 40  # steps of the power method towards what rows leave unexplained
N_ANGLES = 33  # tried for each pair of factors, of which one is 0
N_ROUNDS = 8  # over all pairs
SPARSE = 0.1  # of the mean square of loadings: what is below counts as small
MOST_TURNED = 1024  # features that say how factors are turned
SLIGHT = 1e-2  # uncertainty of a new factor's loadings, as a share of their variance


def propose(
    model: MultiView,
    q: MultiViewPosterior,
    stats: MultiViewStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[MultiViewPosterior]:
    """Deletions; a rotation to sparser loadings; below `limit`, one factor more along the largest residual."""
    yield from deletions(q, stats)
    yield from _turns(model, q)
    if q.n_components < limit:
        yield _with_factor(model, q, sample, rng)


def deletions(q: MultiViewPosterior, stats: MultiViewStatistics) -> Iterator[MultiViewPosterior]:
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
            yield q.only(np.setdiff1d(order, losing))
        doubtful = 1 + np.sum(gain[order[1:]] < PAYING * cost[order[1:]])  # the weakest is always tried
        for k in order[:doubtful]:
            yield q.only(np.setdiff1d(order, [k]))


def _turns(model: MultiView, q: MultiViewPosterior) -> Iterator[MultiViewPosterior]:
    """The same factors turned until loadings are as sparse as turning makes them.

    Coordinate ascent does not turn factors: from mixed ones, of which each keeps some features of another, it is a long
    way over which the bound first falls. Groups in which factors differ in strength have their directions fixed.
    """
    views = [q.views[view.name] for view in model.views]
    if q.n_components < 2 or any(p.theta is None for p in views) or len(np.atleast_2d(q.activity.mean)) > 1:
        return
    sizes = [np.sqrt(np.mean(p.weights.mean**2) + np.finfo(float).tiny) for p in views]
    loadings = np.concatenate([p.weights.mean / size for p, size in zip(views, sizes, strict=True)])
    some = loadings[:: -(-len(loadings) // MOST_TURNED)]
    turn = sparse_turn(some.T)
    if np.abs(turn - np.eye(len(turn))).max() > 0:
        turned = {
            view.name: _redirected(p, p.weights.mean @ turn.T) for view, p in zip(model.views, views, strict=True)
        }
        yield replace(q, views=turned)


def sparse_turn(loadings: Floats) -> Floats:
    """(K, K), the rotation R for which R @ loadings (K, D) has the smallest sum of log squares, pair by pair."""
    at, turn = loadings.copy(), np.eye(len(loadings))
    least = SPARSE * max(float(np.mean(at**2)), np.finfo(float).tiny)
    angles = np.linspace(-np.pi / 4, np.pi / 4, N_ANGLES)  # beyond, two factors only change places
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    for _ in range(N_ROUNDS):
        still = True
        for i, j in combinations(range(len(at)), 2):
            first, second = cosines * at[i] + sines * at[j], cosines * at[j] - sines * at[i]
            best = int(np.argmin(np.sum(np.log(first**2 + least) + np.log(second**2 + least), axis=1)))
            if angles[best]:
                pair = np.array([[cosines[best, 0], sines[best, 0]], [-sines[best, 0], cosines[best, 0]]])
                at[[i, j]], turn[[i, j]], still = pair @ at[[i, j]], pair @ turn[[i, j]], False
        if still:
            break
    return turn


def _redirected(p: ViewPosterior, loadings: Floats) -> ViewPosterior:
    """The view's coefficients with these loadings (D, K), all of them in."""
    size = np.maximum(np.mean(loadings**2, axis=0), np.finfo(float).tiny)
    weights = SpikeSlab(np.ones_like(loadings), loadings, SLIGHT * size + np.zeros_like(loadings), size)
    return replace(p, weights=weights, alpha=Gamma(np.ones_like(size), size))


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
        np.concatenate([w.variance, SLIGHT * size * ones], axis=1),
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
