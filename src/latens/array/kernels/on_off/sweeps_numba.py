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

N_LANES = 32  # rows side by side in a sweep; not a constant to the compiler, which would unroll it instead


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
    Most rest after a few sweeps and some need them all: the place of a row that rests is given to the next. Of one Gram
    for all rows their codes lie side by side as well, else each row is by itself beside its Gram.
    """
    n, k = on.shape
    shared = gram.shape[0] == 1
    # drive - G on is kept current, so that a sweep costs K^2 and not K^3
    codes, pull = np.zeros((k, n_lanes), on.dtype), np.zeros((k, n_lanes), on.dtype)
    pulls = np.empty((n_lanes, k), on.dtype)
    field, value, largest = np.zeros(n_lanes), np.zeros(n_lanes), np.zeros(n_lanes)
    at, n_left = np.empty(n_lanes, np.int64), np.empty(n_lanes, np.int64)
    here, following = 0, 0
    while here > 0 or following < n:
        while here < n_lanes and following < n:
            _pull(drive[following], gram[0 if shared else following], was[following], pulls[here])
            for a in range(k):
                codes[a, here], pull[a, here] = was[following, a], pulls[here, a]
            at[here], n_left[here] = following, n_sweeps
            here += 1
            following += 1
        largest[:] = 0.0
        if shared:
            _sweep_together(gram[0], codes, pull, field, value, largest)
        else:
            _sweep_apart(gram, at[:here], codes, pulls, field, value, largest)
        i = 0
        while i < here:
            n_left[i] -= 1
            if n_left[i] > 0 and largest[i] >= tol:
                i += 1
                continue
            for a in range(k):
                on[at[i], a] = codes[a, i]
            here -= 1  # the last of them takes its place
            at[i], n_left[i], largest[i] = at[here], n_left[here], largest[here]
            for a in range(k):
                codes[a, i], pull[a, i], pulls[i, a] = codes[a, here], pull[a, here], pulls[here, a]


@nb.njit(cache=True, nogil=True)
def _pull(drive, gram, on, pull):
    """drive - G on of one row, into `pull`."""
    k = len(on)
    for a in range(k):
        pull[a] = drive[a]
    for b in range(k):
        if on[b] != 0:
            pairs = gram[b]
            for a in range(k):
                pull[a] -= pairs[a] * on[b]


@nb.njit(cache=True, nogil=True)
def _sweep_together(gram, codes, pull, field, value, largest):
    """One update of every code of rows side by side, (K, rows); the largest change of each row into `largest`."""
    k, n_lanes = codes.shape
    change = np.empty(n_lanes, codes.dtype)
    for a in range(k):
        now, pulled, cost = codes[a], pull[a], gram[a, a]
        for i in range(n_lanes):
            field[i] = pulled[i] + cost * now[i]
        expit_lanes(field, value)
        for i in range(n_lanes):
            new = codes.dtype.type(value[i])
            change[i] = new - now[i]
            now[i] = new
            largest[i] = max(largest[i], abs(change[i]))
        for b in range(k):
            pair, pulled = gram[a, b], pull[b]
            for i in range(n_lanes):
                pulled[i] -= pair * change[i]


@nb.njit(cache=True, nogil=True)
def _sweep_apart(gram, at, codes, pulls, field, value, largest):
    """The same of rows that each have a Gram of their own."""
    k, here = len(codes), len(at)
    for a in range(k):
        now = codes[a]
        for i in range(here):
            field[i] = pulls[i, a] + gram[at[i], a, a] * now[i]
        expit_lanes(field, value)
        for i in range(here):
            new = codes.dtype.type(value[i])
            change = new - now[i]
            if change != 0:
                now[i] = new
                pairs, mine = gram[at[i], a], pulls[i]
                for b in range(k):
                    mine[b] -= pairs[b] * change
                largest[i] = max(largest[i], abs(change))


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
