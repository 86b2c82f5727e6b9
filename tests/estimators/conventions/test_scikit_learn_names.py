"""What estimators share with scikit-learn's classes by name they share by meaning: shape and value, on one data set.

Names are found, not listed: a new attribute or method that scikit-learn's class has too fails here until it says how
the two are compared. Components are compared up to their order and sign, which neither library promises the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import FactorAnalysis, FastICA
from sklearn.linear_model import ARDRegression, BayesianRidge
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

import latens

# the machinery of scikit-learn itself: parameters, containers, routing
MACHINERY = {name for cls in (BaseEstimator, TransformerMixin) for name in dir(cls)}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows that are two clusters, two factors and two sources at once, and a target that depends on them."""
    rng = np.random.default_rng(0)
    n = 1500
    levels = 2.0 * rng.permutation(np.repeat([-1.0, 1.0], n // 2)) + 0.5 * rng.normal(size=n)
    sources = np.column_stack([levels, rng.standard_t(5, size=n)])
    mixing = np.array([[1.5, 0.2, -1.0, 0.6, 0.3], [0.1, 1.0, 0.7, -0.8, 0.9]])
    x = 3 + sources @ mixing + 0.2 * rng.normal(size=(n, 5))
    return x, x @ np.array([1.0, -2.0, 0.5, 0.0, 0.3]) + 4 + rng.normal(size=n)


X, Y = rows()
PRIORS = {
    "mean_prior": X.mean(axis=0),
    "mean_precision_prior": 1.0,
    "degrees_of_freedom_prior": 5.0,
    "covariance_prior": np.cov(X.T),
    "weight_concentration_prior": 0.5,
}

Compare = Callable[[Any, Any, str, Any], None]


@dataclass(frozen=True)
class Pair:
    """An estimator of ours and the class of scikit-learn that has its names; and how each shared name is compared."""

    ours: Any
    theirs: Any
    directions: str  # an attribute of both by whose rows components are matched; "" where there are none
    rules: Mapping[str, Compare]
    other_meaning: Mapping[str, str]  # names that mean something else on purpose, and why

    def fitted(self) -> tuple[Any, Any, Any]:
        """Both, and the order and sign of our components that are theirs."""
        ours, theirs = self.ours.fit(X, Y), self.theirs.fit(X, Y)
        if not self.directions:
            return ours, theirs, None
        one, other = getattr(ours, self.directions), getattr(theirs, self.directions)
        alike = other @ one.T  # largest, apart from sign, where components are the same
        if self.directions == "means_":  # places, not directions: what is nearest, and no sign
            alike = 1 / np.linalg.norm(other[:, None] - one[None], axis=2)
        order = np.argmax(np.abs(alike / np.linalg.norm(one, axis=1)), axis=1)
        assert sorted(order) == list(range(len(one)))
        return ours, theirs, (order, np.sign(alike[np.arange(len(order)), order]))


def near(ours: Any, theirs: Any, tolerance: float) -> None:
    """Equal shapes, and values within a share of the largest."""
    one, other = np.asarray(ours), np.asarray(theirs)
    assert one.shape == other.shape
    assert one.dtype.kind == other.dtype.kind
    assert np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(other))


def value(tolerance: float, axes: str = "") -> Compare:
    """An attribute whose axes are "k" for components, "s" for components that have a sign, or any other letter."""

    def compare(ours: Any, theirs: Any, name: str, align: Any) -> None:
        near(aligned(np.asarray(getattr(ours, name)), axes, align), getattr(theirs, name), tolerance)

    return compare


def answer(tolerance: float, axes: str = "", *arguments: Any) -> Compare:
    """What a method says of the rows, likewise; `arguments` replace the rows where there are any."""

    def compare(ours: Any, theirs: Any, name: str, align: Any) -> None:
        given = arguments or (X,)
        near(aligned(getattr(ours, name)(*given), axes, align), getattr(theirs, name)(*given), tolerance)

    return compare


def aligned(array: np.ndarray, axes: str, align: Any) -> np.ndarray:
    for axis, letter in enumerate(axes):
        if letter in "ks":
            array = np.take(array, align[0], axis=axis)
        if letter == "s":
            array = array * align[1].reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return array


def plain(name: str) -> Compare:
    """A method without rows: its own answer."""

    def compare(ours: Any, theirs: Any, _: str, align: Any) -> None:
        near(getattr(ours, name)(), getattr(theirs, name)(), 1e-4)

    return compare


def same_type(ours: Any, theirs: Any, name: str, _: Any) -> None:
    """How long a search took is no fact about the data; that it ended is."""
    assert type(getattr(ours, name)) is type(getattr(theirs, name))
    assert getattr(ours, name) >= 1


def is_true(ours: Any, theirs: Any, name: str, _: Any) -> None:
    assert getattr(ours, name) is getattr(theirs, name) is True


def returns_self(ours: Any, theirs: Any, name: str, _: Any) -> None:
    assert getattr(ours, name)(X, Y) is ours
    assert getattr(theirs, name)(X, Y) is theirs


def as_fit_and(then: str, axes: str) -> Compare:
    """Fitting and asking in one call."""

    def compare(ours: Any, theirs: Any, name: str, align: Any) -> None:
        for model in (ours, theirs):
            assert np.allclose(getattr(model, name)(X), getattr(model.fit(X), then)(X), atol=1e-6)

    return compare


def labels(ours: Any, theirs: Any, name: str, align: Any) -> None:
    """Numbers of clusters; a row half way may go to either."""
    one, other = getattr(ours, name)(X), getattr(theirs, name)(X)
    assert one.shape == other.shape
    assert one.dtype.kind == other.dtype.kind == "i"
    assert np.mean(one == align[0][other]) > 0.995


def densities(shift: float) -> Compare:
    """Log densities of rows, in nats; ours integrates the parameters out, which gives far rows heavier tails."""

    def compare(ours: Any, theirs: Any, name: str, _: Any) -> None:
        one, other = getattr(ours, name)(X), getattr(theirs, name)(X)
        assert np.shape(one) == np.shape(other)
        assert abs(np.mean(one) - np.mean(other)) < shift
        assert np.ndim(one) == 0 or np.corrcoef(one, other)[0, 1] > 0.999

    return compare


def criterion(ours: Any, theirs: Any, name: str, _: Any) -> None:
    assert getattr(ours, name)(X) == pytest.approx(getattr(theirs, name)(X), abs=10)


def log_likelihoods(ours: Any, theirs: Any, name: str, _: Any) -> None:
    assert type(getattr(ours, name)) is type(getattr(theirs, name)) is list
    assert getattr(ours, name)[-1] == pytest.approx(getattr(theirs, name)[-1], rel=1e-6)


def codes_back(ours: Any, theirs: Any, name: str, align: Any) -> None:
    """From the same sources, each in its own order and sign, to the same rows."""
    order, sign = align
    sources = theirs.transform(X)
    own = np.empty_like(sources)
    own[:, order] = sources * sign
    near(getattr(ours, name)(own), getattr(theirs, name)(sources), 0.08)


def predictions(tolerance: float) -> Compare:
    def compare(ours: Any, theirs: Any, name: str, _: Any) -> None:
        near(getattr(ours, name)(X), getattr(theirs, name)(X), tolerance)
        for one, other in zip(
            getattr(ours, name)(X, return_std=True), getattr(theirs, name)(X, return_std=True), strict=True
        ):
            near(one, other, max(tolerance, 0.01))

    return compare


def r2(ours: Any, theirs: Any, name: str, _: Any) -> None:
    assert getattr(ours, name)(X, Y) == pytest.approx(getattr(theirs, name)(X, Y), abs=1e-3)


MIXTURE: dict[str, Compare] = {
    "fit": returns_self,
    "fit_predict": as_fit_and("predict", "n"),
    "predict": labels,
    "converged_": is_true,
    "n_iter_": same_type,
    "n_features_in_": value(0),
}
ONE_HOT = {"sample": "the hidden values of rows are memberships, as of `transform`; scikit-learn has their numbers"}
SHORT = {"get_feature_names_out": "names are short, factor0 or source0, where scikit-learn repeats the class"}
MAXIMUM = 0.03  # between a posterior mean and the maximum of the likelihood, with 1,500 rows
REGRESSION: dict[str, Compare] = {
    "fit": returns_self,
    "intercept_": value(0.15),
    "score": r2,
    "n_iter_": same_type,
    "n_features_in_": value(0),
}
FORMER = {"alpha_": "the former name of weight_precision_; scikit-learn's is the precision of the noise"}
SEARCHED = {"random_state": 0, "prune": False, "tol": 1e-9}

PAIRS = {
    "GaussianMixture": Pair(
        latens.GaussianMixture(2, **SEARCHED),
        GaussianMixture(2, random_state=0, tol=1e-8, max_iter=1000),
        "means_",
        {
            **MIXTURE,
            "weights_": value(MAXIMUM, "k"),
            "means_": value(MAXIMUM, "kd"),
            "covariances_": value(MAXIMUM, "kdd"),
            "precisions_": value(2 * MAXIMUM, "kdd"),
            "precisions_cholesky_": value(MAXIMUM, "kdd"),
            "predict_proba": answer(0.05, "nk"),
            "score_samples": densities(0.01),
            "score": densities(0.01),
            "aic": criterion,
            "bic": criterion,
        },
        ONE_HOT,
    ),
    "BayesianGaussianMixture": Pair(
        latens.GaussianMixture(2, **SEARCHED, **PRIORS),
        BayesianGaussianMixture(
            n_components=2,
            random_state=0,
            tol=1e-9,
            max_iter=3000,
            weight_concentration_prior_type="dirichlet_distribution",
            **PRIORS,
        ),
        "means_",
        {
            **MIXTURE,
            **{name: value(1e-6, "k") for name in ("weights_", "weight_concentration_", "mean_precision_")},
            "degrees_of_freedom_": value(1e-6, "k"),
            "means_": value(1e-6, "kd"),
            **{name: value(1e-4, "kdd") for name in ("covariances_", "precisions_", "precisions_cholesky_")},
            **{f"{name}_": value(0) for name in PRIORS},
            "predict_proba": answer(0.01, "nk"),
            "score_samples": densities(0.03),
            "score": densities(0.03),
        },
        ONE_HOT,
    ),
    "FactorAnalysis": Pair(
        latens.FactorAnalysis(2),
        FactorAnalysis(2, svd_method="lapack", tol=1e-8, max_iter=5000),
        "components_",
        {
            "fit": returns_self,
            "components_": value(1e-3, "sd"),
            "noise_variance_": value(1e-3),
            "mean_": value(1e-9),
            "loglike_": log_likelihoods,
            "n_iter_": same_type,
            "n_features_in_": value(0),
            "get_covariance": plain("get_covariance"),
            "get_precision": plain("get_precision"),
            "transform": answer(1e-3, "ns"),
            "score_samples": answer(1e-4),
            "score": answer(1e-6),
        },
        SHORT,
    ),
    "FastICA": Pair(
        latens.NoisyICA(2, random_state=0),
        FastICA(2, whiten="unit-variance", random_state=0, tol=1e-8, max_iter=2000),
        "components_",
        {
            "fit": returns_self,
            "components_": value(0.15, "sd"),
            "mixing_": value(0.05, "ds"),
            "mean_": value(0.03),
            "transform": answer(0.1, "ns"),
            "inverse_transform": codes_back,
            "n_iter_": same_type,
            "n_features_in_": value(0),
        },
        SHORT,
    ),
    "BayesianRidge": Pair(
        latens.BayesianLinearRegression(),
        BayesianRidge(alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-10),
        "",
        {**REGRESSION, "coef_": value(1e-8), "intercept_": value(1e-8), "predict": predictions(1e-8)},
        FORMER,
    ),
    "ARDRegression": Pair(
        latens.BayesianLinearRegression(),
        ARDRegression(),
        "",
        {**REGRESSION, "coef_": value(0.05), "predict": predictions(0.01)},
        FORMER,
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::latens.errors.LatensWarning")


@cache
def fitted(name: str) -> tuple[Any, Any, Any]:
    return PAIRS[name].fitted()


def shared(ours: Any, theirs: Any) -> set[str]:
    """Public names that both have once they are fitted, parameters and the machinery of scikit-learn apart."""
    parameters = {*ours.get_params(), *theirs.get_params()}
    names = {name for name in dir(ours) if not name.startswith("_") and not name.endswith("_request")}
    return {name for name in names if hasattr(theirs, name)} - parameters - MACHINERY


@pytest.mark.parametrize("name", PAIRS)
def test_every_shared_name_says_how_it_is_compared(name: str) -> None:
    ours, theirs, _ = fitted(name)
    pair = PAIRS[name]
    assert shared(ours, theirs) == {*pair.rules, *pair.other_meaning}


@pytest.mark.parametrize(("name", "attribute"), [(name, each) for name, pair in PAIRS.items() for each in pair.rules])
def test_a_shared_name_has_the_same_shape_and_value(name: str, attribute: str) -> None:
    PAIRS[name].rules[attribute](*fitted(name)[:2], attribute, fitted(name)[2])


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_of_shared_methods_have_the_same_names(name: str) -> None:
    ours, theirs, _ = fitted(name)
    for method in sorted(each for each in shared(ours, theirs) if callable(getattr(theirs, each))):
        other = inspect.signature(getattr(theirs, method)).parameters
        own = inspect.signature(getattr(ours, method)).parameters
        first = [each for each in other if other[each].kind is not inspect.Parameter.VAR_KEYWORD]
        assert set(first) <= {*own, "copy"}, method  # there is nothing to copy: rows are never written over


def test_precisions_of_the_regression_are_scikit_learns_under_plainer_names() -> None:
    ours, theirs, _ = fitted("BayesianRidge")
    assert ours.weight_precision_ == pytest.approx(theirs.lambda_, rel=1e-6)
    assert ours.noise_precision_ == pytest.approx(theirs.alpha_, rel=1e-6)
    near(ours.coef_covariance_, theirs.sigma_, 0.03)


def test_draws_of_a_mixture_hold_what_scikit_learn_gives_as_numbers() -> None:
    ours, theirs, (order, _) = fitted("GaussianMixture")
    drawn, memberships = ours.sample(2000)
    other, numbers = theirs.sample(2000)
    assert drawn.shape == other.shape
    assert np.argmax(memberships, axis=1).shape == numbers.shape
    assert memberships.mean(axis=0)[order] == pytest.approx(np.bincount(numbers) / 2000, abs=0.05)


@pytest.mark.parametrize("name", ["GaussianMixture", "FactorAnalysis"])
def test_the_bound_of_scikit_learn_is_refused_by_the_name_it_has_here(name: str) -> None:
    with pytest.raises(AttributeError, match="elbo_"):
        fitted(name)[0].lower_bound_  # noqa: B018
