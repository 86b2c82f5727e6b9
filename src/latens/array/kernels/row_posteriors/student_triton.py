"""Scales of Student-t variables in Triton's language, for torch rows on a GPU: in one pass over them.

`moments_on_gpu` and `student_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_SOURCES", "moments_on_gpu", "student_on_gpu"]

N_NUMBERS = 1024  # of a program
MOST_SOURCES = 32  # whose covariance fits into the registers of one warp
N_ENTRIES = 2048  # of covariances that a warp holds: 64 in each lane, of several rows, hide what each waits for
MOST_ROWS = 64

moments_on_gpu: Any = None
student_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    from latens.array.kernels.row_matrices_triton import _swept

    @triton.jit
    def _step(
        drive,
        gram,
        was,
        tails,
        shape,
        scales,
        full,
        pairs,
        logs,
        n,
        K,
        P,
        width: tl.constexpr,
        rows: tl.constexpr,
    ):
        """Matrices (i, j, row) of some rows at once: inverted, and all that follows from them while they are there."""
        i, j = tl.arange(0, width)[:, None, None], tl.arange(0, width)[None, :, None]
        row = (tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows))[None, None, :]
        low, high, there = tl.minimum(i, j), tl.maximum(i, j), row < n
        a = tl.load(gram + low * K - low * (low - 1) // 2 + high - low, mask=(i < K) & (j < K), other=0.0)
        across, down = (j < K) & there, (i < K) & there
        own = tl.load(was + row * K + j, mask=across, other=1.0)
        a = tl.where(i == j, a + own, a + tl.zeros_like(own))
        size = tl.zeros((1, 1, rows), a.dtype)
        for k in tl.static_range(width):
            if k < K:
                a, size = _swept(a, size, k, i, j)
        a = -a
        line = tl.sum(a * tl.load(drive + row * K + i, mask=down, other=0.0), axis=0)
        mean, turned = line[None, :, :], line[:, None, :]
        wide = tl.sum(tl.where(i == j, a, 0.0), axis=0)[None, :, :]
        rate = 0.5 * (tl.load(tails + j, mask=j < K, other=1.0) + mean * mean + wide)
        expected = tl.load(shape + j, mask=j < K, other=1.0) / rate
        one, W = tl.full((1, 1, rows), 1.0, a.dtype), K + 1
        tl.store(scales + row * W + j, expected, mask=across)
        tl.store(scales + row * W + K, one, mask=there)
        tl.store(full + row * W + j, mean, mask=across)
        tl.store(full + row * W + K, one, mask=there)
        tl.store(logs + row * W + j, tl.log(rate), mask=across)
        tl.store(logs + row * W + K, size, mask=there)
        place = i * W - i * (i - 1) // 2 + j - i
        tl.store(pairs + row * P + place, a + turned * mean, mask=(i <= j) & across)
        tl.store(pairs + row * P + j * W - j * (j - 1) // 2 + K - j, mean, mask=across)  # z with 1
        tl.store(pairs + row * P + P - 1, one, mask=there)

    def moments_on_gpu(drive, gram, was, tails, shape):
        """As `student_moments` has them."""
        n, k = drive.shape
        scales, full, logs = (drive.new_empty((n, k + 1)) for _ in range(3))
        pairs = drive.new_empty((n, (k + 1) * (k + 2) // 2))
        width = triton.next_power_of_2(k)
        rows = max(1, min(MOST_ROWS, N_ENTRIES // width**2))
        given = (part.contiguous() for part in (drive, gram, was, tails, shape))
        _step[(triton.cdiv(n, rows),)](
            *given, scales, full, pairs, logs, n, k, pairs.shape[1], width=width, rows=rows, num_warps=1
        )
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
