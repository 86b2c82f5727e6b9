"""Exponentials and logarithms for compiled loops: free of branches and calls, so that the compiler vectorises them.

`copy`, `fill` and `add_rows` are loops where slices would be shorter: an assignment to a slice takes the compiler a
second or more, since it must be ready for arrays of any shape, and that is waited for in the first call of all.

Right to about one unit in the last place. A division that may raise is not vectorised either: whoever calls these is
compiled with `COMPILED`, too. Fusing a product with a sum, as that allows, only saves a rounding.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

from math import factorial
from typing import Any

import numba as nb
import numpy as np

__all__ = [
    "COMPILED",
    "LARGEST_EXPONENT",
    "SUMS",
    "add_rows",
    "copy",
    "fill",
    "log_beyond_one",
    "log_normal",
    "log_one_more",
    "shrunk",
]

COMPILED: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
SUMS = {**COMPILED, "fastmath": {"contract", "reassoc"}}  # sums in the order that suits the compiler

LOG2_E = 1.4426950408889634
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first ends in zeros
LARGEST_EXPONENT = 708.0  # beyond it the power would leave the range of normal numbers
ROUNDING = 1.5 * 2.0**52  # adding it rounds to a whole number, which is then in the last bits
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1 / factorial(i) for i in range(2, 14))
# log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)),  s = f / (2 + f),  f from sqrt(1/2) - 1 to sqrt(2) - 1
R1, R2, R3, R4 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01
R5, R6, R7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
ROOT_2_LESS_1 = 0.41421356237309503
HALF_ROOT = 0x3FE6A09E00000000  # the bits of sqrt(1/2), roughly
BITS_OF_ONE = 0x3FF0000000000000
FRACTION = 0x000FFFFFFFFFFFFF


@nb.njit(**COMPILED)
def copy(values, out):
    """The first entries of `values`, as many as `out` has, into it."""
    for i in range(len(out)):
        out[i] = values[i]


@nb.njit(**COMPILED)
def fill(value, out):
    for i in range(len(out)):
        out[i] = value


@nb.njit(**COMPILED)
def add_rows(more, out):
    """Entries of the matrix `more`, added to those of `out`."""
    for a in range(len(out)):
        into, own = out[a], more[a]
        for j in range(len(into)):
            into[j] += own[j]


@nb.njit(**COMPILED)
def shrunk(x):
    """e^-x and 1 - e^-x for x >= 0, both to the last digit; beyond 708 they stay there."""
    x = -min(x, LARGEST_EXPONENT)
    rounded = x * LOG2_E + ROUNDING
    m = rounded - ROUNDING
    r = (x - m * LN_2_HIGH) - m * LN_2_LOW  # e^x = 2^m e^r with r within ln 2 / 2 of 0
    tail = C12 + r * C13
    tail = C11 + r * tail
    tail = C10 + r * tail
    tail = C9 + r * tail
    tail = C8 + r * tail
    tail = C7 + r * tail
    tail = C6 + r * tail
    tail = C5 + r * tail
    tail = C4 + r * tail
    tail = C3 + r * tail
    tail = C2 + r * tail
    tail = r + r * r * tail
    power = np.int64((np.float64(rounded).view(np.int64) + 1023) << 52).view(np.float64)
    return power + power * tail, (1.0 - power) - power * tail


@nb.njit(**COMPILED)
def _log_near_one(f, m):
    """m log 2 + log(1 + f)."""
    s = f / (2.0 + f)
    z = s * s
    rest = z * (R1 + z * (R2 + z * (R3 + z * (R4 + z * (R5 + z * (R6 + z * R7))))))
    half = 0.5 * f * f
    return m * LN_2_HIGH - ((half - (s * (half + rest) + m * LN_2_LOW)) - f)


@nb.njit(**COMPILED)
def log_beyond_one(x):
    """log(1 + x) for x from 0 to 1."""
    far = x > ROOT_2_LESS_1
    return _log_near_one(0.5 * (x - 1.0) if far else x, 1.0 if far else 0.0)


@nb.njit(**COMPILED)
def log_normal(x):
    """log x of a positive number in the range of normal ones."""
    bits = np.float64(x).view(np.int64) + (BITS_OF_ONE - HALF_ROOT)
    fraction = np.int64((bits & FRACTION) + HALF_ROOT).view(np.float64)
    return _log_near_one(fraction - 1.0, np.float64((bits >> 52) - 1023))


@nb.njit(**COMPILED)
def log_one_more(x):
    """log(1 + x) for x > -1, also where it is tiny: what 1 + x has lost of x is made up for."""
    whole = 1.0 + x
    rest = whole - 1.0
    return x if rest == 0.0 else log_normal(whole) * (x / rest)
