"""Factors in other axes: those in which loadings are as sparse as turning and shearing makes them.

Rows say nothing about the axes of factors; sparse loadings do. Coordinate ascent hardly moves the axes: a factor that
keeps a hundredth of another has small loadings everywhere, each too certain to be dropped. How sparse loadings are is
judged by the sum of log(w^2 + least), where `least` goes down from the size of large loadings, at which few optima are
seen, to that of their uncertainty, at which small loadings can be told from none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import numpy as np

from latens.array import Floats

__all__ = ["sparse_axes", "sparse_shear", "sparse_turn"]

N_ANGLES = 33  # tried for each pair of factors, of which one is 0
N_ROUNDS = 8  # over all pairs
N_TURNED = 4  # random axes that are turned to sparse ones, beside those that are given
STILL = 0.05  # entries of a rotation that is so slight that the given axes are those of an optimum
PLAINLY = 1.0  # by which the criterion of other axes is below that of the given ones before they are taken
COARSE = 0.1  # of the mean square of loadings: the first `least`
FINER = 5.0  # times that `least` goes down
CERTAIN = 4.0  # variances of loadings: the last `least`
NARROWER = 2.5  # times that angles go down with it
N_SHEARS, MOST_SHEARED = 65, 0.1  # shares of another factor that are taken away from one, and the largest
PRICE = 0.05  # of a shear, as a share of the rows' number times its square: codes are no longer uncorrelated


def sparse_axes(loadings: Floats, variance: float) -> Iterator[Floats]:
    """(K, K), maps of loadings (K, D) to sparser ones: turned and sheared; then sheared alone.

    `variance` is that of the loadings, which have mean square 1 or so.
    """
    turn = sparse_turn(loadings, variance)
    yield sparse_shear(turn @ loadings, variance) @ turn
    yield sparse_shear(loadings, variance)


def sparse_turn(loadings: Floats, variance: float) -> Floats:
    """(K, K), the rotation R for which R @ loadings (K, D) are sparsest, of those found from several axes."""
    best, k = _turned(loadings, variance), len(loadings)
    if k < 3 or np.abs(best - np.eye(k)).max() < STILL:  # two factors have one angle, all of which was looked at
        return best
    rng, least = np.random.default_rng(0), _last(loadings, variance)
    lowest = _criterion(best @ loadings, least) - PLAINLY
    for _ in range(N_TURNED):
        axes = np.linalg.qr(rng.normal(size=(k, k)))[0]
        turn = _turned(axes @ loadings, variance) @ axes
        reached = _criterion(turn @ loadings, least)
        if reached < lowest:
            best, lowest = turn, reached
    return best


def sparse_shear(loadings: Floats, variance: float) -> Floats:
    """(K, K), the map that takes small shares of other factors away from each, where that makes loadings sparser."""
    at, shear, least = loadings.copy(), np.eye(len(loadings)), _last(loadings, variance)
    shares = np.linspace(-MOST_SHEARED, MOST_SHEARED, N_SHEARS)
    prices = PRICE * shares**2 / max(variance, np.finfo(float).tiny)
    for _ in range(N_ROUNDS):
        still = True
        for i, j in permutations(range(len(at)), 2):
            sizes = np.sum(np.log((at[i] + shares[:, None] * at[j]) ** 2 + least), axis=1)
            share = shares[np.argmin(sizes + prices)]
            if share:
                at[i], shear[i], still = at[i] + share * at[j], shear[i] + share * shear[j], False
        if still:
            break
    return shear


def _turned(loadings: Floats, variance: float) -> Floats:
    """(K, K), a rotation to sparse loadings, pair by pair, from coarse to fine."""
    at, turn, end = loadings.copy(), np.eye(len(loadings)), _last(loadings, variance)
    least, width = max(COARSE * _mean_square(loadings), end), np.pi / 4  # beyond, two factors only change places
    while True:
        angles = np.linspace(-width, width, N_ANGLES)
        for _ in range(N_ROUNDS):
            if not _turn_pairs(at, turn, angles, least):
                break
        if least <= end:
            return turn
        least, width = max(least / FINER, end), width / NARROWER


def _turn_pairs(at: Floats, turn: Floats, angles: Floats, least: float) -> bool:
    """Turn each pair of factors by the best of the angles, in place; whether any was turned."""
    cosines, sines, moved = np.cos(angles)[:, None], np.sin(angles)[:, None], False
    for i, j in combinations(range(len(at)), 2):
        first, second = cosines * at[i] + sines * at[j], cosines * at[j] - sines * at[i]
        best = int(np.argmin(np.sum(np.log((first**2 + least) * (second**2 + least)), axis=1)))
        if angles[best]:
            pair = np.array([[cosines[best, 0], sines[best, 0]], [-sines[best, 0], cosines[best, 0]]])
            at[[i, j]], turn[[i, j]], moved = pair @ at[[i, j]], pair @ turn[[i, j]], True
    return moved


def _last(loadings: Floats, variance: float) -> float:
    """What is added to squares in the end; never so little that logarithms of none decide."""
    return float(max(CERTAIN * variance, 1e-6 * _mean_square(loadings)))


def _mean_square(loadings: Floats) -> float:
    return max(float(np.mean(loadings**2)), np.finfo(float).tiny)


def _criterion(loadings: Floats, least: float) -> float:
    return float(np.sum(np.log(loadings**2 + least)))
