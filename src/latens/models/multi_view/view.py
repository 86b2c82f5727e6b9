"""One view of several: where its columns lie in a wide table, and what it takes them for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.fields import record, sized
from latens.array.transfer import like
from latens.core import Rows
from latens.families.relevance import SHAPE_OF_PROPER
from latens.models.likelihoods import Columns, Likelihood

__all__ = ["COVARIATES", "GROUP", "View", "exposure_of", "precision_of"]

# what rows know of themselves
GROUP = "group"  # the number of their group, NaN where it is unknown
COVARIATES = "covariates"  # (n, C), centred over the rows of the fit, uncorrelated and of unit variance


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
    slope: float | Floats = sized("d", default=1.0)  # and of the coefficients of covariates, column by column
    exposed: bool = False  # whether rows bring the logarithm of an exposure, which is added to eta in units of
    exposure_unit: float = 1.0  # their geometric mean in the fit, so that levels do not depend on the caller's unit
    precision_unit: float = 1.0  # what known precisions are multiplied by, to be in the units of its columns

    @property
    def knows_precision(self) -> bool:
        """Whether rows bring the precision of each of its entries."""
        return self.likelihood.takes_precision

    def proper(self, p: Any) -> View:
        """The same with priors of noise and relevances that are no longer vague, about where its posterior p is."""
        alpha = float(np.exp(np.mean(np.log(p.alpha.mean)))) if len(p.alpha.mean) else 1.0
        return replace(
            self,
            noise=(SHAPE_OF_PROPER, SHAPE_OF_PROPER / p.noise.mean),
            relevance=(SHAPE_OF_PROPER, SHAPE_OF_PROPER / alpha),
        )

    def about(self, p: Any, batch: Rows | None = None, at: Any = None, drawn: Array | None = None) -> Columns:
        """What the likelihood is given of the columns: their noise, and what is known of the entries of a batch.

        `p` is the posterior of the view, `at` the regressors of rows whose entries are asked for, `drawn` their codes.
        """
        if batch is None:
            offset = np.full((1, 1), self.log_of_one) if self.exposed else None
            return Columns(p.noise, None, p.parameters, offset, at, drawn)
        return Columns(p.noise, self.given_precision(batch), p.parameters, self.log_exposure(batch), at, drawn)

    def log_exposure(self, batch: Rows) -> Array | None:
        """(n, 1), what is added to eta; None where rows bring none."""
        return batch.aux[exposure_of(self.name)][:, None] + self.log_of_one if self.exposed else None

    @property
    def log_of_one(self) -> float:
        """What an exposure of 1 adds to eta."""
        return -math.log(self.exposure_unit)

    def given_precision(self, batch: Rows) -> Array | None:
        """(n, D), where rows bring it; that of its usual noise at entries of which it is not known."""
        if not self.knows_precision:
            return None
        given = batch.aux[precision_of(self.name)]
        xp = array_namespace(given)
        usual = like(1 / self.usual_noise, given) + xp.zeros_like(given)
        return xp.where(given > 0, given * self.precision_unit, usual)

    @property
    def usual_noise(self) -> Floats:
        """(D,), variance of the noise that its prior expects; where precisions are given, that of the sample."""
        return np.asarray(self.noise[1]) / self.noise[0] + np.zeros(self.stop - self.start)

    def slopes(self, n_covariates: int) -> Floats:
        """(D, C), prior precisions of the coefficients of covariates."""
        return np.asarray(np.zeros((self.stop - self.start, n_covariates)) + np.reshape(self.slope, (-1, 1)))

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


def exposure_of(view: str) -> str:
    """What rows call the logarithms (n,) of a view's exposures."""
    return f"exposure of {view}"


def precision_of(view: str) -> str:
    """What rows call the known precisions (n, D) of a view's entries, in the units of the data; 0: not known."""
    return f"precision of {view}"
