"""Rows as compiled loops over entries take them: the numbers of one column lie together, in double precision."""

from __future__ import annotations

import numpy as np

from latens.array import Array, Floats

__all__ = ["by_column", "whole"]


def by_column(x: Array, beside: Array) -> tuple[Floats, Floats]:
    """(D, n) each, of rows x (n, D) and of what stands beside their entries, (1 or n, D)."""
    return whole(x.T)[0], whole(np.broadcast_to(beside, x.shape).T)[0]


def whole(*each: Array) -> list[Floats]:
    """Arrays without gaps that may be written to: for others, such as broadcast ones, loops are compiled once more."""
    return [np.require(one, np.float64, ["C", "W"]) for one in each]
