"""Compiled kernels of the noisy-OR for NumPy rows, whose ones come as CSR indices.

A state's chance to leave column j dark is prod e^-theta_kj over the causes that are on, so the chance that it is
lit grows by  lit <- lit + (1 - lit) flash_kj  with each cause, flash = 1 - e^-theta: no overflow, no cancellation.
Each row gathers its columns once. All are serial and release the GIL; the plain array form is in `states`.
`cost` is (1, K), or (n, K) with holes.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.extending import intrinsic

from latens.array.kernels.fastmath_numba import COMPILED, LARGEST_EXPONENT, copy, log_normal, shrunk

__all__ = ["cover_ones", "improve_words", "light_states", "share_ones"]

LEAST_SHARE = 1e-13  # a share of a row too small to be counted
AT_ONCE = 32  # chances multiplied before a logarithm is taken, unless one is so small that this may underflow
LEAST_FACTOR = 1e-9
LEAST_NORMAL = float(np.finfo(np.float64).tiny)
ONES_PER_STEP = 4  # ones in a step, which the compiler turns into vectors; AT_ONCE is a multiple
WORD_BITS = 12  # of a number made from a state: so many states have a place where what profiles say of them is kept
HASH_FACTOR = 0x9E3779B97F4A7C15  # odd, without a pattern: products with it tell by their first bits what they are of
NO_STATE = -1  # no state
LEAST_LEFT, MOST_LEFT = 1e-6, 1e100  # of a sum over profiles, a cause turned off: beyond, parts may not have been held


def _count_zeros(typing, word):
    """Zeros below the lowest bit that is on, by one instruction."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(nb.types.boolean, False))

    return nb.types.int64(nb.types.int64), generate


_lowest: Any = intrinsic(_count_zeros)  # place of the lowest bit that is on


@nb.njit(**COMPILED)
def _shares(logits, share):
    """Softmax of the logits into `share`; returns the largest logit and the sum of exp(logit - largest)."""
    if len(logits) == 1:
        share[0] = 1.0
        return logits[0], 1.0
    top = logits.max()
    for p in range(len(logits)):
        gap = top - logits[p]
        share[p] = shrunk(gap)[0] if gap < LARGEST_EXPONENT else 0.0
    total = 0.0
    for p in range(len(logits)):
        total += share[p]
    for p in range(len(logits)):
        share[p] /= total
    return top, total


@nb.njit(**COMPILED)
def _log_sum(logits):
    top, total = logits.max(), 0.0
    for value in logits:
        total += shrunk(top - value)[0]
    return top + np.log(total)


@nb.njit(**COMPILED)
def _log_product(lit, at_once):
    total = 0.0
    if at_once == 1:
        for t in range(len(lit)):
            total += np.log(lit[t])
        return total
    for at in range(0, len(lit), at_once):
        first, second, third, fourth = 1.0, 1.0, 1.0, 1.0  # none waits for the others
        for t in range(at, min(at + at_once, len(lit)), ONES_PER_STEP):
            first *= lit[t]
            second *= lit[t + 1]
            third *= lit[t + 2]
            fourth *= lit[t + 3]
        total += log_normal((first * second) * (third * fourth))
    return total


@nb.njit(**COMPILED)
def _widest(indptr):
    """Room for the ones of any row, in whole steps of `ONES_PER_STEP`."""
    most = 0
    for i in range(len(indptr) - 1):
        most = max(most, indptr[i + 1] - indptr[i])
    return -(-most // ONES_PER_STEP) * ONES_PER_STEP


@nb.njit(**COMPILED)
def _gather(ones, first, flash, leaks, lights):
    """A row's columns of the chances to be lit, side by side; what fills the last step is lit in any case."""
    n_ones, width = len(ones), len(leaks)
    for t in range(n_ones):
        leaks[t] = first[ones[t]]
    leaks[n_ones:] = 1.0
    for b in range(flash.shape[0]):
        for t in range(n_ones):
            lights[b, t] = flash[b, ones[t]]
        for t in range(n_ones, width):
            lights[b, t] = 0.0


@nb.njit(**COMPILED)
def _price(ones, theta, cost, own):
    """What each cause costs a row before its odds: the zeros it would have lit. Into `own`; theta is (D, K)."""
    for b in range(len(own)):
        own[b] = cost[b]
    for j in ones:
        for b in range(len(own)):
            own[b] -= theta[j, b]


@nb.njit(**COMPILED)
def _light(word, leaks, lights, lit):
    """Chances that the ones are lit under a state."""
    for t in range(len(leaks)):
        lit[t] = leaks[t]
    while word:
        b = _lowest(word)
        word &= word - 1
        for t in range(len(leaks)):
            lit[t] += (1.0 - lit[t]) * lights[b, t]


@nb.njit(**COMPILED)
def _paid(word, own):
    """Minus what the causes that are on cost."""
    value = 0.0
    while word:
        value -= own[_lowest(word)]
        word &= word - 1
    return value


@nb.njit(**COMPILED)
def _weigh(word, profile, odds, logits):
    """The profiles' logits under a state."""
    for p in range(len(profile)):
        logits[p] = profile[p]
    while word:
        b = _lowest(word)
        word &= word - 1
        for p in range(len(profile)):
            logits[p] += odds[b, p]


@nb.njit(**COMPILED)
def _profiled(word, profile, odds, logits, names, levels, shares):
    """Where what profiles say of a state is kept, whatever the row: most rows have states that others have, too.

    By its place: `names` the state; `levels` its largest logit, the logarithm of their sum beside it, and whether flips
    were looked at, which is not so after another state; `shares` of the profiles.
    """
    place = np.int64((np.uint64(word) * np.uint64(HASH_FACTOR)) >> np.uint64(64 - WORD_BITS))
    if names[place] != word:
        names[place] = word
        _weigh(word, profile, odds, logits)
        top, total = _shares(logits, shares[place])
        levels[place, 0], levels[place, 1], levels[place, 2] = top, log_normal(total), 0.0
    return place


@nb.njit(**COMPILED)
def _lift(word, share, growth, odds, lifts):
    """What a flip of each cause adds to the logarithm of the sum over profiles; NaN where it is not held exactly."""
    k, n_profiles = odds.shape
    if n_profiles == 1:
        for b in range(k):
            lifts[b] = odds[b, 0]
    else:
        for b in range(k):
            lifts[b] = 0.0
        for p in range(n_profiles):
            for b in range(k):
                lifts[b] += share[p] * growth[p, b]
        for b in range(k):
            lifts[b] = log_normal(max(lifts[b], LEAST_NORMAL))
    while word:
        b = _lowest(word)
        word &= word - 1
        left = 0.0
        for p in range(n_profiles):
            left += share[p] / growth[p, b]
        lifts[b] = log_normal(left) if LEAST_LEFT < left < MOST_LEFT else np.nan


@nb.njit(**COMPILED)
def improve_words(indptr, indices, first, flash, theta, cost, profile, odds, growth, words, score, n_parents, n_rounds):
    """Log joint of each row and state (n, C), less what no state changes, into `score`: -inf for one that occurred.

    Then single flips of each row's best states replace its worst, if better and new; in place. Rounds of a row end with
    one that finds nothing: those after it would find nothing, either. odds is (K, P), growth = e^odds (P, K).
    """
    n, c = words.shape
    (k, n_columns), n_profiles, room = flash.shape, len(profile), _widest(indptr)
    own, logits = np.empty(k), np.empty(n_profiles)
    names, levels = np.full(1 << WORD_BITS, NO_STATE), np.empty((1 << WORD_BITS, 3))
    shares, lifts = np.empty((1 << WORD_BITS, n_profiles)), np.empty((1 << WORD_BITS, k))
    parents, tops = np.empty(n_parents, np.int64), np.empty(n_parents)
    listed, heights = np.empty(c, np.int64), np.empty(c)  # the states of a row and their scores
    all_lit, all_base, all_leaks, all_lights = np.empty(room), np.empty(room), np.empty(room), np.empty(k * room)
    by_column, all_by_one = np.ascontiguousarray(flash.T), np.zeros((room, k))
    products, values = np.empty(k), np.empty(k)
    last, safe = cost.shape[0] - 1, np.empty(n_columns, np.bool_)
    for j in range(n_columns):
        safe[j] = first[j] > LEAST_FACTOR
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        n_ones = len(ones)
        width = -(-n_ones // ONES_PER_STEP) * ONES_PER_STEP
        lit, leaks, lights = all_lit[:width], all_leaks[:width], all_lights[: k * width].reshape(k, width)
        _gather(ones, first, flash, leaks, lights)
        _price(ones, theta, cost[min(i, last)], own)
        at_once = AT_ONCE
        for j in ones:
            if not safe[j]:
                at_once = 1
        base, by_one = all_base[:width], all_by_one[:width]
        if n_rounds:
            for t in range(n_ones):
                for b in range(k):
                    by_one[t, b] = by_column[ones[t], b]
            by_one[n_ones:] = 0.0
        common = words[i, 0]
        for s in range(1, c):
            common &= words[i, s]
        _light(common, leaks, lights, base)
        for s in range(c):
            word = words[i, s]
            listed[s], heights[s] = word, -np.inf
            if _holds(listed, heights, s, word):
                continue
            _light(word ^ common, base, lights, lit)
            at = _profiled(word, profile, odds, logits, names, levels, shares)
            heights[s] = _paid(word, own) + _log_product(lit, at_once) + levels[at, 0] + levels[at, 1]
        for _ in range(n_rounds):
            if not _flip(
                leaks,
                lights,
                by_one,
                at_once,
                own,
                profile,
                odds,
                growth,
                listed,
                heights,
                names,
                levels,
                shares,
                lifts,
                parents,
                tops,
                lit,
                logits,
                products,
                values,
            ):
                break
        for s in range(c):
            words[i, s], score[i, s] = listed[s], heights[s]


@nb.njit(**COMPILED)
def _holds(words, score, n, word):
    """Whether a state is among the first n, if it has a score."""
    held = False
    for s in range(n):
        held |= words[s] == word and score[s] > -np.inf
    return held


@nb.njit(**COMPILED)
def _best(words, score, parents, heights):
    """The best states and their scores, the best first and of equals the earlier; returns how many there are."""
    n_here = 0
    for s in range(len(words)):
        value = score[s]
        if value == -np.inf or (n_here == len(parents) and value <= heights[n_here - 1]):
            continue
        at = min(n_here, len(parents) - 1)
        while at > 0 and heights[at - 1] < value:
            heights[at], parents[at] = heights[at - 1], parents[at - 1]
            at -= 1
        heights[at], parents[at] = value, words[s]
        n_here = min(n_here + 1, len(parents))
    return n_here


@nb.njit(**COMPILED)
def _add_log_products(lit, by_one, at_once, products, values):
    """To the value of each cause, what the ones add to a state in which it is turned on; all causes side by side."""
    k, width = by_one.shape[1], len(lit)
    if at_once == 1:
        for t in range(width):
            for b in range(k):
                values[b] += np.log(lit[t] + (1.0 - lit[t]) * by_one[t, b])
        return
    for at in range(0, width, at_once):
        for b in range(k):
            products[b] = 1.0
        for t in range(at, min(at + at_once, width), ONES_PER_STEP):
            first, second, third, fourth = lit[t], lit[t + 1], lit[t + 2], lit[t + 3]
            for b in range(k):
                products[b] *= (
                    (first + (1.0 - first) * by_one[t, b]) * (second + (1.0 - second) * by_one[t + 1, b])
                ) * ((third + (1.0 - third) * by_one[t + 2, b]) * (fourth + (1.0 - fourth) * by_one[t + 3, b]))
        for b in range(k):
            values[b] += log_normal(products[b])


@nb.njit(**COMPILED)
def _flip(
    leaks,
    lights,
    by_one,
    at_once,
    own,
    profile,
    odds,
    growth,
    words,
    score,
    names,
    levels,
    shares,
    lifts,
    parents,
    heights,
    lit,
    logits,
    products,
    values,
):
    """Flip each cause of a row's best states; whether a better state was found. The last six are scratch arrays."""
    found, k = False, len(own)
    n_here = _best(words, score, parents, heights)
    worst = np.argmin(score)
    for at in range(n_here):
        parent = parents[at]
        _light(parent, leaks, lights, lit)
        level = _paid(parent, own)
        place = _profiled(parent, profile, odds, logits, names, levels, shares)
        lift = lifts[place]
        if not levels[place, 2]:
            _lift(parent, shares[place], growth, odds, lift)
            levels[place, 2] = 1.0
        whole = levels[place, 0] + levels[place, 1]
        by_ones = heights[at] - level - whole  # what the ones add to the parent: turned off, a cause lowers it
        for b in range(k):
            values[b] = level - own[b] + whole + lift[b]
        _add_log_products(lit, by_one, at_once, products, values)
        for b in range(k):
            child = parent ^ (np.int64(1) << b)
            value = values[b]
            if (parent >> b) & 1:
                if _holds(words, score, len(words), child):
                    continue
                value = level + own[b] + whole + lift[b]
                if np.isnan(lift[b]):
                    _weigh(child, profile, odds, logits)
                    value = _paid(child, own) + _log_sum(logits)
                if value + by_ones + 1e-9 * abs(heights[at]) <= score[worst]:
                    continue
                _light(child, leaks, lights, lit)
                value += _log_product(lit, at_once)
            if value <= score[worst]:
                continue
            if not _holds(words, score, len(words), child):
                words[worst], score[worst], found = child, value, True
                worst = np.argmin(score)
    return found


@nb.njit(**COMPILED)
def share_ones(indptr, indices, first, flash, profile, odds, words, mass, caused, leaked, on, used):
    """Add each row's expected counts, mass (n, C) being its chances times its weight: who caused its ones.

    odds and on are (K, P).
    """
    n, c = words.shape
    k, n_profiles, room = flash.shape[0], len(profile), _widest(indptr)
    logits, shares = np.empty(n_profiles), np.empty((1 << WORD_BITS, n_profiles))
    names, levels = np.full(1 << WORD_BITS, NO_STATE), np.empty((1 << WORD_BITS, 3))
    all_lit, all_leaks, all_lights = np.empty(room), np.empty(room), np.empty(k * room)
    all_blame, all_by_leak = np.empty(k * room), np.empty(room)
    for i in range(n):
        ones = indices[indptr[i] : indptr[i + 1]]
        n_ones = len(ones)
        width = -(-n_ones // ONES_PER_STEP) * ONES_PER_STEP
        lit, leaks, lights = all_lit[:width], all_leaks[:width], all_lights[: k * width].reshape(k, width)
        blame, by_leak = all_blame[: k * width].reshape(k, width), all_by_leak[:width]
        _gather(ones, first, flash, leaks, lights)
        blame[:], by_leak[:] = 0.0, 0.0
        touched = np.int64(0)
        for s in range(c):
            own = mass[i, s]
            if own < LEAST_SHARE:
                continue
            word = words[i, s]
            _light(word, leaks, lights, lit)
            share = shares[_profiled(word, profile, odds, logits, names, levels, shares)]
            for t in range(width):
                lit[t] = own / lit[t]
                by_leak[t] += lit[t]
            for p in range(n_profiles):
                used[p] += own * share[p]
            touched |= word
            while word:
                b = _lowest(word)
                word &= word - 1
                for t in range(width):
                    blame[b, t] += lit[t]
                for p in range(n_profiles):
                    on[b, p] += own * share[p]
        for t in range(n_ones):
            leaked[ones[t]] += by_leak[t] * leaks[t]
        while touched:
            b = _lowest(touched)
            touched &= touched - 1
            for t in range(n_ones):
                caused[b, ones[t]] += blame[b, t] * lights[b, t]


@nb.njit(**COMPILED)
def light_states(theta, leak, lit, log_odds):
    """Chance of a one in each column under every state, and what a one adds to its score, into the last two (C, D)."""
    n_states, n_columns = lit.shape
    copy(leak, log_odds[0])
    for word in range(1, n_states):
        fewer, b = word & (word - 1), _lowest(word)
        for j in range(n_columns):
            log_odds[word, j] = log_odds[fewer, j] + theta[b, j]
    for word in range(n_states):
        for j in range(n_columns):
            level = max(log_odds[word, j], LEAST_NORMAL)
            lit[word, j] = shrunk(level)[1]
            log_odds[word, j] = level + log_normal(lit[word, j])


@nb.njit(**COMPILED)
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
