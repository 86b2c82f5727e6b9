"""`BinaryFactorAnalysis`: its causes, codes and intercepts; what it shares with the others is tested for all."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import latens
from latens.estimators.binary_factors import N_ROWS_OF_CHOICE, NATS_OWED, BinaryFactorAnalysis
from latens.estimators.rows.data import check_data
from tests.estimators.conventions.verdict import complaints
from tests.estimators.switching_causes import switched_rows

QUICK = {"n_init": 1, "max_iter": 40, "random_state": 0}
WAYS = {
    "ard": {},
    "ml": {"prior": "ml"},
    "ard-intercept": {"fit_intercept": True},
    "ard-mean-field-diagonal": {"e_step": "mean-field", "noise": "diagonal"},
    "ml-truncated-intercept": {"prior": "ml", "e_step": "truncated", "fit_intercept": True},
}


@pytest.fixture
def X() -> np.ndarray:
    return switched_rows()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def shared_fit(way: str) -> BinaryFactorAnalysis:
    """One fit for all tests that only look at it."""
    return BinaryFactorAnalysis(3, n_init=2, random_state=0, **WAYS[way]).fit(switched_rows())


@pytest.fixture
def fitted(way: str) -> BinaryFactorAnalysis:
    return shared_fit(way)


def test_fitted_attributes_have_their_shapes_and_ranges(fitted: BinaryFactorAnalysis, X: np.ndarray) -> None:
    k, d = fitted.n_components_, X.shape[1]
    assert fitted.components_.shape == (k, d)
    assert fitted.usage_.shape == fitted.share_.shape == (k,)
    assert fitted.intercept_.shape == (d,)
    assert np.shape(fitted.noise_variance_) == ((d,) if fitted.noise == "diagonal" else ())
    assert np.all((fitted.usage_ > 0) & (fitted.usage_ < 1))
    assert np.all(fitted.noise_variance_ > 0)


def test_the_trace_names_its_terms(fitted: BinaryFactorAnalysis) -> None:
    for event in fitted.trace_:
        assert set(event.terms) == {"likelihood", "codes", "entropy", "kl_usage", "kl_loadings", "scale"}
    last = fitted.trace_[-1].terms
    assert (last["kl_usage"] == 0) == (last["kl_loadings"] == 0) == (fitted.prior == "ml")


def test_the_intercept_is_zero_unless_asked_for(way: str, X: np.ndarray) -> None:
    options = {"fit_intercept": False, **WAYS[way], "n_init": 1}
    model = BinaryFactorAnalysis(3, random_state=0, **options).fit(X + 5)
    assert np.any(model.intercept_ != 0) == model.fit_intercept


def test_standard_deviations_of_codes_are_those_of_switches(fitted: BinaryFactorAnalysis, X: np.ndarray) -> None:
    mean, std = fitted.transform(X, return_std=True)
    assert np.all((mean >= 0) & (mean <= 1))
    assert std == pytest.approx(np.sqrt(mean * (1 - mean)), abs=1e-9)


def test_inverse_transform_is_linear_in_data_units(fitted: BinaryFactorAnalysis) -> None:
    codes = np.random.default_rng(0).random((7, fitted.n_components_))
    assert fitted.inverse_transform(codes) == pytest.approx(fitted.intercept_ + codes @ fitted.components_, rel=1e-9)


def test_sampled_rows_are_their_causes_and_noise(fitted: BinaryFactorAnalysis) -> None:
    rows, codes = fitted.sample(3000)
    assert set(np.unique(codes)) <= {0.0, 1.0}
    gaps = rows - fitted.intercept_ - codes @ fitted.components_
    assert gaps.std() < 2 * np.sqrt(np.max(fitted.noise_variance_))


def test_posterior_draws_surround_the_published_values(fitted: BinaryFactorAnalysis) -> None:
    draws = fitted.sample_posterior(400)
    for name in ("components", "usage", "noise_variance"):
        spread = draws[name].std(axis=0)
        gap = np.abs(draws[name].mean(axis=0) - getattr(fitted, f"{name}_"))
        assert np.all(gap <= 5 * spread / np.sqrt(400) + 1e-12), name
        assert np.all(spread > 1e-9 * np.max(np.abs(draws[name]))) == (fitted.prior == "ard"), name


def test_scores_are_log_densities_in_data_units(fitted: BinaryFactorAnalysis, X: np.ndarray) -> None:
    """Exponentiated and summed over a fine grid of one column's values they give the density of the others."""
    assert not fitted.score_is_bound_
    row = X[0].copy()
    spread = 60 * np.sqrt(np.max(fitted.noise_variance_))
    grid = np.linspace(row[2] - spread - 5, row[2] + spread + 5, 20001)
    rows = np.repeat(row[None], len(grid), axis=0)
    rows[:, 2] = grid
    missing = row.copy()
    missing[2] = np.nan
    total = np.trapezoid(np.exp(fitted.score_samples(rows)), grid)
    assert np.log(total) == pytest.approx(fitted.score_samples(missing[None])[0], abs=1e-3)


def test_a_row_with_nothing_observed_gets_the_prior(fitted: BinaryFactorAnalysis, X: np.ndarray) -> None:
    empty = np.full((1, X.shape[1]), np.nan)
    # given E[log pi] or pi itself, codes stay close to how often they are on
    assert fitted.transform(empty)[0] == pytest.approx(fitted.usage_, abs=0.05)


def test_standard_deviations_of_imputed_entries_mean_what_they_say(X: np.ndarray) -> None:
    holes = np.random.default_rng(3).random(X.shape) < 0.15
    model = BinaryFactorAnalysis(3, n_init=2, random_state=0).fit(np.where(holes, np.nan, X))
    filled, std = model.impute(np.where(holes, np.nan, X), return_std=True)
    assert model.e_step_ == "exact"  # others are known to be too sure of themselves
    assert 0.6 < np.sqrt(np.mean(((filled - X)[holes] / std[holes]) ** 2)) < 1.6


def test_names_and_summary_of_causes(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, **QUICK).fit(X).set_component_names(["sun", "rain", "wind"])
    assert list(model.top_features(2)) == ["sun", "rain", "wind"]
    table = model.summary()
    assert table["name"] == ["sun", "rain", "wind"]
    assert table["component"] == [0, 1, 2]
    variance = (model.usage_ * (1 - model.usage_))[:, None] * model.components_**2
    by_column = variance / (variance.sum(axis=0) + model.noise_variance_)  # each column in its own sd
    assert table["share"] == pytest.approx(by_column.mean(axis=1).tolist())
    assert "top features" in str(table)
    assert "<table" in table._repr_html_()
    for k, names in enumerate(model.top_features(2).values()):
        strength = np.abs(model.components_[k]) / np.sqrt(variance.sum(axis=0) + model.noise_variance_)
        assert names == [f"x{d}" for d in np.argsort(-strength)[:2]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"prior": "ml", "n_components": 2}, {"fit_intercept": True, "noise": "diagonal"}]
)
def test_scikit_learn_finds_no_fault_with_default_effort(options: dict) -> None:
    assert complaints(BinaryFactorAnalysis(**options)) == []


def test_only_living_components_are_published(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(10, random_state=0).fit(X)
    assert model.n_components_ == 3
    assert model.transform(X).shape[1] == len(model.components_) == len(model.relevance_) == 3
    assert len(model.get_feature_names_out()) == 3


def test_point_estimates_keep_their_number_of_components(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(5, prior="ml", random_state=0).fit(X)
    assert model.n_components_ == 5
    assert not hasattr(model, "relevance_")


def test_the_number_may_be_found_from_a_bound_chosen_from_the_data(X: np.ndarray) -> None:
    assert BinaryFactorAnalysis(random_state=0).fit(X).n_components_ == 3


def test_whole_floats_count_as_integers(X: np.ndarray) -> None:
    one, two = (BinaryFactorAnalysis(k, prior="ml", **QUICK) for k in (2, 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert one.fit(X).elbo_ == two.fit(X).elbo_


def test_more_starts_are_never_worse(X: np.ndarray) -> None:
    few, many = (BinaryFactorAnalysis(3, prior="ml", moves=False, n_init=n, random_state=0).fit(X) for n in (1, 6))
    assert many.elbo_ >= few.elbo_


def test_auto_says_which_step_it_takes(X: np.ndarray) -> None:
    assert BinaryFactorAnalysis(3, random_state=0).fit(X).e_step_ == "exact"
    many = BinaryFactorAnalysis(12, prior="ml", n_init=1, random_state=0).fit(switched_rows(400, 20, 12))
    assert many.e_step_ == "mean-field"
    assert BinaryFactorAnalysis(3, e_step="truncated", random_state=0).fit(X).e_step_ == "truncated"


def test_codes_are_those_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    causes = np.array([[3.0, 0, 0, 1], [0, 2.0, 2, 0], [0, 1, 0, 3.0]])
    codes = (rng.random((300, 3)) < 0.4).astype(float)
    model = BinaryFactorAnalysis(6, random_state=0).fit(codes @ causes + 0.1 * rng.normal(size=(300, 4)))
    match = latens.metrics.match_components(model.components_, causes)
    assert match.found(0.99) == 3
    assert model.transform(codes @ causes)[:, match.index] == pytest.approx(codes, abs=1e-3)
    assert model.usage_[match.index] == pytest.approx(codes.mean(axis=0), abs=0.01)
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.15)
    assert model.inverse_transform(model.transform(codes @ causes)) == pytest.approx(codes @ causes, abs=0.1)


def test_thresholded_components_are_zero_or_one_in_data_units() -> None:
    X, truth = latens.datasets.make_shapes(random_state=0)
    model = BinaryFactorAnalysis(8, random_state=0).fit(X)
    cut = model.thresholded_components(0.4)
    assert set(np.unique(cut)) <= {0.0, 1.0}
    assert np.array_equal(cut, (model.components_ > 0.4).astype(float))
    assert latens.metrics.match_components(cut, np.asarray(truth.components) > 0).found(0.99) == 8


def fitted_or_told_why(model: BinaryFactorAnalysis, X: np.ndarray) -> bool:
    """Whether the fit went through; where it did not, the error must name what stood in its way."""
    try:
        model.fit(X)
    except ValueError as error:
        if "warm_start" not in str(error):
            raise
        return False
    return True


def test_warm_start_with_another_prior_fits_afresh_or_says_why_not(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, prior="ml", warm_start=True, random_state=0).fit(X).set_params(prior="ard")
    if fitted_or_told_why(model, X):
        fresh = BinaryFactorAnalysis(3, random_state=0).fit(X)
        assert model.elbo_ == pytest.approx(fresh.elbo_, abs=0.05 * len(X))


def test_warm_start_with_more_components_uses_them_or_says_why_not(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(1, prior="ml", warm_start=True, random_state=0).fit(X).set_params(n_components=3)
    if fitted_or_told_why(model, X):
        assert model.n_components_ == 3


def test_given_causes_are_where_a_fit_starts() -> None:
    rng = np.random.default_rng(0)
    causes = np.array([[300.0, 0, 0, 100], [0, 200.0, 200, 0]])
    X = (rng.random((200, 2)) < 0.4) @ causes + 10 * rng.normal(size=(200, 4))
    for intercept in (False, True):
        model = BinaryFactorAnalysis(2, init=causes, moves=False, fit_intercept=intercept, random_state=0).fit(X)
        assert model.converged_
        assert latens.metrics.match_components(model.components_, causes).found(0.999) == 2


def test_the_textbook_start_is_offered(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, init="random", random_state=0).fit(X)
    assert np.isfinite(model.elbo_)


def test_one_start_on_a_few_rows_leaves_a_far_worse_choice_of_an_intercept_out() -> None:
    """Rows without on/off causes far from 0: what is left out depends on the rows, not on starts or seeds."""
    rng = np.random.default_rng(0)
    far = 5 + rng.normal(size=(2100, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(2100, 4))
    for n_init, seed in ((1, 0), (2, 0), (3, 1)):
        model = BinaryFactorAnalysis(4, n_init=n_init, random_state=seed, n_jobs=1)
        assert model._open_choices(check_data(model, far), moves=True, until=None) == [True]
        data = check_data(model, switched_rows(2100))  # here both come near the truth, and only all rows tell
        assert model._open_choices(data, moves=True, until=None) == [False, True]
        assert model._open_choices(check_data(model, far[:2000]), moves=True, until=None) == [False, True]


def test_where_codes_are_not_found_again_the_higher_choice_of_an_intercept_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows of sources that are not on or off take all causes there are, with an intercept and without: one will do."""
    rng, n = np.random.default_rng(0), N_ROWS_OF_CHOICE
    rows = rng.laplace(size=(2 * n, 4)) @ rng.normal(size=(4, 12)) + 0.5 * rng.normal(size=(2 * n, 12))
    model = BinaryFactorAnalysis(12, e_step="mean-field", max_iter=30, n_jobs=1)
    _, debt = model._bound_of_one_start(check_data(model, rows[:n]), False, None)
    assert debt > NATS_OWED * n
    switched = BinaryFactorAnalysis(6, e_step="mean-field", n_jobs=1)
    _, debt = switched._bound_of_one_start(check_data(switched, switched_rows(n)), False, None)
    assert debt < 0.1 * NATS_OWED * n
    for each, choices in ((0.5, [False, True]), (2.0, [True])):
        bounds = {False: (-1001.0, each * NATS_OWED * n), True: (-1000.0, each * NATS_OWED * n)}
        monkeypatch.setattr(
            model, "_bound_of_one_start", lambda few, intercept, until, bounds=bounds: bounds[intercept]
        )
        assert model._open_choices(check_data(model, rows), moves=True, until=None) == choices
