"""Axes of factors: rows say little about them, sparse loadings say much.

With codes z -> A^-1 z and loadings W -> W A every expected entry stays what it is. What changes is how many loadings
are 0, and whether codes are still uncorrelated and of unit variance. If the rows alone tell loadings m with variance v,
the bound is, up to a constant,

    sum_dk log[(1 - theta_k) Normal((mA)_dk | 0, v_d) + theta_k Normal((mA)_dk | 0, v_d + s_k)]
        - tr(A^-1 S A^-T) / 2 - N log |det A|,          S = sum_n E[z_n z_n'],

with theta and s for each view and factor: the best spike and slab of each loading, and the prior of codes. Coordinate
ascent hardly moves A: a factor that keeps a hundredth of another has small loadings everywhere, each too certain to be
dropped. Here all of A moves at once, from a blurred sight of loadings, in which few optima are seen, to one as sharp as
rows allow. This height leaves out that loadings of a column depend on each other: the bound itself is to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit

from latens.array import Floats, Index

__all__ = ["Axes", "Loadings", "sparser"]

BLURS = (1.0, 0.3, 0.1, 0.02, 4e-3, 8e-4)  # of the mean square of loadings, added to their variance in turn
FINER_BLURS = BLURS[3:]  # where axes are nearly known
SHARP = 0.2  # of the variance itself: a blur below it is none
N_STEPS, N_LAST_STEPS = 30, 150  # of the ascent, with each blur and without
CLOSE, CLOSE_ENOUGH = 0.5, 0.01  # nats that a step gains where it ends, with each blur and without
SPARE_SHARE = 1e-6  # by which shares stay away from 0 and 1
SURE = 40.0  # log odds of loadings that are in whatever their size
FARTHEST = 300.0  # logarithm of a width
N_SEEDS = 64  # features whose loadings are directions to begin at
DIRECTION_BLURS = (0.1, 0.03, 0.01, 4e-3, 1e-3)  # of their search
N_REWEIGHTED = 3  # times with each blur
N_PAIRS, FEW_COLUMNS = 10, 256  # pairs of axes that are turned, of up to so many columns; the more, the fewer pairs
TURNED = np.pi / 7  # by how much
APART = 0.25  # largest correlation of the codes of two directions


@dataclass(frozen=True)
class Loadings:
    """What rows say of loadings where none is shut out, and how much codes vary."""

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
    width: Floats  # (M, K), variance of loadings that are in
    share: Floats  # (M, K), of loadings that are in
    height: float  # of the bound, about and up to a constant


def sparser(loadings: Loadings, least: float) -> Axes | None:
    """The highest axes of those found from the present ones, from single sparse directions, or beside a turned pair.

    None where they are not higher than the present ones by `least`.
    """
    k = len(loadings.mean)
    here = _risen(loadings, _plain(loadings, np.eye(k)), fixed=True)
    starts = [
        here,
        _focused(loadings, np.eye(k), BLURS),
        _focused(loadings, _sparse_directions(loadings), FINER_BLURS),
    ]
    best = _risen(loadings, max(starts, key=lambda axes: axes.height))
    if best.height <= here.height + least:
        turned = [_risen(loadings, _focused(loadings, mixing, FINER_BLURS)) for mixing in _pairs_turned(loadings, best)]
        best = max([best, *turned], key=lambda axes: axes.height)
    return best if best.height > here.height + least else None


def _pairs_turned(loadings: Loadings, axes: Axes) -> Iterator[Floats]:
    """(K, K) each: two of the axes turned a little towards each other, where all axes together have settled.

    Axes of few columns have many tops. Beyond a pair that is off, most others are reached from it.
    """
    k, d = loadings.mean.shape
    pairs = [(i, j) for i in range(k) for j in range(i)]
    n_tried = min(len(pairs), max(1, N_PAIRS * FEW_COLUMNS // max(d, FEW_COLUMNS)))
    for at in np.linspace(0, len(pairs), n_tried, endpoint=False).astype(int):
        i, j = pairs[at]
        turn = np.eye(k)
        turn[i, i] = turn[j, j] = np.cos(TURNED)
        turn[i, j], turn[j, i] = np.sin(TURNED), -np.sin(TURNED)
        yield axes.mixing @ turn


def _plain(loadings: Loadings, mixing: Floats) -> Axes:
    width = np.tile(loadings.sizes[:, None], (1, len(mixing)))
    return Axes(mixing, width, np.full(width.shape, 0.5), -np.inf)


def _focused(loadings: Loadings, mixing: Floats, blurs: tuple[float, ...]) -> Axes:
    """From these axes through one blur after the other."""
    axes, least = _plain(loadings, mixing), SHARP * float(np.median(loadings.variance / loadings.unit))
    for blur in blurs:
        if blur > least:
            axes = _risen(loadings.blurred(blur), axes, N_STEPS, CLOSE)
    return _risen(loadings, axes, N_STEPS, CLOSE)


def _risen(
    loadings: Loadings, axes: Axes, n_steps: int = N_LAST_STEPS, close: float = CLOSE_ENOUGH, *, fixed: bool = False
) -> Axes:
    """Axes, or with `fixed` the shares and widths of these, from which steps lead hardly higher."""
    from scipy.optimize import minimize  # no part of what is imported to use a fit

    k, shape = len(axes.mixing), axes.width.shape
    share = np.clip(axes.share, SPARE_SHARE, 1 - SPARE_SHARE)
    start = np.concatenate([axes.mixing.ravel(), np.log(axes.width).ravel(), logit(share).ravel()])
    base, first = _depth(loadings, start)[0], k * k if fixed else 0

    def descent(x: Floats) -> tuple[float, Floats]:  # from 0, so that its end is judged in nats
        depth, slopes = _depth(loadings, np.concatenate([start[:first], x]))
        return depth - base, slopes[first:]

    options: Any = {"maxiter": n_steps, "maxcor": 20, "ftol": close / loadings.n, "gtol": 1e-6}
    found = minimize(descent, start[first:], jac=True, method="L-BFGS-B", options=options)
    x = np.concatenate([start[:first], found.x])
    width, odds = (part.reshape(shape) for part in np.split(x[k * k :], 2))
    height = -(float(found.fun) + base) * loadings.n
    return Axes(x[: k * k].reshape(k, k), np.exp(np.clip(width, -FARTHEST, FARTHEST)), expit(odds), height)


def _depth(loadings: Loadings, x: Floats) -> tuple[float, Floats]:
    """Minus the height per row at axes, log widths and log odds, and its slopes by them."""
    k, m, n = len(loadings.mean), len(loadings.dense), loadings.n
    mixing = x[: k * k].reshape(k, k)
    width, odds = (part.reshape(m, k) for part in np.split(x[k * k :], 2))
    value, by_loading, by_width, by_odds = _evidence(loadings, mixing.T @ loadings.mean, width, odds)
    sign, volume = np.linalg.slogdet(mixing)
    if sign == 0 or not np.isfinite(value):
        return np.inf, np.zeros_like(x)
    back = np.linalg.inv(mixing)
    moved = back @ loadings.second @ back.T
    codes = -0.5 * float(np.trace(moved)) - n * float(volume)
    even = float(np.sum(-np.logaddexp(0, odds) - np.logaddexp(0, -odds)))  # shares are not known to be 0 or 1
    parts = [
        loadings.weight * (loadings.mean @ by_loading.T) + back.T @ moved - n * back.T,
        loadings.weight * by_width,
        loadings.weight * by_odds + 1 - 2 * expit(odds),
    ]
    return -(loadings.weight * value + codes + even) / n, -np.concatenate([part.ravel() for part in parts]) / n


def _evidence(loadings: Loadings, at: Floats, log_width: Floats, odds: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Of loadings (K, D) under spikes and slabs (M, K), and its slopes by the three of them."""
    from latens.array.kernels.spike_slab_numba import spike_evidence

    dense = loadings.dense[:, None] > 0
    by_loading, by_width, by_odds = np.empty_like(at), np.empty_like(odds), np.empty_like(odds)
    width, chance = np.exp(np.clip(log_width, -FARTHEST, FARTHEST)), np.where(dense, SURE, odds)
    value = spike_evidence(at, loadings.variance, loadings.ends, width, chance, by_loading, by_width, by_odds)
    return float(value), by_loading, by_width, np.where(dense, 0.0, by_odds)


def _sparse_directions(loadings: Loadings) -> Floats:
    """(K, K), axes of which each by itself has loadings that are as sparse as those near it can be.

    A direction a minimises sum_d log((ma)_d^2 + blur) where all have the same mean square; each step weighs columns by
    what the last one left of them. Begun at the loadings of many columns, it leads to different factors; the sparsest
    are taken whose codes are hardly correlated, and what is missing is filled up.
    """
    root = np.linalg.cholesky(loadings.second / loadings.n + SPARE_SHARE * np.eye(len(loadings.second)))
    white = (loadings.mean / np.sqrt(loadings.unit)).T @ root
    d, k = white.shape
    squares, axes = np.linalg.eigh(white.T @ white / d)
    even = axes / np.sqrt(np.maximum(squares, SPARE_SHARE * squares[-1]))
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
    kept: list[int] = []
    for each in order:
        if len(kept) < k and np.all(np.abs(codes[kept] @ codes[each]) < APART):
            kept.append(int(each))
    rest = np.linalg.svd(codes[kept], full_matrices=True)[2][len(kept) :]
    return np.asarray(root @ np.concatenate([codes[kept], rest]).T)
