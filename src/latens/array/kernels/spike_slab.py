"""Coordinate ascent on spike-and-slab coefficients: compiled for NumPy arrays, plain array operations for others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array
from latens.array.packed_symmetric import pair_places
from latens.array.special import expit, xlogx
from latens.array.transfer import take

__all__ = ["Spikes", "sweep_spikes", "sweep_spikes_plain"]


class Spikes(NamedTuple):
    on: Array  # (D, K)
    slab: Array  # (D, K)
    variance: Array  # (D, K)
    mean: Array  # (D, K), E[w]
    square: Array  # (D, K), E[w^2]
    gain: Array  # (D,), E[drive'w - w' gram w / 2]
    used: Array  # (K,), sum of on
    entropy: Array  # (K,), sum of the entropy of on, and of on log variance / 2
    size: Array  # (K,), sum of E[w^2]


def sweep_spikes(drive: Array, gram: Array, scale: Array, precision: Array, log_odds: Array, start: Array) -> Spikes:
    """One pass over the K coefficients of each row, each at its best given the others.

    Parameters
    ----------
    drive : (D, K), gram : (1 or D, K (K + 1) / 2), scale : (1 or D,)
        The row's objective is scale (drive'w - w' gram w / 2); Grams are packed.
    precision, log_odds : (1 or D, K)
        Of the prior w = s v, v ~ Normal(0, 1 / precision), s ~ Bernoulli; infinite odds: always on.
    start : (D, K)
        E[w] to begin with. It is not written to.

    Compiled, the numbers of one coefficient lie together, in what is given best and in what is returned always.
    """
    if not is_numpy_array(drive):
        return sweep_spikes_plain(drive, gram, scale, precision, log_odds, start)
    from latens.array.kernels.spike_slab_numba import N_SIDE, spike_sweep

    n, k = drive.shape
    on, slab, variance, mean, square = np.empty((5, k, n), drive.dtype)
    gain = np.empty(n, drive.dtype)
    used, entropy, size = sums = np.empty((3, k), drive.dtype)
    problem = (np.ascontiguousarray(part.T) for part in (drive, gram))
    prior = (np.ascontiguousarray(part.T) for part in (precision, log_odds + 0.5 * np.log(precision)))
    started = np.ascontiguousarray(start.T)
    spike_sweep(*problem, pair_places(k), scale, *prior, started, on, slab, variance, mean, square, gain, sums, N_SIDE)
    return Spikes(on.T, slab.T, variance.T, mean.T, square.T, gain, used, entropy, size)


def sweep_spikes_plain(
    drive: Array, gram: Array, scale: Array, precision: Array, log_odds: Array, start: Array
) -> Spikes:
    xp, k = array_namespace(drive), drive.shape[1]
    places = pair_places(k)
    means, ons, slabs, variances = [start[:, a] for a in range(k)], [], [], []
    zero = xp.zeros_like(drive[:, 0])
    for a in range(k):
        row = take(gram, places[a], axis=1)
        others = sum((row[:, b] * means[b] for b in range(k) if b != a), zero)
        pull = scale * (drive[:, a] - others)
        stiff = scale * row[:, a] + precision[:, a] + zero
        slabs.append(pull / stiff)
        variances.append(1 / stiff)
        certain = xp.isinf(log_odds[:, a])
        odds = xp.where(certain, xp.zeros_like(log_odds[:, a]), log_odds[:, a])
        logit = odds + 0.5 * (xp.log(precision[:, a] / stiff) + pull * slabs[a])
        ons.append(xp.where(certain, zero + 1, expit(logit)))
        means[a] = ons[a] * slabs[a]
    on, slab, variance = (xp.stack(parts, axis=1) for parts in (ons, slabs, variances))
    mean, square = on * slab, on * (slab**2 + variance)
    gain = zero
    for a in range(k):
        row = take(gram, places[a], axis=1)
        others = sum((row[:, b] * mean[:, b] for b in range(k) if b != a), zero)
        gain = gain + mean[:, a] * (drive[:, a] - 0.5 * others) - 0.5 * row[:, a] * square[:, a]
    spread = 0.5 * on * xp.log(variance) - xlogx(on) - xlogx(1 - on)
    sums = (xp.sum(part, axis=0) for part in (on, spread, square))
    return Spikes(on, slab, variance, mean, square, gain, *sums)
