"""Compiled kernels for NumPy arrays, where a sweep is sequential by nature.

All are serial and release the GIL: threads come from the sweep over row blocks. Each
has its plain array form in `sweeps`, which is what other array libraries run and what
the tests compare against. A Gram has a leading axis of 1 (shared) or n (one per row).
"""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["flip_rows", "pair_rows", "switch_rows"]


@nb.njit(cache=True, nogil=True)
def switch_rows(drive, gram, on, n_sweeps, tol):  # type: ignore[no-untyped-def]
    """Coordinate ascent on q(z_k = 1), all K updates of a row while it is in cache. In place."""
    n, k = on.shape
    last = gram.shape[0] - 1
    one = on.dtype.type(1.0)
    pull = np.empty(k, on.dtype)
    for i in range(n):
        own = gram[min(i, last)]
        row = on[i]
        for a in range(k):
            pull[a] = drive[i, a]
        for b in range(k):
            value = row[b]
            if value != 0:
                for a in range(k):
                    pull[a] -= own[b, a] * value
        for _ in range(n_sweeps):
            largest = 0.0
            for a in range(k):
                field = pull[a] + own[a, a] * row[a]
                if field >= 0:
                    value = one / (one + np.exp(-field))
                else:
                    value = np.exp(field)
                    value = value / (one + value)
                change = value - row[a]
                if change != 0:
                    row[a] = value
                    for b in range(k):  # keeps drive - G on current, so a sweep costs K^2 and not K^3
                        pull[b] -= own[a, b] * change
                    if abs(change) > largest:
                        largest = abs(change)
            if largest < tol:
                break


@nb.njit(cache=True, nogil=True)
def flip_rows(drive, gram, words, score, n_parents):  # type: ignore[no-untyped-def]
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
def pair_rows(x, out):  # type: ignore[no-untyped-def]
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
