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

from latens.array.kernels.fastmath_numba import COMPILED, copy, fill, log_normal, shrunk
from latens.array.kernels.noisy_or.known_states_numba import (
    FLIPS,
    FOUND,
    LIFTS,
    N_MET,
    N_PLACES,
    NO_STATE,
    ONES,
    PROFILES,
    TABLE,
    find_flips,
    find_lifts,
    find_ones,
    find_profiles,
    how_often,
    is_flipped_often,
    light,
    lowest,
    nothing_known,
    recall,
)

__all__ = ["cover_ones", "improve_words", "light_states", "share_ones"]

LEAST_SHARE = 1e-13  # a share of a row too small to be counted
AT_ONCE = 32  # chances multiplied before a logarithm is taken, unless one is so small that this may underflow
LEAST_FACTOR = 1e-9
LEAST_NORMAL = float(np.finfo(np.float64).tiny)
ONES_PER_STEP = 4  # ones in a step, which the compiler turns into vectors; AT_ONCE is a multiple


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
    for t in range(n_ones, width):
        leaks[t] = 1.0
    for b in range(flash.shape[0]):
        for t in range(n_ones):
            lights[b, t] = flash[b, ones[t]]
        for t in range(n_ones, width):
            lights[b, t] = 0.0


@nb.njit(**COMPILED)
def _gather_by_one(ones, by_column, by_one):
    """The same with the causes of each one side by side."""
    for t in range(len(ones)):
        for b in range(by_column.shape[1]):
            by_one[t, b] = by_column[ones[t], b]
    for t in range(len(ones), len(by_one)):
        for b in range(by_column.shape[1]):
            by_one[t, b] = 0.0


@nb.njit(**COMPILED)
def _price(ones, theta, cost, own):
    """What each cause costs a row before its odds: the zeros it would have lit. Into `own`; theta is (D, K)."""
    for b in range(len(own)):
        own[b] = cost[b]
    for j in ones:
        for b in range(len(own)):
            own[b] -= theta[j, b]


@nb.njit(**COMPILED)
def _paid(word, own):
    """Minus what the causes that are on cost."""
    value = 0.0
    while word:
        value -= own[lowest(word)]
        word &= word - 1
    return value


@nb.njit(**COMPILED)
def improve_words(indptr, indices, first, flash, theta, cost, profile, odds, growth, words, score, n_parents, n_rounds):
    """Log joint of each row and state (n, C), less what no state changes, into `score`: -inf for one that occurred.

    Then single flips of each row's best states replace its worst, if better and new; in place. Rounds of a row end with
    one that finds nothing: those after it would find nothing, either. odds is (K, P), growth = e^odds (P, K).
    """
    n, c = words.shape
    columns = indices.view(np.uint64)  # without a sign: none is counted from the end
    (k, d), room = flash.shape, _widest(indptr)
    places, notes, facts, flips = nothing_known(len(profile), k, d)
    often, own, logits = how_often(indptr, d), np.empty(k), np.empty(len(profile))
    products, sums, values = np.empty(k), np.empty(k), np.empty(k)
    parents, tops = np.empty(n_parents, np.int64), np.empty(n_parents)
    listed, heights = np.empty(c, np.int64), np.empty(c)  # the states of a row and their scores
    all_lit, all_base, all_leaks = np.empty(max(room, d)), np.empty(room), np.empty(room)
    all_lights, by_column, all_by_one = np.empty(k * room), np.ascontiguousarray(flash.T), np.empty((room, k))
    last, safe = cost.shape[0] - 1, np.empty(d, np.bool_)
    for j in range(d):
        safe[j] = first[j] > LEAST_FACTOR
    for i in range(n):
        ones = columns[indptr[i] : indptr[i + 1]]
        width = -(-len(ones) // ONES_PER_STEP) * ONES_PER_STEP
        lit, leaks, lights = all_lit[:width], all_leaks[:width], all_lights[: k * width].reshape(k, width)
        base, by_one = all_base[:width], all_by_one[:width]
        _price(ones, theta, cost[min(i, last)], own)
        at_once = AT_ONCE
        for j in ones:
            if not safe[j]:
                at_once = 1
        is_gathered, common = False, words[i, 0]
        for s in range(c):
            word = words[i, s]
            listed[s], heights[s] = NO_STATE, -np.inf
            if _holds(listed, s, word):
                continue
            listed[s] = word
            at = recall(word, places, notes)
            if not notes[at, FOUND] & PROFILES:
                find_profiles(at, word, profile, odds, logits, notes, facts)
            heights[s] = _paid(word, own) + facts[at, d]
            if notes[at, N_MET] >= often:
                if not notes[at, FOUND] & ONES:
                    find_ones(at, word, first, flash, all_lit, notes, facts)
                heights[s] += _added(ones, at, facts)
                continue
            if not is_gathered:
                is_gathered = True
                _gather(ones, first, flash, leaks, lights)
                _gather_by_one(ones, by_column, by_one)
                for other in range(1, c):
                    common &= words[i, other]
                light(common, leaks, lights, base)
            light(word ^ common, base, lights, lit)
            heights[s] += _log_product(lit, at_once)
        for _ in range(n_rounds):
            is_better = False
            for parent in range(_best(listed, heights, parents, tops)):
                word = parents[parent]
                at = recall(word, places, notes)
                if not notes[at, FOUND] & PROFILES:
                    find_profiles(at, word, profile, odds, logits, notes, facts)
                if not notes[at, FOUND] & LIFTS:
                    find_lifts(at, word, profile, growth, odds, logits, notes, facts)
                whole = _paid(word, own) + facts[at, d]
                _lift(word, whole, own, at, facts, values)
                if not notes[at, FOUND] & FLIPS and is_flipped_often(at, often, notes, flips):
                    find_flips(at, word, first, flash, by_column, all_lit, notes, flips)
                if notes[at, FOUND] & FLIPS:
                    _add_flips(ones, notes[at, TABLE], flips, values)
                else:
                    if not is_gathered:
                        is_gathered = True
                        _gather(ones, first, flash, leaks, lights)
                        _gather_by_one(ones, by_column, by_one)
                    light(word, leaks, lights, lit)
                    _add_log_products(word, lit, by_one, at_once, products, sums, values)
                    # where a cause is turned off, ones add less than they do to the parent
                    least = heights[_worst(heights)] - 1e-9 * abs(tops[parent]) - (tops[parent] - whole)
                    rest = word
                    while rest:
                        b = lowest(rest)
                        rest &= rest - 1
                        if values[b] > least:
                            light(word ^ (np.int64(1) << b), leaks, lights, lit)
                            values[b] += _log_product(lit, at_once)
                        else:
                            values[b] = -np.inf
                is_better |= _flip(word, listed, heights, values)
            if not is_better:
                break
        for s in range(c):
            score[i, s] = heights[s]
            if listed[s] != NO_STATE:
                words[i, s] = listed[s]


@nb.njit(**COMPILED)
def _added(ones, at, facts):
    """What the ones of a row add to the score of a state whose facts say it of all columns."""
    even, odd, n = 0.0, 0.0, len(ones)  # neither sum waits for the other
    for t in range(0, n - 1, 2):
        even += facts[at, ones[t]]
        odd += facts[at, ones[t + 1]]
    return even + odd + (facts[at, ones[n - 1]] if n % 2 else 0.0)


@nb.njit(**COMPILED)
def _lift(word, whole, own, at, facts, values):
    """Values of the flips of a state, but for what ones add; `whole` is that of the state itself."""
    lifts = facts.shape[1] - len(own)
    for b in range(len(own)):
        values[b] = whole + facts[at, lifts + b] + (own[b] if (word >> b) & 1 else -own[b])


@nb.njit(**COMPILED)
def _add_flips(ones, table, flips, values):
    k, n = len(values), len(ones)
    whole = n - n % ONES_PER_STEP
    for t in range(0, whole, ONES_PER_STEP):
        first, second, third, fourth = ones[t], ones[t + 1], ones[t + 2], ones[t + 3]
        for b in range(k):
            values[b] += (flips[table, first, b] + flips[table, second, b]) + (
                flips[table, third, b] + flips[table, fourth, b]
            )
    for t in range(whole, n):
        for b in range(k):
            values[b] += flips[table, ones[t], b]


@nb.njit(**COMPILED)
def _holds(words, n, word):
    """Whether a state is among the first n."""
    held = False
    for s in range(n):
        held |= words[s] == word
    return held


@nb.njit(**COMPILED)
def _worst(score):
    worst = 0
    for s in range(1, len(score)):
        worst = s if score[s] < score[worst] else worst
    return worst


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
def _add_log_products(word, lit, by_one, at_once, products, sums, values):
    """To the value of each cause that is off, what the ones add to the state with it turned on; all side by side."""
    k, width = by_one.shape[1], len(lit)
    for b in range(k):
        sums[b] = 0.0
    for at in range(0, width, max(at_once, ONES_PER_STEP)):
        if at_once == 1:
            for t in range(at, at + ONES_PER_STEP):
                for b in range(k):
                    sums[b] += np.log(lit[t] + (1.0 - lit[t]) * by_one[t, b])
            continue
        for b in range(k):
            products[b] = 1.0
        for t in range(at, min(at + at_once, width), ONES_PER_STEP):
            first, second, third, fourth = lit[t], lit[t + 1], lit[t + 2], lit[t + 3]
            for b in range(k):
                products[b] *= (
                    (first + (1.0 - first) * by_one[t, b]) * (second + (1.0 - second) * by_one[t + 1, b])
                ) * ((third + (1.0 - third) * by_one[t + 2, b]) * (fourth + (1.0 - fourth) * by_one[t + 3, b]))
        for b in range(k):
            sums[b] += log_normal(products[b])
    for b in range(k):
        values[b] += 0.0 if (word >> b) & 1 else sums[b]


@nb.njit(**COMPILED)
def _flip(parent, words, score, values):
    """Put flips of a state that are better than the worst of a row's in its place; whether there was one."""
    found, worst = False, _worst(score)
    for b in range(len(values)):
        child = parent ^ (np.int64(1) << b)
        if values[b] > score[worst] and not _holds(words, len(words), child):
            words[worst], score[worst], found = child, values[b], True
            worst = _worst(score)
    return found


@nb.njit(**COMPILED)
def share_ones(indptr, indices, first, flash, profile, odds, words, mass, caused, leaked, on, used):
    """Add each row's expected counts, mass (n, C) being its chances times its weight: who caused its ones.

    Ones of a state that is met often are added up by column, and shared out together. odds and on are (K, P).
    """
    n, c = words.shape
    columns = indices.view(np.uint64)
    (k, d), n_profiles, room = flash.shape, len(profile), _widest(indptr)
    places, notes, facts, _ = nothing_known(n_profiles, k, d)
    often, logits, shares = how_often(indptr, d), np.empty(n_profiles), d + 1
    # the state whose ones are added up where the logarithms of its chances would be, and the mass that has them
    added, of_added = np.full(len(notes), NO_STATE), np.zeros(len(notes))
    all_lit, all_leaks, all_lights = np.empty(max(room, d)), np.empty(room), np.empty(k * room)
    all_blame, all_by_leak = np.empty(k * room), np.empty(room)
    for i in range(n):
        ones = columns[indptr[i] : indptr[i + 1]]
        n_ones = len(ones)
        width = -(-n_ones // ONES_PER_STEP) * ONES_PER_STEP
        lit, leaks, lights = all_lit[:width], all_leaks[:width], all_lights[: k * width].reshape(k, width)
        blame, by_leak = all_blame[: k * width].reshape(k, width), all_by_leak[:width]
        is_gathered, touched = False, np.int64(0)
        for s in range(c):
            own = mass[i, s]
            if own < LEAST_SHARE:
                continue
            word = words[i, s]
            at = recall(word, places, notes)
            if added[at] != word:
                if of_added[at] > 0.0:
                    _share_out(added[at], of_added[at], facts[at], first, flash, all_lit, caused, leaked, on, used)
                added[at], of_added[at] = word, 0.0
            if not notes[at, FOUND] & PROFILES:
                find_profiles(at, word, profile, odds, logits, notes, facts)
            if notes[at, N_MET] >= often:
                if of_added[at] == 0.0:
                    for j in range(d):
                        facts[at, j] = 0.0
                of_added[at] += own
                for j in ones:
                    facts[at, j] += own
                continue
            if not is_gathered:
                is_gathered = True
                _gather(ones, first, flash, leaks, lights)
                fill(0.0, by_leak)
                fill(0.0, all_blame[: k * width])
            light(word, leaks, lights, lit)
            for t in range(width):
                lit[t] = own / lit[t]
                by_leak[t] += lit[t]
            _count(word, own, facts[at, shares : shares + n_profiles], on, used)
            touched |= word
            while word:
                b = lowest(word)
                word &= word - 1
                for t in range(width):
                    blame[b, t] += lit[t]
        if is_gathered:
            for t in range(n_ones):
                leaked[ones[t]] += by_leak[t] * leaks[t]
        while touched:
            b = lowest(touched)
            touched &= touched - 1
            for t in range(n_ones):
                caused[b, ones[t]] += blame[b, t] * lights[b, t]
    for at in range(N_PLACES):
        if of_added[at] > 0.0:
            _share_out(added[at], of_added[at], facts[at], first, flash, all_lit, caused, leaked, on, used)


@nb.njit(**COMPILED)
def _count(word, own, share, on, used):
    """Rows per profile, and those with each cause on."""
    for p in range(len(used)):
        used[p] += own * share[p]
    while word:
        b = lowest(word)
        word &= word - 1
        for p in range(len(used)):
            on[b, p] += own * share[p]


@nb.njit(**COMPILED)
def _share_out(word, own, fact, first, flash, lit, caused, leaked, on, used):
    """The same of all rows whose ones were added up for a state."""
    d = len(first)
    light(word, first, flash, lit)
    for j in range(d):
        lit[j] = fact[j] / lit[j]
        leaked[j] += lit[j] * first[j]
    _count(word, own, fact[d + 1 :], on, used)
    while word:
        b = lowest(word)
        word &= word - 1
        for j in range(d):
            caused[b, j] += lit[j] * flash[b, j]


@nb.njit(**COMPILED)
def light_states(theta, leak, lit, log_odds):
    """Chance of a one in each column under every state, and what a one adds to its score, into the last two (C, D)."""
    n_states, n_columns = lit.shape
    copy(leak, log_odds[0])
    for word in range(1, n_states):
        fewer, b = word & (word - 1), lowest(word)
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
