"""Intervals of published numbers: of every estimator, in data units, with what cannot be said marked as such."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import t as student
from sklearn.datasets import load_iris, load_wine

import latens
from latens.errors import HeywoodCase
from latens.models.noisy_ica.priors import GAUSSIAN
from tests.estimators.subjects import Subject

COLUMNS = ("parameter", "component", "feature", "view", "estimate", "std", "lower", "upper", "sound", "why")
CENTRED = ("covariances", "standard_deviations")


def two_clusters(gap: float, n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.4
    return rng.normal(size=(n, 2)) + np.where(label[:, None], [gap, 0.0], 0.0), label


def quietly(call: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **options)


def test_every_estimator_has_a_table_of_all_it_publishes(subject: Subject) -> None:
    X = subject.rows(n=60)
    model = subject.fit(X)
    table = quietly(model.intervals, X)
    assert table.columns == COLUMNS
    assert table.method in ("response", "integration")
    published = {name for name in table["parameter"] if name != "share"}
    assert published <= {name.removesuffix("_") for name in dir(model)}
    assert len(table) >= len(np.ravel(getattr(model, "components_", np.zeros((1, 4)))))
    for low, value, high, sound, why in zip(
        *(table[c] for c in COLUMNS[6:7] + COLUMNS[4:5] + COLUMNS[7:]), strict=True
    ):
        assert low <= value <= high
        assert sound == (why == "")
        if sound:
            assert np.isfinite([low, high]).all()
    narrow = quietly(model.intervals, X, method="mean-field")
    assert narrow.method == "mean-field"
    if not subject.supervised:
        assert not any(narrow["sound"])


def test_estimates_are_the_published_numbers_up_to_tol(transformer: Subject) -> None:
    X = transformer.rows(n=60)
    model = transformer.fit(X, tol=1e-10, max_iter=3000)
    table = quietly(model.intervals, X, method="mean-field")
    for name in set(table["parameter"]):
        if name in CENTRED:  # intervals are about the middle of a posterior, not about 1 / E[precision]
            value = model._own_numbers(model.posterior_, model._state.stats)[name]
            assert np.all(np.abs(value) > np.abs(getattr(model, f"{name}_")))
        else:
            value = getattr(model, f"{name}_") if name != "share" else model._shares_at(model.posterior_)
        value = (
            np.concatenate([np.ravel(part) for part in value.values()]) if isinstance(value, dict) else np.ravel(value)
        )
        value = np.minimum(value, GAUSSIAN) if name == "tails" else value  # the end of their range is told as infinite
        by_name = [row[4] for row in table.rows if row[0] == name]
        assert set(np.round(by_name, 9)) <= set(np.round(value, 9))


def test_separate_clusters_have_the_textbook_errors() -> None:
    X, label = two_clusters(12.0, 400)
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    table = model.intervals(X)
    assert all(table["sound"])
    sizes = np.array([np.sum(~label), np.sum(label)])
    means = [row for row in table.rows if row[0] == "means"]
    for k in range(2):
        assert [row[5] for row in means[2 * k : 2 * k + 2]] == pytest.approx([1 / np.sqrt(sizes[k])] * 2, rel=0.15)
    share = sizes / 400
    weights = [row[5] for row in table.rows if row[0] == "weights"]
    assert weights == pytest.approx(np.sqrt(share * (1 - share) / 400), rel=0.02)
    assert table.components["missing information"] == pytest.approx([0, 0], abs=1e-3)
    assert min(table.components["nats"]) > 100


@pytest.mark.slow
def test_overlapping_clusters_are_told_as_uncertain_as_they_are() -> None:
    """Against the spread of fits over data sets, of which mean field says little more than half."""
    fits, by_response, narrow = [], [], []
    for seed in range(24):
        X, _ = two_clusters(3.0, 300, seed)
        model = latens.GaussianMixture(2, random_state=0, moves=False).fit(X)
        left = int(np.argmin(model.means_[:, 0]))
        for method, stds in (("response", by_response), ("mean-field", narrow)):
            table = model.intervals(X, method=method, quantities=["weights", "means"], components=[left])
            stds.append([table["std"][0], table["std"][1]])
        fits.append([table["estimate"][0], table["estimate"][1]])
    spread = np.std(fits, axis=0)
    assert np.median(by_response, axis=0) == pytest.approx(spread, rel=0.45)
    assert np.all(np.median(narrow, axis=0) < 0.7 * spread)
    assert np.all(np.median(by_response, axis=0) > 1.6 * np.median(narrow, axis=0))


def test_units_and_levels_scale_intervals() -> None:
    X, _ = two_clusters(4.0)
    one, two = (latens.GaussianMixture(2, random_state=0).fit(rows) for rows in (X, 1000 * X + 7e4))
    first, second = one.intervals(X, quantities="means"), two.intervals(1000 * X + 7e4, quantities="means")
    assert np.array(second["lower"]) == pytest.approx(1000 * np.array(first["lower"]) + 7e4, rel=1e-4)
    half, whole = (one.intervals(X, level=level, quantities="weights") for level in (0.5, 0.95))
    width = logit(np.array(whole["upper"])) - logit(whole["lower"])
    assert logit(half["upper"]) - logit(half["lower"]) == pytest.approx(width * 0.6744898 / 1.959964, rel=1e-6)


def test_shares_and_variances_stay_inside_their_range() -> None:
    X, _ = two_clusters(2.0, 40)
    table = quietly(latens.GaussianMixture(2, random_state=0, moves=False).fit(X).intervals, X, level=0.999)
    for name, low, high in zip(table["parameter"], table["lower"], table["upper"], strict=True):
        if name == "weights":
            assert 0 <= low < high <= 1
        if name == "covariances" and low > 0:
            assert high > low


def test_a_component_that_rows_hardly_tell_from_others_is_marked() -> None:
    X, _ = two_clusters(0.5, 150)
    model = quietly(latens.GaussianMixture(2, random_state=0, moves=False, tol=1e-8, max_iter=3000).fit, X)
    assert model.n_components_ == 2
    table = quietly(model.intervals, X, method="response")
    assert max(table.components["nats"]) < 6
    assert not any(sound for sound, component in zip(table["sound"], table["component"], strict=True) if component)
    assert any("nats: other fits are as likely" in why for why in table["why"])


@pytest.mark.parametrize("rotation", [None, "varimax"])
def test_factors_of_maximum_likelihood_are_told_in_the_axes_they_are_published_in(rotation: str | None) -> None:
    """Nothing but a rule gives them axes; turned otherwise, they would not be identified."""
    rng = np.random.default_rng(0)
    loadings = np.array([[2.0, 2.0, -2.0, 1.5, 0.5, 0.0], [0.3, -0.5, 0.0, 1.0, 1.0, -1.0]])
    X = rng.normal(size=(300, 2)) @ loadings + rng.normal(size=(300, 6))
    model = latens.FactorAnalysis(2, prior="ml", rotation=rotation, random_state=0).fit(X)
    by_response, refitted = (quietly(model.intervals, X, method=method) for method in ("response", "bootstrap"))
    estimates, errors = np.array([row[4:6] for row in by_response.rows if row[0] == "components"]).T
    assert all(by_response["sound"])
    assert estimates == pytest.approx(model.components_.ravel(), abs=0.02)
    others = np.array([row[5] for row in refitted.rows if row[0] == "components"])
    assert np.median(others / errors) == pytest.approx(1, abs=0.25)


def test_noise_at_its_floor_is_not_sound_where_curvature_says_next_to_nothing() -> None:
    model = quietly(latens.FactorAnalysis(1).fit, load_iris().data)
    why = {row[2]: row[9] for row in quietly(model.intervals).rows if row[0] == "noise_variance"}
    assert why == {"x0": "", "x1": "", "x2": "at an end of its range", "x3": ""}


@pytest.mark.parametrize("e_step", ["mean-field", pytest.param("truncated", marks=pytest.mark.slow)])
def test_approximate_codes_that_settle_elsewhere_are_still_those_of_the_fit(e_step: str) -> None:
    X = load_iris().data
    model = quietly(latens.BinaryFactorAnalysis(5, e_step=e_step, random_state=0, prune=False).fit, X)
    table = quietly(model.intervals, X)
    assert set(table["why"]) >= {"biased: posteriors of rows are approximate"}
    changed = X.copy()
    changed[0, 0] += 0.1
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        quietly(model.intervals, changed)


def test_sources_of_real_rows_are_told_with_steps_that_are_short_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of a coordinate turned sources of wine so far that errors were off by a third."""
    from latens.inference.uncertainty import response

    X = load_wine().data
    model = quietly(latens.NoisyICA(3, random_state=0, moves=False).fit, X)
    errors = np.array(quietly(model.intervals, X)["std"])
    monkeypatch.setattr(response, "SHORT_STEP", 5e-6)
    assert errors == pytest.approx(np.array(quietly(model.intervals, X)["std"]), rel=0.01)


def test_approximate_posteriors_of_rows_are_marked_as_biased() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((150, 2)) < 0.4) @ (rng.normal(size=(2, 4)) * 3) + 0.5 * rng.normal(size=(150, 4))
    exact = latens.BinaryFactorAnalysis(2, e_step="exact", random_state=0).fit(X).intervals(X, quantities="components")
    rough = latens.BinaryFactorAnalysis(2, e_step="mean-field", random_state=0).fit(X).intervals(X)
    assert all(exact["sound"])
    assert set(rough["why"]) == {"biased: posteriors of rows are approximate"}


def test_loadings_that_may_be_zero_are_marked() -> None:
    rng = np.random.default_rng(3)
    loadings = np.array([[2.0, 1.5, 0.25, 0.2, 0.15, 0.0]])
    X = rng.normal(size=(60, 1)) @ loadings + rng.normal(size=(60, 6))
    model = quietly(latens.MultiViewFactorAnalysis(1, random_state=0, moves=False).fit, X)
    table = quietly(model.intervals, X, quantities="components")
    inclusion = np.ravel(model.inclusion_ if not isinstance(model.inclusion_, dict) else model.inclusion_["x"])
    for share, sound in zip(inclusion, table["sound"], strict=True):
        if 0.05 < share < 0.95:
            assert not sound


def test_draws_have_the_covariance_of_the_intervals() -> None:
    X, _ = two_clusters(3.0, 300)
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    draws, table = model.sample_posterior(4000, method="response", X=X), model.intervals(X)
    assert draws["weights"].shape == (4000, 2)
    assert draws["weights"].sum(axis=1) == pytest.approx(1)
    assert np.all(draws["covariances"][:, :, [0, 1], [0, 1]] > 0)
    assert draws["covariances"][:, 0, 0, 1] == pytest.approx(draws["covariances"][:, 0, 1, 0])
    spread = [row[5] for row in table.rows if row[0] == "means"]
    assert draws["means"].std(axis=0).ravel() == pytest.approx(spread, rel=0.06)
    ratio = model.sample_posterior(4000)["means"].std(axis=0) / draws["means"].std(axis=0)
    assert np.max(ratio[:, 0]) < 0.9  # along the line on which the clusters lie
    assert np.min(ratio) < 0.7


def test_weights_of_rows_are_given_as_to_fit() -> None:
    X, _ = two_clusters(4.0)
    times = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = latens.GaussianMixture(2, random_state=0).fit(X, sample_weight=times)
    repeated = latens.GaussianMixture(2, random_state=0).fit(np.repeat(X, times, axis=0))
    one, two = weighted.intervals(X, sample_weight=times), repeated.intervals(np.repeat(X, times, axis=0))
    assert one["std"] == pytest.approx(two["std"], rel=1e-4)


def test_missing_entries_widen_intervals() -> None:
    X, _ = two_clusters(8.0, 300)
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    whole, part = (latens.GaussianMixture(2, random_state=0).fit(rows).intervals(rows) for rows in (X, holes))
    wide = [b / a for a, b, name in zip(whole["std"], part["std"], whole["parameter"], strict=True) if name == "means"]
    assert 1.05 < np.mean(wide) < 1.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level=1.5 is no probability"),
        ({"level": 0}, "level=0 is no probability"),
        (
            {"method": "jackknife"},
            "method='jackknife' is not known; choose one of 'auto', 'response', 'mean-field'",
        ),
        ({"components": [7]}, "there is no component 7; there are 2, numbered from 0"),
        ({"components": "nobody"}, "there is no component 'nobody'"),
        ({"quantities": "loadings"}, "quantities='loadings' is not known; choose one of 'weights', 'means'"),
        ({"features": "x7"}, "features='x7' is not known; choose one of 'x0', 'x1'"),
    ],
)
def test_questions_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    X, _ = two_clusters(4.0)
    with pytest.raises(ValueError, match=message):
        latens.GaussianMixture(2, random_state=0).fit(X).intervals(X, **options)


def test_other_rows_than_those_of_the_fit_are_refused() -> None:
    X, _ = two_clusters(4.0)
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"needs the rows of the fit: call intervals\(X\)"):
        model.intervals()
    for other in (X[:-1], two_clusters(4.0, seed=9)[0], X + 1e-2):
        with pytest.raises(ValueError, match="X is not the data of the fit: its bound is"):
            model.intervals(other)


def test_columns_are_chosen_by_name(subject: Subject) -> None:
    X = subject.rows(n=60)
    model = subject.fit(X)
    every = quietly(model.intervals, X)
    first = next(row[2] for row in every.rows if row[2] and "," not in row[2]).split(" [")[0]
    table = quietly(model.intervals, X, features=first)
    assert 0 < len(table) < len(every)
    assert all(first in row[2].replace(" [", ", ").split(", ") for row in table.rows)
    assert set(table.rows) <= set(every.rows)


def test_models_of_many_numbers_say_what_they_did() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 60)) + rng.normal(size=(60, 60))
    model = quietly(latens.MultiViewFactorAnalysis(3, random_state=0, max_iter=20).fit, X)
    assert quietly(model.intervals, X, method="mean-field").method == "mean-field"
    table = quietly(model.intervals, X)
    assert re.fullmatch(r"response in \d+ directions", table.method)
    assert {"components", "noise_variance", "share"} <= set(table["parameter"])
    noise = [row for row in table.rows if row[0] == "noise_variance"]
    chosen = quietly(model.intervals, X, method="response", quantities="noise_variance", features=["x3", "x50"])
    assert [row[2] for row in chosen.rows] == ["x3", "x50"]
    alike = [row[5] for row in noise if row[2] in ("x3", "x50")]
    assert [row[5] for row in chosen.rows] == pytest.approx(alike, rel=0.03)


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
def test_large_posteriors_without_slopes_in_closed_form_are_taken_by_mean_field_where_rows_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("latens.estimators.intervals.intervals.MOST_COORDINATES", 10)
    monkeypatch.setattr("latens.estimators.intervals.intervals.REFIT_WORK", 0.0)  # as if rows were many
    X = (np.random.default_rng(6).random((60, 6)) < 0.4).astype(float)
    model = quietly(latens.NoisyOr(2, e_step="jensen", random_state=0).fit, X)
    assert quietly(model.intervals, X).method == "mean-field"


def test_draws_of_the_posterior_itself_agree_with_response_where_clusters_are_apart() -> None:
    X, _ = two_clusters(5.0, 150)
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    response, sampled = model.intervals(X), model.intervals(X, method="gibbs")
    assert sampled.method == "gibbs"
    assert all(sampled["sound"])
    assert sampled["std"] == pytest.approx(response["std"], rel=0.25)
    assert sampled["estimate"] == pytest.approx(response["estimate"], abs=0.15)
    draws = model.sample_posterior(40, method="gibbs", X=X)
    assert draws["means"].shape == (40, 2, 2)
    assert draws["weights"].sum(axis=1) == pytest.approx(1)
    assert set(draws.r_hat) == set(draws.effective_size) >= {"weights", "means"}
    assert max(draws.r_hat.values()) < 1.5


def test_binary_factors_are_sampled_with_exact_steps_and_refused_without() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((120, 2)) < 0.4) @ (rng.normal(size=(2, 4)) * 3) + 0.7 * rng.normal(size=(120, 4))
    exact = latens.BinaryFactorAnalysis(2, e_step="exact", random_state=0).fit(X)
    response, sampled = (
        exact.intervals(X, quantities="components"),
        exact.intervals(X, method="gibbs", quantities="components"),
    )
    assert sampled["std"] == pytest.approx(response["std"], rel=0.3)
    assert sampled["estimate"] == pytest.approx(response["estimate"], abs=0.1)
    rough = latens.BinaryFactorAnalysis(2, e_step="mean-field", random_state=0).fit(X)
    with pytest.raises(ValueError, match="codes are drawn only where e_step is exact; choose method='response'"):
        rough.intervals(X, method="gibbs")


@pytest.mark.slow
def test_noisy_or_is_sampled_with_exact_steps_and_refused_without() -> None:
    rng = np.random.default_rng(1)
    strength = np.array([[0.8, 0.8, 0.7, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.8, 0.7, 0.8]])
    chance = 1 - np.exp((rng.random((300, 2)) < 0.4) @ np.log1p(-strength)) * 0.95
    X = (rng.random((300, 6)) < chance).astype(float)
    model = latens.NoisyOr(2, random_state=0).fit(X)
    options = {"quantities": ["components", "usage"]}
    response, sampled = model.intervals(X, **options), model.intervals(X, method="gibbs", **options)
    large = np.array(response["estimate"]) > 0.2
    assert large.sum() == 8
    assert np.array(sampled["std"])[large] == pytest.approx(np.array(response["std"])[large], rel=0.4)
    assert np.array(sampled["estimate"])[large] == pytest.approx(np.array(response["estimate"])[large], abs=0.06)
    for option, match in (({"e_step": "jensen"}, "cannot be sampled"), ({"prior": "ml"}, "fit with prior='ard'")):
        with pytest.raises(ValueError, match=match):
            quietly(latens.NoisyOr(2, random_state=0, **option).fit, X).intervals(X, method="gibbs")


@pytest.mark.slow
def test_one_factor_is_sampled_as_response_says_and_several_are_told_as_turnable() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 1)) @ np.array([[2.0, 1.5, 1.0, -1.5, 0.5]]) + rng.normal(size=(150, 5)) + 10
    model = latens.FactorAnalysis(1, prior="ard", random_state=0).fit(X)
    response, sampled = model.intervals(), model.intervals(X, method="gibbs")
    std = {(row[0], row[2]): row[5] for row in response.rows}
    assert all(sampled["sound"])
    compared = [(row[5], std[row[0], row[2]]) for row in sampled.rows if (row[0], row[2]) in std]
    assert len(compared) >= 15
    assert [a for a, _ in compared] == pytest.approx([b for _, b in compared], rel=0.35)
    with pytest.raises(ValueError, match="fit with prior='ard'"):
        latens.FactorAnalysis(1, prior="ml", random_state=0).fit(X).intervals(X, method="gibbs")
    wider = X + rng.normal(size=(150, 1)) @ np.array([[0.0, 2.0, -2.0, 0.0, 1.0]])
    both = quietly(latens.FactorAnalysis(2, prior="ard", random_state=0).fit, wider)
    table = quietly(both.intervals, wider, method="gibbs")
    assert not any(row[8] for row in table.rows if row[0] == "components")


def test_where_components_are_hardly_worth_it_auto_samples_and_says_so() -> None:
    X, _ = two_clusters(0.5, 100)
    model = quietly(latens.GaussianMixture(2, random_state=0, moves=False, tol=1e-8, max_iter=3000).fit, X)
    assert quietly(model.intervals, X).method == "gibbs"


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (latens.NoisyICA(1, random_state=0, max_iter=20, prior="ml"), {}, "maximum likelihood has no posterior"),
        (
            latens.NoisyOr(2, random_state=0, max_iter=20, e_step="jensen", binarize=1.0),
            {},
            "NoisyOr cannot be sampled",
        ),
        (latens.GaussianMixture(2, random_state=0), {"sample_weight": np.full(100, 1.5)}, "rows with weights"),
    ],
)
def test_what_cannot_be_sampled_is_refused(model: Any, options: dict, message: str) -> None:
    X, _ = two_clusters(5.0, 100)
    quietly(model.fit, X, **options)
    with pytest.raises(ValueError, match=f"method='gibbs': {message}"):
        model.intervals(X, method="gibbs", **options)


def test_a_stream_that_keeps_no_rows_is_not_sampled() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1)) @ rng.normal(size=(1, 4)) + rng.normal(size=(80, 4))
    model = quietly(latens.FactorAnalysis(1, solver="online-em", random_state=0).fit, X)
    with pytest.raises(ValueError, match="FactorAnalysis was fitted row by row"):
        model.sample_posterior(5, method="gibbs", X=X)


def test_views_of_counts_are_not_sampled() -> None:
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=(60, 3)), "b": rng.poisson(3.0, size=(60, 3)).astype(float)}
    model = quietly(latens.MultiViewFactorAnalysis(1, random_state=0, likelihoods={"b": "poisson"}, max_iter=20).fit, X)
    with pytest.raises(ValueError, match="views b are neither measurements nor yes/no"):
        model.intervals(X, method="gibbs")


@pytest.mark.slow
def test_sources_are_sampled_as_response_says() -> None:
    rng = np.random.default_rng(3)
    mixing = np.array([[1.0, 0.5], [0.8, -0.6], [0.2, 1.0], [-0.7, 0.4]])
    X = rng.standard_t(4, size=(300, 2)) @ mixing.T + 0.5 * rng.normal(size=(300, 4))
    model = quietly(latens.NoisyICA(2, random_state=0, moves=False).fit, X)
    options = {"quantities": ["mixing", "noise_variance"]}
    response, sampled = model.intervals(X, method="response", **options), model.intervals(X, method="gibbs", **options)
    assert sampled["estimate"] == pytest.approx(response["estimate"], abs=0.12)
    ratios = np.array(sampled["std"]) / response["std"]
    assert 0.75 < np.median(ratios) < 1.3


@pytest.mark.slow
def test_views_are_sampled_as_response_says_and_inclusion_is_told_by_draws() -> None:
    rng = np.random.default_rng(3)
    loadings = np.zeros((2, 10))
    loadings[0, :5], loadings[1, 5:] = 1.0, -1.0
    X = rng.normal(size=(200, 2)) @ loadings + rng.normal(size=(200, 10))
    both = {"a": X[:, :6], "b": (X[:, 6:] > 0).astype(float)}
    model = quietly(latens.MultiViewFactorAnalysis(2, random_state=0, moves=False).fit, both)
    assert model.likelihoods_["b"] == "bernoulli"
    sampled = quietly(model.intervals, both, method="gibbs", quantities="components")
    by_name = {row[:4]: row for row in quietly(model.intervals, both, method="response", quantities="components").rows}
    pairs = [(row[5], by_name[row[:4]][5]) for row in sampled.rows if row[3] == "a" and abs(row[4]) > 0.5]
    assert len(pairs) >= 5
    assert 0.7 < np.median([a / b for a, b in pairs]) < 1.4
    draws = model.sample_posterior(200, method="gibbs", X=both)
    assert draws["components"]["b"].shape == (200, 2, 4)
    inclusion = draws["inclusion"]["a"].mean(axis=0)
    strong = np.abs(draws["components"]["a"].mean(axis=0)) > 0.5
    assert np.all(inclusion[strong] > 0.99)
    assert np.all(inclusion[~strong] < 0.9)


def test_draws_of_a_regression_are_those_of_its_intervals() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 3)) + 4
    y = X @ [1.0, -1.0, 0.5] + 2 + rng.normal(size=15)
    model = latens.BayesianLinearRegression(random_state=0).fit(X, y)
    draws, table = model.sample_posterior(40_000, method="gibbs", X=X), model.intervals(method="gibbs")
    values = np.column_stack([draws["coef"], draws["intercept"], draws["noise_precision"]])
    spread = np.array(table["upper"]) - table["lower"]
    assert np.quantile(values, 0.025, axis=0) == pytest.approx(table["lower"], abs=0.03 * spread.max())
    assert np.all(np.abs(np.quantile(values, 0.975, axis=0) - table["upper"]) < 0.04 * spread)
    assert np.all(np.abs(np.quantile(values, 0.025, axis=0) - table["lower"]) < 0.04 * spread)
    narrow = model.sample_posterior(4000)
    assert np.all(narrow["coef"].std(axis=0) < draws["coef"].std(axis=0))
    assert np.ptp(narrow["noise_precision"]) == 0


def test_means_of_a_heywood_fit_have_the_errors_of_means_and_are_not_doubted() -> None:
    """Their curvature is all but lost with the codes, of which the column at its floor is one."""
    X = load_wine().data
    model = quietly(latens.FactorAnalysis(4, random_state=0).fit, X)
    table = quietly(model.intervals, X)
    assert model.noise_variance_.min() < 1e-5 * X.var(axis=0).min(), "no Heywood case"
    means = [row for row in table.rows if row[0] == "mean"]
    assert [row[9] for row in means] == [""] * 13
    assert [row[5] for row in means] == pytest.approx(X.std(axis=0) / np.sqrt(len(X)), rel=1e-3)
    why = {name: {row[9] for row in table.rows if row[0] == name} for name in ("noise_variance", "components")}
    assert why["noise_variance"] == {"not identified by the rows", "those of other columns are not identified"}
    assert "other entries of its component are not identified" in why["components"]


def test_refits_of_a_heywood_fit_are_not_called_sound_where_noise_stands_at_its_floor() -> None:
    X = load_wine().data[:, :6]
    with pytest.warns(HeywoodCase) as caught:
        model = latens.FactorAnalysis(1, random_state=0).fit(X)
    assert "n_components" not in str(caught[0].message)
    table = quietly(model.intervals, X, method="bootstrap")
    why = {(row[0], row[2]): row[9] for row in table.rows}
    assert [why["noise_variance", f"x{j}"] for j in range(6)] == ["", "", "", "at an end of its range", "", ""]
    assert {why["components", f"x{j}"] for j in range(6)} == {why["share", ""]}
    assert "factors follow the column" in why["share", ""]


def test_numbers_of_covariates_and_groups_are_called_by_their_names() -> None:
    rng = np.random.default_rng(0)
    side = rng.integers(2, size=60)
    X = rng.normal(size=(60, 3)) + side[:, None]
    covariates = {"age": rng.normal(size=60), "sex": np.where(side, "male", "female")}
    model = quietly(latens.MultiViewFactorAnalysis(1, random_state=0).fit, X, covariates=covariates)
    table = quietly(model.intervals, X, covariates=covariates, quantities="covariate_coefficients")
    assert [row[2] for row in table.rows[:4]] == ["x0 [age]", "x1 [age]", "x2 [age]", "x0 [sex = male]"]
    groups = np.where(side, "old", "young")
    model = quietly(latens.MultiViewFactorAnalysis(1, random_state=0).fit, X, groups=groups)
    table = quietly(model.intervals, X, groups=groups, quantities="intercepts")
    assert {row[2].partition(" ")[2] for row in table.rows} == {"[old]", "[young]"}


@pytest.mark.parametrize("n", [5, 12])
def test_means_of_few_rows_have_the_tails_of_student(n: int) -> None:
    """One cluster with independent columns: the posterior of a mean is Student's t in closed form."""
    X = np.random.default_rng(0).normal(size=(n, 2)) + 3
    model = quietly(latens.GaussianMixture(1, covariance_type="diag", random_state=0).fit, X)
    columns = model.posterior_.clusters
    table = quietly(model.intervals, X, method="response", quantities="means")
    freedom, half = 2 * columns.shape[0, 0], (np.array(table["upper"]) - table["lower"]) / 2
    assert freedom < n + 5
    assert half == pytest.approx(student.ppf(0.975, freedom) * np.array(table["std"]), rel=1e-3)
    scale = np.sqrt(columns.rate[0] / columns.shape[0] / columns.strength[0])
    assert table["std"] == pytest.approx(scale * model._units.scale, rel=1e-3)


@pytest.mark.parametrize(("kind", "size"), [("full", 6), ("tied", 3), ("diag", 4), ("spherical", 2)])
def test_every_variance_of_a_cluster_has_an_interval(kind: str, size: int) -> None:
    X, _ = two_clusters(6.0, 120)
    model = quietly(latens.GaussianMixture(2, covariance_type=kind, random_state=0).fit, X)
    table = quietly(model.intervals, X, quantities="covariances")
    assert len(table) == size
    assert {row[2] for row in table.rows} >= ({"x0", "x1"} if kind != "spherical" else set())


def test_loadings_of_few_rows_have_wider_tails_than_normal_ones() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 1)) @ np.array([[4.0, 5.0, -6.0, 5.0, 4.0]]) + rng.normal(size=(12, 5))
    model = quietly(latens.FactorAnalysis(1, prior="ard", random_state=0, moves=False).fit, X)
    table = quietly(model.intervals, X)
    assert "components" in table["parameter"]
    for name, std, low, high in zip(*(table[c] for c in ("parameter", "std", "lower", "upper")), strict=True):
        if name in ("components", "mean"):
            assert (high - low) / 2 == pytest.approx(student.ppf(0.975, 12 - 2) * std, rel=1e-9)


def test_strong_factors_are_worth_what_they_are_and_only_the_weakest_is_doubted() -> None:
    """Whichever of four factors is taken out, the others turn until the weakest is missing."""
    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = quietly(latens.FactorAnalysis(4, prior="ard", random_state=0).fit, X)
    table = quietly(model.intervals, X)
    assert table.method == "response"
    nats = table.components["nats"]
    assert np.argmin(nats) == 3
    assert 0 < nats[3] < 6
    assert min(nats[:3]) > 30
    sound = {name: {row[8] for row in table.rows if row[1] == name} for name in model.get_feature_names_out()}
    assert [sound[f"factor{k}"] for k in range(4)] == [{True}, {True}, {True}, {False}]


def test_a_cluster_that_changes_in_a_fit_as_likely_without_another_is_doubted_and_one_far_away_is_not() -> None:
    rng = np.random.default_rng(4)
    means = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 30.0]])
    X = rng.normal(size=(180, 2)) + np.repeat(means, 60, axis=0)
    options = {"moves": False, "prune": False, "tol": 1e-8, "max_iter": 3000}
    model = quietly(latens.GaussianMixture(3, random_state=0, init=means, **options).fit, X)
    table = quietly(model.intervals, X, method="response")
    far = model.get_feature_names_out()[int(np.argmax(model.means_[:, 1]))]
    why = {row[9] for row in table.rows if row[1] not in ("", far)}
    assert all(words.startswith("its component is worth") or "says otherwise of it" in words for words in why)
    assert {row[8] for row in table.rows if row[1] == far} == {True}
    nats = dict(zip(table.components["component"], table.components["nats"], strict=True))
    assert nats[far] > 100
    assert min(nats.values()) < 6


@pytest.mark.parametrize("holes", [False, True])
def test_rows_that_are_the_same_count_once_and_leave_intervals_as_they_are(
    holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    x = (rng.random((150, 4)) < np.where(rng.random(150)[:, None] < 0.4, 0.9, 0.2)).astype(float)
    x = np.where(rng.random(x.shape) < 0.1, np.nan, x) if holes else x
    model = quietly(latens.BernoulliMixture(2, random_state=0).fit, x)
    (rows,), _ = model._data_of_fit(x, {})
    assert len(rows) < 150
    assert rows.n == 150
    once = quietly(model.intervals, x)
    monkeypatch.setattr(type(model), "_counted_once", lambda self, rows: rows)
    each = quietly(model.intervals, x)
    for column in ("estimate", "std", "lower", "upper"):
        assert once[column] == pytest.approx(each[column], rel=1e-6)
