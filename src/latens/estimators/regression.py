"""Linear regression with the posterior of its weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from latens.array import Floats
from latens.array.transfer import host, like
from latens.core import Fit, Rows, State
from latens.estimators.parameters import all_or_nothing, positive_number, whole_number, yes_or_no
from latens.estimators.rows.units import Frame
from latens.estimators.rows.validation import is_foreign, refuse_dates
from latens.inference.ascent import ascend
from latens.inference.restarts import best_of
from latens.models.linear_regression import (
    LinearRegression,
    RegressionPosterior,
    RegressionSums,
    expected,
    regression_sums,
)
from latens.system.seeds import generator

__all__ = ["BayesianLinearRegression", "RegressionFrame"]

NAMES = ("evidence", "gamma")
GRID = 2.0**-10  # of a column's own spread; origins lie on it, so that the order of rows does not reach the model


@dataclass(frozen=True)
class RegressionFrame(Frame):
    """Units of the columns, and of what they predict."""

    target: Frame  # of one column

    @classmethod
    def of_pairs(cls, x: Floats, y: Floats, weight: Floats | None, *, centred: bool) -> RegressionFrame:
        """One unit for all columns, since their weights share one prior; an origin for each, however small it is."""
        across, along = (Frame.of(Rows(rows, None, weight), centred=centred) for rows in (x, y[:, None]))
        origin = across.origin
        if centred:
            inside = across.enter(Rows(x)).x
            mean = np.average(inside, axis=0, weights=weight)
            spread = np.sqrt(np.average((inside - mean) ** 2, axis=0, weights=weight))
            spread = np.maximum(spread, np.finfo(float).eps * np.abs(mean))
            grid = GRID * 2.0 ** np.round(np.log2(spread, out=np.zeros_like(spread), where=spread > 0))
            origin = origin + np.ldexp(np.round(mean / grid) * grid, across.exponent)
        return cls(origin, across.exponent, along)

    def __post_init__(self) -> None:
        if self.target.origin.shape != (1,):
            raise ValueError(f"the target has an origin of shape {self.target.origin.shape}; expected (1,)")


class BayesianLinearRegression(RegressorMixin, BaseEstimator):
    """Predict a number from a weighted sum of columns, and know how sure the weights and predictions are.

    Parameters
    ----------
    alpha : float, "evidence" or "gamma"
        Prior precision of the weights: given, chosen to maximise the evidence, or with a Gamma posterior. It is one
        number for all weights, in the units of the columns, so that other units of single columns give another answer:
        where they have nothing in common, standardise them first.
    beta : float, "evidence", "gamma" or "variance"
        Precision of the noise, likewise. "variance" is 1 / Var(y), which ignores the fit and is far too small where
        the columns explain anything; it is there to reproduce others' work.
    fit_intercept : bool
        Whether there is an intercept, with a flat prior; rows are then centred.
    max_iter, tol : int, float
        Iterations at most where "gamma" is asked for, and the gain of the bound in nats per row that ends them.
    random_state : int, RandomState, Generator or None
        For `sample_coef`.

    Attributes
    ----------
    coef_ : array (D,)
        Posterior mean of the weights.
    coef_covariance_ : array (D, D)
    intercept_ : float
    alpha_, beta_ : float
        In the units of the data; posterior means with "gamma".
    column_spread_ : array (D,)
        Standard deviations of the columns, of all rows seen.
    elbo_ : float
        The log evidence, all constants in; with "gamma" its lower bound.
    elbo_history_, n_iter_, converged_, posterior_

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

    def __init__(
        self,
        alpha: float | str = "evidence",
        beta: float | str = "evidence",
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, D) and targets y (n,); a row of weight 2 counts as the row given twice."""
        with all_or_nothing(self):
            return self._see(X, y, sample_weight, None, streaming=False)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far; the answer is that of `fit` on all of them."""
        before = self.state_.stats if self.__sklearn_is_fitted__() else None
        with all_or_nothing(self):
            return self._see(X, y, sample_weight, before, streaming=True)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets (n,); with `return_std` also the standard deviation of a new target, noise included.

        It holds the uncertainty of the weights and the intercept, and of alpha and beta where these were not given.
        A new target then has a Student-t distribution, of as many degrees of freedom as rows are left once weights
        and intercept are determined; with few of them its own standard deviation is infinite. What is returned is
        that of the Normal with the same central 95 % interval, so that mean -+ 1.96 std is meant to hold 95 % whatever
        the number of rows. Where weights explain every row, the noise is known to one degree of freedom at best; and
        after a single row, with an intercept and noise that was not given, it is infinite.
        """
        check_is_fitted(self)
        if is_foreign(X):  # answered in kind
            answer = self.predict(host(X), return_std)
            return tuple(like(part, X) for part in answer) if return_std else like(answer, X)
        x = np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False), dtype=np.float64)
        mean = x @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        gaps = x - self._center
        pulled = gaps @ self.coef_covariance_
        weights = np.sum(pulled * gaps, axis=1)
        prior = np.minimum(np.sum((np.sqrt(self.alpha_) * pulled) ** 2, axis=1), weights)
        return mean, np.sqrt(self._widening[0] * (weights - prior + self._noise) + self._widening[1] * prior)

    def sample_coef(self, n_samples: int = 1) -> Floats:
        """(n_samples, D), draws of the weights from their posterior."""
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples)
        step = self.frame_.target.scale / self.frame_.scale
        return np.asarray(self.posterior_.draws(generator(self.random_state), n) * step)

    def _see(self, X: Any, y: Any, sample_weight: Any, before: RegressionSums | None, *, streaming: bool) -> Self:
        fresh = before is None
        generator(self.random_state)  # to be refused now, not when weights are drawn
        refuse_dates(X)
        X, y, sample_weight = (host(part) if is_foreign(part) else part for part in (X, y, sample_weight))
        told = all(not isinstance(scale, str) for scale in (self.alpha, self.beta))
        least = 2 if fresh and not told and not streaming else 1  # one row does not tell noise from weights
        x, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], y_numeric=True, reset=fresh, ensure_min_samples=least
        )
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
            if not weight.sum() > 0:
                raise ValueError("sample_weight adds up to 0; give at least one row a positive weight.")
        centred = yes_or_no("fit_intercept", self.fit_intercept)
        frame = RegressionFrame.of_pairs(x, y, weight, centred=centred) if fresh else self.frame_
        inside, target = frame.enter(Rows(x)).x, frame.target.enter(Rows(y[:, None])).x[:, 0]
        sums = regression_sums(inside, target, weight)
        sums = sums if before is None else before + sums
        self._solve(sums, frame)
        return self

    def _solve(self, sums: RegressionSums, frame: RegressionFrame) -> None:
        model = self._build(sums, frame)
        max_iter, tol = whole_number("max_iter", self.max_iter), positive_number("tol", self.tol, zero=True)
        climb = partial(ascend, model, [sums], max_iter=max_iter, tol=tol, log_scale=frame.target.log_scale)  # type: ignore[arg-type]
        fit = best_of(_starts(model, sums), lambda start, watch: climb(State(start), on_iteration=watch))
        if not fit.converged and tol > 0:
            warnings.warn(
                f"BayesianLinearRegression used all max_iter={max_iter} iterations before the bound settled to "
                f"tol={tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._keep(model, frame, fit)

    def _keep(self, model: LinearRegression, frame: RegressionFrame, fit: Fit) -> None:
        """Store the state and publish it in the units of the data."""
        q, sums, along, step = fit.state.q, fit.state.stats, frame.target, frame.target.scale / frame.scale
        self.model_, self.frame_, self.trace_, self.posterior_ = model, frame, fit.trace, q
        self.state_ = replace(fit.state, locals=None)
        self.coef_ = q.mean * step
        self.coef_covariance_ = q.covariance * step * step
        means = (sums.x / sums.n, sums.y / sums.n) if model.intercept else (np.zeros_like(sums.x), 0.0)
        self._center = frame.leave(means[0])
        level = float(along.leave(np.array([means[1]]))[0])
        self.intercept_ = level - float(self._center @ self.coef_) if model.intercept else 0.0
        with np.errstate(over="ignore"):  # of columns that explain nothing, in huge units
            self.alpha_ = min(float(expected(q.alpha) / step / step), float(np.finfo(float).max))
            self.beta_ = min(float(expected(q.beta) / along.scale / along.scale), float(np.finfo(float).max))
        self._noise = (along.scale / expected(q.beta)) * along.scale * (1 + model.intercept / sums.n)
        self._widening = model.widening(q, sums)
        self.column_spread_ = np.sqrt(np.diag(sums.about(True)[0]) / sums.n) * frame.scale
        self.elbo_, self.n_iter_, self.converged_ = fit.elbo, len(fit.trace), fit.converged
        self.elbo_history_ = np.array([event.elbo for event in fit.trace])

    def _build(self, sums: RegressionSums, frame: RegressionFrame) -> LinearRegression:
        along, intercept = frame.target, bool(self.fit_intercept)
        step = along.scale / frame.scale
        xx, _, yy = sums.about(intercept)
        resolution = _rounding(sums, float(along.origin[0]) / along.scale)
        spread = max(yy / sums.n, resolution)
        width = float(np.trace(xx)) / (sums.n * len(xx)) or 1.0
        alpha, beta = (_scale(name, getattr(self, name)) for name in ("alpha", "beta"))
        return LinearRegression(
            n_features=len(sums.x),
            alpha=alpha if isinstance(alpha, str) else alpha * step * step,
            beta=1 / spread if beta == "variance" else beta if isinstance(beta, str) else beta * along.scale**2,
            alpha_prior=(1e-6, 1e-6 * spread / width),
            beta_prior=(1e-6, 1e-6 * spread),
            intercept=intercept,
            resolution=resolution,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")


def _starts(model: LinearRegression, sums: RegressionSums) -> list[RegressionPosterior]:
    """The posterior given prior or evident precisions; with Gamma posteriors the bound may have a top near either."""
    alpha, beta = ("evidence" if kind == "gamma" else kind for kind in (model.alpha, model.beta))
    evident = replace(model, alpha=alpha, beta=beta)
    both = [evident, model] if evident != model else [model]
    return [each.global_step(model.prior(model.n_features), sums) for each in both]


def _rounding(sums: RegressionSums, origin: float) -> float:
    """The mean square of y that rounding alone may make; 1 where y is 0 and has no size."""
    size = float(np.finfo(float).eps) ** 2 * (sums.yy + 2 * origin * sums.y + sums.n * origin**2) / sums.n
    return size if size > 0 else 1.0


def _scale(name: str, value: Any) -> float | str:
    names = (*NAMES, "variance") if name == "beta" else NAMES
    if isinstance(value, str):
        if value not in names:
            raise ValueError(
                f"{name}={value!r} is not known; give a positive number or one of {', '.join(map(repr, names))}."
            )
        return value
    return positive_number(name, value)
