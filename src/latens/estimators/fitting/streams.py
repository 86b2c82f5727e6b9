"""Streams in any order: rows are added once, some are kept, and those are fitted anew when the stream surprises.

    a batch --settle--> scores, unlike those expected?  yes: search again on the rows kept, which stand for all
                    \\-> statistics, added               no:  three global steps on the sums
                    \\-> the reservoir, a uniform sample of all rows seen

While the reservoir holds every row, a fit of it is `fit`: one is made whenever rows have doubled since the last. Once
it is full its rows tell nothing more of the number of components, and only surprises lead to another.

With `forget` the rows kept are the last 1/forget, or some of them: after each batch the model ascends on those, and a
search on them is made whenever half of them are new. What came before is gone from every sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latens.array import Floats
from latens.array.fields import record
from latens.array.transfer import host
from latens.core import Compressing, Fit, Rows, State, Walking, Watch, blocks
from latens.errors import FewInReservoir, StreamChanged, WarningRecord, warn
from latens.estimators.fitting.context import FitContext
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.reservoir import Reservoir, capacity_for
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import doubt_weights, occupied
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.online import Accumulate, follow, recount, update
from latens.system.seeds import generator, seed_beside
from latens.system.wording import listed

__all__ = ["Stream", "Streaming"]

ROWS_AT_ONCE = 2**16  # of data in blocks, on their way into the reservoir
LEAST_OF_COMPONENT, PER_COLUMN = 50, 3  # rows of a component in the reservoir that tell as much of it as all would
N_WITHIN = 3  # iterations on the rows of a window after a batch
PLAINLY_WORSE = 0.5  # nats a row below the bound of a fit whose rows are gone, before its stream is called changed


@record(eq=False)
class Stream:
    """What an estimator keeps of a stream besides its state."""

    reservoir: Reservoir
    watch: Watch
    fitted_rows: int  # seen when the model was last fitted
    fitted_weight: float

    @property
    def nbytes(self) -> int:
        """Memory that the rows kept take."""
        return self.reservoir.nbytes

    @property
    def is_due(self) -> bool:
        """Whether the reservoir can tell more of the components than when it was last fitted."""
        window = self.reservoir.window
        if window is not None and self.reservoir.n_rows >= window:
            return self.reservoir.n_rows - self.fitted_rows >= max(1, window // 2)
        if self.fitted_rows >= self.reservoir.capacity:
            return False
        return self.reservoir.n_rows >= self.reservoir.capacity or self.reservoir.n >= 2 * self.fitted_weight


class Streaming:
    """Mixed into every estimator: the part of `partial_fit` that comes after rows were checked."""

    file_attributes: ClassVar[tuple[str, ...]] = ("stream_",)  # attributes that files hold besides the posterior
    stream_: Stream | None = None  # None after `fit`, which keeps no rows
    _model: Any
    _units: Units
    _state: State
    trace_: tuple[Any, ...]
    converged_: bool
    elbo_: float
    n_components_: int
    warnings_: list[WarningRecord]
    moves: bool
    random_state: Any
    forget: float = 0.0  # 1 / rows of a stream after which one is gone; 0: never

    if TYPE_CHECKING:
        _fit: Callable[..., Any]
        _keep: Callable[..., None]
        _read_out: Callable[..., Fit]
        get_feature_names_out: Callable[..., Floats]

    def _begin_stream(self, data: Data) -> None:
        """Fit the first batch, and keep some of it."""
        self._fit_quietly(data, generator(self.random_state))
        self._tell_fit(data, 1.0)
        if isinstance(self._model, Compressing | Walking):
            return  # sums replace the rows, in whatever order they came
        self._keep_rows(data)

    def _keep_rows(self, data: Data) -> None:
        """A reservoir of the rows that were just fitted."""
        seed = seed_beside(generator(self.random_state))
        reservoir = Reservoir.empty(seed, capacity_for(self._n_free(), data.n_columns), data.n_columns, self._window)
        for rows in data.stream(ROWS_AT_ONCE):
            reservoir = reservoir.add(rows)
        self._watch(reservoir)
        if self.stream_ is not None and reservoir.n_within < reservoir.n_rows:
            self._fit_anew(self.stream_)

    @property
    def _window(self) -> int | None:
        """Rows of a stream that count; None: all of them."""
        return max(1, round(1 / self.forget)) if self.forget > 0 else None

    def _see_batch(self, rows: Rows) -> None:
        """See one more batch of rows that were checked; one without a row that counts changes nothing."""
        rows = occupied(rows)
        if not len(rows):
            return
        doubt_weights(rows)
        units = self._units.meeting(rows)
        inside = units.enter(rows)
        if isinstance(self._model, Compressing):
            total = Accumulate()(self._state.data, self._model.compress(inside), self._state.step)
            rng = generator(self.random_state)
            context = FitContext.of_rows(inside, total, units, rng)
            self._keep(self._model, units, self._read_out(self._model, context, [], moves=self.moves))
            return
        local = local_fixed_point(self._model, self._state.q, inside)
        scores, weight = self._scores(units, inside, local)
        stream = self._with_batch(rows, scores, weight)
        if stream is not None and (stream.is_due or stream.watch.is_short(stream.reservoir.n)):
            self._fit_anew(stream)
            return
        if stream is not None and stream.reservoir.window is not None:
            self._ascend_within(stream, units)
            return
        state, event = update(
            self._model,
            self._state,
            inside,
            combine=Accumulate((1 - self.forget) ** len(rows)),
            n_global=3,
            log_scale=units.log_scale,
            local=local,
        )
        event = replace(event, posterior=None, restart=self.trace_[-1].restart)
        self._keep(self._model, units, Fit(state, (*self.trace_, event), self.converged_))
        self._tell_batch(rows)
        self.stream_ = stream

    def _ascend_within(self, stream: Stream, units: Units) -> None:
        """A few iterations on the rows of the window, from the present posterior."""
        data, each = InMemory(stream.reservoir.rows), stream.reservoir.each
        fit = follow(
            self._model,
            [units.enter(data.rows)] * N_WITHIN,
            State(self._state.q, step=self._state.step),
            combine=Accumulate(0.0),  # these rows alone
            every=N_WITHIN,
            log_scale=units.log_scale,
        )
        self._keep_recounted(units, fit, each)
        self._tell_fit(data, each)
        self.stream_ = stream

    def _keep_recounted(self, units: Units, fit: Fit, each: float) -> None:
        """Keep a fit to rows of which each stands for `each`; a batch adds one iteration to the trace."""
        state, event = fit.state, fit.trace[-1]
        if each > 1:
            state, event = recount(self._model, state, each, log_scale=units.log_scale)
        event = replace(event, posterior=None, restart=self.trace_[-1].restart)
        self._keep(self._model, units, Fit(replace(state, locals=None), (*self.trace_, event), self.converged_))

    def _with_batch(self, rows: Rows, scores: Floats, weight: Floats) -> Stream | None:
        """What is kept of the stream with one more batch; says so if it is unlike those before."""
        stream = self.stream_
        if stream is None:
            self._doubt_after_fit(rows, scores, weight)
            return None
        before = stream.reservoir.n_rows
        stream = replace(stream, reservoir=stream.reservoir.add(rows), watch=stream.watch.meet(scores, weight))
        if stream.reservoir.window is None and stream.watch.is_short(stream.reservoir.n):
            watch, held = stream.watch, len(stream.reservoir.keys)
            self._warn_changed(
                f"rows {before + 1} to {stream.reservoir.n_rows} of the stream score {watch.shortfall:.2g} nats a row "
                f"below what those before them lead to expect ({watch.standard_errors:.0f} standard errors): it is "
                f"sorted, or it changes. The model was fitted anew, to {held} rows kept of all.",
                "If rows are only sorted, nothing needs to be done; shuffled batches, or fit(latens.scan(...)), save "
                "the second fit. If what they tell of changes with time, let old rows go: forget=.001 keeps the last "
                "1,000.",
            )
        return stream

    def _doubt_after_fit(self, rows: Rows, scores: Floats, weight: Floats) -> None:
        """Warn of a batch that is plainly less likely than the rows of a `fit` on average, whose bound is known."""
        mean = float(weight @ scores) / float(weight.sum())
        short = self.elbo_ / self._state.stats.n - mean
        error = float(scores.std()) / np.sqrt(len(scores))
        if short > PLAINLY_WORSE and short > 4 * error and rows.seen is None:
            self._warn_changed(
                f"the {len(rows)} rows of this batch score {short:.2g} nats a row below those of the fit: the stream "
                "is unlike its start.",
                "fit keeps no rows to begin again from: give all batches to partial_fit from the first on.",
            )

    def _warn_changed(self, message: str, remedy: str) -> None:
        """Once in a stream."""
        if not any(each.code == "stream-changed" for each in getattr(self, "warnings_", ())):
            warn(StreamChanged(message, remedy))

    def _fit_anew(self, stream: Stream) -> None:
        """Search on the rows kept; they stand for all rows seen."""
        reservoir, known = stream.reservoir, isinstance(self.random_state, int | float | np.integer | np.floating)
        data, each = InMemory(reservoir.rows), reservoir.each
        vars(self).pop("posterior_")  # no warm start: what few rows closed stays closed
        self._fit_quietly(data, generator(self.random_state if known else reservoir.seed))
        if each > 1:
            self._keep_recounted(self._units, Fit(self._state, self.trace_, self.converged_), each)
        self._tell_fit(data, each)
        if reservoir.is_whole:  # rows that are gone cannot come back, but there is room for more
            reservoir = replace(reservoir, capacity=capacity_for(self._n_free(), reservoir.n_columns))
        self._watch(reservoir)
        self._doubt_components(reservoir)

    def _fit_quietly(self, data: Data, rng: np.random.Generator) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # later batches go on where it stopped
            self._fit(data, None, moves=self.moves, rng=rng, in_stream=True)

    def _watch(self, reservoir: Reservoir) -> None:
        """Remember how the rows kept score under the model that was just fitted."""
        parts = []
        for block in blocks(reservoir.rows, self._model.floats_per_row(self._state.q.n_components)):
            inside = self._units.enter(block)
            parts.append(self._scores(self._units, inside, local_fixed_point(self._model, self._state.q, inside)))
        scores, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        self.stream_ = Stream(reservoir, Watch.of(scores, weight, self._n_free()), reservoir.n_rows, reservoir.n)

    def _scores(self, units: Units, inside: Rows, local: Any) -> tuple[Floats, Floats]:
        """(n,) each: log densities of rows, as if all entries were observed, and their weights."""
        density = host(self._model.log_predictive(self._state.q, inside, local) - units.log_volume(inside))
        observed = host(inside.observed)
        weight = np.ones(len(inside)) if inside.weight is None else host(inside.weight)
        return density * (inside.x.shape[1] / np.maximum(observed, 1.0)), weight

    def _doubt_components(self, reservoir: Reservoir) -> None:
        """Warn of components that few of the rows kept belong to, where others are gone."""
        self.warnings_ = [each for each in getattr(self, "warnings_", []) if each.code != "few-in-reservoir"]
        shares = getattr(self, "weights_", getattr(self, "usage_", None))
        if shares is None or reservoir.is_whole:
            return
        held, least = len(reservoir.keys), max(LEAST_OF_COMPONENT, PER_COLUMN * reservoir.n_columns)
        counts = held * np.asarray(shares)
        few = np.flatnonzero(counts < least)
        if not len(few):
            return
        names = [str(self.get_feature_names_out()[k]) for k in few]
        warn(
            FewInReservoir(
                f"{listed(names)}: about {counts[few].min():.0f} of the {held} stored rows of this stream "
                f"belong to it; {least} are needed to estimate it as well as from all rows.",
                "Fit the rows in one call if they fit into memory.",
            )
        )

    def _n_free(self) -> int:
        """About as many free parameters as the model has: loadings, and two numbers for each column."""
        d = len(self._units.origin)
        return self.n_components_ * (d + 1) + 2 * d

    def _tell_fit(self, data: Data, each: float) -> None:
        """Publish what is said of single rows, after a fit to some that stand for `each` as many."""

    def _tell_batch(self, rows: Rows) -> None:
        """The same for one more batch."""
