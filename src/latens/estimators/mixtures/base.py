"""What estimators of clusters share: weights, starts, predictions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self, cast

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats, Index
from latens.array.linalg import cholesky
from latens.array.special import xlogx
from latens.array.transfer import host, is_sparse
from latens.core import Rows, blocks
from latens.estimators.base import VariationalTransformer
from latens.estimators.class_association import Assigned, covariates_table, outcomes_table
from latens.estimators.display.strongest import standard_errors
from latens.estimators.fitting.context import FitContext, checkpointing
from latens.estimators.fitting.fit_doubts import doubt_fit, looking_over
from latens.estimators.fitting.known_codes import KnownCodes, known_labels
from latens.estimators.fitting.starts import kmeans_labels, nearest_labels, within_variances
from latens.estimators.former_names import keywords_after_y
from latens.estimators.information_criteria import InformationCriteria
from latens.estimators.intervals.error_rates import ErrorRates, error_rates
from latens.estimators.parameters import (
    all_or_nothing,
    keep_warnings,
    one_of,
    positive_number,
    probability,
)
from latens.estimators.rows.containers import contained
from latens.estimators.rows.data import Data, InBlocks, InMemory
from latens.estimators.rows.lazy import lazily, to_be_sent
from latens.estimators.rows.sampling import column_places, column_variances, filled
from latens.estimators.rows.units import Units
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.categorical_columns import CategoricalColumns
from latens.families.dirichlet import Dirichlet
from latens.families.exposed_counts import ExposedCounts
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.mixed_columns import MixedColumns
from latens.families.negative_binomial_columns import NegativeBinomialColumns
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.poisson_columns import PoissonColumns
from latens.families.sticks import Sticks
from latens.families.student_columns import StudentColumns
from latens.models.known_codes import KNOWN
from latens.models.mixture.model import ClusterStatistics, Memberships, Mixture, MixturePosterior
from latens.models.mixture.moves import agglomerated, deal
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask
from latens.system.summary_table import Table
from latens.system.threads import one_blas_thread

__all__ = ["MixtureEstimator", "normal_prior"]

FEWEST_ROWS = 8  # per cluster, where the number of clusters is to be found
MOST_CLUSTERS = 24
# times the number of clusters that their evidence asks for, to which rough ones are joined in turn: one start after the
# other. Rows are dealt to these anew before they are joined further: what rough clusters put together comes apart, as
# long as there are too many of them. Of clusters that overlap, evidence alone asks for too few: other starts leave more
TIMES_AGGLOMERATED = ((2.0, 1.0), (3.0, 1.5), (4.0, 2.0))
MOST_ROUGH_NUMBERS = 2**20  # of the covariances of rough clusters
CLASSIFIED_AT_ONCE = 8_192  # rows, whose memberships are held twice
MOST_RANKED = 20_000_000  # numbers of rows that outcomes may depend on
N_FILLINGS = 10  # steps of the one cluster that missing entries are first drawn from
LEAST_SHARE_OF_VARIANCE = 1e-3  # prior variance of a cluster at least, as a share of the data's


@dataclass(frozen=True)
class _Members:
    """Rows by the cluster they were assigned to and the clusters they may be of; two counts add."""

    table: Floats  # (K, K)
    entropy: float
    lost: Floats  # (2, K), rows that means and covariances are known less by
    unseen: Floats  # (K, D), of the rows that may be of a cluster, those that do not show a column

    def __add__(self, other: _Members) -> _Members:
        entropy, unseen = self.entropy + other.entropy, self.unseen + other.unseen
        return _Members(self.table + other.table, entropy, self.lost + other.lost, unseen)

    def times(self, each: float) -> _Members:
        return _Members(each * self.table, each * self.entropy, each * self.lost, each * self.unseen)

    @classmethod
    def none(cls, k: int, d: int) -> _Members:
        return cls(np.zeros((k, k)), 0.0, np.zeros((2, k)), np.zeros((k, d)))


@dataclass(frozen=True)
class _CountMembers:
    """The members among the rows of a block, wherever it is read."""

    estimator: Any

    def __call__(self, rows: Rows, _: Any) -> tuple[None, _Members]:
        k = self.estimator.n_components_
        none = _Members.none(k, self.estimator.n_features_in_)
        if not len(rows):
            return None, none
        share, lost = self.estimator._shares_of_fit(rows)
        weight = np.ones(len(share)) if rows.weight is None else host(rows.weight)
        weighted = share * weight[:, None]
        table = np.eye(k)[np.argmax(share, axis=1)].T @ weighted
        is_asked = rows.seen is not None and self.estimator.posterior_.clusters.joint  # others have sums that tell it
        unseen = weighted.T @ (host(rows.seen) == 0) if is_asked else none.unseen
        return None, _Members(table, -float(weight @ xlogx(share).sum(axis=1)), lost, unseen)

    def counted(self, rows: Rows) -> list[_Members]:
        starts = range(0, len(rows), CLASSIFIED_AT_ONCE)
        return [self(rows[slice(at, at + CLASSIFIED_AT_ONCE)], None)[1] for at in starts]


class MixtureEstimator(InformationCriteria, KnownCodes, VariationalTransformer):
    """Adds memberships to the shell; a subclass builds the prior of one cluster and publishes it.

    Attributes
    ----------
    components_ : array (K, D)
        `means_`, under the name that other estimators use for the parameters of a component.
    n_parameters_ : int
        Number of free parameters, of the weights and of all clusters.
    entropy_ : float
        Certainty of the memberships, from 0 to 1: 1 minus the entropy of the memberships over its largest value.
    classification_table_ : Table
        For each cluster: rows assigned to it, and the mean probability of each cluster among them.
    classification_ : array (K, K)
        Rows assigned to each cluster, by the clusters that they may belong to; counts.
    membership_entropy_ : float
        Entropy of the memberships, summed over all rows, in nats.
    """

    _component_noun: ClassVar[str] = "cluster"

    weight_prior: str
    weight_concentration_prior: float | None
    classification_: Floats  # (K, K), rows assigned to a cluster, by the clusters they may be of
    membership_entropy_: float  # of all rows of the fit, in nats
    file_attributes: ClassVar[tuple[str, ...]] = ("classification_", "membership_entropy_", *KnownCodes.file_attributes)

    @keywords_after_y("sample_weight")
    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, known: Any = None, checkpoint: Any = None
    ) -> Self:
        """Fit the model to rows X (n, D).

        Parameters
        ----------
        X : array of shape (n, D)
            Rows are samples. NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        known : array of shape (n,), optional
            Known clusters of rows, numbered from 0; -1 or NaN for rows with unknown cluster. Cluster k is then that of
            label k, and none is added, merged or deleted; `n_components` above the number of labels allows for
            other clusters. `elbo_` is a bound on the log probability of rows and known labels together.
        checkpoint : path, optional
            A folder from which a killed or interrupted fit continues, with the same result.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self), all_or_nothing(self):
            context, _ = self._fit(X, sample_weight, moves=self.moves, known=known, checkpoint=opened)
            with self._completing():
                self._classify(context.given)
            with looking_over(self):
                doubt_fit(self, context)
                self._doubt_shapes(context)
        return self

    def _doubt_shapes(self, context: FitContext) -> None:
        """Warn where clusters of another shape would be fewer."""

    @contained("components", "cluster")
    @lazily
    def predict(self, X: Any) -> Array:
        """The most probable cluster of each row.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.

        Returns
        -------
        array of int, of shape (n,)
            Clusters, numbered as in `weights_`.
        """
        proba = self._shares(X)
        return array_namespace(proba).argmax(proba, axis=1)

    @contained("components")
    @lazily
    def predict_proba(self, X: Any) -> Array:
        """Probability of each cluster for each row, under the density of `score_samples`.

        Parameters are integrated out; `transform` has the memberships of the variational posterior.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.

        Returns
        -------
        array of shape (n, K)
            Rows add up to 1.
        """
        return self._shares(X)

    def _shares(self, X: Any) -> Array:
        """(n, K), what `predict_proba` says, as an array."""
        q = self._predictive()
        return self._ask_rows(X, lambda rows: (self._model.predicted_memberships(q, rows),))[0]

    def _shares_of_fit(self, rows: Rows) -> tuple[Floats, Floats]:
        """(n, K) of rows that a fit has seen, in the units of the data: nothing is left to be checked.

        And the rows (2, K) that clusters are known less by, since those are not certain of them, or have holes.
        """
        parts = blocks(rows, self._model.floats_per_row(self.n_components_))
        with one_blas_thread():
            each = [self._model.classified(self.posterior_, self._units.enter(part)) for part in parts]
        lost = [part for _, part in each if part is not None]
        return np.concatenate([host(share) for share, _ in each]), sum(lost, np.zeros((2, self.n_components_)))

    def _known_codes(self, known: Any, n_rows: int) -> Floats:
        return known_labels(known, n_rows, self.n_components)

    @keywords_after_y("sample_weight")
    def fit_predict(self, X: Any, y: Any = None, *, sample_weight: Any = None, known: Any = None) -> Array:
        """Fit, and return the most probable cluster of each row.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        known : array of shape (n,), optional
            Labels known for some rows, as in `fit`.

        Returns
        -------
        array of int, of shape (n,)
        """
        return self.fit(X, sample_weight=sample_weight, known=known).predict(X)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: of the weights, and of each cluster."""
        check_is_fitted(self)
        weights = 0 if isinstance(self.posterior_.weights, KnownDirichlet) else self.n_components_ - 1
        return weights + _n_parameters(self._model.clusters, self.n_components_)

    @property
    def entropy_(self) -> float:
        """How well clusters are distinguished, from 0 to 1: 1 less the entropy of the memberships over its largest."""
        check_is_fitted(self)
        largest = self.classification_.sum() * np.log(self.n_components_)
        return float(1 - self.membership_entropy_ / largest) if largest > 0 else 1.0

    @property
    def classification_table_(self) -> Table:
        """Of the rows assigned to each cluster, how many they are and how probable each cluster is on average."""
        check_is_fitted(self)
        names = [str(name) for name in self.get_feature_names_out()]
        counts = self.classification_.sum(axis=1)
        mean = self.classification_ / np.maximum(counts, np.finfo(float).tiny)[:, None]
        rows = zip(names, counts.tolist(), mean.tolist(), strict=True)
        return Table(("assigned to", "rows", *names), tuple((name, n, *each) for name, n, each in rows))

    def associate(self, metadata: Any, X: Any = None, *, role: str = "outcomes", level: float = 0.95) -> Table:
        """Compare clusters with each column of metadata, corrected for misclassified rows.

        Columns as outcomes: the mean of numbers and the shares of labels in each cluster (Bolck, Croon and Hagenaars).
        Columns as covariates: the odds of clusters given all covariates together (maximum likelihood, Vermunt).
        The correction of outcomes assumes that they depend on X only through the cluster. Where a test at .01 finds
        that a column depends on X beyond it, the correction would go too far: rows are weighted by memberships, as
        is right if the column depends on the cluster only through X (`DirectEffects`). If it depends on both, these
        means are too much alike. Columns of X themselves are weighted by memberships too, which gives the means of
        the model. No mean lies beyond the observed values.
        Differences between clusters in a number are tested by permutations of the rows, and the variance in small
        clusters is estimated partly from all rows. Dates are in UTC, odds per day. Clusters in which no row has a
        value, and columns that are linear combinations of others, are NaN (`NotMeasured`, `CollinearColumns`).
        Infinite odds, as for a level that never occurs in a cluster, are replaced by those under Jeffreys' prior
        (`EndlessOdds`), which adds half the log determinant of the information of known clusters to the log
        likelihood.

        Intervals include the uncertainty of the clusters themselves if the posterior has at most 500 coordinates and
        rows are in memory; the `note` of the table says whether they do. A fit with weights or known labels treats
        its own rows as new rows, which changes intervals little.

        Parameters
        ----------
        metadata : data frame, Series or dict of columns
            Other columns about the rows of X, aligned by row name if both have names.
        X : array of shape (n, D)
            Rows like those of `fit`.
        role : {"outcomes", "covariates"}
            Role of the columns.
        level : float
            Coverage of the intervals.

        Returns
        -------
        Table
            Outcomes: column, of, cluster, estimate, low, high, uncorrected, p and adjusted p that clusters are alike,
            n. Covariates: cluster, against, covariate, log odds, low, high, odds ratio, p, adjusted p, n.
        """
        return self._associated(metadata, X, role, level, {})

    def _associated(self, metadata: Any, X: Any, role: str, level: float, beside: dict[str, Any]) -> Table:
        """What `associate` says of rows, with what is known `beside` them."""
        role, level = one_of("role", role, ["outcomes", "covariates"]), probability("level", level)
        row_names = self._codes_of(X, **beside)[1]
        share = np.asarray(host(self.predict_proba(X, **beside)), dtype=np.float64)
        rows = self._rows_in_memory(X, beside) if share.shape[1] > 1 else None
        estimated = None if rows is None else self._error_rates(rows, share)
        names = tuple(map(str, self.get_feature_names_out()))
        assigned = Assigned(share, names, estimated, None if rows is None else _numbers_of(rows))
        table = outcomes_table if role == "outcomes" else covariates_table
        return table(assigned, metadata, row_names, level)

    def _rows_in_memory(self, X: Any, beside: dict[str, Any]) -> Rows | None:
        """Rows in the units of the model; None of those that are read in blocks."""
        if isinstance(X, Scan) or is_dask(X):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said of these rows already
            return self._units.enter(self._rows_of_fit(X, **beside))

    def _error_rates(self, rows: Rows, share: Floats) -> ErrorRates | None:
        """Error rates of assignments, clusters being estimated."""
        try:
            self._check_same_data(
                self._statistics(self._state.q, blocks(rows, self._model.floats_per_row(self.n_components_)))
            )
            of_fit = True
        except ValueError:  # other rows
            of_fit = False
        return error_rates(self._model, self.posterior_, rows, share, float(self._state.stats.n), of_fit)

    def _classify(self, data: Data, *, each: float = 1.0, add: bool = False) -> None:
        """Count to which clusters rows were assigned, and to which they may belong; each stands for so many rows."""
        members = _Members.none(self.n_components_, self.n_features_in_)
        lost_is_known = not add or "lost_rows_" in vars(self)  # not of a fit from a file that was written before
        if add and getattr(self, "classification_", np.zeros((0, 0))).shape == members.table.shape:
            lost = vars(self).get("lost_rows_", members.lost)
            unseen = vars(self).get("unseen_rows_", members.unseen)
            members = _Members(self.classification_, self.membership_entropy_, lost, unseen)
        step = _CountMembers(to_be_sent(self) if isinstance(data, InBlocks) else self)
        parts = [data.source.total(step)] if isinstance(data, InBlocks) else step.counted(cast("InMemory", data).rows)
        for part in parts:
            members = members + part.times(each)
        self.classification_, self.membership_entropy_ = members.table, members.entropy
        if lost_is_known:
            self._keep_lost(members.lost)
        self._keep_unseen(members.unseen)

    def _keep_lost(self, lost: Floats) -> None:
        """Where clusters have numbers that are known by fewer rows than they have, remember by how many (2, K)."""

    def _keep_unseen(self, unseen: Floats) -> None:
        """Where statistics do not tell it, remember how many rows of each cluster lack each column (K, D)."""

    def _tell_fit(self, data: Data, each: float) -> None:
        self._classify(data, each=each)

    def _tell_batch(self, rows: Rows) -> None:
        self._classify(InMemory(rows), add=True)

    def _n_free(self) -> int:
        return self.n_parameters_

    def _column_strengths(self) -> Floats:
        """(K, D), how far each cluster is from all rows together, in standard deviations of the columns."""
        gaps: Floats = self.means_ - self.weights_ @ self.means_
        return np.asarray(gaps / np.maximum(self._column_spread(), np.finfo(float).tiny))

    def _strength_errors(self) -> Floats:
        """(K, D), of means of the rows of a cluster that show a column."""
        within = self._units.leave_variance(self.posterior_.clusters.row_variance)
        spread = np.maximum(self._column_spread(), np.finfo(float).tiny)
        return np.asarray(standard_errors(within, self._rows_shown()) / spread)

    def _rows_shown(self) -> Floats:
        """(K, D), rows of each cluster in which a column was observed; of counts with exposures, the sum of those."""
        stats: Any = self._state.stats
        return np.broadcast_to(stats.seen, stats.x.shape)[self._living()[0]]

    def _column_spread(self) -> Floats:
        clusters, weights = self.posterior_.clusters, self.posterior_.weights.mean
        about = weights @ ((clusters.mean - weights @ clusters.mean) ** 2 + clusters.row_variance)
        return np.asarray(np.sqrt(self._units.leave_variance(about)))

    def _component_shares(self) -> Floats:
        """(K,), of the rows that were assigned to each; the weights where these are not known."""
        counts = np.asarray(getattr(self, "classification_", np.zeros((0, 0))), dtype=np.float64)
        return np.asarray(counts.sum(axis=1) / counts.sum() if counts.sum() > 0 else self.weights_)

    def _share_parts(self, q: Any) -> Floats:
        return np.zeros((0, 1))  # a cluster's share is its weight

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("lower_bound_", "lower_bounds_"):
            raise AttributeError(
                f"{type(self).__name__} has no {name}: use elbo_, a lower bound on the log evidence with all its "
                "constants; elbo_ / n_rows is on the scale of scikit-learn's. Of models of the same rows, prefer the "
                "one whose elbo_ is higher."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _weight_family(self) -> Dirichlet | Sticks | KnownDirichlet:
        """The prior of the weights, for one component."""
        kind = one_of("weight_prior", self.weight_prior, ["dirichlet", "dirichlet_process", "uniform"])
        given = self.weight_concentration_prior
        level = 1.0 if given is None else positive_number("weight_concentration_prior", given)
        if kind == "dirichlet":
            return Dirichlet(np.array([level]))
        return Sticks.prior(1.0, 1.0 / level) if kind == "dirichlet_process" else KnownDirichlet(np.ones(1))

    def _start(self, model: Mixture, context: FitContext, restart: int) -> MixturePosterior:
        sample, rng = context.sample, context.rng
        complete = self._rows_without_holes(model, context)
        x: Array = sample.x if is_sparse(sample.x) else filled(sample) if complete is None else complete.x
        variance = column_variances(x)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        if not isinstance(self.init, str):
            centres = self._given_centres(x.shape[1], context.units)
            return _of_labels(model, Rows(x), nearest_labels(x / scale, centres / scale), len(centres))[0]
        k = self._starting_size(context)
        if one_of("init", self.init, ["auto", "random"]) == "random":
            centres = self._random_centres(x, k, rng)
            return model.global_step(model.prior(k), model.imagined(np.full(k, x.shape[0] / k), centres, variance))
        return self._gathered(model, context, Rows(x), x / scale if model.axes is None else x @ model.axes, restart)

    def _gathered(
        self, model: Mixture, context: FitContext, rows: Rows, points: Array, restart: int
    ) -> MixturePosterior:
        """Rough clusters of points, joined while their evidence rises, then rows dealt by the predictive density.

        How many rough ones there are does not depend on how many are allowed, nor do other starts than the first where
        these are crossed as they are: with more allowed, a search begins as with less.
        """
        k = self._starting_size(context)
        rough = max(k, self._rough_size(model, context)) if self._seeks_number else k
        q, stats = _of_labels(model, rows, kmeans_labels(points, rough, context.rng), rough)
        if self._keeps_all or not self.moves:
            return q
        first, then = TIMES_AGGLOMERATED[restart % len(TIMES_AGGLOMERATED)]
        most = rough if restart and model.crosses_unmoved(rows) else k
        q = deal(model, agglomerated(model, q, stats, first), rows, rows.n)
        stats = model.statistics(rows, model.predicted_step(q, rows))
        return deal(model, agglomerated(model, q, stats, then, most), rows, rows.n)

    def _rough_size(self, model: Mixture, context: FitContext) -> int:
        """Rough clusters that a start is made of: few, where each has a large covariance."""
        d = context.sample.x.shape[1]
        most = MOST_ROUGH_NUMBERS // d**2 if model.clusters.joint else MOST_CLUSTERS * context.growth
        return min(self._default_size(context), most)

    def _rows_without_holes(self, model: Mixture, context: FitContext) -> Rows | None:
        """Missing entries drawn from one normal, given those that were seen.

        Column means in their place would look like clusters of their own, each with other holes.
        """
        sample = context.sample
        if sample.seen is None or not model.clusters.joint or KNOWN in sample.aux:
            return None
        found: list[Rows] = sample.cached("entries drawn from one normal", list)
        if not found:
            found.append(_without_holes(model, sample))
        return found[0]

    def _random_centres(self, x: Array, k: int, rng: np.random.Generator) -> Floats:
        """The textbook's start: normal about the mean of the data, at their scale."""
        drawn = rng.normal(size=(k, x.shape[1]))[:, column_places(Rows(x))]
        return np.asarray(x.mean(axis=0) + drawn * x.std(axis=0))

    def _given_centres(self, d: int, units: Units) -> Floats:
        """(K, D), centres that the caller gave in data units, as the model takes them."""
        return units.enter_direction(self._checked_centres(d) - units.origin)

    def _checked_centres(self, d: int) -> Floats:
        """(K, D), the same in data units."""
        given = self.init.get("means") if isinstance(self.init, dict) else self.init
        try:
            centres = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            centres = np.zeros(0)
        k = self.n_components or (len(centres) if centres.ndim else 0)
        if centres.ndim != 2 or centres.shape != (k, d) or not np.isfinite(centres).all():
            raise ValueError(
                f"init={self.init!r} gives no centres; expected 'auto', 'random', or finite values of shape "
                f"({self.n_components or 'K'}, {d}), as an array or as {{'means': array}}."
            )
        return centres

    def _default_size(self, context: FitContext) -> int:
        return int(max(1, min(context.growth * MOST_CLUSTERS, len(context.sample) // FEWEST_ROWS)))


def _numbers_of(rows: Rows) -> Floats | None:
    """(n, D), NaN where missing; None of rows that are sparse, or too many to be ranked in passing."""
    if is_sparse(rows.x) or rows.x.shape[0] * rows.x.shape[1] > MOST_RANKED:
        return None
    x = np.asarray(host(rows.x), dtype=float)
    return x if rows.seen is None else np.where(np.asarray(host(rows.seen)), x, np.nan)


def _without_holes(model: Mixture, sample: Rows) -> Rows:
    x = filled(sample)
    q, _ = _of_labels(model, Rows(x), np.zeros(len(x), dtype=np.intp), 1)
    for _ in range(N_FILLINGS):
        q = model.global_step(q, model.statistics(sample, model.local_step(q, sample)))
    x = np.array(host(model.impute(q, sample, model.local_step(q, sample))[0]))
    places, precision = column_places(sample), cast("NormalWishart", q.clusters).precision[0]
    noise = np.random.default_rng(0).normal(size=x.shape)[:, places]
    for rows, _, missing in sample.patterns:  # entries of a row together: each by itself would loosen how columns go
        if len(missing):
            missing = missing[np.argsort(places[missing])]
            root = cholesky(precision[np.ix_(missing, missing)])
            x[np.ix_(rows, missing)] += np.linalg.solve(root.T, noise[np.ix_(rows, missing)].T).T
    return replace(sample, x=x, seen=None)


def _of_labels(model: Mixture, rows: Rows, labels: Index, k: int) -> tuple[MixturePosterior, ClusterStatistics]:
    """The posterior if these labels were the clusters, and its statistics."""
    stats = model.statistics(rows, Memberships(np.eye(k)[labels]))
    return model.global_step(model.prior(k), stats), stats


def normal_prior(x: Floats, k: int) -> tuple[Floats, Floats, float]:
    """Of real columns, from complete rows: mean (D,) and variance (D,) within a cluster, and what its mean is worth.

    The variance is between that of k rough clusters and that of the data, however many clusters are asked for.
    """
    variance = x.var(axis=0)
    variance[variance == 0] = variance.mean() or 1.0  # a column that never varies tells clusters nothing
    ratio = np.clip(within_variances(x, k) / variance, LEAST_SHARE_OF_VARIANCE**2, 1.0)
    return x.mean(axis=0), np.sqrt(ratio) * variance, float(np.mean(np.sqrt(ratio)))


def _n_parameters(clusters: Any, k: int) -> int:
    """Of k clusters of a family."""
    d = clusters.mean.shape[1]
    match clusters:
        case MixedColumns():
            return sum(_n_parameters(part, k) for part in clusters.parts.values())
        case NormalWishart():
            return int(k * d + (1 if clusters.tied else k) * d * (d + 1) // 2)
        case NormalColumns():
            return int(k * d + k * (1 if clusters.shared else d))
        case CategoricalColumns():
            return int(k * (sum(clusters.levels) - d))
        case StudentColumns():
            return int((2 * k + 1) * d)  # degrees of freedom are those of all clusters
        case NegativeBinomialColumns() | ExposedCounts():
            return int((k + 1) * d)  # sizes are those of all clusters
        case BernoulliColumns() | NormalMeans() | PoissonColumns():
            return int(k * d)
    raise TypeError(f"{type(clusters).__name__} does not say how many parameters it has.")
