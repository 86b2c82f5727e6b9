"""What sources of heavy tails leave unknown of loadings, noise and tails, from complete rows that have settled.

    log p(x, z | u) = b'z - z'G z / 2 - sum_k u_k z_k^2 / 2 + ...     b = M x - m,   q(z) = Normal(mu, V)
    q(u_k)          = Gamma((a_k + 1) / 2, (a_k + s_k) / 2)           s_k = E[z_k^2]

A move of b, G and the tails a changes E[z] and E[zz'] as a normal's (`models.lost_information`), E[u] and E[log u] as a
Gamma's, and each by what it hears of the other: with d' for a change, S_kl = Cov(z_k^2, z_l^2), W = diag(Var u) and
K = diag(1 / rate - Var u) / 2,

    g = Cov(z_k^2, b''z - z'G'z / 2),     s' = g - S u' / 2,     u' = K a' - W s' / 2

so that the two are found together: s' = (I - S W / 4)^-1 (g - S K a' / 2). What is lost of two moves is how much the
terms that they multiply change along each other, a form y'T y of y = (g, a') beside the normal's covariance.
That is a matrix for each row, between b, G and a, and rows come into b by M x alone: sums over rows of that matrix,
times x and times x x', are all that is asked for. Cost O(N (D^2 K^2 + K^5)), whatever the number of coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import polygamma

from latens.array import Floats
from latens.array.packed_symmetric import upper_indices
from latens.array.transfer import host
from latens.core import Rows
from latens.models.noisy_ica.posteriors import Full, Sources

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior

__all__ = ["code_weights", "lost_information"]

MOST_AT_ONCE = 500_000  # numbers of the rows' matrices that are held together


def code_weights(q: IcaPosterior) -> Floats:
    """Of each column E[tau w] of sources, and E[tau w w'] of sources and 1; last the tails."""
    w, k = q.loadings, q.n_components
    d, rows = w.mean.shape[1], len(w.mean)
    pairs = np.broadcast_to(w.grams, (d, rows, rows))[:, *upper_indices(rows)]
    return np.concatenate([np.hstack([w.scaled[:k].T, pairs]).ravel(), q.shapes.tails])


def lost_information(q: IcaPosterior, batch: Rows, local: Any, slopes: Floats) -> Floats | None:
    """(P, P), for slopes of `code_weights`; None where entries are missing, or of light or independent sources."""
    if batch.seen is not None or not len(batch) or not isinstance(local, Sources) or len(q.shapes.light):
        return None
    if not isinstance(local.spread, Full):
        return None
    k, (rows, d), n_moves = q.n_components, q.loadings.mean.shape, slopes.shape[1]
    columns = slopes[: len(slopes) - k].reshape(d, -1, n_moves)
    lead, pairs = columns[:, :k].reshape(d * k, n_moves), columns[:, k:].sum(axis=0)
    above = upper_indices(rows)
    inner, beside = above[1] < k, (above[0] < k) & (above[1] == k)  # of an intercept
    shift = pairs[beside] if rows > k else np.zeros((k, n_moves))
    moves = np.concatenate([lead, -shift, pairs[inner], slopes[len(slopes) - k :]])
    return np.asarray(moves.T @ (_summed(q, batch, local) @ moves))


def _summed(q: IcaPosterior, batch: Rows, local: Sources) -> Floats:
    """(L, L), between M (D K), what is added to b (K), G (packed) and a (K)."""
    k, n, tails = q.n_components, len(batch), q.shapes.tails
    x = np.asarray(host(batch.x), dtype=np.float64)
    weight = np.ones(n) if batch.weight is None else np.asarray(host(batch.weight), dtype=np.float64).reshape(-1)
    mean, spread = (np.asarray(host(part), dtype=np.float64) for part in (local.mean, local.spread.matrix))
    full, d = np.hstack([x, np.ones((n, 1))]), x.shape[1] + 1
    size = 2 * k + len(upper_indices(k)[0])
    of_b, cross, rest = np.zeros((d * d, k * k)), np.zeros((d, k * (size - k))), np.zeros((size - k, size - k))
    for at in range(0, n, max(MOST_AT_ONCE // max(size**2, d**2), 1)):
        some = slice(at, at + max(MOST_AT_ONCE // max(size**2, d**2), 1))
        each = _of_rows(mean[some], spread[some], tails) * weight[some, None, None]
        rows, many = full[some], len(each)
        of_b += (rows[:, :, None] * rows[:, None]).reshape(many, -1).T @ each[:, :k, :k].reshape(many, -1)
        cross += rows.T @ each[:, :k, k:].reshape(many, -1)
        rest += each[:, k:, k:].sum(axis=0)
    of_b = of_b.reshape(d, d, k, k).transpose(0, 2, 1, 3).reshape(d * k, d * k)
    cross = cross.reshape(d * k, -1)
    return np.block([[of_b, cross], [cross.T, rest]])


def _of_rows(mean: Floats, spread: Floats, tails: Floats) -> Floats:
    """(n, L, L), of each row between b (K), G (packed) and a (K)."""
    (n, k), (first, second) = mean.shape, upper_indices(len(tails))
    each, n_b = np.arange(len(first)), k + len(first)
    basis = np.zeros((len(first), k, k))  # of G
    basis[each, first, second] = basis[each, second, first] = 1.0
    # b' - G' mu, (n, K, .), and V G'
    drive = np.concatenate([np.broadcast_to(np.eye(k), (n, k, k)), -np.swapaxes(mean @ basis, 0, 1).swapaxes(1, 2)], 2)
    turned = spread[:, None] @ basis
    moved = spread @ drive
    flat = turned.reshape(n, -1, k * k)
    squares = np.swapaxes(drive, 1, 2) @ moved
    squares[:, k:, k:] += 0.5 * flat @ np.swapaxes(turned, 2, 3).reshape(n, -1, k * k).swapaxes(1, 2)
    by_scale = 2 * mean[:, :, None] * moved  # g
    by_scale[:, :, k:] -= np.einsum("ngka,nka->nkg", turned, spread)
    found = np.zeros((n, n_b + k, n_b + k))
    found[:, :n_b, :n_b] = squares
    shape = 0.5 * (tails + 1)
    rate = 0.5 * (tails + mean**2 + np.einsum("nkk->nk", spread))
    variance = shape / rate**2  # W
    half = 0.5 * (1 / rate - variance)  # K
    between = 2 * spread**2 + 4 * mean[:, :, None] * spread * mean[:, None]  # S
    back = np.linalg.inv(np.eye(k) - 0.25 * between * variance[:, None])  # (I - S W / 4)^-1
    there = np.concatenate([by_scale, np.zeros((n, k, k))], axis=2)  # g, and a' beside it
    own = np.concatenate([np.zeros((k, n_b)), np.eye(k)], axis=1)
    of_a = half[:, :, None] * back  # K (I - S W / 4)^-1
    by_g = 0.25 * variance[:, :, None] * back
    by_a = 0.25 * (of_a @ between) * half[:, None]
    by_a += 0.5 * np.eye(k) * (0.5 * (polygamma(1, shape) - 1 / rate) - half)[:, :, None]
    mixed = np.swapaxes(there, 1, 2) @ (-0.5 * np.swapaxes(of_a, 1, 2)) @ own
    found += np.swapaxes(there, 1, 2) @ by_g @ there + mixed + np.swapaxes(mixed, 1, 2) + own.T @ by_a @ own
    return np.asarray(0.5 * (found + np.swapaxes(found, 1, 2)))
