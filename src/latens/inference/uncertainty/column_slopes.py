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
    n_blocks, p = blocks.slots.shape
    rng = np.random.default_rng(1)

    def moved(v: Floats) -> Floats:
        return np.asarray((quantity(chart.at(step * v)) - quantity(chart.at(-step * v))) / (2 * step))

    # blocks are told apart by how far they are moved: twice the same, once each times a number of its own
    inner = rng.uniform(0.5, 1.0, size=(1, p)) * np.ones((n_blocks, 1))
    numbers = 1 + np.arange(n_blocks) / max(n_blocks, 1)
    nothing = np.zeros(len(blocks.border))
    alike = moved(blocks.scattered(inner, nothing))
    numbered = moved(blocks.scattered(inner * numbers[:, None], nothing))
    there = alike != 0
    which = np.where(there, np.rint((numbered / np.where(there, alike, 1.0) - 1) * n_blocks), 0).astype(int)
    which = np.clip(which, 0, max(n_blocks - 1, 0))
    own = np.stack([moved(blocks.moved(slot)) for slot in range(p)], axis=1) if p else np.zeros((len(alike), 0))
    border = _border_slopes(moved, blocks, len(alike))
    found = ColumnSlopes(blocks, which, own, border)
    probe = rng.uniform(0.5, 1.0, chart.size) * rng.choice([-1.0, 1.0], size=chart.size)
    size = np.abs(own).sum(axis=1) + np.abs(border).sum(axis=1)
    return found if np.all(np.abs(found.derivative(probe) - moved(probe)) <= 1e-3 * size) else None


def _border_slopes(moved: Callable[[Floats], Floats], blocks: Blocks, m: int) -> Floats:
    """(m, b); groups of coordinates that move no number are not looked into."""
    found, sizes = np.zeros((m, len(blocks.border))), np.random.default_rng(2).uniform(0.5, 1.0, len(blocks.border))
    groups = [(0, len(blocks.border))]
    while groups:
        low, high = groups.pop()
        v = np.zeros(blocks.size)
        v[blocks.border[low:high]] = sizes[low:high] if high - low > 1 else 1.0
        slope = moved(v)
        if high - low == 1:
            found[:, low] = slope
        elif high > low and slope.any():
            middle = (low + high) // 2
            groups += [(low, middle), (middle, high)]
    return found
