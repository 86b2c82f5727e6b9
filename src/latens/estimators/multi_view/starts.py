"""Where multi-view factors begin: weak priors; principal directions of all views, turned to sparse loadings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from latens.array import Floats, Index
from latens.array.transfer import column_sums, host, like
from latens.array.varimax import varimax
from latens.core import Fit, Rows, State
from latens.estimators.multi_view.tables.wide import Layout
from latens.estimators.priors import WEAK
from latens.estimators.rows.sampling import column_places
from latens.estimators.rows.units import Units
from latens.families.gamma import Gamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.inference.ascent import OnIteration, ascend
from latens.inference.search.optimum import ascend_all, highest
from latens.models.likelihoods import Likelihood
from latens.models.likelihoods.measured import Measured
from latens.models.likelihoods.names import Kind
from latens.models.multi_view.codes import JointCodes
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.moves import deletions
from latens.models.multi_view.view import COVARIATES, View, exposure_of, precision_of

__all__ = [
    "ColumnsOfView",
    "first_starts",
    "posterior_from_codes",
    "posterior_from_loadings",
    "random_codes",
    "standing_out",
    "views_of",
]

ROUNDINGS_OF_CONSTANT = 0.25  # roundings of a column's size within which it does not vary
LARGEST_RATIO_OF_SIZES = 1.1  # times that columns may differ in size and still be as good as in the same unit
MOST_COMPARED = 512  # samples up to which directions are found, and counted, by the products of all pairs
TIMES_THE_NOISE = 1.05  # times the end of what noise makes, from which a direction is one of a factor
LEAST_SIZE = 1e-70  # of entries, whose fourth powers are still numbers
N_POWERS, N_SPARE = 4, 8  # of the subspace iteration: steps, and directions beside those that are asked for
GAIN_OF_TURN = 1e-6  # share that a turn gains where it is good enough for a start
TIMES_THE_FACTORS = 4  # factors times this, beyond the number of columns, from which fewer are tried, too
ITERATIONS_OF_TRIAL = 15  # iterations on the sample after which the better of two starts shows
SHARE_OF_TRIALS = 3  # a trial takes no more than one in so many of the iterations that a fit may take
ITERATIONS_AFTER_DELETION = 5  # iterations after factors were deleted, before what is left is judged
NATS_AHEAD = 10.0  # nats by which a start is ahead of another that may still end higher
NATS_BEHIND = 60.0  # nats by which one with another number of factors is behind and may still end higher
CORRELATION_OF_SAME = 0.9  # correlation from which two views have found the same factor
LEAST_MEAN_SQUARE = 1e-2  # mean square of codes, 1 over all samples, below which they are taken to be this large
START_UNCERTAINTY = 1e-2  # uncertainty of a start's loadings, as a share of their variance
SLOPE_VARIANCE = 6.25  # of what a standard deviation of a covariate adds to log odds or a logarithm: 2.5 squared


def views_of(
    kinds: Mapping[str, Kind],
    layout: Layout,
    units: Units,
    sample: Rows,
    inclusion: tuple[float, float] | None,
    single: bool,
) -> list[View]:
    """The views of a layout with weak priors, in the model's units, from a sample in them."""
    origin = units.enter_direction(units.origin)
    found = []
    for (name, kind), at in zip(kinds.items(), layout.bounds, strict=True):
        square = float(units.scale[at.start] ** 2) if name in layout.precise else None
        exposed = name in layout.exposed
        levels = layout.levels[name].levels if name in layout.levels else None
        found.append(_view_of(name, kind, at, sample, inclusion, square, origin[at], single, exposed, levels))
    return found


def _view_of(
    name: str,
    kind: Kind,
    columns: slice,
    sample: Rows,
    inclusion: tuple[float, float] | None,
    precision_unit: float | None = None,
    origin: Floats | float = 0.0,
    single: bool = False,
    exposed: bool = False,
    levels: Sequence[Sequence[float]] | None = None,
) -> View:
    """A view of these columns, with priors in the units of what the sample holds there, about this origin (D,).

    `precision_unit` is that of known precisions in the units of the columns; None: the noise is to be learnt. `single`
    says that rows are in single precision, of which the sample is a copy in double; `levels` has those of the columns.
    """
    part, spread = sample.columns(columns), 1.0
    if isinstance(kind, Likelihood):
        likelihood = kind
    else:
        likelihood = kind.for_rows(part) if levels is None else kind.for_levels(part, levels)
    if precision_unit is not None:
        likelihood = Measured()
    noise: tuple[float, float | Floats] = likelihood.noise_prior or (WEAK, WEAK)
    slope: float | Floats = 1 / SLOPE_VARIANCE
    if likelihood.has_unit:  # mean square of what was seen, in a centred view; 1 where there is none
        spread = float(part.squares.sum() / max(part.counts.sum(), 1.0)) or 1.0
        variances = _variances(part, spread, np.abs(origin), single)
        noise, slope = (WEAK, WEAK * variances), 1 / variances
    if precision_unit is not None:
        noise = (1.0, _usual_noise(sample.aux[precision_of(name)] * precision_unit))
    return View(
        name,
        columns.start,
        columns.stop,
        likelihood,
        noise=noise,
        relevance=(WEAK, WEAK * spread),
        inclusion=inclusion,
        exposed=exposed,
        exposure_unit=_usual_exposure(part, sample.aux[exposure_of(name)]) if exposed else 1.0,
        offset=WEAK / spread,
        slope=slope,
        precision_unit=1.0 if precision_unit is None else precision_unit,
    )


def _usual_exposure(part: Rows, logs: Any) -> float:
    """The geometric mean of the exposures of rows that show a view, from their logarithms (n,)."""
    shows = np.ones(len(part)) if part.seen is None else host(part.seen).any(axis=1).astype(float)
    weight = shows if part.weight is None else shows * host(part.weight)
    return float(np.exp(np.average(host(logs), weights=weight))) if weight.sum() > 0 else 1.0


def _variances(part: Rows, spread: float, sizes: Floats, single: bool) -> Floats:
    """(D,), of what was seen in each column: units may differ within a view. Those that do not vary have `spread`.

    `sizes` says how far the columns' origins are from 0, which they are rounded to a share of.
    """
    counts, limits = np.maximum(part.counts, 1.0), np.finfo(np.float32 if single else np.float64)
    mean = column_sums(part.weigh(part.x)) / counts
    gaps = (part.x - like(mean, part.x)) * part.mask
    variances = column_sums(part.weigh(gaps**2)) / counts
    rounding = ROUNDINGS_OF_CONSTANT * float(limits.eps) * (sizes + np.sqrt(part.squares / counts))
    least = float(limits.tiny) ** 0.75  # its inverse is still a number
    return np.where(variances > rounding**2, np.maximum(variances, least), spread)


def _usual_noise(given: Floats) -> Floats:
    """(D,), mean variance that known precisions (n, D) tell of, column by column, or of all where one has none."""
    is_given = given > 0
    variances = np.where(is_given, 1 / np.where(is_given, given, 1.0), 0.0)
    counts, sums = is_given.sum(axis=0), variances.sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum() / counts.sum() if counts.any() else 1.0)


def first_starts(
    model: MultiView,
    sample: Rows,
    k: int,
    rng: np.random.Generator,
    max_iter: int,
    *,
    alike: bool,
    fewer: bool = True,
    drop: bool = True,
    over: Callable[[], bool] | None = None,
) -> list[MultiViewPosterior]:
    """From principal directions of all views together, what gets higher soon; then from what each view has alone.

    The second only of several views, and where it is plainly ahead without factors that do not pay: not every lead
    lasts, so that a whole search is made from both. With `drop`, these factors are gone from the starts, too, and
    other numbers of factors that are not far behind follow.
    """
    working = Working(model, sample)
    together = principal_starts(working, k, rng, alike, fewer=fewer)
    steps = max(1, min(ITERATIONS_OF_TRIAL, max_iter // SHARE_OF_TRIALS))
    n, attempt = len(together), partial(_try, model, sample, steps)
    if len(model.views) < 2 and n == 1:
        return [cast("MultiViewPosterior", together[0].q)]
    watch = None if over is None else lambda _: over()
    by_view = [] if len(model.views) < 2 else starts_view_by_view(working, k, steps, fewer, watch)
    fits = ascend_all([*together, *by_view], attempt, watch)
    if any(fit.interrupted for fit in fits):
        raise KeyboardInterrupt
    tries, fits = fits[:n], [highest(fits[:n]), *fits[n:]]
    steps = min(ITERATIONS_AFTER_DELETION, steps)
    paying = [_without_losing(model, sample, fit, steps) for fit in fits]
    reached = [fit.elbo for fit in paying]
    best = int(np.argmax(reached))
    chosen = [0, best] if reached[best] > reached[0] + NATS_AHEAD else [0]
    found = [(paying if drop else fits)[i] for i in chosen]
    others = _of_other_numbers(model, sample, tries, found, steps) if drop else []
    return [cast("MultiViewPosterior", fit.state.q) for fit in (*found, *others)]


def _without_losing(model: MultiView, sample: Rows, fit: Fit, steps: int) -> Fit:
    """The fit once all factors that do not pay for themselves are gone, or as it is where that is higher."""
    fewer = next(deletions(cast("MultiViewPosterior", fit.state.q), fit.state.stats), None)
    return fit if fewer is None else _with_only(model, sample, fit, fewer.of, steps)


def _of_other_numbers(
    model: MultiView, sample: Rows, tries: Sequence[Fit], found: Sequence[Fit], steps: int
) -> list[Fit]:
    """Of tries that are not far behind, the highest of each number of factors that no start found so far has.

    Of few samples fewer factors are ahead at first: they settle in a few iterations, while factors of columns that go
    closely together rise over dozens, and would be given up as not paying. Only those that are dead are gone.
    """
    least = max(fit.elbo for fit in found) - NATS_BEHIND
    numbers, others = {fit.state.q.n_components for fit in found}, []
    living = [_without_dead(model, sample, fit, steps) for fit in tries]
    for fit in sorted(living, key=lambda fit: -fit.elbo):
        if fit.elbo > least and fit.state.q.n_components not in numbers:
            numbers.add(fit.state.q.n_components)
            others.append(fit)
    return others


def _without_dead(model: MultiView, sample: Rows, fit: Fit, steps: int) -> Fit:
    """The fit once factors that would not be published are gone, or as it is where that is higher."""
    keep = np.flatnonzero(model.importance(cast("MultiViewPosterior", fit.state.q), fit.state.stats) > 0)
    return fit if len(keep) in (0, fit.state.q.n_components) else _with_only(model, sample, fit, keep, steps)


def _with_only(model: MultiView, sample: Rows, fit: Fit, keep: Index, steps: int) -> Fit:
    """The fit once it has gone on with these factors alone, or as it is where that is higher."""
    codes = _codes_so_far(fit)
    start = State(fit.state.q.only(keep), None, (codes.only(keep),) if isinstance(codes, JointCodes) else None)
    return highest([fit, _try(model, sample, steps, start, None)])


def _codes_so_far(fit: Fit) -> Any:
    """Those of the sample, where its rows repeat local steps; None where they do not."""
    return fit.state.locals[0] if fit.state.locals else None


def principal_starts(
    working: Working, k: int, rng: np.random.Generator, alike: bool, *, fewer: bool = True
) -> list[State]:
    """From principal directions of columns as they are, and in units of their own where those differ, k or fewer.

    The first follow loud columns, which may be but of another unit; the second hear columns that are all noise. As many
    factors as columns can be turned until each has a column to itself, where no deletion leads on. Where fewer are
    tried, they are powers of two: a larger k tries all that these lead to with a smaller one.
    """
    model, parts = working.model, working.parts
    width = sum(part.x.shape[1] for part in parts)
    sizes = [standing_out(parts, k) if fewer else k]
    while fewer and TIMES_THE_FACTORS * sizes[-1] > width and sizes[-1] > 1:
        sizes.append(2 ** ((sizes[-1] - 1).bit_length() - 1) if sizes[-1] > 3 else 1)  # of two or three, one
    turned = partial(principal_codes, sizes=sizes, rng=rng, alike=alike, sparse_codes=model.usage is not None)
    codes, evened = turned(parts), working.evened
    if any(one is not other for one, other in zip(parts, evened, strict=True)):
        codes += turned(evened)
    return [_start(working, each, {}) for each in codes]


def starts_view_by_view(
    working: Working, k: int, n_iterations: int, fewer: bool, watch: OnIteration | None
) -> list[State]:
    """From the factors that each view has where it is fitted alone, those of several views once, k at most.

    Directions of all views together follow what views have in common, or the one whose columns are most alike; what is
    structure of a single view is found there. The first start knows their codes, and what every view says about them;
    the second their loadings: no factor of one view begins with what others say by chance in few samples.
    """
    rng, model = np.random.default_rng(k), working.model  # its own: other starts are drawn as without this one
    fits = [_factors_alone(working.alone(view), k, rng, n_iterations, fewer, watch) for view in model.views]
    codes, shares, loadings = zip(*fits, strict=True)
    found = np.concatenate(codes, axis=1)
    sizes = np.maximum(np.sqrt(np.mean(found**2, axis=0)), np.finfo(float).tiny)
    found, alike = found / sizes, (found / sizes).T @ (found / sizes) / len(found)
    distinct_factors = _once(alike, np.concatenate(shares))[:k]
    rest = 0 if fewer and distinct_factors else k - len(distinct_factors)
    filled = np.concatenate([found[:, distinct_factors], rng.normal(size=(len(found), rest))], axis=1)
    own, first = {}, 0
    for view, part in zip(model.views, loadings, strict=True):
        mine = slice(first, first + len(part))
        same = np.where(
            np.abs(alike[distinct_factors, mine]) > CORRELATION_OF_SAME, np.sign(alike[distinct_factors, mine]), 0.0
        )
        own[view.name] = np.concatenate([same @ (part * sizes[mine, None]), np.zeros((rest, part.shape[1]))])
        first += len(part)
    return [_start(working, filled, {}), _start(working, _codes_of(working, own), own)]


def _factors_alone(
    working: Working, k: int, rng: np.random.Generator, n_iterations: int, fewer: bool, watch: OnIteration | None
) -> tuple[Floats, Floats, Floats]:
    """Codes (n, K), shares (K,) and loadings (K, D) of the factors that the only view has."""
    model, rows, (view,) = working.model, working.sample, working.model.views
    start = principal_starts(working, k, rng, True, fewer=fewer)[-1]
    fit = _try(model, rows, n_iterations, start, watch)
    if fit.interrupted:
        raise KeyboardInterrupt
    q = cast("MultiViewPosterior", fit.state.q)
    codes = host(model.codes(rows, model.local_step(q, rows, _codes_so_far(fit)))[0])
    return codes, model.importance(q, fit.state.stats), q.views[view.name].weights.mean.T


def _once(alike: Floats, shares: Floats) -> list[int]:
    """Which factors have a share, the largest first, without those that are like one before; `alike` (K, K) says so."""
    distinct_factors: list[int] = []
    for each in np.argsort(-shares, kind="stable"):
        if shares[each] > 0 and not np.any(np.abs(alike[each, distinct_factors]) > CORRELATION_OF_SAME):
            distinct_factors.append(int(each))
    return distinct_factors


def _try(model: MultiView, sample: Rows, steps: int, start: State, on_iteration: OnIteration | None) -> Fit:
    return ascend(model, [sample], start, max_iter=steps, slack=np.inf, on_iteration=on_iteration)


@dataclass(frozen=True, eq=False)
class ColumnsOfView:
    """Centred columns, each times a number of its own."""

    x: Floats  # (n, D), which is not written over
    times: Floats | None = None  # (D,); None: 1
    known_places: Index | None = None  # those of the same columns times other numbers

    @cached_property
    def places(self) -> Index:
        """(D,), of each column in an order that depends neither on where it stands nor on its unit."""
        return column_places(Rows(self.x)) if self.known_places is None else self.known_places

    @cached_property
    def squares(self) -> Floats:
        """(D,), sums of squares."""
        found = np.einsum("nd,nd->d", self.x, self.x)
        return np.asarray(found if self.times is None else found * self.times**2)

    @cached_property
    def size(self) -> float:
        """Root of the mean square of all entries; 1 where there is nothing."""
        size = float(np.sqrt(self.squares.sum() / max(self.x.size, 1)))
        return size if size > LEAST_SIZE else 1.0

    @cached_property
    def products(self) -> Floats:
        """(n, n), of all pairs of samples."""
        scaled = self.x if self.times is None else self.x * self.times
        return np.asarray(scaled @ scaled.T)

    def over_samples(self, samples: Floats) -> Floats:
        """(D, m), sums over samples (n, m) times these."""
        found = self.x.T @ samples
        return np.asarray(found if self.times is None else self.times[:, None] * found)

    def over_columns(self, columns: Floats) -> Floats:
        """(n, m), sums over columns (D, m) times these."""
        return np.asarray(self.x @ (columns if self.times is None else self.times[:, None] * columns))

    def evened_out(self) -> ColumnsOfView:
        """Columns in units of their own; itself where they have them already."""
        sizes = np.sqrt(self.squares / len(self.x))
        sizes = np.where(sizes > 0, sizes, 1.0)
        if sizes.max() < LARGEST_RATIO_OF_SIZES * sizes.min():
            return self
        return ColumnsOfView(self.x, 1 / sizes, self.places)


def principal_codes(
    parts: Sequence[ColumnsOfView],
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    alike: bool,
    sparse_codes: bool = False,
) -> list[Floats]:
    """(n, K) for each K of `sizes`, the largest first: unit-variance scores on the first directions of all views.

    They are rotated by varimax: to sparse loadings, or to sparse scores. With `alike` every view counts the same,
    however many columns it has and whatever their unit.
    """
    n, width = _shape(parts)
    shares = [1 / (part.size * (np.sqrt(part.x.shape[1]) if alike else 1.0)) for part in parts]
    rank = min(sizes[0], n - 1, width)
    first = _leading(parts, shares, rank, rng) if rank > 0 else np.zeros((n, 0))
    found = []
    for k in sizes:
        codes, scores = rng.normal(size=(n, k)), first[:, :k]
        spread = scores.std(axis=0)
        scores = scores[:, spread > 1e-9 * max(spread.max(initial=0.0), np.finfo(float).tiny)]
        if scores.shape[1]:
            scores = scores / scores.std(axis=0)
            loadings = [share * part.over_samples(scores) / n for part, share in zip(parts, shares, strict=True)]
            turn = varimax((scores if sparse_codes else np.concatenate(loadings)).T, least_gain=GAIN_OF_TURN)
            codes[:, : scores.shape[1]] = scores @ turn.T
        found.append(codes)
    return found


def standing_out(parts: Sequence[ColumnsOfView], k: int) -> int:
    """Directions of many columns and few samples that are wider than noise alone would be, at least one, at most k.

    Eigenvalues of noise end at (1 + sqrt(n / D))^2 of their mean, after Marchenko and Pastur. Other tables have k.
    """
    n, width = _shape(parts)
    if not _are_few(parts):
        return k
    values = np.linalg.eigvalsh(_products(parts, [1 / part.size for part in parts]))
    end = TIMES_THE_NOISE * float(np.median(values)) * (1 + np.sqrt(n / width)) ** 2
    return int(np.clip(np.count_nonzero(values > end), 1, k))


def _leading(parts: Sequence[ColumnsOfView], shares: Sequence[float], rank: int, rng: np.random.Generator) -> Floats:
    """(n, rank), leading left singular vectors times singular values, by subspace iteration."""
    both = list(zip(parts, shares, strict=True))
    products = _products(parts, shares) if _are_few(parts) else None
    drawn = (share * rng.standard_normal((part.x.shape[1], rank + N_SPARE))[part.places] for part, share in both)
    basis = np.asarray(sum(part.over_columns(random) for part, random in zip(parts, drawn, strict=True)))
    for _ in range(N_POWERS):
        basis = np.linalg.qr(basis)[0]
        if products is None:
            basis = np.asarray(sum(share**2 * part.over_columns(part.over_samples(basis)) for part, share in both))
        else:
            basis = products @ basis
    basis = np.linalg.qr(basis)[0]
    small = np.concatenate([share * part.over_samples(basis) for part, share in both])
    _, values, right = np.linalg.svd(small, full_matrices=False)
    return np.asarray(basis @ (right.T[:, :rank] * values[:rank]))


def _products(parts: Sequence[ColumnsOfView], shares: Sequence[float]) -> Floats:
    """(n, n), of all pairs of samples, columns being multiplied by the share of their view."""
    return np.asarray(sum(share**2 * part.products for part, share in zip(parts, shares, strict=True)))


def _are_few(parts: Sequence[ColumnsOfView]) -> bool:
    """Whether samples are so few, and columns so many, that products of all pairs are quicker."""
    n, width = _shape(parts)
    return n <= min(MOST_COMPARED, width)


def _shape(parts: Sequence[ColumnsOfView]) -> tuple[int, int]:
    """Samples, and columns of all views."""
    return len(parts[0].x), sum(part.x.shape[1] for part in parts)


def random_codes(n: int, k: int, rng: np.random.Generator) -> Floats:
    """(n, K), the textbook's start."""
    return rng.normal(size=(n, k))


def posterior_from_codes(model: MultiView, sample: Rows, codes: Floats) -> MultiViewPosterior:
    """What the sample says about loadings, offsets and noise if these were its codes."""
    return _posterior(Working(model, sample), codes, {})


def posterior_from_loadings(model: MultiView, sample: Rows, loadings: Mapping[str, Floats]) -> MultiViewPosterior:
    """These loadings (K, D_m), in the model's units, with what the sample says about offsets and noise."""
    working = Working(model, sample)
    return _posterior(working, _codes_of(working, loadings), loadings)


def _codes_of(working: Working, loadings: Mapping[str, Floats]) -> Floats:
    """(n, K), the codes of the sample that loadings (K, D_m) tell."""
    k = len(next(iter(loadings.values())))
    pull, gram = np.zeros((len(working.sample), k)), np.eye(k)
    for view in working.model.views:
        centred = working.centred[view.name]
        x, mask = centred.x, centred.mask
        slope = np.maximum(view.likelihood.start(centred.levels)[1].mean(axis=0), np.finfo(float).tiny)
        entries = x.size if mask is None else mask.sum()
        total = float((x**2 / slope).sum())
        curve = entries / total if total > entries * np.finfo(float).tiny else 1.0  # nothing varies: it says nothing
        w = loadings[view.name]
        pull += curve * (x @ w.T)
        gram += curve * (w * slope) @ w.T
    return np.asarray(np.linalg.solve(gram, pull.T).T)


def _start(working: Working, codes: Floats, given: Mapping[str, Floats]) -> State:
    """What codes lead to; where rows repeat local steps, they go on from these codes."""
    q, model = _posterior(working, codes, given), working.model
    if model.usage or model.exact_local(q):
        return State(q)
    return State(q, None, (JointCodes(codes, START_UNCERTAINTY * np.eye(codes.shape[1])[None]),))


def _posterior(working: Working, codes: Floats, given: Mapping[str, Floats]) -> MultiViewPosterior:
    prior = working.model.prior(codes.shape[1])
    views = {
        view.name: _view(working, view, prior.views[view.name], codes, given.get(view.name))
        for view in working.model.views
    }
    return MultiViewPosterior(views, prior.activity, prior.usage)


@dataclass(frozen=True, eq=False)
class Working:
    """A sample as its starts see it: working values of each view, about what is given of the samples."""

    model: MultiView
    sample: Rows

    @cached_property
    def centred(self) -> dict[str, _Centred]:
        return {view.name: _centred(self.model, view, self.sample) for view in self.model.views}

    @cached_property
    def parts(self) -> list[ColumnsOfView]:
        return [ColumnsOfView(self.centred[view.name].x) for view in self.model.views]

    @cached_property
    def evened(self) -> list[ColumnsOfView]:
        """The same, columns that have a unit being in one of their own."""
        pairs = zip(self.model.views, self.parts, strict=True)
        return [part.evened_out() if view.likelihood.has_unit else part for view, part in pairs]

    def alone(self, view: View) -> Working:
        """The same of a single view."""
        model = replace(self.model, views=(replace(view, start=0, stop=view.stop - view.start),))
        found, at = Working(model, self.sample.columns(view.columns)), self.model.views.index(view)
        one = slice(at, at + 1)
        vars(found).update(centred={view.name: self.centred[view.name]}, parts=self.parts[one], evened=self.evened[one])
        return found


@dataclass(frozen=True)
class _Centred:
    """Working values of a view about what is given of their samples."""

    x: Floats  # (n, D), 0 where missing
    levels: Floats  # (G, D)
    mask: Floats | None  # 1 where something was seen; None: everywhere
    slopes: Floats  # (C, D), what a unit of each covariate adds


def _centred(model: MultiView, view: View, sample: Rows) -> _Centred:
    part = sample.columns(view.columns)
    x, seen = host(part.x), None if part.seen is None else host(part.mask)
    members = host(model.members(sample))
    counts = np.tile(members.sum(axis=0)[:, None], (1, x.shape[1])) if seen is None else members.T @ seen
    overall = x.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    levels = np.where(counts > 0, (members.T @ x) / np.maximum(counts, 1), overall)
    working, usual = view.likelihood.working(x), levels
    offset = view.log_exposure(sample)
    if offset is not None and working is not None:
        made_of = host(members).T @ (np.exp(host(offset)) * np.ones_like(x) * (1.0 if seen is None else seen))
        levels = (members.T @ x) / np.maximum(made_of, np.finfo(float).tiny)
        working = working - host(offset)
    if working is not None:
        x = working if seen is None else working * seen
        usual = (members.T @ x) / np.maximum(counts, 1)
    centred = x - members @ usual
    centred = centred if seen is None else centred * seen
    slopes = np.zeros((model.n_covariates, x.shape[1]))
    if model.n_covariates:
        u = host(sample.aux[COVARIATES])
        squares = np.sum(u**2, axis=0)[:, None] if seen is None else (u**2).T @ seen
        slopes = (u.T @ centred) / np.maximum(squares, LEAST_MEAN_SQUARE * len(u))  # one by one: they are uncorrelated
        centred = centred - u @ slopes if seen is None else centred - (u @ slopes) * seen
    return _Centred(centred, levels, seen, slopes)


def _view(working: Working, view: View, prior: ViewPosterior, codes: Floats, given: Floats | None) -> ViewPosterior:
    k, centred = codes.shape[1], working.centred[view.name]
    x, seen = centred.x, centred.mask
    eta, slope = view.likelihood.start(centred.levels)
    slope = np.maximum(slope.mean(axis=0), np.finfo(float).tiny)
    counts = np.full(len(slope), float(len(x))) if seen is None else seen.sum(axis=0)
    squares = np.sum(codes**2, axis=0)[None] if seen is None else seen.T @ codes**2
    least = (
        LEAST_MEAN_SQUARE * np.maximum(counts, 1.0)[:, None]
    )  # codes that are all but 0 in the samples seen tell nothing of them
    weights = (x.T @ codes) / np.maximum(squares, least) / slope[:, None]
    weights = weights if given is None else given.T.copy()
    sizes = np.mean(weights**2, axis=1, keepdims=True)  # column by column, as units may differ
    variance = np.tile(START_UNCERTAINTY * (sizes + np.finfo(float).tiny), (1, k))
    slab = SpikeSlab(np.ones_like(weights), weights, variance, np.ones(k))
    left = codes @ (weights.T * slope)
    left -= x
    left *= left if seen is None else left * seen
    noise = view.likelihood.start_noise(prior.noise, working.sample.columns(view.columns), left.sum(axis=0))
    alpha = Gamma(np.ones(k), np.maximum((weights**2).mean(axis=0), 1e-9))
    levels = view.likelihood.start_at(np.ascontiguousarray(eta.T), noise)
    known = np.concatenate([levels, (centred.slopes / slope).T], axis=1)
    offsets = Offsets(known, np.full(known.shape, 1e-2))
    return ViewPosterior(slab, offsets, alpha, prior.theta, noise, prior.parameters)
