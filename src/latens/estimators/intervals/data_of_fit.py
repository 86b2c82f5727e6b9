"""The rows of a fit again: brought to the units of the model, in blocks, and refused where they are others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
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
from latens.scale.dask_blocks import gathered
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask

__all__ = ["DataOfFit", "refuse_beside_blocks"]

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
        X = self._fetched(X)
        if self._is_in_blocks(X):
            batches, sweep = self._blocks_of_source(X, fit_params)
        else:
            batches, sweep = [self._counted_once(rows) for rows in self._rows_in_blocks(X, fit_params)], serial_sweep
        return ([self._state.data], serial_sweep) if isinstance(model, Compressing) else (batches, sweep)

    def _refuse_unknown(self, question: str, fit_params: Mapping[str, Any]) -> None:
        """Of what is given beside rows, only what `fit` takes has a meaning."""
        known = list(signature(self._rows_of_fit).parameters)[1:]
        for name in fit_params:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__}.{question} got {name!r}, which is neither an option of it nor anything "
                    f"that fit takes beside X: {', '.join(known)}."
                )

    def _is_in_blocks(self, X: Any) -> bool:
        """Whether rows are read block by block: a scan, or a Dask collection."""
        return isinstance(X, Scan) or is_dask(X)

    def _fetched(self, X: Any) -> Any:
        """A small Dask array as rows, as `fit` takes it; all else as it is."""
        here = gathered(X) if is_dask(X) else None
        return X if here is None else here

    def _source_of_fit(self, X: Any, fit_params: Mapping[str, Any]) -> InBlocks:
        """Rows that are read in blocks, as the model takes them but for their units."""
        refuse_beside_blocks(fit_params)
        return InBlocks(check_source(self, X, reset=False))

    def _blocks_of_source(self, X: Any, fit_params: Mapping[str, Any]) -> tuple[Sequence[Any], Sweep]:
        self._refuse_walking()
        model, q = self._model, self._state.q
        data = self._source_of_fit(X, fit_params).entered(self._units)
        width = model.floats_per_row(q.n_components)
        batches, sweep = data.batches(width), data.sweep(width, None, 1)
        self._check_same_data(sweep(partial(_block_sums, model, q), batches, (None,) * len(batches))[1])
        return batches, sweep

    def _sums(self, batches: Sequence[Any]) -> Sequence[Any]:
        """The blocks, or the sum that stands for them."""
        model = self._model
        return [tree_sum([model.compress(batch) for batch in batches])] if isinstance(model, Compressing) else batches

    def _rows_in_blocks(self, X: Any, fit_params: Mapping[str, Any]) -> Sequence[Any]:
        """The rows of the fit in model units. Refuses others."""
        self._refuse_walking()
        model, name = self._model, type(self).__name__
        X = self._fetched(X)
        if self._is_in_blocks(X):
            raise ValueError(
                "rows of a scan or a Dask collection cannot be resampled or sampled; choose method='response', "
                "or load them."
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
        model, fitted = self._model, self._state.stats
        rounding, gain = OTHER_DATA * abs(self.elbo_), bound - self.elbo_
        same = bool(np.isclose(stats.n, fitted.n, rtol=1e-9))
        if isinstance(model, Ambiguous) and same and self.stream_ is None:
            rounding = max(rounding, model.gap_of_optima(self._state.q, float(stats.n), self.elbo_))
            same = np.allclose(model.rows_alone(stats), model.rows_alone(fitted), rtol=OTHER_DATA, atol=OTHER_DATA)
        # codes of the same rows at their best can only raise the bound, by what the ascent had left
        if not (same and -rounding <= gain <= rounding + self._left_to_gain()):
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
        return tree_sum([_sums_under(self._model, q, each) for each in batches])


def refuse_beside_blocks(fit_params: Mapping[str, Any]) -> None:
    """Files and clusters carry weights, groups and exposures in their columns."""
    for name, value in fit_params.items():
        if value is not None:
            raise ValueError(
                f"{name} cannot be given beside rows that are read in blocks; name its column as for the fit, such as "
                "latens.scan(weights=...)."
            )


def _sums_under(model: Any, q: Any, batch: Any) -> Any:
    end = local_fixed_point(model, q, batch) if isinstance(batch, Rows) else model.local_step(q, batch)
    return model.statistics(batch, end)


def _block_sums(model: Any, q: Any, rows: Rows, _: Any) -> tuple[None, Any]:
    """Statistics of a block where it is read."""
    return None, _sums_under(model, q, model.compress(rows) if isinstance(model, Compressing) else rows)
