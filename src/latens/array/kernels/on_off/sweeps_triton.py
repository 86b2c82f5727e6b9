"""Sweeps in Triton's language, for torch rows on a GPU: one launch where the plain form needs thousands.

`switch_on_gpu` and `switch_alike_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_BYTES_ALIKE", "MOST_SWITCHED", "switch_alike_on_gpu", "switch_on_gpu"]

MOST_SWITCHED = 128  # causes whose rows fit into registers
N_NUMBERS = 2048  # of a program's tile
MOST_BYTES_ALIKE = 512  # that the pulls of a row take where it has a thread to itself
ROWS_ALIKE = 128  # of a program at least: with more threads than a row of the gram has numbers, each reads them all
SIDE = 8  # causes whose sweeps are compiled one by one

switch_alike_on_gpu: Any = None
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

    @triton.jit(do_not_specialize=["step"])
    def _switch_alike(
        drive,
        gram,
        on,
        found,
        n,
        step,
        n_sweeps,
        tol,
        K,
        width: tl.constexpr,
        rows: tl.constexpr,
        side: tl.constexpr,
    ):
        """The same where one gram (width, width), padded by 0, serves all rows, whose numbers lie `step` apart.

        A thread has a row: its pulls stay in registers, and of its codes those of some causes at a time.
        """
        block, within = tl.arange(0, width // side)[:, None, None], tl.arange(0, side)[None, :, None]
        near, cause = tl.arange(0, side)[:, None], block * side + within
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        there = row < n
        at = cause.to(tl.int64) * step + row[None, None, :]
        pull = tl.load(drive + at, mask=(cause < K) & there[None, None, :], other=0.0)
        for first in range(0, K, side):
            held = (first + near).to(tl.int64) * step + row[None, :]
            real = (first + near < K) & there[None, :]
            own = tl.load(on + held, mask=real, other=0.0)
            for i in tl.static_range(side):
                value = tl.sum(tl.where(near == i, own, 0.0), axis=0)
                pull -= value[None, None, :] * tl.load(gram + (first + i) * width + cause)
            tl.store(found + held, own, mask=real)
        tl.debug_barrier()
        awake = there
        sweep = 0
        while sweep < n_sweeps:
            largest = tl.zeros((rows,), pull.dtype)
            for first in range(0, K, side):
                held = (first + near).to(tl.int64) * step + row[None, :]
                real = (first + near < K) & there[None, :]
                own = tl.load(found + held, mask=real, other=0.0)
                pull_of_block = tl.sum(tl.where(block * side == first, pull, 0.0), axis=0)
                for i in tl.static_range(side):
                    here = near == i
                    pairs = tl.load(gram + (first + i) * width + first + near)
                    before = tl.sum(tl.where(here, own, 0.0), axis=0)
                    field = tl.sum(tl.where(here, pull_of_block + pairs * own, 0.0), axis=0)
                    grown = tl.exp(-tl.abs(field))
                    value = tl.where(field < 0, grown, 1.0) / (1.0 + grown)
                    value = tl.where(awake & (first + i < K), value, before)
                    change = value - before
                    own = tl.where(here, value[None, :], own)
                    pull_of_block -= change[None, :] * pairs
                    pull -= change[None, None, :] * tl.load(gram + (first + i) * width + cause)
                    largest = tl.maximum(largest, tl.abs(change))
                tl.store(found + held, own, mask=real)
                tl.debug_barrier()
            awake = awake & (largest >= tol)
            sweep += 1
            if tl.sum(awake.to(tl.int32)) == 0:
                sweep = n_sweeps

    def switch_alike_on_gpu(drive, gram, on, n_sweeps, tol):
        """(K, n), where each row's codes lead; drive and on (K, n), gram (1, K, K)."""
        k, n = on.shape
        width = max(SIDE, triton.next_power_of_2(k))
        whole = gram.new_zeros((width, width))
        whole[:k, :k] = gram[0]
        drive, on = drive.contiguous(), on.contiguous()
        found, rows = on.new_empty((k, n)), max(ROWS_ALIKE, 2 * width)
        given = (drive, whole, on, found, n, n, n_sweeps, tol, k)
        _switch_alike[(triton.cdiv(n, rows),)](*given, width=width, rows=rows, side=SIDE, num_warps=rows // 32)
        return found
