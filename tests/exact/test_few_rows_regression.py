"""Linear regression of fewer rows than columns, which works on the rows, against that of products of columns."""

from __future__ import annotations

import numpy as np
import pytest

import latens
from latens.models.regression_sums import RegressionRows, RegressionSums, regression_sums


def few_rows(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of a few factors and some noise, and a target that the factors do not explain all of."""
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(n, 4))
    x = codes @ rng.normal(size=(4, d)) + 0.1 * rng.normal(size=(n, d)) + 2
    return x, codes[:, 0] + 1 + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"fit_intercept": False},
        {"weight_precision": "gamma", "noise_precision": "gamma", "fit_intercept": False},
        {"weight_precision": 0.3, "noise_precision": 2.0},
        {"noise_precision": 2.0},
        {"standardize": True, "noise_precision": 1.0},
        {"standardize": True, "fit_intercept": False},
    ],
)
def test_rows_fewer_than_columns_answer_as_their_products_do(
    options: dict, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = few_rows(25, 60, 3)
    weight = np.random.default_rng(5).uniform(0.3, 1.0, 25) if weighted else None
    own = latens.BayesianLinearRegression(**options, random_state=0).fit(x, y, sample_weight=weight)
    assert isinstance(own._state.stats, RegressionRows)
    assert own.posterior_.covariance is None
    assert own.noise_precision_ < 100  # rounding decides where the rows are explained to their last digit
    monkeypatch.setattr(
        "latens.estimators.regression.estimator.regression_sums", lambda *given: regression_sums(*given).products
    )
    peer = latens.BayesianLinearRegression(**options).fit(x, y, sample_weight=weight)
    assert peer.posterior_.covariance.shape == (60, 60)
    names = ("coef_", "coef_std_", "coef_covariance_", "intercept_", "column_spread_", "elbo_")
    for name in names:
        np.testing.assert_allclose(getattr(own, name), getattr(peer, name), rtol=1e-9, atol=1e-9, err_msg=name)
    precisions = [[model.weight_precision_, model.noise_precision_] for model in (own, peer)]
    np.testing.assert_allclose(*precisions, rtol=1e-7 if options.get("weight_precision") == "gamma" else 1e-9)
    for at in (x, x + 3 * few_rows(25, 60, 4)[0]):
        np.testing.assert_allclose(own.predict(at, return_std=True), peer.predict(at, return_std=True), rtol=1e-8)
    for method in ("auto", "mean-field"):
        mine, theirs = own.intervals(method=method), peer.intervals(method=method)
        for column in ("std", "lower", "upper"):
            np.testing.assert_allclose(mine[column], theirs[column], rtol=1e-7, atol=1e-9)
        drawn = own.sample_posterior(4000, method="gibbs" if method == "auto" else method)
        np.testing.assert_allclose(drawn["coef"].std(axis=0), np.array(mine["std"])[:60], rtol=0.15)
        covariance = peer.coef_covariance_ if method == "auto" else peer.posterior_.covariance
        spread = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(
            np.corrcoef(drawn["coef"].T), covariance / spread / spread[:, None], atol=0.15, err_msg=method
        )
    np.testing.assert_allclose(own.posterior_.matrix, peer.posterior_.covariance, rtol=1e-6, atol=1e-9)


def test_a_stream_that_outgrows_its_columns_is_that_of_all_rows() -> None:
    x, y = few_rows(40, 24, 6)
    whole, stream = latens.BayesianLinearRegression().fit(x, y), latens.BayesianLinearRegression()
    types = []
    for at in range(0, 40, 8):
        stream.partial_fit(x[at : at + 8], y[at : at + 8])
        types.append(type(stream._state.stats))
        alone = latens.BayesianLinearRegression().fit(x[: at + 8], y[: at + 8])
        assert stream.coef_ == pytest.approx(alone.coef_, rel=1e-6)
    assert types == [RegressionRows, RegressionRows, RegressionSums, RegressionSums, RegressionSums]
    assert stream.coef_std_ == pytest.approx(whole.coef_std_, rel=1e-8)
    assert (0.5 * (whole._state.stats + few_sums(3))).n == 21.5
    halved = 0.5 * few_sums(3)
    assert (halved.n, halved.sizes(False)[1]) == pytest.approx((1.5, 0.5 * few_sums(3).yy))


def few_sums(n: int) -> RegressionRows:
    rows = regression_sums(*few_rows(n, 24, 7), None)
    assert isinstance(rows, RegressionRows)
    return rows


def test_rows_fewer_than_columns_know_their_own_table() -> None:
    x, y = few_rows(12, 50, 8)
    model = latens.BayesianLinearRegression().fit(x, y)
    assert len(model.intervals(x[::-1])["lower"]) == 52  # the order of rows says nothing
    other = x.copy()
    other[3, 7] += 1e-3
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        model.intervals(other)


def test_a_covariance_beyond_memory_is_refused_with_what_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = few_rows(10, 400, 9)
    model = latens.BayesianLinearRegression().fit(x, y)
    monkeypatch.setattr("latens.estimators.regression.estimator.free_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"coef_covariance_ of 400 columns takes .* coef_std_, intervals\(\)"):
        model.coef_covariance_  # noqa: B018
    monkeypatch.undo()
    assert model.coef_covariance_.shape == (400, 400)
    model.fit(x, 2 * y)
    assert np.sqrt(np.diag(model.coef_covariance_)) == pytest.approx(model.coef_std_)  # that of the last fit
