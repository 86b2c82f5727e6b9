"""The units a model works in: rows about an origin, divided by a power of two.

    x_model = (x - origin) / 2^exponent          elbo(x) = elbo(x_model) - entries exponent log 2

This is the one place for location and scale: data from 1e-150 to 1e150, and large means in
float32, look alike to every model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import column_sums, like, total
from latens.core import Rows
from latens.estimators.sampling import blocks

__all__ = ["Frame"]

MOST_EXPONENT = 505  # powers of two whose squares are still numbers
GRID = 2.0**-10  # origins lie on a grid: the order in which rows were summed must not reach the model


@dataclass(frozen=True)
class Frame:
    origin: Floats  # (D,), in the units of the data
    exponent: int

    @classmethod
    def of(cls, rows: Rows, *, centred: bool, scaled: bool = True) -> Frame:
        """From the means and the spread of the observed entries; not centred where zero means something."""
        d = rows.x.shape[1]
        if not scaled:
            return cls(np.zeros(d), 0)
        xp = array_namespace(rows.x)
        parts = blocks(rows, 2 * d)  # so that nothing of the size of the data is formed
        largest = max(float(xp.max(xp.abs(block.x))) for block in parts)
        if not largest > 0:
            return cls(np.zeros(d), 0)
        counts = np.maximum(sum(block.counts for block in parts), np.finfo(float).tiny)
        mean = np.zeros(d)
        if centred:
            mean = sum(column_sums(block.weigh(block.x / largest)) for block in parts) / counts
        squares = 0.0
        for block in parts:
            gaps = (block.x / largest - like(mean, block.x)) * block.mask
            squares += total(block.weigh(gaps**2))
        # columns that hardly vary beside their size still need a scale: that of rounding
        spread = max(math.sqrt(squares / counts.sum()), float(xp.finfo(rows.x.dtype).eps))
        exponent = max(-1000, min(1000, round(math.log2(spread) + math.log2(largest))))
        grid = GRID * math.ldexp(1.0, exponent)
        return cls(np.round(largest * mean / grid) * grid if centred else np.zeros(d), exponent)

    def check_range(self) -> None:
        """Refuse data whose squares would leave the range of numbers."""
        if abs(self.exponent) > MOST_EXPONENT:
            raise ValueError(
                f"the entries of X are about {self.scale:.0e} in size, too {'large' if self.exponent > 0 else 'small'} "
                f"to be squared; divide X by {self.scale:.0e} or so."
            )

    @property
    def log_scale(self) -> float:
        return self.exponent * math.log(2)

    @property
    def scale(self) -> float:
        return math.ldexp(1.0, self.exponent)

    def enter(self, rows: Rows) -> Rows:
        """Rows of data as the model sees them."""
        x = rows.x
        if np.any(self.origin):
            x = (x - like(self.origin, x)) * rows.mask
        return replace(rows, x=x * math.ldexp(1.0, -self.exponent) if self.exponent else x)

    def leave(self, x: Array) -> Array:
        """Positions in data units."""
        return self.leave_direction(x) + like(self.origin, x)

    def leave_direction(self, x: Array) -> Array:
        """Differences in data units: loadings, standard deviations."""
        return x * self.scale

    def enter_direction(self, x: Floats) -> Floats:
        return x * math.ldexp(1.0, -self.exponent)

    def leave_variance(self, x: Floats) -> Floats:
        return x * self.scale * self.scale
