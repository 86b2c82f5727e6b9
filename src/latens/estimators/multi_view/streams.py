"""Views that come in batches: the first samples wait until they are enough, then each batch adds to the sums.

Those of a fit that was read in blocks are read again in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latens.array import Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.errors import ConstantColumns, FollowsTotals, NeverSeen, TwoMeanings
from latens.estimators.base import VariationalTransformer
from latens.estimators.fitting.context import FitContext
from latens.estimators.former_names import keywords_after_y
from latens.estimators.intervals.data_of_fit import refuse_beside_blocks
from latens.estimators.multi_view.covariates import Covariates, with_covariates
from latens.estimators.multi_view.exposure import exposure_aside, with_exposure
from latens.estimators.multi_view.findings import explain, with_groups
from latens.estimators.multi_view.known_precision import with_precision
from latens.estimators.multi_view.tables.blocks import covariates_of, view_by_view, wide_source
from latens.estimators.multi_view.tables.input import is_in_blocks
from latens.estimators.multi_view.tables.level_columns import with_levels
from latens.estimators.multi_view.tables.likelihood_guess import ChosenKinds, guess_likelihoods
from latens.estimators.multi_view.tables.wide import Layout, WideTable, encoded_views, lay_out, of_samples, tables_of
from latens.estimators.multi_view.units import ungrouped
from latens.estimators.multi_view.waiting import MOST_FACTORS, Waiting, are_enough
from latens.estimators.parameters import all_or_nothing, keep_warnings, whole_number
from latens.estimators.rows.data import Data, InBlocks, InMemory
from latens.estimators.rows.validation import occupied
from latens.inference.local_fixed_point import local_fixed_point
from latens.models.likelihoods import Likelihood
from latens.models.likelihoods.names import kinds_of
from latens.models.multi_view.answers.levels import without_levels_of_answers
from latens.models.multi_view.explained import Deviances
from latens.models.multi_view.view import GROUP
from latens.system.threads import one_blas_thread
from latens.system.wording import listed

__all__ = ["ViewStreams"]


class ViewStreams(VariationalTransformer):
    """Mixed into the estimator."""

    _waiting: Waiting | None = None  # the first samples of a stream, while they are few
    deviances_: Deviances
    layout_: Layout

    if TYPE_CHECKING:
        likelihoods: Any
        layer: Any
        use_var: str | None
        _covariates: Covariates | None
        _table: Callable[..., WideTable]
        _row_bounds: Callable[[Rows], Any]
        _first_table: Callable[..., tuple[WideTable, ChosenKinds]]
        _chosen_before: Callable[[], ChosenKinds]
        _fit_views: Callable[..., FitContext]
        _learn_from: Callable[[Rows], tuple[Floats, Floats, Deviances]]
        _parts: Callable[[Rows], list[Rows]]

        @property
        def _kinds(self) -> dict[str, Likelihood]: ...

    def _is_in_blocks(self, X: Any) -> bool:
        return is_in_blocks(X)

    def _source_of_fit(self, X: Any, fit_params: Mapping[str, Any]) -> InBlocks:
        given = dict(fit_params)
        learnt = covariates_of(X, given.pop("covariates", None))
        refuse_beside_blocks(given)
        source, layout = wide_source(X, self, learnt, reset=False)
        fitted = self.layout_
        if layout != fitted:
            raise ValueError(
                f"X has the views {listed(layout.views)} of {source.n_columns} columns and {len(layout.groups)} "
                f"group(s); the fit had {listed(fitted.views)} of {sum(map(len, fitted.features))} and "
                f"{len(fitted.groups)}. Give what fit was given."
            )
        return InBlocks(source)

    @keywords_after_y("groups", "sample_weight", "precision")
    @view_by_view
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        precision: Any = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> Self:
        """See one more batch of samples, once.

        The first samples, 20 for each factor but from 200 to 1000, are kept and fitted anew with every batch: fewer do
        not show what factors, counts and groups there are. Then the stream begins: a uniform sample of all that were
        seen is kept, and fitted anew when a batch is unlike those before it. After `fit`, batches only add to its sums.

        `scores_` belongs to a single `fit` and goes with the second batch; `transform` answers about any samples.

        Parameters
        ----------
        X : as in `fit`
            Views of the samples of the batch.
        y : ignored
            There for pipelines.
        groups : array or str, optional
            As in `fit`.
        sample_weight : array of shape (n,), optional
            How often each sample counts.
        precision : dict of arrays (n, D_m), optional
            As in `fit`.
        exposure : array, dict or str, optional
            As in `fit`; with the first batch, and then with every other.
        covariates : data frame, dict of columns, array or names of columns of `.obs`, optional
            As in `fit`, likewise; the first batch must have all their levels.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        refitted = first or self._waiting is not None
        with keep_warnings(self, adding=not refitted), all_or_nothing(self), one_blas_thread():
            groups, sample_weight, exposure, covariates = of_samples(X, groups, sample_weight, exposure, covariates)
            X, exposure = (X, None) if exposure is None else exposure_aside(X, exposure)
            X = tables_of(X)  # what it was read with is beside it now
            if refitted:
                self._wait(X, groups, sample_weight, precision, exposure, covariates, first)
                return self
            self._see_batch(self._table(X, groups, sample_weight, precision, exposure, covariates).rows)
            self._forget_samples()
        return self

    def _wait(
        self, X: Any, groups: Any, sample_weight: Any, precision: Any, exposure: Any, covariates: Any, first: bool
    ) -> None:
        """Fit the samples of a stream so far, and keep them while they are too few to begin with."""
        if first:
            table, chosen = self._first_table(X, groups, sample_weight, precision, covariates, in_stream=True)
            table = fitted = table if exposure is None else self._exposed(table, chosen, exposure, X)
        else:
            chosen = self._chosen_before()
            table = self._next_table(X, groups, sample_weight, precision, exposure, covariates)
            if not len(occupied(table.rows)):
                return
            self._waiting = self._waiting.joined(table)  # type: ignore[union-attr]  # a stream that waits, or it is first
            fitted = self._waiting.table
            del self.posterior_  # no start: what few samples closed stays closed
        k = min(table.layout.n_columns, MOST_FACTORS) if self.n_components is None else self.n_components
        enough = are_enough(occupied(fitted.rows), whole_number("n_components", k))
        if first and not enough:
            self._waiting = Waiting.of(table)
            fitted = self._waiting.table
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # later batches go on where it stopped
            if not enough:  # warnings are about all samples, later
                warnings.simplefilter("ignore", ConstantColumns)
                warnings.simplefilter("ignore", NeverSeen)
                warnings.simplefilter("ignore", FollowsTotals)
                warnings.simplefilter("ignore", TwoMeanings)
            self._fit_views(fitted, chosen, remembered=table if first and not enough else None, in_stream=True)
        if enough:
            self._waiting = None
            fitted = fitted if len(fitted.layout.groups) > 1 else ungrouped(fitted)
            self._keep_rows(InMemory(occupied(with_levels(fitted, self.layout_.levels).rows)))
        if not first:
            self._forget_samples()

    def _tell_fit(self, data: Data, each: float) -> None:
        rows: Rows = data.rows  # type: ignore[attr-defined]  # in memory: a reservoir
        self.deviances_ = each * self._learn_from(self._units.enter(rows))[-1]

    def _tell_batch(self, rows: Rows) -> None:
        if self.layout_.levels:  # factors have moved on from where these were read
            self._model = without_levels_of_answers(self._model)
        parts = [self._units.enter(part) for part in self._parts(rows)]
        codes = [local_fixed_point(self._model, self._state.q, part).mean for part in parts]
        self.deviances_ = self.deviances_ + explain(self._model, self._state.q, parts, codes)

    def _forget_samples(self) -> None:
        for name in ("scores_", "row_names_", "group_of_"):
            self.__dict__.pop(name, None)

    def _exposed(self, table: WideTable, chosen: ChosenKinds, exposure: Any, X: Any) -> WideTable:
        """The first samples with their exposures: rows carry them from here on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has warned of what is doubtful
            names = guess_likelihoods(table, chosen.likelihoods)
        kinds = kinds_of(dict(zip(table.layout.views, names, strict=True)), self.likelihoods)
        return with_exposure(table, exposure, X, kinds)

    def _next_table(
        self, X: Any, groups: Any, sample_weight: Any, precision: Any, exposure: Any, covariates: Any
    ) -> WideTable:
        """Samples as one wide table like that of those that wait; groups may join it."""
        known = self._waiting.layout  # type: ignore[union-attr]  # there are samples that wait
        table = lay_out(
            encoded_views(self, X),
            groups=groups,
            sample_weight=sample_weight,
            layout=replace(known, precise=(), exposed=()),
            layer=self.layer,
            use_var=self.use_var,
            estimator=self,
            in_stream=True,
        )
        table = with_exposure(table, exposure, X, self._kinds, known.exposed)
        table = with_covariates(table, covariates, X, self._covariates)
        table = with_precision(table, precision, known.precise)
        if not known.groups:
            return table
        nowhere = np.isnan(host(table.rows.aux[GROUP]))
        if not nowhere.any():
            return table
        several = len(known.groups) > 1
        sizes = self._state.stats.sizes if several else np.ones(1)
        rows = with_groups(table.rows, sizes, self._row_bounds if several else lambda part: part.x[:, 0] * 0)
        # the groups that the fit knows may have other numbers now
        numbers = np.array([float(table.layout.groups.index(name)) for name in known.groups])
        group = host(rows.aux[GROUP]).copy()
        group[nowhere] = numbers[group[nowhere].astype(np.intp)]
        return replace(table, rows=replace(rows, aux={**rows.aux, GROUP: like(group, rows.x)}))
