"""How published numbers move with a posterior, where most of them are of one column or component.

A coordinate of every block (`arrow`) is moved at once; which block a number is of is told by how far it moves when
blocks go different ways. A move along random signs tells whether that is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from latens.array import Floats, Index
from latens.core.coordinates import Chart
from latens.inference.uncertainty.arrow import Blocks

__all__ = ["ColumnSlopes", "column_slopes"]

DIGITS = 40  # that are told apart where a number is bent so much that its slope is off by a hundredth
MOST_BENT = 10.0  # times what a step leaves of the second order: errors of a slope up to this are the third


@dataclass(frozen=True, eq=False)
class ColumnSlopes:
    """Derivatives of numbers, each by the coordinates of one block and of the border."""

    blocks: Blocks
    block: Index  # (m,)
    own: Floats  # (m, p)
    border: Floats  # (m, b)

    @cached_property
    def matrix(self) -> csr_array:
        """(m, P), few of whose entries are not 0."""
        rows, slots = np.nonzero(self.own)
        others, places = np.nonzero(self.border)
        values = np.concatenate([self.own[rows, slots], self.border[others, places]])
        columns = np.concatenate([self.blocks.slots[self.block[rows], slots], self.blocks.border[places]])
        is_inner = columns < self.blocks.size
        index = np.concatenate([rows, others])[is_inner], columns[is_inner]
        return csr_array((values[is_inner], index), shape=(len(self.block), self.blocks.size))

    @property
    def dense(self) -> Floats:
        """(m, P), the same with its zeros."""
        found = np.zeros((len(self.block), self.blocks.size + 1))
        found[np.arange(len(self.block))[:, None], self.blocks.slots[self.block]] = self.own
        found[:, self.blocks.border] = self.border
        return found[:, :-1]

    def derivative(self, v: Floats) -> Floats:
        """(m,), derivatives along v, once."""
        inner = np.sum(self.own * self.blocks.gathered(v)[self.block], axis=1)
        return np.asarray(inner + self.border @ v[self.blocks.border])

    def times(self, v: Floats) -> Floats:
        """(m,), the same for one v after another."""
        return np.asarray(self.matrix @ v)

    def meets(self, which: Any) -> Any:
        """(m,), whether numbers move with some of these coordinates."""
        sizes = abs(self.matrix)
        largest = sizes.max(axis=1).toarray().ravel()
        return sizes.multiply(which.astype(float)).max(axis=1).toarray().ravel() > 1e-3 * largest


def column_slopes(quantity: Callable[[Any], Floats], chart: Chart, blocks: Blocks, step: float) -> ColumnSlopes | None:
    """Derivatives by central differences; None where a number moves with several blocks."""
    p = blocks.slots.shape[1]
    rng = np.random.default_rng(1)

    def ends(v: Floats) -> tuple[Floats, Floats]:
        return quantity(chart.at(step * v)), quantity(chart.at(-step * v))

    def moved(v: Floats) -> Floats:
        up, down = ends(v)
        return np.asarray((up - down) / (2 * step))

    if p:
        own = np.stack([moved(blocks.moved(slot)) for slot in range(p)], axis=1)
    else:
        own = np.zeros((len(quantity(chart.point)), 0))
    which = _blocks_of_numbers(moved, blocks, own, rng.uniform(0.5, 1.0, size=(p,)))
    border = _border_slopes(moved, blocks, len(own))
    found = ColumnSlopes(blocks, which, own, border)
    probe = rng.uniform(0.5, 1.0, chart.size) * rng.choice([-1.0, 1.0], size=chart.size)
    up, down = ends(probe)
    size = np.abs(own).sum(axis=1) + np.abs(border).sum(axis=1)
    # what is next to nothing, such as the square of a loading that is, moves by its second order first, and differences
    # of it hold as much of the third
    bent = np.abs(up + down - 2 * quantity(chart.point))
    error = np.abs(found.derivative(probe) - (up - down) / (2 * step))
    return found if np.all(error <= 1e-3 * size + MOST_BENT * bent) else None


def _blocks_of_numbers(moved: Callable[[Floats], Floats], blocks: Blocks, own: Floats, sizes: Floats) -> Index:
    """(m,), told by how far each moves where blocks go as far as the digits of their place say: one move for each."""
    (n_blocks, p), nothing = blocks.slots.shape, np.zeros(len(blocks.border))
    alike, which = own @ sizes, np.zeros(len(own), dtype=int)
    there, base = alike != 0, 1
    while p and base < n_blocks:
        digits = np.arange(n_blocks) // base % DIGITS
        far = moved(blocks.scattered(sizes * (1 + digits / DIGITS)[:, None], nothing))
        found = np.rint((np.where(there, far / np.where(there, alike, 1.0), 1.0) - 1) * DIGITS)
        which += base * np.clip(found, 0, DIGITS - 1).astype(int)
        base *= DIGITS
    return np.minimum(which, max(n_blocks - 1, 0))


def _border_slopes(moved: Callable[[Floats], Floats], blocks: Blocks, m: int) -> Floats:
    """(m, b); groups of coordinates that move no number are not looked into."""
    found, sizes = np.zeros((m, len(blocks.border))), np.random.default_rng(2).uniform(0.5, 1.0, len(blocks.border))
    groups = [(0, len(blocks.border))] if len(blocks.border) else []
    while groups:
        low, high = groups.pop()
        v = np.zeros(blocks.size)
        v[blocks.border[low:high]] = sizes[low:high] if high - low > 1 else 1.0
        slope = moved(v)
        if high - low == 1:
            found[:, low] = slope
        elif slope.any():
            middle = (low + high) // 2
            groups += [(low, middle), (middle, high)]
    return found
