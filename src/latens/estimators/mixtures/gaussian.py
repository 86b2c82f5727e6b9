"""Clusters of real rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.linalg import cholesky, inverse
from latens.array.rounding import rounding_variances, steps_of
from latens.array.transfer import host
from latens.core import Rows, Statistics
from latens.errors import DoubtfulScale, warn
from latens.estimators.fitting.context import FitContext
from latens.estimators.fitting.independent_columns import independent_axes, independent_bound
from latens.estimators.mixtures.base import MixtureEstimator, normal_prior
from latens.estimators.mixtures.cluster_prior import likeliest_prior
from latens.estimators.parameters import one_of, positive_number
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.sampling import filled
from latens.estimators.rows.units import Units
from latens.families.dirichlet import Dirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.normals import Normals
from latens.families.sticks import Sticks
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior
from latens.models.mixture.moves import agglomerated
from latens.system.memory import free_memory, in_words

__all__ = ["GaussianMixture"]

LARGEST_PART = 0.25  # of the free memory, that covariances alone may take
LEAST_RATIO_OF_WIDTHS = 1.5  # times as far as another, that a column spreads within clusters: they are not round
COVARIANCES = ["full", "tied", "diag", "spherical", "known"]


class GaussianMixture(MixtureEstimator):
    """Find clusters of rows of measurements, and their number.

    Parameters
    ----------
    n_components : int, optional
        Largest number of clusters; unneeded clusters are merged or deleted. None chooses this limit.
    covariance_type : {"full", "tied", "diag", "spherical", "known"}
        Covariance of the clusters: any, one for all clusters, diagonal, spherical, or spherical with known variance.
    weight_prior : {"dirichlet", "dirichlet_process", "uniform"}
        Prior of the cluster sizes: learnt sizes, learnt sizes that favour a few large clusters, or equal sizes.
    noise_variance : float
        Variance of every column within a cluster, with ``covariance_type="known"``; in data units.
    mean_prior_variance : float, optional
        Prior variance of the centres, with ``covariance_type="known"``; None uses the variance of the data.
    weight_concentration_prior : float, optional
        Concentration of the Dirichlet prior per cluster, or the mean concentration of the Dirichlet process; None is 1.
    mean_prior : array of shape (D,), optional
        Prior mean of the centres; None is the mean of the data.
    mean_precision_prior : float, optional
        Weight of `mean_prior`, in rows; None lets centres spread as far as the data.
    degrees_of_freedom_prior : float, optional
        Weight of `covariance_prior`, in rows; above D - 1. None is D + 1, and up to 5 D + 1 for full covariances
        if columns are weakly correlated in rough clusters of the rows (see `degrees_of_freedom_prior_`).
    covariance_prior : array of shape (D, D) or (D,), or float, optional
        Prior scatter of a cluster, of the shape that `covariance_type` requires. None estimates it from the data,
        column by column, so that units of measurement do not matter; for full and tied covariances along the
        principal axes of the rows, if these describe rough clusters better (see `covariance_prior_`).
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept.
    init : {"auto", "random"}, array of shape (K, D) or dict
        k-means++ starts, random centres (textbook), or given centres in data units (also as ``{"means": array}``).
    moves : bool
        Whether to try merging, splitting, deleting and exchanging clusters; accepted only if the bound rises.
    prune : bool
        Whether unneeded components are left out; False fits and publishes exactly `n_components`.
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
        Expected share of each cluster, the largest first.
    means_ : array (K, D)
    covariances_, precisions_, precisions_cholesky_ : array
        (K, D, D), (D, D), (K, D) or (K,) for full, tied, diag, and spherical or known; the inverse of the expected
        precision, the expected precision, and its Cholesky factor U with U U' equal to it. With many columns and few
        rows the first is below the middle of the posterior of the covariance, which `intervals` reports.
    share_ : array (K,)
        Share of the rows in each cluster.
    weight_concentration_, mean_precision_, degrees_of_freedom_ : array
        Parameters of the posterior, if its family has them; for a Dirichlet process a pair, as in scikit-learn.
    weight_concentration_prior_, mean_prior_, mean_precision_prior_, degrees_of_freedom_prior_, covariance_prior_
        Parameters of the prior, given or estimated from the data, if its family has them; in data units.
    lost_rows_ : array (2, K)
        With full covariances: the number of rows by which the mean, and the covariance, of each cluster are known less
        well, since entries are missing or rows may belong to other clusters. `impute`, `predict_proba`,
        `score_samples` and `sample` subtract these rows; `posterior_` does not.
    unseen_rows_ : array (K, D)
        With full and tied covariances and missing entries: in how many rows of a cluster each column is missing.
        `top_features` and `summary` do not describe a cluster by columns that are missing in all its rows.
    rounding_ : array (D,)
        Detected rounding step of each column, in data units; 0 if there is none, or if it is below a hundredth of the
        spread. The true value of a rounded number may be anywhere within half a step: its square counts as
        y^2 + step^2 / 12, so that no cluster is narrower than a step, and `covariances_` are larger by step^2 / 12 than
        those of scikit-learn. With full and tied covariances, rows with missing entries have no such correction.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_
        As in every estimator; the reference describes them.

    Examples
    --------
    >>> import latens
    >>> X, truth = latens.datasets.make_mixture(300, n_components=3, random_state=1)
    >>> model = latens.GaussianMixture(10, random_state=0).fit(X)
    >>> model.n_components_
    3
    >>> model.predict(X).shape, model.score_samples(X).shape
    ((300,), (300,))
    """

    lost_rows_: Floats
    unseen_rows_: Floats
    file_attributes: ClassVar[tuple[str, ...]] = (*MixtureEstimator.file_attributes, "lost_rows_", "unseen_rows_")

    def __init__(
        self,
        n_components: int | None = None,
        *,
        covariance_type: str = "full",
        weight_prior: str = "dirichlet",
        noise_variance: float = 1.0,
        mean_prior_variance: float | None = None,
        weight_concentration_prior: float | None = None,
        mean_prior: Any = None,
        mean_precision_prior: float | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
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
        self.covariance_type = covariance_type
        self.weight_prior = weight_prior
        self.noise_variance = noise_variance
        self.mean_prior_variance = mean_prior_variance
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior

    @property
    def weight_concentration_prior_(self) -> float:
        if self.weight_prior == "dirichlet_process":
            return float(self._prior_of("weights", "alpha").mean[0])
        return float(self._prior_of("weights", "concentration")[0])

    @property
    def mean_prior_(self) -> Floats:
        return np.asarray(self._units.leave(self._prior_of("clusters", "mean")[0]))

    @property
    def mean_precision_prior_(self) -> float:
        return float(self._prior_of("clusters", "strength").reshape(-1)[0])

    @property
    def degrees_of_freedom_prior_(self) -> float:
        return float(self._prior_of("clusters", "dof").reshape(-1)[0])

    @property
    def covariance_prior_(self) -> Floats | float:
        scatter = self._prior_of("clusters", "scatter")[0]
        if self.covariance_type in ("full", "tied"):
            return self._units.leave_covariance(scatter)
        scatter = self._units.leave_variance(scatter)
        return float(scatter[0]) if self.covariance_type == "spherical" else scatter

    @property
    def rounding_(self) -> Floats:
        check_is_fitted(self)
        return np.asarray(self._units.leave_direction(steps_of(self._model.rounding, self.n_features_in_)))

    def _prior_of(self, part: str, name: str) -> Any:
        """What the prior has by that name, in model units; an AttributeError where this kind of mixture has none."""
        check_is_fitted(self)
        return getattr(getattr(self._model, part), name)

    def _keep_lost(self, lost: Floats) -> None:
        if self.covariance_type == "full":
            self.lost_rows_ = lost
        elif "lost_rows_" in vars(self):  # of an earlier fit
            del self.lost_rows_

    def _keep_unseen(self, unseen: Floats) -> None:
        if "unseen_rows_" in vars(self):  # of an earlier fit
            del self.unseen_rows_
        if self.covariance_type in ("full", "tied") and unseen.any():
            self.unseen_rows_ = unseen

    def _rows_of_spreads(self) -> Floats | None:
        return None if self.covariance_type in ("tied", "known") else self._rows_shown()

    def _rows_shown(self) -> Floats:
        unseen = getattr(self, "unseen_rows_", None)  # files that were written before lack it
        if unseen is None or len(unseen) != self.n_components_:
            return super()._rows_shown()
        return np.asarray(np.maximum(np.sum(self.classification_, axis=0)[:, None] - unseen, 0.0))

    def _predictive(self) -> MixturePosterior:
        """The posterior with clusters as known as the rows make them."""
        q: MixturePosterior = super()._predictive()
        lost = getattr(self, "lost_rows_", None)  # files that were written before lack it
        of_these = lost is not None and lost.shape[1] == q.n_components and lost.any()
        return self._model.without_rows(q, lost) if of_these else q

    @property
    def _centred(self) -> bool:
        return True

    @property
    def _own_units(self) -> bool:
        """Where clusters have a variance for each column; one that columns share has their common unit."""
        return self.covariance_type in ("full", "tied", "diag")

    def _units_of(self, data: Data, sample: Rows, centred: bool) -> Units:
        units = super()._units_of(data, sample, centred)
        # a prior that was given stays where it is, also in columns not yet seen
        return units if self.mean_prior is None else replace(units, unseen=())

    def _independent_axes(self, model: Mixture, context: FitContext) -> tuple[Rows, Floats] | None:
        """Axes along which rows do not go together where one cluster may be long in any direction."""
        if self.covariance_type not in ("full", "tied"):
            return None
        complete = self._rows_without_holes(model, context)
        rows = context.sample if complete is None else _with_constants(complete, context.sample)
        axes = independent_axes(rows) if rows.seen is None else None
        return None if axes is None else (rows, axes)

    def _alone(self, model: Mixture, context: FitContext, fewest: float) -> float:
        """Also independent columns themselves, which one covariance of many columns may be far below with few rows."""
        level, data = super()._alone(model, context, fewest), context.data
        if self.covariance_type not in ("full", "tied") or not isinstance(data, InMemory):
            return level
        alone = independent_bound(data.rows, binary=False)
        return level if alone is None else max(level, alone - float(np.sum(data.rows.counts * context.units.log_scale)))

    def _build(self, context: FitContext) -> Mixture:
        self._check_memory(context)
        x = filled(context.sample)
        rounding = None if self.covariance_type == "known" else rounding_variances(x, context.precision)
        model = Mixture(self._weight_family(), self._cluster_family(x, context), rounding)
        given = self.degrees_of_freedom_prior is not None or self.covariance_prior is not None
        if given or not isinstance(model.clusters, NormalWishart):
            return model
        complete = self._rows_without_holes(model, context)
        x, k = x if complete is None else complete.x, self._default_size(context)
        return replace(model, clusters=likeliest_prior(model.clusters, x, k, self.mean_precision_prior))

    def _doubt_shapes(self, context: FitContext) -> None:
        """Warn where one variance for all columns cuts clusters along the wide ones."""
        k, sample = self.n_components_, context.sample
        searched = self.moves and self.converged_ and not self._keeps_all
        if self.covariance_type != "spherical" or k < 2 or not searched or self.covariance_prior is not None:
            return
        diagonal = Mixture(self._weight_family(), self._cluster_family(filled(sample), context, "diag"))
        share = Memberships(self._model.local_step(self.posterior_, sample).mean)
        stats = diagonal.statistics(sample, share)
        q = agglomerated(diagonal, diagonal.global_step(diagonal.prior(k), stats), stats)
        wide, narrow, times = _widest(q)
        if q.n_components >= k or times < LEAST_RATIO_OF_WIDTHS:
            return
        names = self._feature_names()
        warn(
            DoubtfulScale(
                f"standard deviations within clusters differ, {names[wide]} {times:.3g} times {names[narrow]}, but "
                f"spherical clusters have one for all columns: {k} were found, where about {q.n_components} suffice "
                "with a variance for each column.",
                "Choose covariance_type='diag'.",
            )
        )

    def _check_memory(self, context: FitContext) -> None:
        """Refuse before anything is made where covariances alone would take a large part of the free memory."""
        if self.covariance_type not in ("full", "tied"):
            return
        d = context.sample.x.shape[1]
        k = self._starting_size(context) if self.covariance_type == "full" else 1
        needed, free = 8 * k * d * d, free_memory()
        if free is not None and needed > LARGEST_PART * free:
            raise ValueError(
                f"covariance_type={self.covariance_type!r} needs {k} x {d} x {d} numbers, {in_words(needed)}, for "
                f"covariances alone, and {in_words(free)} of memory are free; choose covariance_type='diag', or reduce "
                "the columns first, with latens.FactorAnalysis(10).fit_transform(X)."
            )

    def _cluster_family(
        self, x: Floats, context: FitContext, kind: str | None = None
    ) -> NormalWishart | NormalColumns | NormalMeans:
        """The prior of one cluster, in model units, about complete rows x of the sample; of another kind, if given."""
        units, d = context.units, x.shape[1]
        kind = one_of("covariance_type", kind or self.covariance_type, COVARIANCES)
        mean = x.mean(axis=0) if self.mean_prior is None else _moved(self._given("mean_prior", (d,)), units)
        if kind == "known":
            variance = x.var(axis=0)
            variance[variance == 0] = variance.mean() or 1.0
            noise = positive_number("noise_variance", self.noise_variance)
            spread: Any = variance.mean()
            if self.mean_prior_variance is not None:
                spread = units.enter_variance(positive_number("mean_prior_variance", self.mean_prior_variance))
            return NormalMeans(np.full((1, 1), units.enter_variance(noise)), mean[None], np.full((1, 1), spread))
        _, inside, strength = normal_prior(x, self._default_size(context))
        if self.mean_precision_prior is not None:
            strength = positive_number("mean_precision_prior", self.mean_precision_prior)
        dof = self._degrees(kind, d)
        if kind in ("full", "tied"):
            scatter = (dof - d + 1) * np.diag(inside)
            scatter = scatter if self.covariance_prior is None else self._scatter((d, d), units)
            return NormalWishart(mean[None], np.array([strength]), np.array([dof]), scatter[None], kind == "tied")
        rate = 0.5 * dof * (inside if kind == "diag" else inside.mean(keepdims=True))
        if self.covariance_prior is not None:
            rate = 0.5 * self._scatter((d,) if kind == "diag" else (), units).reshape(-1)
        shape = np.full((1, 1), 0.5 * dof)
        return NormalColumns(mean[None], np.full((1, 1), strength), shape, rate[None], kind == "spherical")

    def _degrees(self, kind: str, d: int) -> float:
        least = d - 1 if kind in ("full", "tied") else 0
        if self.degrees_of_freedom_prior is None:
            return least + 2.0
        dof = positive_number("degrees_of_freedom_prior", self.degrees_of_freedom_prior)
        if dof <= least:
            raise ValueError(
                f"degrees_of_freedom_prior={dof:g} is too small for {d} columns; choose more than {least}."
            )
        return dof

    def _scatter(self, shape: tuple[int, ...], units: Units) -> Floats:
        given = self._given("covariance_prior", shape)
        scatter: Floats = units.enter_covariance(given) if given.ndim == 2 else units.enter_variance(given)
        values = np.linalg.eigvalsh(scatter) if scatter.ndim == 2 else scatter
        if not np.all(values > 0) or (scatter.ndim == 2 and not np.allclose(scatter, scatter.T)):
            raise ValueError(
                f"covariance_prior={self.covariance_prior!r} is not positive definite; choose one that is."
            )
        return scatter

    def _given(self, name: str, shape: tuple[int, ...]) -> Floats:
        """A parameter, in data units."""
        try:
            value = np.asarray(getattr(self, name), dtype=float)
        except (TypeError, ValueError):
            value = np.full(1, np.nan)
        if value.shape != shape or not np.isfinite(value).all():
            raise ValueError(f"{name}={getattr(self, name)!r} does not fit; expected finite numbers of shape {shape}.")
        return value

    def _own_numbers(self, q: MixturePosterior, stats: Statistics) -> dict[str, Any]:
        return {**super()._own_numbers(q, stats), "covariances": self._central_covariances(q)}

    def _moving_numbers(self, q: MixturePosterior, stats: Statistics) -> dict[str, Any]:
        """Precisions and their factors are not among them."""
        means, covariances = self._units.leave(q.clusters.mean), self._central_covariances(q)
        return {"weights": q.weights.mean, "means": means, "components": means, "covariances": covariances}

    def _central_covariances(self, q: MixturePosterior) -> Floats:
        """Those that intervals are about, where `covariances_` are inverses of expected precisions."""
        clusters: Any = q.clusters  # a draw has covariances themselves
        return self._left(clusters.covariance if isinstance(clusters, Normals) else clusters.central_covariance)

    def _spread_beyond_response(self, q: MixturePosterior) -> dict[str, Any]:
        """Of covariances: their inverses are sufficient statistics, and they are no sums of these."""
        clusters = q.clusters
        if not isinstance(clusters, NormalWishart | NormalColumns):
            return {}
        return {"covariances": self._left(clusters.covariance_std)}

    def _left(self, covariance: Floats) -> Floats:
        """Covariances as clusters have them, in data units and the shape of `covariances_`."""
        kind, dense = self.covariance_type, self.covariance_type in ("full", "tied")
        covariance = covariance[0] if kind == "tied" else covariance
        covariance = covariance if dense or kind == "diag" else covariance[:, 0]
        return np.asarray((self._units.leave_covariance if dense else self._units.leave_variance)(covariance))

    def _publish(self, q: MixturePosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        clusters: Any = q.clusters
        covariance, precision, root = _shapes(self.covariance_type, clusters.covariance)
        means, dense = units.leave(clusters.mean), self.covariance_type in ("full", "tied")
        leave = units.leave_covariance if dense else units.leave_variance
        enter = units.enter_covariance if dense else units.enter_variance
        public = {
            "weights": q.weights.mean,
            "means": means,
            "components": means,
            "covariances": leave(covariance),
            "precisions": enter(precision),
            "precisions_cholesky": root / (np.expand_dims(units.scale, -1) if dense else units.scale),
        }
        if isinstance(q.weights, Dirichlet | Sticks):
            public["weight_concentration"] = q.weights.concentration
        if isinstance(clusters, NormalColumns | NormalWishart):
            public["mean_precision"] = (
                clusters.strength if clusters.strength.ndim == 1 else clusters.strength.mean(axis=1)
            )
            dof = clusters.dof if clusters.joint else clusters.dof.mean(axis=1)
            public["degrees_of_freedom"] = dof[0] if self.covariance_type == "tied" else dof
        return public


def _shapes(kind: str, covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Covariance, precision and the precision's Cholesky factor in the shapes that scikit-learn gives them."""
    if kind in ("full", "tied"):
        precision = inverse(covariance)
        root = np.swapaxes(np.linalg.inv(cholesky(covariance)), 1, 2)
        parts = covariance, precision, np.asarray(root)
        return parts if kind == "full" else (parts[0][0], parts[1][0], parts[2][0])
    if kind != "diag":
        covariance = covariance[:, 0]
    return covariance, 1 / covariance, 1 / np.sqrt(covariance)


def _with_constants(complete: Rows, sample: Rows) -> Rows:
    """Filled rows, but for columns that never vary where they are seen: what fills them would be their tails."""
    x, seen = host(sample.x), host(sample.seen) > 0
    low = np.min(x, axis=0, where=seen, initial=np.inf)
    varies = low < np.max(x, axis=0, where=seen, initial=-np.inf)
    return replace(complete, x=np.where(varies, host(complete.x), np.where(np.isfinite(low), low, 0.0)))


def _widest(q: MixturePosterior) -> tuple[int, int, float]:
    """The columns that spread most and least within clusters, and how many times as far."""
    spread = np.sqrt(q.weights.mean @ q.clusters.row_variance)  # type: ignore[union-attr]
    wide, narrow = int(np.argmax(spread)), int(np.argmin(spread))
    return wide, narrow, float(spread[wide] / spread[narrow])


def _moved(position: Floats, units: Units) -> Floats:
    """A position in the data, in model units."""
    return units.enter_direction(position - units.origin)
