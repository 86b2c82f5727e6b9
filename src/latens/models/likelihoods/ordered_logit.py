"""Levels in order, c = 0 .. C - 1: one eta an entry, and cuts between levels that are learnt for each column.

    P(y <= c) = sigmoid(cut_c - eta),      cut_0 < ... < cut_{C-2}

The chance of a level is a product, of which each logistic part has the bound of Jaakkola and Jordan (2000):

    log P(y = c) = log sigmoid(eta - cut_{c-1}) + log sigmoid(cut_c - eta) + log(1 - e^-(cut_c - cut_{c-1}))

    log sigmoid(psi) >= psi/2 - t psi^2/2 + t xi^2/2 - xi/2 - log(1 + e^-xi),   t = tanh(xi/2) / (2 xi)

best at xi^2 = E[psi^2]; the lowest level has no first part, the highest no second, and neither has the third. With two
levels it is a yes/no column. Only differences of cuts and eta matter: cuts are counted from their mean, weighted by how
many entries lie next to each, so that levels of eta and gaps between cuts hardly depend on each other.

Two parabolas are loose where eta lies between the cuts and is uncertain. The first two parts together also have one
parabola about the middle of a level (`quadratic_bounds.middles`), and each entry has whichever is higher:

    k + l (g - g_0) - (g - g_0)^2 / 2 - t (eta - middle)^2 / 2,      g = (cut_c - cut_{c-1}) / 2, g_0 where it touches

Given xi, t, k and l the bound is concave in the cuts: with n_c entries at level c, T_j and E_j sums of t and t E[eta]
over the parts that have cut j, a step is where

    sum_j (n_j - n_{j+1}) cut_j / 2 - T_j cut_j^2 / 2 + E_j cut_j  +  sum_{0<c<C-1} n_c log(1 - e^-(cut_c - cut_{c-1}))

over entries of two parabolas, the like sums of the others, and the logarithm of the prior of the cuts are highest.
That prior is normal of variance 100, and counts half an entry more at each level between two cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from scipy.special import ndtri

from latens.array import Array, Floats
from latens.array.fields import positive, record, sized
from latens.array.kernels.quadratic_bounds import (
    MOST_BENT,
    Steps,
    masked,
    middles,
    steps_about,
    steps_constant,
    sum_steps,
    touch_steps,
)
from latens.array.special import expit, softplus
from latens.array.transfer import column_sums, cross_sums, host, like
from latens.core import Rows
from latens.models.likelihoods.interface import Columns, Likelihood, Parameters, Predictor, Tangent, averages

__all__ = ["Cuts", "OrderedLogit"]

PRIOR_PRECISION = 0.01  # of a cut
PRIOR_ENTRIES = 0.5  # that the prior adds to each level between two cuts: where no row shows it, cuts stay apart
MOST_STEPS, LAST_STEP = 30, 1e-9  # of Newton's method, and the size, relative to a gap, at which it ends
ROUNDING = 1e-14  # relative, of the height that Newton's method climbs
MOST_SHORTENINGS = 40  # halvings of a Newton step, after which a column stays where it is
NODES = 7  # of quadrature for slopes and curvatures, which are smooth
MOST_BEYOND = 30.0  # how far beyond the outermost cuts an eta is looked for
MOST_HALVINGS = 60  # of the range in which that eta is
LEAST_NEARER = 1e-12  # by which the probability of a narrower range must come nearer to that asked for
LEAST_SHARE = 1e-3  # of the range of levels, by which a mean level is kept from its ends


@record
class Cuts(Parameters):
    """The cuts of each column, as gaps between them; 1 where a column has fewer levels than others of its view."""

    gaps: Floats = positive("d gaps")
    shares: Floats = sized("d gaps+1")  # by which cuts are weighted in their mean, 0; 0 where there is no cut

    @classmethod
    def of(cls, cuts: Floats, shares: Floats) -> Cuts:
        """From cuts (D, C - 1), of which nothing but differences is kept."""
        return cls(np.where(shares[:, 1:] > 0, np.diff(cuts, axis=1), 1.0), shares)

    @cached_property
    def values(self) -> Floats:
        """(D, C - 1), the cuts."""
        steps = np.concatenate([np.zeros((len(self.gaps), 1)), np.cumsum(self.gaps, axis=1)], axis=1)
        return np.asarray(steps - np.sum(self.shares * steps, axis=1, keepdims=True))

    @property
    def by_column(self) -> list[Floats]:
        """(C_d - 1,) each: the cuts of columns."""
        return [own[real] for own, real in zip(self.values, self.shares > 0, strict=True)]

    @cached_property
    def top(self) -> Floats:
        """(D,), the number of the highest level."""
        return np.asarray(np.sum(self.shares > 0, axis=1), dtype=float)

    @cached_property
    def widths(self) -> Floats:
        """(D, C), log(1 - e^-gap) of the levels between two cuts, else 0."""
        inner, end = np.log(-np.expm1(-self.gaps)), np.zeros((len(self.gaps), 1))
        return np.concatenate([end, np.where(self.shares[:, 1:] > 0, inner, 0.0), end], axis=1)

    @cached_property
    def steps(self) -> Steps:
        about = np.zeros((*self.widths.shape, 5))
        about[:, 1:-1] = middles(self.values[:, :-1], self.values[:, 1:]) * (self.shares[:, 1:] > 0)[..., None]
        return Steps(self.values, self.top, self.widths, about)

    def only(self, columns: slice) -> Cuts:
        return Cuts(self.gaps[columns], self.shares[columns])

    def applied(self, sums: Any) -> Any:
        known = _Known.of(sums, self)
        level = known.base + np.sum(known.half * self.values - 0.5 * known.weight * self.values**2, axis=1)
        level += np.sum(known.counts * self.widths, axis=1)
        level += np.sum(0.5 * self.gaps * (known.lean - 0.25 * known.bent * self.gaps), axis=1)
        level -= np.sum(0.5 * known.held * self.centres**2, axis=1)
        moved = np.einsum("dc,dcr->dr", self.values, known.pulls)
        moved += np.einsum("dc,dcr->dr", self.centres, known.pulls_about)
        return replace(sums, level=level, pull=known.pull + moved)

    @property
    def centres(self) -> Floats:
        """(D, C - 2), between two cuts."""
        return np.asarray(0.5 * (self.values[:, :-1] + self.values[:, 1:]))

    def slopes(self, sums: Any, coefficients: Floats) -> dict[str, Floats]:
        parabola = _Parabola.of(sums, self, coefficients)
        each = parabola.slopes(self)
        after, moved = (np.cumsum(part[:, :0:-1], axis=1)[:, ::-1] for part in (each, self.shares))
        push = parabola.inner / np.expm1(self.gaps)
        return {"gaps": after - moved * each.sum(axis=1, keepdims=True) + push}

    def improved(self, sums: Any, coefficients: Floats) -> Cuts:
        parabola, real = _Parabola.of(sums, self, coefficients), self.shares > 0
        now = self
        for _ in range(MOST_STEPS):
            step = np.where(real[:, 1:], np.diff(_newton(now, parabola), axis=1), 0.0)
            far = np.any(np.abs(step) > LAST_STEP * (1 + now.gaps), axis=1)
            if not far.any():
                break
            before, length = parabola.height(now), far.astype(float)
            least = before - ROUNDING * (1 + np.abs(before))
            for _ in range(MOST_SHORTENINGS):
                gaps = now.gaps + length[:, None] * step
                reached = parabola.height(Cuts(np.maximum(gaps, np.finfo(float).tiny), self.shares))
                lower = far & (np.any(gaps <= 0, axis=1) | ~(reached >= least))
                if not lower.any():
                    break
                length = np.where(lower, 0.5 * length, length)
            else:
                length = np.where(lower, 0.0, length)
            now = Cuts(now.gaps + length[:, None] * step, self.shares)
        return now

    def log_prior(self) -> float:
        """The logarithm of the prior of the cuts but for its normaliser."""
        near = -0.5 * PRIOR_PRECISION * float(np.sum(np.where(self.shares > 0, self.values, 0.0) ** 2))
        return near + PRIOR_ENTRIES * float(self.widths.sum())


@dataclass(frozen=True)
class _Parabola:
    """The bound with the prior as a function of the cuts; numbers are 0 where there is no cut.

    It is made of parabolas, of single cuts and of gaps and middles of levels, and of `inner` log(1 - e^-gap).
    """

    pull: Floats  # (D, C - 1), of single cuts
    weight: Floats  # (D, C - 1); 1 where there is no cut
    lean: Floats  # (D, C - 2), of half the gap of levels
    bent: Floats
    pull_about: Floats  # (D, C - 2), of the middles of levels
    held: Floats
    inner: Floats  # (D, C - 2), entries in the gaps

    @classmethod
    def of(cls, sums: Any, cuts: Cuts, coefficients: Floats) -> _Parabola:
        known, real = _Known.of(sums, cuts), cuts.shares > 0
        pull, about = (np.einsum("dcr,dr->dc", part, coefficients) for part in (known.pulls, known.pulls_about))
        inner = np.where(real[:, 1:], known.counts[:, 1:-1] + PRIOR_ENTRIES, 0.0)
        weight = np.where(real, known.weight + PRIOR_PRECISION, 1.0)
        return cls(np.where(real, known.half + pull, 0.0), weight, known.lean, known.bent, about, known.held, inner)

    def height(self, at: Cuts) -> Floats:
        """(D,)"""
        cuts, gaps, middle = at.values, 0.5 * at.gaps, at.centres
        near = np.sum(np.where(at.shares > 0, cuts * (self.pull - 0.5 * self.weight * cuts), 0.0), axis=1)
        about = gaps * (self.lean - 0.5 * self.bent * gaps) + middle * (self.pull_about - 0.5 * self.held * middle)
        return np.asarray(near + np.sum(about + self.inner * np.log(-np.expm1(-at.gaps)), axis=1))

    def slopes(self, at: Cuts) -> Floats:
        """(D, C - 1), by the cuts, without entries in the gaps."""
        own = np.where(at.shares > 0, self.pull - self.weight * at.values, 0.0)
        lean = 0.5 * (self.lean - 0.5 * self.bent * at.gaps)
        about = 0.5 * (self.pull_about - self.held * at.centres)
        own[:, :-1] += about - lean
        own[:, 1:] += about + lean
        return own


def _newton(at: Cuts, parabola: _Parabola) -> Floats:
    """(D, C - 1), Newton's step from these cuts, under the constraint that their weighted mean stays 0.

    The matrix of second derivatives is tridiagonal.
    """
    grown = np.expm1(at.gaps)
    push, bend = parabola.inner / grown, parabola.inner * (grown + 1) / grown**2
    none = np.zeros((len(push), 1))
    slope = parabola.slopes(at) + np.concatenate([none, push], axis=1) - np.concatenate([push, none], axis=1)
    by_gap, by_middle = bend + 0.25 * parabola.bent, 0.25 * parabola.held
    each = by_gap + by_middle
    middle = parabola.weight + np.concatenate([none, each], axis=1) + np.concatenate([each, none], axis=1)
    free, back = _solved(middle, by_gap - by_middle, np.stack([slope, at.shares]))
    held = np.sum(at.shares * free, axis=1) / np.sum(at.shares * back, axis=1)
    return np.asarray(free - held[:, None] * back)


def _solved(middle: Floats, beside: Floats, right: Floats) -> Floats:
    """(S, D, C), solutions of D tridiagonal systems for S right sides each: diagonal `middle`, -`beside` next to it."""
    pivots, found = middle.copy(), right.copy()
    n = middle.shape[1]
    for j in range(1, n):
        ratio = beside[:, j - 1] / pivots[:, j - 1]
        pivots[:, j] -= ratio * beside[:, j - 1]
        found[..., j] += ratio * found[..., j - 1]
    found[..., n - 1] /= pivots[:, n - 1]
    for j in range(n - 2, -1, -1):
        found[..., j] = (found[..., j] + beside[:, j] * found[..., j + 1]) / pivots[:, j]
    return found


@dataclass(frozen=True)
class _Known:
    """Sums over rows from which cuts are learnt: the part `own` of the statistics, column by column."""

    base: Floats  # (D,), terms of the bound that contain no cut
    counts: Floats  # (D, C), entries at each level
    pull: Floats  # (D, R), responses without the cuts, times regressors
    weight: Floats  # (D, C - 1), T_j: sums of t over the logistic parts with cut j
    pulls: Floats  # (D, C - 1, R), sums of t times regressors over the same parts
    half: Floats  # (D, C - 1), (n_j - n_{j+1}) / 2, which does not depend on xi
    # (D, C - 2), of parabolas about the middle: what half the gap is multiplied by, and its square; the precisions
    lean: Floats
    bent: Floats
    held: Floats
    pulls_about: Floats  # (D, C - 2, R), precisions times regressors

    @classmethod
    def of(cls, sums: Any, cuts: Cuts) -> _Known:
        (d, c), r = cuts.shares.shape, sums.pull.shape[1]
        own = np.zeros((d, 2 + c + r + (2 * c - 1) * (r + 1) + 2 * (c - 1)))
        own[:, : sums.own.shape[1]] = sums.own  # files of earlier versions end before parabolas about the middle
        base, counts, pull, products, about = np.split(own, np.cumsum([1, c + 1, r, (2 * c - 1) * (r + 1)]), axis=1)
        products, (centred, lean) = products.reshape(d, -1, r + 1), np.moveaxis(about.reshape(d, -1, 2), 2, 0)
        of_two = counts.copy()
        of_two[:, 1:-1] -= centred
        half = np.where(cuts.shares > 0, 0.5 * (of_two[:, :-1] - of_two[:, 1:]), 0.0)
        (weight, pulls), (held, pulls_about) = (
            (part[:, :, 0], part[:, :, 1:]) for part in (products[:, :c], products[:, c:])
        )
        bent = MOST_BENT * centred
        return cls(base[:, 0], counts, pull, weight, pulls, half, lean, bent, held, pulls_about)


@record(eq=False)
class OrderedLogit(Likelihood):
    """Values are those of the levels, whatever their distance; only their order counts."""

    name: ClassVar[str] = "ordinal"

    values: Floats = sized("d levels")  # of the levels of each column, rising; the last again where it has fewer
    shares: Floats = sized("d levels")  # of entries at each level, where a start begins; 0 where there is no level

    @classmethod
    def for_levels(cls, rows: Rows, levels: Sequence[Sequence[float]]) -> Self:
        """Of columns with these levels, from rows that may not show all of them."""
        most, x, there = max(map(len, levels)), host(rows.x), host(rows.mask) > 0
        values, shares = np.empty((len(levels), most)), np.zeros((len(levels), most))
        weight = np.ones(len(x)) if rows.weight is None else host(rows.weight)
        for d, own in enumerate(levels):
            values[d] = [*own, *[own[-1]] * (most - len(own))]
            seen = there[:, d] if there.shape[0] > 1 else np.broadcast_to(there[:, d], len(x))
            at = np.searchsorted(0.5 * np.add(own[1:], own[:-1]), x[seen, d])
            counts = np.bincount(at, weight[seen], len(own)) + 0.5
            shares[d, : len(own)] = counts / counts.sum()
        return cls(values, shares)

    @cached_property
    def first(self) -> Cuts:
        """Cuts at which, where eta is 0, levels have the probabilities that are their shares of the rows."""
        real = self.shares[:, 1:] > 0
        below = np.cumsum(self.shares, axis=1)[:, :-1]
        below = np.where(real, below, 0.5)
        beside = np.where(real, self.shares[:, :-1] + self.shares[:, 1:], 0.0)
        return Cuts.of(np.log(below) - np.log1p(-below), beside / beside.sum(axis=1, keepdims=True))

    def parameters(self, d: int) -> Cuts:
        return self.first

    def only(self, columns: slice) -> OrderedLogit:
        return OrderedLogit(self.values[columns], self.shares[columns])

    def numbers(self, y: Array) -> Array:
        """(n, D), which level each value is, from 0."""
        xp, found = array_namespace(y), 0 * y
        between = np.where(self.shares[:, 1:] > 0, 0.5 * (self.values[:, :-1] + self.values[:, 1:]), np.inf)
        for border in between.T:
            found = found + xp.astype(y > like(border, y), y.dtype)
        return found

    def _levels(self, rows: Rows) -> Array:
        """(n, D), which level each entry of rows is; those of missing entries are not used."""
        return rows.cached(f"levels {self._key}", lambda: self.numbers(rows.x))

    @cached_property
    def _key(self) -> int:
        return hash(self.values.tobytes())

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        cuts, level, mean = at.columns.parameters, self._levels(rows), at.mean()
        touched = touch_steps(level, mean, at.square(), cuts.steps, rows.seen, rows.weight)
        below, above, centre, response, (sums, base), centred = touched
        about = centred[:, 1:-1].reshape(len(centred), -1)

        def own(part: Rows, regressors: Array) -> Floats:
            """(D, .), the sums that `_Known.of` takes apart again."""
            xp = array_namespace(regressors)
            weighted = part.weigh(regressors)
            counted = xp.concat([part.weigh(xp.ones_like(regressors[:, :1])), weighted], axis=1)
            counts = host(part.cached(f"counts {self._key}", lambda: self._counts(part)))
            halves = part.cached(f"halves {self._key}", lambda: self._halves(part))
            pull = cross_sums(weighted, halves).T
            products = sum_steps(level, below, above, centre, counted, cuts.values.shape[1])
            return np.concatenate([base[:, None], counts, pull, products.reshape(len(pull), -1), about], axis=1)

        return Tangent(response, below + above + centre, sums, at=at, own=own)

    def _counts(self, rows: Rows) -> Floats:
        """(D, C), entries at each level."""
        xp, level = array_namespace(rows.x), self._levels(rows)
        each = [masked(xp.astype(level == c, rows.x.dtype), rows.seen) for c in range(self.values.shape[1])]
        return np.stack([column_sums(rows.weigh(here)) for here in each], axis=1)

    def _halves(self, rows: Rows) -> Array:
        """(n, D), responses without the cuts: 1/2 at the highest level, -1/2 at the lowest, 0 between."""
        xp, level, kind = array_namespace(rows.x), self._levels(rows), rows.x.dtype
        ends = xp.astype(level > 0, kind) - xp.astype(level < like(self.first.top, rows.x), kind)
        return masked(0.5 * ends, rows.seen)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        at = tangent.at
        return steps_constant(self._levels(rows), at.mean(), at.square(), at.columns.parameters.steps, rows.seen)

    def chances(self, eta: Array, columns: Columns) -> list[Array]:
        """(n, D) each: the probability of every level, 0 where a column does not have it."""
        xp, cuts = array_namespace(eta), columns.parameters
        found, low = [], xp.ones_like(eta)
        for c in range(self.values.shape[1]):
            here, last = like((c <= cuts.top) * np.exp(cuts.widths[:, c]), eta), c == cuts.values.shape[1]
            high = xp.ones_like(eta)
            if not last:
                cut, ends = like(cuts.values[:, c], eta), like(c >= cuts.top, eta)
                high = xp.where(ends > 0, high, expit(cut - eta))
            found.append(low * high * here)
            low = low if last else expit(eta - cut)
        return found

    def level_chances(self, mean: Array, variance: Array, columns: Columns) -> list[Array]:
        """(n, D) each: the probability of every level of a new entry, where eta is normal."""
        return averages(mean, variance, lambda eta: tuple(self.chances(eta, columns)))

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        return self._moments(self.level_chances(mean, variance, columns))

    def _moments(self, chances: list[Array]) -> tuple[Array, Array]:
        """Mean and variance of the value, given the chances of levels."""
        values = [like(each, chances[0]) for each in self.values.T]
        mean = sum(p * v for p, v in zip(chances, values, strict=True))
        return mean, sum(p * (v - mean) ** 2 for p, v in zip(chances, values, strict=True))

    def middle(self, eta: Array, columns: Columns) -> Array:
        return self._moments(self.chances(eta, columns))[0]

    def _slope(self, rows: Rows, eta: Array, cuts: Cuts) -> tuple[Array, Array]:
        """(n, D) each: d log p / d eta, and -d^2 log p / d eta^2."""
        xp, level = array_namespace(eta), self._levels(rows)
        low, high, _ = steps_about(level, cuts.values, cuts.widths)
        above = xp.astype(level > 0, eta.dtype) * expit(low - eta)
        below = xp.astype(level < like(cuts.top, eta), eta.dtype) * expit(eta - high)
        return above - below, above * (1 - above) + below * (1 - below)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        return masked(self._slope(rows, at.mean(), at.columns.parameters)[1], rows.seen)

    def matched(self, rows: Rows, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        slope, bend = averages(mean, variance, lambda eta: self._slope(rows, eta, columns.parameters), NODES)
        return masked(slope, rows.seen), masked(bend, rows.seen)

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        xp, cuts, level = array_namespace(eta), columns.parameters, self.numbers(y)
        low, high, width = steps_about(level, cuts.values, cuts.widths)
        above = xp.astype(level > 0, eta.dtype) * softplus(low - eta)
        below = xp.astype(level < like(cuts.top, eta), eta.dtype) * softplus(eta - high)
        return 2 * (above + below - width)

    def link(self, level: Floats, columns: Columns) -> Floats:
        cuts = columns.parameters
        low = np.zeros_like(level) + cuts.values.min(axis=1) - MOST_BEYOND
        high = np.zeros_like(level) + cuts.values.max(axis=1) + MOST_BEYOND
        edge = LEAST_SHARE * (self.values[:, -1] - self.values[:, 0])
        wanted = np.clip(level, self.values[:, 0] + edge, self.values[:, -1] - edge)
        for _ in range(MOST_HALVINGS):
            eta = 0.5 * (low + high)
            rises = self.middle(eta, columns) < wanted
            low, high = np.where(rises, eta, low), np.where(rises, high, eta)
        return np.asarray(0.5 * (low + high))

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        columns = Columns(None, parameters=self.first)
        eta, step = self.link(level, columns), 1e-3
        ends = [sum(p * s for p, s in zip(self.chances(eta + h, columns), self._scores.T, strict=True))
                for h in (-step, step)]  # fmt: skip
        return eta, np.asarray(ends[1] - ends[0]) / (2 * step)

    def working(self, y: Floats) -> Floats:
        """The mean of logistic noise within each level: skewed columns have no outliers then."""
        at = self.numbers(y).astype(np.intp)
        return np.take_along_axis(self._scores.T, at, axis=0)

    @cached_property
    def _scores(self) -> Floats:
        """(D, C), the mean of logistic noise between the first cuts about each level."""
        cuts, none = self.first.values, np.zeros((len(self.values), 1))
        ends = np.where(self.first.shares > 0, cuts * expit(cuts) - softplus(cuts), 0.0)
        moments = np.diff(np.concatenate([none, ends, none], axis=1), axis=1)
        return np.asarray(np.where(self.shares > 0, moments / np.where(self.shares > 0, self.shares, 1.0), 0.0))

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        cuts, reached = columns.parameters, np.zeros(eta.shape, dtype=np.intp)
        hidden = eta + rng.logistic(size=eta.shape)
        for c, cut in enumerate(cuts.values.T):
            reached += (hidden > cut) & (c < cuts.top)
        return np.take_along_axis(self.values.T, reached, axis=0)

    def between(self, mean: Array, variance: Array, columns: Columns, tail: float) -> tuple[Array, Array]:
        """The range of levels whose probability is nearest to 1 - 2 tail.

        Ranges begin with all levels, and the less probable of both ends is taken off again and again. A range outside
        of which at most `tail` falls on each side would hold 97 % and more of five levels where 90 % are asked for.
        """
        xp, chances = array_namespace(mean), self.level_chances(mean, variance, columns)
        within, n, top = sum(chances), len(chances), like(columns.parameters.top, mean)
        low, high = 0 * mean, top + 0 * mean
        best, wanted = (low, high, xp.abs(within - (1 - 2 * tail))), 1 - 2 * tail
        for _ in range(n - 1):
            first, last = _chosen(chances, low), _chosen(chances, high)
            rises = xp.astype(first <= last, mean.dtype)
            within, low, high = within - xp.minimum(first, last), low + rises, high - (1 - rises)
            off = xp.where(low <= high, xp.abs(within - wanted), xp.full_like(mean, xp.inf))
            nearer = off < best[2] - LEAST_NEARER
            best = tuple(xp.where(nearer, now, then) for now, then in zip((low, high, off), best, strict=True))
        values = [like(each, mean) + 0 * mean for each in self.values.T]
        return _chosen(values, best[0]), _chosen(values, best[1])

    def quantile(self, mean: Array, variance: Array, columns: Columns, level: float) -> Array:
        """The first level up to which the probability is at least `level`."""
        xp, total = array_namespace(mean), 0 * mean
        found = like(self.values[:, 0], mean) + total
        for here, value in zip(self.level_chances(mean, variance, columns), self.values.T[1:], strict=False):
            total = total + here
            found = xp.where(total < level, like(value, mean), found)
        return found

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        """The levels nearest to the limits of a normal of this mean and variance; `between` is more exact."""
        reach = float(ndtri(1 - tail)) * array_namespace(mean).sqrt(variance)
        values = [like(each, mean) + 0 * mean for each in self.values.T]
        return _chosen(values, self.numbers(mean - reach)), _chosen(values, self.numbers(mean + reach))


def _chosen(of_levels: list[Array], number: Array) -> Array:
    """(n, D), each entry from the array of its own level, whose number is given."""
    xp, found = array_namespace(number), 0 * number
    for c, values in enumerate(of_levels):
        found = xp.where(number == c, values, found)
    return found
