"""Scales of Student-t variables in Triton's language, for torch rows on a GPU: in one pass over them.

`student_on_gpu` is None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["student_on_gpu"]

N_NUMBERS = 1024  # of a program

student_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

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
