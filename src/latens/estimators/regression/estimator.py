"""Linear regression with the posterior of its weights."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.transfer import host, like
from latens.core import Fit, Rows, State
from latens.errors import caller_level
from latens.estimators.display.notebook import NotebookView
from latens.estimators.fitting.checkpoints import Checkpoint
from latens.estimators.fitting.context import checkpointing
from latens.estimators.fitting.fit_doubts import doubt_memory
from latens.estimators.former_names import former_attribute, former_parameters, keywords_after_y
from latens.estimators.frames.roles import from_table
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.parameters import (
    all_or_nothing,
    keep_warnings,
    positive_number,
    whole_number,
    yes_or_no,
)
from latens.estimators.regression.blocks import PairSurvey, SumBlock, rows_with_target, survey_pairs, targets_of
from latens.estimators.regression.column_sizes import doubt_column_sizes
from latens.estimators.regression.complete_data import check_sizes, complete_target, missing_message
from latens.estimators.regression.precisions import model_of, weight_unit
from latens.estimators.regression.uncertainty import CENTRAL_QUANTILES, WIDTH, RegressionUncertainty
from latens.estimators.regression.units import RegressionUnits
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.source_checks import check_columns
from latens.estimators.rows.validation import (
    check_weight,
    checked_table,
    doubt_weights,
    encoded_rows,
    is_foreign,
    occupied,
    taken_in,
)
from latens.inference.ascent import ascend
from latens.inference.search.moves import UNRECORDED, Record, best_of
from latens.models.linear_regression import LinearRegression, Moments
from latens.models.regression_integral import RegressionIntegral, integrated
from latens.models.regression_posterior import RegressionPosterior, expected
from latens.models.regression_sums import regression_sums
from latens.scale.scan import Scan
from latens.system.memory import free_memory, in_words
from latens.system.seeds import generator

__all__ = ["BayesianLinearRegression"]

LARGEST_STEP = 1e152  # a unit of weights whose square, times a variance in that unit, is still a number
LARGEST_FLOAT = float(np.finfo(float).max)
MATRICES = 4  # of D x D at once, while one is made


class BayesianLinearRegression(RegressionUncertainty, RegressorMixin, NotebookView, BaseEstimator):
    """Predict a number from a weighted sum of columns, with the uncertainty of weights and predictions.

    Parameters
    ----------
    weight_precision : float, "evidence" or "gamma"
        Prior precision of the weights, 1 over the variance of each: given, chosen to maximise the evidence, or with a
        Gamma posterior. It is one number for all weights, in the units of the columns, so that the result depends on
        the units of single columns: if they have no common unit, use `standardize`.
    noise_precision : float, "evidence", "gamma" or "variance"
        Precision of the noise, 1 over its variance, likewise. "variance" is 1 / Var(y), which ignores the fit and is
        far too small if the columns explain part of y; it exists to reproduce published results.
    weight_variance_prior, noise_variance_prior : (float, float), optional
        With "gamma": a variance in data units and its weight n, in weights or rows; 1 / variance
        ~ Gamma(n / 2, n variance / 2). None: a variance from the data, with almost no weight; where precisions are
        integrated out, the half-Cauchy and 1 / precision of docs/models/linear_regression.md.
    fit_intercept : bool
        Whether there is an intercept, with a flat prior; rows are then centred.
    standardize : bool
        Whether the prior is for weights per standard deviation of a column, so that the unit of a column does not
        matter. Weights, intervals and predictions are still in data units; `weight_precision`,
        `weight_variance_prior` and `weight_precision_` are then for weights per standard deviation.
    max_iter, tol : int, float
        With "gamma": largest number of iterations, and the gain of the bound in nats per row below which they end.
    max_time : float, optional
        Seconds after which these iterations end with the best state so far, and a warning; None: no limit.
    random_state : int, RandomState, Generator or None
        For `sample_coef`.

    Attributes
    ----------
    coef_ : array (D,)
        Posterior mean of the weights, given `weight_precision_` and `noise_precision_`.
    coef_std_ : array (D,)
        Posterior standard deviation of each weight. Precisions that were not given are integrated out, which leaves a
        mixture of Student-t distributions; this is the standard deviation of the Normal with the same central 95 %
        interval, so that it is finite from two rows on.
    coef_covariance_ : array (D, D)
        With `coef_std_` on its diagonal, squared, and the correlations of the same posterior. Computed on
        first access, and refused if memory is too small for it.
    intercept_ : float
        Expected target if all columns are 0, in the unit of y.
    weight_precision_, noise_precision_ : float
        In the units of the data, except with `standardize`; posterior means with "gamma". The source document calls
        them alpha and beta, scikit-learn's BayesianRidge `lambda_` and `alpha_`.
    column_spread_ : array (D,)
        Standard deviations of the columns, of all rows seen.
    elbo_ : float
        The log evidence with all constants; with "gamma" a lower bound of it.
    elbo_history_ : array (n_iter,)
        The bound after each iteration.
    trace_ : tuple of Iteration
        The record of each iteration.
    n_iter_ : int
        Number of iterations; 1 if the evidence has a closed form.
    converged_ : bool
        Whether the gain of the bound fell below `tol`.
    posterior_ : RegressionPosterior
        Mean and covariance of the weights, in the units of the model; with fewer rows than columns, variances along the
        directions that the rows span and in all others.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str (D,)
        Their names, if X had names.
    warnings_ : list of WarningRecord
        Code, message and remedy of each warning of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> import latens
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X @ [1.0, -2.0] + 3 + 0.1 * np.random.default_rng(1).normal(size=100)
    >>> model = latens.BayesianLinearRegression().fit(X, y)
    >>> model.coef_.round(1)
    array([ 1., -2.])
    >>> mean, std = model.predict(X[:1], return_std=True)
    >>> bool(0.07 < std[0] < 0.13)
    True
    """

    alpha = former_attribute("alpha", "weight_precision")
    beta = former_attribute("beta", "noise_precision")
    alpha_ = former_attribute("alpha_", "weight_precision_")
    beta_ = former_attribute("beta_", "noise_precision_")

    @former_parameters(alpha="weight_precision", beta="noise_precision")
    def __init__(
        self,
        weight_precision: float | str = "evidence",
        noise_precision: float | str = "evidence",
        *,
        weight_variance_prior: tuple[float, float] | None = None,
        noise_variance_prior: tuple[float, float] | None = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        max_iter: int = 1000,
        max_time: float | None = None,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.weight_precision = weight_precision
        self.noise_precision = noise_precision
        self.weight_variance_prior = weight_variance_prior
        self.noise_variance_prior = noise_variance_prior
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.random_state = random_state

    @former_parameters(alpha="weight_precision", beta="noise_precision")
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in every estimator of scikit-learn; former names are taken, with a warning.

        Parameters
        ----------
        **params
            Parameters of the constructor.

        Returns
        -------
        self
        """
        super().set_params(**params)
        return self

    @keywords_after_y("sample_weight")
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, checkpoint: Any = None) -> Self:
        """Fit to rows and their targets.

        Parameters
        ----------
        X : array of shape (n, D), or scan
            Rows, complete. `latens.scan(..., target=column)` is read once more than it is long; y is then left out.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        checkpoint : path, optional
            A folder from which a fit that was killed goes on.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self), all_or_nothing(self):
            if isinstance(X, Scan):
                return self._see_scan(X, y, sample_weight, opened)
            return self._see(X, y, sample_weight, None, streaming=False, checkpoint=opened)

    @keywords_after_y("sample_weight")
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far; the answer is that of `fit` on all of them.

        Parameters
        ----------
        X : array of shape (n, D)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.

        Returns
        -------
        self
        """
        before = self._state.stats if self.__sklearn_is_fitted__() else None
        with keep_warnings(self, adding=True), all_or_nothing(self):
            return self._see(X, y, sample_weight, before, streaming=True)

    @lazily
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets, and how uncertain new targets are.

        The standard deviation holds the uncertainty of the weights and the intercept, and of both precisions where
        these were not given: they are integrated out, and a new target is then a mixture of Student-t distributions,
        whose own standard deviation may be infinite. What is returned is that of the Normal with the same central 95 %
        interval, so that mean -+ 1.96 std is meant to hold 95 % whatever the number of rows. After a single row, with
        an intercept and noise that was not given, it is infinite.

        Parameters
        ----------
        X : array of shape (n, D)
            Complete rows.
        return_std : bool
            Whether to return standard deviations, too.

        Returns
        -------
        mean : array of shape (n,)
            Expected targets, in the unit of y.
        std : array of shape (n,)
            Of new targets, noise included, in the same unit; with `return_std`.
        """
        check_is_fitted(self)
        if is_foreign(X):  # answered in kind
            answer = self.predict(host(X), return_std)
            return tuple(like(part, X) for part in answer) if return_std else like(answer, X)
        X = encoded_rows(self, X)
        x = np.asarray(self._numbers(X, reset=False), dtype=np.float64)
        mean = x @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        return mean, self._target_std(x)

    @keywords_after_y("sample_weight")
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """R2 of the predictions: the share of the variance of y that they explain.

        Parameters
        ----------
        X : array of shape (n, D)
            Or a scan that names its `target`, and maybe `weights`.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            How often each row counts.

        Returns
        -------
        float
            1 at best, 0 where predictions are no better than the mean of y, and below 0 where they are worse.
        """
        if isinstance(X, Scan):
            from sklearn.metrics import r2_score  # which a fit need not load

            _check_target(X, y, sample_weight)
            y, sample_weight = targets_of(X)
            return float(r2_score(y, np.asarray(self.predict(X)), sample_weight=sample_weight))
        y, sample_weight = from_table(X, y=y, sample_weight=sample_weight)
        y, sample_weight = in_row_order("y", y, X), in_row_order("sample_weight", sample_weight, X)
        return float(super().score(X, y, sample_weight))

    def _target_std(self, x: Floats) -> Floats:
        """(n,), of new targets at rows x."""
        if self._integral is not None:
            low, high = self._integral.line_quantiles(self._units.enter(Rows(x)).x, CENTRAL_QUANTILES, noise=True)
            return np.asarray((high - low) / WIDTH * self._units.target.scale)
        if not self._precisions_given:
            return np.full(len(x), np.inf)
        of_weights = self.posterior_.variances_of((x - self._center) * self._step)
        return np.asarray(np.sqrt(of_weights + self._noise))

    def calculator(self) -> dict[str, Any]:
        """What it takes to answer `predict` for one row, as plain numbers; the page of `latens.report` computes so.

        Returns
        -------
        dict
            Names of columns, weights and intercept, in data units.
        """
        check_is_fitted(self)
        return {
            "kind": "regression",
            "columns": [str(name) for name in self._columns()],
            "coef": [float(value) for value in self.coef_],
            "intercept": float(self.intercept_),
        }

    def _columns(self) -> Floats:
        names = getattr(self, "feature_names_in_", None)
        return np.array([f"x{d}" for d in range(self.n_features_in_)]) if names is None else np.asarray(names)

    def _see(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        before: Moments | None,
        *,
        streaming: bool,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        fresh = before is None
        y, sample_weight = from_table(X, y=y, sample_weight=sample_weight)
        y, sample_weight = in_row_order("y", y, X), in_row_order("sample_weight", sample_weight, X)
        X = taken_in(self, X, reset=fresh)
        rng = generator(self.random_state)  # to be refused now, not when weights are drawn
        X, y, sample_weight = (host(part) if is_foreign(part) else part for part in (X, y, sample_weight))
        given = all(not isinstance(scale, str) for scale in (self.weight_precision, self.noise_precision))
        least = 2 if fresh and not given and not streaming else 1  # one row does not tell noise from weights
        x, y = self._numbers(X, complete_target(y), y_numeric=True, reset=fresh, ensure_min_samples=least)
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weight = None if sample_weight is None else check_weight(sample_weight, x)
        check_sizes(x, y, weight)
        doubt_weights(occupied(Rows(np.column_stack([x, y]), None, weight)))
        # rows in other units; products of columns, or rows where these are fewer numbers
        doubt_memory(2.0 * x.nbytes + 4 * x.itemsize * x.shape[1] * min(x.shape))
        centred = yes_or_no("fit_intercept", self.fit_intercept)
        units = RegressionUnits.of_pairs(x, y, weight, centred=centred) if fresh else self._units
        inside, target = units.enter(Rows(x)).x, units.target.enter(Rows(y[:, None])).x[:, 0]
        sums = regression_sums(inside, target, weight)
        journal = UNRECORDED if checkpoint is None else checkpoint.journal(self, rng, [x, y, weight])[0]
        self._solve(sums if before is None else before + sums, units, journal, streaming=streaming)
        return self

    def _numbers(self, X: Any, *y: Any, **options: Any) -> Any:
        """Checked rows, with checked targets where there are any; missing entries are refused, with what to do."""
        answer = checked_table(self, X, *y, dtype=[np.float64, np.float32], ensure_all_finite=False, **options)
        x = answer[0] if y else answer
        if not np.isfinite(x).all():
            raise ValueError(missing_message("X", x))
        return answer

    def _see_scan(self, scan: Scan, y: Any, sample_weight: Any, checkpoint: Checkpoint | None) -> Self:
        """One pass for the units, one for the sums."""
        _check_target(scan, y, sample_weight)
        self.__dict__.pop("encodings_", None)
        rng = generator(self.random_state)
        source = rows_with_target(scan)
        survey: PairSurvey = source.total(survey_pairs)
        if survey.n_infinite or survey.n_missing:
            raise ValueError(
                f"X and the target hold {survey.n_missing} missing and {survey.n_infinite} infinite entries; a "
                "regression takes neither. Leave those rows out, or fill them with another estimator's `impute` first."
            )
        if survey.x.n_rows < 2:
            raise ValueError(f"X has {survey.x.n_rows} row(s); a regression needs at least 2.")
        check_columns(self, scan.feature_names, len(scan.columns), reset=True)
        units = survey.units(source.dtype, centred=yes_or_no("fit_intercept", self.fit_intercept))
        about = [survey, len(source.handles)]
        journal = UNRECORDED if checkpoint is None else checkpoint.journal(self, rng, about)[0]
        self._solve(journal.once(lambda: source.total(SumBlock(units))), units, journal)
        return self

    def _solve(self, sums: Moments, units: RegressionUnits, journal: Record, *, streaming: bool = False) -> None:
        model = self._build(sums, units)
        if not streaming:  # the first rows of a stream do not tell the sizes of its columns
            doubt_column_sizes(model, sums, [str(name) for name in self._columns()], float(units.scale))
        max_iter, tol = whole_number("max_iter", self.max_iter), positive_number("tol", self.tol, zero=True)
        ascent = partial(ascend, model, [sums], max_iter=max_iter, tol=tol, log_scale=units.target.log_scale)
        limit = None if self.max_time is None else time.monotonic() + positive_number("max_time", self.max_time)
        fit = best_of(
            _starts(model, sums),
            lambda start, watch: journal.ascend(ascent, State(start), watch),
            None if limit is None else lambda _: time.monotonic() > limit,
        )
        if fit.stopped and not fit.converged:
            warnings.warn(
                f"BayesianLinearRegression used all max_time={self.max_time:g} seconds and keeps the best state so "
                "far. Raise max_time.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        elif not fit.converged and tol > 0:
            warnings.warn(
                f"BayesianLinearRegression used all max_iter={max_iter} iterations before the bound settled to "
                f"tol={tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        self._keep(model, units, fit)

    def _keep(self, model: LinearRegression, units: RegressionUnits, fit: Fit) -> None:
        """Store the state and publish it in the units of the data."""
        q, sums, target_units = fit.state.q, fit.state.stats, units.target
        step = target_units.scale / units.scale / model.column_units(sums)
        if np.max(step) > LARGEST_STEP:
            raise ValueError(
                f"values of X are so small beside those of y, by {np.max(step):.3g}, that variances of the weights are "
                "beyond the range of numbers; try X in a smaller unit, such as X * 1e150."
            )
        self._model, self._units, self.trace_, self.posterior_ = model, units, fit.trace, q
        self._state = replace(fit.state, locals=None)
        self.coef_ = q.mean * step
        self._integral = None if self._precisions_given else self._integrated(model, sums)
        self._keep_spread(q, step, target_units.scale / units.scale)
        means = (sums.x / sums.n, sums.y / sums.n) if model.intercept else (np.zeros_like(sums.x), 0.0)
        self._center = units.leave(means[0])
        level = float(target_units.leave(np.array([means[1]]))[0])
        self.intercept_ = level - float(self._center @ self.coef_) if model.intercept else 0.0
        with np.errstate(over="ignore"):  # of columns that explain nothing, in huge units
            unit = weight_unit(units, model.standardized)
            self.weight_precision_ = min(float(expected(q.alpha) / unit / unit), LARGEST_FLOAT)
            self.noise_precision_ = min(
                float(expected(q.beta) / target_units.scale / target_units.scale), LARGEST_FLOAT
            )
        self._noise = (target_units.scale / expected(q.beta)) * target_units.scale * (1 + model.intercept / sums.n)
        self.column_spread_ = np.sqrt(sums.sizes(True)[0] / sums.n) * units.scale
        self.elbo_, self.n_iter_, self.converged_ = fit.elbo, len(fit.trace), fit.converged
        self.elbo_history_ = np.array([event.elbo for event in fit.trace])

    def _keep_spread(self, q: RegressionPosterior, step: Floats, common: float) -> None:
        """Store coef_std_ (D,), in units of the data.

        Weights of q are multiplied by `step` (D,), those of the integral by `common`, to be in these units. Where
        precisions were not given they are integrated out, which leaves long tails: the standard deviation is then that
        of a Normal whose central 95 % interval is as wide.
        """
        self.__dict__.pop("coef_covariance_", None)
        if self._integral is not None:
            low, high = self._integral.weight_quantiles(CENTRAL_QUANTILES) * common
            self.coef_std_ = (high - low) / WIDTH
        elif self._precisions_given:
            self.coef_std_ = np.sqrt(q.variances) * step
        else:  # one row, of which an intercept takes all: nothing tells the noise
            self.coef_std_ = np.full(len(q.mean), np.inf)

    @cached_property
    def coef_covariance_(self) -> Floats:
        """(D, D), made when it is asked for: of many columns it may be larger than all else."""
        check_is_fitted(self)
        size, free = len(self.coef_), free_memory()
        if free is not None and MATRICES * 8.0 * size**2 > free:
            raise MemoryError(
                f"coef_covariance_ of {size} columns takes {in_words(8.0 * size**2)}, {MATRICES} times that while it "
                f"is made, and {in_words(free)} are free. coef_std_, intervals(), predict(X, return_std=True) and "
                "sample_coef() need no such matrix."
            )
        if self._integral is None:
            step = self._step
            return self.posterior_.matrix * step * step[:, None] if self._precisions_given else np.diag(self.coef_std_)
        spread = self._integral.covariance
        ratio = self.coef_std_ / np.sqrt(np.diag(spread))
        return spread * ratio * ratio[:, None]

    def _integrated(self, model: LinearRegression, sums: Moments) -> RegressionIntegral | None:
        """Under the caller's priors of precisions, where there are any."""
        of_weights = None if self.weight_variance_prior is None else model.alpha_prior
        return integrated(model, sums, of_weights, None if self.noise_variance_prior is None else model.beta_prior)

    @property
    def _precisions_given(self) -> bool:
        """Whether both precisions are known, so that nothing is to be integrated out."""
        return not (isinstance(self._model.alpha, str) or isinstance(self._model.beta, str))

    def _build(self, sums: Moments, units: RegressionUnits) -> LinearRegression:
        return model_of(self, sums, units)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")


def _starts(model: LinearRegression, sums: Moments) -> list[RegressionPosterior]:
    """The posterior given prior or evident precisions; with Gamma posteriors the bound may have a top near either."""
    alpha, beta = ("evidence" if kind == "gamma" else kind for kind in (model.alpha, model.beta))
    evident = replace(model, alpha=alpha, beta=beta)
    both = [evident, model] if evident != model else [model]
    return [each.global_step(model.prior(model.n_features), sums) for each in both]


def _check_target(scan: Scan, y: Any, sample_weight: Any) -> None:
    if scan.target is None or y is not None or sample_weight is not None:
        raise ValueError("a scan names its own target and weights: latens.scan(..., target=name, weights=name).")
