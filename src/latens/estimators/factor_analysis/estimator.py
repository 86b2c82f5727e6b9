"""Low-rank plus diagonal covariances: factor analysis, in memory, in one pass, in streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.transfer import like
from latens.core import Fit, Rows, State, Statistics
from latens.errors import NeverSeen, warn
from latens.estimators.factor_analysis.axes import RuledAxes, ruled_axes, varimax_axes
from latens.estimators.factor_analysis.parameter_spread import MOST_ROWS, parameter_spread, widened
from latens.estimators.factor_analysis.starts import (
    canonical,
    column_variances,
    fewer_factors,
    given_start,
    guessed,
    most_likely_start,
    off_the_floor,
    orthonormal_start,
    principal_start,
    relevant_starts,
    signed,
    turned,
)
from latens.estimators.factor_analysis.streams import MOST_EXACT, WORKING_RANK, FactorStreams
from latens.estimators.fitting.context import FitContext, checkpointing
from latens.estimators.fitting.fit_doubts import doubt_fit, doubt_noise, looking_over
from latens.estimators.former_names import keywords_after_y
from latens.estimators.information_criteria import InformationCriteria
from latens.estimators.parameters import (
    all_or_nothing,
    given_array,
    keep_warnings,
    one_of,
    positive_number,
    whole_number,
)
from latens.estimators.priors import WEAK, no_prior, variance_prior
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.parts import into_parts
from latens.estimators.rows.sampling import filled
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_rows
from latens.families.low_rank import LowRankNormal
from latens.families.relevance import Relevance
from latens.models.factor_analysis.model import ExactFactors, FactorAnalysisPosterior, Factors, FactorStatistics
from latens.models.factor_analysis.online import (
    STEP_RULES,
    OnlineEM,
    OnlineGradient,
    OnlinePosterior,
    TransportFactors,
)
from latens.models.factor_analysis.sums import Scatter, summed
from latens.models.factor_analysis.sums_wide import FewRows

__all__ = ["FactorAnalysis"]

LEAST_NOISE = 1e-300  # noise of the online solvers, which were printed without a floor


class FactorAnalysis(InformationCriteria, FactorStreams):
    """Explain the covariance of many columns by a few hidden factors and a noise variance for each column.

    Parameters
    ----------
    n_components : int, optional
        Number of factors; with ``prior="ard"`` an upper bound. None chooses: with ``prior="ml"`` the number with the
        best Bayesian information criterion, with ``prior="ard"`` that bound.
    solver : {"auto", "exact", "em", "transport", "online-em", "online-sga"}
        "exact" sees rows once and works on their covariance, D x D, or on the rows where they are fewer than the
        columns. "transport" needs memory for 6 K x D numbers only and comes close. "auto" is "exact" up to 5000
        columns; ``solver_`` says which. "em" ascends to the same maximum by textbook EM from a random start, which
        takes many iterations and may end lower; ``loglike_`` is its course. "online-em" and "online-sga" see rows one
        by one as first printed, start at unit noise in the units of X, and are there for comparison.
    prior : {"ml", "ard"}
        Maximum likelihood; or variational Bayes with relevance determination, which finds the number of factors and
        is the better choice when rows are few.
    rotation : {None, "varimax"}
        Turn the factors so that each loads on few columns, loadings being counted in standard deviations of their
        column. None orders them by how much of the data, in units of the
        noise, they explain.
    learning_rate : float
        Of "online-sga".
    step_rule : {"sgd", "momentum", "adagrad", "adam"}
        How "online-sga" makes steps of gradients: as they are, as printed; going on for a while; each entry divided by
        the root of the sum, or of an average, of its squared gradients.
    warm_up : int
        Rows after which the online solvers begin to change loadings and noise.
    noise_variance_prior : (float or array (D,), float), optional
        A noise variance in data units, or one for each column, and how many entries that is worth: 1 / variance
        ~ Gamma(n / 2, n variance / 2).
        None: the variance of the data, worth next to nothing.
    loading_prior : (float, float), optional
        The variance of a factor's loadings over that of the noise, and how many of them that is worth: w | tau, alpha
        ~ Normal(0, 1 / (alpha tau)), alpha ~ Gamma(n / 2, n variance / 2). None: 1, worth next to nothing.
        Priors are for ``prior="ard"``: maximum likelihood has none.
    max_iter, tol : int, float
        Iterations at most, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and a warning; None: no limit.
    n_init : int
        Starts; the highest bound is kept.
    init : {"auto", "random"} or array of shape (K, D)
        The maximum of the likelihood on the covariance, a random textbook start, or loadings in data units.
    moves : bool
        Whether, with ``prior="ard"``, to try deleting each factor where that raises the bound. The bound is loose
        enough to give up weak factors that are there, so predictions are better without. Independent columns, no
        factor at all, are tried in any case.
    prune : bool
        Whether components that are not needed are left out; False fits and publishes exactly `n_components`.
    random_state, warm_start, verbose, callbacks, n_jobs
        As in every estimator.

    Attributes
    ----------
    components_ : array (K, D)
        Loadings, in data units.
    noise_variance_ : array (D,)
        With ``prior="ard"`` it includes what the uncertainty of the loadings adds.
    mean_ : array (D,)
        In data units.
    solver_ : str
        The solver that "auto" chose, or the one given.
    loglike_ : list of float
        The bound after each iteration, in nats; by maximum likelihood, the log-likelihood.
    share_ : array (K,)
        Share of the model's variance that each factor makes.
    relevance_ : array (K,)
        With ``prior="ard"``, the precision of each factor's loadings in units of the noise precision.
    n_parameters_ : int
        Free parameters: mean, noise, and loadings but for their rotation; `bic(X)` and `aic(X)` count them.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_, score_is_bound_
        As in every estimator; ``converged_`` is False after one pass of "transport" or an online solver, which end
        with the rows.

    Notes
    -----
    Far more columns than rows are common here and bring no warning. A column of which no value was seen is described
    as one of the other columns, whichever: their average mean, with a variance of all their values about it.

    Examples
    --------
    >>> import latens
    >>> X, truth = latens.datasets.make_factor_model(2000, n_features=20, n_components=3, random_state=0)
    >>> model = latens.FactorAnalysis().fit(X)
    >>> model.n_components_, model.solver_
    (3, 'exact')
    """

    _component_noun: ClassVar[str] = "factor"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "auto",
        prior: str = "ml",
        rotation: str | None = None,
        learning_rate: float = 1e-3,
        step_rule: str = "sgd",
        warm_up: int = 100,
        noise_variance_prior: tuple[Any, float] | None = None,
        loading_prior: tuple[float, float] | None = None,
        max_iter: int = 2000,
        max_time: float | None = None,
        tol: float = 1e-6,
        n_init: int = 1,
        init: Any = "auto",
        moves: bool = False,
        prune: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
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
        self.solver = solver
        self.prior = prior
        self.noise_variance_prior = noise_variance_prior
        self.loading_prior = loading_prior
        self.rotation = rotation
        self.learning_rate = learning_rate
        self.step_rule = step_rule
        self.warm_up = warm_up

    def get_covariance(self) -> Floats:
        """The covariance of a row under the fitted model.

        Returns
        -------
        array of shape (D, D)
            In squared data units.
        """
        return self.to_low_rank().covariance()

    def get_precision(self) -> Floats:
        """The inverse of the covariance, by inverting K x K.

        Returns
        -------
        array of shape (D, D)
            In 1 / squared data units.
        """
        return self.to_low_rank().precision()

    def to_low_rank(self) -> LowRankNormal:
        """The fitted Gaussian as mean, loadings and diagonal.

        Returns
        -------
        LowRankNormal
            Mean (D,), loadings (K, D) and noise variance (D,); nothing of size D x D.
        """
        check_is_fitted(self)
        return LowRankNormal(self.mean_, self.components_, self.noise_variance_)

    def rotate(self, rotation: str = "varimax") -> Self:
        """Turn the factors; `components_`, `transform` and all else follow, the covariance stays.

        Parameters
        ----------
        rotation : "varimax"
            Which rotation.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.rotation = one_of("rotation", rotation, ["varimax"])
        self._keep(self._model, self._units, Fit(self._state, self.trace_, self.converged_))
        return self

    @into_parts
    @lazily
    def transform(self, X: Any, return_std: bool = False, return_cov: bool = False, *, out: Any = None) -> Any:
        """Posterior means of each row's factors.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        return_std : bool
            Whether to return standard deviations, too.
        return_cov : bool
            Whether to return covariances instead.
        out : path, optional
            A folder, into which the answers are written as Parquet files instead, one for each block of X, with row
            names or numbers; what is there already is not done again. The path is returned. Needs pyarrow.

        Returns
        -------
        factors : array of shape (n, K)
            Posterior means, in units of the standard deviation of a factor.
        std : array of shape (n, K)
            Posterior standard deviations, with `return_std`; after fits of up to 1,000 rows with what estimated
            parameters add, while their posterior has at most 200 coordinates.
        covariance : array of shape (K, K), or (n, K, K) where X has missing entries
            With `return_cov`, given the parameters; complete rows share one.
        """
        if not return_cov:
            more = self._spread_of_parameters(self._codes_at) if return_std else None
            if more is None:
                return super().transform(X, return_std)
            return self._widened_codes(X, more)
        check_is_fitted(self)
        rows = check_rows(self, X)
        mean, spread = self._ask(rows, lambda _, local: (local.mean, local.spread))
        return mean, (spread[0, ...] if rows.seen is None else spread)

    def _spread_of_parameters(self, of: Callable[[Any, Rows], Array]) -> Callable[[Rows], Floats] | None:
        """What estimated parameters add to the variance of what is expected `of` rows; None where they add little."""
        check_is_fitted(self)
        model = self._model
        few = isinstance(model, Factors) and self._state.stats.n <= MOST_ROWS
        if not few or self._state.data is None or not self.n_components_:  # rows are not kept, sums are
            return None
        return parameter_spread(model, self._data_of_fit(None, {})[0], self.posterior_, of)

    def _codes_at(self, q: Any, rows: Rows) -> Array:
        return self._model.local_step(q, rows).mean

    def _entries_at(self, q: Any, rows: Rows) -> Array:
        return self._model.reconstruct(q, self._codes_at(q, rows))

    def _moments_of_entries(self, spread: bool) -> Callable[[Rows, Any], tuple[Array, ...]]:
        """After maximum likelihood on few rows with what estimated parameters leave unknown."""
        check_is_fitted(self)
        plain, model = super()._moments_of_entries(spread), self._model
        if not spread or not isinstance(model, Factors) or not model.points or self._state.stats.n > MOST_ROWS:
            return plain
        n, more = float(self._state.stats.n), self._spread_of_parameters(self._entries_at)

        def moments(rows: Rows, local: Any) -> tuple[Array, ...]:
            mean, variance = plain(rows, local)
            return mean, widened(variance, n, self.n_components_, None if more is None else more(rows))

        return moments

    def _widened_codes(self, X: Any, more: Callable[[Rows], Floats]) -> tuple[Any, Any]:
        def question(rows: Rows, local: Any) -> tuple[Any, Any]:
            mean, variance = self._model.codes(rows, local)
            return mean, variance + like(more(rows), variance)

        mean, variance = self._ask(X, question)
        return mean, self._contained(array_namespace(variance).sqrt(variance), X)

    @property
    def loglike_(self) -> list[float]:
        """The bound at each iteration; by maximum likelihood, the log-likelihood."""
        check_is_fitted(self)
        return [float(value) for value in self.elbo_history_]

    @property
    def n_parameters_(self) -> int:
        """Free parameters: mean, noise, and loadings but for their rotation."""
        check_is_fitted(self)
        k, d = self.n_components_, self.n_features_in_
        return int(2 * d + k * d - k * (k - 1) // 2)

    @property
    def lower_bound_(self) -> NoReturn:
        _refuse("lower_bound_")

    @property
    def _centred(self) -> bool:
        return self._as_printed is False

    @property
    def _scaled(self) -> bool:
        return self._as_printed is False

    @keywords_after_y("sample_weight")
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, checkpoint: Any = None) -> Self:
        with checkpointing(checkpoint) as opened, keep_warnings(self), all_or_nothing(self):
            context, _ = self._fit(X, sample_weight, moves=self.moves, checkpoint=opened)
            if self._units.unseen:
                names = self._feature_names()[list(self._units.unseen)]
                warn(
                    NeverSeen(
                        f"column(s) {', '.join(map(str, names[:8]))} of X hold nothing but NaN; what is said of them "
                        "is a guess from the other columns.",
                        "Drop them, or look why they are empty.",
                    )
                )
            if not self._as_printed:
                with looking_over(self):
                    doubt_fit(self, context)
                    doubt_noise(self, self._feature_names())
        return self

    def _units_of(self, data: Data, sample: Rows, centred: bool) -> Units:
        """From the sample: the mean is a parameter here, so any origin near it will do."""
        units = super()._units_of(InMemory(sample), sample, centred)
        return super()._units_of(data, sample, centred) if units.unseen and data.n_rows > len(sample) else units

    def _build(self, context: FitContext) -> Factors:
        sample = context.sample
        d = sample.x.shape[1]
        solver = self._solver_for(sample, in_stream=context.in_stream)
        points = one_of("prior", self.prior, ["ml", "ard"]) == "ml"
        if self.rotation is not None:
            one_of("rotation", self.rotation, ["varimax"])
        if self.n_components is not None:
            whole_number("n_components", self.n_components, 1, d, f"X has {d} columns")
        by_sums = solver in ("exact", "em")
        if solver != "exact" and not points:
            raise ValueError(f"prior='ard' needs solver='exact', got {solver!r}; choose one of the two.")
        if solver != "exact" and self.n_components is None:
            raise ValueError(f"solver={solver!r} needs n_components; give a number from 1 to {d}.")
        if points:
            no_prior("prior='ard'", noise_variance_prior=self.noise_variance_prior, loading_prior=self.loading_prior)
        warm_up = whole_number("warm_up", self.warm_up, 0)
        rate = positive_number("learning_rate", self.learning_rate)
        rule = one_of("step_rule", self.step_rule, STEP_RULES)
        if solver == "online-em":
            return OnlineEM(d, warm_up=warm_up, floor=LEAST_NOISE)
        if solver == "online-sga":
            return OnlineGradient(d, warm_up=warm_up, learning_rate=rate, step_rule=rule, floor=LEAST_NOISE)
        kind: type[Factors] = ExactFactors if by_sums else TransportFactors
        if not (_sums_suffice(context) if by_sums else sample.seen is None):
            kind = Factors  # every iteration sees the rows
        elif context.in_stream and not self._are_enough(sample):
            kind = ExactFactors
        usual, square = (WEAK, WEAK * column_variances(sample)[0]), context.units.scale**2
        noise = variance_prior("noise_variance_prior", self.noise_variance_prior, usual, square, d)
        relevance = variance_prior("loading_prior", self.loading_prior, (WEAK, WEAK))
        return kind(d, noise=noise, relevance=relevance, points=points, thorough=bool(self.moves))

    def _start(self, model: Factors, context: FitContext, restart: int) -> FactorAnalysisPosterior | OnlinePosterior:
        return self._starts_of_restart(model, context, restart)[0]

    def _starts_of_restart(
        self, model: Factors, context: FitContext, restart: int
    ) -> Sequence[FactorAnalysisPosterior | OnlinePosterior]:
        """The sample holds rows, or all rows summed where the model compresses them.

        Relevance determination begins with several starts: a few iterations do not tell which of them ends highest.
        """
        sample, rng = context.sample, context.rng
        k = None if self.n_components is None else int(self.n_components)
        if isinstance(model, OnlineEM):
            if not isinstance(self.init, str):
                raise ValueError(
                    f"solver={self.solver!r} starts from orthonormal loadings, and would ignore the array given as "
                    "init; leave init='auto', or choose solver='exact'."
                )
            return [orthonormal_start(model, k or 1, rng)]
        given = not isinstance(self.init, str) or one_of("init", self.init, ["auto", "random"]) == "random"
        if given or self.solver == "em":
            return [self._told_start(model, context, k)]
        if not isinstance(sample, FewRows | Scatter):
            if isinstance(model, TransportFactors):
                return [principal_start(sample, min(WORKING_RANK * (k or 1), model.n_features), rng)]
            if model.n_features > MOST_EXACT:
                return [principal_start(sample, k or 1, rng)]
            sample = summed(sample)
        most = self._default_size(context)
        near = context.data.rows.x if isinstance(context.data, InMemory) else None
        if model.points:
            likely = most_likely_start(sample, k, most, rng if restart else None, near)
            return [off_the_floor(model, likely, context.sample) if isinstance(context.sample, Rows) else likely]
        starts = relevant_starts(model, sample, k or most, most, fixed=self._keeps_all, near=near)
        return [starts[restart % len(starts)]] if restart else starts

    def _told_start(self, model: Factors, context: FitContext, k: int | None) -> FactorAnalysisPosterior:
        """From the caller's loadings, or from noise of the data's size."""
        sample = context.sample
        if isinstance(sample, FewRows | Scatter):
            mean, n, variance, floor = sample.mean, sample.n_rows, sample.variance, sample.floor
        else:
            mean, n, (variance, floor) = filled(sample).mean(axis=0), sample.n, column_variances(sample)
        if isinstance(self.init, str):
            k = self._default_size(context) if k is None else k
            loadings = context.rng.standard_normal((k, model.n_features)) * np.sqrt(variance / (2 * k))
        else:
            given = given_array("init", self.init)
            wanted = (given.shape[0] if k is None and given.ndim else k, model.n_features)
            if given.shape != wanted or not np.isfinite(given).all():
                raise ValueError(f"init has shape {given.shape}; expected finite values of shape {wanted}.")
            loadings = context.units.enter_direction(given)
        return given_start(model, loadings, mean, variance, floor, n)

    def _default_size(self, context: FitContext) -> int:
        """The most factors that covariances can tell from noise, and few beside the rows."""
        sample = context.sample
        d, n = self.n_features_in_, sample.n if isinstance(sample, Rows) else sample.n_rows
        free = int(np.floor(d + 0.5 - 0.5 * np.sqrt(8 * d + 1)))
        return int(max(1, min(free, n // 2, context.growth * 24)))

    @property
    def _is_plain_ascent(self) -> bool:
        """With relevance determination iterations turn the factors, the last excepted."""
        return super()._is_plain_ascent and self.prior != "ard"

    def _search_from(
        self, model: Any, context: FitContext, starts: list[State], moves: bool, from_scratch: bool = True
    ) -> Fit:
        if isinstance(model, OnlineEM | TransportFactors):
            return self._follow(model, context, starts[0])
        return super()._search_from(model, context, starts, moves or (self.prune and not model.points), from_scratch)

    def _read_out(
        self, model: Any, context: FitContext, starts: list[State], notify: Any = None, moves: bool = False
    ) -> Fit:
        """With relevance determination always with moves: independent columns must have been tried."""
        model = self._told_spread(model, context.sample)
        return super()._read_out(model, context, starts, notify, moves or (self.prune and not model.points))

    def _keep(self, model: Any, units: Units, fit: Fit) -> None:
        """Publish the factors in a form that is fixed by the distribution of rows; the state stays as it was."""
        names = {ExactFactors: "exact", Factors: "exact", TransportFactors: "transport", OnlineEM: "online-em"}
        q = guessed(fit.state.q, units)
        if isinstance(model, ExactFactors):
            model = self._told_spread(model, fit.state.data)
        if isinstance(model, TransportFactors):
            q = fewer_factors(q, int(self.n_components or 1), fit.state.stats.n)
        q = canonical(q)
        if self.rotation is not None:
            q = turned(q, varimax_axes(q))
        super()._keep(model, units, replace(fit, state=replace(fit.state, q=signed(q))))
        self._state = replace(fit.state, locals=None)
        solver = "transport" if self._is_waiting else names.get(type(model), "online-sga")
        self.solver_ = "em" if self.solver == "em" else solver

    def _told_spread(self, model: ExactFactors, total: FewRows | Scatter) -> ExactFactors:
        """Prior rates carry the variance of all rows, not of the first batch: they too must not depend on the split."""
        if self.noise_variance_prior is not None:
            return model
        return replace(model, noise=(model.noise[0], model.noise[0] * np.maximum(total.variance, total.floor)))

    def _rows_shown(self) -> Floats:
        stats = self._state.stats
        return stats.seen[None] if isinstance(stats, FactorStatistics) else super()._rows_shown()

    def _publish(self, q: Any, stats: Statistics, units: Units) -> dict[str, Any]:
        loadings, noise = q.low_rank
        public = {
            "components": units.leave_direction(loadings),
            "noise_variance": units.leave_variance(noise),
            "mean": units.leave(q.center),
        }
        if isinstance(q.loadings, Relevance):
            public["relevance"] = q.loadings.alpha.mean
        return public

    def _own_numbers(self, q: Any, stats: Statistics) -> dict[str, Any]:
        return self._publish(self._in_axes_of_fit(q), stats, self._units)

    def _extra_numbers(self, q: Any) -> dict[str, Any]:
        return super()._extra_numbers(self._in_axes_of_fit(q))

    def _published(self, q: Any, stats: Statistics) -> dict[str, Any]:
        q = self._in_axes_of_fit(q)  # once for all of them
        return {**self._publish(q, stats, self._units), "share": self._shares_at(q)}

    def _moving_numbers(self, q: Any, stats: Statistics) -> dict[str, Any]:
        return self._publish(q, stats, self._units)  # in the axes that q is in: `_axes_at` says how these turn

    def _numbers_by_column(self, q: Any, stats: Statistics) -> dict[str, Any]:
        return self._publish(q, stats, self._units)

    @property
    def _axes_by_rule(self) -> bool:
        """Whether nothing but a rule tells loadings from others that are turned: those of maximum likelihood."""
        return self.n_components_ > 1 and (self.rotation is not None or self.prior == "ml")

    def _axes_at(self, q: Any) -> RuledAxes | None:
        """Axes by the rule that the published factors have theirs from, in their order and signs."""
        if not self._axes_by_rule or not isinstance(q, FactorAnalysisPosterior):
            return None
        return ruled_axes(q, self.posterior_, by_varimax=self.rotation is not None)

    def _in_axes_of_fit(self, q: Any) -> Any:
        axes = self._axes_at(q)
        return q if axes is None else axes.turned(q)


def _refuse(name: str) -> NoReturn:
    raise AttributeError(
        f"FactorAnalysis has no {name!r}: use elbo_, whose constants are all in; it is higher for better models."
    )


def _sums_suffice(context: FitContext) -> bool:
    """Whether sums can replace the rows: not with many patterns of holes, but a stream keeps nothing else."""
    data = context.given
    return context.in_stream or data.n_rows < data.n_columns or data.has_few_patterns
