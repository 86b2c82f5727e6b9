"""What every estimator shares: one `fit`, one `partial_fit`, the answers about rows, the fitted attributes.

A subclass has three hooks: `_build` a model, `_start` a posterior, `_publish` attributes in data units.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import is_numpy_array
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from latens.array.randomness import generator
from latens.array.transfer import is_sparse
from latens.core import Compressing, Fit, Iteration, Model, Movable, Posterior, Rows, State, Statistics
from latens.errors import FitInterrupted
from latens.estimators.answers import Answers
from latens.estimators.checks import positive_number, whole_number, yes_or_no
from latens.estimators.frame import Frame
from latens.estimators.sampling import blocks, sample_rows
from latens.estimators.validation import check_rows, occupied
from latens.inference.ascent import OnIteration, ascend
from latens.inference.moves import improve
from latens.inference.online import Accumulate, compressed, update
from latens.inference.progress import ProgressBar
from latens.inference.restarts import best_of, best_stacked
from latens.inference.sweep import ThreadedSweep, serial_sweep
from latens.inference.threads import one_blas_thread, waking_map

__all__ = ["VariationalTransformer"]

MOST_COMPONENTS = 4096  # beyond it their K x K matrices alone would fill the memory


class VariationalTransformer(Answers, BaseEstimator):
    """Fits by `ascend`, streams by `update`; knows nothing of the model it drives."""

    scaled: ClassVar[bool] = True  # False where the data have no unit, such as binary rows
    binary: ClassVar[bool] = False  # whether rows hold 0 and 1, what else they hold being cut at `binarize`
    sparse: ClassVar[bool] = False  # whether the model takes CSR rows as they are
    sample_size: ClassVar[int] = 4096  # rows that starts and moves look at
    sampled: ClassVar[bool] = False  # whether restarts are judged on a sample, and only the best sees all rows
    stacked: ClassVar[bool] = False  # whether restarts climb together; else one after another, or in threads

    def __init__(
        self,
        n_components: int | None,
        *,
        max_iter: int,
        tol: float,
        n_init: int,
        init: Any,
        moves: bool,
        random_state: Any,
        warm_start: bool,
        verbose: int,
        callbacks: Any,
        n_jobs: int | None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.moves = moves
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.n_jobs = n_jobs

    @abstractmethod
    def _build(self, sample: Rows) -> Model[Any, Any, Any]:
        """Return the model for data like the sample, in model units; hyper-parameters are checked here."""

    @abstractmethod
    def _start(self, model: Any, sample: Rows, rng: np.random.Generator, restart: int, frame: Frame) -> Posterior:
        """Return a posterior to start from: the only place where randomness enters."""

    @abstractmethod
    def _publish(self, q: Any, stats: Statistics, frame: Frame) -> dict[str, Any]:
        """Return the public numbers of a posterior in data units, by name and without the underscore."""

    @property
    def _centred(self) -> bool:
        """Whether the model has a location of its own, so that the origin of the data may be moved."""
        return False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows X (n, D).

        Parameters
        ----------
        X : array of shape (n, D)
            Rows are samples. NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight, moves=self.moves)
        return self

    def _fit(self, X: Any, sample_weight: Any, *, moves: bool) -> None:
        with self._all_or_nothing(), one_blas_thread():
            rows = occupied(check_rows(self, X, sample_weight, reset=True, at_least=2))
            if not len(rows):
                raise ValueError(
                    "every row that shows a value has sample_weight 0; give one of them a positive weight."
                )
            self._check_common()
            sample = sample_rows(rows, self.sample_size)
            before = self.frame_ if self._goes_on(rows) else None
            frame = before or self._frame(rows, sample)
            frame.check_range()
            sample = frame.enter(sample)
            self.frame_ = frame  # parameters in data units are read through it
            model, rng = self._build(sample), generator(self.random_state)
            rows = rows if isinstance(model, Compressing) else frame.enter(rows)
            if before:
                starts = [State(self.state_.q)]
            else:  # a model that compresses rows starts from their total
                starts = [] if isinstance(model, Compressing) else self._starts(model, sample, frame, rng)
            fit = self._climb(model, rows, sample, frame, rng, starts, moves)
            self._keep(model, frame, fit)
        if fit.interrupted:
            warnings.warn(
                f"{type(self).__name__} was interrupted after {len(fit.trace)} iterations; it keeps the best state so "
                f"far and can be used. Call fit with warm_start=True to go on.",
                FitInterrupted,
                stacklevel=3,
            )
        elif not fit.converged and not fit.stopped and self.tol > 0:  # with tol=0 all iterations were asked for
            warnings.warn(
                f"{type(self).__name__} used all max_iter={self.max_iter} iterations before the bound settled to "
                f"tol={self.tol}. Raise max_iter or tol; elbo_history_ shows how it moved.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """See one more batch of rows, once. The first batch is fitted to convergence; later ones only add to it.

        After `fit`, the rows of that fit stay in and the batch adds to them.
        """
        if not self.__sklearn_is_fitted__():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # later batches go on where it stopped
                self._fit(X, sample_weight, moves=False)  # a component may wait for rows that are still to come
            return self
        with self._all_or_nothing(), one_blas_thread():
            rows = self.frame_.enter(occupied(check_rows(self, X, sample_weight)))
            if not len(rows):
                return self
            state, event = update(
                self.model_, self.state_, rows, combine=Accumulate(), n_global=3, log_scale=self.frame_.log_scale
            )
            if isinstance(self.model_, Compressing):
                fit = self._read_out(self.model_, state.stats, self.frame_, generator(self.random_state), [])
            else:
                event = replace(event, posterior=None, restart=self.trace_[-1].restart)
                fit = Fit(state, (*self.trace_, event), self.converged_)
            self._keep(self.model_, self.frame_, fit)
        return self

    def _climb(
        self,
        model: Model[Any, Any, Any],
        rows: Rows,
        sample: Rows,
        frame: Frame,
        rng: np.random.Generator,
        starts: list[State],
        moves: bool,
    ) -> Fit:
        """Restarts, then moves, on blocks of rows that threads share."""
        limit = self._starting_size(sample)
        batches = blocks(rows, model.floats_per_row(limit))
        slack = 1e-9 if str(rows.x.dtype).endswith("float64") else float(np.finfo(np.float32).eps ** 0.5)
        options: Callable[..., Fit] = partial(ascend, model, tol=self.tol, slack=slack, log_scale=frame.log_scale)
        with self._pool(rows, len(batches)) as pool, ProgressBar(self.verbose, self.max_iter, self.tol) as bar:
            notify = self._notify(bar)
            sweep = ThreadedSweep(pool) if pool and len(batches) > 1 else serial_sweep
            if isinstance(model, Compressing):
                # blocks enter the frame one by one, while they are in cache
                total = compressed(lambda block: model.compress(frame.enter(block)), batches, sweep)
                return self._read_out(model, total, frame, rng, starts, notify, moves)
            climb = partial(options, batches, sweep=sweep)
            screen = self._screen(options, sample, rows)
            if self.sampled and screen is not None and len(starts) > 1:
                ahead = best_of(starts, lambda start, on: screen(start, self.max_iter, on))
                starts = [State(ahead.state.q)]
            if self.stacked:
                fit = best_stacked(
                    model, batches, starts, **climb.keywords, max_iter=self.max_iter, on_iteration=notify
                )
            else:
                fit = best_of(
                    starts,
                    lambda start, on: climb(start, max_iter=self.max_iter, on_iteration=on),
                    notify,
                    map_=waking_map(pool) if pool and len(batches) == 1 and notify is None else map,
                )
            if moves and isinstance(model, Movable):
                fit = improve(
                    fit,
                    lambda state: model.candidates(state.q, state.stats, sample, rng, limit),
                    lambda start, steps, on: climb(start, max_iter=steps, on_iteration=on),
                    screen=screen,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_iteration=notify,
                )
        return fit

    def _read_out(
        self,
        model: Any,
        total: Any,
        frame: Frame,
        rng: np.random.Generator,
        starts: list[State],
        notify: OnIteration | None = None,
        moves: bool = False,
    ) -> Fit:
        """Ascend on the sum of all rows, from a start that it alone determines; the sum stays to be added to."""
        climb = partial(ascend, model, [total], tol=self.tol, log_scale=frame.log_scale)
        fit = best_of(
            starts or self._starts(model, total, frame, rng),
            lambda start, on: climb(start, max_iter=self.max_iter, on_iteration=on),
            notify,
        )
        if moves and isinstance(model, Movable):
            fit = improve(
                fit,
                lambda state: model.candidates(state.q, state.stats, total, rng, state.q.n_components),
                lambda start, steps, on: climb(start, max_iter=steps, on_iteration=on),
                max_iter=self.max_iter,
                tol=self.tol,
                on_iteration=notify,
            )
        return replace(fit, state=replace(fit.state, stats=total, locals=None))

    def _screen(self, options: Callable[..., Fit], sample: Rows, rows: Rows) -> Callable[..., Fit] | None:
        """An ascent over the sample, weighted to count as much as all rows; none if it is no smaller."""
        if 2 * len(sample) > rows.n:  # their weight, not their number: a row given twice counts like a weight of 2
            return None
        part = replace(sample, weight=np.full(len(sample), rows.n / len(sample)))
        return lambda start, steps, on: options([part], start, max_iter=steps, on_iteration=on)

    def _frame(self, rows: Rows, sample: Rows) -> Frame:
        return Frame.of(rows, centred=self._centred, scaled=self.scaled)

    def _goes_on(self, rows: Rows) -> bool:
        """Whether a warm start has something to go on from: a fit of as many columns, to the same question."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return False
        return len(self.frame_.origin) == rows.x.shape[1] and self._question() == self.question_

    def _question(self) -> dict[str, str]:
        """The parameters that say what is asked, not how the answer is found."""
        how = {
            "max_iter",
            "tol",
            "n_init",
            "init",
            "moves",
            "random_state",
            "warm_start",
            "verbose",
            "callbacks",
            "n_jobs",
        }
        return {name: repr(value) for name, value in self.get_params(deep=False).items() if name not in how}

    def _starts(self, model: Any, sample: Rows, frame: Frame, rng: np.random.Generator) -> list[State]:
        times = self.n_init if isinstance(self.init, str) else 1
        return [State(self._start(model, sample, rng, restart, frame)) for restart in range(times)]

    def _starting_size(self, sample: Rows) -> int:
        """Components to start with: `n_components`, or a bound chosen from the data."""
        if self.n_components is not None:
            return whole_number("n_components", self.n_components)
        return self._default_size(sample)

    def _default_size(self, sample: Rows) -> int:
        n, d = sample.x.shape
        return int(max(1, min(2 * d, n // 4, 24)))

    def _check_common(self) -> None:
        whole_number("max_iter", self.max_iter)
        whole_number("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        if self.n_jobs is not None and whole_number("n_jobs", self.n_jobs, least=-64) == 0:
            raise ValueError("n_jobs=0 leaves no thread to work; choose 1 or more, or None for all cores.")
        positive_number("tol", self.tol, zero=True)
        whole_number("n_init", self.n_init)
        yes_or_no("moves", self.moves)
        yes_or_no("warm_start", self.warm_start)
        if self.n_components is not None:
            whole_number("n_components", self.n_components, most=MOST_COMPONENTS)
        given = () if self.callbacks is None or callable(self.callbacks) else self.callbacks
        if not isinstance(given, Iterable) or not all(map(callable, given)):
            raise ValueError(f"callbacks={self.callbacks!r} holds something that cannot be called; give functions.")

    def _notify(self, bar: ProgressBar) -> OnIteration | None:
        """One function for the progress bar and the caller's callbacks; any of them may stop the fit."""
        given = self.callbacks or ()
        watchers: list[Callable[[Any], Any]] = [given] if callable(given) else list(given)
        if bar.active:
            watchers.insert(0, bar.show)
        if not watchers:
            return None

        def notify(event: Iteration) -> bool:
            # every watcher sees every iteration, also after one of them asked to stop
            return True in [bool(watcher(event)) for watcher in watchers]

        return notify

    @contextmanager
    def _pool(self, rows: Rows, n_batches: int) -> Iterator[ThreadPoolExecutor | None]:
        """Threads for row blocks, or for restarts where one block holds all rows; none for other libraries' arrays."""
        n_threads = effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        if n_threads < 2 or not (is_numpy_array(rows.x) or is_sparse(rows.x)) or (n_batches == 1 and self.n_init == 1):
            yield None
            return
        with ThreadPoolExecutor(n_threads, thread_name_prefix="latens") as pool:
            yield pool

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever fails inside leaves the estimator as it was before: never half fitted."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _keep(self, model: Model[Any, Any, Any], frame: Frame, fit: Fit) -> None:
        """Store the state and publish its living components, the most important first."""
        state = fit.state
        self.model_, self.frame_, self.trace_, self.converged_ = model, frame, fit.trace, fit.converged
        self.state_, self.question_ = replace(state, locals=None), self._question()
        importance = model.importance(state.q, state.stats)
        order = np.argsort(-importance, kind="stable")
        living = order[importance[order] > 0]
        living = living if len(living) else order[:1]
        self.posterior_ = state.q.only(living)
        self.n_components_, self.share_ = len(living), importance[living]
        self.n_iter_, self.elbo_ = len(fit.trace), fit.elbo
        self.elbo_history_ = np.array([event.elbo for event in fit.trace])
        self.score_is_bound_ = model.score_is_bound(self.posterior_)
        for name, value in self._publish(self.posterior_, state.stats, frame).items():
            setattr(self, f"{name}_", value)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.sparse
        return tags
