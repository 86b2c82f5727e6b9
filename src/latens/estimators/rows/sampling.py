"""A sample of the rows to start from, the same however rows are ordered, repeated, weighted or cut into blocks.

One pass gathers a sketch, the rows whose hash is smallest, equal rows together with their weights: up to SKETCH
distinct rows it knows all of them. The sample is chosen among those, at equal steps of cumulative weight along a fixed
order. Rows in blocks need a second pass, which reads the chosen ones. Complete rows on a device are put in order
there, all of them, so that of more than SKETCH rows another sample is chosen than on the host.

Nor does the order of a sample depend on that of the columns: whatever is drawn for columns, such as the direction along
which rows are put in order, goes by what they hold (`column_places`), not by where they stand. Of more rows than a
sample has, which are in it does depend on that: blocks of rows are chosen from before anybody has seen all of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from latens.array import Array, Floats, Index
from latens.array.transfer import host, is_sparse, like, take, to_numpy
from latens.core import Rows, Source, blocks

__all__ = [
    "badly_explained_rows",
    "chosen_rows",
    "column_places",
    "column_variances",
    "distinct",
    "filled",
    "in_order",
    "row_keys",
    "sample_rows",
    "sample_source",
    "stacked",
    "without_units",
]

SKETCH = 2**16  # distinct rows among which the sample is chosen
ROWS_AT_ONCE = 2**17  # in memory, of which entries are made before the next
NUMBERS_AT_HAND = 2**17  # that a core has at hand, and what is made of them
LEAST_SPREAD = 1e-12  # spread beside the mean, below which it is rounding

# hash, key of the values, key of what is missing, weight, and where the row is: block and number within it
ENTRY = np.dtype([("hash", "u8"), ("values", "f8"), ("holes", "f8"), ("weight", "f8"), ("block", "i8"), ("row", "i8")])


@dataclass(frozen=True)
class Sketch:
    """The rows of smallest hash; two sketches add to that of the rows of both."""

    n: float  # sum of the weights of all rows
    entries: NDArray[Any]  # (m,) of ENTRY

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(self.n + other.n, _smallest(np.concatenate([self.entries, other.entries])))

    def candidates(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Those of further rows that the sketch of all may hold."""
        return entries if len(self.entries) < SKETCH else entries[entries["hash"] <= self.entries["hash"][-1]]

    def choice(self, limit: int) -> NDArray[Any]:
        """Entries at equal steps of cumulative weight, as many as all rows count or as are distinct, up to `limit`."""
        values, holes = self.entries["values"], self.entries["holes"]
        order = np.lexsort((holes, values))  # rows that tie are the same row
        n_distinct = 1 + int(np.count_nonzero((np.diff(values[order]) != 0) | (np.diff(holes[order]) != 0)))
        size = min(limit, max(n_distinct, int(np.ceil(self.n * (1 - 1e-9)))))
        return self.entries.take(order[_even_steps(np.cumsum(self.entries["weight"][order]), size)])


def sample_rows(rows: Rows, limit: int = 4096, exponents: Index | None = None) -> Rows:
    """Host rows at equal steps of cumulative weight along a fixed order, up to `limit`; sparse rows stay sparse.

    As many as all rows count, or as are distinct where they count less: equal rows are in it as often as they are
    common, and weights that add up to little leave none out. `exponents` (D,) are the powers of two that columns are
    divided by for the order, so that their units have no part in it.
    """
    if rows.weight is None and _has_one_key_elsewhere(rows):
        steps = _even_steps(np.arange(1.0, len(rows) + 1), min(limit, len(rows)))
        return chosen_rows(rows, _ordered_there(rows, exponents, steps))
    if len(rows) <= SKETCH:  # all of them are in the sketch, for which no hash is needed
        return chosen_rows(
            rows, Sketch(rows.n, _weighted_entries(rows, 0, exponents, hashed=False)).choice(limit)["row"]
        )
    sketch = Sketch(0.0, np.zeros(0, ENTRY))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[slice(start, start + ROWS_AT_ONCE)]
        sketch += Sketch(part.n, _smallest(sketch.candidates(_weighted_entries(part, 0, exponents, start))))
    return chosen_rows(rows, sketch.choice(limit)["row"])


def sample_source(source: Source, limit: int, exponents: Index | None = None) -> Rows:
    """The sample that the rows of all blocks have in memory."""
    sketch: Sketch = source.total_with(partial(_sketch_block, exponents=exponents), range(len(source.handles)))
    return _rows_at(source, sketch.choice(limit))


def _even_steps(mass: Floats, size: int) -> Index:
    """(size,), where a cumulative sum reaches the middle of each of so many equal steps."""
    # a hair less than half a step in: a boundary between rows must not depend on the rounding of the sum
    at = np.searchsorted(mass, (np.arange(size) + 0.5) / size * mass[-1] * (1 - 1e-12))
    return np.asarray(np.minimum(at, len(mass) - 1), dtype=np.intp)


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
    return None, Sketch(rows.n, _smallest(_weighted_entries(rows, block, exponents)))


def _weighted_entries(
    rows: Rows, block: int, exponents: Index | None, start: int = 0, *, hashed: bool = True
) -> NDArray[Any]:
    """Of the rows that count; the first of them is that number `start` of the block."""
    entries = _entries(rows, block, exponents, hashed=hashed)
    entries["row"] += start
    return entries.take(np.flatnonzero(entries["weight"] > 0))


def _entries(rows: Rows, block: int, exponents: Index | None = None, *, hashed: bool = True) -> NDArray[Any]:
    keys = row_keys(rows, exponents)
    entries = np.zeros(len(rows), ENTRY)
    entries["values"], entries["holes"] = keys[0] + 0.0, keys[1]  # -0 and 0 are the same value
    if hashed:
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


def _has_one_key_elsewhere(rows: Rows) -> bool:
    """Whether rows of another library, complete and with nothing else known of them, are sorted where they are."""
    return not is_sparse(rows.x) and not is_numpy_array(rows.x) and rows.seen is None and not rows.aux


def _ordered_there(rows: Rows, exponents: Index | None, at: Index) -> Index:
    """Which rows stand at these places of the fixed order; the host would take longer to sort a million than to fit."""
    xp, d = array_namespace(rows.x), int(rows.x.shape[1])
    direction = _directions(d, d, exponents)[0]
    order = xp.argsort(xp.concat([_row_sums(block.x, direction) for block in blocks(rows, 0)]), stable=True)
    return np.asarray(to_numpy(take(order, at)), dtype=np.intp)


def without_units(sample: Rows) -> Rows:
    """The same rows in an order that does not depend on the units of single columns, but for rounding."""
    x = np.asarray(filled(sample), dtype=np.float64)
    spread = x.std(axis=0)
    z = Rows((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0), sample.seen)
    return sample.take(_by_content(z))


def in_order(sample: Rows) -> Rows:
    """The same rows in an order that does not depend on that of the columns."""
    return sample.take(_by_content(sample))


def _by_content(sample: Rows) -> Index:
    keys = _keys(sample, places=column_places(sample))
    return np.asarray(np.lexsort(keys[::-1]), dtype=np.intp)


def column_places(rows: Rows) -> Index:
    """(D,), the place of each column in an order that depends on what columns hold, and not on where they stand.

    It is that of E[z_d |z|^2] over rows z in units of their columns' spread, the same for shuffled, repeated and
    weighted rows and for other units: how skewed a column is, and which way rows lie that are far out in others.
    """
    d, n = int(rows.x.shape[1]), np.maximum(rows.counts, np.finfo(float).tiny)
    parts = _at_hand(rows) if isinstance(rows.x, np.ndarray) else blocks(rows, 0)
    mean = np.sum([_column_sums(part) for part in parts], axis=0) / n
    spread = np.sqrt(np.sum([_column_squares(part, mean) for part in parts], axis=0) / n)
    scale = np.where(spread > LEAST_SPREAD * np.abs(mean), 1 / np.where(spread > 0, spread, 1.0), 0.0)
    places = np.empty(d, dtype=np.intp)
    places[np.argsort(np.sum([_far_out(part, mean, scale) for part in parts], axis=0), kind="stable")] = np.arange(d)
    return places


def _at_hand(rows: Rows) -> list[Rows]:
    """Parts that stay in a cache from one sum to the next."""
    size = max(1, NUMBERS_AT_HAND // max(int(rows.x.shape[1]), 1))
    return [rows[slice(at, at + size)] for at in range(0, len(rows), size)]


def _weights(block: Rows) -> Any:
    """(n,), where its rows are."""
    if block.weight is not None:
        return block.weight
    return np.ones(len(block)) if is_sparse(block.x) else array_namespace(block.x).ones_like(block.x[:, 0])


def _column_sums(block: Rows) -> Floats:
    """(D,); a missing entry is stored as 0."""
    return np.asarray(host(_weights(block) @ block.x), dtype=np.float64)


def _column_squares(block: Rows, mean: Floats) -> Floats:
    """(D,), sums of squares about the means, of the entries that were seen."""
    if is_sparse(block.x):
        weight, x = _weights(block), block.x
        return np.asarray(x.multiply(x).T @ weight - 2 * mean * (x.T @ weight) + mean**2 * weight.sum())
    residuals = block.x - like(mean, block.x)
    residuals = residuals if block.seen is None else residuals * block.mask
    return np.asarray(host(_weights(block) @ (residuals * residuals)), dtype=np.float64)


def _far_out(block: Rows, mean: Floats, scale: Floats) -> Floats:
    """(D,), sum of z |z|^2 over the rows z of a block, missing entries being at their mean."""
    x, weight = block.x, _weights(block)
    if is_sparse(x):
        far = weight * (x.multiply(x) @ scale**2 - 2 * (x @ (mean * scale**2)) + np.sum((mean * scale) ** 2))
        return np.asarray(scale * (x.T @ far - mean * far.sum()), dtype=np.float64)
    z = (x - like(mean, x)) * (like(scale, x) if block.seen is None else block.mask * like(scale, x))
    return np.asarray(host((weight * array_namespace(x).sum(z * z, axis=1)) @ z), dtype=np.float64)


def chosen_rows(rows: Rows, which: Index) -> Rows:
    """These rows on the host, in this order and without their weights; sparse ones stay sparse."""
    rows = replace(rows, weight=None).take(which)
    aux = {name: host(values) for name, values in rows.aux.items()}
    if is_sparse(rows.x):
        return replace(rows, aux=aux)
    return Rows(host(rows.x), None if rows.seen is None else host(rows.seen) > 0, aux=aux)


def distinct(rows: Rows) -> Rows:
    """Rows on the host, each once, with their number as weight; other holes make another row."""
    wide = side_by_side(rows)
    keys = host(wide.x) if wide.seen is None else np.concatenate([host(wide.x), host(wide.seen) > 0], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    return replace(chosen_rows(rows, first), weight=np.bincount(which.reshape(-1), weight, len(first)))


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows on the host, one part below the other; all know the same besides their values."""
    weights = [np.ones(len(part)) if part.weight is None else host(part.weight) for part in parts]
    seen = None
    if any(part.seen is not None for part in parts):
        seen = np.concatenate([np.broadcast_to(host(part.mask) > 0, part.x.shape) for part in parts])
    aux = {name: np.concatenate([host(part.aux[name]) for part in parts]) for name in parts[0].aux}
    return Rows(np.concatenate([host(part.x) for part in parts]), seen, np.concatenate(weights), aux)


def filled(sample: Rows) -> Floats:
    """(n, D), the sample with column means in its holes: good enough to start from."""
    x = sample.x.toarray() if is_sparse(sample.x) else host(sample.x)
    if sample.seen is None:
        return x
    means = x.sum(axis=0) / np.maximum(sample.seen.sum(axis=0), 1)
    return np.where(sample.seen, x, means)


def column_variances(x: Any) -> Floats:
    """(D,), of a sample, which may be CSR."""
    if not is_sparse(x):
        return np.asarray(x.var(axis=0))
    mean = np.asarray(x.mean(axis=0), dtype=np.float64)
    return np.maximum(np.asarray(x.multiply(x).mean(axis=0), dtype=np.float64) - mean**2, 0.0)


def _keys(block: Rows, exponents: Index | None = None, places: Index | None = None) -> Floats:
    """(1 or 2, n), numbers that equal rows share and others do not, of values and of holes: the sample's order."""
    n_columns, block = block.x.shape[1], side_by_side(block)
    d = block.x.shape[1]
    fixed = _directions(d, n_columns, exponents, places)
    if is_sparse(block.x):
        return np.asarray(block.x @ fixed[0], dtype=np.float64)[None]
    values = host(_row_sums(block.x, fixed[0]))[None]
    if block.seen is None:
        return values
    return np.concatenate([values, host(_row_sums(block.mask, fixed[1]))[None]])  # apart from values of any unit


def _directions(d: int, n_columns: int, exponents: Index | None, places: Index | None = None) -> Floats:
    """(2, D), what values and holes are multiplied with in the keys of a row; of columns by their places, if given."""
    fixed = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, d))
    if places is not None:
        fixed[:, :n_columns] = fixed[:, places]
    if exponents is not None:
        fixed[0, :n_columns] = np.ldexp(fixed[0, :n_columns], -exponents)
    return fixed


def _row_sums(x: Array, direction: Floats) -> Array:
    """(n,), of weighted entries, where they are."""
    weights = like(direction, x)
    if is_numpy_array(x):
        # unlike a matrix product, alike for equal rows; if these are stored in one order, whatever that of the table
        return np.einsum("nd,d->n", np.ascontiguousarray(x), weights)
    return array_namespace(x).sum(x * weights, axis=1)


def row_keys(rows: Rows, exponents: Index | None = None) -> Floats:
    """(2, n), the same with a key of missing entries also where none are missing: blocks of one table compare."""
    keys = _keys(rows, exponents)
    if len(keys) == 2:
        return keys
    d = side_by_side(rows[:1]).x.shape[1]
    complete = _keys(Rows(np.zeros((1, d)), np.ones((1, d), dtype=bool)))[1]
    return np.concatenate([keys, np.full((1, len(rows)), complete)])


def _width(values: Array) -> int:
    """Columns of what else is known of rows, of which there may be none."""
    return int(values.shape[1]) if values.ndim > 1 else 1


def side_by_side(rows: Rows) -> Rows:
    """The rows with what else is known of them as further columns: those that differ in it are different rows."""
    if not rows.aux:
        return rows
    if is_sparse(rows.x):
        known = [np.nan_to_num(host(values)).reshape(len(rows), _width(values)) for values in rows.aux.values()]
        return Rows(csr_array(hstack([rows.x, *map(csr_array, known)])))
    xp = array_namespace(rows.x)
    known = [xp.astype(xp.reshape(values, (len(rows), _width(values))), rows.x.dtype) for values in rows.aux.values()]
    holes = [xp.isnan(values) for values in known]
    x = xp.concat(
        [rows.x, *(xp.where(hole, xp.zeros_like(v), v) for hole, v in zip(holes, known, strict=True))], axis=1
    )
    if rows.seen is None and not any(bool(xp.any(hole)) for hole in holes):
        return Rows(x)
    seen = xp.ones(rows.x.shape, dtype=xp.bool, device=device(rows.x)) if rows.seen is None else rows.seen
    return Rows(x, xp.concat([seen, *(~hole for hole in holes)], axis=1))
