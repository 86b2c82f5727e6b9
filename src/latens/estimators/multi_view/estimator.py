"""Factors behind several tables of the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows, Statistics, blocks
from latens.estimators.base import VariationalTransformer, living_components
from latens.estimators.fitting.checkpoints import Checkpoint
from latens.estimators.fitting.context import FitContext, checkpointing
from latens.estimators.fitting.fit_doubts import doubt_number, looking_over
from latens.estimators.fitting.search import all_or_sample
from latens.estimators.former_names import keywords_after_y
from latens.estimators.frames.raw_frames import is_mixed_frame
from latens.estimators.frames.views_by_kind import chooses_columns, learn_views, with_level_names, with_words
from latens.estimators.multi_view.answers import MultiViewAnswers
from latens.estimators.multi_view.covariates import Covariates, learn_covariates, with_covariates
from latens.estimators.multi_view.exposure import check_exposed, exposure_aside, with_exposure
from latens.estimators.multi_view.findings import doubt_factors, doubt_table
from latens.estimators.multi_view.known_precision import with_precision
from latens.estimators.multi_view.priors import SharedPriors, with_priors
from latens.estimators.multi_view.starts import (
    first_starts,
    posterior_from_codes,
    posterior_from_loadings,
    random_codes,
    views_of,
)
from latens.estimators.multi_view.streams import ViewStreams
from latens.estimators.multi_view.tables.blocks import covariates_of, explain_source, wide_source
from latens.estimators.multi_view.tables.input import is_in_blocks, is_plain
from latens.estimators.multi_view.tables.level_columns import LEVEL_KINDS, levels_of, with_levels
from latens.estimators.multi_view.tables.likelihood_guess import ChosenKinds, guess_from_survey, guess_likelihoods
from latens.estimators.multi_view.tables.output import divided_shares, modelled_shares, spread_by_column
from latens.estimators.multi_view.tables.split import split_views
from latens.estimators.multi_view.tables.wide import WideTable, frame_encoding, lay_out, of_samples, tables_of
from latens.estimators.multi_view.units import frame_of_rows, in_data_units, loadings_of, signs, ungrouped
from latens.estimators.multi_view.waiting import MOST_FACTORS
from latens.estimators.parameters import all_or_nothing, keep_warnings, one_of, yes_or_no
from latens.estimators.priors import no_prior
from latens.estimators.rows.data import Data, InBlocks
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import occupied
from latens.intake import Encoding
from latens.models.likelihoods import Likelihood
from latens.models.likelihoods.names import chosen_again, kinds_of, names_columns
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import GROUP
from latens.system.threads import one_blas_thread

__all__ = ["MultiViewFactorAnalysis"]

SAMPLE_FLOATS = 2**21  # entries of the sample that a fit starts from


class MultiViewFactorAnalysis(MultiViewAnswers, ViewStreams):
    """Find factors shared by several tables of the same samples, each with few features, and their number.

    Parameters
    ----------
    n_components : int, optional
        Largest number of factors; None chooses this limit. A factor without which the bound is higher is deleted.
    likelihoods : dict of str or Likelihood, optional
        View, or column of a data frame of mixed columns, to "gaussian", "student", "bernoulli", "categorical",
        "ordinal", "poisson" or "negative-binomial"; or to an instance of one's own (`latens.likelihoods`). A dict by
        column in place of a name splits a view by kind, as in "clinic (poisson)". Kinds that are not given are guessed
        from the values (see `likelihoods_`).
        "student" is for measurements with outliers, with learnt tails. Counts have a learnt dispersion, which is small
        a priori with "poisson". Scales ("ordinal") have one loading; categories have one for each level but the last,
        named "column = level".
    sparse_loadings : bool
        Whether loadings of a factor may be 0 (spike and slab); otherwise every feature has a loading.
    sparse_factors : bool
        Whether a factor may be absent in a sample (spike and slab). Factors are then a posteriori independent, which
        costs some accuracy if they overlap.
    scale_views : bool
        Whether a fit starts from views of equal weight, for any number of columns. In either case, the result does not
        depend on the unit of a view.
    noise_variance_prior, dispersion_prior : (float, float) or dict of them by view, optional
        For measurements, a noise variance in the squared units of the view; for counts, a dispersion; and its weight n,
        in entries: 1 / variance ~ Gamma(n / 2, n variance / 2). None: almost no weight.
    loading_prior : (float, float) or dict of them by view, optional
        The variance of the loadings of a factor in the squared units of the view, and its weight n, in loadings:
        v ~ Normal(0, 1 / alpha), alpha ~ Gamma(n / 2, n variance / 2).
    inclusion_prior, usage_prior : (float, float), optional
        Prior of the probability that a feature belongs to a factor, with ``sparse_loadings``, and that a sample has the
        factor, with ``sparse_factors``: Beta(a, b). None: (1, 1), flat.
    activity_prior : (float, float), optional
        With groups, the variance of a factor in a group and its weight in samples, as above. None: (1, 2).
    intercept_prior : float or dict of float by view, optional
        Variance of the levels of features in the squared units of the view: b ~ Normal(0, variance).
    covariate_prior : float or dict of float by view, optional
        With covariates: prior variance of the effect of one standard deviation of a covariate on a feature, in the
        squared units of the view. None: the variance of the feature; for log odds and logarithms of counts 6.25.
    layer, use_var : str, optional
        For AnnData and MuData: the layer to read instead of X, and the boolean column of `.var` that selects features.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per sample below which a fit has converged; with
        1,000 samples and more a tenth of it, with 10,000 and more a hundredth.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept. The first is principal components rotated to sparse
        loadings, of columns as they are or standardized, whichever has the higher bound after a few iterations.
    init : {"auto", "random"}, dict of arrays (K, D_m) or array (K, D)
        Starts as above, only random factor values, or given loadings in data units, by view or of all columns.
    moves : bool
        Whether to try deleting factors; accepted only if the bound rises.
    prune : bool
        Whether unneeded components are left out; False fits and publishes exactly `n_components`.
    random_state, warm_start, verbose, callbacks, n_jobs
        As in every estimator.
    learning_method : {"batch", "online"}
        Whether every iteration uses all rows, or parameters are updated after each batch of rows (Robbins-Monro). An
        online fit begins with a search on a sample; `max_iter` is then the largest number of passes, and two are often
        enough. The bounds of single passes are estimates; `elbo_` is the bound for all rows.
    batch_size, learning_decay, learning_offset : int, float, float
        Rows of a batch, and the weight of batch t, (learning_offset + t) ** -learning_decay.
    forget : float
        For streams (`partial_fit`) whose distribution changes: only the last 1/forget rows count, and the
        model is that of a `fit` to these rows. 0: all rows count. `fit` gives every row the same weight.
    row_posteriors : {"auto", "keep", "recompute"}
        For rows that are read in blocks: whether the posterior of each row is stored from pass to pass (in memory, and
        beyond 32 MB in a scratch file), or computed again, which needs no storage but more time. "auto" stores it,
        except on a cluster. For rows in memory it is always stored.

    Attributes
    ----------
    components_ : dict of arrays (K, D_m)
        Loadings in the units of each view; on logits for binary views and levels, on logarithms for counts.
    inclusion_ : dict of arrays (K, D_m)
        Probability that a feature belongs to a factor; too low for counts: see `inclusion_probabilities`.
    intercepts_ : dict of arrays (G, D_m)
        Level of each feature in each group, for a sample with average covariates; for counts, the log of the mean.
    covariate_coefficients_ : dict of arrays (C, D_m)
        With covariates: effect of one unit of each on a feature, in the units of each view; on logits for binary views,
        on logarithms for counts. Rows are `covariate_names_`; one that is determined by those before it has 0.
    covariate_names_ : tuple of str
        Names of covariates; for labels "column = level", against the first level.
    noise_variance_ : dict of arrays (D_m,)
        For Gaussian views; for "student" views the squared scale of the noise, its variance times (nu - 2) / nu.
    tails_ : dict of float
        For "student" views: degrees of freedom nu of the noise of each view; the fewer, the heavier its tails.
    thresholds_ : dict of dict of arrays
        For scales, by view and column: the probability of at most the first level, the second, and so on is
        sigmoid(threshold - eta), where eta is intercept plus loadings times factors.
    dispersion_ : dict of arrays (D_m,)
        For counts: variance of the rate over its squared mean, given the factors; for log-normal noise that of the log.
    likelihoods_ : dict of str
        View to the likelihood of its entries, as given or guessed.
    levels_ : dict
        Levels of categories and scales, and words for 0 and 1 of yes/no columns of a data frame, by view and column, in
        the order of their numbers.
    variance_explained_ : Table
        Share of each view and group explained by each factor and by all ("total"); by deviance except for measurements.
    explained_ : dict of arrays
        The same as arrays: "total" (G, M) and "per_factor" (G, M, K), for G groups and M views.
    scores_ : array (n, K)
        Factor values of the samples of `fit`.
    row_names_ : tuple of str, or None
        Names of those samples, if tables had names; for data frames without names, their numbers.
    group_of_ : array of int (n,)
        Number of the group of each of them.
    activity_ : array (G, K)
        With groups: variance of each factor in each group, 1 on average over all samples.
    layout_ : Layout
        Names of views, features and groups, in the order of the fit.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_, share_, score_is_bound_
        As in every estimator; the reference describes them.

    Examples
    --------
    >>> import latens
    >>> views, truth = latens.datasets.make_multiview(200, (60, 40), n_factors=3, random_state=0)
    >>> model = latens.MultiViewFactorAnalysis(8, random_state=0).fit(views)
    >>> model.n_components_
    3
    >>> Z, sd = model.transform({"view0": views["view0"]}, return_std=True)
    >>> Z.shape
    (200, 3)
    """

    _component_noun: ClassVar[str] = "factor"

    # what files hold besides the posterior
    file_attributes: ClassVar[tuple[str, ...]] = (
        *VariationalTransformer.file_attributes,
        "layout_",
        "likelihoods_",
        "_plain",
        "deviances_",
        "scores_",
        "row_names_",
        "group_of_",
        "_covariates",
        "_waiting",
    )
    encodings_: dict[str, Encoding]
    settled_by, settles = 100.0, 1e-7

    def __init__(
        self,
        n_components: int | None = None,
        *,
        likelihoods: Mapping[str, str | Likelihood] | None = None,
        sparse_loadings: bool = True,
        sparse_factors: bool = False,
        scale_views: bool = True,
        noise_variance_prior: Any = None,
        dispersion_prior: Any = None,
        loading_prior: Any = None,
        inclusion_prior: tuple[float, float] | None = None,
        usage_prior: tuple[float, float] | None = None,
        activity_prior: tuple[float, float] | None = None,
        intercept_prior: Any = None,
        covariate_prior: Any = None,
        layer: Any = None,
        use_var: str | None = None,
        max_iter: int = 1000,
        max_time: float | None = None,
        tol: float = 1e-3,
        n_init: int = 1,
        init: Any = "auto",
        moves: bool = True,
        prune: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
        learning_method: str = "batch",
        batch_size: int = 1024,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        forget: float = 0.0,
        row_posteriors: str = "auto",
    ) -> None:
        super().__init__(
            n_components,
            max_iter=max_iter,
            max_time=max_time,
            tol=tol,
            n_init=n_init,
            init=init,
            moves=moves,
            prune=prune,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callbacks=callbacks,
            n_jobs=n_jobs,
        )
        self.learning_method = learning_method
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.forget = forget
        self.row_posteriors = row_posteriors
        self.likelihoods = likelihoods
        self.sparse_loadings = sparse_loadings
        self.sparse_factors = sparse_factors
        self.scale_views = scale_views
        self.noise_variance_prior = noise_variance_prior
        self.dispersion_prior = dispersion_prior
        self.loading_prior = loading_prior
        self.inclusion_prior = inclusion_prior
        self.usage_prior = usage_prior
        self.activity_prior = activity_prior
        self.intercept_prior = intercept_prior
        self.covariate_prior = covariate_prior
        self.layer = layer
        self.use_var = use_var

    @keywords_after_y("groups", "sample_weight", "precision")
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        precision: Any = None,
        exposure: Any = None,
        covariates: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model to views of the same samples.

        Parameters
        ----------
        X : dict or list of arrays or data frames, data frame with two-level columns, AnnData, MuData, or array
            Rows are samples. A data frame of mixed columns becomes views by kind of column. Frames are aligned by row
            name; a sample that a view lacks is missing there. NaN means missing.
        y : ignored
            There for pipelines.
        groups : array or str, optional
            A label for each sample, or the name of a column of `.obs`: features have levels, and factors a strength,
            of their own in each group.
        sample_weight : array of shape (n,), optional
            How often each sample counts.
        precision : dict of arrays (n, D_m), optional
            1 / variance of the noise of each entry, for Gaussian views where it is known; it is learnt for the others.
        exposure : array of shape (n,), dict of arrays by view, str, optional
            For views of counts, how much of each sample was counted: the mean of a count is multiplied by it. Or the
            name of a column of `.obs` or of a data frame, which is then no data, or "total" for the row totals of
            each view of counts.
        covariates : data frame, dict of columns, array of shape (n,) or (n, C), or names of columns of `.obs`, optional
            What is known of each sample, such as batch, sex or age: features are regressed on it beside their levels,
            so that no factor has to stand for it. Columns of numbers, or of labels, each level against the first; none
            may be missing. Of Dask dataframes, names of their columns; of files, those named in `latens.scan`.
        checkpoint : path, optional
            As in every estimator: a folder from which a fit that was killed goes on.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self), all_or_nothing(self), one_blas_thread():
            if is_in_blocks(X):
                self._fit_blocks(X, groups, sample_weight, precision, exposure, covariates, opened)
                return self
            groups, sample_weight, exposure, covariates = of_samples(X, groups, sample_weight, exposure, covariates)
            X, exposure = (X, None) if exposure is None else exposure_aside(X, exposure)
            table, chosen = self._first_table(X, groups, sample_weight, precision, covariates)
            # the wide table was made here and may be written over, unless it is the caller's own array
            spare = not self._plain
            context = self._fit_views(table, chosen, spare=spare, exposure=exposure, views=X, checkpoint=opened)
            self._waiting = None
            with looking_over(self):
                doubt_number(self, context)
        return self

    @keywords_after_y("groups", "sample_weight", "precision")
    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        precision: Any = None,
        exposure: Any = None,
        covariates: Any = None,
    ) -> Any:
        """Fit, and return the factor values of the same samples.

        Parameters
        ----------
        X : as in `fit`
        y : ignored
            There for pipelines.
        groups : array or str, optional
            As in `fit`.
        sample_weight : array of shape (n,), optional
            How often each sample counts.
        precision : dict of arrays (n, D_m), optional
            As in `fit`.
        exposure : array, dict or str, optional
            As in `fit`.
        covariates : data frame, dict of columns, array or names of columns of `.obs`, optional
            As in `fit`.

        Returns
        -------
        array of shape (n, K)
            Factor values; a data frame if `set_output` asks for it.
        """
        given = {"precision": precision, "exposure": exposure, "covariates": covariates}
        self.fit(X, y, groups=groups, sample_weight=sample_weight, **given)
        groups = groups if self.layout_.groups else None  # one group is none
        return self.transform(X, groups=groups, **given)

    @property
    def sample_size(self) -> int:  # type: ignore[override]  # a constant elsewhere
        """Samples that starts and moves look at: wide tables need fewer."""
        return int(np.clip(SAMPLE_FLOATS // self.layout_.n_columns, 512, 4096))

    def _real_columns(self) -> Sequence[int]:
        """Those of real views; groups have levels of their own, and covariates move levels: a mixture has tails."""
        layout = self.layout_
        if len(layout.groups) > 1 or self._covariates is not None:
            return ()
        parts = zip(layout.views, layout.bounds, strict=True)
        real = (part for name, part in parts if self.likelihoods_[name] == "gaussian")
        return [column for part in real for column in range(part.start, part.stop)]

    def _first_table(
        self, X: Any, groups: Any, sample_weight: Any, precision: Any, covariates: Any, *, in_stream: bool = False
    ) -> tuple[WideTable, ChosenKinds]:
        """Samples as one wide table of views, and what was chosen for them; notes what is known of covariates."""
        read, X = getattr(X, "encodings", {}), tables_of(X)
        by_kind = is_plain(X) and (is_mixed_frame(X) or chooses_columns(X, self.likelihoods))
        frame = learn_views(X, self.likelihoods, in_stream=in_stream) if by_kind else None
        views = X if frame is None else frame.views(X)
        wholes: dict[str, tuple[str, ...]] = {}
        chosen = self.likelihoods
        if frame is None and names_columns(self.likelihoods):
            views, chosen, wholes = split_views(X, self.likelihoods, self.layer, self.use_var)
        table = lay_out(
            views,
            groups=groups,
            sample_weight=sample_weight,
            layer=self.layer,
            use_var=self.use_var,
            estimator=self,
            in_stream=in_stream,
        )
        if table.rows.seen is not None and not host(table.rows.seen).any():
            raise ValueError("the views hold nothing but NaN; give at least one observed value.")
        table = replace(table, layout=replace(table.layout, wholes=wholes))
        self._plain = is_plain(X) and frame is None
        if frame is not None:
            encoding = frame.encoding.as_in(*read.values()) if len(read) == 1 else frame.encoding
            self.encodings_, chosen = {"x": encoding}, frame.likelihoods
            self.feature_names_in_ = np.array([column.name for column in encoding.columns], dtype=object)
        doubt_table(table, by_kind=frame is not None)
        learnt = None if covariates is None else learn_covariates(table, covariates, X)
        self._forget_other_covariates(learnt)
        if learnt is not None:
            table = with_covariates(table, covariates, X, learnt)
        if precision is not None:
            table = with_precision(table, precision, None)
        return table, ChosenKinds(chosen, None if frame is None else frame.encoding)

    def _forget_other_covariates(self, learnt: Covariates | None) -> None:
        """Note what is known of covariates; a posterior of other coefficients is no start."""
        if self.__sklearn_is_fitted__() and not (
            learnt is self._covariates or (learnt and learnt.same_as(self._covariates))
        ):
            del self.posterior_
        self._covariates = learnt

    def _chosen_before(self) -> ChosenKinds:
        """What was chosen for the views of a stream that goes on."""
        encoding = frame_encoding(self)
        if encoding is None and not names_columns(self.likelihoods):
            return ChosenKinds(self.likelihoods)
        return ChosenKinds(chosen_again(self.likelihoods_, self.likelihoods), encoding)

    def _fit_views(
        self,
        table: WideTable,
        chosen: ChosenKinds,
        *,
        spare: bool = False,
        remembered: WideTable | None = None,
        exposure: Any = None,
        views: Any = None,
        checkpoint: Checkpoint | None = None,
        in_stream: bool = False,
    ) -> FitContext:
        """Fit the samples of a table, and remember them, or those `remembered`, the same in another order."""
        table = table if (several := len(table.layout.groups) > 1) else ungrouped(table)
        kinds = dict(zip(table.layout.views, guess_likelihoods(table, chosen.likelihoods), strict=True))
        if other := [name for name in table.layout.precise if kinds[name] != "gaussian"]:
            raise ValueError(f"precision is for Gaussian views; {other[0]!r} is {kinds[other[0]]}.")
        if exposure is not None:
            table = with_exposure(table, exposure, views, kinds_of(kinds, self.likelihoods))
        levels: dict[str, Any] = {}
        if chosen.encoding is not None or set(LEVEL_KINDS) & set(kinds.values()):
            levels = with_level_names(levels_of(table, kinds), chosen.encoding, kinds, in_stream=in_stream)
            table = with_levels(table, levels)
            table = replace(table, layout=with_words(table.layout, chosen.encoding, kinds))
        if self.__sklearn_is_fitted__() and (self.layout_, self.likelihoods_) != (table.layout, kinds):
            del self.posterior_  # that of other views is no start
        self.layout_, self.likelihoods_ = table.layout, kinds
        context, _ = self._fit(
            table.rows, None, moves=self.moves, spare=spare, checkpoint=checkpoint, in_stream=in_stream
        )
        with self._completing():
            entered = all_or_sample(context.data, context.sample)
            if remembered is not None:
                table = with_levels(remembered if several else ungrouped(remembered), levels)
                entered = self._units.enter(occupied(table.rows))
            self._note(table, entered)
        return context

    def _fit_blocks(
        self,
        X: Any,
        groups: Any,
        sample_weight: Any,
        precision: Any,
        exposure: Any,
        covariates: Any,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Fit views that are read in blocks: nothing is remembered of single samples, `transform` tells it."""
        given = {"groups": groups, "sample_weight": sample_weight, "precision": precision, "exposure": exposure}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{name} cannot be given beside views that are read in blocks; name a column of groups or "
                    "exposures in latens.scan, or leave it out."
                )
        learnt = covariates_of(X, covariates)
        self._forget_other_covariates(learnt)
        source, layout = wide_source(X, self, learnt)
        kinds = dict(zip(layout.views, guess_from_survey(source.survey, layout, self.likelihoods), strict=True))
        check_exposed(kinds_of(kinds, self.likelihoods), layout.exposed)
        leveled = [name for name, kind in kinds.items() if kind in LEVEL_KINDS]
        if leveled:
            raise ValueError(
                f"view {leveled[0]!r} is {kinds[leveled[0]]}, whose levels are found in rows that are in memory; give "
                "blocks to partial_fit one after another, or fit to a sample of the rows."
            )
        if self.__sklearn_is_fitted__() and (self.layout_, self.likelihoods_) != (layout, kinds):
            del self.posterior_
        self.layout_, self.likelihoods_, self._plain = layout, kinds, not isinstance(X, Mapping)
        context, _ = self._fit(InBlocks(source), None, moves=self.moves, checkpoint=checkpoint)
        with self._completing():
            self._learn_from(all_or_sample(context.data, context.sample))
            self.deviances_ = explain_source(self._model, self._state.q, InBlocks(source).entered(self._units).source)
            self._waiting = None
            self._forget_samples()

    def _units_of(self, data: Data, sample: Rows, centred: bool) -> Units:
        return frame_of_rows(self, data, kinds_of(self.likelihoods_, self.likelihoods))

    def _build(self, context: FitContext) -> MultiView:
        yes_or_no("scale_views", self.scale_views)
        priors, units = SharedPriors.of(self, len(self.layout_.groups) > 1), context.units
        kinds, single = kinds_of(self.likelihoods_, self.likelihoods), context.given.is_single
        views = views_of(kinds, self.layout_, units, context.sample, priors.inclusion, single)
        views = with_priors(self, views, units)
        n_covariates = 0 if self._covariates is None else self._covariates.n_regressors
        if not n_covariates:
            no_prior("covariates of samples", covariate_prior=self.covariate_prior)
        groups = max(1, len(self.layout_.groups))
        return MultiView(tuple(views), groups, priors.activity, priors.usage, n_covariates)

    def _default_size(self, context: FitContext) -> int:
        n = len(context.sample)
        return int(max(1, min(self.layout_.n_columns, n - 1, context.growth * min(n // 4, MOST_FACTORS))))

    def _starts_of_restart(self, model: MultiView, context: FitContext, restart: int) -> list[MultiViewPosterior]:
        """What one of the `n_init` restarts begins from: the first from principal directions, tried several ways."""
        if restart or not isinstance(self.init, str) or self.init != "auto":
            return [self._start(model, context, restart)]
        return first_starts(
            model,
            context.sample,
            self._starting_size(context),
            context.rng,
            self._n_iterations,
            alike=bool(self.scale_views),
            fewer=self.prune,
            drop=self.moves and self.prune,
            over=context.over,
        )

    def _start(self, model: MultiView, context: FitContext, restart: int) -> MultiViewPosterior:
        sample, rng, k = context.sample, context.rng, self._starting_size(context)
        if not isinstance(self.init, str):
            return posterior_from_loadings(model, sample, loadings_of(self.init, k, self.layout_, context.units))
        one_of("init", self.init, ["auto", "random"])
        return posterior_from_codes(model, sample, random_codes(len(sample), k, rng))

    def _note(self, table: WideTable, entered: Rows) -> None:
        """Remember the samples of the fit, in the model's units; `entered` has those that counted, likewise."""
        rows, living = table.rows, living_components(self._model, self._state, prune=self.prune)[0]
        codes, squares, self.deviances_ = self._learn_from(entered)
        counted = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(host(rows.weight) > 0)
        scores = np.zeros((len(rows), self.n_components_))
        scores[counted] = codes[:, living] * signs(self.posterior_)
        rest = np.setdiff1d(np.arange(len(rows)), counted)
        if len(rest):  # they were not learnt from, but have values
            mean, *_ = self._ask(replace(rows, weight=None).take(rest), self._model.codes)
            scores[rest] = host(mean) * signs(self.posterior_)
        group = np.nan_to_num(host(rows.aux[GROUP])) if self.layout_.groups else np.zeros(len(rows))
        self.scores_, self.row_names_, self.group_of_ = scores, table.row_names, group.astype(np.intp)
        doubt_factors(self._model, self._units, entered, scores[counted], squares[:, living], self.explained_)

    def _parts(self, rows: Rows) -> list[Rows]:
        return blocks(rows, self._model.floats_per_row(self._state.q.n_components))

    def _column_spread(self) -> Floats:
        return spread_by_column(self.posterior_, self.components_, self.noise_variance_)

    @property
    def _is_exposed(self) -> bool:
        return bool(self.layout_.exposed)

    def _component_shares(self) -> Floats:
        return divided_shares(**self.explained_)

    def _share_parts(self, q: MultiViewPosterior) -> Floats:
        return modelled_shares(q, self._state.stats)  # deviances would take a pass over the rows

    def _publish(self, q: MultiViewPosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        # draws keep the sign of the posterior they are of; other fits, with other factors, have their own
        like_fit = q.n_components == self.posterior_.n_components
        of = self.posterior_ if like_fit else q
        return in_data_units(self._model, q, of, self.layout_, units, self._covariates)
