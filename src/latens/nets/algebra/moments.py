"""Moments of weights along a path, and SWAG's last deviations: one snapshot at a time, in NumPy arrays or tensors.

    delta = w_n - mean,   mean <- mean + g delta,   variance <- (1 - g)(variance + g delta^2),   g = 1 / n      Welford
    w ~ Normal(mean, diag(variance) / 2 + Dev'Dev / (2 (K - 1)))       SWAG; Dev: (K, D), the last K weights less the
                                                                       mean that includes them; rank 0: diag(variance)

E[w^2] - E[w]^2 in single precision is mostly rounding where means are large.

References: Maddox et al. (2019).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from latens.array import Floats
from latens.families.low_rank import LowRankNormal

__all__ = ["Swag", "absorb", "grown", "held", "place", "shares", "take"]


def grown(variance: Any, delta: Any, n: int) -> Any:
    """The variance with the n-th snapshot, which is delta away from the mean before it."""
    return (1 - 1 / n) * (variance + delta * delta / n)


def absorb(mean: Any, variance: Any, snapshot: Any, n: int) -> Any:
    """Take the n-th snapshot into mean and variance, in place; returns its deviation from the mean before."""
    delta = snapshot - mean
    mean += delta / n
    variance[:] = grown(variance, delta, n)
    return delta


def take(mean: Any, variance: Any, deviations: Any, snapshot: Any, n: int) -> None:
    """Take the n-th snapshot into all that SWAG keeps, in place; deviations is (K, D), K may be 0."""
    delta = absorb(mean, variance, snapshot, n)
    if len(deviations) and n > 1:
        deviations[place(n, len(deviations))] = (1 - 1 / n) * delta


def held(n: int, rank: int) -> int:
    """Deviations kept of n snapshots; the first has none."""
    return min(max(n - 1, 0), rank)


def place(n: int, rank: int) -> int:
    """The row of the n-th snapshot's deviation."""
    return (n - 2) % rank


def shares(n: int, rank: int) -> tuple[Floats, float]:
    """(K', rank), what the rows of the covariance are of the deviations; and the share of the variance beside them."""
    k = held(n, rank)
    return (np.eye(k, rank) / np.sqrt(2 * (k - 1)), 0.5) if k > 1 else (np.zeros((0, rank)), 1.0)


class Swag:
    """SWAG of weights in NumPy arrays.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.random.default_rng(0).normal(size=(500, 3))
    >>> swag = Swag(3, rank=2)
    >>> for weights in path:
    ...     _ = swag.update(weights)
    >>> bool(np.allclose(swag.mean, path.mean(axis=0)))
    True
    """

    def __init__(self, n_weights: int, rank: int = 20) -> None:
        if rank < 2:
            raise ValueError(f"rank={rank} keeps too few deviations for a covariance; choose at least 2.")
        self.rank, self.n = rank, 0
        self.mean: Floats = np.zeros(n_weights)
        self.variance: Floats = np.zeros(n_weights)
        self.deviations: Floats = np.zeros((rank, n_weights))

    def update(self, weights: Floats) -> Self:
        """See one more vector of weights."""
        self.n += 1
        take(self.mean, self.variance, self.deviations, weights, self.n)
        return self

    def to_low_rank(self) -> LowRankNormal:
        """The Gaussian that SWAG draws weights from."""
        if self.n < self.rank + 1:
            raise ValueError(f"only {self.n} weights were seen; rank={self.rank} needs at least {self.rank + 1}.")
        mixing, share = shares(self.n, self.rank)
        noise = share * np.maximum(self.variance, np.finfo(float).tiny)
        return LowRankNormal(self.mean.copy(), mixing @ self.deviations, noise)
