"""Free coordinates of a posterior of noisy ICA, and how long a move along them is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.array.linalg import symmetric_pinv
from latens.families.relevance import Relevance
from latens.models.noisy_ica.posteriors import Shapes
from latens.models.noisy_ica.priors import FEWEST_DEGREES, GAUSSIAN, LARGEST_SPLIT, SMALLEST_SPLIT

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior

__all__ = ["at", "coordinates", "products", "scales"]

LARGEST_LOG_STEP = 2.0  # of a logarithm, in one move
TAIL = 0.05  # nats per row that tails lose by a change of their logarithm, twice over: about that of 5 degrees


def coordinates(q: IcaPosterior) -> Floats:
    """(P,): loadings, logarithms of noise, of relevances where there are any and of tails, levels."""
    w = q.loadings
    scales = [w.weights.rate, w.alpha.rate] if isinstance(w, Relevance) else [w.noise]
    levels = np.arctanh(np.minimum(q.shapes.split, LARGEST_SPLIT))
    return np.concatenate([w.mean.ravel(), *map(np.log, scales), np.log(q.shapes.tails), levels])


def scales(q: IcaPosterior) -> NDArray[np.bool_]:
    """(P,), all but the loadings: along them no source turns."""
    others = np.arange(len(coordinates(q))) >= q.loadings.mean.size
    return np.asarray(others)


def at(q: IcaPosterior, x: Floats) -> IcaPosterior:
    """The posterior at coordinates x; what they do not say is as in q."""
    w, k, now = q.loadings, q.n_components, coordinates(q)
    size = w.mean.size
    loadings, scales, tails, levels = np.split(x, [size, len(x) - 2 * k, len(x) - k])
    before = now[size : len(x) - 2 * k]
    scales = np.exp(before + np.clip(scales - before, -LARGEST_LOG_STEP, LARGEST_LOG_STEP))
    light = q.shapes.split > 0
    tails = np.where(light, q.shapes.tails, np.exp(np.clip(tails, np.log(FEWEST_DEGREES), np.log(GAUSSIAN))))
    levels = np.where(light, np.clip(np.tanh(levels), SMALLEST_SPLIT, LARGEST_SPLIT), 0.0)
    mean, shapes = loadings.reshape(w.mean.shape), Shapes(tails, levels)
    if not isinstance(w, Relevance):
        return replace(q, shapes=shapes, loadings=replace(w, mean=mean, noise=np.maximum(scales, w.floor)))
    d = len(w.weights.rate)
    weights = replace(w.weights, mean=mean, rate=scales[:d])
    return replace(q, shapes=shapes, loadings=Relevance(weights, replace(w.alpha, rate=scales[d:])))


def products(q: IcaPosterior, n: float, moves: Floats) -> Floats:
    """(m, m), products of moves (m, P), the square of a move being about the nats that it may cost.

    A move of loadings and intercept is taken apart: what mixes loadings costs as little as a turn or a shift of the
    sources, however small the noise; the rest is seen through it.
    """
    w, k, m = q.loadings, q.n_components, len(moves)
    rows, d = w.mean.shape
    per_noise = np.sqrt(np.broadcast_to(w.tau, (d,)))
    now = w.mean[:k] * per_noise
    moved = moves[:, : rows * d].reshape(m, rows, d) * per_noise
    mixed = moved @ now.T @ symmetric_pinv(now @ now.T)  # (m, rows, K): moved = mixed @ now + rest
    size = np.concatenate([q.size, np.ones(rows - k)])[:, None]
    rest = (moved - mixed @ now) * size
    others = moves[:, rows * d :]
    scale = np.full(others.shape[1] - 2 * k, 0.5)
    if isinstance(w, Relevance):
        scale[len(w.weights.rate) :] = 0.5 * d / max(n, 1.0)
    heavy = q.shapes.split == 0
    scale = np.concatenate([scale, np.where(heavy, TAIL, 0.0), np.where(heavy, 0.0, 1.0)])
    parts = [mixed * (size / q.size), rest, others * np.sqrt(scale)]
    flat = [part.reshape(m, part[0].size) for part in parts]
    return np.asarray(n * np.sum([part @ part.T for part in flat], axis=0))
