"""One view of several: where its columns lie in a wide table, and what it takes them for."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.fields import record, sized
from latens.array.transfer import like
from latens.core import Rows
from latens.models.likelihoods import Likelihood

__all__ = ["View"]


@record(eq=False)
class View:
    """Which columns a view has, what they hold, and how strong its priors are in its units."""

    name: str
    start: int
    stop: int
    likelihood: Likelihood
    noise: tuple[float, float | Floats] = sized("d", default=(1e-3, 1e-3))  # shape, rate in squared units
    relevance: tuple[float, float] = (1e-3, 1e-3)
    inclusion: tuple[float, float] | None = (1.0, 1.0)  # None: every feature belongs to every factor
    offset: float = 1e-2  # prior precision of a column's level
    given: int | None = None  # where the columns of its known precisions begin

    def given_precision(self, batch: Rows) -> Array | None:
        """(n, D), where it is known; that of its usual noise at entries of which it was not told."""
        if self.given is None:
            return None
        part = batch.columns(slice(self.given, self.given + self.stop - self.start))
        if part.seen is None:
            return part.x
        xp = array_namespace(part.x)
        return xp.where(part.seen, part.x, like(1 / self.usual_noise, part.x) + xp.zeros_like(part.x))

    @property
    def usual_noise(self) -> Floats:
        """(D,), variance of the noise that its prior expects; where precisions are given, that of the sample."""
        return np.asarray(self.noise[1]) / self.noise[0] + np.zeros(self.stop - self.start)

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)
