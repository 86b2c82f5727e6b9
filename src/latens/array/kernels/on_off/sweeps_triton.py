"""Sweeps in Triton's language, for torch rows on a GPU: one launch where the plain form needs thousands.

`switch_on_gpu` is None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_SWITCHED", "switch_on_gpu"]

MOST_SWITCHED = 128  # causes whose rows fit into registers
N_NUMBERS = 2048  # of a program's tile

switch_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _switch(
        drive,
        gram,
        on,
        n,
        n_sweeps,
        tol,
        K: tl.constexpr,
        width: tl.constexpr,
        rows: tl.constexpr,
        shared: tl.constexpr,
    ):
        """Coordinate ascent on q(z_k = 1) as in `kernels.switch_rows`, a tile of rows to a program. In place."""
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        col = tl.arange(0, width)
        ok = (row < n)[:, None] & (col < K)[None, :]
        at = row[:, None] * K + col[None, :]
        z = tl.load(on + at, mask=ok, other=0.0)
        pull = tl.load(drive + at, mask=ok, other=0.0)
        own = gram + at * 0 + col[None, :]
        if not shared:
            own += row[:, None] * K * K
        for b in range(K):
            value = tl.sum(tl.where(col[None, :] == b, z, 0.0), axis=1)
            pull -= value[:, None] * tl.load(own + b * K, mask=ok, other=0.0)
        awake = row < n
        sweep = 0
        while sweep < n_sweeps:
            largest = tl.zeros((rows,), z.dtype)
            for a in range(K):
                here = col[None, :] == a
                pairs = tl.load(own + a * K, mask=ok, other=0.0)
                before = tl.sum(tl.where(here, z, 0.0), axis=1)
                field = tl.sum(tl.where(here, pull + pairs * z, 0.0), axis=1)
                grown = tl.exp(-tl.abs(field))
                value = tl.where(field < 0, grown, 1.0) / (1.0 + grown)
                value = tl.where(awake, value, before)
                change = value - before
                z = tl.where(here, value[:, None], z)
                pull -= change[:, None] * pairs
                largest = tl.maximum(largest, tl.abs(change))
            awake = awake & (largest >= tol)
            sweep += 1
            if tl.sum(awake.to(tl.int32)) == 0:
                sweep = n_sweeps
        tl.store(on + at, z, mask=ok)

    def switch_on_gpu(drive, gram, on, n_sweeps, tol):
        n, k = on.shape
        width = triton.next_power_of_2(k)
        rows = max(16, N_NUMBERS // width)
        _switch[(triton.cdiv(n, rows),)](
            drive, gram, on, n, n_sweeps, tol, K=k, width=width, rows=rows, shared=gram.shape[0] == 1
        )
