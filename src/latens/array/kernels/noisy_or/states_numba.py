"""Compiled kernels of the noisy-OR for NumPy rows, whose ones come as CSR indices.

A state's chance to leave column j dark is prod e^-theta_kj over the causes that are on, so the chance that it is
lit grows by  lit <- lit + (1 - lit) flash_kj  with each cause, flash = 1 - e^-theta: no overflow, no cancellation.
Each row gathers its columns once. All are serial and release the GIL; the plain array form is in `states`.
`cost` is (1, K), or (n, K) with holes.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["cover_ones", "flip_words", "score_words", "share_ones"]

RARE = 1e-13  # a share of a row too small to be counted


@nb.njit(cache=True, nogil=True)
def _log_sum(values):
    if len(values) == 1:
        return values[0]
    top = values.max()
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return top + np.log(total)


@nb.njit(cache=True, nogil=True)
def _log_product(lit):
    """Few logarithms: of products of eight, unless one underflows."""
    total = 0.0
    for at in range(0, len(lit), 8):
        product = 1.0
        for t in range(at, min(at + 8, len(lit))):
            product *= lit[t]
        if product > 1e-280:
            total += np.log(product)
        else:
            for t in range(at, min(at + 8, len(lit))):
                total += np.log(lit[t])
    return total


@nb.njit(cache=True, nogil=True)
def _gather(ones, first, flash, leaks, lights):
    """A row's columns of the chances to be lit, side by side."""
    for t in range(len(ones)):
        leaks[t] = first[ones[t]]
    for b in range(flash.shape[0]):
        for t in range(len(ones)):
            lights[b, t] = flash[b, ones[t]]


@nb.njit(cache=True, nogil=True)
def _price(ones, theta, cost, own):
    """What each cause costs a row before its odds: the zeros it would have lit. Into `own`."""
    for b in range(theta.shape[0]):
        value = cost[b]
        for j in ones:
            value -= theta[b, j]
        own[b] = value


@nb.njit(cache=True, nogil=True)
def _light(word, leaks, lights, own, profile, odds, lit, logits):
    """Chances that the ones are lit and the profiles' logits under a state; returns minus its cost."""
    value, n_ones, n_profiles = 0.0, len(leaks), len(profile)
    for t in range(n_ones):
        lit[t] = leaks[t]
    for p in range(n_profiles):
        logits[p] = profile[p]
    b = 0
    while word:
        if word & 1:
            value -= own[b]
            for t in range(n_ones):
                lit[t] += (1.0 - lit[t]) * lights[b, t]
            for p in range(n_profiles):
                logits[p] += odds[b, p]
        word >>= 1
        b += 1
    return value


@nb.njit(cache=True, nogil=True)
def score_words(indptr, indices, first, flash, theta, cost, profile, odds, words):
    """(n, C), log joint of each row and state, less what no state changes; odds (K, P)."""
    n, c = words.shape
    k = flash.shape[0]
    score = np.empty((n, c))
    own, logits = np.empty(k), np.empty(len(profile))
    last = cost.shape[0] - 1
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        lit, leaks, lights = np.empty(len(ones)), np.empty(len(ones)), np.empty((k, len(ones)))
        _gather(ones, first, flash, leaks, lights)
        _price(ones, theta, cost[min(i, last)], own)
        for s in range(c):
            value = _light(words[i, s], leaks, lights, own, profile, odds, lit, logits)
            score[i, s] = value + _log_product(lit) + _log_sum(logits)
    return score


@nb.njit(cache=True, nogil=True)
def flip_words(indptr, indices, first, flash, theta, cost, profile, odds, growth, words, score, n_parents, n_rounds):
    """Single flips of each row's best states replace its worst, if better and new. In place; growth = e^odds.

    Rounds of a row end with one that finds nothing: those after it would find nothing, either.
    """
    n = len(words)
    k, n_profiles = flash.shape[0], len(profile)
    own, logits, share = np.empty(k), np.empty(n_profiles), np.empty(n_profiles)
    parents = np.empty(n_parents, np.int64)
    last = cost.shape[0] - 1
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        n_ones = len(ones)
        lit, other, leaks, lights = np.empty(n_ones), np.empty(n_ones), np.empty(n_ones), np.empty((k, n_ones))
        _gather(ones, first, flash, leaks, lights)
        _price(ones, theta, cost[min(i, last)], own)
        for _ in range(n_rounds):
            if not _flip(
                leaks, lights, own, profile, odds, growth, words[i], score[i], parents, lit, other, logits, share
            ):
                break


@nb.njit(cache=True, nogil=True)
def _flip(leaks, lights, own, profile, odds, growth, words, score, parents, lit, other, logits, share):
    """One round of one row; whether it found a better state. The last five are room to work in."""
    found, (k, n_ones), n_profiles = False, lights.shape, len(profile)
    order = np.argsort(-score, kind="mergesort")
    n_here = 0
    for p in range(min(len(parents), len(words))):
        if score[order[p]] > -np.inf:
            parents[n_here] = words[order[p]]
            n_here += 1
    worst = np.argmin(score)
    for at in range(n_here):
        parent = parents[at]
        level = _light(parent, leaks, lights, own, profile, odds, lit, logits)
        whole = _log_sum(logits)
        for p in range(n_profiles):
            share[p] = np.exp(logits[p] - whole)
        for b in range(k):
            child = parent ^ (np.int64(1) << b)
            turned_on = not (parent >> b) & 1
            if turned_on:
                grown = 0.0
                for p in range(n_profiles):
                    grown += share[p] * growth[b, p]
                value = level - own[b] + whole + np.log(grown)
            else:
                value = _light(child, leaks, lights, own, profile, odds, other, logits) + _log_sum(logits)
            if value <= score[worst]:
                continue  # chances are at most 1: the ones can only lower it
            if turned_on:
                for t in range(n_ones):
                    other[t] = lit[t] + (1.0 - lit[t]) * lights[b, t]
            value += _log_product(other)
            if value <= score[worst]:
                continue
            known = False
            for s in range(len(words)):
                if words[s] == child and score[s] > -np.inf:
                    known = True
                    break
            if not known:
                words[worst], score[worst], found = child, value, True
                worst = np.argmin(score)
    return found


@nb.njit(cache=True, nogil=True)
def share_ones(indptr, indices, first, flash, profile, odds, words, mass, caused, leaked, on, used):
    """Add each row's expected counts, mass (n, C) being its chances times its weight: who caused its ones.

    odds and on are (K, P).
    """
    n, c = words.shape
    k, n_profiles = flash.shape[0], len(profile)
    own, logits = np.zeros(k), np.empty(n_profiles)
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        n_ones = len(ones)
        lit, leaks, lights = np.empty(n_ones), np.empty(n_ones), np.empty((k, n_ones))
        _gather(ones, first, flash, leaks, lights)
        blame, by_leak = np.zeros((k, n_ones)), np.zeros(n_ones)
        touched = np.int64(0)
        for s in range(c):
            if mass[i, s] < RARE:
                continue
            word = words[i, s]
            _light(word, leaks, lights, own, profile, odds, lit, logits)
            whole = _log_sum(logits)
            for t in range(n_ones):
                lit[t] = mass[i, s] / lit[t]
                by_leak[t] += lit[t]
            for p in range(n_profiles):
                logits[p] = mass[i, s] * np.exp(logits[p] - whole)
                used[p] += logits[p]
            touched |= word
            b = 0
            while word:
                if word & 1:
                    for t in range(n_ones):
                        blame[b, t] += lit[t]
                    for p in range(n_profiles):
                        on[b, p] += logits[p]
                word >>= 1
                b += 1
        for t in range(n_ones):
            leaked[ones[t]] += by_leak[t] * leaks[t]
        for b in range(k):
            if (touched >> b) & 1:
                for t in range(n_ones):
                    caused[b, ones[t]] += blame[b, t] * lights[b, t]


@nb.njit(cache=True, nogil=True)
def cover_ones(indptr, indices, first, flash, theta, cost, weight, on, most):
    """(n,), log chance of each row under point parameters, less what no state changes, summed over all 2^K states.

    Causes come one after another; what is carried is the chance that exactly a set of the row's ones has been lit so
    far, for every set and profile. Only positive numbers are added. -inf where m 2^m K P exceeds `most`; on is (K, P).
    """
    n, (k, n_profiles) = len(indptr) - 1, on.shape
    answer, own = np.full(n, -np.inf), np.empty(k)
    last = cost.shape[0] - 1
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        m = len(ones)
        if m > 40 or (max(m, 1) << m) * k * n_profiles > most:
            continue
        _price(ones, theta, cost[min(i, last)], own)
        lit, new = np.empty((1 << m, n_profiles)), np.empty((1 << m, n_profiles))
        for s in range(1 << m):
            chance = 1.0
            for t in range(m):
                chance *= first[ones[t]] if (s >> t) & 1 else 1.0 - first[ones[t]]
            for p in range(n_profiles):
                lit[s, p] = chance * weight[p]
        for b in range(k):
            dark = np.exp(-own[b])
            for s in range(1 << m):
                for p in range(n_profiles):
                    new[s, p] = lit[s, p] * on[b, p] * dark
            for t in range(m):
                chance = flash[b, ones[t]]
                for s in range(1 << m):
                    if not (s >> t) & 1:
                        without, into = new[s], new[s | (1 << t)]
                        for p in range(n_profiles):
                            moved = without[p] * chance
                            into[p] += moved
                            without[p] -= moved
            for s in range(1 << m):
                for p in range(n_profiles):
                    lit[s, p] = lit[s, p] * (1.0 - on[b, p]) + new[s, p]
        total = lit[(1 << m) - 1].sum()
        answer[i] = np.log(total) if total > 0.0 else -np.inf
    return answer
