"""What every estimator shares: one `fit`, one `partial_fit`, the answers about rows, the fitted attributes.

A subclass has three hooks: `_build` a model, `_start` a posterior, `_publish` attributes in data units.
"""

from __future__ import annotations

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from latens.array import Floats, Index
from latens.core import Compressing, Crossing, Fit, Model, Posterior, Rows, State, Statistics, fewest_of
from latens.errors import FitInterrupted, caller_level, warn
from latens.estimators.answers import Answers
from latens.estimators.display.notebook import NotebookView
from latens.estimators.fitting.checkpoints import Checkpoint
from latens.estimators.fitting.context import FitContext, checkpointing, smaller_fit
from latens.estimators.fitting.fit_doubts import doubt_fit, doubt_memory, fit_bytes, looking_over, tell_late_interrupt
from latens.estimators.fitting.search import FitSearch
from latens.estimators.fitting.streams import Streaming
from latens.estimators.former_names import keywords_after_y
from latens.estimators.parameters import (
    SECONDS_OF_FITS,
    all_or_nothing,
    keep_warnings,
    positive_number,
    whole_number,
    yes_or_no,
)
from latens.estimators.rows.data import Data, InBlocks, InMemory, check_data
from latens.estimators.rows.doubts import doubt_sample
from latens.estimators.rows.lazy import batch_by_batch
from latens.estimators.rows.sampling import in_order, without_units
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_rows
from latens.inference.search.journal import Journal
from latens.inference.search.moves import Record
from latens.system.interrupts import held_back
from latens.system.seeds import generator, seed_beside
from latens.system.threads import one_blas_thread

__all__ = ["MOST_COMPONENTS", "VariationalTransformer", "living_components"]

MOST_COMPONENTS = 4096  # beyond it their K x K matrices alone would fill the memory
MOST_FORGOTTEN = 0.1  # by each row of a stream: ten rows are left


class VariationalTransformer(FitSearch, Streaming, Answers, NotebookView, BaseEstimator):
    """Fits by `ascend`, streams by `update`; knows nothing of the model it drives.

    Attributes
    ----------
    elbo_ : float
        Lower bound of the log evidence of all rows, in nats and in the units of the data, with all constants.
    elbo_history_ : array (n_iter_,)
        The bound after each iteration.
    trace_ : tuple of Iteration
        What callbacks receive at each iteration: the bound, its terms by name, seconds and the number of components.
    n_iter_ : int
        Number of iterations of the start that was kept, moves included.
    converged_ : bool
        Whether the gain of the bound fell below `tol`.
    posterior_ : Posterior
        The variational posterior of the parameters of the published components, in the units of the model.
    n_components_ : int
        Number of published components; the most important is the first.
    share_ : array (K,)
        Importance of each component: its share of the variance, of the rows or of the ones.
    score_is_bound_ : bool
        Whether `score_samples` is a lower bound of the log density instead of the density itself.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str (D,)
        Their names, if X had names.
    component_names_ : array of str (K,)
        Names that `set_component_names` gave.
    warnings_ : list of WarningRecord
        Code, message and remedy of each warning of the fit.
    """

    scaled: ClassVar[bool] = True  # False where the data have no unit, such as binary rows
    binary: ClassVar[bool] = False  # whether rows hold 0 and 1, what else they hold being cut at `binarize`
    sparse: ClassVar[bool] = False  # whether the model takes CSR rows as they are
    sparse_cut: ClassVar[bool] = True  # whether what CSR rows hold beside 0 and 1 is cut, too; else it is refused
    sample_size: ClassVar[int] = 4096  # rows that starts and moves look at
    most_starts_of_growth: ClassVar[int | None] = None  # of a search with more components allowed; None: all of them
    takes_exposure: ClassVar[bool] = False  # whether rows may bring exposures of their counts, in `fit` and in answers

    def __init__(
        self,
        n_components: int | None,
        *,
        max_iter: int,
        max_time: float | None = None,
        tol: float,
        n_init: int,
        init: Any,
        moves: bool,
        prune: bool = True,
        random_state: Any,
        warm_start: bool,
        verbose: int,
        callbacks: Any,
        n_jobs: int | None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.moves = moves
        self.prune = prune
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.n_jobs = n_jobs

    @abstractmethod
    def _build(self, context: FitContext) -> Model:
        """Return the model for data like the sample, in model units; hyper-parameters are checked here."""

    @abstractmethod
    def _start(self, model: Any, context: FitContext, restart: int) -> Posterior:
        """Return a posterior to start from: the only place where randomness enters."""

    @abstractmethod
    def _publish(self, q: Any, stats: Statistics, units: Units) -> dict[str, Any]:
        """Return the public numbers of a posterior in data units, by name and without the underscore."""

    @property
    def _centred(self) -> bool:
        """Whether the model has a location of its own, so that the origin of the data may be moved."""
        return False

    @property
    def _scaled(self) -> bool:
        """Whether the data have a unit that may be divided out."""
        return self.scaled

    @keywords_after_y("sample_weight")
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, checkpoint: Any = None) -> Self:
        """Fit the model to rows X (n, D).

        Parameters
        ----------
        X : array of shape (n, D)
            Rows are samples. NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        checkpoint : path, optional
            A folder to which the fit saves its state, at most every 30 seconds. If a fit of the same parameters to
            the same rows was killed or interrupted, it continues from there, with the same result as without
            interruption. The file is removed when the fit ends.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self):
            context, _ = self._fit(X, sample_weight, moves=self.moves, checkpoint=opened)
            with looking_over(self):
                self._look_over(context)
        return self

    def _look_over(self, context: FitContext) -> None:
        """Say what should be known of a fit before it is believed."""
        doubt_fit(self, context)

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        *,
        moves: bool,
        spare: bool = False,
        known: Any = None,
        rng: np.random.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        until: float | None = None,
        centred: bool | None = None,
        in_stream: bool = False,
    ) -> tuple[FitContext, Fit]:
        """Search and keep; with `spare`, X is rows that may be written over.

        `until` is when the time of the fit is over, by the monotonic clock, where that is not `max_time` from now;
        `centred` whether the model has a location of its own, where that is not `_centred`.
        """
        with all_or_nothing(self), one_blas_thread():
            began = time.process_time()
            self._check_common()
            data = check_data(self, X, sample_weight, known)
            self.__dict__.pop("_n_named", None)
            if data.n_named:
                self._n_named, moves = data.n_named, False
            self.__dict__.pop("stream_", None)  # a stream that begins keeps its rows afterwards
            if until is None and self.max_time is not None:
                until = time.monotonic() + self.max_time
            over = None if until is None else partial(_has_passed, until)
            sample = data.sample(self.sample_size, data.column_exponents() if self._own_units else None)
            if (
                isinstance(data, InBlocks) and not self.binary and not hasattr(self, "likelihoods")
            ):  # which have their own
                names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(data.n_columns)])
                doubt_sample(sample, data.source.survey, names, levels=hasattr(self, "covariance_type"))
            before = self._units if self._goes_on(data) else None
            centred = self._centred if centred is None else centred
            units = before or self._units_of(data, sample, centred)
            units.check_range()
            rng = generator(self.random_state) if rng is None else rng
            sample = (without_units if self._own_units else in_order)(units.enter(sample))
            context = FitContext(
                *(data, data, sample, units, rng),
                over=over,
                centred=centred,
                in_stream=in_stream,
                smaller=smaller_fit(self),
            )
            model = self._build(context)
            if checkpoint is not None:
                context = self._recorded(context, checkpoint, model, going_on=before is not None)
            starts = [State(self._state.q)] if before else self._starts_of(model, context)
            doubt_memory(fit_bytes(model, data, context.sample, starts))
            if not isinstance(model, Compressing):
                context = replace(context, data=data.entered(units, spare=spare))
            fit = self._search_from(model, context, starts, moves, before is None)
            if moves and self._seeks_number and not before:
                fit = self._grow(fit, model, context, starts)
            late = over is not None and over()
            if fit.stopped and late:  # the last ascent may have settled: the search that it is part of was not done
                fit = replace(fit, converged=False)
            with held_back() as asked:
                self._keep(model, units, fit)
            SECONDS_OF_FITS[self] = time.process_time() - began
        fit = replace(fit, interrupted=fit.interrupted or asked())
        if fit.interrupted:
            self._tell_interrupt(len(fit.trace), context.journal)
        elif fit.stopped and late:
            warnings.warn(
                f"{type(self).__name__} used all max_time={self.max_time:g} seconds and keeps the best state so far. "
                f"Raise max_time. {_remedy(context.journal)}",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        elif not fit.converged and not fit.stopped and self.tol > 0:  # with tol=0 all iterations were asked for
            warnings.warn(
                f"{type(self).__name__} used all max_iter={self.max_iter} iterations before the bound settled to "
                f"tol={self.tol}. Raise max_iter or tol; elbo_history_ shows how it moved.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return context, fit

    def _recorded(self, context: FitContext, checkpoint: Checkpoint, model: Model, *, going_on: bool) -> FitContext:
        """The same fit with a journal, and with the generator of the fit that it goes on with."""
        data = context.given
        foreign = data.rows.x if isinstance(data, InMemory) and not data.may_be_threaded else None
        begun_from = [fit for fit in (self if going_on else None, context.smaller) if fit is not None]
        about = [model, data.fingerprint(context.sample), [fit._state.q for fit in begun_from]]
        journal, rng = checkpoint.journal(self, context.rng, about, context.over, foreign)
        return replace(context, journal=journal, rng=rng)

    @contextmanager
    def _completing(self) -> Iterator[None]:
        """Steps after `_fit` without which the fit is not whole: an interrupt waits until they are done."""
        with held_back() as asked:
            yield
        if asked():
            tell_late_interrupt(self)

    def _tell_interrupt(self, n_iterations: int, journal: Record) -> None:
        warn(
            FitInterrupted(
                f"{type(self).__name__} was interrupted after {n_iterations} iterations; it keeps the best state "
                f"so far and can be used.",
                _remedy(journal),
            )
        )

    @keywords_after_y("sample_weight")
    @batch_by_batch
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Add a batch of rows to the fit; batches may come in any order, and each is read once.

        A uniform sample of all rows so far is stored: 2,000 of them, or 10 for each parameter if that is more, in at
        most 256 MB (``stream_.nbytes``). The model is fitted again to this sample, with moves, whenever the number of
        rows has doubled until the sample is full, and whenever a batch scores clearly worse than expected. While the
        sample contains every row, this equals `fit`; later it represents all rows, and ``elbo_`` is the bound for as
        many rows like those of the sample. With `forget`, if an estimator has it, the sample is of the last 1/forget
        rows, and a search on it follows whenever half of them are new.

        After `fit`, which stores no rows, batches only add to the sums of that fit.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        with keep_warnings(self, adding=not first), all_or_nothing(self), one_blas_thread():
            if first:
                self._check_common()
                self._begin_stream(check_data(self, X, sample_weight))
                return self
            self._see_batch(check_rows(self, X, sample_weight))
        return self

    @property
    def _own_units(self) -> bool:
        """Whether each column has a unit of its own, so that units of single columns change nothing."""
        return False

    def _units_of(self, data: Data, sample: Rows, centred: bool) -> Units:
        return data.units(centred=centred, scaled=self._scaled, by_column=self._own_units)

    def _goes_on(self, data: Data) -> bool:
        """Whether a warm start has something to go on from: a fit of as many columns, to the same question."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return False
        return len(self._units.origin) == data.n_columns and self._asked() == self._question

    def _asked(self) -> dict[str, str]:
        """The parameters that say what is asked, not how the answer is found."""
        how = {
            "max_iter",
            "max_time",
            "tol",
            "n_init",
            "init",
            "moves",
            "random_state",
            "warm_start",
            "verbose",
            "callbacks",
            "n_jobs",
            "row_posteriors",
            "learning_method",
            "batch_size",
            "learning_decay",
            "learning_offset",
            "forget",
        }
        return {name: repr(value) for name, value in self.get_params(deep=False).items() if name not in how}

    def _grow(self, fit: Fit, model: Model, context: FitContext, starts: list[State]) -> Fit:
        """Search again with more components allowed, while all that were are kept and the bound rises.

        First from what kept all: where moves add none to it, no more are needed, and nothing else is searched. Whether
        that is done, and when it is given up, is told by starts that others after them do not change: that one kept
        all, having got higher than those before it, and what the first of all reached. More starts end no lower. Where
        the first kept all, no others were tried; they are, where it gets no higher with more allowed. Where a fit is
        crowded, the number goes up whatever the searches give.
        """
        allowed, reached, last = self._starting_size(context), context.reached, fit
        fewer: tuple[FitContext, list[State]] | None = None  # the search before the last, if that left starts out
        enough = False
        try:
            while not (last.interrupted or last.stopped) and reached and last.elbo >= reached[0].elbo:
                full = next((one.q for one in reached if one.n_living >= allowed), None)
                crowded = self._is_crowded(context, reached[0].n_living)
                if not crowded and (full is None or reached[0].elbo <= context.least):
                    break
                left_out = isinstance(model, Crossing) and len(starts) > 1 and reached[0].n_living >= allowed
                fewer = (replace(context, widest=True, reached=[]), starts) if left_out else None
                rng = np.random.default_rng(seed_beside(context.rng))  # whatever starts before these have drawn
                least = max(context.least, reached[0].elbo)
                context = replace(context, growth=self._next_growth(context), least=least, rng=rng)
                before, allowed = allowed, self._starting_size(context)
                if allowed == before:  # rows or columns are too few for more
                    return fit
                if full is not None:
                    beyond = replace(context, widest=True, least=-math.inf, reached=[])
                    last = self._search_from(model, beyond, [State(full)], True, False)
                    fit = _higher_of(fit, last)
                    enough = max((one.n_living for one in beyond.reached), default=0) <= before
                    if (enough and not crowded) or last.interrupted or last.stopped:
                        break
                else:  # the next search has the same seed whether that was done or not
                    seed_beside(context.rng)
                starts = self._starts_of(model, context)[: self.most_starts_of_growth]
                last = self._search_from(model, context, starts, True)
                fit = _higher_of(fit, last)
            level = context.least - self.tol * max(fit.state.stats.n, 1.0)
            behind = enough or (bool(reached) and (reached[0].elbo < level or reached[0].n_living >= allowed))
            if fewer is not None and behind and not (fit.interrupted or fit.stopped):
                fit = _higher_of(fit, self._search_from(model, *fewer, True))
        except KeyboardInterrupt:
            return replace(fit, interrupted=True)
        return fit

    def _next_growth(self, context: FitContext) -> int:
        """The growth of a search with more components allowed than with that of this one."""
        return 2 * context.growth

    def _times_allowed(self, context: FitContext) -> float:
        """How many times the components of growth 1 are allowed."""
        return context.growth

    def _is_crowded(self, context: FitContext, n_kept: int) -> bool:
        """Whether the first start kept so many of the components allowed that more are searched for in any case."""
        return False

    def _starts_of(self, model: Model, context: FitContext) -> list[State]:
        """None where the model compresses rows: it starts from their total."""
        return [] if isinstance(model, Compressing) else self._starts(model, context)

    def _starting_size(self, context: FitContext) -> int:
        """Components to start with: `n_components`, or a number chosen from the data; the fewer, if that is likely."""
        if self.n_components is None:
            return self._n_named or self._default_size(context)
        allowed = whole_number("n_components", self.n_components)
        if not (self.begins_with_likely and self._seeks_number):
            return allowed
        return min(allowed, int(self._times_allowed(context) * self._default_size(replace(context, growth=1))))

    def _default_size(self, context: FitContext) -> int:
        n, d = context.sample.x.shape
        return int(max(1, min(2 * d, n // 4, context.growth * 24)))

    def _real_columns(self) -> Sequence[int]:
        """Columns whose tails may be heavier than the model's, which is no reason for components."""
        return range(int(self.n_features_in_))

    def _check_common(self) -> None:
        whole_number("max_iter", self.max_iter)
        whole_number("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        if self.n_jobs is not None and whole_number("n_jobs", self.n_jobs, least=-64) == 0:
            raise ValueError("n_jobs=0 leaves no thread to work; choose 1 or more, or None for all cores.")
        positive_number("tol", self.tol, zero=True)
        whole_number("n_init", self.n_init)
        yes_or_no("moves", self.moves)
        if not yes_or_no("prune", self.prune) and self.n_components is None:
            raise ValueError("prune=False keeps every component, so that n_components must say how many; give it.")
        if self.max_time is not None:
            positive_number("max_time", self.max_time)
        positive_number("forget", self.forget, most=MOST_FORGOTTEN, zero=True)
        yes_or_no("warm_start", self.warm_start)
        if self.n_components is not None:
            whole_number("n_components", self.n_components, most=MOST_COMPONENTS)
        given = () if self.callbacks is None or callable(self.callbacks) else self.callbacks
        if not isinstance(given, Iterable) or not all(map(callable, given)):
            raise ValueError(f"callbacks={self.callbacks!r} holds something that cannot be called; give functions.")

    def _keep(self, model: Model, units: Units, fit: Fit) -> None:
        """Store the state and publish its living components, the most important first."""
        state = fit.state
        self._model, self._units, self.trace_, self.converged_ = model, units, fit.trace, fit.converged
        self._state, self._question = replace(state, locals=None), self._asked()
        living, self.share_ = self._living()
        self.posterior_, self.n_components_ = state.q.only(living), len(living)
        self.n_iter_, self.elbo_ = len(fit.trace), fit.elbo
        self.elbo_history_ = np.array([event.elbo for event in fit.trace])
        self.score_is_bound_ = model.score_is_bound(self.posterior_)
        for name, value in self._publish(self.posterior_, state.stats, units).items():
            setattr(self, f"{name}_", value)

    def _living(self) -> tuple[Index, Floats]:
        """Which components of the state are published, in the order in which they are, and the share of each."""
        model, state = self._model, self._state
        if self._n_named:  # components are those that were named, in their order
            return np.arange(state.q.n_components), model.importance(state.q, state.stats)
        return living_components(model, state, prune=self.prune)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.sparse and self.sparse_cut  # any sparse rows, not only those of ones
        return tags


def _higher_of(fit: Fit, last: Fit) -> Fit:
    """The higher of two fits; interrupted or stopped if the last was."""
    best = last if last.elbo > fit.elbo else fit
    return replace(best, interrupted=last.interrupted, stopped=last.stopped)


def _has_passed(until: float) -> bool:
    return time.monotonic() > until


def _remedy(journal: Record) -> str:
    """How to go on with a fit that was broken off."""
    how = "with the same checkpoint" if isinstance(journal, Journal) else "with warm_start=True"
    return f"Call fit {how} to go on."


def living_components(model: Model, state: State, *, prune: bool = True) -> tuple[Index, Floats]:
    """Which components are published, the most important first, and their shares; all, or one if it must."""
    importance = model.importance(state.q, state.stats)
    order = np.argsort(-importance, kind="stable")
    if not prune:
        return order, importance[order]
    living = order[importance[order] > 0]
    return (living := living if len(living) or _may_be_empty(model, state) else order[:1]), importance[living]


def _may_be_empty(model: Model, state: State) -> bool:
    fewest = fewest_of(model, state)
    return fewest is not None and fewest.n_components == 0
