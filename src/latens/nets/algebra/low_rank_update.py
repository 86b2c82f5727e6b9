"""A few rows that stand for the covariance of many snapshots, kept up to date one snapshot at a time.

    S_t = (1 - g)(S_{t-1} + g delta delta'),     g = 1 / t,  delta = w_t - mean_{t-1}          Welford, exact
    S  ~= A'A + what is left of the diagonal,    A: (K, D)

While fewer than K + 2 snapshots were seen A'A is S itself. Then each new row is stacked below the others and the
least direction is dropped, in units of the noise psi = diag S - colsum A^2 (at least FLOOR of the variance): what
A forgets stays in the exact diagonal. Two passes over the weights, (8 + 3 K) words for each of them: `measured` makes
the Gram matrix, from which the host tells what to drop, and `update` writes; or the device does both by itself, in
`update_on_device`. Everything goes block by block, so that nothing of size D is allocated besides the snapshot.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dsyevr

from latens.array import Floats, Index
from latens.nets.algebra import low_rank_update_triton as triton
from latens.nets.algebra.moments import absorb, grown
from latens.nets.selection import Tensor
from latens.system.optional_imports import require

__all__ = ["blocks", "compressed", "gram", "joined", "measured", "rotation", "shrunk", "update", "update_on_device"]

BLOCK = 2**18  # weights at a time
FLOOR = 0.1  # least noise that directions are measured in, as a share of a weight's variance
LEAST_NOISE = 1e-3  # least noise of the answer, likewise
PASSES = 5  # of noise and factors in turn


def blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, BLOCK):
        yield slice(start, min(start + BLOCK, size))


def gram(rows: Tensor, noise: Tensor) -> Tensor:
    """(K, K), rows diag(1 / noise) rows' of one block, in float64 on the device."""
    torch = require("torch", "torch")
    scaled = rows * torch.rsqrt(noise.clamp_min(torch.finfo(noise.dtype).tiny))
    return (scaled @ scaled.T).double()


def rotation(matrix: Floats, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, largest first, and their vectors as rows (k, K)."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:k].copy(), vectors[:, ::-1][:, :k].T.copy()


def measured(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int) -> Tensor:
    """What the host needs to know before the n-th snapshot can be taken in: float64, (m,), on the device.

    The Gram matrix of the rows and of delta, in units of the noise; or, as long as nothing is to be dropped, the
    largest weight. Either is NaN or infinite if a weight is.
    """
    torch = require("torch", "torch")
    if n <= len(rows) + 1:
        return torch.linalg.vector_norm(snapshot, ord=float("inf")).double()[None]
    if triton.are_served(rows):
        return triton.inner(snapshot, mean, variance, rows, 1 / n, FLOOR)
    return _inner(snapshot, mean, variance, rows, n)[tuple(np.triu_indices(len(rows) + 1))]


def update_on_device(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int, measures: Tensor) -> bool:
    """Take in the n-th snapshot before the host has seen what `measured` returned, if there are kernels for it.

    They leave everything as it is if an entry of `measures`, which may be longer, is not finite.
    """
    if n <= len(rows) + 1 or not triton.are_served(rows):
        return False
    triton.turn(snapshot, mean, variance, rows, 1 / n, triton.mirror(measures, len(rows), n))
    return True


def update(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int, measures: Floats) -> None:
    """Take in the n-th snapshot, in place, given what `measured` returned for it.

    rows is (K, D), of which min(n - 1, K) then hold something.
    """
    torch = require("torch", "torch")
    if n > len(rows) + 1:
        given = torch.from_numpy(_least_lost(_whole(measures, len(rows) + 1), n)).to(rows.dtype)
        mirror = given.to(rows.device, non_blocking=True)
        return _turn(snapshot, mean, variance, rows, n, mirror)
    for part in blocks(len(mean)):
        delta = absorb(mean[part], variance[part], snapshot[part], n)
        if n > 1:
            rows[: n - 2, part] *= math.sqrt(1 - 1 / n)
            rows[n - 2, part] = math.sqrt((1 - 1 / n) / n) * delta
    return None


def _inner(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int) -> Tensor:
    """(K + 1, K + 1), Gram matrix of the rows and of delta in units of the noise, on the device."""
    torch = require("torch", "torch")
    inner = rows.new_zeros((len(rows) + 1, len(rows) + 1), dtype=torch.float64)
    for part in blocks(len(mean)):
        delta = snapshot[part] - mean[part]
        spread = grown(variance[part], delta, n)
        noise = torch.maximum(spread - (1 - 1 / n) * (rows[:, part] ** 2).sum(0), FLOOR * spread)
        inner += gram(torch.cat([rows[:, part], delta[None]]), noise)
    return inner


def _whole(measures: Floats, k: int) -> Floats:
    """(k, k) of the entries of its upper triangle."""
    return np.asarray(measures[_places(k)])


@functools.cache
def _places(k: int) -> Index:
    """(k, k), where the entries of a symmetric matrix are among those of its upper triangle."""
    i, j = np.indices((k, k))
    first, last = np.minimum(i, j), np.maximum(i, j)
    return np.asarray(first * (2 * k - 1 - first) // 2 + last)


def _least_lost(inner: Floats, n: int) -> Floats:
    """(2, K + 1), a and b: the new rows are sqrt(1 - 1/n) rows - a[:K] (b' [rows; delta]), less the least direction v.

    Rows that are orthogonal to v and to each other will do, whichever they are: those of the reflection that takes v
    to the last axis, I - 2 a a' / a'a with a = v plus or minus that axis.
    """
    stacked = inner.copy()
    stacked[-1] /= math.sqrt(n)
    stacked[:, -1] /= math.sqrt(n)
    mirror = np.empty((2, len(inner)))
    mirror[0] = _least(stacked)
    mirror[0, -1] += math.copysign(1.0, mirror[0, -1])
    mirror[1] = (2 * math.sqrt(1 - 1 / n) / (mirror[0] @ mirror[0])) * mirror[0]
    mirror[1, -1] /= math.sqrt(n)
    return mirror


def _least(matrix: Floats) -> Floats:
    """The eigenvector of the least eigenvalue; it alone costs a third of all of them."""
    _, vectors, *_, failed = dsyevr(matrix, range="I", il=1, iu=1)
    return np.asarray(np.linalg.eigh(matrix)[1][:, 0] if failed else vectors[:, 0])


def _turn(snapshot: Tensor, mean: Tensor, variance: Tensor, rows: Tensor, n: int, mirror: Tensor) -> None:
    """Mean and variance with the new snapshot, and rows as `_least_lost` tells, in place."""
    k = len(rows)
    for part in blocks(len(mean)):
        delta = absorb(mean[part], variance[part], snapshot[part], n)
        projection = mirror[1, :k] @ rows[:, part] + mirror[1, k] * delta
        rows[:, part] = math.sqrt(1 - 1 / n) * rows[:, part] - mirror[0, :k, None] * projection


def compressed(stacked: Tensor, variance: Tensor, k: int) -> Tensor:
    """(k, D): k rows that stand for more, in the same units of noise."""
    torch = require("torch", "torch")
    inner = stacked.new_zeros((len(stacked), len(stacked)), dtype=torch.float64)
    for part in blocks(stacked.shape[1]):
        spread = variance[part]
        inner += gram(stacked[:, part], torch.maximum(spread - (stacked[:, part] ** 2).sum(0), FLOOR * spread))
    turn = rotation(inner.cpu().numpy(), k)[1]
    return torch.as_tensor(turn, dtype=stacked.dtype, device=stacked.device) @ stacked


def joined(rows: Tensor, others: Tensor, variance: Tensor, other: Tensor, gap: Tensor, share: float) -> Tensor:
    """(K, D): rows that stand for two collections, the second with that share of all snapshots and `gap` away."""
    torch = require("torch", "torch")
    parts = (
        math.sqrt(1 - share) * rows,
        math.sqrt(share) * others.to(rows),
        math.sqrt(share * (1 - share)) * gap[None],
    )
    stacked = torch.cat(parts)
    return compressed(stacked, torch.lerp(variance, other.to(variance), share) + stacked[-1] ** 2, len(rows))


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
        inner = rows.new_zeros((len(rows), len(rows)), dtype=torch.float64)
        for part in blocks(rows.shape[1]):
            inner += gram(rows[:, part], noise[part])
        values, turn = rotation(inner.cpu().numpy() * (n / t), len(rows))
        factors = turn * (np.sqrt(n / t) * _size(values, aspect))[:, None]
        factors = factors[np.any(factors != 0, axis=1)]
        mixing = torch.as_tensor(factors, dtype=rows.dtype, device=rows.device)
        for part in blocks(rows.shape[1]):
            explained = ((mixing @ rows[:, part]) ** 2).sum(0)
            noise[part] = torch.maximum(variance[part] - explained, LEAST_NOISE * variance[part])
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
