"""States of the noisy-OR in Triton's language, for torch rows on a GPU: over the ones of rows, as the compiled loops.

The plain form holds the level of every column under every state and flip; here a program holds those of one row, or of
one column. Sums over rows are taken column by column and in a fixed order: the same rows give the same bits.

`improve_on_gpu`, `share_on_gpu` and `count_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

__all__ = ["OnesOnGpu", "count_on_gpu", "improve_on_gpu", "share_on_gpu"]

N_ONES = 8  # of a row that a program holds at once: with more, fewer programs run side by side
N_LANES = 32  # states that a program holds at once where it adds up over rows
N_IN_A_SUM = 512  # ones of a column that one program adds up

improve_on_gpu: Any = None
share_on_gpu: Any = None
count_on_gpu: Any = None


@dataclass(frozen=True, eq=False)
class OnesOnGpu:
    """Where the ones of rows on a device are: the columns of each row, and the rows of each column."""

    row_starts: Any  # (n + 1,)
    columns: Any
    column_starts: Any  # (D + 1,)
    rows: Any
    most_in_a_column: int

    @classmethod
    def of(cls, x: Any) -> OnesOnGpu:
        lit = x != 0
        rows, columns = lit.nonzero().T
        by_row, by_column = lit.sum(1), lit.sum(0)
        return cls(
            _starts(by_row),
            columns.int(),
            _starts(by_column),
            rows[columns.argsort(stable=True)].int(),
            int(by_column.max()) if len(columns) else 0,
        )


def _n_terms(x: Any) -> int:
    """Terms of the series of 1 - e^-a, a < 1/8, that the precision of x can tell."""
    return 10 if x.element_size() == 8 else 4


def _starts(counts: Any) -> Any:
    """(m + 1,), where each of m lists begins and the last one ends."""
    return counts.new_zeros(len(counts) + 1).index_copy_(0, counts.new_ones(len(counts)).cumsum(0), counts.cumsum(0))


if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    TINY = tl.constexpr(1.1754943508222875e-38)  # the smallest normal number of single precision
    SMALL = tl.constexpr(0.125)  # below it 1 - e^-a is a series
    LEAST_PRODUCT = tl.constexpr(1e-30)  # a product of chances above it has lost nothing

    @triton.jit
    def _lit(a, terms: tl.constexpr):
        """1 - e^-a, also where a is tiny: there as a series."""
        s = a * 0.0 + 1.0
        for term in tl.static_range(terms):
            s = 1.0 - s * (a * (1.0 / (terms + 1 - term)))
        return tl.where(a < SMALL, a * s, 1.0 - tl.exp(-a))

    @triton.jit
    def _either(a, b):
        return a | b

    @triton.jit
    def _times(a, b):
        return a * b

    @triton.jit
    def _number(bit):
        """Which cause a word with one bit stands for: the exponent of the same number in double precision."""
        return (bit.to(tl.float64).to(tl.int64, bitcast=True) >> 52) - 1023

    @triton.jit
    def _log_ones(a, here, terms: tl.constexpr):
        """sum log(e^a - 1) over the ones of each state, a (ones, states): the log of a product where that is held."""
        lit = tl.where(here, _lit(a, terms), 1.0)
        product = tl.reduce(lit, 0, _times)
        logs = tl.log(product)
        if tl.min(product, axis=0) < LEAST_PRODUCT:
            logs = tl.sum(tl.log(lit), axis=0)
        return tl.sum(tl.where(here, a, 0.0), axis=0) + logs

    @triton.jit
    def _log_sum(top, total, logit):
        """The next term of a sum of powers, held as its largest exponent and the sum beside that."""
        new = tl.maximum(top, logit)
        return new, total * tl.exp(top - new) + tl.exp(logit - new)

    @triton.jit
    def _log_prior(word, any_on, profile, odds, P, K):
        """log sum_c e^(profile_c + odds_c's) of each state of a tile; no cause is on that is not among `any_on`."""
        total = (word * 0).to(odds.dtype.element_ty)
        top = total - float("inf")
        for p in range(P):
            logit = total * 0.0 + tl.load(profile + p)
            rest = any_on
            while rest != 0:
                bit = rest & (-rest)
                logit += tl.where((word & bit) != 0, tl.load(odds + p * K + _number(bit)), 0.0)
                rest = rest ^ bit
            top, total = _log_sum(top, total, logit)
        return top + tl.log(total)

    @triton.jit
    def _log_prior_of_flips(parent, cause, to_be_on, ok, profile, odds, P, K):
        """The same of a state with one cause flipped, for each of them."""
        total = (cause * 0).to(odds.dtype.element_ty)
        top = total - float("inf")
        for p in range(P):
            logit = tl.where(to_be_on, tl.load(odds + p * K + cause, mask=ok, other=0.0), 0.0) + tl.load(profile + p)
            rest = parent
            while rest != 0:
                bit = rest & (-rest)
                b = _number(bit)
                logit += tl.where(cause == b, 0.0, tl.load(odds + p * K + b))
                rest = rest ^ bit
            top, total = _log_sum(top, total, logit)
        return top + tl.log(total)

    @triton.jit
    def _improve(
        starts,
        columns,
        theta,
        leak,
        dark,
        profile,
        odds,
        words,
        score,
        n_rounds,
        K,
        P,
        C,
        n_parents,
        holes: tl.constexpr,
        slots: tl.constexpr,
        width: tl.constexpr,
        parents_width: tl.constexpr,
        block: tl.constexpr,
        terms: tl.constexpr,
    ):
        """Score the states of one row, then exchange the worst for single flips of the best; theta (D, K)."""
        row = tl.program_id(0).to(tl.int64)
        first, last = tl.load(starts + row), tl.load(starts + row + 1)
        own = dark + row * K * holes
        slot, cause, at = tl.arange(0, slots), tl.arange(0, width), tl.arange(0, block)
        real = theta.dtype.element_ty
        word = tl.load(words + row * C + slot, mask=slot < C, other=0)
        any_on = tl.reduce(word, 0, _either)
        # states that are kept
        value = _log_prior(word, any_on, profile, odds, P, K)
        rest = any_on
        while rest != 0:
            bit = rest & (-rest)
            value += tl.where((word & bit) != 0, tl.load(own + _number(bit)), 0.0)
            rest = rest ^ bit
        for begin in range(first, last, block):
            here = begin + at < last
            column = tl.load(columns + begin + at, mask=here, other=0)
            a = tl.zeros((block, slots), real) + tl.load(leak + column, mask=here, other=1.0)[:, None]
            rest = any_on
            while rest != 0:
                bit = rest & (-rest)
                pull = tl.load(theta + column * K + _number(bit), mask=here, other=0.0)
                a += tl.where(((word & bit) != 0)[None, :], pull[:, None], 0.0)
                rest = rest ^ bit
            value += _log_ones(tl.maximum(a, TINY), here[:, None], terms)
        again = (word[:, None] == word[None, :]) & (slot[:, None] < slot[None, :])
        value = tl.where(tl.sum(again.to(tl.int32), axis=0) > 0, float("-inf"), value)
        value = tl.where(slot < C, value, float("inf"))  # no slot at all, and never the worst
        ok = cause < K
        bit_of = tl.full((width,), 1, tl.int64) << cause
        number = tl.arange(0, parents_width)
        for _ in range(n_rounds):
            left = tl.where(slot < C, value, float("-inf"))
            parents = tl.zeros((parents_width,), tl.int64) - 1
            for p in range(n_parents):
                if tl.max(left, axis=0) > float("-inf"):
                    best = tl.argmax(left, axis=0)
                    parents = tl.where(number == p, tl.sum(tl.where(slot == best, word, 0), axis=0), parents)
                    left = tl.where(slot == best, float("-inf"), left)
            for p in range(n_parents):
                parent = tl.sum(tl.where(number == p, parents, 0), axis=0)
                if parent >= 0:
                    child = parent ^ bit_of
                    to_be_on = (child & bit_of) != 0
                    found = _log_prior_of_flips(parent, cause, to_be_on, ok, profile, odds, P, K)
                    dear = tl.load(own + cause, mask=ok, other=0.0)
                    found += tl.where(to_be_on, dear, 0.0)
                    rest = parent
                    while rest != 0:
                        bit = rest & (-rest)
                        b = _number(bit)
                        found += tl.where(cause == b, 0.0, tl.load(own + b))
                        rest = rest ^ bit
                    for begin in range(first, last, block):
                        here = begin + at < last
                        column = tl.load(columns + begin + at, mask=here, other=0)
                        ground = tl.load(leak + column, mask=here, other=1.0)
                        use = here[:, None] & ok[None, :]
                        a = tl.load(theta + column[:, None] * K + cause[None, :], mask=use, other=0.0)
                        a = tl.where(to_be_on[None, :], a, 0.0) + ground[:, None]
                        rest = parent
                        while rest != 0:  # never added and taken off again: what is left may be small beside it
                            bit = rest & (-rest)
                            b = _number(bit)
                            pull = tl.load(theta + column * K + b, mask=here, other=0.0)
                            a += tl.where((cause == b)[None, :], 0.0, pull[:, None])
                            rest = rest ^ bit
                        found += _log_ones(tl.maximum(a, TINY), here[:, None], terms)
                    known = (word[:, None] == child[None, :]) & ((slot < C) & (value > float("-inf")))[:, None]
                    found = tl.where(ok & (tl.sum(known.to(tl.int32), axis=0) == 0), found, float("-inf"))
                    gain = tl.max(found, axis=0)
                    while gain > tl.min(value, axis=0):
                        best, worst = tl.argmax(found, axis=0), tl.argmin(value, axis=0)
                        new = parent ^ (tl.full((), 1, tl.int64) << best)
                        word = tl.where(slot == worst, new, word)
                        value = tl.where(slot == worst, gain, value)
                        found = tl.where(cause == best, float("-inf"), found)
                        gain = tl.max(found, axis=0)
        tl.store(words + row * C + slot, word, mask=slot < C)
        tl.store(score + row * C + slot, value, mask=slot < C)

    @triton.jit
    def _share(
        starts,
        rows,
        theta,
        leak,
        words,
        mass,
        caused,
        leaked,
        K,
        each,
        C: tl.constexpr,
        width: tl.constexpr,
        lanes: tl.constexpr,
        terms: tl.constexpr,
    ):
        """Of one column, `each` of its ones: how much of them each cause, and the leak, brought about.

        A lane takes one state of one row at a time, with all causes of it: lanes meet only at the end.
        """
        column, part = tl.program_id(0), tl.program_id(1)
        first = tl.load(starts + column) + part * each
        n_pairs = (tl.minimum(tl.load(starts + column + 1), first + each) - first) * C
        cause, lane = tl.arange(0, width), tl.arange(0, lanes)
        bit = (tl.full((width,), 1, tl.int64) << cause)[:, None]
        blame = tl.zeros((width, lanes), theta.dtype.element_ty)
        unknown = tl.zeros((lanes,), theta.dtype.element_ty)
        ground = tl.load(leak + column)
        for begin in range(0, n_pairs, lanes):
            pair = begin + lane
            here = pair < n_pairs
            row = tl.load(rows + first + pair // C, mask=here, other=0).to(tl.int64)
            word = tl.load(words + row * C + pair % C, mask=here, other=0)
            share = tl.load(mass + row * C + pair % C, mask=here, other=0.0)
            is_on = (word[None, :] & bit) != 0
            a = tl.zeros((lanes,), theta.dtype.element_ty) + ground
            for b in range(K):  # a sum over the axis of causes was wrong beyond 32 of them
                a += tl.where(((word >> b) & 1) != 0, tl.load(theta + column * K + b), 0.0)
            share = share / _lit(tl.maximum(a, TINY), terms)
            unknown += share
            blame += tl.where(is_on, share[None, :], 0.0)
        here = (part * tl.num_programs(0) + column).to(tl.int64)
        tl.store(caused + here * K + cause, tl.sum(blame, axis=1), mask=cause < K)
        tl.store(leaked + here, tl.sum(unknown, axis=0))

    @triton.jit
    def _count(words, mass, counted, n_pairs, each, K, width: tl.constexpr, lanes: tl.constexpr):
        """Of `each` states of all rows: how much mass has each cause on."""
        part = tl.program_id(0).to(tl.int64)
        cause, lane = tl.arange(0, width), tl.arange(0, lanes)
        bit = (tl.full((width,), 1, tl.int64) << cause)[:, None]
        total = tl.zeros((width, lanes), mass.dtype.element_ty)
        for begin in range(0, each, lanes):
            pair = part * each + begin + lane
            word = tl.load(words + pair, mask=pair < n_pairs, other=0)
            share = tl.load(mass + pair, mask=pair < n_pairs, other=0.0)
            total += tl.where((word[None, :] & bit) != 0, share[None, :], 0.0)
        tl.store(counted + part * K + cause, tl.sum(total, axis=1), mask=cause < K)

    def improve_on_gpu(ones, theta, leak, dark, profile, odds, words, n_parents, n_rounds):
        """States and scores (n, C); theta (D, K), dark (1 or n, K), odds (P, K)."""
        (n, c), k = words.shape, theta.shape[1]
        words, score = words.contiguous().clone(), theta.new_empty((n, c))
        theta, dark, odds = (part.contiguous() for part in (theta, dark, odds))
        slots, width = triton.next_power_of_2(c), triton.next_power_of_2(k)
        if n:
            _improve[(n,)](
                ones.row_starts,
                ones.columns,
                theta,
                leak,
                dark,
                profile,
                odds,
                words,
                score,
                n_rounds,
                k,
                profile.shape[0],
                c,
                min(n_parents, c),
                holes=int(dark.shape[0] > 1),
                slots=slots,
                width=width,
                parents_width=triton.next_power_of_2(n_parents),
                block=N_ONES,
                terms=_n_terms(theta),
                num_warps=1,
            )
        return words, score

    def share_on_gpu(ones, theta, leak, words, mass):
        """Sums (D, K) and (D,) over rows of mass (n, C) beside the chance of the ones; times flash, who caused them."""
        (d, k), c = theta.shape, words.shape[1]
        theta, parts = theta.contiguous(), max(1, -(-ones.most_in_a_column // N_IN_A_SUM))
        caused, leaked = theta.new_empty((parts, d, k)), theta.new_empty((parts, d))
        _share[(d, parts)](
            ones.column_starts,
            ones.rows,
            theta,
            leak,
            words.contiguous(),
            mass.contiguous(),
            caused,
            leaked,
            k,
            N_IN_A_SUM,
            C=c,
            width=triton.next_power_of_2(k),
            lanes=N_LANES,
            terms=_n_terms(theta),
            num_warps=1,
        )
        return caused.double().sum(0), leaked.double().sum(0)

    def count_on_gpu(words, mass, k):
        """(K,), sum of mass (n, C) over the states that have each cause on."""
        n_pairs, each = words.numel(), N_IN_A_SUM * N_LANES
        parts = max(1, -(-n_pairs // each))
        counted = mass.new_empty((parts, k))
        width = triton.next_power_of_2(k)
        _count[(parts,)](
            words.contiguous(), mass.contiguous(), counted, n_pairs, each, k, width=width, lanes=N_LANES, num_warps=1
        )
        return counted.double().sum(0)
