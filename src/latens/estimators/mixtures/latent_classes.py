"""Clusters of rows with columns of any kind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.transfer import host
from latens.core import Rows, Statistics
from latens.errors import NotIdentified, warn
from latens.estimators.fitting.context import FitContext, checkpointing
from latens.estimators.fitting.fit_doubts import doubt_number, doubt_unseen, looking_over
from latens.estimators.fitting.starts import nearest_labels
from latens.estimators.former_names import keywords_after_y
from latens.estimators.frames.raw_frames import is_raw_frame, learn_encoding, level_numbers, refuse_lazy_frame
from latens.estimators.frames.roles import from_table, rows_and_exposure
from latens.estimators.frames.row_labels import in_row_order, labels_of
from latens.estimators.intervals.table import PublishedNumber
from latens.estimators.mixtures.base import MixtureEstimator, normal_prior
from latens.estimators.mixtures.class_answers import ClassAnswers
from latens.estimators.mixtures.class_profiles import (
    central_standard_deviations,
    class_profiles,
    level_probabilities,
    named_levels,
    standard_deviations,
)
from latens.estimators.mixtures.class_rows import class_rows
from latens.estimators.mixtures.column_kinds import COUNTS, ColumnKinds, find_kinds
from latens.estimators.mixtures.column_priors import COUNT_WORTH, ColumnPriors
from latens.estimators.mixtures.column_values import TableValues, table_values, values_step
from latens.estimators.mixtures.exposed_rows import (
    ExposureSums,
    check_counted,
    counts_of_totals,
    exposure_step,
    with_exposure,
)
from latens.estimators.parameters import all_or_nothing, keep_warnings, one_of, positive_number
from latens.estimators.rows.data import Data, InBlocks, InMemory, check_data
from latens.estimators.rows.doubts import doubt_empty
from latens.estimators.rows.exposures import ask_for_exposures, column_aside, doubt_totals
from latens.estimators.rows.lazy import batch_by_batch
from latens.estimators.rows.sampling import filled
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_rows, occupied, with_known
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.categorical_columns import CategoricalColumns
from latens.families.exposed_counts import ExposedCounts
from latens.families.gamma import Gamma
from latens.families.mixed_columns import Column, MixedColumns
from latens.families.negative_binomial_columns import NegativeBinomialColumns
from latens.families.normal_columns import NormalColumns
from latens.families.poisson_columns import PoissonColumns
from latens.families.student_columns import StudentColumns, trimmed
from latens.intake import Encoding
from latens.models.likelihoods.names import MEASUREMENTS
from latens.models.mixture.features import EXPOSURE, exposure_of
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["LatentClassAnalysis"]


class LatentClassAnalysis(ClassAnswers):
    """Find classes of rows, and their number, in tables with columns of any kind.

    Within a class, columns are independent, and each has a distribution of its own kind. With real columns alone this
    is latent profile analysis.

    Parameters
    ----------
    n_components : int, optional
        Largest number of classes; unneeded classes are merged or deleted. None chooses this limit.
    likelihoods : dict of str or int to str, str or None
        The kind of each column, by its name or number: "gaussian", "student", "bernoulli", "categorical", "ordinal",
        "poisson" or "negative-binomial"; a single word is for all columns. Kinds that are not given are guessed (see
        `likelihoods_`). "student" is for measurements with outliers, which would otherwise form their own classes.
    weight_prior : {"dirichlet", "dirichlet_process", "uniform"}
        Prior of the class sizes: learnt sizes, learnt sizes that favour a few large classes, or equal sizes.
    weight_concentration_prior : float, optional
        Concentration of the Dirichlet prior per class, or the mean concentration of the Dirichlet process; None is 1.
    probability_prior : float
        Weight of the prior of each probability, in rows, for columns of 0 and 1 or of levels; in the prior, all levels
        are equally probable.
    mean_prior, variance_prior, rate_prior : dict of (float, float) by column name or number, optional
        For measurements, the mean and the variance within a class, each with its weight of n rows; for counts, the mean
        with its weight of n events, which occur in n / mean rows; in data units: 1 / variance ~
        Gamma(n / 2, n variance / 2), class mean ~ Normal(mean, variance / n), rate ~ Gamma(n, n / mean). Other
        columns have priors computed from the data.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept.
    init : {"auto", "random"} or array of shape (K, D)
        k-means++ starts, random memberships, or given rows from which classes start.
    moves : bool
        Whether to try merging, splitting, deleting and exchanging classes; accepted only if the bound rises.
    prune : bool
        Whether unneeded classes are left out; False fits and publishes exactly `n_components`.
    random_state : int, RandomState, Generator or None
    warm_start : bool
        Whether `fit` continues from the last fit.
    verbose : int
        1 shows a progress bar.
    callbacks : callable or list of callables
        Called with an `Iteration` each; returning True stops the fit.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    learning_method : {"batch", "online"}
        Whether every iteration uses all rows, or parameters are updated after each batch of rows (Robbins-Monro). An
        online fit begins with a search on a sample; `max_iter` is then the largest number of passes, and two are often
        enough. The bounds of single passes are estimates; `elbo_` is the bound for all rows.
    batch_size, learning_decay, learning_offset : int, float, float
        Rows of a batch, and the weight of batch t, (learning_offset + t) ** -learning_decay.
    forget : float
        For streams (`partial_fit`) whose distribution changes: only the last 1/forget rows count, and the
        model is that of a `fit` to these rows. 0: all rows count. `fit` gives every row the same weight.

    Attributes
    ----------
    weights_ : array (K,)
        Expected share of each class, the largest first.
    profiles_ : Table
        Each column in each class: mean and standard deviation, probabilities of levels, or mean counts.
    likelihoods_ : dict of str to str
        The kind of each column, as given or guessed.
    levels_ : dict of str to list
        Levels of each column of levels or of yes/no (the word for 0, then for 1), in the order of their numbers.
    means_ : array (K, D)
        Expected entries; for levels, the expected number of the level, counted from 0, which has no meaning for
        categories without an order; for counts with exposures, the rate.
    standard_deviations_ : array (K, M)
        Standard deviation of the columns with normal noise, in their order, in each class.
    level_probabilities_ : array (K, L)
        Probabilities of the levels of all categories, then of all scales, in each class; names as in `profiles_`.
    share_ : array (K,)
        Share of the rows in each class.
    n_parameters_, entropy_, classification_table_
        Statistics reported for latent classes, beside `bic` and `aic`: the number of free parameters, the certainty of
        the memberships from 0 to 1, and the mean probability of each class among the rows assigned to a class.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_
        As in every estimator; the reference describes them.

    Examples
    --------
    >>> import latens
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(2, size=300)
    >>> size, colour = rng.normal(3.0 * label), rng.choice(3, 300) * label
    >>> visits, member = rng.poisson(1 + 5 * label), rng.random(300) < 0.2 + 0.6 * label
    >>> X = np.column_stack([size, colour, visits, member]).astype(float)
    >>> model = latens.LatentClassAnalysis(6, likelihoods={1: "categorical"}, random_state=0).fit(X)
    >>> model.n_components_, model.likelihoods_["x3"]
    (2, 'bernoulli')
    >>> model.predict(X).shape, model.score_samples(X).shape
    ((300,), (300,))
    """

    _component_noun: ClassVar[str] = "class"

    takes_exposure: ClassVar[bool] = True
    columns_: ColumnKinds
    file_attributes: ClassVar[tuple[str, ...]] = ("columns_", *MixtureEstimator.file_attributes)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        likelihoods: Any = None,
        weight_prior: str = "dirichlet",
        weight_concentration_prior: float | None = None,
        probability_prior: float = 1.0,
        mean_prior: Mapping[Any, tuple[float, float]] | None = None,
        variance_prior: Mapping[Any, tuple[float, float]] | None = None,
        rate_prior: Mapping[Any, tuple[float, float]] | None = None,
        max_iter: int = 500,
        max_time: float | None = None,
        tol: float = 1e-5,
        n_init: int = 3,
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
        self.likelihoods = likelihoods
        self.weight_prior = weight_prior
        self.weight_concentration_prior = weight_concentration_prior
        self.probability_prior = probability_prior
        self.mean_prior = mean_prior
        self.variance_prior = variance_prior
        self.rate_prior = rate_prior

    @keywords_after_y("sample_weight")
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        known: Any = None,
        exposure: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model to rows of any kinds of columns.

        Parameters
        ----------
        X : data frame of pandas or polars, or array of shape (n, D)
            Rows are samples. NaN and None mean missing. Or `latens.scan` of files of numbers, or an array or dataframe
            of Dask: one pass over them finds the kinds and levels of columns.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        known : array of shape (n,), optional
            Classes of rows that are known, numbered from 0; -1 or NaN where they are not. Class k is then that of
            label k, and none is added, merged or taken out; `n_components` above the number of labels leaves room for
            others.
        exposure : array of shape (n,) or str, optional
            Of how much each row's counts are made, such as months under watch: a count has the mean exposure times the
            rate of its class, and `means_` are rates. Positive numbers, aligned by row name where both have names; the
            name of a column of X, a data frame, which is then no feature; or "total", what a row shows of all counts.
            Of files, name the column in `latens.scan`. All answers then take it too.
        checkpoint : path, optional
            A folder from which a killed or interrupted fit continues, with the same result.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self), all_or_nothing(self):
            if isinstance(X, Scan) or is_dask(X):
                data = self._first_blocks(X, sample_weight, known, exposure)
                context, _ = self._fit(data, None, moves=self.moves, checkpoint=opened)
            else:
                rows = self._first_rows(X, sample_weight, exposure)
                known = in_row_order("known", known, X)
                context, _ = self._fit(rows, None, moves=self.moves, known=known, checkpoint=opened)
            with self._completing():
                self._classify(context.given)
            with looking_over(self):
                doubt_unseen(self, context.given)
                doubt_number(self, context)
                self._doubt_identity()
        return self

    @keywords_after_y("sample_weight")
    @batch_by_batch
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, exposure: Any = None) -> Self:
        """See one more batch of rows, once, as every estimator does.

        Kinds and levels of columns are those of the first batch, or of its types (`Categorical` of pandas, `Enum`).

        Parameters
        ----------
        X : array or data frame of shape (n, D)
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        exposure : array of shape (n,) or str, optional
            As in `fit`; with the first batch, and then with every other.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            given = (X, sample_weight, exposure)
            rows = self._rows(*given) if self.__sklearn_is_fitted__() else self._first_rows(*given, in_stream=True)
            super().partial_fit(rows)
        return self

    def _real_columns(self) -> Sequence[int]:
        return [d for d, kind in enumerate(self.columns_.kinds) if kind == "gaussian"]

    @property
    def profiles_(self) -> Table:
        """One row for each number that describes a column, one column for each class."""
        check_is_fitted(self)
        classes = [str(name) for name in self.get_feature_names_out()]
        scale = np.ldexp(1.0, self._units.exponent)
        return class_profiles(classes, self.columns_, self.posterior_.clusters, self.means_, scale)

    @property
    def standard_deviations_(self) -> Floats:
        """(K, M), of the columns with normal noise in each class."""
        check_is_fitted(self)
        scale = np.ldexp(1.0, self._units.exponent)
        return standard_deviations(self.columns_, self.posterior_.clusters, scale)

    @property
    def level_probabilities_(self) -> Floats:
        """(K, L), of all levels in each class."""
        check_is_fitted(self)
        return level_probabilities(self.columns_, self.posterior_.clusters)

    def _described_columns(self) -> Sequence[str]:
        return self.columns_.names

    def _least_strengths(self) -> Floats:
        """(K, D); of levels, that of the one which stands out most."""
        names, least = self.columns_.names, np.full((self.n_components_, len(self.columns_.names)), -np.inf)
        for row in class_rows(self):
            d = names.index(row.column)
            least[:, d] = np.maximum(least[:, d], row.least)
        return least

    def _first_rows(self, X: Any, sample_weight: Any, exposure: Any = None, in_stream: bool = False) -> Rows:
        """Rows of a fit; what their columns are is found, unless a warm start knows."""
        table = None
        refuse_lazy_frame(X)
        (weight,) = from_table(X, sample_weight=sample_weight)
        read: dict[str, Encoding] = getattr(X, "encodings", {})
        X, exposure = column_aside(*rows_and_exposure(self, X, exposure, new=False))
        weight = in_row_order("sample_weight", weight, X)
        if is_raw_frame(X):
            encoding, stated = learn_encoding(X, self.likelihoods, in_stream=in_stream)
            table = (encoding.as_in(*read.values()) if len(read) == 1 else encoding, stated)
            names = [column.name for column in table[0].columns]
            rows = check_rows(self, level_numbers(table[0], X), weight, reset=True, at_least=2, names=names)
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            rows = check_rows(self, X, weight, reset=True, at_least=2)
            names = self._names(rows.x.shape[1])
            if read:
                self.encodings_ = read
        answer = "their chances of classes are the sizes of these"
        doubt_empty(rows, labels_of(X), answer, "Leave them out.")
        if self._goes_on(InMemory(rows)):
            return self._encoded(rows, exposure, labels_of(X))
        self.columns_ = find_kinds(
            table_values(rows), names, self.likelihoods, table, in_stream, exposed=exposure is not None
        )
        if exposure is not None:
            self.columns_ = replace(self.columns_, usual_counts=counts_of_totals(rows, self.columns_, exposure))
            rows = with_exposure(rows, self.columns_, exposure, labels_of(X))
            self.columns_ = replace(self.columns_, exposure_unit=exposure_step(rows)[1].unit)
        return self.columns_.encode(rows)

    def _first_blocks(self, X: Any, sample_weight: Any, known: Any, exposure: Any) -> Data:
        """The same of rows that are read in blocks: one pass finds kinds and levels, later ones number them."""
        if exposure is not None:
            raise ValueError(
                "exposure cannot be given beside rows that are read in blocks; of files, name the column: "
                "latens.scan(exposure=...)."
            )
        data = check_data(self, X, sample_weight, known)
        if isinstance(data, InMemory):  # few rows of a cluster were fetched
            return InMemory(occupied(self._first_rows(data.rows, None)))
        if not self._goes_on(data):
            values: TableValues = data.source.total(values_step)
            exposed = getattr(X, "exposure", None) is not None
            self.columns_ = find_kinds(values, self._names(data.n_columns), self.likelihoods, exposed=exposed)
            if exposed:
                check_counted(self.columns_)
                sums: ExposureSums = data.source.total(exposure_step)
                self.columns_ = replace(self.columns_, exposure_unit=sums.unit)
        return data.changed(self.columns_.encode)

    def _rows(self, X: Any, sample_weight: Any = None, exposure: Any = None) -> Rows:
        """Rows as the model takes them; what is rows already was encoded."""
        if isinstance(X, Rows):
            return X
        check_is_fitted(self)
        refuse_lazy_frame(X)
        (sample_weight,) = from_table(X, sample_weight=sample_weight)
        X, exposure = rows_and_exposure(self, X, exposure)
        if exposure is None and self._is_exposed:  # before its column is taken for one that is too many
            raise ask_for_exposures("the model")
        X, exposure = column_aside(X, exposure)
        return self._encoded(self._checked(X, sample_weight), exposure, labels_of(X))

    def _encoded(self, rows: Rows, exposure: Any, row_names: tuple[str, ...] | None) -> Rows:
        """Rows in the numbers of the model, with exposures if and only if the fit had them."""
        if exposure is not None:
            self._refuse_unasked()
            if isinstance(exposure, str) and not self.columns_.usual_counts:
                doubt_totals("the model")
            rows = with_exposure(rows, self.columns_, exposure, row_names)
        elif self._is_exposed and EXPOSURE not in rows.aux:
            raise ask_for_exposures("the model")
        return self.columns_.encode(rows)

    def _checked(self, X: Any, sample_weight: Any) -> Rows:
        """Rows of numbers, as they are given."""
        table = self.columns_.table
        if table is None:
            return check_rows(self, X, sample_weight)
        if not hasattr(X, "columns"):
            raise ValueError(
                f"X is a {type(X).__name__}, and the model was fitted to a data frame with columns of text; give a "
                f"frame with the columns {listed(self.columns_.names)}."
            )
        numbers = level_numbers(table, X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return check_rows(self, numbers, in_row_order("sample_weight", sample_weight, X))

    def _rows_of_fit(self, X: Any, sample_weight: Any = None, known: Any = None, exposure: Any = None) -> Rows:
        rows = self._rows(X, sample_weight, exposure)
        return rows if known is None else with_known(self, rows, in_row_order("known", known, X))

    def _source_of_fit(self, X: Any, fit_params: Mapping[str, Any]) -> InBlocks:
        return super()._source_of_fit(X, fit_params).changed(self.columns_.encode)

    def _ask_rows(self, X: Any, question: Any) -> tuple[Array, ...]:
        check_is_fitted(self)
        return super()._ask_rows(self._rows(X), question)

    def _leave(self, x: Array) -> Array:
        return self.columns_.decode(super()._leave(x))

    def _names(self, d: int) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(d)] if names is None else list(map(str, names))

    def _feature_names(self) -> Floats:
        return np.array(self.columns_.names)

    def _scales_of_means(self) -> Sequence[str]:
        scales = {"bernoulli": "logit", "poisson": "log", "negative-binomial": "log"}
        return [scales.get(kind, "real") for kind in self.columns_.kinds]

    def _own_numbers(self, q: Any, stats: Any) -> dict[str, Any]:
        own = super()._own_numbers(q, stats)
        if any(self.columns_.levels):
            own["level_probabilities"] = level_probabilities(self.columns_, q.clusters)
        if "gaussian" in self.columns_.places:
            scale = np.ldexp(1.0, self._units.exponent)
            own["standard_deviations"] = central_standard_deviations(self.columns_, q.clusters, scale)
        return own

    def _doubt(self, numbers: list[PublishedNumber], why: Any) -> None:
        super()._doubt(numbers, why)
        kinds = dict(zip(self.columns_.names, self.columns_.kinds, strict=True))
        for i, number in enumerate(numbers):
            if number.parameter == "means" and kinds[number.feature] == "categorical" and why[i] == "":
                why[i] = "categories have no order and no mean: see level_probabilities"

    def _measured(self) -> Sequence[str]:
        return [self.columns_.names[d] for d in self._real_columns()]

    def _named_levels(self) -> Sequence[tuple[str, str]]:
        return named_levels(self.columns_)

    @property
    def _centred(self) -> bool:
        return True

    def _units_of(self, data: Data, sample: Rows, centred: bool) -> Units:
        """Real columns about their means, each in its own unit; the others as they are."""
        real = [d for d, kind in enumerate(self.columns_.kinds) if kind in MEASUREMENTS]
        return data.units(centred=centred, scaled=True, by_column=True).only_of(real)

    @property
    def _own_units(self) -> bool:
        return True

    def _build(self, context: FitContext) -> Mixture:
        sample = context.sample
        worth = positive_number("probability_prior", self.probability_prior)
        x, places = filled(sample), self.columns_.places
        own = ColumnPriors.of(self, self.columns_)
        shown = np.full(x.shape[1], float(len(x))) if sample.seen is None else sample.seen.sum(axis=0)
        parts: dict[str, Column] = {}
        unit = self.columns_.exposure_unit
        looked_at = np.full(x.shape, 1.0) if not unit else np.exp(host(sample.aux[EXPOSURE]))[:, None] + 0 * x
        looked_at = looked_at if sample.seen is None else looked_at * sample.seen
        for kind, at in places.items():
            columns = list(at)
            if kind == "gaussian":
                usual = replace(
                    self._normal_columns(x[:, columns], context), rounding=self._rounding(at, context.units)
                )
                parts[kind] = own.normal(usual, at, context.units)
            elif kind == "student":
                usual = self._normal_columns(trimmed(x[:, columns]), context)
                parts[kind] = StudentColumns.prior(own.normal(usual, at, context.units))
            elif kind == "bernoulli":
                half = np.full((1, len(at)), 0.5 * worth)
                parts[kind] = BernoulliColumns(Beta(half, half))
            elif kind in ("poisson", "negative-binomial"):
                events = x[:, columns].mean(axis=0) * shown[columns]
                mean = (events + COUNT_WORTH) / (looked_at[:, columns].sum(axis=0) + 1.0)
                parts[kind] = _count_columns(kind, *own.counts(mean, at, unit or 1.0), exposed=unit > 0)
            else:
                levels = tuple(len(self.columns_.levels[d]) for d in at)
                parts[kind] = CategoricalColumns.prior(levels, worth, kind == "ordinal")
        return Mixture(self._weight_family(), MixedColumns(parts, places))

    def _rounding(self, at: Sequence[int], units: Units) -> Floats | None:
        """What rounding adds to squares of these columns, in units of the model; None where none has steps."""
        steps = np.array([self.columns_.steps[d] for d in at] if self.columns_.steps else [])
        return (
            (steps / np.broadcast_to(units.scale, len(self.columns_.names))[list(at)]) ** 2 / 12
            if steps.any()
            else None
        )

    def _normal_columns(self, x: Floats, context: FitContext) -> NormalColumns:
        spread = np.sqrt(x.var(axis=0))
        order = np.argsort((x / np.where(spread > 0, spread, 1.0)).sum(axis=1))  # the same in all units of measurement
        mean, inside, strength = normal_prior(x[order], self._default_size(context))
        one = np.ones((1, 1))
        return NormalColumns(mean[None], strength * one, one, inside[None])

    def _start(self, model: Mixture, context: FitContext, restart: int) -> MixturePosterior:
        sample, rng = context.sample, context.rng
        x, k, exposure = filled(sample), self._starting_size(context), exposure_of(sample)
        if not isinstance(self.init, str):
            given = self._given_centres(x.shape[1], context.units)
            looked_at = None if exposure is None else np.concatenate([np.ones(len(given)), host(exposure)])
            points = model.coordinates(np.concatenate([given, x]), looked_at)
            labels, k = nearest_labels(points[len(given) :], points[: len(given)]), len(given)
        elif one_of("init", self.init, ["auto", "random"]) == "random":
            share = rng.dirichlet(np.ones(k), len(x))
            return model.global_step(model.prior(k), model.statistics(sample, Memberships(share)))
        else:
            return self._gathered(model, context, sample, model.coordinates(x, exposure), restart)
        return model.global_step(model.prior(k), model.statistics(sample, Memberships(np.eye(k)[labels])))

    def _given_centres(self, d: int, units: Units) -> Floats:
        """(K, D), centres that the caller gave in data units; levels are encoded as those of rows are."""
        return host(units.enter(self.columns_.encode(Rows(self._checked_centres(d)))).x)

    def _publish(self, q: MixturePosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        means = units.leave(q.clusters.mean)
        if self.columns_.exposure_unit:  # counts in one unit of exposure
            counted = np.isin(self.columns_.kinds, COUNTS)
            means = means / np.where(counted, self.columns_.exposure_unit, 1.0)
        return {"weights": q.weights.mean, "means": means, "components": means}

    def _doubt_identity(self) -> None:
        """Warn where columns of 0 and 1 are too few for the classes found."""
        k, d = self.n_components_, len(self.columns_.names)
        if k > 1 and set(self.columns_.kinds) == {"bernoulli"} and d < 2 * k - 1:
            warn(
                NotIdentified(
                    f"{d} columns of 0 and 1 do not identify {k} classes: other classes explain the rows equally well.",
                    f"Give {2 * k - 1} columns or more, or ask for at most {(d + 1) // 2} classes.",
                )
            )


def _count_columns(
    kind: str, mean: Floats, worth: Floats, *, exposed: bool
) -> PoissonColumns | NegativeBinomialColumns | ExposedCounts:
    """The prior of counts about their means, and how many rows those are worth."""
    if kind == "poisson":
        return PoissonColumns(Gamma(worth[None], (worth / mean)[None]))
    return ExposedCounts.prior(mean, worth) if exposed else NegativeBinomialColumns.prior(mean, worth)
