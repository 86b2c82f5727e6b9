"""Normal codes of complete samples and the sums over them in Triton's language, for float32 rows on a GPU.

A library's products of many rows with few columns leave most of the device idle; here each reads the rows once, about
as fast as they are copied. Products are of three parts in TF32, which lose no more than single precision does.

`complete_on_gpu` is None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_CODES", "complete_on_gpu"]

MOST_CODES = 63  # codes and the one beside them that a tile holds
ROWS_OF_MEANS, COLUMNS_OF_MEANS, WARPS_OF_MEANS = 128, 32, 4  # of a tile of rows whose codes are found
ROWS_OF_SUMS, COLUMNS_OF_SUMS, WARPS_OF_SUMS = 32, 128, 4  # and of one that is added to the sums
N_STAGES = 4  # tiles under way at once
ROWS_OF_CHUNK = 1024  # whose products are added in single precision before double takes over

complete_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _means(
        x, weights, shift, full, n, D, K, stride, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr
    ):
        """(z, 1) of a tile of rows, z = weights'x - shift."""
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        code = tl.arange(0, width)
        found = tl.zeros((rows, width), tl.float32)
        for start in range(0, D, columns):
            at = start + tl.arange(0, columns)
            part = tl.load(
                x + row[:, None] * stride + at[None, :], mask=(row < n)[:, None] & (at < D)[None, :], other=0.0
            )
            inside = (at < D)[:, None] & (code < K)[None, :]
            weight = tl.load(weights + at[:, None] * K + code[None, :], mask=inside, other=0.0)
            found = tl.dot(part, weight, found, input_precision="tf32x3")
        found -= tl.load(shift + code, mask=code < K, other=0.0)[None, :]
        found = tl.where(code[None, :] < K, found, 1.0)
        tl.store(
            full + row[:, None] * (K + 1) + code[None, :], found, mask=(row < n)[:, None] & (code <= K)[None, :]
        )

    @triton.jit
    def _sums(
        x, full, out, n, D, K, stride, wide, chunk, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr
    ):
        """(z, 1) x' over a chunk of rows, a tile of columns to a program; rows of `out` are so wide."""
        column = tl.program_id(0) * columns + tl.arange(0, columns)
        code = tl.arange(0, width)
        first = tl.program_id(1).to(tl.int64) * chunk
        found = tl.zeros((width, columns), tl.float32)
        for start in range(0, chunk, rows):
            row = first + start + tl.arange(0, rows)
            inside = (row < n)[:, None] & (column < D)[None, :]
            part = tl.load(x + row[:, None] * stride + column[None, :], mask=inside, other=0.0)
            inside = (row < n)[None, :] & (code <= K)[:, None]
            z = tl.load(full + row[None, :] * (K + 1) + code[:, None], mask=inside, other=0.0)
            found = tl.dot(z, part, found, input_precision="tf32x3")
        at = tl.program_id(1).to(tl.int64) * (K + 1) * wide + code[:, None] * wide + column[None, :]
        tl.store(out + at, found, mask=(code <= K)[:, None] & (column < D)[None, :])

    def complete_on_gpu(x, weights, shift):
        """(C, K + 1, D + K + 1), of chunks of rows x (n, D) the sums of (z, 1) (x, z, 1)', z = weights'x - shift.

        weights (D, K), shift (K,).
        """
        (n, d), k = x.shape, weights.shape[1]
        width, wide = max(16, triton.next_power_of_2(k + 1)), d + k + 1
        full, sums = x.new_empty((n, k + 1)), x.new_empty((triton.cdiv(n, ROWS_OF_CHUNK), k + 1, wide))
        tile = {"rows": ROWS_OF_MEANS, "columns": COLUMNS_OF_MEANS, "width": width}
        given = (x, weights.contiguous(), shift, full, n, d, k, x.stride(0))
        _means[(triton.cdiv(n, ROWS_OF_MEANS),)](*given, **tile, num_warps=WARPS_OF_MEANS, num_stages=N_STAGES)
        for part, out in ((x, sums), (full, sums[:, :, d:])):
            columns = min(COLUMNS_OF_SUMS, max(16, triton.next_power_of_2(part.shape[1])))
            grid = (triton.cdiv(part.shape[1], columns), len(sums))
            given = (part, full, out, n, part.shape[1], k, part.stride(0), wide, ROWS_OF_CHUNK)
            tile = {"rows": ROWS_OF_SUMS, "columns": columns, "width": width}
            _sums[grid](*given, **tile, num_warps=WARPS_OF_SUMS, num_stages=N_STAGES)
        return sums
