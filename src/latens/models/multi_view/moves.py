"""Other factors a multi-view model might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from latens.array import Floats
from latens.array.packed_symmetric import unpacked
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.spike_slab import SpikeSlab

if TYPE_CHECKING:
    from latens.models.multi_view.coefficients import ViewPosterior, ViewStatistics
    from latens.models.multi_view.model import MultiView, MultiViewPosterior, MultiViewStatistics

__all__ = ["deletions", "propose", "sparse_turn"]

PAYING = 1.5  # nats of likelihood per nat of divergence from which a factor is not worth trying to do without
N_POWERS = 40  # steps of the power method towards what rows leave unexplained
N_ANGLES = 33  # tried for each pair of factors, of which one is 0
MOST_ADDED, N_SHARES, N_MIXED_ROUNDS = 0.2, 17, 2  # of one factor to another
N_FINE = 8  # tried, besides 0, once factors are nearly where they belong
FINER = 0.25  # of the angles before
N_ROUNDS, N_FINE_ROUNDS = 8, 3  # over all pairs
N_HALVINGS = 3  # of numbers whose logarithms are added: 8 of them have one
LEAST_UNSURE = 1e-15  # of the mean square: eight pairs of squares so small still have a product
SPARSE = 0.1  # of the mean square of loadings: what is below counts as small
MOST_TURNED = 1024  # features that say how factors are turned
UNLIKELY = 0.01  # probability of a turned loading that is no larger than its uncertainty
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
    yield from _turns(model, q, stats)
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


def _turns(model: MultiView, q: MultiViewPosterior, stats: MultiViewStatistics) -> Iterator[MultiViewPosterior]:
    """The same factors turned to where loadings are sparsest, or mixed so; then as they are, all loadings in.

    Coordinate ascent does not turn factors: from mixed ones, of which each keeps some features of another, it is a long
    way over which the bound first falls. Nor does it let a loading in again that was shut out while factors were mixed.
    Groups in which factors differ in strength have their directions fixed.
    """
    views = [q.views[view.name] for view in model.views]
    if q.n_components < 2 or any(p.theta is None for p in views) or len(np.atleast_2d(q.activity.mean)) > 1:
        return
    every = [_all_in(p, stats.views[view.name]) for view, p in zip(model.views, views, strict=True)]
    sizes = [np.sqrt(np.mean(w**2) + np.finfo(float).tiny) for w in every]
    loadings = np.concatenate([w / size for w, size in zip(every, sizes, strict=True)])
    some = slice(None, None, -(-len(loadings) // MOST_TURNED))
    unsure = np.concatenate([p.weights.variance / size**2 for p, size in zip(views, sizes, strict=True)])
    variance = float(np.median(unsure[some]))

    def mixed(mix: Floats, likely: bool) -> MultiViewPosterior:
        redirected = [_redirected(p, w @ mix.T, likely) for p, w in zip(views, every, strict=True)]
        return replace(q, views={view.name: p for view, p in zip(model.views, redirected, strict=True)})

    turn = sparse_turn(loadings[some].T, variance)
    if not np.array_equal(turn, np.eye(len(turn))):
        yield mixed(turn, likely=True)
    more = sparse_mix(turn @ loadings[some].T, variance)
    if not np.array_equal(more, np.eye(len(turn))):
        yield mixed(more @ turn, likely=True)
    yield mixed(np.eye(len(turn)), likely=False)


def _all_in(p: ViewPosterior, stats: ViewStatistics) -> Floats:
    """(D, K), the loadings if none were shut out, by least squares; as they are where that is a solve for each column.

    What is shut out hides how far factors are mixed: turned back, it would be missing.
    """
    k, width = p.n_components, p.mean.shape[1]
    if len(stats.gram) > 1 or stats.free_gram is not None:
        return p.weights.mean
    gram = unpacked(stats.gram, width)[0]
    return np.asarray(np.linalg.lstsq(gram, stats.pull.T, rcond=None)[0][:k].T)


def sparse_turn(loadings: Floats, unsure: float = 0.0) -> Floats:
    """(K, K), the rotation R for which R @ loadings (K, D) has the smallest sum of log squares, pair by pair.

    Small squares count as SPARSE of the mean square at first, while all angles are tried; then finer angles, as far as
    the variance that loadings are `unsure` by allows to tell them.
    """
    at, turn = _of_size_1(loadings), np.eye(len(loadings))
    least, unsure = SPARSE, max(unsure, LEAST_UNSURE) if unsure else 0.0
    angles = np.linspace(-np.pi / 4, np.pi / 4, N_ANGLES)  # beyond, two factors only change places
    _turn_pairs(at, turn, angles, least, N_ROUNDS)
    while unsure and least > unsure:
        least, angles = max(unsure, FINER**2 * least), FINER * angles
        _turn_pairs(at, turn, angles[:: N_ANGLES // N_FINE], least, N_FINE_ROUNDS)
    return turn


def sparse_mix(loadings: Floats, unsure: float) -> Floats:
    """(K, K), near 1: to each row of loadings (K, D) some of others is added, so that it has more small entries.

    Codes of few samples are correlated by chance, and a factor may then hold some of another that a turn cannot remove.
    """
    at, mix, unsure = _of_size_1(loadings), np.eye(len(loadings)), max(unsure, LEAST_UNSURE)
    shares = np.linspace(-MOST_ADDED, MOST_ADDED, N_SHARES)[:, None]
    for _ in range(N_MIXED_ROUNDS):
        still = True
        for i, j in permutations(range(len(at)), 2):
            best = int(np.argmin(_log_sums((at[i] + shares * at[j]) ** 2 + unsure)))
            if shares[best, 0]:
                at[i], mix[i], still = at[i] + shares[best] * at[j], mix[i] + shares[best] * mix[j], False
        if still:
            break
    return mix


def _turn_pairs(at: Floats, turn: Floats, angles: Floats, least: float, n_rounds: int) -> None:
    """Turn pairs of loadings (K, D), and the rotation (K, K) that led to them, until no angle makes them sparser."""
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    for _ in range(n_rounds):
        still = True
        for i, j in combinations(range(len(at)), 2):
            first, second = cosines * at[i] + sines * at[j], cosines * at[j] - sines * at[i]
            best = int(np.argmin(_log_sums((first**2 + least) * (second**2 + least))))
            if angles[best]:
                pair = np.array([[cosines[best, 0], sines[best, 0]], [-sines[best, 0], cosines[best, 0]]])
                at[[i, j]], turn[[i, j]], still = pair @ at[[i, j]], pair @ turn[[i, j]], False
        if still:
            return


def _of_size_1(loadings: Floats) -> Floats:
    """A copy whose mean square is 1."""
    return np.asarray(loadings / np.sqrt(max(float(np.mean(loadings**2)), np.finfo(float).tiny)))


def _log_sums(positive: Floats) -> Floats:
    """(A,), sums of logarithms of numbers (A, D) not far from 1: of products of a few, since logarithms take time."""
    for _ in range(N_HALVINGS):
        half = positive.shape[1] // 2
        rest = positive[:, 2 * half :]
        positive = positive[:, :half] * positive[:, half : 2 * half]
        if rest.shape[1] and half:
            positive[:, :1] *= rest
        elif not half:
            positive = rest
    return np.asarray(np.log(positive).sum(axis=1))


def _redirected(p: ViewPosterior, loadings: Floats, likely: bool) -> ViewPosterior:
    """The view's coefficients with these loadings (D, K), all of them in, or those beyond what they vary by."""
    size = np.maximum(np.mean(loadings**2, axis=0), np.finfo(float).tiny)
    on = np.ones_like(loadings)
    if likely:
        unsure = np.maximum(np.median(p.weights.variance, axis=1, keepdims=True), np.finfo(float).tiny)
        on = np.clip(expit(0.5 * (np.log(unsure) - np.log(size) + loadings**2 / unsure)), UNLIKELY, 1.0)
    weights = SpikeSlab(on, loadings, SLIGHT * size + np.zeros_like(loadings), size)
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
