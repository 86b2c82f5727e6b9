"""The rows of a fit again: brought to the units of the model, in blocks, and refused where they are others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from latens.array import Floats
from latens.array.transfer import is_sparse
from latens.core import Ambiguous, Compressing, Rows, State, Walking, blocks
from latens.estimators.rows.data import InBlocks
from latens.estimators.rows.sampling import distinct
from latens.estimators.rows.source_checks import check_source
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_rows, occupied
from latens.inference.ascent import measure
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.sweep import Sweep, serial_sweep, tree_sum
from latens.scale.scan import Scan

__all__ = ["DataOfFit"]

OTHER_DATA = 1e-6  # of the bound: it differs by more where X is not the data of the fit
LARGEST_SHIFT_OF_STREAM = 1e-2  # of the bound, that it may have moved since the batch at which it was taken
REPEATED_STEPS = 10  # iterations' gain that local steps may have left where one of them does not settle a row


class DataOfFit:
    """Mixed into `Intervals`; reads the fitted model and its state."""

    if TYPE_CHECKING:
        _model: Any
        _units: Units
        _state: State
        elbo_: float
        elbo_history_: Floats
        converged_: bool
        stream_: Any
        tol: float
        binary: ClassVar[bool]

    def _rows_of_fit(self, X: Any, sample_weight: Any = None) -> Rows:
        return check_rows(self, X, sample_weight)

    def _data_of_fit(self, X: Any, fit_params: Mapping[str, Any]) -> tuple[Sequence[Any], Sweep]:
        """Blocks of the fit in model units, and how to pass over them; sums where the model keeps them.

        Refuses other data. Blocks of files are read in each pass.
        """
        model = self._model
        if isinstance(model, Compressing) and X is None:
            return [self._state.data], serial_sweep
        if isinstance(X, Scan):
            batches, sweep = self._blocks_of_scan(X)
        else:
            batches, sweep = [self._counted_once(rows) for rows in self._rows_in_blocks(X, fit_params)], serial_sweep
        return ([self._state.data], serial_sweep) if isinstance(model, Compressing) else (batches, sweep)

    def _blocks_of_scan(self, scan: Scan) -> tuple[Sequence[Any], Sweep]:
        self._refuse_walking()
        model, q = self._model, self._state.q
        data = InBlocks(check_source(self, scan, reset=False)).entered(self._units)
        width = model.floats_per_row(q.n_components)
        batches, sweep = data.batches(width), data.sweep(width, None, 1)

        def step(rows: Any, _: Any) -> tuple[None, Any]:
            return None, self._statistics(q, self._sums([rows]))

        self._check_same_data(sweep(step, batches, (None,) * len(batches))[1])
        return batches, sweep

    def _sums(self, batches: Sequence[Any]) -> Sequence[Any]:
        """The blocks, or the sum that stands for them."""
        model = self._model
        return [tree_sum([model.compress(batch) for batch in batches])] if isinstance(model, Compressing) else batches

    def _rows_in_blocks(self, X: Any, fit_params: Mapping[str, Any]) -> Sequence[Any]:
        """The rows of the fit in model units. Refuses others."""
        self._refuse_walking()
        model, name = self._model, type(self).__name__
        if isinstance(X, Scan):
            raise ValueError(
                "rows of a scan are neither drawn anew nor sampled; choose method='response', or load them."
            )
        if X is None:
            raise ValueError(f"{name}.intervals needs the rows of the fit: call intervals(X), X as given to fit.")
        rows = self._units.enter(occupied(self._rows_of_fit(X, **fit_params)))
        batches = blocks(rows, model.floats_per_row(self._state.q.n_components))
        self._check_same_data(self._statistics(self._state.q, self._sums(batches)))
        return batches

    def _counted_once(self, rows: Rows) -> Rows:
        """Rows of yes/no entries that are the same as one that counts for all; many columns make hardly any alike."""
        few_columns = self.binary and not is_sparse(rows.x) and 2.0 ** rows.x.shape[1] < len(rows)
        return distinct(rows) if few_columns else rows

    def _refuse_walking(self) -> None:
        if isinstance(self._model, Walking):
            raise ValueError(
                f"{type(self).__name__} was fitted row by row and keeps no sums to differentiate; fit it with another "
                "solver, or choose method='mean-field'."
            )

    def _check_same_data(self, stats: Any) -> None:
        """Refuse statistics of other rows than those of the fit."""
        bound = measure(self._model, self._state.q, stats, 0, 0.0, self._units.log_scale).elbo
        gap = self._model.gap_of_optima(self._state.q) if isinstance(self._model, Ambiguous) else 0.0
        rounding, gain = max(gap, OTHER_DATA) * abs(self.elbo_), bound - self.elbo_
        same_weight = np.isclose(stats.n, self._state.stats.n, rtol=1e-9)
        # codes of the same rows at their best can only raise the bound, by what the ascent had left
        if not (same_weight and -rounding <= gain <= rounding + self._left_to_gain()):
            raise ValueError(
                f"X is not the data of the fit: its bound is {bound:.6g} with {stats.n:g} rows, elbo_ is "
                f"{self.elbo_:.6g} with {self._state.stats.n:g}. Give the rows, weights and groups that fit was given."
            )

    def _left_to_gain(self) -> float:
        """Nats that another local step may add: about what the last iteration did, of a fit that has settled."""
        if self.stream_ is not None:  # its bound is that of an earlier batch
            return LARGEST_SHIFT_OF_STREAM * abs(self.elbo_)
        history = self.elbo_history_
        last = float(history[-1] - history[-2]) if len(history) > 1 else math.inf
        settled = self.tol * max(float(self._state.stats.n), 1.0) if self.converged_ else math.inf
        steps = 1 if self._model.exact_local(self._state.q) else REPEATED_STEPS
        return 2 * steps * min(abs(last), settled)

    def _statistics(self, q: Any, batches: Sequence[Any]) -> Any:
        """Sums over blocks, or over the sums that stand for them, with the codes' posteriors at their end."""
        model = self._model
        ends = [
            local_fixed_point(model, q, each) if isinstance(each, Rows) else model.local_step(q, each)
            for each in batches
        ]
        return tree_sum([model.statistics(each, end) for each, end in zip(batches, ends, strict=True)])
