"""Joint states of K switches: the table of all of them, and sets of them packed into 64-bit words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, device

from latens.array import Array, Floats, Index
from latens.array.transfer import like

__all__ = ["MOST_SWITCHES", "all_states", "chosen", "pack", "repacked", "unpack"]

MOST_SWITCHES = 62  # bits of a signed word, which every array library can shift


@lru_cache(maxsize=32)
def all_states(k: int) -> Floats:
    """(2^K, K), every state once, as 0.0 and 1.0; read-only."""
    table = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(np.float64)
    table.flags.writeable = False
    return table


def unpack(words: Array, k: int, x: Array) -> Array:
    """(n, C, K), the bits of (n, C) words, as numbers like x."""
    xp = array_namespace(words)
    shifts = xp.asarray(np.arange(k), dtype=xp.int64, device=device(words))
    bits = xp.bitwise_and(xp.bitwise_right_shift(words[:, :, None], shifts), xp.ones_like(shifts))
    return xp.astype(bits, x.dtype)


def pack(bits: Array) -> Array:
    """(n, C) words of (n, C, K) numbers 0 and 1."""
    xp = array_namespace(bits)
    shifts = xp.asarray(np.arange(bits.shape[2]), dtype=xp.int64, device=device(bits))
    return xp.sum(xp.bitwise_left_shift(xp.astype(bits > like(0.5, bits), xp.int64), shifts), axis=2)


def chosen(on: Array, of: Index) -> Array:
    """(n, K'), of switches (n, K) those of these numbers; one of number -1 is off."""
    table = np.zeros((on.shape[1], len(of)))
    table[of[of >= 0], np.flatnonzero(of >= 0)] = 1.0
    return on @ like(table, on)


def repacked(words: Array, of: Index) -> Array:
    """(n, C), the same of states packed into words."""
    xp = array_namespace(words)
    one, new = xp.ones_like(words), xp.zeros_like(words)
    for k, old in enumerate(of.tolist()):
        if old >= 0:
            bit = xp.bitwise_and(xp.bitwise_right_shift(words, old * one), one)
            new = xp.bitwise_or(new, xp.bitwise_left_shift(bit, k * one))
    return new
