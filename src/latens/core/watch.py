"""How rows of a stream are expected to score, and how those that came since the model was fitted did."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from latens.array import Floats
from latens.array.fields import record

__all__ = ["Watch"]

LEAST_SHORTFALL = 0.02  # nats for each row seen so far, before it is worth fitting anew
SURE_OF_SHORTFALL = 4.0  # standard errors, before a shortfall is none of chance
# spreads below the median: rows that far out count as if they were there, or one would decide for all
FARTHEST_ROW = 20.0


@record
class Watch:
    """Scores are log densities, in nats a row; rows that lack entries are scored as if they had all of them."""

    expected: float  # mean score of a new row
    spread: float  # standard deviation of a row's score
    n: float  # rows from which both were computed
    lowest: float  # what rows that are further out count as
    n_since: float = 0.0  # rows that came since
    total_since: float = 0.0  # of their scores

    @classmethod
    def of(cls, scores: Floats, weight: Floats, n_parameters: int) -> Watch:
        """From the rows of a fit: they score too well by about as many nats as it has parameters."""
        middle = float(np.median(scores))
        spread = 1.4826 * float(np.median(np.abs(scores - middle))) or float(scores.std())
        lowest = middle - FARTHEST_ROW * spread
        cut, n = np.maximum(scores, lowest), float(weight.sum())
        mean = float(weight @ cut) / n
        variance = float(weight @ (cut - mean) ** 2) / n
        return cls(mean - n_parameters / n, math.sqrt(variance), n, lowest)

    def meet(self, scores: Floats, weight: Floats) -> Watch:
        """With the scores of rows that the model has not seen yet."""
        total = float(weight @ np.maximum(scores, self.lowest))
        return replace(self, n_since=self.n_since + float(weight.sum()), total_since=self.total_since + total)

    @property
    def shortfall(self) -> float:
        """Nats by which a row since then scores less than expected."""
        return self.expected - self.total_since / self.n_since if self.n_since else 0.0

    @property
    def standard_errors(self) -> float:
        """The same in standard errors of the difference."""
        if not self.n_since:
            return 0.0
        error = self.spread * math.sqrt(1 / self.n + 1 / self.n_since)
        return self.shortfall / error if error else math.copysign(math.inf, self.shortfall)

    def is_short(self, n: float) -> bool:
        """Whether rows since then cost more, over all `n` rows of the stream, than chance and patience explain."""
        return self.shortfall * self.n_since > LEAST_SHORTFALL * n and self.standard_errors > SURE_OF_SHORTFALL
