"""Covariates: batch, sex and age as a regression beside the levels of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.models.multi_view.view import COVARIATES

N, D = 200, 12
BATCHES = np.array(["A", "B", "C"])
pytestmark = pytest.mark.filterwarnings("ignore")


def made(seed: int = 0, n: int = N) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    """Linear predictors of one factor, three batches and an age; the covariates, and the coefficients (3, D)."""
    rng = np.random.default_rng(seed)
    batch, age, z = rng.integers(0, 3, n), rng.normal(50, 10, n), rng.normal(size=n)
    slopes = np.vstack([1.5 * rng.normal(size=(2, D)), 0.08 * rng.normal(size=D)])
    eta = np.column_stack([batch == 1, batch == 2, age - 50]) @ slopes + np.outer(z, rng.normal(size=D))
    return eta, {"batch": BATCHES[batch], "age": age}, slopes


def seen_as(kind: str, eta: np.ndarray, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "bernoulli":
        return (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    if kind in ("poisson", "negative-binomial"):
        return rng.poisson(np.exp(np.clip(eta + 1, -5, 6))).astype(float)
    if kind in ("categorical", "ordinal"):
        return np.digitize(eta + rng.logistic(size=eta.shape), [-1.0, 1.0]).astype(float)
    return eta + 0.5 * (rng.standard_t(4, eta.shape) if kind == "student" else rng.normal(size=eta.shape))


def model(kind: str = "gaussian", k: int = 6, **options: Any) -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(k, likelihoods={"x": kind}, random_state=0, **options)


def rows(covariates: dict[str, Any], which: Any) -> dict[str, Any]:
    return {name: values[which] for name, values in covariates.items()}


def test_without_factors_it_is_bayesian_regression_in_closed_form() -> None:
    known = made()[1]
    rng = np.random.default_rng(2)
    design = np.column_stack([known["batch"] == "B", known["batch"] == "C", known["age"]]).astype(float)
    y = design @ rng.normal(size=(3, D)) + 3 + np.outer(np.ones(N), np.arange(D)) + rng.normal(size=(N, D))
    fit = model(k=1, tol=1e-10).fit({"x": y}, covariates=known)
    assert fit.n_components_ == 0
    assert fit.covariate_names_ == ("batch = B", "batch = C", "age")
    centred = design - design.mean(axis=0)
    least_squares = np.linalg.lstsq(centred, y - y.mean(axis=0), rcond=None)[0]
    # the prior of one standard deviation of covariates is the variance of the column, whatever their units: the
    # posterior mean is least squares, drawn in by the same share in every direction
    tau, variance = 1 / fit.noise_variance_["x"], y.var(axis=0)
    shrunk = least_squares * (N * tau / (N * tau + 1 / variance))
    assert fit.covariate_coefficients_["x"] == pytest.approx(shrunk, rel=1e-6)
    assert fit.intercepts_["x"][0] == pytest.approx(y.mean(axis=0), rel=1e-4)
    left = y - y.mean(axis=0) - centred @ least_squares
    assert fit.noise_variance_["x"] == pytest.approx((left**2).sum(axis=0) / (N - 4), rel=0.02)


@pytest.mark.parametrize(
    "kind", ["gaussian", "student", "bernoulli", "poisson", "negative-binomial", "ordinal", "categorical"]
)
def test_a_batch_takes_no_factor_whatever_the_likelihood(kind: str) -> None:
    eta, known, slopes = made()
    says_much = kind in ("gaussian", "student", "poisson", "negative-binomial")
    y = seen_as(kind, eta if says_much else 2 * eta)
    with_covariates, without = model(kind, 4).fit({"x": y}, covariates=known), model(kind, 4).fit({"x": y})
    assert with_covariates.n_components_ == 1
    assert with_covariates.elbo_ > without.elbo_ + 200
    batch = {"batch": known["batch"]}
    assert with_covariates.associate(batch)["effect"][0] < 0.1
    if says_much:  # yes/no and levels of so few columns do not pay for the factors of batches
        assert without.n_components_ > 1
        assert without.associate(batch)["effect"][0] > 0.3
    if kind not in ("categorical", "ordinal"):  # of which each level has coefficients
        for found, true in zip(with_covariates.covariate_coefficients_["x"], slopes, strict=True):
            assert np.corrcoef(found, true)[0, 1] > 0.9


def test_units_of_covariates_and_the_level_that_is_left_out_change_nothing() -> None:
    eta, known, _ = made()
    y = seen_as("gaussian", eta)
    one = model(tol=1e-8).fit({"x": y}, covariates=known)
    other = {
        "age": 365.25 * known["age"] - 7,
        "batch": np.array(["c", "b", "a"])[np.searchsorted(BATCHES, known["batch"])],
    }
    two = model(tol=1e-8).fit({"x": y}, covariates=other)
    assert two.elbo_ == pytest.approx(one.elbo_, abs=1e-5)
    assert two.scores_ == pytest.approx(one.scores_, abs=1e-4)
    a, b = one.covariate_coefficients_["x"], two.covariate_coefficients_["x"]
    assert b[0] * 365.25 == pytest.approx(a[2], abs=1e-6)
    assert b[2] == pytest.approx(-a[1], abs=1e-4)  # "c" against "a" is A against C


def test_a_column_that_others_determine_has_no_coefficient_and_changes_nothing() -> None:
    eta, known, _ = made()
    y = seen_as("gaussian", eta)
    twice = model().fit({"x": y}, covariates={**known, "months": 12 * known["age"]})
    assert twice.elbo_ == pytest.approx(model().fit({"x": y}, covariates=known).elbo_, rel=1e-9)
    assert not twice.covariate_coefficients_["x"][3].any()


def test_weights_are_repeated_samples() -> None:
    eta, known, _ = made(n=60)
    y, times = seen_as("gaussian", eta), 1 + np.arange(60) % 2
    again = np.repeat(np.arange(60), times)
    weighted = model(max_iter=30).fit({"x": y}, sample_weight=times, covariates=known)
    repeated = model(max_iter=30).fit({"x": y[again]}, covariates=rows(known, again))
    assert repeated.elbo_ == pytest.approx(weighted.elbo_, rel=1e-9)
    assert repeated.covariate_coefficients_["x"] == pytest.approx(weighted.covariate_coefficients_["x"], abs=1e-7)


def test_missing_entries_are_filled_by_what_is_known_of_the_sample() -> None:
    eta, known, _ = made(3)
    y = seen_as("gaussian", eta)
    fit = model().fit({"x": y}, covariates=known)
    blank = np.full((3, D), np.nan)
    filled = fit.impute({"x": blank}, covariates={"batch": BATCHES, "age": np.full(3, 50.0)})["x"]
    moved = fit.covariate_coefficients_["x"]
    assert filled[1] - filled[0] == pytest.approx(moved[0], abs=1e-6)
    assert filled[2] - filled[0] == pytest.approx(moved[1], abs=1e-6)
    assert fit.intercepts_["x"][0] == pytest.approx(fit.inverse_transform(np.zeros((1, fit.n_components_)))["x"][0])
    half = y[:50].copy()
    half[:, ::2] = np.nan
    guess = fit.impute({"x": half}, covariates=rows(known, slice(50)))["x"]
    assert np.mean((guess - y[:50])[:, ::2] ** 2) < 0.5 * np.mean((y[:50] - y.mean(axis=0))[:, ::2] ** 2)


def test_groups_have_levels_and_covariates_the_same_coefficients_in_all() -> None:
    eta, known, _ = made(4)
    group = np.where(np.arange(N) % 2, "u", "v")
    y = seen_as("gaussian", eta) + 4.0 * (group == "u")[:, None]
    fit = model().fit({"x": y}, groups=group, covariates=known)
    assert fit.n_components_ == 1
    assert np.mean(fit.intercepts_["x"][0] - fit.intercepts_["x"][1]) == pytest.approx(4.0, abs=0.2)
    inferred = fit.score_samples({"x": y}, covariates=known)
    assert np.isfinite(inferred).all()


def test_files_and_streams_keep_covariates(tmp_path: Path) -> None:
    eta, known, _ = made(5, n=400)
    y, streamed = seen_as("gaussian", eta), model()
    for part in (slice(0, 60), slice(60, 300), slice(300, 400)):
        streamed.partial_fit({"x": y[part]}, covariates=rows(known, part))
        latens.save(streamed, tmp_path / "model.latens")
        streamed = latens.load(tmp_path / "model.latens")  # also while the first samples wait
    assert streamed.covariate_names_ == ("batch = B", "batch = C", "age")
    assert streamed.n_components_ == 1
    whole = model().fit({"x": y}, covariates=known)
    assert streamed.covariate_coefficients_["x"] == pytest.approx(whole.covariate_coefficients_["x"], abs=0.3)
    latens.save(whole, tmp_path / "whole.latens")
    loaded = latens.load(tmp_path / "whole.latens")
    assert np.array_equal(*(each.transform({"x": y}, covariates=known) for each in (whole, loaded)))


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_intervals_of_coefficients_hold_the_truth(kind: str) -> None:
    eta, known, slopes = made(6)
    y = seen_as(kind, eta)[:, :3]
    fit = model(kind, 1, prune=False).fit({"x": y}, covariates=known)
    table = fit.intervals({"x": y}, covariates=known, quantities=["covariate_coefficients"], method="response")
    inside = [
        low < true < high for low, high, true in zip(table["lower"], table["upper"], slopes[:, :3].ravel(), strict=True)
    ]
    assert len(inside) == 9
    assert sum(inside) >= 7


def test_a_model_with_covariates_refuses_samples_without_and_the_other_way_round() -> None:
    eta, known, _ = made()
    y = seen_as("gaussian", eta)
    fit = model(max_iter=5).fit({"x": y}, covariates=known)
    for answer in (fit.transform, fit.impute, fit.score_samples, fit.score, fit.partial_fit):
        with pytest.raises(ValueError, match=r"fitted with the covariates 'batch', 'age'; pass covariates=\.\.\. for"):
            answer({"x": y[:3]})
    plain = model(max_iter=5).fit({"x": y})
    with pytest.raises(ValueError, match="covariates were given, but the model was fitted without; leave them out"):
        plain.transform({"x": y[:3]}, covariates=rows(known, slice(3)))
    assert plain.covariate_names_ == ()


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (
            {"age": np.r_[np.nan, np.arange(N - 1.0)]},
            "covariate 'age' is missing in 1 of 200 samples, the first being 0",
        ),
        ({"sex": ["f"] * N}, "covariate 'sex' has one level, 'f'; leave it out"),
        ({"age": np.ones(N)}, "covariate 'age' has one value in all samples that count; leave it out"),
        ({"id": [f"s{i}" for i in range(N)]}, "covariate 'id' has 200 levels in 200 samples, which look like names"),
        ({"age": np.r_[np.inf, np.arange(N - 1.0)]}, "covariate 'age' is inf in row 0; give numbers"),
        ({"age": [object(), *range(N - 1)]}, "covariate 'age' holds a object; expected numbers, or text"),
        (np.ones((3, 2)), r"covariates have shape \(3, 2\); expected \(200,\) or \(200, number of covariates\)"),
        ({"age": np.ones(3)}, "column 'age' of covariates has 3 entries for 200 rows"),
        ({}, "covariates have no columns; give at least one"),
        ("batch", r"covariates=\['batch'\] names columns of \.obs, which no view has; give a data frame"),
    ],
    ids=["hole", "level", "constant", "names", "infinite", "object", "shape", "short", "empty", "obs"],
)
def test_covariates_that_cannot_be_are_refused(covariates: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model().fit({"x": seen_as("gaussian", made()[0])}, covariates=covariates)


def test_new_samples_must_have_the_columns_and_levels_of_the_fit() -> None:
    eta, known, _ = made()
    y = seen_as("gaussian", eta)
    fit = model(max_iter=5).fit({"x": y}, covariates=known)
    with pytest.raises(ValueError, match=r"covariate 'batch' is 'D' in 2 of 3 samples, which the fit did not have"):
        fit.transform({"x": y[:3]}, covariates={"batch": ["A", "D", "D"], "age": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"covariates lack the column\(s\) 'batch'; the fit had 'batch', 'age'"):
        fit.transform({"x": y[:3]}, covariates={"age": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="covariate_prior needs covariates of samples"):
        model(covariate_prior=1.0).fit({"x": y})


def test_the_prior_of_coefficients_is_in_data_units() -> None:
    eta, known, _ = made()
    y = seen_as("gaussian", 7 * eta)
    tight, loose = (model(covariate_prior=v, max_iter=30).fit({"x": y}, covariates=known) for v in (1e-3, 1e6))
    assert np.abs(tight.covariate_coefficients_["x"]).max() < 0.1 * np.abs(loose.covariate_coefficients_["x"]).max()
    prior = tight._model.prior(1).views["x"].offsets.variance[:, 1:]
    assert prior * tight._units.scale[0] ** 2 == pytest.approx(np.full((D, 3), 1e-3))


@pytest.mark.extras
def test_frames_are_aligned_by_name_and_arrays_and_obs_say_the_same() -> None:
    import anndata
    import pandas as pd
    import polars

    eta, known, _ = made(n=80)
    y, names = seen_as("gaussian", eta), [f"s{i}" for i in range(80)]
    expected = model(max_iter=10).fit({"x": y}, covariates=known).elbo_
    frame = pd.DataFrame(known, index=names)
    views = {"x": pd.DataFrame(y, index=names)}
    shuffled = frame.iloc[::-1]
    assert model(max_iter=10).fit(views, covariates=shuffled).elbo_ == pytest.approx(expected)
    table = anndata.AnnData(y, obs=frame)
    assert model(max_iter=10).fit({"x": table}, covariates=["batch", "age"]).elbo_ == pytest.approx(expected)
    assert model(max_iter=10).fit({"x": y}, covariates=polars.DataFrame(known)).elbo_ == pytest.approx(expected)
    codes = pd.Categorical(np.searchsorted(BATCHES, known["batch"]), categories=[2, 0, 1])
    fit = model(max_iter=10).fit(views, covariates=pd.DataFrame({"batch": codes, "age": known["age"]}, index=names))
    assert fit.covariate_names_ == ("batch = 0", "batch = 1", "age")  # in the order of the categories
    assert fit.elbo_ == pytest.approx(expected)
    by_array = model(max_iter=10).fit({"x": y}, covariates=known["age"])
    assert by_array.covariate_names_ == ("covariate0",)
    series = model(max_iter=10).fit(views, covariates=frame["age"])
    assert series.covariate_names_ == ("age",)
    assert series.elbo_ == pytest.approx(by_array.elbo_)
    with pytest.raises(ValueError, match="covariate 'batch' is missing in 1 of 80 samples, the first being 's79'"):
        model().fit(views, covariates=frame.iloc[:79])


@pytest.mark.extras
def test_other_libraries_keep_their_arrays() -> None:
    import torch

    eta, known, _ = made(n=80)
    y = seen_as("gaussian", eta)
    here, there = (model(max_iter=10).fit({"x": table}, covariates=known) for table in (y, torch.asarray(y)))
    assert there.elbo_ == pytest.approx(here.elbo_)
    assert there._rows_of_fit({"x": torch.asarray(y)}, covariates=known).aux[COVARIATES].shape == (80, 3)
