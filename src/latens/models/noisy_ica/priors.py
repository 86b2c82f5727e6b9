"""Points that the distributions of sources are best at."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats

__all__ = ["FEWEST_DEGREES", "GAUSSIAN", "best_split", "lighter_than_gaussian", "most_of_covariance", "scale_slack"]

GAUSSIAN = 20.0  # degrees of freedom from which a tail is called Gaussian: sources of more are alike
FEWEST_DEGREES = 0.2  # of freedom: tails are no heavier
SMALLEST_SPLIT = 1e-3  # two levels so close are one; 0 would be another kind of source
LARGEST_SPLIT = 1 - 1e-6


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
