"""Small matrices of rows in Triton's language, for torch rows on a GPU: a lane to a column, all of it in registers.

`inverse_on_gpu`, `moments_on_gpu`, `pairs_on_gpu` and `squares_on_gpu` are None where there is no Triton.
"""

# mypy: ignore-errors
# Bodies below are Triton's language, which reads like Python and has other types.

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["MOST_INVERTED", "inverse_on_gpu", "moments_on_gpu", "pairs_on_gpu", "squares_on_gpu"]

MOST_INVERTED = 64  # rows of a matrix that fits into registers
MOST_UNROLLED = 32  # rows of a matrix whose sweeps are compiled one by one
N_LANES = 32  # columns of matrices that a program of one warp holds
N_PRODUCTS = 2048  # that a program takes

inverse_on_gpu: Any = None
moments_on_gpu: Any = None
pairs_on_gpu: Any = None
squares_on_gpu: Any = None

if find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _swept(a, size, k, i, j):
        """The symmetric sweep of row and column k in matrices (i, j, row), and the sum of -log pivots."""
        line = tl.sum(tl.where(i == k, a, 0.0), axis=0)  # the same across and down; each lane holds a column
        across, down = line[None, :, :], line[:, None, :]
        pivot = tl.sum(tl.where(j == k, across, 0.0), axis=1)[None, :, :]
        inverse = 1.0 / pivot
        new = tl.where(j == k, -inverse, across * inverse)
        return tl.where(i == k, new, tl.where(j == k, 0.0, a) - down * new), size - tl.log(pivot)

    @triton.jit
    def _invert(
        gram,
        diagonal,
        drive,
        out,
        volume,
        mean,
        n,
        K,
        own_gram: tl.constexpr,
        own_diagonal: tl.constexpr,
        packed: tl.constexpr,
        driven: tl.constexpr,
        width: tl.constexpr,
        rows: tl.constexpr,
        unrolled: tl.constexpr,
    ):
        """Sweeps of gram + diag(diagonal), some rows at once: minus the inverse is left; log |.|, and times drive."""
        i, j = tl.arange(0, width)[:, None, None], tl.arange(0, width)[None, :, None]
        row = (tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows))[None, None, :]
        inside = (i < K) & (j < K) & (row < n)
        low, high = tl.minimum(i, j), tl.maximum(i, j)
        if packed:
            place, each = low * K - low * (low - 1) // 2 + high - low, K * (K + 1) // 2
        else:
            place, each = i * K + j, K * K
        a = tl.load(gram + row * each * own_gram + place, mask=inside, other=0.0)
        own = tl.load(diagonal + row * K * own_diagonal + j, mask=(j < K) & (row < n), other=1.0)
        a = tl.where(i == j, a + own, a)
        size = tl.zeros((1, 1, rows), a.dtype)
        if unrolled:
            for k in tl.static_range(width):
                if k < K:
                    a, size = _swept(a, size, k, i, j)
        else:
            for k in range(K):
                a, size = _swept(a, size, k, i, j)
        tl.store(out + row * K * K + i * K + j, -a, mask=inside)
        tl.store(volume + row, size, mask=row < n)
        if driven:
            pull = tl.load(drive + row * K + i, mask=(i < K) & (row < n), other=0.0)
            found = -tl.sum(a * pull, axis=0)[None, :, :]
            tl.store(mean + row * K + j, found, mask=(j < K) & (row < n))

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

    @triton.jit
    def _moment(mean, spread, first, second, out, n, W, K, P, own, rows: tl.constexpr, block: tl.constexpr):
        """Columns of `out`: expected products of two of W variables, the first K of which vary together by `spread`."""
        row = (tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows))[:, None]
        place = tl.program_id(1) * block + tl.arange(0, block)
        a = tl.load(first + place, mask=place < P, other=0)[None, :]
        b = tl.load(second + place, mask=place < P, other=0)[None, :]
        ok = (row < n) & (place < P)[None, :]
        product = tl.load(mean + row * W + a, mask=ok, other=0.0) * tl.load(mean + row * W + b, mask=ok, other=0.0)
        vary = tl.load(spread + row * K * K * own + a * K + b, mask=ok & (b < K), other=0.0)  # a <= b
        tl.store(out + row * P + place[None, :], product + vary, mask=ok)

    @lru_cache(maxsize=64)
    def _pairs_there(width, device):
        """(P,) each: the columns of pairs a <= b. Kept on the device: sending them would let the host wait for it."""
        import torch

        return tuple(torch.asarray(np.stack(np.triu_indices(width)).astype(np.int32), device=device))

    def moments_on_gpu(mean, spread):
        """(n, W (W + 1) / 2), E[z_a z_b] for a <= b of means (n, W), the first K with covariances (1 or n, K, K)."""
        n, width = mean.shape
        first, second = _pairs_there(width, mean.device)
        out = mean.new_empty((n, len(first)))
        block = min(256, triton.next_power_of_2(len(first)))
        rows = max(1, N_PRODUCTS // block)
        _moment[(triton.cdiv(n, rows), triton.cdiv(len(first), block))](
            mean.contiguous(),
            spread.contiguous(),
            first,
            second,
            out,
            n,
            width,
            spread.shape[-1],
            len(first),
            int(spread.shape[0] > 1),
            rows=rows,
            block=block,
        )
        return out

    def inverse_on_gpu(gram, diagonal, drive=None):
        """(n, K, K) and (n,): inverses of gram + diag(diagonal (1 or n, K)), and their log |.|; (n, K), times drive.

        gram (1 or n, K, K), or packed (1 or n, K (K + 1) / 2).
        """
        n, k = max(gram.shape[0], diagonal.shape[0]), diagonal.shape[1]
        gram, diagonal = gram.contiguous(), diagonal.contiguous()
        out, volume = gram.new_empty((n, k, k)), gram.new_empty(n)
        driven = drive is not None
        drive = drive.contiguous() if driven else gram
        mean = gram.new_empty((n, k)) if driven else gram
        width = triton.next_power_of_2(k)
        rows = max(1, N_LANES // width)
        _invert[(triton.cdiv(n, rows),)](
            gram,
            diagonal,
            drive,
            out,
            volume,
            mean,
            n,
            k,
            own_gram=int(gram.shape[0] > 1),
            own_diagonal=int(diagonal.shape[0] > 1),
            packed=gram.ndim == 2,
            driven=driven,
            width=width,
            rows=rows,
            unrolled=width <= MOST_UNROLLED,
            num_warps=1 if width <= 32 else 4,
        )
        return out, volume, mean if driven else None

    def pairs_on_gpu(x):
        """(n, D + D (D + 1) / 2), each row followed by its products x_a x_b, a <= b."""
        return _followed_by_products(x, True)

    def squares_on_gpu(x):
        """(n, 2 D), each row followed by its squares."""
        return _followed_by_products(x, False)

    @lru_cache(maxsize=64)
    def _columns_there(d, pairs, device):
        """(D + P,) each: every column by itself, marked by -1, then of pairs or squares. Kept on the device as well."""
        import torch

        a, b = np.triu_indices(d) if pairs else (np.arange(d), np.arange(d))
        columns = np.stack([np.concatenate([np.arange(d), a]), np.concatenate([np.full(d, -1), b])])
        return tuple(torch.asarray(columns.astype(np.int32), device=device))

    def _followed_by_products(x, pairs):
        """(n, D + P), each row followed by products of its columns."""
        n, d = x.shape
        first, second = _columns_there(d, pairs, x.device)
        out = x.new_empty((n, len(first)))
        block = min(512, triton.next_power_of_2(len(first)))
        rows = max(1, N_PRODUCTS // block)
        grid = (triton.cdiv(n, rows), triton.cdiv(len(first), block))
        _pair[grid](x.contiguous(), first, second, out, n, d, len(first), rows=rows, block=block)
        return out
