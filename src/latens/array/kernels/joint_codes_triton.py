"""Normal codes of complete samples in Triton's language, for float32 rows on a GPU: what follows their products.

To shift them, to put a one beside them and to sum their products would be a dozen short operations.

`codes_on_gpu` is None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["MOST_CODES", "codes_on_gpu"]

MOST_CODES = 63  # codes of which a tile, with the one beside them, fits into registers
ROWS_OF_TILE = 32
ROWS_OF_CHUNK = 512  # whose products are added in single precision before double takes over

codes_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _codes(drive, shift, full, sums, n, K, chunk: tl.constexpr, rows: tl.constexpr, width: tl.constexpr):
        """(z, 1) of a chunk of rows and the sum of its products; units that truncate sums are not asked for them."""
        code = tl.arange(0, width)[:, None]
        less = tl.load(shift + code, mask=code < K, other=0.0)
        found = tl.zeros((width, width), tl.float32)
        for start in range(0, chunk, rows):
            row = tl.program_id(0).to(tl.int64) * chunk + start + tl.arange(0, rows)[None, :]
            z = tl.load(drive + code * n + row, mask=(code < K) & (row < n), other=0.0) - less
            z = tl.where(row < n, tl.where(code < K, z, tl.where(code == K, 1.0, 0.0)), 0.0)
            tl.store(full + row * (K + 1) + code, z, mask=(code <= K) & (row < n))
            found += tl.dot(z, tl.trans(z), input_precision="ieee")
        other = tl.arange(0, width)[None, :]
        at = tl.program_id(0).to(tl.int64) * (K + 1) * (K + 1) + code * (K + 1) + other
        tl.store(sums + at, found, mask=(code <= K) & (other <= K))

    def codes_on_gpu(drive, shift):
        """Of drive (K, n) and shift (K,): (z, 1), (n, K + 1), z = drive' - shift, and sums of its products by chunks.

        These are (C, K + 1, K + 1).
        """
        k, n = drive.shape
        full, n_chunks = drive.new_empty((n, k + 1)), triton.cdiv(n, ROWS_OF_CHUNK)
        sums, width = drive.new_empty((n_chunks, k + 1, k + 1)), max(16, triton.next_power_of_2(k + 1))
        given = (drive.contiguous(), shift.contiguous(), full, sums, n, k)
        _codes[(n_chunks,)](*given, chunk=ROWS_OF_CHUNK, rows=ROWS_OF_TILE, width=width)
        return full, sums
