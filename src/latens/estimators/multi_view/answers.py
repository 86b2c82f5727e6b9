"""What a fitted multi-view model answers about samples, from any of their views."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats, Index
from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.answers import Answers
from latens.estimators.association import associate
from latens.estimators.base import living_components
from latens.estimators.former_names import keywords_after_y
from latens.estimators.frames.completions import Asked
from latens.estimators.frames.raw_frames import as_frame, is_frame, refilled
from latens.estimators.frames.views_by_kind import drawn_as_frame, in_frame_order, level_names
from latens.estimators.information_criteria import mean_score
from latens.estimators.multi_view.covariates import Covariates, with_covariates
from latens.estimators.multi_view.enrichment import enriched, read_sets
from latens.estimators.multi_view.exposure import exposure_aside, with_exposure
from latens.estimators.multi_view.findings import ViewFindings, densities_over_groups, with_groups
from latens.estimators.multi_view.known_precision import with_precision
from latens.estimators.multi_view.tables.blocks import in_view_blocks
from latens.estimators.multi_view.tables.level_columns import contracted, nearest_levels, with_levels
from latens.estimators.multi_view.tables.likelihood_guess import check_likelihoods
from latens.estimators.multi_view.tables.output import (
    as_given,
    asked_chances,
    chances_by_name,
    explained_table,
    filled,
    named_codes,
    quantile_by_view,
    quantiles_of,
    row_labels,
    spreads_of_levels,
    strongest_features,
)
from latens.estimators.multi_view.tables.row_names import group_numbers
from latens.estimators.multi_view.tables.split import joined
from latens.estimators.multi_view.tables.wide import (
    Layout,
    WideTable,
    encoded_views,
    frame_encoding,
    lay_out,
    of_samples,
    tables_of,
)
from latens.estimators.multi_view.units import InPublishedUnits, published_codes, signs, sizes
from latens.estimators.parameters import one_of, positive_number, whole_number
from latens.estimators.rows.containers import contained
from latens.estimators.rows.parts import into_parts
from latens.estimators.rows.validation import check_codes, check_rows
from latens.models.likelihoods import Likelihood
from latens.models.multi_view.explained import Deviances
from latens.system.seeds import generator
from latens.system.summary_table import Table

__all__ = ["MultiViewAnswers"]


class MultiViewAnswers(ViewFindings, Answers):
    """Mixed into the estimator; beside the posterior it reads which columns are which."""

    layout_: Layout
    likelihoods_: dict[str, str]
    _plain: bool  # one table was given, not several
    deviances_: Deviances
    scores_: Floats = InPublishedUnits()  # type: ignore[assignment]  # read as an array
    row_names_: tuple[str, ...] | None
    group_of_: Index
    _covariates: Covariates | None = None  # what the fit knows of covariates, where it had some
    likelihoods: Any
    layer: Any
    use_var: str | None

    @property
    def _kinds(self) -> dict[str, Likelihood]:
        """What the likelihood of each view of the fit is."""
        return {view.name: view.likelihood for view in self._model.views}

    @into_parts
    @in_view_blocks
    def transform(
        self,
        X: Any,
        return_std: bool = False,
        groups: Any = None,
        precision: Any = None,
        *,
        exposure: Any = None,
        covariates: Any = None,
        out: Any = None,
    ) -> Any:
        """Factor values of samples, from any subset of the views.

        Parameters
        ----------
        X : dict, list, data frame, AnnData, MuData or array
            Any subset of the views, as in `fit`.
        return_std : bool
            Whether to return standard deviations, too.
        groups : array of shape (n,) or str, optional
            Group of each sample, or the name of a column of `.obs`; groups that are not given are inferred.
        precision : dict of arrays (n, D_m), optional
            1 / variance of the noise of each entry, if the model was fitted with known precisions.
        exposure : array, dict or str, optional
            As in `fit`, if the model was fitted with it.
        covariates : data frame, dict of columns, array of shape (n,) or (n, C), or names of columns of `.obs`, optional
            As in `fit`, if the model was fitted with them.
        out : path, optional
            A folder to which the results are written as Parquet files, one for each block of X, with row names or
            numbers; existing files are not computed again. The path is returned. Needs pyarrow.

        Returns
        -------
        factors : array of shape (n, K)
            Posterior means, in units of the standard deviation of a factor; a data frame if `set_output` asks for it.
        std : array of shape (n, K)
            Posterior standard deviations, with `return_std`; for binary views and counts, which are fitted by bounds,
            from the curvature of the likelihoods themselves.
        """

        def codes(rows: Rows, local: Any) -> tuple[Array, Array]:
            answer_parts = self._model.curved(self.posterior_, rows, local) if return_std else local
            mean, variance = self._model.codes(rows, answer_parts)
            return mean, variance

        table = self._table(X, groups, precision=precision, exposure=exposure, covariates=covariates)
        (mean, variance), labels = self._ask(table.rows, codes), row_labels(X, table.row_names)
        mean = named_codes(self, mean * like(published_codes(self.posterior_), mean), labels)
        if not return_std:
            return mean
        std = array_namespace(variance).sqrt(variance) / like(sizes(self.posterior_), variance)
        return mean, self._contained(named_codes(self, std, labels), X)

    @contained("features")
    def inverse_transform(self, X: Any, groups: Any = None) -> Any:
        """Expected views given factor values.

        Parameters
        ----------
        X : array of shape (n, K)
            Factor values, as `transform` returns them.
        groups : array of shape (n,), optional
            Group of each sample; samples of unknown group get the mean of the levels of all groups.

        Returns
        -------
        dict of arrays (n, D_m), or array if one table was fitted
            In data units.
        """
        check_is_fitted(self)
        codes = check_codes(X, self.n_components_)
        group = group_numbers(groups, [], None, len(codes), self.layout_.groups)[0]
        wide = self._model.reconstruct(self.posterior_, codes / like(published_codes(self.posterior_), codes), group)
        wide = contracted(self._leave(wide), self.layout_)
        return wide if self._plain else as_given(*joined(wide, self.layout_.as_read), {}, None)

    @contained("features")
    @in_view_blocks
    def impute(
        self,
        X: Any,
        return_std: bool = False,
        groups: Any = None,
        coverage: float | None = None,
        precision: Any = None,
        *,
        quantiles: Any = None,
        n_draws: int | None = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> Any:
        """All views with missing entries filled, in data units.

        Probabilities for binary views, expected values of counts and scales, the most probable level of categories
        (`impute_proba` has all probabilities; the standard deviation is that of being right). A data frame of mixed
        columns keeps its types, with scales at the level nearest to the mean. Uncertainty is as in `transform`.

        Parameters
        ----------
        X : as in `fit`
            Any subset of the views: the other views are predicted completely.
        return_std : bool
            Whether to return standard deviations of the filled entries too, 0 where observed.
        groups : array or str, optional
        coverage : float, optional
            Such as 0.95: also return limits that contain a missing entry with this probability, each like X.
        precision : dict of arrays, optional
            Where the model was fitted with known precisions.
        quantiles : sequence of float, optional
            Such as (0.05, 0.95): also the quantiles of missing entries; for categories, which have no order, the most
            probable level.
        n_draws : int, optional
            Also this number of completed tables, each with entries drawn given the observed ones, under one draw of the
            loadings.
        exposure : array, dict or str, optional
            As in `fit`, if the model was fitted with it.
        covariates : data frame, dict of columns, array of shape (n,) or (n, C), or names of columns of `.obs`, optional
            As in `fit`, if the model was fitted with them.

        Returns
        -------
        filled, or a tuple of it and the requested std or (low, high), quantiles, draws
            In the containers of X; a dict of arrays for AnnData and MuData. Quantiles are a dict of such tables by
            probability, draws a list of them.
        """
        check_is_fitted(self)
        groups, _, exposure, covariates = of_samples(X, groups, None, exposure, covariates, self.layout_.groups)
        X, exposure = (X, None) if exposure is None else exposure_aside(X, exposure)
        asked, given = Asked(quantiles, n_draws), tables_of(X, self)
        X = encoded_views(self, given)
        table = self._table(X, groups, precision=precision, exposure=exposure, covariates=covariates)
        mean, variance = self._ask(table.rows, lambda rows, local: self._model.impute(self.posterior_, rows, local))
        mean, std = self._leave(mean), self._units.leave_direction(array_namespace(mean).sqrt(variance))
        whole = filled(table.rows, mean)
        more: list[Any] = []
        if coverage is not None:
            share = positive_number("coverage", coverage, most=1.0)
            if share == 1:
                raise ValueError("coverage=1 would take limits without end; choose a number below 1, such as 0.95.")
            sides = self._ask(table.rows, partial(self._model.limits, self.posterior_, tail=0.5 * (1 - share)))
            more = [self._given_back(contracted(filled(table.rows, self._leave(side)), self.layout_), given, table, X)
                    for side in sides]  # fmt: skip
        elif return_std:
            wide = filled(table.rows, std, spread=True)
            if self.layout_.levels:
                wide = spreads_of_levels(wide, contracted(whole, self.layout_, spread=True), self.layout_)
            more = [self._given_back(wide, given, table, X, numbers=True)]
        levels = []
        for level in asked.levels:
            (side,) = self._ask(table.rows, partial(quantiles_of, self._model, self.posterior_, level=level))
            views = self._model.views
            levels.append(quantile_by_view(table.rows, mean, self._leave(side), views, self.layout_, level))
        draws = self._completed(table.rows, asked.n_draws)
        tables = [[self._given_back(wide, given, table, X) for wide in each] for each in (levels, draws)]
        return asked.answer(self._given_back(contracted(whole, self.layout_), given, table, X), more, *tables)

    def _completed(self, rows: Rows, n_draws: int) -> list[Array]:
        """Tables (n, D) as read, with missing entries drawn."""
        rng = generator(self.random_state)

        def entries(part: Rows, local: Any) -> tuple[Array, ...]:
            return tuple(
                like(self._model.draw_entries(self.posterior_, part, local, rng), part.x) for _ in range(n_draws)
            )

        drawn = self._ask(rows, entries) if n_draws else ()
        return [contracted(filled(rows, self._leave(each)), self.layout_) for each in drawn]

    def _given_back(self, wide: Array, given: Any, table: WideTable, views: Any, *, numbers: bool = False) -> Any:
        """A table (n, D) as read in the container that was given; `numbers` are no values, such as deviations."""
        encoding, layout = frame_encoding(self), self.layout_.as_read
        if encoding is None or not is_frame(given):
            return as_given(
                *joined(wide, layout), given if layout.wholes else views, table.row_names, typed=not numbers
            )
        wide = wide if numbers else nearest_levels(wide, self.layout_)
        values = in_frame_order(host(wide), layout, encoding)
        return (
            as_frame(given, encoding, values) if numbers else refilled(given, encoding, values, level_names(encoding))
        )

    def impute_proba(
        self, X: Any, groups: Any = None, precision: Any = None, *, exposure: Any = None, covariates: Any = None
    ) -> dict[str, dict[str, Array]]:
        """Probabilities of the levels of views of levels, and of yes/no columns of a data frame.

        Parameters
        ----------
        X : as in `fit`
            Any subset of the views.
        groups, precision, exposure, covariates
            As in `impute`.

        Returns
        -------
        dict of dict of arrays (n, C)
            By view and column, in the order of `levels_`; for a new entry of the sample, given its observed entries.
        """
        table = self._table(X, groups, precision=precision, exposure=exposure, covariates=covariates)
        q, layout = self.posterior_, self.layout_
        chances, *scales = self._ask(table.rows, lambda rows, local: asked_chances(self._model, q, rows, local))
        found, xp = chances_by_name(layout, chances, scales), array_namespace(chances)
        if frame_encoding(self) is None:
            return found
        for view, columns, names in zip(layout.views, layout.bounds, layout.as_read.features, strict=True):
            if self.likelihoods_[view] == "bernoulli":
                yes = chances[:, columns]
                found[view] = {name: xp.stack([1 - yes[:, d], yes[:, d]], axis=1) for d, name in enumerate(names)}
        return found

    @property
    def covariate_names_(self) -> tuple[str, ...]:
        """What the rows of `covariate_coefficients_` are called; of labels, "column = level" against the first."""
        check_is_fitted(self)
        return () if self._covariates is None else self._covariates.names

    @property
    def levels_(self) -> dict[str, dict[str, list[Any]]]:
        """Of views of levels, and of yes and no, by column: its levels, in the order of `impute_proba`."""
        check_is_fitted(self)
        return self.layout_.named_levels

    @contained("components", "log_density")
    @in_view_blocks
    def score_samples(
        self, X: Any, groups: Any = None, precision: Any = None, *, exposure: Any = None, covariates: Any = None
    ) -> Array:
        """Log density of the observed entries of each sample.

        Parameters
        ----------
        X : dict, list, data frame, AnnData, MuData or array
            Any subset of the views, as in `fit`.
        groups : array of shape (n,) or str, optional
            Group of each sample, or the name of a column of `.obs`; groups that are not given are inferred.
        precision : dict of arrays (n, D_m), optional
            1 / variance of the noise of each entry, if the model was fitted with known precisions.
        exposure : array, dict or str, optional
            As in `fit`, if the model was fitted with it.
        covariates : data frame, dict of columns, array of shape (n,) or (n, C), or names of columns of `.obs`, optional
            As in `fit`, if the model was fitted with them.

        Returns
        -------
        array of shape (n,)
            In nats and in data units; a lower bound of the log density if `score_is_bound_`.
        """

        def density(rows: Rows, local: Any) -> tuple[Array]:
            return (self._model.log_predictive(self.posterior_, rows, local) - self._units.log_volume(rows),)

        rows = self._read(X, groups, None, precision, exposure, covariates).rows
        if not self.layout_.groups:
            return self._ask(rows, density)[0]
        return densities_over_groups(rows, self._state.stats.sizes, lambda part: self._ask(part, density)[0])

    @keywords_after_y("groups", "precision")
    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        precision: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : dict, list, data frame, AnnData, MuData or array
            Any subset of the views, as in `fit`.
        y : ignored
            There for pipelines.
        groups, precision, exposure, covariates : optional
            As in `score_samples`.
        sample_weight : array of shape (n,), optional
            How often each sample counts, as in `fit`; by default those of `latens.read` and `latens.scan` (`weights=`).

        Returns
        -------
        float
            In nats per sample; higher is better.
        """
        scores = self.score_samples(X, groups, precision, exposure=exposure, covariates=covariates)
        if sample_weight is not None and isinstance(scores, np.ndarray):  # weights go by row names
            sample_weight = self._read(X, groups, sample_weight, precision, exposure, covariates).rows.weight
        return mean_score(scores, X, sample_weight)

    def sample(self, n_samples: int = 1, globals: str = "each") -> tuple[Any, Floats]:
        """Draw new samples, and the factor values that they were drawn from.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        globals : "each" or "shared"
            Whether each sample has its own draw of the parameters, or all share one.

        Returns
        -------
        views : dict of arrays (n_samples, D_m), or array or data frame of mixed columns if one such was fitted
            In data units; a frame has the types and categories of the fit.
        factors : array of shape (n_samples, K)
            The factor values of the samples.
        """
        wide, codes = self._draw(n_samples, globals)
        wide, layout = contracted(self._leave(wide), self.layout_), self.layout_.as_read
        drawn = drawn_as_frame(frame_encoding(self), wide, layout)
        arrays = wide if self._plain else as_given(*joined(wide, layout), {}, None)
        return arrays if drawn is None else drawn, codes * published_codes(self.posterior_)

    def top_features(self, n: int = 5, view: str | None = None) -> dict[str, list[str]]:
        """For each factor, the features of whose variance it explains the largest share (minus two standard errors).

        Parameters
        ----------
        n : int
            Number of features.
        view : str, optional
            The view; all views, if not given.

        Returns
        -------
        dict of list of str
            Names of features by name of factor, the strongest first.
        """
        check_is_fitted(self)
        n, layout = whole_number("n", n), self.layout_
        chosen = layout.views if view is None else (one_of("view", view, layout.views),)
        errors, factors = self._strength_errors(), list(map(str, self.get_feature_names_out()))
        return strongest_features(self.posterior_, errors, layout, chosen, factors, n)

    def enrich(
        self,
        sets: Any,
        view: str | None = None,
        *,
        sign: str = "both",
        method: str = "permutation",
        min_size: int = 5,
        n_permutations: int = 10_000,
    ) -> Table:
        """Find sets of features, such as pathways, with stronger loadings than the rest of a view.

        Parameters
        ----------
        sets : dict of str to lists of str, or path of a GMT file
            Features of each set; case is ignored in names, and names that are in no view are ignored.
        view : str, optional
            The view; all views, if not given.
        sign : {"both", "positive", "negative"}
            Whether strengths are absolute loadings, or loadings of one sign alone.
        method : {"permutation", "parametric"}
            Permutations of the strengths over the features, or the t-test, whose p is too small below 50 features.
        min_size : int
            Smallest number of features of a view in a set.
        n_permutations : int
            Number of permutations for each size of a set; smaller p-values are extrapolated from the tail.

        Returns
        -------
        Table
            factor, view, set, features in it, t (set against the rest of the view), p, and p adjusted over all tests
            (Benjamini and Hochberg); the smallest first.
        """
        check_is_fitted(self)
        found, layout = read_sets(sets), self.layout_
        chosen = layout.views if view is None else (one_of("view", view, layout.views),)
        ways = {"both": (1.0, -1.0), "positive": (1.0, 0.0), "negative": (0.0, -1.0)}
        up, down = ways[one_of("sign", sign, ways)]
        loadings = {
            name: p.weights.mean.T * signs(self.posterior_)[:, None] * np.sqrt(p.noise.mean)
            for name, p in self.posterior_.views.items()
            if name in chosen
        }
        strengths = {name: np.maximum(up * w, down * w) for name, w in loadings.items()}
        deals = whole_number("n_permutations", n_permutations)
        return enriched(
            strengths,
            dict(zip(layout.views, layout.features, strict=True)),
            list(map(str, self.get_feature_names_out())),
            found,
            least=whole_number("min_size", min_size),
            n_permutations=deals if one_of("method", method, ["permutation", "parametric"]) == "permutation" else None,
            rng=generator(self.random_state),
        )

    @property
    def explained_(self) -> dict[str, Floats]:
        """Shares of each view that all factors explain, "total" (G, M), and each alone, "per_factor" (G, M, K).

        Measurements by squared error in units of the standard deviation of each column, other views by deviance.
        """
        check_is_fitted(self)
        total, single = self.deviances_.explained
        return {
            "total": total,
            "per_factor": single[..., living_components(self._model, self._state, prune=self.prune)[0]],
        }

    @property
    def variance_explained_(self) -> Table:
        """A row for each group and view, a column for each factor and "total": shares from 0 to 1."""
        shares = self.explained_
        return explained_table(self.layout_, shares["total"], shares["per_factor"], list(self.get_feature_names_out()))

    def associate(self, metadata: Any, X: Any = None, **given: Any) -> Table:
        """Compare each factor with each column of metadata.

        Numbers by Pearson's correlation, categories by the Kruskal-Wallis test; p adjusted by Benjamini and Hochberg.

        Parameters
        ----------
        metadata : data frame, Series or dict of columns
            Other columns about the samples, aligned by row name if both have names.
        X : as in `fit`, optional
            The samples; those of `fit`, if not given.
        **given
            Other arguments of `transform`: groups, precision, exposure, covariates.

        Returns
        -------
        Table
            One row for each factor and column: effect, p and adjusted p.
        """
        codes, row_names = self._codes_of(X, **given)
        return associate(codes, list(self.get_feature_names_out()), metadata, row_names)

    def _codes_of(self, X: Any, **given: Any) -> tuple[Floats, tuple[str, ...] | None]:
        check_is_fitted(self)
        if X is None:
            if not hasattr(self, "scores_"):
                raise AttributeError(
                    "there are no scores of all samples after partial_fit or a fit in blocks; give the samples: "
                    "model.associate(metadata, X)."
                )
            return self.scores_, self.row_names_
        table = self._table(X, **{"groups": None, **given})
        mean = self._ask(table.rows, lambda rows, local: self._model.codes(rows, local))[0]
        return np.asarray(host(mean)) * published_codes(self.posterior_), table.row_names

    def _rows_of_fit(  # type: ignore[override]  # takes what `fit` of views takes
        self,
        X: Any,
        groups: Any = None,
        sample_weight: Any = None,
        precision: Any = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> Rows:
        return check_rows(self, self._table(X, groups, sample_weight, precision, exposure, covariates).rows)

    def _features_as_read(self) -> dict[str, list[str]]:
        layout = self.layout_.as_read
        return {view: list(names) for view, names in zip(layout.views, layout.features, strict=True)}

    def _features_by_view(self) -> dict[str, list[str]]:
        named = zip(self.layout_.views, self.layout_.features, strict=True)
        return {"": [], **{view: list(names) for view, names in named}}

    def _table(
        self,
        X: Any,
        groups: Any,
        sample_weight: Any = None,
        precision: Any = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> WideTable:
        """Samples as one wide table; what group they belong to is inferred where it was not given."""
        table = self._read(X, groups, sample_weight, precision, exposure, covariates)
        if not self.layout_.groups:
            return table
        return replace(table, rows=with_groups(table.rows, self._state.stats.sizes, self._row_bounds))

    def _row_bounds(self, rows: Rows) -> Array:
        """(n,), bounds of the log density of rows of known groups."""
        return self._ask(rows, lambda part, local: (self._model.row_bounds(self.posterior_, part, local),))[0]

    def _read(
        self, X: Any, groups: Any, sample_weight: Any, precision: Any, exposure: Any = None, covariates: Any = None
    ) -> WideTable:
        """Samples as one wide table, as they were given; what is known beside them where it is given or expected."""
        check_is_fitted(self)
        given, fitted = (groups, sample_weight, exposure, covariates), self.layout_
        groups, sample_weight, exposure, covariates = of_samples(X, *given, fitted.groups)
        if exposure is not None or fitted.exposed:
            X, exposure = exposure_aside(X, exposure, expected=self._plain)
        table = lay_out(
            encoded_views(self, X),
            groups=groups,
            sample_weight=sample_weight,
            layout=replace(fitted.as_read, precise=(), exposed=()),
            layer=self.layer,
            use_var=self.use_var,
            estimator=self,
        )
        check_likelihoods(table, self._kinds)
        if exposure is not None or fitted.exposed:
            table = with_exposure(table, exposure, X, self._kinds, fitted.exposed)
        if covariates is not None or self._covariates is not None:
            table = with_covariates(table, covariates, X, self._covariates)
        if fitted.levels:
            table = with_levels(table, fitted.levels)
        if precision is not None or fitted.precise:
            table = with_precision(table, precision, fitted.precise)
        return table
