"""Bayesian linear regression against closed forms, and the evidence against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge
from sklearn.utils.estimator_checks import check_estimator

import latens


def problem(seed: int = 0, n: int = 60, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    return x, x @ rng.normal(size=d) + 2 + 0.7 * rng.normal(size=n)


@pytest.mark.parametrize("options", [{}, {"alpha": "gamma", "beta": "gamma"}, {"alpha": 1.0, "beta": 2.0}])
def test_scikit_learn_finds_no_fault(options: dict) -> None:
    results = check_estimator(latens.BayesianLinearRegression(**options), on_fail=None, on_skip=None)
    assert [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"] == []
    assert len(results) > 40


def test_given_precisions_have_the_closed_form_posterior_and_evidence() -> None:
    x, y = problem()
    alpha, beta = 0.7, 1.9
    model = latens.BayesianLinearRegression(alpha, beta, fit_intercept=False).fit(x, y)
    precision = alpha * np.eye(4) + beta * x.T @ x
    assert model.coef_ == pytest.approx(np.linalg.solve(precision, beta * x.T @ y))
    assert model.coef_covariance_ == pytest.approx(np.linalg.inv(precision))
    evidence = multivariate_normal(np.zeros(60), np.eye(60) / beta + x @ x.T / alpha).logpdf(y)
    assert model.elbo_ == pytest.approx(evidence, rel=1e-11)
    assert model.intercept_ == 0
    mean, std = model.predict(x, return_std=True)
    assert mean == pytest.approx(x @ model.coef_)
    assert std**2 == pytest.approx(1 / beta + np.einsum("ni,ij,nj->n", x, np.linalg.inv(precision), x))


@pytest.mark.parametrize("free", [("evidence", "evidence"), ("evidence", 2.0), (0.5, "evidence")])
def test_the_evidence_is_at_its_maximum(free: tuple) -> None:
    x, y = problem(1)
    best = latens.BayesianLinearRegression(*free, fit_intercept=False).fit(x, y)
    for step in (1 - 1e-3, 1 + 1e-3):
        for i, name in enumerate(("alpha_", "beta_")):
            if free[i] == "evidence":
                at = [best.alpha_, best.beta_]
                at[i] = getattr(best, name) * step
                assert latens.BayesianLinearRegression(*at, fit_intercept=False).fit(x, y).elbo_ < best.elbo_


def test_evidence_is_that_of_scikit_learn_where_the_models_coincide() -> None:
    x, y = problem(2)
    flat = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0, "tol": 1e-14, "max_iter": 10_000}
    peer, model = BayesianRidge(**flat, compute_score=True).fit(x, y), latens.BayesianLinearRegression().fit(x, y)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-7)
    assert model.intercept_ == pytest.approx(peer.intercept_)
    assert (model.alpha_, model.beta_) == pytest.approx((peer.lambda_, peer.alpha_), rel=1e-7)
    assert model.coef_covariance_ == pytest.approx(peer.sigma_, rel=1e-6)
    assert model.elbo_ == pytest.approx(peer.scores_[-1], rel=1e-10)
    for one, two in zip(model.predict(x, return_std=True), peer.predict(x, return_std=True), strict=True):
        assert one == pytest.approx(two, rel=1e-7)


def test_gamma_posteriors_never_lower_the_bound_and_stay_below_the_evidence() -> None:
    x, y = problem(3, n=12)
    model = latens.BayesianLinearRegression("gamma", "gamma", fit_intercept=False, tol=1e-13).fit(x, y)
    assert np.all(np.diff(model.elbo_history_) > -1e-9)
    a0, (alpha_rate, beta_rate) = 1e-6, (model.model_.alpha_prior[1], model.model_.beta_prior[1])
    scale = model.frame_.target.scale / model.frame_.scale
    # the evidence, by trapezoids over log alpha and log beta
    logs = np.linspace(-14, 14, 281)
    spectrum, across = model.model_.spectrum(model.state_.stats), logs[:, None] + 0 * logs
    heights = np.array([[spectrum.log_evidence(np.exp(a), np.exp(b)) for b in logs] for a in logs])
    from scipy.special import gammaln, logsumexp

    prior = [a0 * np.log(r) - gammaln(a0) + a0 * logs - r * np.exp(logs) for r in (alpha_rate, beta_rate)]
    total = logsumexp(heights + prior[0][:, None] + prior[1][None]) + 2 * np.log(logs[1] - logs[0])
    assert across.shape == heights.shape
    assert scale > 0
    evidence = total - model.state_.stats.n * model.frame_.target.log_scale
    assert -1e-9 < evidence - model.elbo_ < 3


def test_streams_and_weights_are_nothing_special() -> None:
    x, y = problem(4)
    times = np.random.default_rng(0).integers(0, 4, len(x))
    whole = latens.BayesianLinearRegression().fit(x, y, sample_weight=times)
    repeated = latens.BayesianLinearRegression().fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    stream = latens.BayesianLinearRegression()
    for at in range(0, 60, 20):
        stream.partial_fit(x[at : at + 20], y[at : at + 20], times[at : at + 20])
    for other in (repeated, stream):
        assert other.coef_ == pytest.approx(whole.coef_, rel=1e-9)
        assert other.intercept_ == pytest.approx(whole.intercept_, rel=1e-9)
        assert other.coef_covariance_ == pytest.approx(whole.coef_covariance_, rel=1e-8)
        assert other.elbo_ == pytest.approx(whole.elbo_, rel=1e-10)


@pytest.mark.parametrize("kind", ["evidence", "gamma"])
@pytest.mark.parametrize(("a", "b"), [(1e-60, 1e60), (1e9, 1e-9)])
def test_units_change_nothing(kind: str, a: float, b: float) -> None:
    x, y = problem(5)
    one, two = (latens.BayesianLinearRegression(kind, kind).fit(p * x, q * y) for p, q in ((1, 1), (a, b)))
    assert two.coef_ * a / b == pytest.approx(one.coef_, rel=1e-5)
    assert two.elbo_ == pytest.approx(one.elbo_ - 60 * np.log(b), rel=1e-6)


def test_noise_from_the_variance_of_y_ignores_the_fit() -> None:
    x, y = problem(6)
    assert latens.BayesianLinearRegression(beta="variance").fit(x, y).beta_ == pytest.approx(1 / np.var(y))
    assert latens.BayesianLinearRegression().fit(x, y).beta_ > 2 / np.var(y)


def test_more_columns_than_rows() -> None:
    x, y = problem(7, n=10, d=30)
    mean, std = latens.BayesianLinearRegression().fit(x, y).predict(x, return_std=True)
    assert np.isfinite(mean).all()
    assert np.all(std > 0)


def test_intervals_cover_what_they_claim() -> None:
    inside = []
    for seed in range(40):
        x, y = problem(100 + seed, n=45)
        mean, std = latens.BayesianLinearRegression().fit(x[:25], y[:25]).predict(x[25:], return_std=True)
        inside.append(np.abs(mean - y[25:]) < 1.96 * std)
    assert 0.91 < np.mean(inside) < 0.97


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "ml"}, "alpha='ml' is not known"),
        ({"beta": -1}, "beta=-1"),
        ({"alpha": "variance"}, "alpha='variance'"),
    ],
)
def test_bad_parameters_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.BayesianLinearRegression(**options).fit(*problem())
