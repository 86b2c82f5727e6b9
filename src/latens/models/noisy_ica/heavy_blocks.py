"""Blocks of rows whose sources all have heavy tails, at once: a step of their posteriors and the sums over them.

The same as a local step and statistics after it, which serve all other blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.kernels.row_posteriors.student import student_moments
from latens.array.packed_symmetric import unpacked, upper
from latens.array.special import digamma, gammaln
from latens.array.transfer import cross_sums_together, like
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.noisy_ica.posteriors import Sources

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior

__all__ = ["Told", "heavy_sums", "told_to_sources"]


@dataclass(frozen=True, eq=False)
class Told:
    """What a posterior tells the sources of all complete rows alike."""

    weights: Floats  # (K, D), loadings over the noise
    shift: Floats  # (K,), what the intercept takes from the drive
    gram: Floats  # (1, P), packed
    light: Index  # no sources
    tails: Floats  # (K,)
    shape: Floats  # (K,), of q(u)
    log_u: Floats  # (K,), E[log u] but for the logarithm of the rate
    gamma: float  # sum of the entropy of q(u) likewise


def told_to_sources(q: IcaPosterior) -> Told | None:
    """Found once for each posterior; None where rows have no shorter way."""
    if "told" not in vars(q):
        vars(q)["told"] = _told(q)
    found: Told | None = vars(q)["told"]
    return found


def _told(q: IcaPosterior) -> Told | None:
    k, w, tails = q.n_components, q.loadings, q.shapes.tails
    if not k or len(q.shapes.light):
        return None
    shift = w.gram[:k, k] if len(w.mean) > k else np.zeros(k)
    shape = 0.5 * (tails + 1)
    log_u = digamma(shape)
    gamma = float(np.sum(shape + gammaln(shape) + (1 - shape) * log_u))
    weights, gram = np.ascontiguousarray(w.scaled[:k]), np.asarray(upper(w.gram[None, :k, :k]))
    return Told(weights, np.array(shift), gram, q.shapes.light, tails, shape, log_u, gamma)


def heavy_sums(
    q: IcaPosterior, batch: Rows, warm: Sources | None
) -> tuple[Sources, Floats, Floats, Floats, float] | None:
    """What is kept of a block; sums (K + 1, K + 1, K + 1) of (u, 1) times products of (z, 1), and (K + 1, D) of
    (z, 1) x'; sums of E[log u] (K,) and of entropies. None where it takes the long way."""
    told, x = told_to_sources(q), batch.x
    if told is None or batch.seen is not None or not len(batch) or (warm is not None and warm.signs is not None):
        return None
    compiled = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.flags.c_contiguous and batch.weight is None
    quiet, sums, pull, logs = (_compiled if compiled else _plain)(told, batch, warm)
    k, n = len(told.tails), batch.n
    entropy = 0.5 * (logs[k] + n * k * (1 + LOG_2PI)) + n * told.gamma - logs[:k].sum()
    local = Sources(quiet, told.light, None, None, None, None)
    return local, unpacked(sums, k + 1), pull, n * told.log_u - logs[:k], float(entropy)


def _compiled(told: Told, batch: Rows, warm: Sources | None) -> tuple[Array, Floats, Floats, Floats]:
    from latens.array.kernels.row_posteriors.student_numba import student_sources

    (k, d), n = told.weights.shape, len(batch)
    was = np.ones((k, n)) if warm is None else np.ascontiguousarray(warm.quiet.T)
    quiet, sums, logs = np.empty((k, n)), np.zeros((k + 1, (k + 1) * (k + 2) // 2)), np.zeros(k + 1)
    pull, gram = np.zeros((k + 1, d)), np.ascontiguousarray(told.gram.T)
    student_sources(batch.x, told.weights, told.shift, gram, was, told.tails, told.shape, quiet, sums, pull, logs)
    return quiet.T, sums, pull, logs


def _plain(told: Told, batch: Rows, warm: Sources | None) -> tuple[Array, Floats, Floats, Floats]:
    x, k = batch.x, len(told.tails)
    drive = x @ like(told.weights.T, x) - like(told.shift, x)
    was = array_namespace(x).ones_like(drive) if warm is None else warm.quiet
    prior = (like(part, x) for part in (told.tails, told.shape))
    scales, full, pairs, logs = student_moments(drive, like(told.gram, x), was, *prior)
    weighted = batch.weigh(full)
    sums, pull, total = cross_sums_together((batch.weigh(scales), pairs), (weighted, x), (weighted[:, k:], logs))
    return scales[:, :k], sums, pull, total[0]
