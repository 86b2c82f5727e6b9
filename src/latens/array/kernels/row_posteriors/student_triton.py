"""Scales of Student-t variables in Triton's language, for torch rows on a GPU: in one pass over them.

`moments_on_gpu` and `student_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from latens.array.kernels.row_matrices_triton import MOST_INVERTED, N_PRODUCTS, inverse_on_gpu, pairs_there

__all__ = ["MOST_INVERTED", "moments_on_gpu", "student_on_gpu"]

N_NUMBERS = 1024  # of a program

moments_on_gpu: Any = None
student_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _follow(
        mean, spread, volume, tails, shape, first, second, scales, full, pairs, logs,
        n, K, P, rows: tl.constexpr, block: tl.constexpr,
    ):  # fmt: skip
        """Expected products of pairs of (z, 1); where z is paired with itself or 1, all else that is asked of it."""
        row = (tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows))[:, None]
        place = tl.program_id(1) * block + tl.arange(0, block)
        a = tl.load(first + place, mask=place < P, other=0)[None, :]
        b = tl.load(second + place, mask=place < P, other=0)[None, :]  # a <= b; K is 1
        ok = (row < n) & (place < P)[None, :]
        left = tl.load(mean + row * K + a, mask=ok & (a < K), other=1.0)
        right = tl.load(mean + row * K + b, mask=ok & (b < K), other=1.0)
        found = left * right + tl.load(spread + row * K * K + a * K + b, mask=ok & (b < K), other=0.0)
        tl.store(pairs + row * P + place[None, :], found, mask=ok)
        own, last, at = ok & (a == b) & (a < K), ok & (a == K), row * (K + 1) + a
        rate = 0.5 * (tl.load(tails + a, mask=a < K, other=1.0) + found)
        expected = tl.load(shape + a, mask=a < K, other=1.0) / rate
        tl.store(scales + at, tl.where(last, 1.0, expected), mask=own | last)
        tl.store(
            logs + at, tl.where(last, tl.load(volume + row, mask=row < n, other=0.0), tl.log(rate)), mask=own | last
        )
        tl.store(full + at, found, mask=ok & (b == K))

    def moments_on_gpu(drive, gram, was, tails, shape):
        """As `student_moments` has them."""
        n, k = drive.shape
        spread, volume, mean = inverse_on_gpu(gram, was, drive)
        scales, full, logs = (drive.new_empty((n, k + 1)) for _ in range(3))
        first, second = pairs_there(k + 1, drive.device)
        pairs = drive.new_empty((n, len(first)))
        block = min(256, triton.next_power_of_2(len(first)))
        rows = max(1, N_PRODUCTS // block)
        _follow[(triton.cdiv(n, rows), triton.cdiv(len(first), block))](
            mean, spread, volume, tails.contiguous(), shape.contiguous(), first, second, scales, full, pairs, logs,
            n, k, len(first), rows=rows, block=block,
        )  # fmt: skip
        return scales, full, pairs, logs

    @triton.jit
    def _scale(mean, spread, tails, shape, rate, expected, log_rate, size, K, block: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        ok = at < size
        row, k = at // K, at % K
        place = tl.load(mean + at, mask=ok, other=0.0)
        wide = tl.load(spread + row * K * K + k * K + k, mask=ok, other=0.0)
        found = 0.5 * (tl.load(tails + k, mask=ok, other=1.0) + place * place + wide)
        tl.store(rate + at, found, mask=ok)
        tl.store(expected + at, tl.load(shape + k, mask=ok, other=1.0) / found, mask=ok)
        tl.store(log_rate + at, tl.log(found), mask=ok)

    def student_on_gpu(mean, spread, tails, shape):
        """(n, K) each: rate, E[u] and log rate, as `student_scales` has them."""
        mean, spread = mean.contiguous(), spread.contiguous()
        found = tuple(mean.new_empty(mean.shape) for _ in range(3))
        size = mean.numel()
        _scale[(triton.cdiv(size, N_NUMBERS),)](
            mean, spread, tails.contiguous(), shape.contiguous(), *found, size, mean.shape[1], block=N_NUMBERS
        )
        return found
