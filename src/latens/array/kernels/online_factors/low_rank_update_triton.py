"""The steps of a low-rank update of weight posteriors in Triton's language, None where there is no Triton."""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["least", "reduce", "turn"]

least: Any = None
reduce: Any = None
turn: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _place(i, j, k):
        """Of the product of i and j among those of the upper triangle, (k + 1, k + 1)."""
        first, last = tl.minimum(i, j), tl.maximum(i, j)
        return first * (2 * k + 1 - first) // 2 + last

    @triton.jit
    def reduce(
        snapshot,
        mean,
        variance,
        rows,
        sums,
        size,
        programs,
        g,
        floor,
        K: tl.constexpr,
        width: tl.constexpr,
        parts: tl.constexpr,
    ):
        """Products of rows i and i + d, d = 0 to half of them all, counted in a circle: each pair is met once.

        The circle is cut into equal arcs (a last few rows may be lacking). Every part begins it at its own arc, and
        adds up the products of the rows of that arc: all do the same work on other rows of the same weights, which
        only the first to ask has to fetch from memory.
        """
        arc: tl.constexpr = (K + parts - 1) // parts
        circle: tl.constexpr = arc * parts
        half: tl.constexpr = circle // 2
        # two rows that face each other meet twice; within one part that can be left out
        n_pairs: tl.constexpr = half * arc + (arc if parts > 1 or circle % 2 else arc // 2)
        part = tl.arange(0, parts)[:, None] + tl.zeros((parts, width), tl.int32)
        lane = tl.arange(0, width)[None, :] + tl.zeros((parts, width), tl.int32)
        acc = ()
        for _ in tl.static_range(n_pairs + arc + 1):
            acc = acc + (tl.zeros((parts, width), tl.float32),)  # noqa: RUF005 (Triton adds tuples)
        last = tl.cdiv(size, width) - 1
        for tile in range(tl.program_id(0), last + 1, programs):
            at = (last - tile).to(tl.int64) * width + lane  # backwards: the end of the snapshot was written last
            ok = at < size
            delta = tl.load(snapshot + at, mask=ok, other=0.0) - tl.load(mean + at, mask=ok, other=0.0)
            spread = (1 - g) * (tl.load(variance + at, mask=ok, other=1.0) + g * delta * delta)
            held = tl.zeros((parts, width), tl.float32)
            y = ()
            for b in tl.static_range(parts):
                shift = tl.where(part + b < parts, part * arc, part * arc - circle)
                begin = rows + shift * size.to(tl.int64) + at
                for c in tl.static_range(arc):
                    there = ok
                    if circle > K:
                        there = ok & (shift + (b * arc + c) < K)
                    row = tl.load(begin + (b * arc + c) * size.to(tl.int64), mask=there, other=0.0)
                    held += row * row
                    y = y + (row,)  # noqa: RUF005
            noise = tl.maximum(spread - (1 - g) * held, floor * spread)
            scale = tl.math.rsqrt(tl.maximum(noise, 1.1754944e-38))
            z = ()
            for i in tl.static_range(circle):
                z = z + (y[i] * scale,)  # noqa: RUF005
            delta *= scale
            new = ()
            for c in tl.static_range(n_pairs):
                new = new + (acc[c] + z[c % arc] * z[(c % arc + c // arc) % circle],)  # noqa: RUF005
            for c in tl.static_range(arc):
                new = new + (acc[n_pairs + c] + z[c] * delta,)  # noqa: RUF005
            acc = new + (acc[n_pairs + arc] + delta * delta,)  # noqa: RUF005
        sums += tl.program_id(0) * ((K + 1) * (K + 2) // 2)
        own = tl.arange(0, parts) * arc
        for c in tl.static_range(n_pairs):
            i, j = own + c % arc, (own + c % arc + c // arc) % circle
            tl.store(sums + _place(i, j, K), tl.sum(acc[c], 1), mask=(i < K) & (j < K))
        for c in tl.static_range(arc):
            tl.store(sums + _place(own + c, K, K), tl.sum(acc[n_pairs + c], 1), mask=own + c < K)
        tl.store(sums + _place(own * 0 + K, K, K), tl.sum(acc[n_pairs + arc], 1), mask=own == 0)

    @triton.jit
    def least(measures, mirror, n_measures, root, keep, K: tl.constexpr, side: tl.constexpr, squarings: tl.constexpr):
        """The least direction as that in which a high power of the inverse is largest; NaN if any measure is."""
        at = tl.arange(0, 1024)
        all_measures = tl.load(measures + at, mask=at < n_measures, other=0.0)
        fine = tl.sum(tl.where(tl.abs(all_measures) < float("inf"), 0, 1), 0) == 0
        one = tl.arange(0, side)
        i, j = one[:, None], one[None, :]
        inside = (i <= K) & (j <= K)
        a = tl.load(measures + _place(i, j, K), mask=inside, other=0.0)
        a = a * tl.where(i == K, root, 1.0) * tl.where(j == K, root, 1.0)
        trace = tl.sum(tl.sum(tl.where(i == j, a, 0.0), 1), 0)
        a += tl.where((i == j) & inside, 1e-14 * trace + 1e-300, 0.0)
        for p in range(K + 1):  # sweeps, after which a is less the inverse
            row = tl.sum(tl.where(i == p, a, 0.0), 0)
            column = tl.sum(tl.where(j == p, a, 0.0), 1)
            pivot = tl.sum(tl.where(one == p, row, 0.0), 0)
            row, column = row[None, :], column[:, None]
            edge = tl.where(i == p, row, column) / pivot
            a = tl.where((i == p) | (j == p), edge, a - column * row / pivot)
            a = tl.where((i == p) & (j == p), -1.0 / pivot, a)
        for _ in range(squarings):
            a = a / tl.sum(tl.sum(tl.where(i == j, a, 0.0), 1), 0)
            a = tl.dot(a, a, out_dtype=tl.float64)
        largest = tl.argmax(tl.sum(tl.where(i == j, a, 0.0), 1), 0)
        v = tl.sum(tl.where(j == largest, a, 0.0), 1)
        v = v / tl.sqrt(tl.sum(v * v, 0))
        v = tl.where(one == K, tl.where(v >= 0, v + 1.0, v - 1.0), v)
        dual = v * (2 * keep / tl.sum(v * v, 0)) * tl.where(one == K, root, 1.0)
        tl.store(mirror + one, tl.where(fine, v, float("nan")).to(tl.float32), mask=one <= K)
        tl.store(mirror + K + 1 + one, dual.to(tl.float32), mask=one <= K)

    @triton.jit
    def turn(snapshot, mean, variance, rows, mirror, size, g, keep, K: tl.constexpr, width: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * width + tl.arange(0, width)
        unfit = tl.load(mirror) != tl.load(mirror)  # NaN: nothing is to change
        ok = (at < size) & (unfit == 0)
        before = tl.load(mean + at, mask=ok, other=0.0)
        delta = tl.load(snapshot + at, mask=ok, other=0.0) - before
        spread = tl.load(variance + at, mask=ok, other=0.0)
        projection = tl.load(mirror + 2 * K + 1) * delta
        y = ()
        for i in tl.static_range(K):
            row = tl.load(rows + i * size.to(tl.int64) + at, mask=ok, other=0.0)
            projection += tl.load(mirror + K + 1 + i) * row
            y = y + (row,)  # noqa: RUF005
        tl.store(mean + at, before + g * delta, mask=ok)
        tl.store(variance + at, (1 - g) * (spread + g * delta * delta), mask=ok)
        for i in tl.static_range(K):
            new = keep * y[i] - tl.load(mirror + i) * projection
            tl.store(rows + i * size.to(tl.int64) + at, new, mask=ok)
