"""Points that the distributions of sources are best at."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats

__all__ = [
    "FEWEST_DEGREES",
    "GAUSSIAN",
    "best_split",
    "lighter_than_gaussian",
    "most_of_covariance",
    "negentropy",
    "scale_slack",
]

GAUSSIAN = 20.0  # degrees of freedom from which a tail is called Gaussian: sources of more are alike
FEWEST_DEGREES = 0.2  # of freedom: tails are no heavier
SMALLEST_SPLIT = 1e-3  # two levels so close are one; 0 would be another kind of source
LARGEST_SPLIT = 1 - 1e-6
TAILS, SPLITS = (1.0, 1.5, 2.0, 3.0, 5.0, 9.0), (0.5, 0.7, 0.85, 0.95)  # among which a source's is roughly best
SCALE_STEPS = 6  # of EM for the scale of a Student-t whose degrees of freedom are given


def best_split(signed: Floats, square: Floats) -> Floats:
    """(L,), the m in (0, 1) of highest -1/2 log(1 - m^2) - (E[z^2] - 2 m E[z s] + m^2) / (2 (1 - m^2)).

    Its slope has the sign of -m^3 + E[zs] m^2 - E[z^2] m + E[zs], whose roots are those of its companion matrix.
    """
    companion = np.zeros((len(signed), 3, 3))
    companion[:, 0] = np.stack([signed, -square, signed], axis=1)
    companion[:, [1, 2], [0, 1]] = 1.0
    roots = np.linalg.eigvals(companion)
    inside = (np.abs(roots.imag) < 1e-9) & (roots.real > SMALLEST_SPLIT) & (roots.real < LARGEST_SPLIT)
    ends = np.broadcast_to([SMALLEST_SPLIT, LARGEST_SPLIT], (len(signed), 2))
    m = np.concatenate([np.where(inside, roots.real, SMALLEST_SPLIT), ends], axis=1)
    gap = square[:, None] - 2 * m * signed[:, None] + m**2
    height = -0.5 * np.log(1 - m**2) - 0.5 * gap / (1 - m**2)
    return np.asarray(np.take_along_axis(m, np.argmax(height, axis=1)[:, None], axis=1)[:, 0])


def scale_slack(tails: Floats, mean: Floats, variance: Floats) -> Floats:
    """(K,), nats per row that independence of a source and its scale costs, where q(z) are Normal (n, K).

    The scale's best factor turns E[log Student-t(z)] into its value at the mean square, below it by Jensen:
    (a + 1)/2 (log(a + E[z^2]) - E[log(a + z^2)]), the expectation by Gauss and Hermite.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    z = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    expected = np.log(tails[:, None] + z**2) @ (weights / weights.sum())
    return np.asarray(0.5 * (tails + 1) * np.mean(np.log(tails + mean**2 + variance) - expected, axis=0))


def lighter_than_gaussian(sources: Floats) -> NDArray[np.bool_]:
    """(K,), whether the kurtosis of (n, K) sources is below a Gaussian's by two standard errors."""
    centred = sources - sources.mean(axis=0)
    square = np.mean(centred**2, axis=0)
    excess = np.mean(centred**4, axis=0) / np.maximum(square**2, 1e-300) - 3
    return np.asarray(excess < -2 * np.sqrt(24 / len(sources)))


def most_of_covariance(d: int) -> int:
    """Ledermann's bound: so many factors fit any covariance of d sensors, and it shows no more."""
    return int((2 * d + 1 - math.sqrt(8 * d + 1)) / 2)


def negentropy(sources: Floats) -> Floats:
    """(K,), nats per row by which sources (n, K) are likelier than under a Normal of their variance; 0 at least.

    Under the best of some Student-t, whose scale is fitted, or, lighter than a Gaussian, of some pairs of levels.
    """
    deviation = np.maximum(sources.std(axis=0), 1e-300)
    z = (sources - sources.mean(axis=0)) / deviation
    normal = -0.5 * math.log(2 * math.pi) - 0.5  # of variance 1, the mean over rows
    best, light = np.zeros(z.shape[1]), lighter_than_gaussian(z)
    heavy = z[:, ~light] ** 2
    for tails in TAILS:
        square = np.ones(heavy.shape[1])
        for _ in range(SCALE_STEPS):
            square = np.mean((tails + 1) * heavy / (tails + heavy / square), axis=0)
            square = np.maximum(square, 1e-12)  # a source that is 0 in most rows: its tails have no scale
        constant = math.lgamma(0.5 * (tails + 1)) - math.lgamma(0.5 * tails) - 0.5 * math.log(math.pi * tails)
        height = constant - 0.5 * np.log(square) - 0.5 * (tails + 1) * np.mean(np.log1p(heavy / square / tails), axis=0)
        best[~light] = np.maximum(best[~light], height - normal)
    size = np.abs(z[:, light])
    for level in SPLITS:
        spread = 1 - level**2
        each = -0.5 * (size - level) ** 2 / spread + np.log1p(np.exp(-2 * level * size / spread))
        height = each.mean(axis=0) - math.log(2) - 0.5 * math.log(2 * math.pi * spread)
        best[light] = np.maximum(best[light], height - normal)
    return best
