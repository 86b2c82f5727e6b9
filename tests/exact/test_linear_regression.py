"""Bayesian linear regression against closed forms, and the evidence against dense algebra."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import cache
from math import log, pi

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal, t
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.utils.estimator_checks import check_estimator

import latens
from latens.array import Floats
from latens.core import Rows
from latens.errors import DoubtfulScale
from latens.models import regression_integral


def problem(seed: int = 0, n: int = 60, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    return x, x @ rng.normal(size=d) + 2 + 0.7 * rng.normal(size=n)


@pytest.mark.parametrize(
    "options",
    [{}, {"weight_precision": "gamma", "noise_precision": "gamma"}, {"weight_precision": 1.0, "noise_precision": 2.0}],
)
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
        for i, name in enumerate(("weight_precision_", "noise_precision_")):
            if free[i] == "evidence":
                at = [best.weight_precision_, best.noise_precision_]
                at[i] = getattr(best, name) * step
                assert latens.BayesianLinearRegression(*at, fit_intercept=False).fit(x, y).elbo_ < best.elbo_


def test_evidence_is_that_of_scikit_learn_where_the_models_coincide() -> None:
    x, y = problem(2)
    flat = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0, "tol": 1e-14, "max_iter": 10_000}
    peer, model = BayesianRidge(**flat, compute_score=True).fit(x, y), latens.BayesianLinearRegression().fit(x, y)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-7)
    assert model.intercept_ == pytest.approx(peer.intercept_)
    assert (model.weight_precision_, model.noise_precision_) == pytest.approx((peer.lambda_, peer.alpha_), rel=1e-7)
    assert model.elbo_ == pytest.approx(peer.scores_[-1], rel=1e-10)
    mean, std = model.predict(x, return_std=True)
    assert mean == pytest.approx(peer.predict(x), rel=1e-7)
    assert model.posterior_.covariance * (model._units.target.scale / model._units.scale) ** 2 == pytest.approx(
        peer.sigma_, rel=1e-6
    )
    # its deviations leave out that of the intercept, and that the precisions are estimates
    assert 1 < np.min(model.coef_std_ / np.sqrt(np.diag(peer.sigma_))) < 1.1
    assert 1 < np.min(std / peer.predict(x, return_std=True)[1]) < 1.1


def test_without_a_prior_the_interval_is_that_of_least_squares() -> None:
    x, y = problem(8, n=9)
    mean, std = latens.BayesianLinearRegression(1e-12, "evidence").fit(x, y).predict(x + 1, return_std=True)
    design, new = np.column_stack([np.ones(9), x]), np.column_stack([np.ones(9), x + 1])
    best, left = np.linalg.lstsq(design, y)[:2]
    dof = 9 - 5
    scale = np.sqrt(left[0] / dof * (1 + np.sum((new @ np.linalg.inv(design.T @ design)) * new, axis=1)))
    assert mean == pytest.approx(new @ best)
    assert 1.96 * std == pytest.approx(t(dof).ppf(0.975) * scale, rel=1e-4)


STANDARD = [{}, {"weight_precision": "gamma", "noise_precision": "gamma"}, {"weight_precision": 0.3}]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("options", STANDARD)
def test_standardized_columns_answer_in_the_units_of_the_data(options: dict, intercept: bool) -> None:
    x, y = problem(22, n=15)
    x = x * [1e-3, 1.0, 50.0, 1e4]
    options = options | {"fit_intercept": intercept}
    own = latens.BayesianLinearRegression(**options, standardize=True).fit(x, y)
    unit = x.std(axis=0) if intercept else np.sqrt(np.mean(x**2, axis=0))
    peer = latens.BayesianLinearRegression(**options).fit(x / unit, y)
    assert own.elbo_ == pytest.approx(peer.elbo_, rel=1e-9)
    assert own.weight_precision_ == pytest.approx(peer.weight_precision_, rel=1e-6)
    assert own.coef_ * unit == pytest.approx(peer.coef_, rel=1e-6)
    assert own.coef_std_ * unit == pytest.approx(peer.coef_std_, rel=1e-6)
    assert np.array(own.predict(x, return_std=True)) == pytest.approx(
        np.array(peer.predict(x / unit, return_std=True)), rel=1e-5
    )
    for method in ("auto", "mean-field"):
        mine, theirs = own.intervals(method=method), peer.intervals(method=method)
        assert np.array(mine["lower"])[:4] * unit == pytest.approx(np.array(theirs["lower"])[:4], rel=1e-6)
        assert np.array(mine["upper"])[4:] == pytest.approx(np.array(theirs["upper"])[4:], rel=1e-6)
        drawn = own.set_params(random_state=0).sample_posterior(4000, method="gibbs" if method == "auto" else method)
        assert drawn["coef"].std(axis=0) == pytest.approx(np.array(mine["std"])[:4], rel=0.1)
    stream = latens.BayesianLinearRegression(**options, standardize=True)
    for at in range(0, 15, 5):
        stream.partial_fit(x[at : at + 5], y[at : at + 5])
    assert stream.coef_ == pytest.approx(own.coef_, rel=1e-6)


@pytest.mark.parametrize("standardize", [False, True])
def test_estimates_lie_inside_their_own_intervals_in_a_table_of_raw_units(standardize: bool) -> None:
    x, y = load_diabetes(return_X_y=True, scaled=False)
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        model = latens.BayesianLinearRegression(standardize=standardize).fit(x, y)
    table = model.intervals()
    lower, estimate, upper = (np.array(table[name]) for name in ("lower", "estimate", "upper"))
    assert np.all((lower < estimate) & (estimate < upper))
    assert np.all(np.abs(estimate - 0.5 * (lower + upper)) < 0.5 * (upper - lower))
    assert table["std"][:10] == pytest.approx(model.coef_std_)
    assert [type(each.message) for each in records] == ([] if standardize else [DoubtfulScale])
    by_prior = {"x4", "x5", "x6", "x8"}  # four of the six blood values, which the others nearly tell
    assert table["sound"][:10] == [standardize and name not in by_prior for name in table["feature"][:10]]
    assert table["sound"][10:] == [False, standardize]  # no row is near 0, where the line is the intercept
    if standardize:
        least = np.linalg.lstsq(np.column_stack([np.ones(442), x]), y)[0][1:]
        assert np.all(
            (lower[:10] < least) & (least < upper[:10]) | (np.abs(least - estimate[:10]) < 4 * model.coef_std_)
        )
        assert model.elbo_ == pytest.approx(-2405.77, abs=0.01)
        return
    assert set(table["why"]) == {"columns of very different sizes share one prior"}
    message = str(records[0].message)
    assert message.startswith("standard deviations of the columns go from 0.499 ('x1') to 34.6 ('x4')")
    assert message.endswith("Pass standardize=True: the prior is then per standard deviation, and weights stay in the "
                            "units of X.")  # fmt: skip


def test_another_unit_of_all_columns_is_the_same_posterior() -> None:
    x, y = problem(22, n=15)
    one, two = (latens.BayesianLinearRegression().fit(x * [1.0, 2.0, 0.5, 1.0] * unit, y) for unit in (1.0, 1e5))
    assert two.coef_std_ * 1e5 == pytest.approx(one.coef_std_, rel=1e-6)


@pytest.mark.parametrize("y", [np.array(["no", "yes"] * 20), np.array(["no", 2.0] * 20, dtype=object), ["no"] * 40])
def test_text_as_a_target_is_refused_with_what_to_do(y: object) -> None:
    with pytest.raises(
        ValueError, match=r"y holds text, such as 'no'; a regression predicts numbers\. Give y as floats"
    ):
        latens.BayesianLinearRegression().fit(problem()[0][:40], y)


def test_a_table_of_intervals_says_what_it_rests_on() -> None:
    x, y = problem(23, n=16, d=2)
    model = latens.BayesianLinearRegression().fit(x, y)
    wide, narrow = model.intervals(level=0.9), model.intervals(method="mean-field", level=0.9)
    assert wide.columns[:4] == ("parameter", "component", "feature", "view")
    assert wide["parameter"] == ["coef", "coef", "intercept", "noise_precision"]
    assert wide["feature"] == ["x0", "x1", "", ""]
    assert all(wide["sound"])
    assert not any(narrow["sound"])
    assert set(narrow["why"]) == {"precisions taken as known"}
    for (low, high), (inner_low, inner_high) in zip(
        zip(wide["lower"], wide["upper"], strict=True), zip(narrow["lower"], narrow["upper"], strict=True), strict=True
    ):
        assert low < inner_low <= inner_high < high
    given = latens.BayesianLinearRegression(1.0, 1.0).fit(x, y).intervals()
    assert all(given["sound"])
    assert given["std"][:2] == pytest.approx(latens.BayesianLinearRegression(1.0, 1.0).fit(x, y).coef_std_)


def collinear(n: int = 60) -> tuple[Floats, Floats, Floats]:
    """Two columns of which only the sum is told, and their true weights, which cancel: no normal prior expects them."""
    rng = np.random.default_rng(31)
    own, both = rng.normal(size=(n, 3)), rng.normal(size=n)
    x = np.column_stack([both + 0.005 * own[:, 0], both + 0.005 * own[:, 1], own[:, 2]])
    return x, np.array([30.0, -29.0, 1.0]), rng.normal(size=(100, n))


@pytest.mark.parametrize("standardize", [False, True])
def test_weights_of_which_the_prior_says_more_than_the_rows_are_marked(standardize: bool) -> None:
    x, true, noise = collinear()
    held, marked = [], []
    for e in noise:
        model = latens.BayesianLinearRegression(standardize=standardize).fit(x + 100, x @ true + e)
        table = model.intervals(quantities=["coef"])
        held.append((table["lower"] <= true) & (true <= table["upper"]))
        marked.append(~np.array(table["sound"]))
    held, marked = np.array(held), np.array(marked)
    assert held[marked].mean() < 0.8  # intervals that would be believed
    assert held[:, 2].mean() > 0.85
    assert marked[:, :2].mean() > 0.9
    assert not marked[:, 2].any()
    assert table["why"] == ["the prior says more of it than the rows"] * 2 + [""]
    assert "intervals of 'x0', 'x1' are not sound: the prior says more" in model.summary().note


def test_the_share_that_rows_tell_is_that_of_ridge_regression() -> None:
    rng = np.random.default_rng(32)
    x = rng.normal(size=(12, 4)) @ rng.normal(size=(4, 4)) + 3
    model = latens.BayesianLinearRegression("evidence", 2.0).fit(x, rng.normal(size=12))
    integral, gram = model._integral, np.cov(model._units.enter(Rows(x)).x.T, bias=True) * 12
    scaled = integral.unit[:, None] * integral.unit
    flat, ridge = np.linalg.inv(gram / scaled), 0.0
    for share, ratio in zip(integral.shares, integral.ratios, strict=True):
        ridge = ridge + share * np.linalg.inv(gram / scaled + ratio * np.eye(4))
    at = (model._origin[0] - integral.middle) / integral.unit
    weights, line = integral.told_by_rows(model._origin)
    assert weights == pytest.approx(np.diag(ridge) / np.diag(flat), rel=1e-6)
    assert line == pytest.approx([(at @ ridge @ at + 1 / 12) / (at @ flat @ at + 1 / 12)], rel=1e-6)


def test_weights_of_more_columns_than_rows_are_the_priors() -> None:
    rng = np.random.default_rng(33)
    model = latens.BayesianLinearRegression().fit(rng.normal(size=(10, 30)), rng.normal(size=10))
    assert not any(model.intervals(quantities=["coef"])["sound"])
    own = latens.BayesianLinearRegression("gamma", "gamma", weight_variance_prior=(1.0, 5.0))
    assert all(own.fit(rng.normal(size=(10, 30)), rng.normal(size=10)).intervals()["sound"])  # the caller's own prior


def test_the_interval_of_the_noise_is_that_of_its_gamma_where_weights_are_nothing() -> None:
    rng = np.random.default_rng(24)
    y = rng.normal(size=30)
    model = latens.BayesianLinearRegression().fit(np.ones((30, 1)), y)  # a constant column explains nothing
    table = model.intervals(quantities=["noise_precision"])
    left = np.sum((y - y.mean()) ** 2)
    assert [table["lower"][0], table["upper"][0]] == pytest.approx(chi2(29).ppf([0.025, 0.975]) / left, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level=1.0 is no probability; choose a number above 0 and below 1"),
        ({"level": "high"}, "level='high' is no probability"),
        ({"method": "bootstrap"}, "method='bootstrap': a regression integrates exactly"),
        ({"method": "jackknife"}, "method='jackknife' is not known; choose one of 'auto', 'response', 'gibbs'"),
        ({"components": [0]}, "a regression has no components"),
        (
            {"quantities": "means"},
            "quantities='means' is not known; choose one of 'coef', 'intercept',",
        ),
        ({"quantities": []}, "asks for nothing"),
    ],
)
def test_questions_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    model = latens.BayesianLinearRegression().fit(*problem(n=10))
    with pytest.raises(ValueError, match=message):
        model.intervals(**options)


@cache
def fraction_sums(x: bytes, y: bytes) -> tuple[list[list[Fraction]], list[Fraction], Fraction]:
    """Products of columns, of columns and targets, and of targets, which many precisions are tried with."""
    targets = [Fraction(v) for v in np.frombuffer(y).tolist()]
    rows = [[Fraction(v) for v in row] for row in np.frombuffer(x).reshape(len(targets), -1).tolist()]
    d = len(rows[0])
    gram = [[sum((row[i] * row[j] for row in rows), Fraction()) for j in range(d)] for i in range(d)]
    pull = [sum((row[i] * v for row, v in zip(rows, targets, strict=True)), Fraction()) for i in range(d)]
    return gram, pull, sum((v * v for v in targets), Fraction())


def rational(x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> tuple[list[float], list[float], float]:
    """Weights, their variances and the log evidence without intercept, in fractions: no digit is lost."""
    gram, pull, square = fraction_sums(np.ascontiguousarray(x).tobytes(), np.ascontiguousarray(y).tobytes())
    a, b, d = Fraction(alpha), Fraction(beta), x.shape[1]
    pulled = [b * v for v in pull]
    table = [
        [b * gram[i][j] + a * (i == j) for j in range(d)] + [pulled[i]] + [Fraction(i == j) for j in range(d)]
        for i in range(d)
    ]
    log_det = 0.0
    for i in range(d):
        log_det += log(table[i][i])
        table[i] = [v / table[i][i] for v in table[i]]
        for j in range(d):
            if j != i:
                table[j] = [v - table[j][i] * w for v, w in zip(table[j], table[i], strict=True)]
    mean = [table[i][d] for i in range(d)]
    energy = b * square - sum(m * p for m, p in zip(mean, pulled, strict=True))
    evidence = 0.5 * (d * log(alpha) + len(y) * log(beta / (2 * pi)) - log_det - float(energy))
    return [float(m) for m in mean], [float(table[i][d + 1 + i]) for i in range(d)], evidence


SIZES = [[1e6, 1, 1, 1], [3e7, 1, 1, 1], [1e12, 1, 1e-3, 1], [1e9, 1e3, 1e-3, 1e6]]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e9])
def test_columns_of_any_size_have_the_closed_form(sizes: list[float], alpha: float) -> None:
    x, y = problem(9)
    x = x * sizes
    mean, variance, evidence = rational(x, y, alpha, 3.4)
    whole = latens.BayesianLinearRegression(alpha, 3.4, fit_intercept=False).fit(x, y)
    stream = latens.BayesianLinearRegression(alpha, 3.4, fit_intercept=False)
    for at in range(0, 60, 20):
        stream.partial_fit(x[at : at + 20], y[at : at + 20])
    for model in (whole, stream):
        assert np.all(np.abs(model.coef_ - mean) < 1e-7 * np.sqrt(variance))
        assert np.diag(model.coef_covariance_) == pytest.approx(variance, rel=1e-8)
        assert model.elbo_ == pytest.approx(evidence, rel=1e-9)


@pytest.mark.filterwarnings("ignore::latens.errors.DoubtfulScale")
@pytest.mark.parametrize("sizes", SIZES)
def test_the_evidence_is_searched_at_the_sizes_of_all_columns(sizes: list[float]) -> None:
    x, y = problem(9)
    x = x * sizes
    best = latens.BayesianLinearRegression(fit_intercept=False).fit(x, y)
    around = [
        rational(x, y, float(alpha), float(beta))[2]
        for alpha in best.weight_precision_ * 10.0 ** np.arange(-30, 31, 2)
        for beta in best.noise_precision_ * 2.0 ** np.arange(-2, 3)
    ]
    assert best.elbo_ >= max(around) - 1e-9
    assert best.elbo_ == pytest.approx(rational(x, y, best.weight_precision_, best.noise_precision_)[2], rel=1e-9)


@pytest.mark.filterwarnings("ignore::latens.errors.DoubtfulScale")
@pytest.mark.parametrize("kind", ["evidence", "gamma"])
@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e9, 1e12])
def test_a_column_in_other_units_does_not_silence_the_rest(kind: str, ratio: float) -> None:
    rng = np.random.default_rng(10)
    time, rest = ratio * rng.uniform(size=200), np.column_stack([20 + 8 * rng.normal(size=200), rng.random(200)])
    y = 2 + rest @ [0.3, 5.0] + rng.normal(size=200)
    x = np.column_stack([50 * ratio + time, rest])
    alone = latens.BayesianLinearRegression(kind, kind).fit(rest, y)
    model, stream = (latens.BayesianLinearRegression(kind, kind) for _ in range(2))
    model.fit(x, y)
    for at in range(0, 200, 50):
        stream.partial_fit(x[at : at + 50], y[at : at + 50])
    for each in (model, stream):
        assert each.converged_
        assert each.score(x, y) > alone.score(rest, y) - 1e-6
        assert each.coef_[1:] == pytest.approx(alone.coef_, rel=0.02)
        draws = each.set_params(random_state=0).sample_coef(4000)
        assert draws.std(axis=0) == pytest.approx(np.sqrt(np.diag(each.coef_covariance_)), rel=0.05)
    assert stream.coef_ == pytest.approx(model.coef_, rel=1e-6)


def test_a_small_column_far_from_zero_keeps_its_digits() -> None:
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    y += 3 * x[:, 1]
    near = latens.BayesianLinearRegression(1e-6, 1.0).fit(x * [1e12, 1], y)
    far = latens.BayesianLinearRegression(1e-6, 1.0).fit(x * [1e12, 1] + [0, 1e7], y)
    assert far.coef_ == pytest.approx(near.coef_, rel=1e-6)


def test_repeated_columns_of_different_units_share_what_they_explain() -> None:
    x, y = problem(12)
    twice = np.column_stack([x, 2.0**20 * x[:, 1]])  # the same bits in other units
    model = latens.BayesianLinearRegression(1e-3, 1.0, fit_intercept=False).fit(twice, y)
    mean, variance, evidence = rational(twice, y, 1e-3, 1.0)
    # a coefficient that is 0 but for cancellation is known to rounding of what cancels, far below its deviation
    assert np.all(np.abs(model.coef_ - mean) < 1e-9 * np.sqrt(variance))
    assert np.diag(model.coef_covariance_) == pytest.approx(variance, rel=1e-7)
    assert model.elbo_ == pytest.approx(evidence, rel=1e-9)


@pytest.mark.parametrize("powers", [np.zeros(12), np.arange(12) - 8, 5 * np.sin(np.arange(12))])
def test_more_columns_than_rows_have_the_closed_form_too(powers: np.ndarray) -> None:
    rng = np.random.default_rng(17)
    x, y = rng.integers(-9, 10, size=(5, 12)) * 2.0 ** np.round(3.3 * powers), rng.normal(size=5)
    model = latens.BayesianLinearRegression(1e-3, 3.4, fit_intercept=False).fit(x, y)
    mean, variance, evidence = rational(x, y, 1e-3, 3.4)
    assert np.all(np.abs(model.coef_ - mean) < 1e-7 * np.sqrt(variance))
    assert np.diag(model.coef_covariance_) == pytest.approx(variance, rel=1e-7)
    assert model.elbo_ == pytest.approx(evidence, rel=1e-8)


KINDS = [
    ("evidence", "evidence"),
    ("gamma", "gamma"),
    ("evidence", "gamma"),
    ("gamma", "evidence"),
    ("evidence", "variance"),
    (1.0, "evidence"),
    ("gamma", 1.0),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.0, 3.0, 0.1, -1e9, 1e-120, 1e120])
def test_targets_that_are_all_the_same(kind: tuple, level: float) -> None:
    x, _ = problem(13)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = latens.BayesianLinearRegression(*kind).fit(x, np.full(60, level))
    mean, std = model.predict(x, return_std=True)
    assert model.coef_ == pytest.approx(0, abs=1e-15 * abs(level))
    assert model.intercept_ == pytest.approx(level, rel=1e-14)
    assert mean == pytest.approx(level, rel=1e-14)
    assert np.isfinite([model.elbo_, model.weight_precision_, model.noise_precision_]).all()
    assert np.isfinite(model.coef_covariance_).all()
    assert np.all(model.coef_std_ > 0)
    assert np.all((std > 0) & np.isfinite(std))
    if level and kind[1] != 1.0:
        assert np.all(std < 1e-14 * abs(level))


@pytest.mark.parametrize("intercept", [True, False])
def test_one_row_has_a_posterior_where_both_precisions_are_given(intercept: bool) -> None:
    x, y = problem(14)
    for model in (
        latens.BayesianLinearRegression(2.0, 3.0, fit_intercept=intercept).fit(x[:1], y[:1]),
        latens.BayesianLinearRegression(2.0, 3.0, fit_intercept=intercept).partial_fit(x[:1], y[:1]),
    ):
        precision = 2 * np.eye(4) + (0 if intercept else 3) * x[:1].T @ x[:1]
        assert model.coef_ == pytest.approx(np.linalg.solve(precision, (0 if intercept else 3) * y[0] * x[0]))
        assert model.coef_covariance_ == pytest.approx(np.linalg.inv(precision))
        assert model.intercept_ == pytest.approx(y[0] if intercept else 0)
        assert np.isfinite(model.predict(x, return_std=True)[1]).all()


@pytest.mark.parametrize("kind", [("evidence", "evidence"), (1.0, "evidence"), ("evidence", 2.0), (1.0, 2.0)])
def test_a_stream_may_begin_with_one_row(kind: tuple) -> None:
    x, y = problem(15)
    stream, whole = latens.BayesianLinearRegression(*kind), latens.BayesianLinearRegression(*kind).fit(x, y)
    stream.partial_fit(x[:1], y[:1])
    mean, std = stream.predict(x[1:3], return_std=True)
    assert mean == pytest.approx([y[0], y[0]])
    assert np.isinf(std).all() == isinstance(kind[1], str)  # one row says nothing of the noise
    for at in range(1, 60):
        stream.partial_fit(x[at : at + 1], y[at : at + 1])
    assert stream.coef_ == pytest.approx(whole.coef_, rel=1e-9)
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-10)
    assert stream.predict(x, return_std=True)[1] == pytest.approx(whole.predict(x, return_std=True)[1], rel=1e-9)


def test_one_row_does_not_tell_noise_from_weights() -> None:
    x, y = problem(16)
    with pytest.raises(ValueError, match="a minimum of 2 is required"):
        latens.BayesianLinearRegression().fit(x[:1], y[:1])


def test_gamma_posteriors_never_lower_the_bound_and_stay_below_the_evidence() -> None:
    x, y = problem(3, n=12)
    model = latens.BayesianLinearRegression("gamma", "gamma", fit_intercept=False, tol=1e-13).fit(x, y)
    assert np.all(np.diff(model.elbo_history_) > -1e-9)
    a0, (alpha_rate, beta_rate) = 1e-6, (model._model.alpha_prior[1], model._model.beta_prior[1])
    scale = model._units.target.scale / model._units.scale
    # the evidence, by trapezoids over log alpha and log beta
    logs = np.linspace(-14, 14, 281)
    spectrum, across = model._model.spectrum(model._state.stats), logs[:, None] + 0 * logs
    heights = np.array([[spectrum.log_evidence(np.exp(a), np.exp(b)) for b in logs] for a in logs])
    from scipy.special import gammaln, logsumexp

    prior = [a0 * np.log(r) - gammaln(a0) + a0 * logs - r * np.exp(logs) for r in (alpha_rate, beta_rate)]
    total = logsumexp(heights + prior[0][:, None] + prior[1][None]) + 2 * np.log(logs[1] - logs[0])
    assert across.shape == heights.shape
    assert scale > 0
    evidence = total - model._state.stats.n * model._units.target.log_scale
    assert -1e-9 < evidence - model.elbo_ < 3


def test_streams_and_weights_are_nothing_special() -> None:
    x, y = problem(4)
    times = np.random.default_rng(0).integers(0, 4, len(x))
    whole = latens.BayesianLinearRegression().fit(x, y, sample_weight=times)
    repeated = latens.BayesianLinearRegression().fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    stream = latens.BayesianLinearRegression()
    for at in range(0, 60, 20):
        stream.partial_fit(x[at : at + 20], y[at : at + 20], sample_weight=times[at : at + 20])
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
    assert latens.BayesianLinearRegression(noise_precision="variance").fit(x, y).noise_precision_ == pytest.approx(
        1 / np.var(y)
    )
    assert latens.BayesianLinearRegression().fit(x, y).noise_precision_ > 2 / np.var(y)


def test_more_columns_than_rows() -> None:
    x, y = problem(7, n=10, d=30)
    mean, std = latens.BayesianLinearRegression().fit(x, y).predict(x, return_std=True)
    assert np.isfinite(mean).all()
    assert np.all(std > 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["evidence", "gamma"])
@pytest.mark.parametrize(("n", "d", "least"), [(5, 2, 0.87), (10, 3, 0.91), (25, 4, 0.93)])
def test_intervals_cover_what_they_claim(kind: str, n: int, d: int, least: float) -> None:
    targets, coefficients = [], []
    for seed in range(80):
        rng = np.random.default_rng(100 + seed)
        x, weights = rng.normal(size=(n + 40, d)), rng.normal(size=d)
        y = x @ weights + 2 + rng.normal(size=n + 40)
        model = latens.BayesianLinearRegression(kind, kind, tol=1e-5).fit(x[:n], y[:n])
        mean, std = model.predict(x[n:], return_std=True)
        targets.append(np.mean(np.abs(mean - y[n:]) < 1.96 * std))
        table = model.intervals(quantities="coef")
        coefficients.append(np.mean((table["lower"] < weights) & (weights < table["upper"])))
    assert least < np.mean(targets) < 0.98
    assert 0.89 < np.mean(coefficients) < 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_precision": "ml"}, "weight_precision='ml' is not known"),
        ({"noise_precision": -1}, "noise_precision=-1"),
        ({"weight_precision": "variance"}, "weight_precision='variance'"),
    ],
)
def test_bad_parameters_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.BayesianLinearRegression(**options).fit(*problem())


@pytest.mark.extras
def test_tensors_are_taken_and_answered_in_kind() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    y, weight = x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=50), rng.gamma(2.0, size=50)
    here = latens.BayesianLinearRegression().fit(x, y, sample_weight=weight)
    on_torch = latens.BayesianLinearRegression().fit(
        torch.asarray(x), torch.asarray(y), sample_weight=torch.asarray(weight)
    )
    assert on_torch.coef_ == pytest.approx(here.coef_, rel=1e-12)
    mean, std = on_torch.predict(torch.asarray(x).requires_grad_(), return_std=True)
    assert isinstance(mean, torch.Tensor)
    assert std.numpy() == pytest.approx(here.predict(x, return_std=True)[1])


def test_the_summary_has_the_intervals_of_the_weights_the_surest_first() -> None:
    x, y = problem()
    model = latens.BayesianLinearRegression().fit(x, y)
    table, intervals = model.summary(), model.intervals(quantities=["coef"])
    at = [int(name[1:]) for name in table["column"]]
    assert sorted(at) == [0, 1, 2, 3]
    np.testing.assert_array_equal(table["weight"], model.coef_[at])
    np.testing.assert_array_equal(table["lower"], np.array(intervals["lower"])[at])
    sure = np.abs(table["weight"]) / table["sd"]
    assert list(sure) == sorted(sure, reverse=True)
    assert f"intercept {model.intercept_:.4g}" in table.note
    assert f"noise sd {model.noise_precision_**-0.5:.4g}" in table.note
    assert "not sound" not in table.note


def test_the_summary_says_where_intervals_are_not_sound() -> None:
    x, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulScale)
        model = latens.BayesianLinearRegression().fit(x * [1, 1, 1, 1e4], y)
    assert "intervals are not sound: columns of very different sizes" in model.summary().note


@pytest.mark.parametrize("n", [20, 400])
def test_quantiles_of_many_weights_take_a_few_steps_and_hold_what_they_say(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each weight stays once it is found: one that left would be halved back over tens of steps, with all others."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 300))
    model = latens.BayesianLinearRegression().fit(x, x[:, 0] + rng.normal(size=n))
    n_steps, student = [], regression_integral._student
    monkeypatch.setattr(regression_integral, "_student", lambda *given: n_steps.append(1) or student(*given))
    levels = (0.025, 0.975)
    found = model._integral.weight_quantiles(levels)
    assert len(n_steps) <= 8
    integral = model._integral
    centres, scales = integral.weight_mixtures()
    for level, ends in zip(levels, found, strict=True):
        below = t.cdf((ends[:, None] - centres) / scales, integral.dof) @ integral.shares
        np.testing.assert_allclose(below, level, atol=1e-9)
