"""What is measured given a linear predictor eta, bounded from below by a parabola.

    log p(y | eta)  >=  tau (constant + response eta - precision eta^2 / 2) + normaliser
                        + free constant + free response eta - free precision eta^2 / 2 + power log(tau)

tau is a precision of the column's noise, held in the posterior, and 1 where a likelihood has none. The parabola is
found by `tangent` where eta is now, and lives for one block of rows. What tau does not multiply is called free; most
likelihoods have nothing of it. A precision of None is 1 wherever an entry was observed.

A likelihood may have `Parameters` of its own, such as degrees of freedom: points, held in the posterior as well.

A likelihood is one file: a record that derives from `Likelihood` and writes the methods without a body here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import column_sums, like
from latens.core import Rows

__all__ = ["Columns", "Free", "Likelihood", "Look", "Parameters", "Predictor", "Tangent", "averages"]

Entries = Callable[[], Array]  # (n, D), made anew by every call, and the caller's to write over


@dataclass(frozen=True)
class Columns:
    """What is known of a view's columns beside eta."""

    noise: Any  # Gamma or Known (D,): the precision tau
    given: Array | None = None  # (n, D), precisions that were given entry by entry
    parameters: Any = None  # those of the likelihood, where it has some
    offset: Array | None = None  # (n, 1), what an exposure adds to eta, which holds it; None: nothing
    # in answers about entries: `Regressors` of the rows, from which eta is made, and codes (n, K) that were drawn
    regressors: Any = None
    drawn: Array | None = None

    def variance(self, x: Array) -> Array:
        """(1 or n, D), of the noise."""
        return like(1 / self.noise.mean, x) if self.given is None else 1 / self.given


@dataclass(frozen=True)
class Predictor:
    """Where the linear predictor of a block of rows is."""

    mean: Entries  # E[eta]
    square: Entries  # E[eta^2]
    columns: Columns


@dataclass(frozen=True)
class Free:
    """The part of a parabola that tau does not multiply."""

    constant: Entries
    response: Array | None = None  # (n, D); None where it has neither this nor a precision
    precision: Array | None = None  # (n, D)
    levels: Floats | None = None  # (D,), weighted sums of the constant, where they are at hand

    def entries(self, eta: Array, second: Array) -> Array:
        """(n, D), its value where eta and eta^2 are expected to be these."""
        level = self.constant()
        if self.response is None or self.precision is None:
            return level
        return level + self.response * eta - 0.5 * self.precision * second


@dataclass(frozen=True)
class Tangent:
    """The parabolas of a block of rows, as above, one for each entry; zero at missing entries."""

    response: Array  # (n, D)
    precision: Array | None  # (n, D)
    levels: Floats | None = None  # (D,), weighted sums of the constant, where they are at hand
    at: Any = None  # Predictor: where it touches; None where that changes nothing
    constant: Entries | None = None  # None where the likelihood's `level` makes it
    free: Free | None = None
    powers: Entries | None = None  # what log tau is multiplied by, where `normaliser` does not say it
    power_sums: Floats | None = None  # (D,), weighted sums of the powers
    own: Callable[[Rows, Array], Floats] | None = (
        None  # rows, E[regressors] (n, R) -> (D, .), what parameters learn from
    )
    way: Floats | None = None  # (D, 3), weighted sums of log tau, and of the bound's first two derivatives by it

    def shifted(self, offset: Array, mask: Array, constant: Array) -> Tangent:
        """A parabola of eta + offset (n, 1) with these constants, as one of eta."""
        precision, free = mask if self.precision is None else self.precision, self.free
        if free is not None and free.response is not None:
            moved = free.constant() + offset * (free.response - 0.5 * offset * free.precision)
            free = Free(lambda: moved, free.response - offset * free.precision, free.precision)
        level = constant + offset * (self.response - 0.5 * offset * precision)
        response = self.response - offset * precision
        return replace(self, response=response, levels=None, constant=lambda: level, free=free)


class Parameters:
    """What a likelihood learns of a view beside the noise: points, each a record.

    Sums over rows (`ViewStatistics`) are those of parabolas that touch at older values of the parameters. Their part
    `own` says what they are at others.
    """

    @abstractmethod
    def applied(self, sums: Any) -> Any:
        """The sums at these values."""

    @abstractmethod
    def improved(self, sums: Any, coefficients: Floats) -> Self:
        """Values of a higher bound, or the best ones, given E[coefficients] (D, R)."""

    def log_prior(self) -> float:
        return 0.0

    def slopes(self, sums: Any, coefficients: Floats) -> dict[str, Floats] | None:
        """Derivatives of the bound by each field, at fixed sums; None where they are found by differences."""
        return None

    def only(self, columns: slice) -> Self | None:
        """Those of some columns of the view; None where whether a loading is in is not asked column by column."""
        return None


@dataclass(frozen=True)
class Look:
    """What the observed values of one view look like."""

    low: Floats  # (D,), the smallest of each column; inf where nothing was observed
    high: Floats  # (D,)
    whole: bool  # only whole numbers
    binary: bool  # only 0 and 1
    # of rows that are fitted, False of new ones:
    skewed: bool  # nothing negative, and a few columns hold most of the variance
    counted: bool = False  # zeros, tails and variances of most columns are those of counts
    unequal: bool = False  # few columns, of which one varies far more than is usual and has most of the variance

    @property
    def smallest(self) -> float:
        return float(self.low.min())

    @property
    def largest(self) -> float:
        return float(self.high.max())


class Likelihood:
    """How the entries of a view depend on eta."""

    name: ClassVar[str]
    curved: ClassVar[bool] = True  # whether the parabola depends on where eta is
    even: ClassVar[bool] = False  # whether all observed entries of a column have the same precision
    learns_noise: ClassVar[bool] = False  # whether columns have a tau of their own
    takes_exposure: ClassVar[bool] = False  # whether e^eta is a rate, which an exposure multiplies
    takes_precision: ClassVar[bool] = False  # whether rows bring the precision of each entry
    has_unit: ClassVar[bool] = False  # whether values are measurements, which may be moved and scaled

    @classmethod
    def for_rows(cls, rows: Rows) -> Self:
        """The likelihood of a view that holds such rows."""
        return cls()

    @classmethod
    def for_levels(cls, rows: Rows, levels: Sequence[Sequence[float]]) -> Self:
        """The same, of columns that have these levels, in order; rows may not show all of them."""
        return cls.for_rows(rows)

    @property
    def noise_prior(self) -> tuple[float, float] | None:
        """Shape and rate of tau; None: weak, in the units of the view."""
        return None

    def parameters(self, d: int) -> Parameters | None:
        """Where the parameters of a view of d columns start; None where it has none."""
        return None

    @abstractmethod
    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        """The parabola where eta is now."""

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        """(n, D), the constant that tau multiplies."""
        return 0 * rows.x if tangent.constant is None else tangent.constant()

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        """(D,), its weighted sums."""
        return column_sums(rows.weigh(self.level(rows, tangent))) if tangent.levels is None else tangent.levels

    def normaliser(self, noise: Any) -> Floats:
        """(D,), per observed entry."""
        return np.zeros_like(noise.mean)

    def stride(self, noise: Any, prior: Any, way: Floats, counts: Floats) -> tuple[Floats, Floats, float] | None:
        """Newton's step in log tau, the change of levels with it, (D,) each, and the nats that it promises.

        `way` is the sum of `Tangent.way` over rows, `counts` (D,) how often columns were observed. None: no such step.
        """
        return None

    @abstractmethod
    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        """Mean and variance of y, eta being normal."""

    def level_chances(self, mean: Array, variance: Array, columns: Columns) -> list[Array] | None:
        """(n, D) each: chances of the levels of y in their order, eta being normal; None where y is no such level."""
        return None

    @abstractmethod
    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array | None:
        """(n, D), -d^2 log p / d eta^2 at E[eta], divided by tau; None: 1."""

    def matched(self, rows: Rows, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        """(n, D) each: E[d log p / d eta] and E[-d^2 log p / d eta^2], eta being normal; 0 at missing entries.

        By the parabola, unless a likelihood says more.
        """
        tangent = self.tangent(rows, Predictor(lambda: mean + 0.0, lambda: mean**2 + variance, columns))
        tau, free = like(columns.noise.mean, mean), tangent.free
        bend = tau * (rows.mask if tangent.precision is None else tangent.precision)
        slope = tau * tangent.response - bend * mean
        if free is None or free.response is None:
            return slope, bend
        return slope + free.response - free.precision * mean, bend + free.precision

    def only(self, columns: slice) -> Likelihood:
        """That of some columns of the view."""
        return self

    @abstractmethod
    def middle(self, eta: Array, columns: Columns) -> Array:
        """E[y | eta]."""

    @abstractmethod
    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        """Twice the log-likelihood lost beside a perfect prediction; of measurements the squared error."""

    @abstractmethod
    def link(self, level: Floats, columns: Columns) -> Floats:
        """The eta whose y is at that level."""

    def dispersion(self, noise: Any) -> Floats:
        """(D,), the noise of columns without a unit, as it is published."""
        return np.asarray(1 / noise.mean)

    def intercept(self, offsets: Floats, columns: Columns) -> Floats:
        """(D, G), levels of eta as they are published."""
        return offsets

    @abstractmethod
    def start(self, level: Floats) -> tuple[Floats, Floats]:
        """The eta whose y is at that level, not too far out, and the slope of `working` values there."""

    def working(self, y: Floats) -> Floats | None:
        """Values in which a start looks for principal directions; None: y itself."""
        return None

    def start_noise(self, prior: Any, rows: Rows, squares: Floats) -> Any:
        """The noise that a start begins with; `squares` (D,) are sums of what it leaves of the working values."""
        return prior.observe(rows.counts, squares)

    def start_at(self, eta: Floats, noise: Any) -> Floats:
        """The eta (D, G) of a start, its noise being known."""
        return eta

    @abstractmethod
    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        """New entries."""

    @abstractmethod
    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        """Between which a new entry of that predictive mean and variance falls but for `tail` at either end."""

    def between(self, mean: Array, variance: Array, columns: Columns, tail: float) -> tuple[Array, Array]:
        """The same, eta being normal with that mean and variance."""
        return self.limits(*self.expect(mean, variance, columns), tail)

    def quantile(self, mean: Array, variance: Array, columns: Columns, level: float) -> Array:
        """(n, D), what a new entry is below with the chance `level`, likewise."""
        return self.between(mean, variance, columns, min(level, 1 - level))[level > 0.5]

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        """What is wrong with a view that holds such values, and what to do; None where nothing is.

        Names are asked by class, before there is an instance; a likelihood of the caller's own is asked as the instance
        that was given, so that there it may be a plain method which looks at its fields.
        """
        return None


def averages(mean: Array, variance: Array, of: Callable[[Array], tuple[Array, ...]], nodes: int = 20) -> list[Array]:
    """E[f(eta)] of each f, eta ~ Normal(mean, variance), by Gauss-Hermite quadrature."""
    xp = array_namespace(mean)
    sd = xp.sqrt(variance)
    points, masses = np.polynomial.hermite_e.hermegauss(nodes)
    totals: list[Array] = []
    for point, mass in zip(points.tolist(), (masses / masses.sum()).tolist(), strict=True):
        parts = [mass * part for part in of(mean + point * sd)]
        totals = parts if not totals else [total + part for total, part in zip(totals, parts, strict=True)]
    return totals
