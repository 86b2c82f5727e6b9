"""Yes or no: y ~ Bernoulli(sigmoid(eta)), by the bound of Jaakkola and Jordan (2000).

log p >= log sigmoid(xi) - xi/2 + lam(xi) xi^2 + (y - 1/2) eta - lam(xi) eta^2
lam(xi) = tanh(xi/2) / (4 xi),    best at xi^2 = E[eta^2]
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import expit as host_expit

from latens.array import Array, Floats
from latens.array.fields import part, record
from latens.array.kernels.entries.logistic import logistic_averages, logistic_deviance
from latens.array.kernels.quadratic_bounds import logistic_constant, masked, touch_logistic
from latens.array.special import expit
from latens.array.transfer import like
from latens.core import Rows
from latens.models.likelihoods.interface import Columns, Likelihood, Look, Predictor, Tangent
from latens.models.likelihoods.level_read_out import LevelReadOut

__all__ = ["Bernoulli", "Categorical", "Ordinal"]

SMALLEST_CHANCE = 2.0**-52  # chances are no nearer to 0 or 1
NODES = 7  # of slopes and curvatures, which are smooth
NODES_OF_ANSWERS = 20
LEAST_START_CHANCE = 1e-3  # chances nearer to 0 or 1 than this start here


@record
class Bernoulli(Likelihood):
    name: ClassVar[str] = "bernoulli"

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        response = rows.cached("logistic", lambda: masked(rows.x - 0.5, rows.seen))
        return Tangent(response, *touch_logistic(at.square(), rows.seen, rows.weight), at)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return logistic_constant(tangent.at.square(), rows.seen)

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        chance, _ = logistic_averages(mean, variance, NODES_OF_ANSWERS)
        return chance, chance * (1 - chance)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        chance = expit(at.mean())
        return masked(chance * (1 - chance), rows.seen)

    def matched(self, rows: Rows, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        chance, spread = logistic_averages(mean, variance, NODES)
        return masked(rows.x - chance, rows.seen), masked(spread, rows.seen)

    def middle(self, eta: Array, columns: Columns) -> Array:
        return expit(eta)

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        return logistic_deviance(y, eta)

    def link(self, level: Floats, columns: Columns | None = None) -> Floats:
        chance = np.clip(level, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
        return np.asarray(np.log(chance / (1 - chance)))

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        chance = np.clip(level, LEAST_START_CHANCE, 1 - LEAST_START_CHANCE)
        return self.link(chance), chance * (1 - chance)

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        return (rng.random(eta.shape) < host_expit(eta)).astype(float)

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        xp = array_namespace(mean)
        ones = xp.ones_like(mean)
        return xp.where(mean > 1 - tail, ones, 0 * ones), xp.where(mean > tail, ones, 0 * ones)

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        if look.binary:
            return None
        return (
            f"holds other values than 0 and 1 (from {look.smallest:g} to {look.largest:g}); pass "
            "(v > cut).astype(float), or choose another likelihood."
        )


@record
class Categorical(Bernoulli):
    """Levels without order, a yes/no column for each but the last (`estimators.multi_view.tables.level_columns`).

    Answers about entries have chances that are read out of codes by themselves, once a fit has found these.
    """

    name: ClassVar[str] = "categorical"

    read_out: LevelReadOut | None = part(default=None)  # None: as in the fit

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        if self.read_out is None or columns.regressors is None:
            return super().expect(mean, variance, columns)
        chance = like(self.read_out.chances(columns.regressors), mean)
        return chance, chance * (1 - chance)

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        if self.read_out is None or columns.regressors is None:
            return super().draw(eta, columns, rng)
        return (rng.random(eta.shape) < self.read_out.chances(columns.regressors, columns.drawn)).astype(float)

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        return None


@record
class Ordinal(Categorical):
    """Levels in order, likewise: each yes/no column says whether an entry that is not lower is at that level.

    Files of earlier fits hold it; new fits take `latens.models.likelihoods.ordered_logit`, with one loading a column.
    """

    name: ClassVar[str] = "ordinal"
