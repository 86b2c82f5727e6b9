"""What holds for every estimator: scikit-learn's conventions, and those of this library on top of them."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from latens.core import Iteration
from latens.errors import AllKept
from tests.estimators.conventions.verdict import complaints
from tests.estimators.subjects import SUBJECTS, VARIANTS, Subject, shared_fit, table, targets

TRANSFORMERS = [name for name in VARIANTS if not VARIANTS[name].supervised]


@pytest.fixture(params=TRANSFORMERS)
def fitted(request: pytest.FixtureRequest) -> Any:
    """A model of components, shared: tests look at it and change nothing."""
    return shared_fit(request.param)


@pytest.fixture
def X(fitted: Any) -> np.ndarray:
    """The rows that it has seen."""
    return table(SUBJECTS[type(fitted).__name__])


def flat(components: Any) -> np.ndarray:
    """Those of several views side by side."""
    return np.concatenate(list(components.values()), axis=-1) if isinstance(components, dict) else components


def test_scikit_learn_finds_no_fault(subject: Subject) -> None:
    # a few iterations will do for components: no check is about convergence
    assert complaints(subject.make(max_iter=1000 if subject.supervised else 5)) == []


def test_no_check_is_switched_off_by_a_tag(subject: Subject) -> None:
    tags = subject.make().__sklearn_tags__()
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert not tags._skip_test
    assert tags.input_tags.allow_nan == subject.missing
    assert subject.sparse or not tags.input_tags.sparse


def test_parameters_are_kept_as_given_and_cloned(variant: str) -> None:
    model = shared_fit(variant)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "elbo_")
    assert twin.set_params(max_iter=7).max_iter == 7
    assert repr(twin).startswith(f"{type(model).__name__}(")


def test_fit_returns_self_and_the_same_bits_whatever_y_is(transformer: Subject) -> None:
    x = transformer.rows()
    model = transformer.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(x, np.arange(len(x))) is model
    assert model.elbo_ == transformer.fit(x).elbo_


def test_what_every_fit_publishes(variant: str) -> None:
    model, x = shared_fit(variant), table(VARIANTS[variant])
    assert model.n_features_in_ == x.shape[1]
    assert len(model.elbo_history_) == model.n_iter_ == len(model.trace_)
    assert model.elbo_ == model.elbo_history_[-1]
    assert model.converged_
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.all(np.isfinite(value)), name


def test_what_every_model_of_components_publishes(fitted: Any, X: np.ndarray) -> None:
    k = fitted.n_components_
    assert flat(fitted.components_).shape == (k, X.shape[1])
    assert fitted.share_.shape == (k,)
    assert fitted.posterior_.n_components == k
    assert fitted.transform(X).shape == (len(X), k)
    assert len(fitted.get_feature_names_out()) == len(set(fitted.get_feature_names_out())) == k


def test_components_come_in_the_order_of_their_shares(fitted: Any) -> None:
    assert np.all(np.diff(fitted.share_) <= 0)
    assert np.all(fitted.share_ > 0)
    assert fitted.share_.sum() <= 1 + 1e-12


def test_the_bound_never_falls_and_is_the_sum_of_its_named_terms(variant: str) -> None:
    model = shared_fit(variant)
    sizes = [sum(map(abs, event.terms.values())) for event in model.trace_]
    assert np.all(np.diff(model.elbo_history_) >= -1e-9 * np.array(sizes[1:]))
    for event, size in zip(model.trace_, sizes, strict=True):
        assert abs(sum(event.terms.values()) - event.elbo) <= 1e-12 * size


def test_running_out_of_iterations_warns_with_a_remedy(transformer: Subject) -> None:
    x = table(transformer)
    model = transformer.make(n_components=4, max_iter=2, tol=1e-14, moves=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x)
    messages = [str(one.message) for one in caught if one.category is ConvergenceWarning]
    assert model.n_iter_ <= 2
    if model.converged_:  # a closed form
        assert messages == []
    else:
        (message,) = messages
        assert "max_iter=2" in message
        assert "Raise max_iter or tol" in message


def test_a_fit_that_converges_is_silent(variant: str) -> None:
    subject, x = VARIANTS[variant], table(VARIANTS[variant])
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AllKept)  # there may be more than the two that are allowed here
        model = subject.make()
        model.fit(x, targets(x))
        subject.answer(model, x)
    assert out.getvalue() == err.getvalue() == ""


def test_a_verbose_fit_shows_a_bar_on_standard_error(transformer: Subject, capsys: pytest.CaptureFixture[str]) -> None:
    transformer.fit(transformer.rows(), verbose=1)
    printed = capsys.readouterr()
    assert printed.out == ""
    for words in ("bound", "left", "30", "start 0"):
        assert words in printed.err
    assert printed.err.endswith("\n")


def test_callbacks_see_every_iteration_and_change_nothing(transformer: Subject) -> None:
    x, events = transformer.rows(), list[Iteration]()
    # one of the two fits that "auto" compares, whose restarts both count from 0
    single = {"fit_intercept": True} if transformer.name == "BinaryFactorAnalysis" else {}
    model = transformer.fit(x, callbacks=[events.append], moves=False, n_init=2, **single)
    assert model.elbo_ == transformer.fit(x, moves=False, n_init=2, **single).elbo_
    ends = {event.restart: event.elbo for event in events}
    best = max(ends, key=ends.__getitem__)
    assert [event.elbo for event in events if event.restart == best][-len(model.trace_) :] == list(model.elbo_history_)
    assert {event.restart for event in model.trace_} == {best}
    assert all(event.posterior.n_components == event.n_components for event in events)
    assert all(event.seconds >= 0 for event in events)


@pytest.mark.parametrize("yes", [True, np.True_])
def test_a_callback_stops_the_fit_without_a_warning(yes: object, transformer: Subject) -> None:
    x, seen = table(transformer), list[int]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = transformer.make(tol=0, moves=False, callbacks=[lambda event: seen.append(event.step) or yes])
        model.fit(x)
    assert seen == [0]
    assert model.n_iter_ == 1
    assert np.isfinite(model.score(x))


def test_one_function_or_a_list_of_them_may_be_given(transformer: Subject) -> None:
    seen = list[str]()
    both = [lambda event: seen.append("one"), lambda event: seen.append("two") or True]
    transformer.fit(transformer.rows(), callbacks=both)
    assert seen[:2] == ["one", "two"]
    transformer.fit(transformer.rows(), callbacks=lambda event: seen.append("alone") or True)
    assert seen[-1] == "alone"


def test_pipelines_and_searches_work(transformer: Subject) -> None:
    x = transformer.rows(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = make_pipeline(FunctionTransformer(), transformer.make())
        codes = pipe.fit_transform(x)
        assert codes.shape == (len(x), pipe[-1].n_components_)
        assert pipe.inverse_transform(codes).shape == x.shape
        search = GridSearchCV(transformer.make(max_iter=10), {"n_components": [1, 2]}, cv=2, error_score="raise")
        assert search.fit(x).best_params_["n_components"] in (1, 2)
        scores = search.cv_results_["mean_test_score"]
        assert np.all(np.isfinite(scores))
        assert search.best_score_ == max(scores)


def test_fit_transform_is_fit_then_transform(transformer: Subject) -> None:
    x = transformer.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = transformer.make().fit_transform(x)
    assert np.array_equal(codes, transformer.answer(transformer.fit(x), x))


def test_a_fitted_estimator_survives_pickling(fitted: Any, X: np.ndarray) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X), fitted.transform(X))
    assert np.array_equal(again.score_samples(X), fitted.score_samples(X))


@pytest.mark.parametrize(
    "ask",
    ["transform", "score_samples", "score", "impute", "inverse_transform", "sample", "sample_posterior", "summary",
     "top_features", "get_feature_names_out", "set_component_names"],
)  # fmt: skip
def test_an_estimator_that_is_not_fitted_says_so(ask: str, transformer: Subject) -> None:
    x = transformer.rows()
    arguments: dict[str, list[Any]] = {
        name: [x] for name in ("transform", "score_samples", "score", "impute", "inverse_transform")
    }
    arguments["set_component_names"] = [["a"]]
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(transformer.make(), ask)(*arguments.get(ask, []))


def test_names_of_components_reach_every_output(fitted: Any) -> None:
    model = copy.deepcopy(fitted)
    names = [f"name {k}" for k in range(model.n_components_)]
    assert model.set_component_names(names) is model
    assert list(model.get_feature_names_out()) == names
    assert list(model.top_features(2)) == names
    assert model.summary()["name"] == names


NOUNS = {"BinaryFactorAnalysis": "cause", "NoisyOr": "cause", "LatentClassAnalysis": "class", "NoisyICA": "source"}


def test_components_have_short_names_numbered_from_0(fitted: Any) -> None:
    noun = NOUNS.get(type(fitted).__name__, "cluster" if "Mixture" in type(fitted).__name__ else "factor")
    assert list(fitted.get_feature_names_out()) == [f"{noun}{k}" for k in range(fitted.n_components_)]


def test_some_components_may_be_named_by_number(fitted: Any) -> None:
    model = copy.deepcopy(fitted).set_component_names({0: "smoking"})
    assert list(model.get_feature_names_out()) == ["smoking", *fitted.get_feature_names_out()[1:]]
    with pytest.raises(ValueError, match=f"names={fitted.n_components_} is too large"):
        copy.deepcopy(fitted).set_component_names({fitted.n_components_: "age"})


def test_names_must_be_one_for_each_component_and_differ(fitted: Any) -> None:
    k = fitted.n_components_
    for names in (["a"] * (k - 1), [f"{i}" for i in range(k + 1)], ["a"] * k if k > 1 else []):
        with pytest.raises(ValueError, match=f"{k} different names|{k} name"):
            copy.deepcopy(fitted).set_component_names(names)


def test_the_summary_has_a_line_for_each_component(fitted: Any) -> None:
    summary = fitted.summary()
    assert len(summary) == fitted.n_components_
    assert summary["name"] == list(fitted.get_feature_names_out())
    assert "<table" in summary._repr_html_()


def test_codes_come_with_standard_deviations(fitted: Any, X: np.ndarray) -> None:
    mean, std = fitted.transform(X, return_std=True)
    assert np.array_equal(mean, fitted.transform(X))
    assert mean.shape == std.shape
    assert np.all((std >= 0) & np.isfinite(std))


def test_inverse_transform_takes_codes_back_to_rows(fitted: Any, X: np.ndarray) -> None:
    rebuilt = np.asarray(fitted.inverse_transform(fitted.transform(X)))
    assert rebuilt.shape == X.shape
    assert np.mean((rebuilt - X) ** 2) < np.mean((X - X.mean(axis=0)) ** 2)


def test_inverse_transform_refuses_codes_of_another_width(fitted: Any) -> None:
    k = fitted.n_components_
    with pytest.raises(ValueError, match=rf"shape \(4, {k + 1}\); expected \(n, {k}\)"):
        fitted.inverse_transform(np.zeros((4, k + 1)))


def test_sample_draws_rows_and_their_codes_like_those_seen(fitted: Any, X: np.ndarray) -> None:
    rows, codes = fitted.sample(2000)
    rows = np.asarray(flat(rows))
    assert rows.shape == (2000, X.shape[1])
    assert codes.shape == (2000, fitted.n_components_)
    # sources of two levels are symmetric, the causes of these rows are not: an intercept is then off their mean
    assert rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.6 if hasattr(fitted, "levels_") else 0.35)
    assert rows.std(axis=0) == pytest.approx(X.std(axis=0), rel=0.3)


def test_posterior_draws_have_the_shapes_of_what_is_published(fitted: Any) -> None:
    draws = fitted.sample_posterior(3)
    name = "mixing" if hasattr(fitted, "mixing_") else "components"
    assert flat(draws[name]).shape == (3, *flat(getattr(fitted, f"{name}_")).shape)
    for name, value in draws.items():
        if not isinstance(value, dict):
            assert np.shape(value) == (3, *np.shape(getattr(fitted, f"{name}_"))), name
            assert np.all(np.isfinite(value)), name


def test_the_score_is_the_mean_of_the_rows_scores(fitted: Any, X: np.ndarray) -> None:
    assert fitted.score(X) == pytest.approx(fitted.score_samples(X).mean())


def test_a_row_with_nothing_observed_has_density_one(fitted: Any, X: np.ndarray) -> None:
    empty = np.full((1, X.shape[1]), np.nan)
    score = fitted.score_samples(empty)[0]
    assert score <= 1e-9  # log 1, or a bound below it
    if not fitted.score_is_bound_:
        assert score == pytest.approx(0.0, abs=1e-9)
    assert np.all(np.isfinite(fitted.transform(empty)))
    assert np.all(np.isfinite(fitted.impute(empty)))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_imputation_fills_holes_and_touches_nothing_else(name: str) -> None:
    subject = VARIANTS[name]
    X, missing = table(subject), table(subject, holes=True)
    holes, before = np.isnan(missing), missing.copy()
    filled, std = shared_fit(name, holes=True).impute(missing, return_std=True)
    assert np.array_equal(missing, before, equal_nan=True)
    assert np.array_equal(filled[~holes], X[~holes])
    assert np.all(np.isfinite(filled))
    assert np.all(std[~holes] == 0)
    assert np.all(std[holes] > 0)
    means = np.broadcast_to(np.nanmean(missing, axis=0), X.shape)
    assert np.mean((filled - X)[holes] ** 2) < 0.9 * np.mean((means - X)[holes] ** 2)


def test_long_tables_are_answered_block_by_block_as_if_at_once(
    fitted: Any, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fitted.transform(X), fitted.score_samples(X), fitted.impute(X)
    monkeypatch.setattr("latens.core.rows.BLOCK_FLOATS", 1)  # 64 rows at a time
    for one, two in zip(whole, (fitted.transform(X), fitted.score_samples(X), fitted.impute(X)), strict=True):
        assert two == pytest.approx(one, rel=1e-9, abs=1e-9)


def test_warm_start_goes_on_where_the_last_fit_ended(transformer: Subject) -> None:
    x = table(transformer)
    options = {"max_iter": 2, "moves": False, "tol": 0}
    model = transformer.fit(x, warm_start=True, **options)
    first = model.elbo_
    again = transformer.fit_to(model, x)
    assert again.elbo_history_[0] >= first - 1e-9 * abs(first)
    assert again.elbo_ >= first - 1e-9 * abs(first)
    cold = transformer.fit(x, **options)
    assert transformer.fit_to(cold, x).elbo_ == first


def test_warm_start_on_rows_of_another_size_is_a_fit_like_any_other(transformer: Subject) -> None:
    x = transformer.rows()
    model = transformer.fit_to(transformer.fit(x, warm_start=True), x if transformer.binary else 1000 * x)
    assert np.all(np.diff(model.elbo_history_) >= -1e-9 * np.abs(model.elbo_history_[1:]))
    assert np.all(np.isfinite(model.score_samples(x)))


def test_warm_start_with_other_columns_fits_afresh(transformer: Subject) -> None:
    x = transformer.rows(d=6)
    model = transformer.fit_to(transformer.fit(x, warm_start=True), x[:, :4])
    assert model.n_features_in_ == 4
    assert model.elbo_ == pytest.approx(transformer.fit(x[:, :4]).elbo_)
