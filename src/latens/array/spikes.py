"""Coordinate ascent on spike-and-slab coefficients: compiled for NumPy arrays, plain array operations for others."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array
from latens.array.quadratic import diagonal_places, pair_places
from latens.array.special import expit
from latens.array.transfer import take

__all__ = ["sweep_spikes", "sweep_spikes_plain"]

Spikes = tuple[Array, Array, Array]  # on, slab, variance; (D, K) each


def sweep_spikes(
    drive: Array, gram: Array, scale: Array, precision: Array, log_odds: Array, on: Array, slab: Array
) -> Spikes:
    """One pass over the K coefficients of each row, each at its best given the others.

    Parameters
    ----------
    drive : (D, K), gram : (1 or D, K (K + 1) / 2), scale : (1 or D,)
        The row's objective is scale (drive'w - w' gram w / 2); Grams are packed.
    precision, log_odds : (1 or D, K)
        Of the prior w = s v, v ~ Normal(0, 1 / precision), s ~ Bernoulli; infinite odds: always on.
    on, slab : (D, K)
        Where to begin. They are not written to.
    """
    if not is_numpy_array(drive):
        return sweep_spikes_plain(drive, gram, scale, precision, log_odds, on, slab)
    from latens.array.spike_kernels import spike_sweep

    on, slab, k = np.array(on), np.array(slab), on.shape[1]
    variance = 1 / (scale[:, None] * gram[:, diagonal_places(k)] + precision)
    variance = np.ascontiguousarray(np.broadcast_to(variance, on.shape))
    bias = log_odds + 0.5 * np.log(precision * variance)
    spike_sweep(drive, gram, pair_places(k), scale, variance, bias, on, slab)
    return on, slab, variance


def sweep_spikes_plain(
    drive: Array, gram: Array, scale: Array, precision: Array, log_odds: Array, on: Array, slab: Array
) -> Spikes:
    xp, k = array_namespace(drive), drive.shape[1]
    places = pair_places(k)
    ons, slabs = [on[:, a] for a in range(k)], [slab[:, a] for a in range(k)]
    variances = []
    zero = xp.zeros_like(drive[:, 0])
    for a in range(k):
        row = take(gram, places[a], axis=1)
        others = sum((row[:, b] * ons[b] * slabs[b] for b in range(k) if b != a), zero)
        pull = scale * (drive[:, a] - others)
        stiff = scale * row[:, a] + precision[:, a] + zero
        slabs[a] = pull / stiff
        variances.append(1 / stiff)
        certain = xp.isinf(log_odds[:, a])
        odds = xp.where(certain, xp.zeros_like(log_odds[:, a]), log_odds[:, a])
        logit = odds + 0.5 * (xp.log(precision[:, a] / stiff) + pull * slabs[a])
        ons[a] = xp.where(certain, zero + 1, expit(logit))
    return xp.stack(ons, axis=1), xp.stack(slabs, axis=1), xp.stack(variances, axis=1)
