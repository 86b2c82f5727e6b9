"""scikit-learn's conventions, and those of this library on top of them."""

from __future__ import annotations

import io
import pickle
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import latens
from latens.core import Iteration
from latens.estimators.binary_factors import BinaryFactorAnalysis
from tests.estimators.settings import Make, maker, switched_rows
from tests.estimators.verdict import complaints

QUICK = {"n_init": 1, "max_iter": 40, "random_state": 0}


@pytest.mark.parametrize("options", [{}, {"prior": "ml", "n_components": 2}], ids=["ard", "ml"])
def test_scikit_learn_finds_no_fault(options: dict) -> None:
    assert complaints(BinaryFactorAnalysis(**QUICK, **options)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"prior": "ml", "n_components": 2}, {"fit_intercept": True, "noise": "diagonal"}]
)
def test_scikit_learn_finds_no_fault_with_default_effort(options: dict) -> None:
    assert complaints(BinaryFactorAnalysis(**options)) == []


def test_no_check_is_switched_off_by_a_tag() -> None:
    tags = BinaryFactorAnalysis().__sklearn_tags__()
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert not tags._skip_test
    assert tags.input_tags.allow_nan


def test_parameters_are_kept_as_given_and_cloned(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "components_")
    assert copy.set_params(n_components=2).n_components == 2
    assert repr(make(4)).startswith("BinaryFactorAnalysis(")


def test_fit_returns_self_and_ignores_y(make: Make, X: np.ndarray) -> None:
    model = make()
    assert model.fit(X, np.arange(len(X))) is model
    assert model.elbo_ == make().fit(X).elbo_


def test_fitted_attributes_have_their_shapes(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    k, d = model.n_components_, X.shape[1]
    assert model.components_.shape == (k, d)
    assert model.usage_.shape == model.share_.shape == (k,)
    assert model.intercept_.shape == (d,)
    assert np.shape(model.noise_variance_) == ((d,) if model.noise == "diagonal" else ())
    assert model.n_features_in_ == d
    assert model.transform(X).shape == (len(X), k)
    assert len(model.elbo_history_) == model.n_iter_ == len(model.trace_)
    assert model.elbo_ == model.elbo_history_[-1]
    assert model.posterior_.n_components == k
    assert model.converged_
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.all(np.isfinite(value)), name
    assert np.all((model.usage_ > 0) & (model.usage_ < 1))
    assert np.all(model.noise_variance_ > 0)


def test_the_intercept_is_zero_unless_asked_for(make: Make, X: np.ndarray) -> None:
    model = make().fit(X + 5)
    assert np.any(model.intercept_ != 0) == model.fit_intercept


def test_components_come_in_the_order_of_their_shares(make: Make, X: np.ndarray) -> None:
    share = make().fit(X).share_
    assert np.all(np.diff(share) <= 0)
    assert np.all(share > 0)
    assert share.sum() < 1


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


def test_bound_never_falls_along_the_published_history(make: Make, X: np.ndarray) -> None:
    model = make(6).fit(X)
    sizes = [sum(map(abs, event.terms.values())) for event in model.trace_]
    assert np.all(np.diff(model.elbo_history_) >= -1e-9 * np.array(sizes[1:]))


def test_the_trace_names_its_terms(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    for event in model.trace_:
        assert set(event.terms) == {"likelihood", "codes", "entropy", "kl_usage", "kl_loadings", "scale"}
        assert sum(event.terms.values()) == pytest.approx(event.elbo, rel=1e-12)
    last = model.trace_[-1].terms
    assert (last["kl_usage"] == 0) == (last["kl_loadings"] == 0) == (model.prior == "ml")


def test_the_same_seed_gives_the_same_bits_and_fit_does_not_use_it_up(make: Make, X: np.ndarray) -> None:
    one, two = make().fit(X), make().fit(X)
    assert one.elbo_ == two.elbo_
    assert np.array_equal(one.components_, two.components_)
    assert one.fit(X).elbo_ == two.elbo_


@pytest.mark.parametrize("seed", [np.random.RandomState(3), np.random.default_rng(3), np.int64(3), 3.0, None])
def test_seeds_of_every_kind_are_taken(seed: object, X: np.ndarray) -> None:
    assert np.isfinite(BinaryFactorAnalysis(2, random_state=seed, n_init=1).fit(X).elbo_)


def test_more_starts_are_never_worse(X: np.ndarray) -> None:
    few, many = (BinaryFactorAnalysis(3, prior="ml", moves=False, n_init=n, random_state=0).fit(X) for n in (1, 6))
    assert many.elbo_ >= few.elbo_


def test_auto_says_which_step_it_takes(X: np.ndarray) -> None:
    assert BinaryFactorAnalysis(3, random_state=0).fit(X).e_step_ == "exact"
    many = BinaryFactorAnalysis(12, prior="ml", n_init=1, random_state=0).fit(switched_rows(400, 20, 12))
    assert many.e_step_ == "mean-field"
    assert BinaryFactorAnalysis(3, e_step="truncated", random_state=0).fit(X).e_step_ == "truncated"


def test_running_out_of_iterations_warns_with_a_remedy(X: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .*Raise max_iter or tol"):
        model = BinaryFactorAnalysis(3, max_iter=2, moves=False, random_state=0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_a_fit_that_converges_is_silent(make: Make, X: np.ndarray) -> None:
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("error")
        make().fit(X).transform(X)
    assert out.getvalue() == err.getvalue() == ""


def test_a_verbose_fit_shows_a_bar_on_standard_error(capsys: pytest.CaptureFixture[str], X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, verbose=1, random_state=0).fit(X)
    printed = capsys.readouterr()
    assert printed.out == ""
    for words in ("bound", "left", f"{model.max_iter}", "start 0"):
        assert words in printed.err
    assert printed.err.endswith("\n")


def test_callbacks_see_every_iteration_and_change_nothing(make: Make, X: np.ndarray) -> None:
    events: list[Iteration] = []
    model = make(callbacks=[events.append], moves=False).fit(X)
    assert model.elbo_ == make(moves=False).fit(X).elbo_
    restarts = {event.restart for event in events}
    assert restarts == {0, 1}
    best = max(restarts, key=lambda r: [event.elbo for event in events if event.restart == r][-1])
    told = [event for event in events if event.restart == best]
    assert [event.elbo for event in told] == list(model.elbo_history_)
    assert {event.restart for event in model.trace_} == {best}
    assert all(event.posterior.n_components == event.n_components for event in events)
    assert all(event.seconds >= 0 for event in events)


@pytest.mark.parametrize("yes", [True, np.True_])
def test_a_callback_stops_the_fit_without_a_warning(yes: object, X: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BinaryFactorAnalysis(
            3, callbacks=lambda event: yes if event.step == 2 else None, random_state=0, moves=False
        ).fit(X)
    assert model.n_iter_ == 3
    assert np.isfinite(model.score(X))


def test_one_function_or_a_list_of_them_may_be_given(X: np.ndarray) -> None:
    seen: list[str] = []
    both = [lambda event: seen.append("one"), lambda event: seen.append("two") or True]
    BinaryFactorAnalysis(3, callbacks=both, random_state=0).fit(X)
    assert seen[:2] == ["one", "two"]
    BinaryFactorAnalysis(3, callbacks=lambda event: seen.append("alone") or True, random_state=0).fit(X)
    assert seen[-1] == "alone"


def test_pipelines_and_searches_work(X: np.ndarray) -> None:
    pipe = make_pipeline(FunctionTransformer(), BinaryFactorAnalysis(3, random_state=0))
    codes = pipe.fit_transform(X)
    assert codes.shape == (len(X), 3)
    assert pipe.inverse_transform(codes).shape == X.shape
    search = GridSearchCV(
        BinaryFactorAnalysis(prior="ml", n_init=1, random_state=0), {"n_components": [1, 3]}, cv=2, error_score="raise"
    )
    assert search.fit(X).best_params_ == {"n_components": 3}


def test_fit_transform_is_fit_then_transform(make: Make, X: np.ndarray) -> None:
    assert np.array_equal(make().fit_transform(X), make().fit(X).transform(X))


def test_a_fitted_estimator_survives_pickling(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(X), model.transform(X))
    assert np.array_equal(again.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize(
    "ask",
    ["transform", "score_samples", "score", "impute", "inverse_transform", "sample", "sample_posterior", "summary",
     "top_features", "get_feature_names_out", "thresholded_components", "set_component_names"],
)  # fmt: skip
def test_an_estimator_that_is_not_fitted_says_so(ask: str, X: np.ndarray) -> None:
    arguments = {"transform": [X], "score_samples": [X], "score": [X], "impute": [X], "inverse_transform": [X]}
    arguments["set_component_names"] = [["a"]]
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(BinaryFactorAnalysis(), ask)(*arguments.get(ask, []))


def test_names_of_components_reach_every_output(X: np.ndarray) -> None:
    model = maker("binary-ard")().fit(X)
    assert list(model.get_feature_names_out()) == [f"binaryfactoranalysis{k}" for k in range(3)]
    assert model.set_component_names(["sun", "rain", "wind"]) is model
    assert list(model.get_feature_names_out()) == ["sun", "rain", "wind"]
    assert list(model.top_features(2)) == ["sun", "rain", "wind"]
    assert model.summary()["name"] == ["sun", "rain", "wind"]


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c", "d"], ["a", "b", "a"]])
def test_names_must_be_one_for_each_component(names: list[str], X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="3 different names"):
        maker("binary-ard")().fit(X).set_component_names(names)


def test_top_features_are_the_largest_loadings(X: np.ndarray) -> None:
    model = maker("binary-ard")().fit(X)
    for k, names in enumerate(model.top_features(2).values()):
        largest = np.argsort(-np.abs(model.components_[k]))[:2]
        assert names == [f"x{d}" for d in largest]


def test_the_summary_is_a_table_of_components(X: np.ndarray) -> None:
    model = maker("binary-ard")().fit(X)
    table = model.summary()
    assert table["component"] == [0, 1, 2]
    assert table["share"] == pytest.approx(list(model.share_))
    assert "top features" in str(table)
    assert len(table) == 3
    assert "<table" in table._repr_html_()


def test_codes_come_with_standard_deviations(make: Make, X: np.ndarray) -> None:
    mean, std = make().fit(X).transform(X, return_std=True)
    assert mean.shape == std.shape
    assert np.all((mean >= 0) & (mean <= 1))
    assert std == pytest.approx(np.sqrt(mean * (1 - mean)), abs=1e-9)


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


def test_inverse_transform_is_linear_in_data_units(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    codes = np.random.default_rng(0).random((7, model.n_components_))
    assert model.inverse_transform(codes) == pytest.approx(model.intercept_ + codes @ model.components_, rel=1e-9)


def test_inverse_transform_refuses_codes_of_another_width(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape \(4, 2\); expected \(n, 3\)"):
        maker("binary-ard")().fit(X).inverse_transform(np.zeros((4, 2)))


def test_thresholded_components_are_zero_or_one_in_data_units() -> None:
    X, truth = latens.datasets.make_shapes(random_state=0)
    model = BinaryFactorAnalysis(8, random_state=0).fit(X)
    cut = model.thresholded_components(0.4)
    assert set(np.unique(cut)) <= {0.0, 1.0}
    assert np.array_equal(cut, (model.components_ > 0.4).astype(float))
    assert latens.metrics.match_components(cut, np.asarray(truth.components) > 0).found(0.99) == 8


def test_sample_draws_rows_and_their_codes(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    rows, codes = model.sample(3000)
    assert rows.shape == (3000, X.shape[1])
    assert codes.shape == (3000, model.n_components_)
    assert set(np.unique(codes)) <= {0.0, 1.0}
    assert rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.35)
    assert rows.std(axis=0) == pytest.approx(X.std(axis=0), rel=0.2)
    assert (rows - model.intercept_ - codes @ model.components_).std() < 2 * np.sqrt(np.max(model.noise_variance_))


def test_posterior_draws_surround_the_published_values(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    draws = model.sample_posterior(400)
    assert draws["components"].shape == (400, *model.components_.shape)
    assert draws["usage"].shape == (400, model.n_components_)
    for name in ("components", "usage", "noise_variance"):
        spread = draws[name].std(axis=0)
        gap = np.abs(draws[name].mean(axis=0) - getattr(model, f"{name}_"))
        assert np.all(gap <= 5 * spread / np.sqrt(400) + 1e-12), name
        assert np.all(spread > 1e-9 * np.max(np.abs(draws[name]))) == (model.prior == "ard"), name


def test_scores_are_log_densities_in_data_units(make: Make, X: np.ndarray) -> None:
    """Exponentiated and summed over a fine grid of one column's values they give the density of the others."""
    model = make().fit(X)
    assert not model.score_is_bound_
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    row = X[0].copy()
    spread = 60 * np.sqrt(np.max(model.noise_variance_))
    grid = np.linspace(row[2] - spread - 5, row[2] + spread + 5, 20001)
    rows = np.repeat(row[None], len(grid), axis=0)
    rows[:, 2] = grid
    missing = row.copy()
    missing[2] = np.nan
    total = np.trapezoid(np.exp(model.score_samples(rows)), grid)
    assert np.log(total) == pytest.approx(model.score_samples(missing[None])[0], abs=1e-3)


def test_a_row_with_nothing_observed_gets_the_prior_and_density_one(make: Make, X: np.ndarray) -> None:
    model = make().fit(X)
    empty = np.full((1, X.shape[1]), np.nan)
    assert model.score_samples(empty) == pytest.approx([0.0], abs=1e-12)
    assert np.all(np.isfinite(model.impute(empty)))
    # given E[log pi] or pi itself, codes stay close to how often they are on
    assert model.transform(empty)[0] == pytest.approx(model.usage_, abs=0.05)


def test_imputation_fills_holes_and_touches_nothing_else(make: Make, X: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    holes = rng.random(X.shape) < 0.15
    missing = np.where(holes, np.nan, X)
    before = missing.copy()
    model = make().fit(missing)
    filled, std = model.impute(missing, return_std=True)
    assert np.array_equal(missing, before, equal_nan=True)
    assert np.array_equal(filled[~holes], X[~holes])
    assert np.all(np.isfinite(filled))
    assert np.all(std[~holes] == 0)
    assert np.all(std[holes] > 0)
    means = np.broadcast_to(np.nanmean(missing, axis=0), X.shape)
    assert np.mean((filled - X)[holes] ** 2) < 0.5 * np.mean((means - X)[holes] ** 2)
    if model.e_step_ == "exact":  # others are known to be too sure of themselves
        pulls = (filled - X)[holes] / std[holes]
        assert 0.6 < np.sqrt(np.mean(pulls**2)) < 1.6  # the standard deviations mean what they say


def test_long_tables_are_answered_block_by_block_as_if_at_once(X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    from latens.estimators.rows import sampling

    model = maker("binary-ard-intercept")().fit(X)
    whole = model.transform(X), model.score_samples(X), model.impute(X)
    monkeypatch.setattr(sampling, "BLOCK_FLOATS", 1)  # 64 rows at a time
    for one, two in zip(whole, (model.transform(X), model.score_samples(X), model.impute(X)), strict=True):
        assert two == pytest.approx(one, rel=1e-12, abs=1e-12)


def test_warm_start_goes_on_where_the_last_fit_ended(make: Make, X: np.ndarray) -> None:
    model = make(6, warm_start=True, max_iter=2, moves=False, tol=0).fit(X)
    first = model.elbo_
    history = model.fit(X).elbo_history_
    assert history[0] > first - 1e-9 * abs(first)
    assert model.elbo_ > first
    cold = make(6, max_iter=2, moves=False, tol=0)
    assert cold.fit(X).fit(X).elbo_ == first


def test_warm_start_on_rows_of_another_size_is_a_fit_like_any_other(make: Make, X: np.ndarray) -> None:
    model = make(warm_start=True).fit(X).fit(1000 * X)
    assert np.all(np.diff(model.elbo_history_) >= -1e-9 * np.abs(model.elbo_history_[1:]))
    assert np.all(np.isfinite(model.score_samples(1000 * X)))


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


def test_warm_start_with_other_columns_fits_afresh(X: np.ndarray) -> None:
    model = maker("binary-ard")(warm_start=True).fit(X).fit(X[:, :4])
    assert model.components_.shape[1] == 4
    assert model.elbo_ == pytest.approx(maker("binary-ard")().fit(X[:, :4]).elbo_)


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
