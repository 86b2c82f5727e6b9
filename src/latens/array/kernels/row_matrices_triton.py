"""Small matrices of rows in Triton's language, for torch rows on a GPU: one program to a row, all of it in registers.

`inverse_on_gpu`, `pairs_on_gpu` and `squares_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["MOST_INVERTED", "inverse_on_gpu", "pairs_on_gpu", "squares_on_gpu"]

MOST_INVERTED = 64  # rows of a matrix that fits into registers
N_PRODUCTS = 2048  # that a program takes

inverse_on_gpu: Any = None
pairs_on_gpu: Any = None
squares_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _invert(
        gram, diagonal, out, volume, K, own_gram: tl.constexpr, own_diagonal: tl.constexpr, width: tl.constexpr
    ):
        """Symmetric sweeps of gram + diag(diagonal), row by row: minus the inverse is left, and its log |.|."""
        row = tl.program_id(0).to(tl.int64)
        i, j = tl.arange(0, width)[:, None], tl.arange(0, width)[None, :]
        inside = (i < K) & (j < K)
        a = tl.load(gram + row * K * K * own_gram + i * K + j, mask=inside, other=0.0)
        own = tl.load(diagonal + row * K * own_diagonal + i, mask=i < K, other=1.0)
        a = tl.where(i == j, a + own, a)
        size = tl.zeros((), a.dtype)
        for k in range(K):
            across = tl.sum(tl.where(i == k, a, 0.0), axis=0)[None, :]
            down = tl.sum(tl.where(j == k, a, 0.0), axis=1)[:, None]
            pivot = tl.sum(tl.where(j == k, across, 0.0))
            size -= tl.log(pivot)
            here = (i == k).to(a.dtype) + (j == k).to(
                a.dtype
            )  # 0 beside row and column k, 1 on them, 2 where they meet
            scaled = across / pivot
            swept = a - down * scaled
            edge = tl.where(i == k, scaled, down / pivot)
            a = tl.where(here == 0.0, swept, tl.where(here == 1.0, edge, -1.0 / pivot))
        tl.store(out + row * K * K + i * K + j, -a, mask=inside)
        tl.store(volume + row, size)

    @triton.jit
    def _pair(x, first, second, out, n, D, Q, rows: tl.constexpr, block: tl.constexpr):
        """Columns of `out`: products of two columns of x, or one of them where there is no second."""
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        place = tl.program_id(1) * block + tl.arange(0, block)
        ok = (row < n)[:, None] & (place < Q)[None, :]
        a = tl.load(first + place, mask=place < Q, other=0)
        b = tl.load(second + place, mask=place < Q, other=-1)
        left = tl.load(x + row[:, None] * D + a[None, :], mask=ok, other=0.0)
        right = tl.load(x + row[:, None] * D + b[None, :], mask=ok & (b >= 0)[None, :], other=1.0)
        tl.store(out + row[:, None] * Q + place[None, :], left * right, mask=ok)

    def inverse_on_gpu(gram, diagonal):
        """(n, K, K) and (n,): inverses of gram (1 or n, K, K) + diag(diagonal (1 or n, K)), and their log |.|."""
        n, k = max(gram.shape[0], diagonal.shape[0]), diagonal.shape[1]
        gram, diagonal = gram.contiguous(), diagonal.contiguous()
        out, volume = gram.new_empty((n, k, k)), gram.new_empty(n)
        width = triton.next_power_of_2(k)
        _invert[(n,)](
            gram,
            diagonal,
            out,
            volume,
            k,
            own_gram=int(gram.shape[0] > 1),
            own_diagonal=int(diagonal.shape[0] > 1),
            width=width,
            num_warps=1 if width <= 32 else 4,
        )
        return out, volume

    def pairs_on_gpu(x):
        """(n, D + D (D + 1) / 2), each row followed by its products x_a x_b, a <= b."""
        return _followed_by_products(x, *np.triu_indices(x.shape[1]))

    def squares_on_gpu(x):
        """(n, 2 D), each row followed by its squares."""
        return _followed_by_products(x, np.arange(x.shape[1]), np.arange(x.shape[1]))

    def _followed_by_products(x, a, b):
        """(n, D + P), each row followed by products of its columns a and b (P,)."""
        import torch

        n, d = x.shape
        columns = np.stack([np.concatenate([np.arange(d), a]), np.concatenate([np.full(d, -1), b])])
        first, second = torch.asarray(columns.astype(np.int32), device=x.device)
        out = x.new_empty((n, len(first)))
        block = min(512, triton.next_power_of_2(len(first)))
        rows = max(1, N_PRODUCTS // block)
        grid = (triton.cdiv(n, rows), triton.cdiv(len(first), block))
        _pair[grid](x.contiguous(), first, second, out, n, d, len(first), rows=rows, block=block)
        return out
