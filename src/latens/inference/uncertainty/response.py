"""Linear response: covariances of global quantities that count what the hidden codes leave unknown.

    eta          the global posterior in free coordinates, 0 at the optimum                    (P,)
    S(eta)       statistics after local steps under q(eta), run to their end
    F(eta, S)    data terms and global terms;   bound L(eta) = F(eta, S(eta))

    Cov(f, g) = G_f (-H)^-1 G_g'      G = dE_q[.] / d eta      H = d2L / d eta2 = A + B
    A = d2F / d eta2 at fixed S                                what mean field believes
    B_ij = d/d eta_i F(., dS/d eta_j)                          minus the information that is lost with the codes

Local posteriors are at their best for each eta, so that their own derivative never shows (envelope theorem). Mean
field takes (-A)^-1 for the covariance and is too narrow by B. The formula is exact for linear functionals of Gaussian
posteriors under any factorisation; where globals are points and local steps exact it is the inverse of the observed
information (Louis, 1982). Eigenvalues of A^-1 H lie between 0 and 1 at a maximum: one less each is a fraction of
missing information, and where one is 0 the rows do not tell that direction.

Cost: one pass over the rows. A block is read once and summed under all 2 P + 1 posteriors, whose codes do not depend
on other blocks; the sums add over blocks, threads and workers like any statistics, and B is linear in them. Beside it,
slopes in closed form (`Sloped`: Fisher matrices of the families times their way to the optimum): one evaluation for
each coordinate, of the difference of its sums, in which slopes are linear, and two for each coordinate of a column and
of what belongs to none (`arrow`), which make A. Models without pay 2 P evaluations of the data terms for each
coordinate instead, and find the blocks in which A is sparse by moving whole groups of coordinates at once. Slopes
of rows in double precision take short steps: where noise is small beside loadings, codes turn so fast that steps of
1e-3 found half as much again of information about turns as there is (wine). Where one local step settles a row there
is nothing but rounding in them, and B is the sum of Cov_n(dT_i s_n, dT_j s_n) over rows (Louis) to 1e-8, T being what
statistics s_n of a row are multiplied by. Where codes are normal that sum is a product of matrices, and no row is
settled under another posterior (`Covarying`); where local steps see less of a posterior than it has coordinates, those
that they see alike are moved once (`Narrow`).

References: Giordano, Broderick & Jordan (2018); Opper & Winther (2004); Louis (1982).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri

from latens.array import Array, Floats, Index
from latens.core import (
    B,
    Covarying,
    CovaryingAtRest,
    L,
    Narrow,
    Q,
    Rows,
    S,
    Sloped,
    Source,
    State,
    Statistics,
    Steps,
    Unkept,
)
from latens.core.coordinates import Chart
from latens.errors import ElboDecreased, NotSettled
from latens.inference.extrapolated_ascent import ascend_in_leaps
from latens.inference.local_fixed_point import local_fixed_point, newton_factors
from latens.inference.sweep import Sweep, serial_sweep
from latens.inference.uncertainty.arrow import Blocks, blocks_of, whole_of
from latens.inference.uncertainty.column_slopes import column_slopes

__all__ = [
    "LARGEST_GAIN_OF_SETTLED",
    "NO_CURVATURE",
    "STEP",
    "Response",
    "ascend_to",
    "respond",
    "settle_block",
    "step_of_slopes",
]

STEP = 1e-3  # of a coordinate, in differences of heights, or of rows in single precision
SHORT_STEP = 3e-5  # the same of slopes in closed form: only rounding, and how well rows are settled, limit it
PROBE = 1e-2  # of a group of coordinates, where interaction is looked for
ROUNDING = 64 * float(np.finfo(float).eps)  # of the sum of |terms|: interactions below it are none
CLIMB_TOL, CLIMB_ITERATIONS = 1e-10, 1000  # nats per row, before differences are taken
# nats of an iteration, below which every slope is well below LARGEST_SLOPE; a Newton step does the rest
LARGEST_GAIN_OF_SETTLED = 5e-6
MOST_NATS_TO_GAIN = 1e-2  # nats to be gained above which it does not
LOCAL_TOL, LOCAL_ITERATIONS = 1e-10, 300
FEWEST_POINTS = 50  # posteriors under which rows settle, from which Newton's steps are worth their factors
NO_CURVATURE = 1e-5  # nats per squared coordinate: one that curves the bound less says nothing (a dead component)
# slope in standard deviations at which a coordinate of a settled fit stands at an end of its range
LARGEST_SLOPE = 1e-2
LEAST_INFORMATION = 1e-5  # eigenvalues of A^-1 H below it are 0 up to the error of differences
LEAST_BY_SHORT_STEPS = 1e-7  # the same of short steps where local steps are exact
LEAST_MOVE = 1e-7  # of the longest: what rows see of a coordinate beside others, below which it is nothing of its own
MOST_MOVES = 0.9  # of all coordinates, above which no fewer are looked at
LEAST_EIGENVALUE = 1e-7  # the same of A, in units of its diagonal
# share of a quantity's variance that an uninformed direction must add before it is reported itself
LEAST_SHARE_ADDED = 1e-2


@dataclass(frozen=True, eq=False)
class Response:
    """The bound about its optimum to second order."""

    chart: Chart
    stats: Any  # at the optimum
    gradient: Floats  # (P,), of the bound, where the ascent ended
    fixed: Floats  # (P, P), A
    cross: Floats  # (P, P), B
    ways: Sequence[Blocks] = ()  # to part the coordinates
    step: float = STEP
    exact: bool = False  # whether one local step settles a row, so that nothing but rounding is in short steps

    @property
    def hessian(self) -> Floats:
        return self.fixed + 0.5 * (self.cross + self.cross.T)

    @cached_property
    def free(self) -> Index:
        """Coordinates that curve the bound and do not stand at an end of their range."""
        curved = np.abs(np.diag(self.fixed)) > NO_CURVATURE
        return np.flatnonzero(curved & ~self.steep)

    @property
    def held(self) -> tuple[str, ...]:
        """Names of the coordinates that stand at an end of their range."""
        return tuple(name for name, steep in zip(self.chart.names, self.steep, strict=True) if steep)

    @property
    def decrement(self) -> float:
        """Nats still to be gained, were the bound a parabola."""
        return 0.5 * float(self.gradient @ self.rest)

    @property
    def slack(self) -> float:
        """Nats that the bound loses by holding globals and codes for independent, were it a parabola.

        Volumes of the two Gaussians: log det (-A) / 2 - log det (-H) / 2, over the directions that the rows tell.
        """
        values = self._spectrum[0]
        return -0.5 * float(np.sum(np.log(np.minimum(values[values > self._least], 1.0))))

    @property
    def rest(self) -> Floats:
        """(P,), the rest of the way to the top, as far as the rows tell it: Newton's step."""
        known, _ = self._directions
        return np.asarray(known @ (self.gradient @ known))

    @cached_property
    def covariance(self) -> Floats:
        """(P, P), (-H)^-1 over the directions that the rows tell."""
        known, _ = self._directions
        return np.asarray(known @ known.T)

    @cached_property
    def mean_field(self) -> Floats:
        """(P, P), (-A)^-1."""
        _, root = self._roots
        return np.asarray(root @ root.T)

    def jacobian(self, quantity: Callable[[Any], Floats], step: float = STEP) -> Floats:
        """(m, P), derivatives of a function of the posterior to (m,): columns move together where numbers allow it."""
        for blocks in self.ways:
            slopes = column_slopes(quantity, self.chart, blocks, step) if blocks.n_products < self.chart.size else None
            if slopes is not None:
                return slopes.dense
        ends = [[np.ravel(quantity(end)) for end in arm] for arm in _arms(self.chart, self.step)]
        columns = [(up - down) / (2 * self.step) for up, down in ends]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

    def std(self, jacobian: Floats) -> Floats:
        """(m,), standard deviations of quantities; infinite where the rows do not tell a part of one."""
        return self.std_and_missing(jacobian)[0]

    def std_and_missing(self, jacobian: Floats) -> tuple[Floats, Floats]:
        """(m,) each; the second is the share of information that is lost with the codes, 1 where nothing is left."""
        known, unknown_directions = self._directions
        variance = np.sum((jacobian @ known) ** 2, axis=1)
        # what a direction without information would add if it had the least that can be seen
        least = np.sum((jacobian @ unknown_directions) ** 2, axis=1) / self._least
        unknown = least > LEAST_SHARE_ADDED * np.maximum(variance, np.finfo(float).tiny)
        wide, narrow = np.where(unknown, np.inf, variance), np.sum((jacobian @ self._roots[1]) ** 2, axis=1)
        missing = np.where(wide > 0, 1 - narrow / np.where(wide > 0, wide, 1.0), 0.0)
        return np.sqrt(wide), missing

    @property
    def _least(self) -> float:
        return LEAST_BY_SHORT_STEPS if self.exact and self.step < STEP else LEAST_INFORMATION

    @cached_property
    def steep(self) -> Any:
        """(P,), whether a coordinate stands at an end of its range."""
        curved = np.abs(np.diag(self.fixed)) > NO_CURVATURE
        sizes = np.sqrt(np.maximum(np.abs(np.diag(self.fixed)), NO_CURVATURE))
        return np.asarray(curved & (np.abs(self.gradient) > LARGEST_SLOPE * sizes))

    @cached_property
    def _roots(self) -> tuple[Floats, Floats]:
        """(P, .) each: directions of no information even with known codes, and others, of unit length in -A."""
        free = np.ix_(self.free, self.free)
        size = 1 / np.sqrt(np.abs(np.diag(self.fixed))[self.free])
        matrix = -self.fixed[free] * size * size[:, None]
        root, flat = _inverse_root(matrix, LEAST_EIGENVALUE), matrix[:, :0]
        if root is None:
            own, vectors = np.linalg.eigh(matrix)
            roots = vectors / np.sqrt(np.maximum(own, LEAST_EIGENVALUE**2))
            flat, root = roots[:, own < LEAST_EIGENVALUE], roots[:, own >= LEAST_EIGENVALUE]
        return self._spread(size[:, None] * flat), self._spread(size[:, None] * root)

    @cached_property
    def _shares(self) -> Floats:
        """(., .), A^-1 H between the latter."""
        free = self.free
        root = self._roots[1][free]
        return np.asarray(root.T @ -self.hessian[np.ix_(free, free)] @ root)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """Its eigenvalues and eigenvectors."""
        return np.linalg.eigh(self._shares)

    @cached_property
    def _directions(self) -> tuple[Floats, Floats]:
        """(P, .) each: directions that the rows tell, of unit length in -H, and others, of unit length in -A."""
        flat, root = self._roots
        turned_root = _inverse_root(self._shares, self._least)
        if turned_root is not None:
            return root @ turned_root, flat
        values, turned = self._spectrum
        informed = values > self._least
        unknown_directions = np.hstack([flat, root @ turned[:, ~informed]])
        return root @ (turned[:, informed] / np.sqrt(values[informed])), unknown_directions

    def _spread(self, free: Floats) -> Floats:
        """(P, .), from the coordinates that are free."""
        found = np.zeros((self.chart.size, free.shape[1]))
        found[self.free] = free
        return found


def _inverse_root(matrix: Floats, least: float) -> Floats | None:
    """R with R R' = matrix^-1, by Cholesky's factor.

    None where eigenvalues may be as small as `least`: the trace of the inverse is larger than that of any of them.
    """
    lower, failed = dpotrf(matrix, lower=1, clean=1)
    if failed or not len(matrix):
        return None
    inverse, failed = dtrtri(lower, lower=1)
    return None if failed or np.sum(inverse**2) * least > 1 else np.asarray(inverse.T)


def respond(
    model: Steps[B, Q, L, S], batches: Sequence[Any], q: Q, *, sweep: Sweep = serial_sweep, ascent: bool = True
) -> Response:
    """Ascent towards the optimum near q, and take the bound's second derivatives there."""
    if not ascent:
        return _differentiated(model, batches, State(q), sweep)
    top = ascend_to(model, batches, State(q), sweep, LARGEST_GAIN_OF_SETTLED)
    response = _differentiated(model, batches, top, sweep)
    if response.decrement <= MOST_NATS_TO_GAIN:
        return response
    return _differentiated(model, batches, ascend_to(model, batches, top, sweep, 0.0), sweep)


def ascend_to(model: Any, batches: Sequence[Any], start: State, sweep: Sweep, enough: float) -> State:
    """Where an ascent ends, or gains less than `enough` nats in an iteration."""
    limits: dict[str, Any] = {"max_iter": CLIMB_ITERATIONS, "tol": CLIMB_TOL}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElboDecreased)  # of rounding, near the top
        return ascend_in_leaps(
            model, batches, start, enough=lambda gain, _: abs(gain) < enough, sweep=sweep, **limits
        ).state


def _differentiated(model: Any, batches: Sequence[Any], at: State, sweep: Sweep) -> Response:
    chart, warm = Chart.sized(at.q), at.locals or (None,) * len(batches)
    sums = at.stats if at.stats is not None else _all_sums(model, batches, warm, sweep, at.q, ())[0]
    sloped = isinstance(model, Sloped) and model.slopes(at.q, sums) is not None
    step = step_of_slopes(batches, sweep) if sloped else STEP
    ways = blocks_of(chart)
    lost = _lost(model, batches, warm, chart, ways) if sloped and sweep is serial_sweep else None
    few = _fewest_moves(model, batches, chart) if sloped and lost is None else None
    which = np.arange(chart.size) if few is None else few[0]
    arms = _arms(chart, step, which) if lost is None else ()
    stats, sides = _all_sums(model, batches, warm, sweep, at.q, arms)
    if lost is not None:
        parts = (*_curved(model, chart, ways, stats, step), lost)
    elif sloped:
        cross = _crossed(model, chart, stats, sides, step)
        parts = (*_curved(model, chart, ways, stats, step), cross if few is None else cross @ few[1])
    else:
        parts = _by_heights(model, chart, arms, stats, sides, step)
    return Response(chart, stats, *parts, ways, step, bool(model.exact_local(at.q)))


def _arms(chart: Chart, step: float, which: Index | None = None) -> tuple[tuple[Any, Any], ...]:
    """Posteriors at `step` and -`step` of each coordinate, or of some."""
    each = range(chart.size) if which is None else which.tolist()
    return tuple((chart.shift(i, step), chart.shift(i, -step)) for i in each)


def _fewest_moves(model: Any, batches: Sequence[Any], chart: Chart) -> tuple[Index, Floats] | None:
    """Coordinates (r,) whose moves are all that rows see, and each coordinate's as a mixture of these (r, P).

    None where the model does not say what its rows see, or where it is no less than all.
    """
    if not isinstance(model, Narrow) or not all(isinstance(batch, Rows) for batch in batches):
        return None
    complete = all(batch.seen is None for batch in batches)
    ends = [[model.seen_by_rows(q, complete) for q in arm] for arm in _arms(chart, SHORT_STEP)]
    moves = np.stack([up - down for up, down in ends], axis=1) / (2 * SHORT_STEP)
    largest = np.abs(moves).max(axis=1, initial=0.0, keepdims=True)
    moves = moves[largest[:, 0] > 0] / largest[largest[:, 0] > 0]
    upper, order = qr(moves, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(upper))
    rank = int(np.sum(sizes > LEAST_MOVE * sizes.max(initial=0.0)))
    if rank > MOST_MOVES * chart.size:
        return None
    mixtures = np.empty((rank, chart.size))
    mixtures[:, order] = np.hstack([np.eye(rank), solve_triangular(upper[:rank, :rank], upper[:rank, rank:])])
    return order[:rank], mixtures


def _lost(
    model: Any, batches: Sequence[Any], warm: Sequence[Any], chart: Chart, ways: Sequence[Blocks]
) -> Floats | None:
    """(P, P), B in closed form; None where the model does not have it for these batches."""
    q = chart.point

    def of_batch(batch: Any, start: Any, slopes: Floats) -> Floats | None:
        if exact:
            return model.lost_information(q, batch, slopes)  # type: ignore[no-any-return]
        if not isinstance(batch, Rows):
            return None
        local = _settled(model, q, batch, None if isinstance(start, Unkept) else start)
        return model.lost_at_rest(q, batch, local, slopes)  # type: ignore[no-any-return]

    exact = bool(model.exact_local(q))
    if not isinstance(model, Covarying if exact else CovaryingAtRest):
        return None
    for blocks in ways:
        slopes = column_slopes(model.code_weights, chart, blocks, SHORT_STEP)
        if slopes is not None:
            total = np.zeros((chart.size, chart.size))
            for batch, start in zip(batches, warm, strict=True):
                part = of_batch(batch, start, slopes.dense)
                if part is None:
                    return None
                total += part
            return total
    return None


@runtime_checkable
class SweepOfSource(Protocol):
    """A sweep over rows that are read in blocks."""

    @property
    def source(self) -> Source: ...


def step_of_slopes(batches: Sequence[Any], sweep: Sweep) -> float:
    """How far differences of slopes in closed form go: short steps where all rows are in double precision."""
    source = sweep.source if isinstance(sweep, SweepOfSource) else None

    def is_double(batch: Any) -> bool:
        if isinstance(batch, Rows):
            return str(batch.x.dtype).endswith("float64")
        return isinstance(batch, Statistics) or (source is not None and source.dtype == np.float64)

    return SHORT_STEP if all(map(is_double, batches)) else STEP


def _all_sums(
    model: Any, batches: Sequence[Any], warm: Sequence[Any], sweep: Sweep, q: Any, arms: Sequence[tuple[Any, Any]]
) -> tuple[Any, tuple[tuple[Any, Any], ...]]:
    """Statistics at q and at both ends of every arm, in one pass."""
    points = (q, *(point for arm in arms for point in arm))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSettled)
        stats, *ends = sweep(partial(_settle_under_all, model, points), batches, warm)[1].parts
    return stats, tuple(zip(ends[::2], ends[1::2], strict=True))


@dataclass(frozen=True)
class _SideBySide:
    """Statistics of the same rows under several posteriors; they add one by one."""

    parts: tuple[Any, ...]

    def __add__(self, other: _SideBySide) -> _SideBySide:
        return _SideBySide(tuple(one + two for one, two in zip(self.parts, other.parts, strict=True)))


def _settle_under_all(model: Any, points: Sequence[Any], batch: Any, warm: Any) -> tuple[None, _SideBySide]:
    if len(points) < FEWEST_POINTS or not isinstance(batch, Rows):
        return None, _SideBySide(tuple(settle_block(model, q, batch, warm)[1] for q in points))
    start = _settled(model, points[0], batch, None if isinstance(warm, Unkept) else warm)
    factors, sums = newton_factors(model, points[0], batch, start), [model.statistics(batch, start)]
    for up, down in zip(points[1::2], points[2::2], strict=True):
        one = _settled(model, up, batch, start, factors)
        other = _settled(model, down, batch, start if factors is None else start.mirrored(one), factors)
        sums += [model.statistics(batch, one), model.statistics(batch, other)]
    return None, _SideBySide(tuple(sums))


def _curved(model: Any, chart: Chart, ways: Sequence[Blocks], stats: Any, step: float) -> tuple[Floats, Floats]:
    """Gradient and A from slopes in closed form."""

    def less_curved(v: Floats) -> Floats:
        """-A v."""
        size = np.abs(v).max()
        ends = [chart.pulled(each, model.slopes(chart.at(each), stats)) for each in (step / size * v, -step / size * v)]
        return np.asarray((ends[1] - ends[0]) * (size / (2 * step)))

    fixed = -whole_of(less_curved, chart, ways, NO_CURVATURE)
    return chart.pulled(np.zeros(chart.size), model.slopes(chart.point, stats)), 0.5 * (fixed + fixed.T)


def _crossed(model: Any, chart: Chart, stats: Any, sides: Sequence[tuple[Any, Any]], step: float) -> Floats:
    """Columns of B, one for each pair of sides: slopes are linear in the statistics but for the prior's part."""

    def here(sums: Any) -> Floats:
        return chart.pulled(origin, model.slopes(chart.point, sums))

    origin, cross = np.zeros(chart.size), np.empty((chart.size, len(sides)))
    own = here(0.0 * stats)
    for j, (more, less) in enumerate(sides):
        cross[:, j] = here(more.difference(less, 0.5 / step)) - own
    return cross


def _by_heights(
    model: Any, chart: Chart, arms: Sequence[tuple[Any, Any]], stats: Any, sides: Sequence[tuple[Any, Any]], step: float
) -> tuple[Floats, Floats, Floats]:
    """The same by differences of the bound itself, which takes 2 P evaluations of it for each coordinate."""
    gradient = _slopes(partial(_bound, model), arms, stats, step)
    cross = np.zeros((chart.size, chart.size))
    for j, (up, down) in enumerate(sides):
        change = up.difference(down, 0.5 / step)
        cross[:, j] = _slopes(partial(_data_part, model), arms, change, step)
    fixed = _curvature(lambda eta: _bound(model, chart.at(eta), stats), chart.size, _size(model, chart.point, stats))
    return gradient, fixed, cross


def settle_block(model: Steps[B, Q, L, S], q: Q, batch: B, warm: L | None) -> tuple[None, S]:
    """A local posterior at its end, not kept, and its statistics."""
    warm = None if isinstance(warm, Unkept) else warm
    # a sum of rows that stands for them settles in one step
    local = _settled(model, q, batch, warm) if isinstance(batch, Rows) else model.local_step(q, batch, warm)
    return None, model.statistics(batch, local)


def _settled(model: Any, q: Any, batch: Rows, warm: Any, factors: Array | None = None) -> Any:
    return local_fixed_point(model, q, batch, warm, tol=LOCAL_TOL, max_iter=LOCAL_ITERATIONS, factors=factors)


def _bound(model: Steps[B, Q, L, S], q: Q, stats: S) -> float:
    return _data_part(model, q, stats) + sum(model.global_terms(q).values())


def _data_part(model: Steps[B, Q, L, S], q: Q, stats: S) -> float:
    return sum(model.data_terms(q, stats).values())


def _size(model: Steps[B, Q, L, S], q: Q, stats: S) -> float:
    return sum(map(abs, (*model.data_terms(q, stats).values(), *model.global_terms(q).values())))


def _slopes(height: Callable[[Any, Any], float], arms: Sequence[tuple[Any, Any]], stats: Any, step: float) -> Floats:
    """(P,), derivatives along the coordinates at fixed statistics."""
    return np.array([(height(up, stats) - height(down, stats)) / (2 * step) for up, down in arms])


def _curvature(height: Callable[[Floats], float], size: int, scale: float) -> Floats:
    """(P, P), second differences of a function of coordinates, blocks without interaction left out."""
    base, steps = height(np.zeros(size)), STEP * np.eye(size)
    single = np.array([height(step) + height(-step) for step in steps])
    matrix = np.diag(single - 2 * base) / STEP**2
    probes = PROBE * np.random.default_rng(0).uniform(0.5, 1.0, size) * np.where(np.arange(size) % 2, 1.0, -1.0)
    alone: dict[tuple[int, int], float] = {}

    def moved(low: int, high: int) -> float:
        if (low, high) not in alone:
            alone[low, high] = height(_only(probes, low, high))
        return alone[low, high]

    def fill(first: tuple[int, int], second: tuple[int, int]) -> None:
        """Entries between two groups of coordinates, the second after the first."""
        if first[1] - first[0] == 1 and second[1] - second[0] == 1:
            i, j = first[0], second[0]
            both = height(steps[i] + steps[j]) + height(-steps[i] - steps[j])
            matrix[i, j] = matrix[j, i] = (both - single[i] - single[j] + 2 * base) / (2 * STEP**2)
            return
        together = height(_only(probes, *first) + _only(probes, *second))
        if abs(together - moved(*first) - moved(*second) + base) <= ROUNDING * scale:
            return
        for one in _halves(first):
            for other in _halves(second):
                fill(one, other)

    def inside(group: tuple[int, int]) -> None:
        if group[1] - group[0] > 1:
            left, right = _halves(group)
            inside(left)
            inside(right)
            fill(left, right)

    inside((0, size))
    return matrix


def _only(steps: Floats, low: int, high: int) -> Floats:
    part = np.zeros_like(steps)
    part[low:high] = steps[low:high]
    return part


def _halves(group: tuple[int, int]) -> list[tuple[int, int]]:
    low, high = group
    if high - low < 2:
        return [group]
    middle = (low + high) // 2
    return [(low, middle), (middle, high)]
