"""Numbers that stand for missing values, such as -999: a far extreme that a column repeats."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

__all__ = ["missing_codes"]

Floats = NDArray[np.float64]

LEAST_SHARE = 0.01  # of a column, that a code must fill
LEAST_GAP = 10.0  # interquartile ranges between a code and the other values
MOST_CODES = 4  # in one column, such as 97, 98 and 99
MANY_VALUES = 10  # distinct ones beside the code, without which any far value might be a level
MOST_ROWS = 20_000  # looked at
NINES = re.compile(r"-?9{2,}|-?8{2,}|-?9+7|-?9+8|-32768|-2147483648|2147483647|65535|1e\+?\d+")


def missing_codes(values: Floats) -> dict[float, int]:
    """The codes in a column, each with how often it occurs.

    >>> missing_codes(np.array([1.0, 2.0, 3.0, 2.5, -999.0, 1.5, -999.0]))
    {-999.0: 2}
    >>> missing_codes(np.array([1.0, 2.0, 3.0, 2.5, 1.5, -999.0]))
    {}
    """
    seen = values[~np.isnan(values)]
    part = seen if len(seen) <= MOST_ROWS else seen[:: len(seen) // MOST_ROWS]
    distinct, counts = np.unique(part, return_counts=True)
    found: dict[float, int] = {}
    for _ in range(MOST_CODES):
        code = _code(distinct, counts, len(part))
        if code is None:
            break
        found[code] = int(np.sum(seen == code))
        counts, distinct = counts[distinct != code], distinct[distinct != code]
    return found


def _code(distinct: Floats, counts: NDArray[np.int64], n: int) -> float | None:
    if len(distinct) < 3:
        return None
    for at, rest in ((0, slice(1, None)), (-1, slice(None, -1))):
        if counts[at] < max(2, LEAST_SHARE * n):
            continue
        others, often = distinct[rest], counts[rest]
        gap = float(np.min(np.abs(others - distinct[at])))
        low, high = np.interp([0.25, 0.75], (np.cumsum(often) - often / 2) / often.sum(), others)
        spread = float(high - low)
        code = bool(NINES.fullmatch(f"{distinct[at]:.15g}"))
        if code and distinct[at] < 0 <= others[0]:
            return float(distinct[at])  # the only negative values
        if gap > LEAST_GAP * spread and (code or (spread > 0 and len(others) >= MANY_VALUES)):
            return float(distinct[at])
    return None
