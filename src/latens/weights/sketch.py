"""A few rows that stand for the covariance of many snapshots, kept up to date one snapshot at a time.

    S_t = (1 - g)(S_{t-1} + g delta delta'),     g = 1 / t,  delta = w_t - mean_{t-1}          Welford, exact
    S  ~= A'A + what is left of the diagonal,    A: (K, D)

While fewer than K + 2 snapshots were seen A'A is S itself. Then each new row is stacked below the others and the
least direction is dropped, in units of the noise psi = diag S - colsum A^2 (at least FLOOR of the variance): what
A forgets stays in the exact diagonal. Two passes over the weights, (8 + 3 K) words each: one for the Gram matrix,
one that writes. Everything goes block by block, so that nothing of size D is allocated besides the snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from latens.array import Floats
from latens.array.extras import require
from latens.weights import kernels
from latens.weights.selection import Tensor

__all__ = ["blocks", "compressed", "gram", "rotation", "shrunk", "update"]

BLOCK = 2**22  # weights at a time
FLOOR = 0.1  # least noise that directions are measured in, as a share of a weight's variance
LEAST = 1e-3  # least noise of the answer, likewise
PASSES = 5  # of noise and factors in turn


def blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, BLOCK):
        yield slice(start, min(start + BLOCK, size))


def gram(rows: Tensor, noise: Tensor) -> Floats:
    """(K, K), rows diag(1 / noise) rows' of one block."""
    torch = require("torch", "torch")
    scaled = rows * torch.rsqrt(noise.clamp_min(torch.finfo(noise.dtype).tiny))
    return np.asarray((scaled @ scaled.T).double().cpu().numpy())


def rotation(matrix: Floats, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, largest first, and their vectors as rows (k, K)."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:k].copy(), vectors[:, ::-1][:, :k].T.copy()


def update(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int) -> None:
    """Take in the n-th snapshot, in place; rows is (K, D), of which min(n - 1, K) then hold something."""
    torch = require("torch", "torch")
    g, k = 1 / n, len(rows)
    if n > k + 1:
        fused = kernels.are_served(rows)
        inner = (kernels.inner if fused else _inner)(snapshot, mean, variance, rows, g, FLOOR)
        matrix = torch.from_numpy(_least_lost(inner, g)).to(rows.dtype).to(rows.device, non_blocking=True)
        return (kernels.turn if fused else _turn)(snapshot, mean, variance, rows, g, matrix)
    for part in blocks(len(mean)):
        delta = snapshot[part] - mean[part]
        mean[part] += g * delta
        variance[part] = (1 - g) * (variance[part] + g * delta * delta)
        if n > 1:
            rows[: n - 2, part] *= math.sqrt(1 - g)
            rows[n - 2, part] = math.sqrt((1 - g) * g) * delta
    return None


def _inner(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, g: float, floor: float) -> Floats:
    """(K + 1, K + 1), Gram matrix of the rows and of delta in units of the noise."""
    torch = require("torch", "torch")
    inner = np.zeros((len(rows) + 1, len(rows) + 1))
    for part in blocks(len(mean)):
        delta = snapshot[part] - mean[part]
        spread = (1 - g) * (variance[part] + g * delta * delta)
        noise = torch.maximum(spread - (1 - g) * (rows[:, part] ** 2).sum(0), floor * spread)
        inner += gram(torch.cat([rows[:, part], delta[None]]), noise)
    return inner


def _least_lost(inner: Floats, g: float) -> Floats:
    """(K, K + 1): what the new rows are of the old ones and of delta."""
    k = len(inner) - 1
    scale = np.sqrt((1 - g) * np.append(np.ones(k), g))
    return np.asarray(rotation(inner * scale * scale[:, None], k)[1] * scale)


def _turn(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, g: float, matrix: Tensor) -> None:
    """Mean and variance with the new snapshot, and rows = matrix @ [rows; delta], in place."""
    k = len(rows)
    for part in blocks(len(mean)):
        delta = snapshot[part] - mean[part]
        mean[part] += g * delta
        variance[part] = (1 - g) * (variance[part] + g * delta * delta)
        rows[:, part] = matrix[:, :k] @ rows[:, part] + matrix[:, k:] * delta


def compressed(stacked: Tensor, variance: Tensor, k: int) -> Tensor:
    """(k, D): k rows that stand for more, in the same units of noise."""
    torch = require("torch", "torch")
    inner = np.zeros((len(stacked), len(stacked)))
    for part in blocks(stacked.shape[1]):
        spread = variance[part]
        inner += gram(stacked[:, part], torch.maximum(spread - (stacked[:, part] ** 2).sum(0), FLOOR * spread))
    turn = rotation(inner, k)[1]
    return torch.as_tensor(turn, dtype=stacked.dtype, device=stacked.device) @ stacked


def shrunk(rows: Tensor, variance: Tensor, n: int) -> tuple[Floats, Tensor]:
    """The factors that snapshots as few as these can prove, (K', K) in terms of the rows, and the noise (D,).

    In units of the noise, D weights seen T = n - 1 times without any factor have eigenvalues up to (1 + sqrt(D/T))^2.
    One above that edge, w, stems from a factor of variance l with w = l (1 + c/(l - 1)), c = D/T, whose direction is
    found with squared cosine (1 - c/(l-1)^2) / (1 + c/(l-1)). The variance along the direction found is then
    1 + (l - 1) cosine^2, which is also the estimate of least Kullback-Leibler divergence from the truth. Diagonals
    stay those of the snapshots, so that without any proven factor this is the diagonal posterior.

    References: Paul (2007); Donoho, Gavish & Johnstone (2018).
    """
    torch = require("torch", "torch")
    t = n - 1
    moving = int((variance > 0).sum())
    aspect = max(moving, 1) / t
    variance = variance * (n / t)
    noise, factors = variance.clone(), np.zeros((0, len(rows)))
    for _ in range(PASSES):
        inner = np.zeros((len(rows), len(rows)))
        for part in blocks(rows.shape[1]):
            inner += gram(rows[:, part], noise[part])
        values, turn = rotation(inner * (n / t), len(rows))
        factors = turn * (np.sqrt(n / t) * _size(values, aspect))[:, None]
        factors = factors[np.any(factors != 0, axis=1)]
        mixing = torch.as_tensor(factors, dtype=rows.dtype, device=rows.device)
        for part in blocks(rows.shape[1]):
            explained = ((mixing @ rows[:, part]) ** 2).sum(0)
            noise[part] = torch.maximum(variance[part] - explained, LEAST * variance[part])
    return factors, noise


def _size(values: Floats, aspect: float) -> Floats:
    """By how much to scale each direction: sqrt of its variance above the noise, over that seen; 0 if not proven."""
    found = values > (1 + math.sqrt(aspect)) ** 2
    w = values[found]
    b = w + 1 - aspect
    true = (b + np.sqrt(np.maximum(b * b - 4 * w, 0.0))) / 2 - 1
    cosine = np.maximum((1 - aspect / true**2) / (1 + aspect / true), 0.0)
    sizes = np.zeros(len(values))
    sizes[found] = np.sqrt(true * cosine / w)
    return sizes
