"""Samples of rows that are read in blocks: the same as of rows in memory, however they are ordered or cut.

One pass gathers a sketch, the rows whose hash is smallest, equal rows together with their weights. Up to SKETCH
distinct rows it knows all of them, and the sample is chosen as in memory; a second pass reads the chosen ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Rows, Source
from latens.estimators.rows.sampling import chosen_rows, row_keys, stacked

__all__ = ["badly_explained_rows", "sample_source"]

SKETCH = 2**16  # distinct rows among which the sample is chosen

# hash, key of the values, key of what is missing, weight, and where the row is: block and number within it
ENTRY = np.dtype([("hash", "u8"), ("values", "f8"), ("holes", "f8"), ("weight", "f8"), ("block", "i8"), ("row", "i8")])


@dataclass(frozen=True)
class Sketch:
    """The rows of smallest hash; two sketches add to that of the rows of both."""

    n: float  # sum of the weights of all rows
    entries: NDArray[Any]  # (m,) of ENTRY

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(self.n + other.n, _smallest(np.concatenate([self.entries, other.entries])))


def sample_source(source: Source, limit: int, exponents: Index | None = None) -> Rows:
    """Host rows at equal steps of cumulative weight along a fixed order; as many as are distinct, up to `limit`."""
    sketch: Sketch = source.total_with(partial(_sketch_block, exponents=exponents), range(len(source.handles)))
    found = sketch.entries
    order = np.lexsort((found["holes"], found["values"]))
    mass = np.cumsum(found["weight"][order])
    size = min(limit, max(len(order), int(np.ceil(sketch.n * (1 - 1e-9)))))
    # half a step in, and a hair less: a boundary between rows must not depend on the rounding of the sum
    at = np.searchsorted(mass, (np.arange(size) + 0.5) / size * mass[-1] * (1 - 1e-12))
    return _rows_at(source, found[order[np.minimum(at, len(order) - 1)]])


def badly_explained_rows(source: Source, log_density: Callable[[Rows], Floats], size: int) -> Rows:
    """About `size` weighted rows: half have the lowest log density of all, others stand for the rest."""
    step = _SurpriseOfBlock(log_density, size // 2, size - size // 2)
    found: Surprise = source.total_with(step, range(len(source.handles)))
    worst = {(entry["block"], entry["row"]) for entry in found.worst}
    rest = np.array([(entry["block"], entry["row"]) not in worst for entry in found.spread], dtype=bool)
    spread = found.spread[rest]
    rows = _rows_at(source, np.concatenate([found.worst, spread]))
    stands_for = (found.n_rows - len(found.worst)) / max(len(spread), 1)
    return replace(rows, weight=np.repeat([1.0, stands_for], [len(found.worst), len(spread)]))


@dataclass(frozen=True)
class Surprise:
    """Rows of the lowest log density, and rows chosen by hash; two add to those of the rows of both."""

    n_rows: int
    worst: NDArray[Any]  # of ENTRY, by rising density, which stands in the place of `weight`
    spread: NDArray[Any]  # of ENTRY, by rising hash
    n_worst: int
    n_spread: int

    def __add__(self, other: Surprise) -> Surprise:
        worst, spread = np.concatenate([self.worst, other.worst]), np.concatenate([self.spread, other.spread])
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            worst=worst.take(np.lexsort((worst["hash"], worst["weight"]))[: self.n_worst]),
            spread=spread.take(np.argsort(spread["hash"], kind="stable")[: self.n_spread]),
        )


@dataclass(frozen=True)
class _SurpriseOfBlock:
    log_density: Callable[[Rows], Floats]
    n_worst: int
    n_spread: int

    def __call__(self, rows: Rows, block: int) -> tuple[None, Surprise]:
        entries = _entries(rows, block)
        if len(rows):
            entries["weight"] = self.log_density(rows)
        none = Surprise(len(rows), entries[:0], entries[:0], self.n_worst, self.n_spread)
        return None, none + Surprise(0, entries, entries, self.n_worst, self.n_spread)


def _sketch_block(rows: Rows, block: int, exponents: Index | None) -> tuple[None, Sketch]:
    entries = _entries(rows, block, exponents)
    return None, Sketch(rows.n, _smallest(entries.take(np.flatnonzero(entries["weight"] > 0))))


def _entries(rows: Rows, block: int, exponents: Index | None = None) -> NDArray[Any]:
    keys = row_keys(rows, exponents)
    entries = np.zeros(len(rows), ENTRY)
    entries["values"], entries["holes"] = keys[0] + 0.0, keys[1]  # -0 and 0 are the same value
    entries["hash"] = _mixed(entries["values"]) ^ (_mixed(entries["holes"]) << np.uint64(1))
    entries["weight"] = 1.0 if rows.weight is None else host(rows.weight)
    entries["block"], entries["row"] = block, np.arange(len(rows))
    return entries


def _smallest(entries: NDArray[Any]) -> NDArray[Any]:
    """Equal rows as one, with the sum of their weights and the place of the first; the SKETCH smallest of those."""
    if not len(entries):
        return entries
    entries = _by_hash(entries)
    same = np.ones(len(entries) - 1, dtype=bool)
    for name in ("hash", "values", "holes"):
        same &= entries[name][1:] == entries[name][:-1]
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    smallest = entries.take(first[:SKETCH])
    smallest["weight"] = np.add.reduceat(entries["weight"], first)[:SKETCH]
    return smallest


def _by_hash(entries: NDArray[Any]) -> NDArray[Any]:
    """By hash, then values, holes and place. Few hashes are alike, and only those entries are compared by the rest."""
    entries = entries.take(np.argsort(entries["hash"]))  # of such records `take` is many times as quick as an index
    same = entries["hash"][1:] == entries["hash"][:-1]
    tied = np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    alike = entries.take(tied)
    order = np.lexsort(tuple(alike[name] for name in ("row", "block", "holes", "values", "hash")))
    entries[tied] = alike.take(order)
    return entries


def _mixed(values: NDArray[Any]) -> NDArray[Any]:
    """64 well mixed bits of each number: the finaliser of SplitMix64."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


@dataclass(frozen=True)
class _Nothing:
    """The sum of a pass that only reads."""

    def __add__(self, other: _Nothing) -> _Nothing:
        return self


def _take_from_block(rows: Rows, wanted: Any) -> tuple[Rows | None, _Nothing]:
    return chosen_rows(rows, wanted) if len(wanted) else None, _Nothing()


def _rows_at(source: Source, entries: NDArray[Any]) -> Rows:
    """The rows of some entries, in that order, on the host; one pass, in which blocks without any are read too."""
    block = entries["block"]
    wanted = [entries["row"][block == number] for number in range(len(source.handles))]
    parts, _ = source.over(_take_from_block, wanted)
    found = stacked([part for part in parts if part is not None])
    complete = found.seen is None or bool(found.seen.all())
    by_block = replace(found, seen=None if complete else found.seen, weight=None)
    return by_block.take(np.argsort(np.argsort(block, kind="stable"), kind="stable"))
