"""Compiled kernels for NumPy arrays, where a sweep is sequential by nature.

All are serial and release the GIL: threads come from the sweep over row blocks. Each
has its plain array form in `sweeps`, which is what other array libraries run and what
the tests compare against. A Gram has a leading axis of 1 (shared) or n (one per row).
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, LARGEST_EXPONENT, shrunk

__all__ = ["N_LANES", "expit_lanes", "flip_rows", "pair_rows", "switch_rows"]

N_LANES = 16  # rows side by side in a sweep; not a constant to the compiler, which would unroll it instead


@nb.njit(**COMPILED)
def expit_lanes(x, out):
    """Logistic function of a few numbers at once, into `out`."""
    for i in range(len(x)):
        grown = 0.0 if abs(x[i]) > LARGEST_EXPONENT else shrunk(abs(x[i]))[0]
        out[i] = (grown if x[i] < 0 else 1.0) / (1.0 + grown)


@nb.njit(cache=True, nogil=True)
def switch_rows(drive, gram, was, on, n_sweeps, tol, n_lanes):
    """Coordinate ascent on q(z_k = 1) from what it `was`, all K updates of a row while it is in cache. Into `on`.

    Rows go side by side, so that their exponentials are taken together; none sees another, and each rests on its own.
    """
    n, k = on.shape
    last = gram.shape[0] - 1
    pull = np.empty((n_lanes, k), on.dtype)
    field, value = np.zeros(n_lanes), np.zeros(n_lanes)
    largest, awake = np.empty(n_lanes), np.empty(n_lanes, np.bool_)
    for first in range(0, n, n_lanes):
        here = min(n_lanes, n - first)
        for i in range(here):
            row, own, mine = on[first + i], gram[min(first + i, last)], pull[i]
            for a in range(k):
                mine[a], row[a] = drive[first + i, a], was[first + i, a]
            for b in range(k):
                if row[b] != 0:
                    pairs = own[b]
                    for a in range(k):
                        mine[a] -= pairs[a] * row[b]
        for i in range(here):
            awake[i] = True
        for _ in range(n_sweeps):
            for i in range(here):
                largest[i] = 0.0
            for a in range(k):
                for i in range(here):
                    field[i] = pull[i, a] + gram[min(first + i, last), a, a] * on[first + i, a]
                expit_lanes(field, value)
                for i in range(here):
                    if awake[i]:
                        new = on.dtype.type(value[i])
                        change = new - on[first + i, a]
                        if change != 0:
                            on[first + i, a] = new
                            pairs, mine = gram[min(first + i, last), a], pull[i]
                            for b in range(k):  # keeps drive - G on current, so a sweep costs K^2 and not K^3
                                mine[b] -= pairs[b] * change
                            largest[i] = max(largest[i], abs(change))
            moving = False
            for i in range(here):
                awake[i] = awake[i] and largest[i] >= tol
                moving = moving or awake[i]
            if not moving:
                break


@nb.njit(cache=True, nogil=True)
def flip_rows(drive, gram, words, score, n_parents):
    """Single flips of each row's best states replace its worst, if better and new. In place."""
    n, c = words.shape
    k = drive.shape[1]
    last = gram.shape[0] - 1
    field = np.empty(k, np.float64)
    parents = np.empty(n_parents, np.int64)
    levels = np.empty(n_parents, np.float64)
    for i in range(n):
        own = gram[min(i, last)]
        order = np.argsort(-score[i], kind="mergesort")
        n_here = 0
        for p in range(min(n_parents, c)):
            if score[i, order[p]] > -np.inf:
                parents[n_here] = words[i, order[p]]
                levels[n_here] = score[i, order[p]]
                n_here += 1
        for p in range(n_here):
            parent = parents[p]
            for a in range(k):
                field[a] = drive[i, a]
            for b in range(k):
                if (parent >> b) & 1:
                    for a in range(k):
                        if a != b:
                            field[a] -= own[b, a]
            for a in range(k):
                child = parent ^ (np.int64(1) << a)
                value = levels[p] - field[a] if (parent >> a) & 1 else levels[p] + field[a]
                worst = 0
                for s in range(1, c):
                    if score[i, s] < score[i, worst]:
                        worst = s
                if value > score[i, worst]:
                    known = False
                    for s in range(c):
                        if words[i, s] == child and score[i, s] > -np.inf:
                            known = True
                            break
                    if not known:
                        words[i, worst] = child
                        score[i, worst] = value


@nb.njit(cache=True, nogil=True)
def pair_rows(x, out):
    """Each row followed by the products of its columns, every pair once. Into `out`."""
    n, d = x.shape
    for i in range(n):
        row, into = x[i], out[i]
        for a in range(d):
            into[a] = row[a]
        at = d
        for a in range(d):
            value, rest, place = row[a], row[a:], into[at : at + d - a]  # plain slices: the compiler vectorises these
            for b in range(d - a):
                place[b] = value * rest[b]
            at += d - a
