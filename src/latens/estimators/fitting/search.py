"""How a fit is searched for: restarts, then moves, over blocks of rows that threads share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from latens.array import Floats
from latens.array.transfer import host, is_sparse
from latens.core import Compressing, Fit, Iteration, Model, Movable, Posterior, Rows, State, Unkept
from latens.estimators.fitting.context import Directions, FitContext
from latens.estimators.fitting.independent_columns import in_axes, shuffled, tails_gain
from latens.estimators.parameters import in_callback, one_of, positive_number, whole_number
from latens.estimators.rows.data import Data, InMemory
from latens.inference.ascent import OnIteration, ascend
from latens.inference.online import RobbinsMonro, compressed
from latens.inference.progress import ProgressBar
from latens.inference.search.moves import Record, starts_with_one_more
from latens.inference.search.optimum import GoingOn, Search
from latens.inference.stochastic import pass_stochastically
from latens.inference.sweep import block_counter
from latens.system.seeds import seed_beside
from latens.system.threads import waking_map

__all__ = ["FitSearch", "all_or_sample"]

# what components must gain in columns of heavy tails: so many times what they gain in the same columns shuffled, and so
# many nats more, by which luck may change either
TIMES_BY_CHANCE, NATS_BEYOND_CHANCE = 2.0, 10.0
ROUGH_NATS = 0.5  # gain of an iteration below which moves are tried, however few the rows
GLANCE_WITH_HOLES = 20  # iterations that tell which of the starts found without holes are worth going on from
SAMPLE_ITERATIONS = 500  # of the search on a sample that precedes stochastic passes
MOST_TENTHS = 2  # times that the tolerance per row is divided by 10 where rows are many
ROUNDING_OF_SINGLE = 1e-3  # nats of an iteration on rows of single precision, less of which is rounding
ROW_POSTERIORS = ("auto", "keep", "recompute")


class FitSearch:
    """Mixed into every estimator; reads the parameters that say how to search, and starts where the subclass says."""

    _n_named: int = 0  # components that codes of some rows were given for: they stay as they are named
    binary: ClassVar[bool]
    max_iter: int
    max_time: float | None
    tol: float
    n_init: int
    moves: bool
    n_components: int | None
    init: Any
    prior: str = "ard"
    learning_method: str = "batch"
    batch_size: int = 1024
    learning_decay: float = 0.7
    learning_offset: float = 10.0
    forget: float = 0.0
    row_posteriors: str = "recompute"  # where local steps are exact there is nothing to keep
    verbose: int
    prune: bool
    callbacks: Any
    n_jobs: int | None
    # iterations that tell which starts are worth going on from; 0: nothing but their end does
    glance: ClassVar[int] = 0
    rough_tol_ratio: ClassVar[float] = 0.0  # of the usual tolerance, where moves are first tried; 0: at the usual one
    pause: ClassVar[int] = 0  # iterations after which moves begin, though the bound still rises; 0: it has settled
    seeks_rare: ClassVar[bool] = True  # whether moves look at badly explained rows, for what is rare in a sample
    settles: ClassVar[float] = 0.0  # nats of an iteration, to which a fit goes on in leaps; 0: its tolerance ends it
    # whether the usual size is a likely one, with which a search begins however many components are allowed
    begins_with_likely: ClassVar[bool] = False
    settled_by: ClassVar[float] = math.inf  # rows from which on the tolerance per row falls as their number grows

    if TYPE_CHECKING:

        def _start(self, model: Any, context: FitContext, restart: int) -> Posterior: ...

        def _starting_size(self, context: FitContext) -> int: ...

        def _real_columns(self) -> Sequence[int]: ...

        def _in_known_order(self, model: Any, starts: list[State], sample: Rows) -> list[State]: ...

    def _starts(self, model: Any, context: FitContext) -> list[State]:
        times = self.n_init if isinstance(self.init, str) else 1
        starts = [State(q) for restart in range(times) for q in self._starts_of_restart(model, context, restart)]
        if context.smaller is not None and self._can_start_from(model, context.smaller):
            starts += starts_with_one_more(model, context.smaller._state, context.sample, context.rng)
        return self._in_known_order(model, starts, context.sample) if self._n_named else starts

    def _can_start_from(self, model: Any, smaller: Any) -> bool:
        """Whether what a fit with one component fewer found is a posterior of this model."""
        return True

    def _starts_of_restart(self, model: Any, context: FitContext, restart: int) -> Sequence[Posterior]:
        """The starts of one restart: one, or several where nothing short of a whole search tells which is better."""
        return [self._start(model, context, restart)]

    def _starts_beside(self, model: Any, context: FitContext, first: State, found: State) -> Sequence[State]:
        """Starts that a sample is too small to judge, given the first start and what it led to on the sample."""
        return []

    def _search_from(
        self, model: Model, context: FitContext, starts: list[State], moves: bool, from_scratch: bool = True
    ) -> Fit:
        """Restarts, then moves, on blocks of rows that threads share, if need be in the directions that hold them."""
        directions = self._directions(model, context)
        if directions is None:
            return self._search_within(model, context, starts, moves, from_scratch)
        rows = all_or_sample(context.data, context.sample)
        inner = replace(
            context,
            data=InMemory(directions.rows_within(rows)),
            sample=directions.rows_within(context.sample),
            outside=(context, directions),
        )
        starts = [directions.state_within(start) for start in starts]
        fit = self._search_within(directions.model_within(model), inner, starts, moves, from_scratch)
        reached = context.reached
        reached[:] = [one._replace(q=directions.posterior_outside(one.q)) for one in reached]
        return replace(fit, state=directions.state_outside(fit.state, rows))

    def _search_within(
        self, model: Model, context: FitContext, starts: list[State], moves: bool, from_scratch: bool
    ) -> Fit:
        data, sample, units, journal = context.data, context.sample, context.units, context.journal
        outside, directions = context.outside or (context, None)
        limit = self._starting_size(outside)
        width = model.floats_per_row(limit)
        batches = data.batches(width)
        slack = float(np.finfo(np.float32).eps ** 0.5) if data.is_single else 1e-9
        tol = self._tolerances(data.n)[0]
        options: Callable[..., Fit] = partial(ascend, model, tol=tol, slack=slack, log_scale=units.log_scale)
        with self._pool(data, len(batches)) as pool, self._progress() as bar:
            notify = _outside(directions, self._notify(bar, journal))
            posteriors = one_of("row_posteriors", self.row_posteriors, ROW_POSTERIORS)
            sweep = data.sweep(width, pool if len(batches) > 1 else None, self._n_threads, posteriors)
            if isinstance(model, Compressing):
                # blocks enter the units of the model one by one, while they are in cache
                total = journal.once(
                    lambda: compressed(lambda block: model.compress(units.enter(block)), batches, sweep)
                )
                return self._read_out(model, replace(context, sample=total), starts, notify, moves)
            search = self._search(model, options, outside, limit, moves)
            search = replace(search, alone=partial(self._or_nothing, search, context))
            if one_of("learning_method", self.learning_method, ["batch", "online"]) == "online":
                last = partial(options, batches, max_iter=1, sweep=sweep)
                return self._learn_online(search, context, starts, last, len(batches), notify)
            searching = len(starts) > 1 or (moves and isinstance(model, Movable))
            complete = self._rows_without_holes(model, context) if searching and moves and from_scratch else None
            if complete is not None:
                starts, interrupted = search.starts_from(complete, starts)
                if interrupted:
                    return search.once_over(batches, starts[-1], sweep, notify)
                search = replace(search, glance=GLANCE_WITH_HOLES, slow=True)
            # their weight, not their number: a row given twice counts like a weight of 2
            if searching and 2 * len(sample) <= data.n:
                badly_explained = partial(data.badly_explained, model) if self.seeks_rare else None
                beside = partial(self._starts_beside, model, context, starts[0]) if from_scratch else None
                return search.by_part(
                    sample,
                    batches,
                    data.n,
                    badly_explained,
                    starts,
                    beside=beside,
                    from_scratch=from_scratch,
                    sweep=sweep,
                    notify=notify,
                )
            at_once = pool and len(batches) == 1 and notify is None and not journal.in_order
            several = waking_map(pool) if pool and at_once else map
            return search.on_all(batches, sample, starts, sweep=sweep, notify=notify, map_=several)

    def _directions(self, model: Any, context: FitContext) -> Directions | None:
        """Those that hold few rows of many columns, of a model that knows no direction from another."""
        return None

    def _rows_without_holes(self, model: Any, context: FitContext) -> Rows | None:
        """The sample with something in its holes, where a search from there is quicker; None where it is not."""
        return None

    def _or_nothing(self, search: Search, context: FitContext, fit: Fit, without: Fit, going_on: GoingOn) -> Fit | None:
        """The fit, or that `without` components where they say nothing that independent columns do not say.

        They do say something where they gain more than the tails of all columns would. Where they gain less, they may
        describe these tails, or something beside them: the same columns, shuffled, tell how much tails alone give them.
        Where that is more than the fit gains, it has missed tails that are in its own columns, too: it goes on from
        what shuffled columns led to, and is compared again.
        """
        outside, directions = context.outside or (context, None)
        level = self._alone(search.model, outside, without.elbo)
        if not without.elbo < fit.elbo < level:
            return without if fit.elbo < level else fit
        if self.binary or is_sparse(outside.sample.x):
            return without
        rng = np.random.default_rng([search.seed, 2])  # apart from those of moves, on the sample and on all rows
        rows = self._shuffled(search.model, outside, rng)
        # what describes tails does so in shuffled columns, too: the fit is a start beside those of these rows
        own = State(fit.state.q if directions is None else directions.posterior_outside(fit.state.q))
        starts = [*self._starts(search.model, replace(outside, sample=rows, rng=rng)), own]
        spanned = None if directions is None else directions.again(rows)  # by shuffled rows: others than these
        if spanned is not None:
            rows, starts = spanned.rows_within(rows), [spanned.state_within(start) for start in starts]
        found = search.gain(weighted_up(rows, context.data.n), starts)
        if found is None:
            return None
        by_chance, q = found
        if fit.elbo - without.elbo < by_chance:
            if directions is not None and spanned is not None:
                q = directions.state_within(State(spanned.posterior_outside(q))).q
            fit = going_on(fit, q)
        if fit.interrupted or fit.stopped:
            return None
        if fit.elbo < level and fit.elbo - without.elbo < TIMES_BY_CHANCE * by_chance + NATS_BEYOND_CHANCE:
            return without
        return fit

    def _alone(self, model: Any, context: FitContext, fewest: float) -> float:
        """The bound that components exceed without doubt, given that of the fewest."""
        if self.binary:
            return fewest
        turn = self._independent_axes(model, context)
        if turn is None:
            rows, sample = all_or_sample(context.data, context.sample), context.sample
        else:
            sample = in_axes(*turn)
            weight = np.ones(len(sample)) if sample.weight is None else host(sample.weight)
            rows = sample = replace(sample, weight=context.data.n / sample.n * weight)
        return fewest + tails_gain(rows, sample, self._real_columns())

    def _shuffled(self, model: Any, context: FitContext, rng: np.random.Generator) -> Rows:
        """Rows like those of the sample, with nothing in them but the tails of single columns, and holes as there."""
        turn = self._independent_axes(model, context)
        if turn is None:
            return shuffled(context.sample, rng)
        rows, axes = turn
        back = np.linalg.solve(axes.T, shuffled(in_axes(rows, axes), rng).x.T).T.astype(host(rows.x).dtype)
        sample: Rows = context.sample
        return replace(sample, x=back if sample.seen is None else np.where(host(sample.seen), back, 0.0))

    def _independent_axes(self, model: Any, context: FitContext) -> tuple[Rows, Floats] | None:
        """The sample without holes, and axes along which it has no component: where those are not the columns."""
        return None

    def _read_out(
        self,
        model: Any,
        context: FitContext,
        starts: list[State],
        notify: OnIteration | None = None,
        moves: bool = False,
    ) -> Fit:
        """Ascend on the sum of all rows, from a start that it alone determines; later batches add to that sum."""
        total = context.sample
        ascent = partial(ascend, model, tol=self._tolerances(context.data.n)[0], log_scale=context.units.log_scale)
        starts = starts or self._starts(model, context)
        limit = max(start.q.n_components for start in starts)
        search = self._search(model, ascent, context, limit, moves)
        fit = search.on_all([total], total, starts, notify=notify)
        return replace(fit, state=replace(fit.state, data=total, locals=None))

    def _learn_online(
        self,
        search: Search,
        context: FitContext,
        starts: list[State],
        last: Callable[..., Fit],
        n_batches: int,
        notify: OnIteration | None,
    ) -> Fit:
        """A search on the sample, stochastic passes over all rows from what it found, and one iteration on all."""
        if self.forget and not context.in_stream:
            raise ValueError(
                f"forget={self.forget:g} counts the last rows of a stream, and learning_method='online' goes through "
                "rows in shuffled passes, of which none is the last; leave forget=0, or give the rows in their order "
                "to partial_fit."
            )
        data, sample, journal = context.data, context.sample, context.journal
        found = replace(search, max_iter=self._n_iterations).on_all([sample], sample, starts)
        size = whole_number("batch_size", self.batch_size)
        rate = RobbinsMonro(
            data.n,
            positive_number("learning_offset", self.learning_offset),
            positive_number("learning_decay", self.learning_decay, most=1.0),
        )
        passes = partial(
            pass_stochastically,
            search.model,
            lambda number: data.shuffled(size, np.random.default_rng([search.seed, number])),
            combine=rate,
            max_passes=0 if found.interrupted else self.max_iter,
            tol=self.tol,
            log_scale=context.units.log_scale,
        )
        known = (data.n / found.state.stats.n) * found.state.stats
        fit = journal.ascend(passes, State(found.state.q, known), notify)
        settled = (Unkept(),) * n_batches  # one local step from a neutral start would not do
        end = journal.ascend(last, State(fit.state.q, None, settled, len(fit.trace)), notify)
        return replace(
            end,
            trace=(*fit.trace, *end.trace),
            converged=fit.converged,
            interrupted=found.interrupted or fit.interrupted or end.interrupted,
            stopped=found.stopped or fit.stopped or end.stopped,
        )

    @property
    def _n_iterations(self) -> int:
        """Iterations of an ascent at most; `max_iter` counts passes where learning is online."""
        return self.max_iter if self.learning_method == "batch" else SAMPLE_ITERATIONS

    @property
    def _seeks_number(self) -> bool:
        """Whether the number of components is searched for, and `n_components` is no more than a limit of it."""
        judged = self.n_components is None or self.prior != "ml"  # the bound of point estimates cannot judge it
        return self.moves and isinstance(self.init, str) and judged and not self._keeps_all

    @property
    def _keeps_all(self) -> bool:
        """Whether the fit has exactly the components it starts with."""
        return not self.prune or self._n_named > 0

    def _search(
        self,
        model: Any,
        ascent: Callable[..., Fit],
        context: FitContext,
        limit: int,
        moves: bool,
    ) -> Search:
        tol, *finer = self._tolerances(context.data.n)
        return Search(
            model,
            ascent,
            seed=seed_beside(context.rng),
            limit=limit,
            max_iter=self.max_iter,
            tol=tol,
            moves=moves,
            fixed=self._keeps_all,
            over=context.over,
            journal=context.journal,
            rough_tol=self._rough_tolerance(context.data.n),
            finer=tuple(finer),
            settles=max(self.settles, ROUNDING_OF_SINGLE) if self.settles and context.data.is_single else self.settles,
            log_scale=context.units.log_scale,
            glance=self.glance,
            pause=self.pause,
            least=context.least,
            reached=context.reached,
            enough=limit if self._may_grow(context) else math.inf,
        )

    def _may_grow(self, context: FitContext) -> bool:
        """Whether more components will be allowed if all of them are kept."""
        if not self._seeks_number or self.learning_method != "batch" or context.widest:
            return False
        larger = replace(context, growth=2 * context.growth)
        return self._starting_size(larger) > self._starting_size(context)

    def _rough_tolerance(self, n: float) -> float:
        """The tolerance to which an ascent goes before moves are first tried; 0: they wait for the usual one.

        Moves gain nats and not nats per row: of few rows, an iteration that gains a fraction of a nat changes nothing.
        """
        if not self.rough_tol_ratio:
            return 0.0
        return max(self.rough_tol_ratio * _usual_tolerance(type(self).__init__), ROUGH_NATS / max(n, 1.0))

    def _tolerances(self, n: float) -> list[float]:
        """That of the search, which is the usual one or a larger one that was asked for; then each a tenth of the last.

        A fit with a smaller `tol` therefore begins with all that a fit with a larger one does, and goes on from there.
        Where a gain is judged by few rows, fits of many go on as well, by at most MOST_TENTHS.
        """
        usual = _usual_tolerance(type(self).__init__)
        if self._is_plain_ascent:
            return [float(self.tol)]
        if not self.tol > 0:
            return [usual, 0.0]
        first = max(usual, float(self.tol))
        n_steps = max(math.ceil(math.log10(usual / self.tol) - 1e-9), 0)
        n_steps += min(int(math.log10(max(n / self.settled_by, 1.0)) + 1e-9), MOST_TENTHS)
        return [first / 10**step for step in range(n_steps + 1)]

    @property
    def _is_plain_ascent(self) -> bool:
        """Whether a fit is one ascent whose iterations do not depend on when it ends."""
        return not self.moves and self.n_init == 1

    @contextmanager
    def _progress(self) -> Iterator[ProgressBar | None]:
        """The line on the terminal, where it is asked for; a silent fit does not write into the line of another."""
        if self.verbose:
            with ProgressBar(self.verbose, self.max_iter, self.tol) as bar:
                yield bar
            return
        token = block_counter.set(None)
        try:
            yield None
        finally:
            block_counter.reset(token)

    def _notify(self, bar: ProgressBar | None, journal: Record) -> OnIteration | None:
        """One function for the progress bar and the caller's callbacks; any of them may stop the fit."""
        given = self.callbacks or ()
        watchers: list[Callable[[Any], Any]] = [given] if callable(given) else list(given)
        if bar is not None and bar.active:
            watchers.insert(0, bar.show)
        if not watchers:
            return None

        def notify(event: Iteration) -> bool:
            # every watcher sees every iteration, also after one of them asked to stop
            with in_callback(self):
                return True in [bool(watcher(event)) for watcher in watchers]

        return journal.unheard(notify)

    @property
    def _n_threads(self) -> int:
        return int(effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs))

    @contextmanager
    def _pool(self, data: Data, n_batches: int) -> Iterator[ThreadPoolExecutor | None]:
        """Threads for row blocks, or for restarts where one block holds all rows; none for other libraries' arrays."""
        n_threads = self._n_threads
        if n_threads < 2 or not data.may_be_threaded or (n_batches == 1 and self.n_init == 1):
            yield None
            return
        with ThreadPoolExecutor(n_threads, thread_name_prefix="latens") as pool:
            yield pool


def _outside(directions: Directions | None, notify: OnIteration | None) -> OnIteration | None:
    """The same callback, which sees posteriors of all columns."""
    if directions is None or notify is None:
        return notify
    return lambda event: notify(replace(event, posterior=directions.posterior_outside(event.posterior)))


@cache
def _usual_tolerance(constructor: Callable[..., None]) -> float:
    """The tolerance of an estimator where the caller gives none."""
    return float(signature(constructor).parameters["tol"].default)


def all_or_sample(data: Data, sample: Rows) -> Rows:
    """The rows; of those in blocks a sample that counts as much."""
    return data.rows if isinstance(data, InMemory) else weighted_up(sample, data.n)


def weighted_up(sample: Rows, n: float) -> Rows:
    """The sample, which counts as much as n rows."""
    return replace(sample, weight=np.full(len(sample), n / len(sample)))
