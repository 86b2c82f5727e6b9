"""Softmax of rows and its entropy, and that of switches, in Triton's language: in one pass over rows on a GPU.

`softmax_entropy_on_gpu` and `switch_entropy_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_COLUMNS", "softmax_entropy_on_gpu", "switch_entropy_on_gpu"]

MOST_COLUMNS = 1024  # that fit into registers
N_NUMBERS = 1024  # of a program's tile

softmax_entropy_on_gpu: Any = None
switch_entropy_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _softmax(x, share, entropy, n, K, rows: tl.constexpr, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        column = tl.arange(0, width)
        ok = (row < n)[:, None] & (column < K)[None, :]
        at = row[:, None] * K + column[None, :]
        value = tl.load(x + at, mask=ok, other=float("-inf"))
        value -= tl.where(row < n, tl.max(value, axis=1), 0.0)[:, None]
        grown = tl.exp(value)
        size = tl.sum(grown, axis=1)
        spread = tl.sum(tl.where(grown > 0.0, grown * value, 0.0), axis=1)
        tl.store(share + at, grown / size[:, None], mask=ok)
        tl.store(entropy + row, tl.log(size) - spread / size, mask=row < n)

    def softmax_entropy_on_gpu(x):
        """(n, K) and (n,), of x (n, K)."""
        x = x.contiguous()
        (n, k), width = x.shape, triton.next_power_of_2(x.shape[1])
        share, entropy, rows = x.new_empty((n, k)), x.new_empty(n), max(1, N_NUMBERS // width)
        _softmax[(triton.cdiv(n, rows),)](x, share, entropy, n, k, rows=rows, width=width)
        return share, entropy

    @triton.jit
    def _part(chance):
        return tl.where(chance == 0.0, 0.0, chance * tl.log(chance))  # what is no number stays none

    @triton.jit
    def _switch_entropy(on, entropy, n, K, row_step, step, rows: tl.constexpr, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        column = tl.arange(0, width).to(tl.int64)
        ok = (row < n)[:, None] & (column < K)[None, :]
        chance = tl.load(on + row[:, None] * row_step + column[None, :] * step, mask=ok, other=0.0)
        tl.store(entropy + row, -tl.sum(_part(chance) + _part(1.0 - chance), axis=1), mask=row < n)

    def switch_entropy_on_gpu(on):
        """(n,), of chances (n, K), in whatever order they lie."""
        (n, k), width = on.shape, triton.next_power_of_2(on.shape[1])
        entropy, rows = on.new_empty(n), max(1, N_NUMBERS // width)
        _switch_entropy[(triton.cdiv(n, rows),)](on, entropy, n, k, *on.stride(), rows=rows, width=width)
        return entropy
