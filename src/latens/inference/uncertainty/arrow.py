"""Curvature at fixed sums of a large posterior: blocks, one for each column or component, beside a border.

    -A  =  | D   E |      D block-diagonal: coordinates of one column, which at fixed sums meet no other column's
           | E'  F |      F what belongs to no column: relevances, usage, weights

    (-A)^-1 = R R'        R = | L   -D^-1 E M |      L L' = D^-1,  M M' = (F - E' D^-1 E)^-1
                              | 0       M     |

One product with A moves a coordinate of every block at once, so that as many products as a block has coordinates, and
one for each coordinate of the border, make the whole matrix. Coordinates of the border that are one for each component,
such as its relevance, may meet nothing of other components, and are moved at once, too, where a second product, in
which each goes another way, says so. A product along random signs tells whether all of it is right.

References: Curtis, Powell & Reid (1974).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from latens.array import Floats, Index
from latens.core.coordinates import Chart

__all__ = ["Arrow", "Blocks", "arrow_of", "blocks_of", "whole_of"]

MOST_PRODUCTS = 1000  # with A, to make it
MOST_ENTRIES = 5e7  # of all blocks together
AT_ONCE = 200  # blocks whose matrices are held at the same time
MOST_IN_CACHE = 2e5  # entries of their roots, each of which is used twice
MANY_AT_ONCE = 1_000  # numbers of which rows of these matrices are
LEAST_RELATIVE_ENTRY = 1e-12  # of the largest entry of a column: what differences leave of 0
LEAST_RELATIVE_ENTRY_TOGETHER = 1e-9  # the same where several columns are one
LARGEST_RELATIVE_ERROR = 1e-3  # relative error of a product, above which blocks are not those of A
LARGEST_ERROR_OF_WHOLE = 1e-5  # the same where the whole matrix is asked for
LEAST_EIGENVALUE = 1e-7  # eigenvalues of a block in units of its diagonal, below which nothing is known of a direction
Product = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which coordinates belong together."""

    slots: Index  # (G, p), coordinates of each block; P where it has fewer
    border: Index  # (b,)
    size: int  # P
    component: Index  # (P,), numbers that coordinates of the same component and record share, -1 where there is none
    kind: (
        Index  # (b,), coordinates of the border that are one for each component have the same, others one of their own
    )

    @property
    def n_products(self) -> int:
        return int(self.slots.shape[1]) + len(self.border)

    def gathered(self, v: Floats) -> Floats:
        """(G, p, ...), entries of v (P, ...) block by block; 0 where there is none."""
        padded = np.concatenate([v, np.zeros((1, *v.shape[1:]), dtype=v.dtype)])
        return np.asarray(padded[self.slots])

    def scattered(self, parts: Floats, rest: Floats) -> Floats:
        """(P,), from entries (G, p) and those of the border (b,)."""
        v = np.zeros(self.size + 1, dtype=parts.dtype)
        v[self.slots] = parts
        v[self.border] = rest
        return v[:-1]

    def moved(self, slot: int) -> Floats:
        """(P,), 1 for one coordinate of each block."""
        v = np.zeros(self.size + 1)
        v[self.slots[:, slot]] = 1.0
        return v[:-1]


def blocks_of(chart: Chart) -> list[Blocks]:
    """Ways to part the coordinates, by column and by component, that which takes the fewest products first."""
    found = [_by_axis(chart, axis) for axis in ("d", "k")]
    fit = [b for b in found if b.n_products <= MOST_PRODUCTS and b.slots.size * b.slots.shape[1] <= MOST_ENTRIES]
    return sorted(fit, key=lambda blocks: blocks.n_products)


def _by_axis(chart: Chart, axis: str) -> Blocks:
    owner, starts = np.full(chart.size, -1), np.cumsum([0, *chart.sizes])
    records: dict[object, int] = {}  # columns of one view come after those of another
    used = 0
    for (record, at), start, stop in zip(chart.places(axis), starts, starts[1:], strict=False):
        if at is None:
            continue
        if record not in records:
            records[record], used = used, used + 10**9
        owner[start:stop] = records[record] + at
    if np.all(owner < 0):  # the only cluster: all coordinates are of one block
        owner[:] = 0
    inner = np.flatnonzero(owner >= 0)
    names, which = np.unique(owner[inner], return_inverse=True)
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which, minlength=len(names))
    within = np.arange(len(inner)) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = np.full((len(names), counts.max(initial=0)), chart.size)
    slots[which[order], within] = inner[order]
    border = np.flatnonzero(owner < 0)
    return Blocks(slots, border, chart.size, *_components(chart, border, starts))


def _components(chart: Chart, border: Index, starts: Index) -> tuple[Index, Index]:
    """(P,) and (b,): which component each coordinate is of, and which of the border are alike but for that."""
    component, kind = np.full(chart.size, -1), np.arange(chart.size)
    records: dict[object, int] = {}
    kinds: dict[object, int] = {}
    for (record, at), path, start, stop in zip(
        chart.places("k", alone=True), chart.paths, starts, starts[1:], strict=False
    ):
        if at is None:
            continue
        component[start:stop] = records.setdefault(record, len(records) * 10**6) + at
        if len(np.unique(at)) == stop - start:  # one for each component, of each view the same
            kind[start:stop] = kinds.setdefault(path[len(record) :], chart.size + len(kinds))
    return component, kind[border]


@dataclass(frozen=True, eq=False)
class Arrow:
    """-A, of which only coordinates that curve it are kept: others do not move."""

    blocks: Blocks
    inner: Floats  # (G, p, p), D, symmetric
    side: csr_array  # (G p, b), E
    corner: Floats  # (b, b), F
    free: Floats  # (P,), 1 or 0

    @cached_property
    def root(self) -> Floats:
        """(G, p, p), L."""
        found = np.empty_like(self.inner)
        for first in range(0, len(found), AT_ONCE):
            found[first : first + AT_ONCE] = _root(self.inner[first : first + AT_ONCE])
        return found

    @cached_property
    def corner_root(self) -> Floats:
        """(b, b), M."""
        (n_blocks, p, _), left = self.inner.shape, self.corner.copy()
        for first in range(0, n_blocks, AT_ONCE):
            some = self.root[first : first + AT_ONCE]
            beside = self.side[first * p : (first + len(some)) * p].toarray().reshape(len(some), p, -1)
            beside = (np.swapaxes(some, 1, 2) @ beside).reshape(len(some) * p, -1)
            left -= beside.T @ beside
        return np.asarray(_root(0.5 * (left + left.T)[None])[0])

    def rounded(self) -> Arrow:
        """With roots in single precision: `spread` and `pulled` of vectors that are in it take half the time."""
        found = replace(self, side=self.side.astype(np.float32), free=self.free.astype(np.float32))
        roots = {name: getattr(self, name).astype(np.float32) for name in ("root", "corner_root")}
        vars(found).update(roots)
        return found

    @property
    def own(self) -> Floats:
        """(P,), the diagonal; 1 where a coordinate is held."""
        return self.blocks.scattered(np.einsum("gpp->gp", self.inner), np.diagonal(self.corner))

    def holding(self, held: Any) -> Arrow:
        """The same with more coordinates, a mask (P,), that do not move."""
        blocks, free = self.blocks, self.free * ~held
        free_inner, rest = blocks.gathered(free), free[blocks.border]
        inner = np.where(
            np.eye(free_inner.shape[1]) > free_inner[:, :, None],
            1.0,
            self.inner * free_inner[:, :, None] * free_inner[:, None],
        )
        corner = np.where(np.eye(len(rest)) > rest, 1.0, self.corner * rest * rest[:, None])
        side = csr_array(self.side.multiply(free_inner.reshape(-1, 1)).multiply(rest))
        return Arrow(blocks, inner, side, corner, free)

    def times(self, v: Floats) -> Floats:
        """-A v."""
        parts, rest = self.blocks.gathered(v), v[self.blocks.border]
        inner = _each_times(self.inner, parts) + (self.side @ rest).reshape(parts.shape)
        return self.blocks.scattered(inner, self.across @ parts.ravel() + self.corner @ rest)

    @cached_property
    def across(self) -> csr_array:
        """(b, G p), E'."""
        return csr_array(self.side.T.tocsr())

    def spread(self, u: Floats) -> Floats:
        """R u, from coordinates in which (-A)^-1 is the identity."""
        turned = self.corner_root @ u[self.blocks.border]
        parts = self.blocks.gathered(u)
        beside = (self.side @ turned).reshape(parts.shape)
        for some in self._in_cache:
            root = self.root[some]
            parts[some] = _each_times(root, parts[some] - _each_times(np.swapaxes(root, 1, 2), beside[some]))
        return self.blocks.scattered(parts, turned) * self.free

    def pulled(self, v: Floats) -> Floats:
        """R' v."""
        v = v * self.free
        parts = self.blocks.gathered(v)
        whole = np.empty_like(parts)
        for some in self._in_cache:
            root = self.root[some]
            parts[some] = _each_times(np.swapaxes(root, 1, 2), parts[some])
            whole[some] = _each_times(root, parts[some])
        rest = v[self.blocks.border] - self.across @ whole.ravel()
        return self.blocks.scattered(parts, self.corner_root.T @ rest)

    @cached_property
    def _in_cache(self) -> tuple[slice, ...]:
        """Blocks whose roots stay in a processor's cache while both products with them are made."""
        n, p = self.blocks.slots.shape
        step = max(int(MOST_IN_CACHE / max(p**2, 1)), 1)
        return tuple(slice(first, first + step) for first in range(0, n, step))

    def lengths(self, block: Index, own: Floats, border: Floats) -> Floats:
        """(m,), squared lengths of R' v for vectors that are in one block each, (m, p), and in the border, (m, b)."""
        free, (n, p), found = self.blocks.gathered(self.free), own.shape, np.empty(len(own))
        border, own = border * self.free[self.blocks.border], own * free[block]
        whole_root = self.root @ np.swapaxes(self.root, 1, 2)  # D^-1
        for first in range(0, n, MANY_AT_ONCE):
            some = slice(first, first + MANY_AT_ONCE)
            parts, whole = np.zeros((2, len(own[some]), p))
            for values, rows, slots in _few_by_few(own[some]):  # a number moves with few coordinates of its block
                at = block[some][rows]
                parts[rows] += values[:, None] * self.root[at, slots]
                whole[rows] += values[:, None] * whole_root[at, slots]
            rows, slots = np.nonzero(whole)
            places = block[some][rows] * p + slots
            outer = csr_array((whole[rows, slots], (rows, places)), shape=(len(whole), self.side.shape[0])) @ self.side
            rest = (border[some] - outer.toarray()) @ self.corner_root
            found[some] = np.sum(parts**2, axis=1) + np.sum(rest**2, axis=1)
        return found


def _few_by_few(matrix: Floats) -> Iterator[tuple[Floats, Index, Index]]:
    """Entries that are not 0, their rows and columns: the first of every row, then the second, and so on."""
    rows, columns = np.nonzero(matrix)
    counts = np.bincount(rows, minlength=len(matrix))
    turn = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    for each in range(counts.max(initial=0)):
        now = turn == each
        yield matrix[rows[now], columns[now]], rows[now], columns[now]


def _each_times(matrices: Floats, vectors: Floats) -> Floats:
    """(G, p), each of G matrices times its vector."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _root(matrices: Floats) -> Floats:
    """(..., p, p), whose product with its transpose is the inverse; next to nothing is known of flat directions."""
    own = np.einsum("...pp->...p", matrices)
    size = np.sqrt(np.where(own > 0, own, 1.0))
    scaled = matrices / size[..., :, None] / size[..., None, :]
    try:
        half = np.swapaxes(np.linalg.inv(np.linalg.cholesky(scaled)), -1, -2)
        # the trace of the inverse is larger than any eigenvalue of it
        flat = np.sum(half**2, axis=(-2, -1)) * LEAST_EIGENVALUE > 1
    except np.linalg.LinAlgError:
        half, flat = np.empty_like(scaled), np.ones(scaled.shape[:-2], dtype=bool)
    values, vectors = np.linalg.eigh(scaled[flat])
    # turned back, so that a coordinate that is held stays by itself
    half[flat] = vectors / np.sqrt(np.maximum(values, LEAST_EIGENVALUE))[..., None, :] @ np.swapaxes(vectors, -1, -2)
    return np.asarray(half / size[..., :, None])


def arrow_of(product: Product, blocks: Blocks, least: float) -> Arrow | None:
    """-A from products with it; None where other blocks meet. Coordinates that curve less than `least` are held."""
    (n_blocks, p), b, border = blocks.slots.shape, len(blocks.border), blocks.border
    inner, corner, side = np.zeros((n_blocks, p, p)), np.zeros((b, b)), []
    for slot in range(p):
        inner[:, :, slot] = blocks.gathered(product(blocks.moved(slot)))
    for column, place in _border_products(product, blocks):
        there = (np.abs(column) > LEAST_RELATIVE_ENTRY * np.abs(column).max(initial=0.0)) & (place >= 0)
        rows = np.flatnonzero(blocks.gathered(there.astype(float)))
        at = blocks.slots.ravel()[rows]
        side.append((column[at], rows, place[at]))
        beside = np.flatnonzero(there[border])
        corner[beside, place[border[beside]]] = column[border[beside]]
    inner, corner = 0.5 * (inner + np.swapaxes(inner, 1, 2)), 0.5 * (corner + corner.T)
    values, rows, columns = (
        np.concatenate([np.zeros(0), *each]) for each in (zip(*side, strict=True) if side else [()] * 3)
    )
    whole = csr_array((values, (rows.astype(int), columns.astype(int))), shape=(n_blocks * p, b))
    everything = Arrow(blocks, inner, whole, corner, np.ones(blocks.size))
    own = everything.own
    arrow = everything.holding(own <= least)
    scale = arrow.free / np.sqrt(np.maximum(own, least))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=blocks.size) * scale
    gap, there = scale * (arrow.times(signs) - product(signs)), scale * arrow.times(signs)
    return arrow if gap @ gap <= LARGEST_RELATIVE_ERROR**2 * (there @ there) else None


def _border_products(product: Product, blocks: Blocks) -> Iterator[tuple[Floats, Index]]:
    """Columns of -A for coordinates of the border, several in one; and which of them (P,) each entry is of, or -1."""
    component, border = blocks.component, blocks.border
    for kind in dict.fromkeys(blocks.kind.tolist()):
        alike = np.flatnonzero(blocks.kind == kind)
        if len(alike) > 2:  # it takes two products to be sure
            v, sizes = np.zeros((2, blocks.size))
            v[border[alike]] = 1.0
            sizes[border[alike]] = np.linspace(0.5, 1.0, len(alike))
            order = np.argsort(component[border[alike]])
            known = component[border[alike]][order]
            at = np.minimum(np.searchsorted(known, component), len(known) - 1)
            place = np.where(known[at] == component, alike[order][at], -1)
            column, size = product(v), np.where(place >= 0, sizes[border[place]], 0.0)  # sizes of its own component
            error = LARGEST_RELATIVE_ERROR * np.abs(column) + LEAST_RELATIVE_ENTRY_TOGETHER * np.abs(column).max()
            if not np.any(column[place < 0]) and np.all(np.abs(product(sizes) - size * column) <= error):
                yield column, place
                continue
        for i in alike:
            yield product((np.arange(blocks.size) == border[i]).astype(float)), np.full(blocks.size, i)


def whole_of(product: Product, chart: Chart, ways: Sequence[Blocks], least: float) -> Floats:
    """(P, P), -A from the fewest products with it; one for each coordinate where all of them meet.

    Whether columns meet is not asked of coordinates that curve less than `least`, of which nothing will be told: steps
    along them are so long that rounding is all that is left of the others.
    """
    for blocks in ways:
        found = _whole(product, blocks, least) if blocks.n_products < chart.size - 1 else None
        if found is not None:
            return found
    return np.stack([product(step) for step in np.eye(chart.size)]) if chart.size else np.zeros((0, 0))


def _whole(product: Product, blocks: Blocks, least: float) -> Floats | None:
    """None where other blocks meet."""
    matrix, slots, border = np.zeros((blocks.size + 1, blocks.size + 1)), blocks.slots, blocks.border
    for slot in range(slots.shape[1]):
        matrix[slots, slots[:, slot, None]] = blocks.gathered(product(blocks.moved(slot)))
    for at in border:
        matrix[:-1, at] = product((np.arange(blocks.size) == at).astype(float))
    inner = slots[slots < blocks.size]
    matrix[np.ix_(border, inner)] = matrix[np.ix_(inner, border)].T
    found = matrix[:-1, :-1]
    own = np.diagonal(found)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=blocks.size)
    scale = np.where(own > least, 1 / np.sqrt(np.maximum(own, least)), 0.0)
    if not scale.any():
        return None
    gap, there = scale * (found @ (scale * signs) - product(scale * signs)), scale * (found @ (scale * signs))
    return found if gap @ gap <= LARGEST_ERROR_OF_WHOLE**2 * (there @ there) else None
