"""What stands for missing values: words and numbers that were named, and numbers such as -999 that a column repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.intake.marks import plain_number
from latens.intake.raw_table import level_text

__all__ = ["NamedMissing", "column_ends", "may_hold_codes", "missing_codes"]

Floats = NDArray[np.float64]

LEAST_SHARE = 0.01  # of a column, that a code must fill
LEAST_NAMED = 5  # occurrences from which a usual code, such as -999, counts as one in a column of any length
LARGEST_SHARE = 0.5
LEAST_GAP = 10.0  # interquartile ranges between a code and the other values
LEAST_GAP_BESIDE = 1.0  # the same of a usual code, such as 99, beside one that is farther out, such as 999
LEAST_RANGES = 2.0  # ranges of the other values between them and a code that is no row of nines: tails are no codes
RANGES_FROM_ZERO = 10.0  # the same of 0
LARGEST_SHARE_OF_ZEROS = 0.1  # of a column in which 0 is no value
MOST_CODES = 4  # in one column, such as 97, 98 and 99
MANY_VALUES = 10  # distinct ones beside the code, without which any far value might be a level
MOST_ROWS = 20_000  # looked at
NAMED = re.compile(r"-?9{2,}|-?8{2,}|-?9+7|-?9+8|-32768|-2147483648|2147483647|65535|1e\+?\d+")
SURVEY_CODES = (-9.0, -8.0, -7.0)  # of surveys, of which one is the lowest value; -1 may be beside it
LEAST_STEPS = 3.0  # between neighbours among the other values, that lie between these and such a code


@dataclass(frozen=True)
class NamedMissing:
    """What the caller says of missing values.

    Parameters
    ----------
    words : tuple of str
        Cells of text that stand for missing, whatever their case.
    codes : tuple of float, optional
        Numbers that do; None: they are looked for.
    """

    words: tuple[str, ...] = ()
    codes: tuple[float, ...] | None = None

    @classmethod
    def of(cls, given: str | float | Sequence[str | float]) -> NamedMissing:
        """Words and numbers as they were given; "auto" looks for numbers, as words alone do, and "none" takes none.

        >>> NamedMissing.of("auto"), NamedMissing.of(["refused", "none"])
        (NamedMissing(words=(), codes=None), NamedMissing(words=('refused',), codes=()))
        >>> NamedMissing.of(["refused", "-999"])
        NamedMissing(words=('refused', '-999'), codes=(-999.0,))
        """
        each = [given] if isinstance(given, str | float | int) else list(given)
        numbers = [None if value in ("auto", "none") else plain_number(str(value)) for value in each]
        codes = tuple(dict.fromkeys(number for number in numbers if number is not None and number == number))
        words = [str(value).strip() for value, number in zip(each, numbers, strict=True) if number is None]
        texts = dict.fromkeys([*(word for word in words if word not in ("", "auto", "none")), *map(level_text, codes)])
        return cls(tuple(texts), codes if codes or "none" in each else None)


def missing_codes(values: Floats, *, may_hold: bool = False) -> dict[float, int]:
    """The codes in a column, each with how often it occurs; `may_hold` where `may_hold_codes` has been asked.

    >>> missing_codes(np.array([1.0, 2.0, 3.0, 2.5, -999.0, 1.5, -999.0]))
    {-999.0: 2}
    >>> missing_codes(np.array([1.0, 2.0, 3.0, 2.5, 1.5, -999.0])), missing_codes(np.full(3, np.nan))
    ({}, {})
    >>> missing_codes(np.append(np.arange(2000.0) % 7, np.full(5, -999.0)))  # few, of a number that people write
    {-999.0: 5}
    """
    hole = np.isnan(values)
    seen = values[~hole] if hole.any() else values
    part = seen if len(seen) <= MOST_ROWS else seen[:: len(seen) // MOST_ROWS]
    if not may_hold and not may_hold_codes(part[:, None])[0]:
        return {}
    distinct, counts = np.unique(part, return_counts=True)
    found: dict[float, int] = {}
    for _ in range(2):  # one end, then the other
        codes = _codes(distinct, counts, len(part))
        if not len(codes):
            break
        found |= {float(code): int(np.sum(seen == code)) for code in codes}
        left = ~np.isin(distinct, codes)
        distinct, counts = distinct[left], counts[left]
    return found


def column_ends(x: Floats) -> tuple[Floats, Floats]:
    """(D,) twice: the least and the greatest number of each column (n, D), n > 0; NaN where it has none."""
    low, high = x.min(axis=0), x.max(axis=0)
    return (np.fmin.reduce(x), np.fmax.reduce(x)) if np.isnan(low).any() else (low, high)


def may_hold_codes(x: Floats, ends: tuple[Floats, Floats] | None = None) -> NDArray[np.bool_]:
    """(D,), whether the least or the greatest value of a column (n, D) may be a code: most are none at a glance.

    `ends`: these values, where they are known.
    """
    n = len(x) - np.count_nonzero(np.isnan(x), axis=0)
    found = np.zeros(x.shape[1], dtype=bool)
    if not len(x):
        return found
    ends = column_ends(x) if ends is None else ends
    counts = [np.count_nonzero(x == end, axis=0) for end in ends]
    more = n > sum(counts)  # of two values neither is far from the others
    for end, count in zip(ends, counts, strict=True):
        whole = np.flatnonzero(end == np.round(end))  # as all numbers are that stand for missing values
        usual = np.zeros_like(found)
        usual[whole] = [_is_named(value) or value in SURVEY_CODES for value in end[whole].tolist()]
        at = np.flatnonzero(more & ~usual & ~found & _are_many(count, n))
        found |= usual
        found[at] = _is_far(x[:, at], end[at]) if len(x) <= MOST_ROWS else True
    return np.asarray(found & more)


def _is_far(x: Floats, end: Floats) -> NDArray[np.bool_]:
    """(D,), whether the others of a column (n, D) are so far from its end as a code must be that nobody writes."""
    low, high = column_ends(np.where(x == end, np.nan, x))
    return np.asarray(np.minimum(np.abs(low - end), np.abs(high - end)) > LEAST_RANGES * (high - low))


def _is_named(value: float) -> bool:
    """Whether programs and people write this number for missing values."""
    return bool(NAMED.fullmatch(f"{value:.15g}"))


def _are_many(count: Any, n: Any) -> Any:
    """Whether a value that occurs so often in n rows may be a code; numbers, or arrays of them."""
    return (count >= 2) & (count >= LEAST_SHARE * n)


def _codes(distinct: Floats, counts: NDArray[np.int64], n: int) -> Floats:
    """The codes among the lowest of a column's distinct values (ascending), or if there are none, among the highest."""
    if len(found := _survey_codes(distinct, counts, n)):
        return found
    for direction in (1, -1):
        ordered, often = distinct[::direction], counts[::direction]
        named = [_is_named(value) for value in ordered[:MOST_CODES]]
        most = max(1, named.index(False) if False in named else len(named))  # 97, 98 and 99 come together
        for run in range(most, 0, -1):  # 99 is near the others, where 999 is not
            codes, others = ordered[:run], ordered[run:][::direction]
            if _are_enough(often[:run], n, named[0]) and len(others) >= 2:
                count = int(often[:run].sum())
                if _are_codes(codes, named[0], count, others, often[run:][::direction]):
                    return ordered[: _beside(run, most, ordered, often, n)]
    return np.empty(0)


def _beside(run: int, most: int, ordered: Floats, often: NDArray[np.int64], n: int) -> int:
    """How many of the values at one end are codes where the first `run` are, and `most` at most."""
    for longer in range(most, run, -1):
        others, counts = ordered[longer:], often[longer:]
        if len(others) >= 2 and _are_enough(often[run:longer], n, True) and often[:longer].sum() <= LARGEST_SHARE * n:
            ascending = np.argsort(others)
            gap = float(np.min(np.abs(others - ordered[longer - 1])))
            if gap > LEAST_GAP_BESIDE * _spread(others[ascending], counts[ascending]):
                return longer
    return run


def _survey_codes(distinct: Floats, counts: NDArray[np.int64], n: int) -> Floats:
    """Such as -9, -8 and -1: the only negative values, each repeated, and far below the others as these lie."""
    negative = int(np.searchsorted(distinct, 0.0))
    codes, others = distinct[:negative], distinct[negative:]
    if not negative or codes[0] not in SURVEY_CODES or not np.isin(codes, (*SURVEY_CODES, -1.0)).all():
        return np.empty(0)
    if len(others) < 2 or counts[:negative].min() < 2 or not _are_enough(counts[:negative], n, True):
        return np.empty(0)
    steps = np.diff(others[: 1 + len(others) // 2])  # of the lower half: tails to the right are long
    return codes if float(others[0] - codes[-1]) > LEAST_STEPS * float(steps.max()) else np.empty(0)


def _are_enough(counts: NDArray[np.int64], n: int, named: bool) -> bool:
    """Whether values that occur so often in n rows may be codes, and leave others."""
    count = int(counts.sum())
    return bool(_are_many(count, n) or (named and count >= LEAST_NAMED)) and count <= LARGEST_SHARE * n


def _are_codes(codes: Floats, named: bool, count: int, others: Floats, often: NDArray[np.int64]) -> bool:
    """Whether values at one end are too far from the others to be of their kind."""
    if named and codes[-1] < 0 <= others[0]:
        return True  # the only negative values
    gap = float(np.min(np.abs(others - codes[-1])))
    spread = _spread(others, often)
    if gap <= LEAST_GAP * spread:
        return False
    is_zero = codes[0] == 0  # a value of many columns, such as money spent, or its logarithm; of years it is none
    ranges = RANGES_FROM_ZERO if is_zero else LEAST_RANGES
    far = spread > 0 and len(others) >= MANY_VALUES and gap > ranges * float(others[-1] - others[0])
    common = is_zero and count > LARGEST_SHARE_OF_ZEROS * (count + often.sum())
    return named or (far and not common and codes[0] != 1 and float(codes[0]).is_integer())


def _spread(values: Floats, often: NDArray[np.int64]) -> float:
    """The interquartile range of distinct values (ascending) that occur so often."""
    low, high = np.interp([0.25, 0.75], (np.cumsum(often) - often / 2) / often.sum(), values)
    return float(high - low)
