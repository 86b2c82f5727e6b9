"""Draws of Polya-Gamma variables, which turn a logistic likelihood into a normal one.

    w ~ PG(1, c):   e^(y c) / (1 + e^c) = 1/2 e^((y - 1/2) c) E[e^(-w c^2 / 2)]

A density with two alternating series, one for each side of 0.64; partial sums bound it from above and below in turn, so
that proposals are accepted or refused exactly after a few terms.

References: Polson, Scott & Windle (2013); Devroye (2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr

from latens.array import Floats

__all__ = ["draw_polya_gamma"]

CUT = 0.64  # where the two series meet


def draw_polya_gamma(tilt: Floats, rng: np.random.Generator) -> Floats:
    """One draw of PG(1, tilt) for each entry of `tilt`."""
    half = 0.5 * np.abs(np.ravel(tilt))
    drawn, open_ = np.empty_like(half), np.arange(half.size)
    while len(open_):
        proposed = _propose(half[open_], rng)
        accepted = _accept(proposed, rng)
        drawn[open_[accepted]] = proposed[accepted]
        open_ = open_[~accepted]
    return np.asarray(0.25 * drawn).reshape(np.shape(tilt))


def _propose(half: Floats, rng: np.random.Generator) -> Floats:
    """An exponential beyond the cut, an inverse Gaussian before it."""
    rate = np.pi**2 / 8 + 0.5 * half**2
    beyond = np.log(np.pi / (2 * rate)) - rate * CUT
    root = 1 / np.sqrt(CUT)
    below = np.logaddexp(log_ndtr(root * (CUT * half - 1)), 2 * half + log_ndtr(-root * (CUT * half + 1)))
    chance = expit(beyond - below + half - np.log(2.0))
    x = CUT + rng.exponential(size=half.shape) / rate
    short = rng.random(half.shape) >= chance
    x[short] = _inverse_gaussian_below_cut(half[short], rng)
    return x


def _inverse_gaussian_below_cut(half: Floats, rng: np.random.Generator) -> Floats:
    """Of mean 1 / half and shape 1, given that it is below the cut."""
    drawn, open_ = np.empty_like(half), np.arange(half.size)
    while len(open_):
        z = half[open_]
        wide = z * CUT < 1  # the mean lies beyond the cut: from a chi-square tail, else from the whole distribution
        x = np.where(wide, _from_tail(z, rng), _inverse_gaussian(np.where(wide, 1 / CUT, z), rng))
        accepted = np.where(wide, rng.random(z.shape) <= np.exp(-0.5 * z * z * x), x < CUT)
        drawn[open_[accepted]] = x[accepted]
        open_ = open_[~accepted]
    return drawn


def _from_tail(z: Floats, rng: np.random.Generator) -> Floats:
    """1 / chi-square, given that it is below the cut."""
    first, open_ = np.empty_like(z), np.arange(z.size)
    while len(open_):
        one, other = rng.exponential(size=(2, len(open_)))
        accepted = one * one <= 2 * other / CUT
        first[open_[accepted]] = one[accepted]
        open_ = open_[~accepted]
    return np.asarray(CUT / (1 + CUT * first) ** 2)


def _inverse_gaussian(z: Floats, rng: np.random.Generator) -> Floats:
    """Of mean 1 / z and shape 1 (Michael, Schucany & Haas 1976)."""
    mean, y = 1 / z, rng.standard_normal(z.shape) ** 2
    x = mean + 0.5 * mean * mean * y - 0.5 * mean * np.sqrt(4 * mean * y + (mean * y) ** 2)
    return np.where(rng.random(z.shape) <= mean / (mean + x), x, mean * mean / x)


def _accept(x: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether each proposal is kept, by partial sums of its series."""
    total = _term(x, 0)
    height, accepted, open_ = rng.random(x.shape) * total, np.zeros(x.shape, dtype=bool), np.arange(x.size)
    n = 0
    while len(open_):
        n += 1
        total[open_] += (-1) ** n * _term(x[open_], n)
        inside = height[open_] <= total[open_]
        if n % 2:
            accepted[open_[inside]] = True
        open_ = open_[~inside] if n % 2 else open_[inside]
    return accepted


def _term(x: Floats, n: int) -> Floats:
    near = (2 / (np.pi * x)) ** 1.5 * np.exp(-2 * (n + 0.5) ** 2 / x)
    far = np.exp(-0.5 * ((n + 0.5) * np.pi) ** 2 * x)
    return np.asarray(np.pi * (n + 0.5) * np.where(x <= CUT, near, far))
