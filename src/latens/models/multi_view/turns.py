"""Axes of factors: rows say little about them, sparse loadings say much.

With codes z -> A^-1 z and loadings W -> W A every expected entry stays what it is. What changes is how many loadings
are 0, how certain they are, and whether codes are still uncorrelated and of unit variance. If the rows alone tell
loadings m with variance v, the bound is, up to a constant,

    sum_dk log[(1 - theta_k) Normal(c_k (mA)_dk | 0, v_d) + theta_k Normal(c_k (mA)_dk | 0, v_d + s_k)]
        - tr(G) / 2 - N log |det A|,        G = A^-1 S A^-T,   S = sum_n E[z_n z_n'],   c_k^2 = G_kk / (tr(S) / K),

with theta and s for each view and factor: the best spike and slab of each loading, and the prior of codes. Loadings are
the more certain the more their codes vary: without c_k, smaller loadings of larger codes would look sparser.
Coordinate ascent hardly moves A: a factor that keeps a hundredth of another has small loadings everywhere, each too
certain to be dropped. Here all of A moves at once, from a blurred sight of loadings, in which few optima are seen, to
one as sharp as rows allow. This height leaves out that loadings of a column depend on each other: the bound itself is
to judge.

Axes of few columns have many tops. Each is about the sum of what its axes are worth, so that the best axes of several
tops which go together lead on from there, and so do the best of all with two or three of them turned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit

from latens.array import Floats, Index

__all__ = ["Axes", "Loadings", "sparser"]

BLURS = (1.0, 0.3, 0.1, 0.02, 4e-3, 8e-4)  # of the mean square of loadings, added to their variance in turn
MIDDLE_BLURS = BLURS[2:4]  # from some axes that are drawn
FINER_BLURS = BLURS[3:]  # where axes are nearly known
LARGEST_BLUR_IGNORED = 0.2  # of the variance itself: a blur below it is none
N_STEPS, N_LAST_STEPS = 30, 150  # of the ascent, with each blur and without
ROUGH_GAIN, LAST_GAIN = 0.5, 0.01  # nats that a step gains where it ends, with each blur and without
SPARE_SHARE = 1e-6  # by which shares stay away from 0 and 1
LARGEST_LOG_WIDTH = 300.0  # logarithm of a width
N_SEEDS = 64  # features whose loadings are directions to begin at
DIRECTION_BLURS = (0.1, 0.03, 0.01, 4e-3, 1e-3)  # of their search
N_REWEIGHTED = 3  # times with each blur
MOST_SEARCHED, MOST_JUDGING = 1024, 4096  # columns that axes are searched in, and that say which are the best
N_DRAWN, MOST_DRAWN = 300, 60_000  # axes that are drawn, of so many loadings in all: of more loadings, fewer
ANYWHERE = 4  # of so many one is drawn from anywhere, the others have some of the best ones turned
N_TURNED_AT_ONCE = (2, 3)  # so many of these
TIMES_REACHED = 4  # times that the highest top is reached from anywhere, after which it is taken for the highest of all
N_TOGETHER, N_ROUNDS = 20, 3  # axes of several tops that are tried, and how often
MOST_TOGETHER = 64  # single axes that they are taken from
FAR_BELOW = 8.0  # nats by which axes that have nearly settled do not get higher
LARGEST_CORRELATION = 0.25  # largest correlation of the codes of two directions
CORRELATION_OF_SAME = 0.995  # correlation from which they are one


@dataclass(frozen=True)
class Loadings:
    """Least-squares loadings with their variances, none of them set to 0, and second moments of codes."""

    mean: Floats  # (K, D)
    variance: Floats  # (D,)
    ends: Index  # (M,), where the columns of each view end
    second: Floats  # (K, K), sum of E[zz'] over the rows
    n: float  # rows
    dense: Floats  # (M,), 1 where all loadings of a view are in whatever their size
    weight: float = 1.0  # how many columns each counts for, where these are some of them

    @cached_property
    def sizes(self) -> Floats:
        """(M,), mean squares of views."""
        squares = np.maximum(np.mean(self.mean**2, axis=0), SPARE_SHARE * self.variance)  # some view may have none
        parts = np.split(squares, self.ends[:-1])
        return np.array([max(float(part.mean()) if len(part) else 0.0, np.finfo(float).tiny) for part in parts])

    @cached_property
    def unit(self) -> Floats:
        """(D,), that of the view of each column."""
        return np.repeat(self.sizes, np.diff(self.ends, prepend=0))

    @cached_property
    def root(self) -> Floats:
        """(K, K), what uncorrelated codes are multiplied with."""
        return np.asarray(
            np.linalg.cholesky(self.second / self.n + SPARE_SHARE * np.eye(len(self.second))), dtype=np.float64
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As compiled code takes them."""
        parts = (self.mean, self.variance, self.ends, self.dense, self.second)
        return (*map(np.ascontiguousarray, parts), float(self.n), float(self.weight))

    def blurred(self, blur: float) -> Loadings:
        return replace(self, variance=self.variance + blur * self.unit)

    def some(self, most: int) -> Loadings:
        """At most so many columns, each of which counts for several."""
        d = self.mean.shape[1]
        times = -(-d // most)
        if times <= 1:
            return self
        mean, ends = np.ascontiguousarray(self.mean[:, ::times]), -(-self.ends // times)
        return replace(self, mean=mean, variance=self.variance[::times], ends=ends, weight=d / mean.shape[1])


@dataclass(frozen=True)
class Axes:
    mixing: Floats  # (K, K), W -> W A for loadings (D, K)
    width: Floats  # (M, K), variance of loadings that are in, once they are multiplied by their clearness
    share: Floats  # (M, K), of loadings that are in
    height: float  # of the bound, about and up to a constant

    def clearness(self, loadings: Loadings) -> Floats:
        """(K,), what loadings in these axes are multiplied by to be as certain as those of usual codes."""
        moved = np.linalg.solve(self.mixing, np.linalg.cholesky(loadings.second))
        return np.asarray(np.sqrt(np.sum(moved**2, axis=1) / np.mean(np.diagonal(loadings.second))))


def sparser(loadings: Loadings, least: float) -> Axes | None:
    """The highest axes of those found from the present ones, from single sparse directions, or from many drawn ones.

    None where they are not higher than the present ones by `least`. Of many columns some are searched, and more say
    where exactly the axes are and what they gain: what some columns gain by themselves, others lose.
    """
    some, more = loadings.some(MOST_SEARCHED), loadings.some(MOST_JUDGING)
    found = _sparser(some, least)
    if found is None or some is more:
        return found
    here = _risen(more, _plain(more, np.eye(len(found.mixing))), fixed=True)
    best = _risen(more, found)
    return best if best.height > here.height + least else None


def _sparser(loadings: Loadings, least: float) -> Axes | None:
    k = len(loadings.mean)
    here = _risen(loadings, _plain(loadings, np.eye(k)), fixed=True)
    starts = [
        here,
        _focused(loadings, np.eye(k), BLURS),
        _focused(loadings, _sparse_directions(loadings), FINER_BLURS),
    ]
    best = _risen(loadings, max(starts, key=lambda axes: axes.height))
    if best.height <= here.height + least:
        best = _highest_of_many(loadings, [best, *starts])
    return best if best.height > here.height + least else None


def _highest_of_many(loadings: Loadings, known: list[Axes]) -> Axes:
    """The highest of these, of the tops beside it or above any axes, and of those put together of several tops."""
    (k, d), rng, tops = loadings.mean.shape, np.random.default_rng(0), list(known)
    best, n_drawn, again = known[0], int(np.clip(MOST_DRAWN // (k * d), 1, N_DRAWN)), 0
    for i in range(n_drawn):
        anywhere = i % ANYWHERE == 0
        if anywhere:
            axes = _focused(
                loadings, loadings.root @ _turn(rng, k), MIDDLE_BLURS if i // ANYWHERE % 2 else FINER_BLURS[:1]
            )
        else:
            axes = _focused(loadings, best.mixing @ _turn_of_few(rng, k), FINER_BLURS[:1])
        if axes.height > best.height - FAR_BELOW:
            axes = _risen(loadings, axes)
        tops.append(axes)
        again = again if axes.height < best.height + ROUGH_GAIN else 0
        best = max(best, axes, key=lambda each: each.height)
        again += anywhere and axes.height > best.height - ROUGH_GAIN
        if again == TIMES_REACHED:
            return best
    for _ in range(N_ROUNDS):
        together = _put_together(loadings, tops)[: min(N_TOGETHER, n_drawn)]
        found = [_risen(loadings, _risen(loadings, axes, N_STEPS, ROUGH_GAIN)) for axes in together]
        last, best = best, max([best, *found], key=lambda each: each.height)
        if best is last:
            break
        tops += found
    return best


def _turn(rng: np.random.Generator, k: int) -> Floats:
    """(K, K), any rotation; a reflection has the same axes."""
    turn = np.linalg.qr(rng.normal(size=(k, k)))[0]
    return np.asarray(turn * np.where(np.arange(k) == 0, np.sign(np.linalg.det(turn)), 1.0))


def _turn_of_few(rng: np.random.Generator, k: int) -> Floats:
    """(K, K), any rotation of some of the axes: a top that is not the highest has most of its axes right."""
    turn, few = np.eye(k), rng.permutation(k)[: rng.choice(N_TURNED_AT_ONCE)]
    turn[np.ix_(few, few)] = _turn(rng, len(few))
    return turn


def _put_together(loadings: Loadings, tops: list[Axes]) -> list[Axes]:
    """Beside each axis of any top those that are worth most whose codes are hardly correlated; the best first."""
    k, mixing = len(loadings.mean), np.concatenate([axes.mixing for axes in tops], axis=1)
    width, share = (np.concatenate([getattr(axes, name) for axes in tops], axis=1) for name in ("width", "share"))
    at = np.concatenate([axes.clearness(loadings) for axes in tops])[:, None] * (mixing.T @ loadings.mean)
    worth = _evidence(loadings, at, width, share)
    codes = np.linalg.solve(loadings.root, mixing)
    codes /= np.linalg.norm(codes, axis=0)
    alike, order = np.abs(codes.T @ codes), list[int]()
    for each in np.argsort(-worth, kind="stable"):
        if np.all(alike[each, order] < CORRELATION_OF_SAME):
            order.append(int(each))
    order = order[:MOST_TOGETHER]
    near, found = alike[np.ix_(order, order)] >= LARGEST_CORRELATION, dict[tuple[int, ...], float]()
    for first in range(len(order)):
        chosen, free = [order[first]], ~near[first]
        while len(chosen) < k and free.any():
            each = int(np.argmax(free))
            chosen.append(order[each])
            free &= ~near[each]
        if len(chosen) == k:
            found[tuple(sorted(chosen))] = float(worth[chosen].sum())
    best = [list(each) for each in sorted(found, key=lambda each: -found[each])]
    return [Axes(mixing[:, each], width[:, each], share[:, each], -np.inf) for each in best]


def _evidence(loadings: Loadings, at: Floats, width: Floats, share: Floats) -> Floats:
    """(R,), of single axes with loadings (R, D) under spikes and slabs (M, R)."""
    total, start = np.zeros(len(at)), 0
    for m, end in enumerate(loadings.ends):
        squares, narrow = at[:, start:end] ** 2, loadings.variance[None, start:end]
        wide, on = narrow + width[m][:, None], np.clip(share[m], SPARE_SHARE, 1 - SPARE_SHARE)[:, None]
        slab = -0.5 * (squares / wide + np.log(wide))
        spike = -0.5 * (squares / narrow + np.log(narrow))
        both = np.logaddexp(np.log(on) + slab, np.log1p(-on) + spike)
        total += np.sum(slab if loadings.dense[m] > 0 else both, axis=1)
        start = end
    return total


def _plain(loadings: Loadings, mixing: Floats) -> Axes:
    width = np.tile(loadings.sizes[:, None], (1, len(mixing)))
    return Axes(mixing, width, np.full(width.shape, 0.5), -np.inf)


def _focused(loadings: Loadings, mixing: Floats, blurs: tuple[float, ...]) -> Axes:
    """The optimum that an ascent from these axes reaches through one blur after the other."""
    axes, least = _plain(loadings, mixing), LARGEST_BLUR_IGNORED * float(np.median(loadings.variance / loadings.unit))
    for blur in blurs:
        if blur > least:
            axes = _risen(loadings.blurred(blur), axes, N_STEPS, ROUGH_GAIN)
    return _risen(loadings, axes, N_STEPS, ROUGH_GAIN)


def _risen(
    loadings: Loadings, axes: Axes, n_steps: int = N_LAST_STEPS, close: float = LAST_GAIN, *, fixed: bool = False
) -> Axes:
    """Axes, or with `fixed` the shares and widths of these, from which steps lead hardly higher."""
    from latens.array.kernels.spike_slab_numba import climb_axes

    k, shape = len(axes.mixing), axes.width.shape
    share = np.clip(axes.share, SPARE_SHARE, 1 - SPARE_SHARE)
    x = np.concatenate([axes.mixing.ravel(), np.log(axes.width).ravel(), logit(share).ravel()])
    height = climb_axes(*loadings.arrays, x, k * k if fixed else 0, n_steps, close)
    width, odds = (part.reshape(shape) for part in np.split(x[k * k :], 2))
    return Axes(
        x[: k * k].reshape(k, k),
        np.exp(np.clip(width, -LARGEST_LOG_WIDTH, LARGEST_LOG_WIDTH)),
        expit(odds),
        float(height),
    )


def _sparse_directions(loadings: Loadings) -> Floats:
    """(K, K), axes of which each by itself has loadings that are as sparse as those near it can be.

    A direction a minimises sum_d log((ma)_d^2 + blur) where all have the same mean square; each step weighs columns by
    what the last one left of them. Begun at the loadings of many columns, it leads to different factors; the sparsest
    are taken whose codes are hardly correlated, and what is missing is filled up.
    """
    white = (loadings.mean / np.sqrt(loadings.unit)).T @ loadings.root
    d, k = white.shape
    squares, axes = np.linalg.eigh(white.T @ white / d)
    least = max(SPARE_SHARE * float(squares[-1]), float(np.finfo(float).tiny))  # loadings may all be 0
    even = axes / np.sqrt(np.maximum(squares, least))
    at = white @ even
    pairs = (at[:, :, None] * at[:, None, :]).reshape(d, k * k)
    found = np.concatenate([at[:: -(-d // N_SEEDS)], np.eye(k)])
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.finfo(float).tiny)
    for blur in DIRECTION_BLURS:
        for _ in range(N_REWEIGHTED):
            weights = 1 / ((found @ at.T) ** 2 + blur)
            found = np.linalg.eigh((weights @ pairs).reshape(-1, k, k))[1][:, :, 0]
    order = np.argsort(np.sum(np.log((found @ at.T) ** 2 + DIRECTION_BLURS[-1]), axis=1), kind="stable")
    codes = found @ even.T
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    axes_chosen: list[int] = []
    for each in order:
        if len(axes_chosen) < k and np.all(np.abs(codes[axes_chosen] @ codes[each]) < LARGEST_CORRELATION):
            axes_chosen.append(int(each))
    rest = np.linalg.svd(codes[axes_chosen], full_matrices=True)[2][len(axes_chosen) :]
    return np.asarray(loadings.root @ np.concatenate([codes[axes_chosen], rest]).T)
