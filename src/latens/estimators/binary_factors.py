"""Rows as sums of causes that are on or off."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.states import MOST_SWITCHES
from latens.core import Fit, State, Statistics
from latens.errors import FitInterrupted
from latens.estimators.base import MOST_COMPONENTS, VariationalTransformer
from latens.estimators.fitting.checkpoints import Checkpoint
from latens.estimators.fitting.context import FitContext
from latens.estimators.fitting.fit_doubts import AT_FLOOR, doubt_noise
from latens.estimators.fitting.known_codes import KnownCodes
from latens.estimators.fitting.starts import independent_directions, is_mostly_positive, positive_parts, random_parts
from latens.estimators.parameters import all_or_nothing, given_array, one_of, positive_number, whole_number, yes_or_no
from latens.estimators.priors import WEAK, beta_prior, no_prior, variance_prior
from latens.estimators.rows.data import Data, InMemory, check_data
from latens.estimators.rows.sampling import filled, in_order
from latens.estimators.rows.units import Units
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.point_beta import PointBeta
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance
from latens.inference.ascent import ascend
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Automatic, Exact, MeanField, Truncated
from latens.models.binary_factors.row_space import RowSpace

__all__ = ["BinaryFactorAnalysis"]

E_STEPS: dict[str, MeanField | Exact | Truncated | Automatic] = {
    "auto": Automatic(),
    "mean-field": MeanField(),
    "exact": Exact(),
    "truncated": Truncated(),
}
MOST_EXACT = 16  # causes beyond which 2^K states of every row are out of reach
# rows, and nats for each of them beyond what an intercept costs, by which one start tells which choice is far better
N_PRIORS_LEFT = 10.0  # of the noise of a column that causes follow, about three times what is left of it
N_ROWS_OF_CHOICE, NATS_OF_CHOICE = 1024, 0.15
NATS_OWED = 0.02  # for each row, to codes that it does not find again: rows of on/off causes owe none
FIRST_SIZE = 8  # causes that a search for their number begins with
N_STARTING_ROWS = 100.0  # how sure a start is of itself, in rows

Outcome = tuple[FitContext, Fit]
Warned = warnings.WarningMessage


class BinaryFactorAnalysis(KnownCodes, VariationalTransformer):
    """Find causes that are on or off in each row and whose effects add up, and their number.

    Parameters
    ----------
    n_components : int, optional
        Number of causes; with ``prior="ard"`` an upper limit, and None chooses this limit from the data.
    prior : {"ard", "ml"}
        Variational Bayes with relevance determination, which finds the number of causes; or point
        estimates (variational EM), for which you give the number.
    e_step : {"auto", "mean-field", "exact", "truncated"}
        Posterior of the causes of a row: independent, over all 2^K combinations, or over the most probable few
        combinations. "auto" is exact for at most 10 causes and mean field beyond; ``e_step_`` says which.
    fit_intercept : bool or "auto"
        Whether a row with every cause off has a mean of its own instead of 0; "auto" fits both and keeps the
        one with the higher bound.
    noise : {"shared", "diagonal"}
        One noise variance, or one for each column.
    usage_prior : (float, float), optional
        Prior of the share of rows in which a cause is on: usage ~ Beta(a, b). None: (1, 1), flat.
    noise_variance_prior : (float, float), optional
        A noise variance in data units and its weight n, in entries: 1 / variance ~ Gamma(n / 2, n variance / 2).
        None: the variance of the data, with almost no weight.
    loading_prior : (float, float), optional
        The variance of the loadings of a cause over that of the noise, and its weight n, in loadings: w | tau, alpha
        ~ Normal(0, 1 / (alpha tau)), alpha ~ Gamma(n / 2, n variance / 2). None: 1, with almost no weight.
        Priors are for ``prior="ard"``: point estimates have none.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept.
    init : {"auto", "random"} or array of shape (K, D)
        Starts computed from the data, uniform noise as in the textbook, or given causes in data units.
    moves : bool
        Whether to try deleting, merging, splitting and exchanging causes; accepted only if the bound rises.
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
    row_posteriors : {"auto", "keep", "recompute"}
        For rows that are read in blocks: whether the posterior of each row is stored from pass to pass (in memory, and
        beyond 32 MB in a scratch file), or computed again, which needs no storage but more time. "auto" stores it,
        except on a cluster. For rows in memory it is always stored.

    Attributes
    ----------
    components_ : array (K, D)
        What each cause adds to a row, the largest share of variance first.
    usage_ : array (K,)
        How often each cause is on.
    share_ : array (K,)
        Share of the variance of the model that comes from each cause.
    noise_variance_ : float, or array (D,) with ``noise="diagonal"``
    intercept_ : array (D,)
    relevance_ : array (K,)
        With ``prior="ard"``, the precision of each cause's loadings in units of the noise precision.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_, e_step_, score_is_bound_
        As in every estimator; the reference describes them.

    Examples
    --------
    >>> import latens
    >>> X, truth = latens.datasets.make_shapes(random_state=0)
    >>> model = latens.BinaryFactorAnalysis(16, random_state=0).fit(X)
    >>> model.n_components_
    8
    """

    _component_noun: ClassVar[str] = "cause"
    # causes that are not needed take hundreds of iterations to die out, and a move to take them out
    pause: ClassVar[int] = 20
    # more causes take longer, and the best of the searches with fewer is kept beside them in any case
    most_starts_of_growth: ClassVar[int] = 1
    begins_with_likely: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        prior: str = "ard",
        e_step: str = "auto",
        fit_intercept: bool | str = "auto",
        noise: str = "shared",
        usage_prior: tuple[float, float] | None = None,
        noise_variance_prior: tuple[float, float] | None = None,
        loading_prior: tuple[float, float] | None = None,
        max_iter: int = 500,
        max_time: float | None = None,
        tol: float = 1e-5,
        n_init: int = 5,
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
        self.prior = prior
        self.e_step = e_step
        self.fit_intercept = fit_intercept
        self.noise = noise
        self.usage_prior = usage_prior
        self.noise_variance_prior = noise_variance_prior
        self.loading_prior = loading_prior

    @property
    def _centred(self) -> bool:
        """An intercept is a location; where "auto" leaves it to the bound, each of the two fits is told.

        Without an error there, since `dir` asks for every attribute.
        """
        return self.fit_intercept != "auto" and yes_or_no("fit_intercept", self.fit_intercept)

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        *,
        moves: bool,
        spare: bool = False,
        known: Any = None,
        rng: np.random.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        until: float | None = None,
        centred: bool | None = None,
        in_stream: bool = False,
    ) -> tuple[FitContext, Fit]:
        """Without an intercept and with one, where the bound is to decide; a warm start goes on as it was."""
        one = partial(super()._fit, moves=moves, rng=rng, checkpoint=checkpoint, in_stream=in_stream)
        if centred is not None or not (isinstance(self.fit_intercept, str) and self.fit_intercept == "auto"):
            return one(X, sample_weight, spare=spare, known=known, until=until, centred=centred)
        with all_or_nothing(self):
            self._check_common()
            if until is None and self.max_time is not None:
                until = time.monotonic() + self.max_time
            data = check_data(self, X, sample_weight, known)
            choices = [self._model.intercept] if self._goes_on(data) else self._open_choices(data, moves, until)
            outcome, warned = self._higher(choices, partial(one, data, None, until=until))
        for warning in warned:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return outcome

    def _open_choices(self, data: Data, moves: bool, until: float | None) -> list[bool]:
        """Whether to fit with an intercept: both ways, or one where some of many rows tell, from one start, which.

        That is where one way has a far higher bound, or any higher bound and rows do not find their codes again: such
        rows are no sums of on/off causes, and each of two searches would take all causes it is allowed for an answer
        that is as good as the other's. Which way is left out depends on the rows alone, not on how many starts or how
        much time there is.
        """
        choices = [False, True]
        if not moves or data.n_named or data.n < 2 * N_ROWS_OF_CHOICE:
            return choices
        few = InMemory(data.sample(N_ROWS_OF_CHOICE, data.column_exponents() if self._own_units else None))
        bounds, debts = np.array([self._bound_of_one_start(few, intercept, until) for intercept in choices]).T
        margin = N_ROWS_OF_CHOICE * NATS_OF_CHOICE + 0.5 * data.n_columns * np.log(N_ROWS_OF_CHOICE)
        if (debts > N_ROWS_OF_CHOICE * NATS_OWED).all():
            margin = 0.0
        return [choice for choice, bound in zip(choices, bounds, strict=True) if bound >= bounds.max() - margin]

    def _bound_of_one_start(self, few: Data, intercept: bool, until: float | None) -> tuple[float, float]:
        """The bound, and by how many nats it falls when rows look for their codes anew."""
        changes = {"fit_intercept": intercept, "n_init": 1, "random_state": 0, "verbose": 0, "callbacks": None}
        single = type(self)(**{**self.get_params(deep=False), **changes, "learning_method": "batch"})
        single.n_features_in_ = few.n_columns  # rows that were checked tell it no more
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context, fit = single._fit(few, None, moves=True, until=until)
            if fit.interrupted:  # there is nothing of all rows to be kept
                raise KeyboardInterrupt
            again = ascend(
                single._model, [context.sample], State(fit.state.q), max_iter=1, log_scale=context.units.log_scale
            )
        return fit.elbo, fit.elbo - again.elbo

    def _higher(self, choices: Sequence[bool], one: Callable[..., Outcome]) -> tuple[Outcome, list[Warned]]:
        """Keep the choice of the higher bound; returned with what is to be said of it, and of an interrupt."""
        fits: list[tuple[dict[str, Any], Outcome, list[Warned]]] = []
        for intercept in choices:
            if len(choices) > 1:
                self.__dict__.pop("posterior_", None)  # neither goes on from the other
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    outcome = one(centred=intercept)
                except KeyboardInterrupt:
                    if not fits:
                        raise
                    fitted, (context, _), _ = fits[0]
                    self._tell_interrupt(fitted["n_iter_"], context.journal)
                    break
            fits.append((dict(vars(self)), outcome, warned))
            if outcome[1].interrupted or outcome[1].stopped:
                break
        best, outcome, said = max(fits, key=lambda fit: _worth(fit[0]))
        self.__dict__.update(best)
        return outcome, said if said is warned else [*said, *filter(_is_interrupt, warned)]

    def _look_over(self, context: FitContext) -> None:
        super()._look_over(context)
        if not self._model.diagonal:
            return
        # a few entries of the prior's variance are left of noise that rows do not need
        of_prior = N_PRIORS_LEFT * WEAK / context.data.n if self.prior == "ard" and self._own_units else 0.0
        remedy = "noise='shared' for columns of one unit"
        doubt_noise(self, self._feature_names(), floor=max(AT_FLOOR, of_prior), parts="causes", remedy=remedy)

    @property
    def e_step_(self) -> str:
        """The posterior of codes in use: what "auto" chose for the causes that were found."""
        check_is_fitted(self)
        if self.e_step != "auto":
            return str(self.e_step)
        return "exact" if self._model.exact_local(self.posterior_) else "mean-field"

    def thresholded_components(self, threshold: float = 0.4) -> Floats:
        """(K, D), 1 where a cause adds more than `threshold` to a column, else 0; in data units.

        Parameters
        ----------
        threshold : float
            In data units.

        Returns
        -------
        array of shape (K, D)
            1 where a loading exceeds the threshold, else 0.
        """
        check_is_fitted(self)
        return (self._loadings > positive_number("threshold", threshold, zero=True)).astype(float)

    @property
    def _own_units(self) -> bool:
        """Whether each column has a unit of its own: where it has its own noise, none leads for being large.

        Not so with a given prior of the noise, which is in one unit for all columns.
        """
        return self.noise == "diagonal" and self.noise_variance_prior is None

    def _build(self, context: FitContext) -> BinaryFactors:
        sample = context.sample
        prior = one_of("prior", self.prior, ["ard", "ml"])
        noise = one_of("noise", self.noise, ["shared", "diagonal"])
        e_step = E_STEPS[one_of("e_step", self.e_step, E_STEPS)]
        k = self._starting_size(context)
        if prior == "ml" and self.n_components is None and not self._n_named:
            raise ValueError("n_components=None needs prior='ard', which can find the number; or give n_components.")
        if self.e_step in ("exact", "truncated"):
            most = MOST_EXACT if self.e_step == "exact" else MOST_SWITCHES
            whole_number("n_components", self.n_components or k, 1, most, f"e_step={self.e_step!r} goes no further")
        if prior == "ml":
            no_prior(
                "prior='ard'",
                usage_prior=self.usage_prior,
                noise_variance_prior=self.noise_variance_prior,
                loading_prior=self.loading_prior,
            )
        variance = float(np.sum(sample.x**2) / max(sample.mask.sum() * (len(sample) / len(sample.mask)), 1.0)) or 1.0
        return BinaryFactors(
            n_features=sample.x.shape[1],
            usage=beta_prior("usage_prior", self.usage_prior, (1.0, 1.0)),
            noise=variance_prior(
                "noise_variance_prior", self.noise_variance_prior, (WEAK, WEAK * variance), context.units.scale**2
            ),
            relevance=variance_prior("loading_prior", self.loading_prior, (WEAK, WEAK)),
            points=prior == "ml",
            intercept=context.centred,
            diagonal=noise == "diagonal",
            floor=1e-6 * variance,  # what sums of squares still resolve, in float32 too
            e_step=e_step,
        )

    def _default_size(self, context: FitContext) -> int:
        most = {"exact": MOST_EXACT, "truncated": MOST_SWITCHES}.get(self.e_step, MOST_COMPONENTS)
        if not (self._seeks_number and _is_whole(context)):
            return min(super()._default_size(context), most)
        if self.n_components is None:
            most = min(most, max(len(context.sample) // 2, 1))
        return min(int(self._times_allowed(context) * FIRST_SIZE), most)

    def _next_growth(self, context: FitContext) -> int:
        return context.growth + 1 if _is_whole(context) else super()._next_growth(context)

    def _times_allowed(self, context: FitContext) -> float:
        """1, 1.5, 2, 3, 4 and so on: to which optimum starts lead depends on how many causes they have."""
        growth = context.growth
        if not _is_whole(context):
            return super()._times_allowed(context)
        return (1.0 if growth % 2 else 1.5) * 2.0 ** ((growth - 1) // 2)

    def _is_crowded(self, context: FitContext, n_kept: int) -> bool:
        """More than half are kept: starts with more causes lead to other optima then, some of them higher."""
        return _is_whole(context) and 2 * n_kept > self._starting_size(context)

    def _directions(self, model: BinaryFactors, context: FitContext) -> RowSpace | None:
        """Of few complete rows, where all columns have one noise."""
        data, n_beyond = context.data, self._starting_size(context) + model.intercept
        if model.points or model.diagonal or self.learning_method != "batch" or not isinstance(data, InMemory):
            return None
        rows, n = data.rows, data.n_rows
        if rows.seen is not None or not isinstance(rows.x, np.ndarray) or n > self.sample_size:
            return None
        return RowSpace.of(in_order(rows), n_beyond) if 2 * (n + n_beyond) <= data.n_columns else None

    def _can_start_from(self, model: BinaryFactors, smaller: Any) -> bool:
        return bool(smaller._model.intercept == model.intercept)  # loadings have a row for it

    def _start(self, model: BinaryFactors, context: FitContext, restart: int) -> BinaryPosterior:
        x = filled(context.sample)
        means = x.mean(axis=0) if model.intercept else np.zeros(x.shape[1])
        variance: Any = x.var(axis=0) if model.diagonal else float(x.var())
        variance = np.maximum(variance, model.floor)
        # a power of two away from each column's spread is too far for directions to be alike in all units
        unit = np.sqrt(variance) if model.diagonal and isinstance(self.init, str) else 1.0
        parts = unit * self._parts((x - means) / unit, context, restart)
        if model.intercept:
            parts = np.concatenate([parts, (means - 0.3 * parts.sum(axis=0))[None]])
        return _posterior_at(model, parts, variance)

    def _parts(self, x: Floats, context: FitContext, restart: int) -> Floats:
        """(K, D), directions that causes may have, from complete rows x of the sample."""
        rng = context.rng
        if not isinstance(self.init, str):
            given = given_array("init", self.init)
            k = given.shape[0] if self.n_components is None else self._starting_size(context)
            if given.shape != (k, x.shape[1]) or not np.isfinite(given).all():
                raise ValueError(f"init has shape {given.shape}; expected finite values of shape ({k}, {x.shape[1]}).")
            return context.units.enter_direction(given)
        k = self._starting_size(context)
        if one_of("init", self.init, ["auto", "random"]) == "random":
            return random_parts(x, k, rng)
        if is_mostly_positive(x) and restart % 3 != 2:
            return positive_parts(x, k, rng)
        return independent_directions(x, k, rng)

    def _variance_by_column(self) -> Floats:
        return np.asarray((self.usage_ * (1 - self.usage_))[:, None] * self._loadings**2)

    def _rows_shown(self) -> Floats:
        return np.asarray((self.usage_ * (1 - self.usage_))[:, None] * super()._rows_shown())

    def _publish(self, q: BinaryPosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        k, loadings = q.n_components, q.loadings
        noise = units.leave_variance(loadings.mean_noise)
        intercept = loadings.mean[k] if self._model.intercept else np.zeros(loadings.mean.shape[1])
        public = {
            "components": units.leave_direction(loadings.mean[:k]),
            "usage": q.usage.mean,
            "noise_variance": noise if self._model.diagonal else float(noise[0]),
            "intercept": units.leave(intercept),
        }
        if isinstance(loadings, Relevance):
            public["relevance"] = loadings.alpha.mean[:k]
        return public


def _is_interrupt(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, FitInterrupted)


def _worth(fitted: dict[str, Any]) -> float:
    """The bound; of point estimates, which have no prior to pay, less half a log n for each number of an intercept."""
    model, stats = fitted["_model"], fitted["_state"].stats
    free = model.n_features if model.points and model.intercept else 0
    return float(fitted["elbo_"] - 0.5 * free * np.log(max(stats.n, 1.0)))


def _posterior_at(model: BinaryFactors, parts: Floats, variance: Any) -> BinaryPosterior:
    """A posterior about given parts, unsure enough to move; `variance` is one for all columns, or one each."""
    k = len(parts) - model.intercept
    q = model.prior(k)
    usage = np.full(k, 0.3)
    if isinstance(q.loadings, PointNormalGamma):
        start = PointNormalGamma(parts, np.ones_like(q.loadings.noise) * variance, model.floor)
        return BinaryPosterior(PointBeta.of(usage), start)
    shape = np.full_like(q.loadings.weights.shape, N_STARTING_ROWS)
    weights = NormalGamma(parts, N_STARTING_ROWS * np.eye(len(parts))[None], shape, shape * variance)
    sizes = np.sum(parts**2 / variance, axis=1)
    alpha = Gamma(np.full(len(parts), 0.5 * parts.shape[1]), 0.5 * sizes + 1e-3)
    counts = N_STARTING_ROWS * usage
    return BinaryPosterior(Beta(counts, N_STARTING_ROWS - counts), Relevance(weights, alpha))


def _is_whole(context: FitContext) -> bool:
    """Whether the sample is most of the rows, so that a search is short enough to make one for each number of causes.

    Of more rows a search begins with many causes: from few it takes longer on rows that are no sums of on/off causes.
    """
    return 2 * len(context.sample) > context.data.n
