"""Kernels in Triton's language, None where there is no Triton."""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["reduce", "turn"]

reduce: Any = None
turn: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _sums(
        snapshot,
        mean,
        variance,
        rows,
        sums,
        size,
        first,
        programs,
        g,
        floor,
        K: tl.constexpr,
        width: tl.constexpr,
        N: tl.constexpr,
        start: tl.constexpr,
        end: tl.constexpr,
    ):
        """Add up the products start to end of the Gram matrix, in the order of its upper triangle."""
        lane = tl.arange(0, width)
        acc = ()
        for _ in tl.static_range(end - start):
            acc = acc + (tl.zeros((width,), tl.float32),)  # noqa: RUF005 (Triton adds tuples)
        for tile in range(first, tl.cdiv(size, width), programs):
            at = tile.to(tl.int64) * width + lane
            ok = at < size
            delta = tl.load(snapshot + at, mask=ok, other=0.0) - tl.load(mean + at, mask=ok, other=0.0)
            spread = (1 - g) * (tl.load(variance + at, mask=ok, other=1.0) + g * delta * delta)
            held = tl.zeros((width,), tl.float32)
            y = ()
            for i in tl.static_range(K):
                row = tl.load(rows + i * size.to(tl.int64) + at, mask=ok, other=0.0)
                held += row * row
                y = y + (row,)  # noqa: RUF005
            noise = tl.maximum(spread - (1 - g) * held, floor * spread)
            scale = tl.math.rsqrt(tl.maximum(noise, 1.1754944e-38))
            z = ()
            for i in tl.static_range(K):
                z = z + (y[i] * scale,)  # noqa: RUF005
            z = z + (delta * scale,)  # noqa: RUF005
            new = ()
            for i in tl.static_range(K + 1):
                for j in tl.static_range(i, K + 1):
                    if i * (2 * K + 1 - i) // 2 + j >= start and i * (2 * K + 1 - i) // 2 + j < end:
                        new = new + (acc[i * (2 * K + 1 - i) // 2 + j - start] + z[i] * z[j],)  # noqa: RUF005
            acc = new
        for c in tl.static_range(end - start):
            tl.store(sums + first * N + start + c, tl.sum(acc[c], 0))

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
        N: tl.constexpr,
    ):
        part = tl.program_id(0) % parts
        at = tl.program_id(0) // parts
        for p in tl.static_range(parts):
            if part == p:
                _sums(
                    snapshot,
                    mean,
                    variance,
                    rows,
                    sums,
                    size,
                    at,
                    programs,
                    g,
                    floor,
                    K,
                    width,
                    N,
                    p * N // parts,
                    (p + 1) * N // parts,
                )

    @triton.jit
    def turn(snapshot, mean, variance, rows, matrix, size, g, K: tl.constexpr, width: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * width + tl.arange(0, width)
        ok = at < size
        before = tl.load(mean + at, mask=ok, other=0.0)
        delta = tl.load(snapshot + at, mask=ok, other=0.0) - before
        tl.store(mean + at, before + g * delta, mask=ok)
        spread = tl.load(variance + at, mask=ok, other=0.0)
        tl.store(variance + at, (1 - g) * (spread + g * delta * delta), mask=ok)
        y = ()
        for i in tl.static_range(K):
            y = y + (tl.load(rows + i * size.to(tl.int64) + at, mask=ok, other=0.0),)  # noqa: RUF005
        for i in tl.static_range(K):
            new = tl.load(matrix + i * (K + 1) + K) * delta
            for j in tl.static_range(K):
                new += tl.load(matrix + i * (K + 1) + j) * y[j]
            tl.store(rows + i * size.to(tl.int64) + at, new, mask=ok)
