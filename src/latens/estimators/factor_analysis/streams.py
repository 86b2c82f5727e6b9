"""Streams of rows for factor analysis: what is kept of them, and when the one that forgets rows may begin."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latens.core import Fit, Iteration, Rows, State
from latens.errors import caller_level
from latens.estimators.base import VariationalTransformer
from latens.estimators.fitting.context import FitContext
from latens.estimators.former_names import keywords_after_y
from latens.estimators.parameters import all_or_nothing, keep_warnings, one_of, whole_number
from latens.estimators.rows.lazy import batch_by_batch
from latens.estimators.rows.sampling import distinct, row_keys, sample_rows, stacked
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_rows, occupied
from latens.inference.online import Accumulate, follow
from latens.inference.progress import ProgressBar
from latens.models.factor_analysis.online import OnlineEM, TransportFactors
from latens.models.factor_analysis.sums_wide import FewRows
from latens.system.seeds import generator

__all__ = ["MOST_EXACT", "WORKING_RANK", "FactorStreams"]

SOLVERS = ("auto", "exact", "em", "transport", "online-em", "online-sga")
MOST_EXACT = 5000  # columns up to which D x D sums are kept
WORKING_RANK = 3  # factors carried in a stream, for each that is read out
STREAM_ROWS = 50  # of a batch that `transport` sees at once, when it is given all rows
LEAST_ROWS = 2  # for each of them, before such a stream begins
READ_EVERY = 1000  # rows between two readings of how an online solver fares


class FactorStreams(VariationalTransformer):
    """The part of `FactorAnalysis` that sees rows once."""

    solver: str
    learning_rate: float

    @property
    def _as_printed(self) -> bool:
        return self.solver in ("online-em", "online-sga")

    @keywords_after_y("sample_weight")
    @batch_by_batch
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """See one more batch of rows, once.

        With ``solver="exact"`` their sums are added, and the answer is that of `fit` on all rows seen so far, however
        they were split. So it is with missing entries while their patterns are few (64). Many leave pairwise sums, of
        which ``elbo_`` is then the bound: it is no longer one of the rows, and may lie above it.

        With ``solver="transport"`` the first 6 K rows are kept and fitted as they are; then it begins.

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
        with keep_warnings(self, adding=True), all_or_nothing(self):
            first = not self.__sklearn_is_fitted__()
            rows = occupied(check_rows(self, X, sample_weight, reset=first))
            if not first and (self._is_waiting or isinstance(self._model, OnlineEM | TransportFactors)):
                return self._go_on(rows)
            if first and self._solver_for(rows, in_stream=True) == "transport":
                rows = rows if self._are_enough(rows) else distinct(rows)
            return super().partial_fit(rows)

    def _go_on(self, rows: Rows) -> Self:
        """One more batch of a stream that sees rows once; one that has too few to begin with keeps them."""
        if not len(rows):
            return self
        units, model, state, trace = self._units.meeting(rows), self._model, self._state, self.trace_
        self._solver_for(rows, in_stream=True)
        inside = units.enter(rows)
        if self._is_waiting:
            inside = stacked([state.data.rows, inside])
            if not self._are_enough(inside):
                few = distinct(inside)
                self._keep(model, units, self._read_out(model, self._context(few, model.compress(few), units), []))
                return self
            sample, trace = sample_rows(inside, self.sample_size), ()
            model = self._build(self._context(inside, sample, units))
            state = State(self._start(model, self._context(inside, sample, units), 0))
        fit = self._follow(model, self._context(inside, inside, units), state)
        self._keep(model, units, replace(fit, trace=(*trace, *fit.trace)))
        return self

    def _context(self, rows: Rows, sample: Any, units: Units) -> FitContext:
        return FitContext.of_rows(rows, sample, units, generator(self.random_state))

    @property
    def _is_waiting(self) -> bool:
        """Whether a "transport" stream has seen too few rows to begin; until then they are fitted as they are."""
        return isinstance(self._state.data, FewRows) and self._choice(self.n_features_in_) == "transport"

    def _are_enough(self, rows: Rows) -> bool:
        """Whether a "transport" stream may begin with these."""
        k = whole_number("n_components", self.n_components or 1)
        least = min(LEAST_ROWS * WORKING_RANK * k, int(rows.x.shape[1]))
        return len(np.unique(row_keys(rows), axis=1).T) >= least  # rows that repeat each other are one

    def _choice(self, d: int) -> str:
        solver = one_of("solver", self.solver, SOLVERS)
        return solver if solver != "auto" else "exact" if d <= MOST_EXACT else "transport"

    def _solver_for(self, sample: Rows, *, in_stream: bool) -> str:
        solver = self._choice(sample.x.shape[1])
        if sample.seen is not None and (self._as_printed or (solver == "transport" and in_stream)):
            raise ValueError(f"X has missing entries, which solver={solver!r} cannot see; choose solver='exact'.")
        return solver

    def _follow(self, model: OnlineEM | TransportFactors, context: FitContext, start: State) -> Fit:
        """One pass over the rows as a stream."""
        data, journal = context.data, context.journal
        printed = isinstance(model, OnlineEM)
        if printed and data.is_weighted:
            raise ValueError(f"solver={self.solver!r} sees rows one by one and takes no sample_weight; leave it out.")
        size, every = (READ_EVERY, 1) if printed else (STREAM_ROWS, 20)

        def pass_over(start: State, *, so_far: Sequence[Iteration] = (), **watch: Any) -> Fit:
            batches = islice(data.stream(size), len(so_far) * every, None)
            options = {"combine": Accumulate(), "every": every, "log_scale": context.units.log_scale}
            return follow(model, batches, start, so_far=so_far, **options, **watch)

        with ProgressBar(self.verbose, self.max_iter, self.tol) as bar:
            fit = journal.ascend(pass_over, start, self._notify(bar, journal))
        diverged = printed and fit.state.q.diverged
        if diverged:
            warnings.warn(
                f"solver={self.solver!r} diverged and was stopped at the last finite loadings; lower "
                f"learning_rate={self.learning_rate:g}, rescale X to unit variance, or choose solver='exact'.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return replace(fit, stopped=True)  # at the last row: a pass does not converge
