"""SWAG: the mean, the variances and the last few deviations of the weights along a path of SGD.

    w ~ Normal(mean, diag / 2 + Dev'Dev / (2 (K - 1)))          Dev: (K, D), the last K weights less their mean so far

Variances by Welford's update: E[w^2] - E[w]^2 in single precision is mostly rounding where means are large.

References: Maddox et al. (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latens.array import Floats
from latens.families.low_rank import LowRankNormal

__all__ = ["Swag"]


@dataclass(frozen=True)
class Swag:
    """What is kept of the weights seen so far.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.random.default_rng(0).normal(size=(500, 3))
    >>> swag = Swag.empty(3, rank=2)
    >>> for weights in path:
    ...     swag = swag.update(weights)
    >>> bool(np.allclose(swag.mean, path.mean(axis=0)))
    True
    """

    rank: int
    n: int
    mean: Floats  # (D,)
    squares: Floats  # (D,), sum of squared deviations
    deviations: tuple[Floats, ...]  # the latest last

    @classmethod
    def empty(cls, n_weights: int, rank: int = 20) -> Swag:
        if rank < 2:
            raise ValueError(f"rank={rank} keeps too few deviations for a covariance; choose at least 2.")
        return cls(rank, 0, np.zeros(n_weights), np.zeros(n_weights), ())

    def update(self, weights: Floats) -> Swag:
        """See one more vector of weights."""
        gap = weights - self.mean
        mean = self.mean + gap / (self.n + 1)
        last = weights - mean
        return replace(
            self,
            n=self.n + 1,
            mean=mean,
            squares=self.squares + gap * last,
            deviations=(*self.deviations, last)[-self.rank :],
        )

    def to_low_rank(self) -> LowRankNormal:
        """The Gaussian that SWAG draws weights from."""
        if self.n < self.rank + 1:
            raise ValueError(f"only {self.n} weights were seen; rank={self.rank} needs at least {self.rank + 1}.")
        columns = np.array(self.deviations) / np.sqrt(2 * (self.rank - 1))
        variance = np.maximum(self.squares / self.n, np.finfo(float).tiny)
        return LowRankNormal(self.mean, columns, 0.5 * variance)
