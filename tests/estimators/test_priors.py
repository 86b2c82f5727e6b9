"""Priors that the caller gives, in data units: what the equations make of them, what is refused, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

QUICK = {"max_iter": 15, "moves": False, "n_init": 1, "random_state": 0}
RNG = np.random.default_rng(0)
REAL = 50.0 + 20.0 * (RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 6)) + 0.5 * RNG.normal(size=(60, 6)))
BINARY = (RNG.random((60, 6)) < 0.3).astype(float)
COUNTS = RNG.poisson(3.0, size=(60, 6)).astype(float)
NOISE, LOADING, BETA = (7.0, 12.0), (2.5, 8.0), (2.0, 5.0)


def settled(model: Any) -> tuple[Any, Any, Any, float]:
    """Model, posterior and sums of a fit, and the square of the unit they are in, that of the first column."""
    return model._model, model._state.q, model._state.stats, float(np.ravel(model._units.scale)[0] ** 2)


def test_the_noise_and_usage_of_binary_factors_begin_from_their_priors() -> None:
    given = {"usage_prior": BETA, "noise_variance_prior": NOISE, "loading_prior": LOADING}
    model, q, stats, square = settled(latens.BinaryFactorAnalysis(3, **given, **QUICK).fit(REAL))
    assert q.usage.on == pytest.approx(2.0 + stats.on)
    assert q.usage.off == pytest.approx(5.0 + stats.n - stats.on)
    prior = model.prior(3).loadings.weights.noise
    assert prior.shape[0] / prior.rate[0] == pytest.approx(square / 7.0)
    assert q.loadings.weights.noise.shape == pytest.approx(6.0 + 0.5 * 6 * 60)  # 12 entries, and 6 x 60
    assert model.relevance == (4.0, 10.0)


def test_chances_of_noisy_or_begin_from_their_priors() -> None:
    given = {"usage_prior": BETA, "activation_prior": (0.7, 1.3), "leak_prior": (0.4, 6.0)}
    _, q, stats, _ = settled(latens.NoisyOr(2, **given, **QUICK).fit(BINARY))
    assert q.usage.on == pytest.approx(2.0 + stats.on)
    assert q.causes.on == pytest.approx(0.7 + stats.caused)
    assert q.causes.off == pytest.approx(1.3 + stats.exposed - stats.caused)
    assert q.leak.off == pytest.approx(6.0 + stats.seen - stats.leaked)
    _, q, stats, _ = settled(latens.NoisyOr(2, e_step="jensen", **given, **QUICK).fit(BINARY))
    assert q.leak.shape == pytest.approx(0.4 + stats.leaked)
    assert q.leak.rate == pytest.approx(6.0 + stats.seen)


@pytest.mark.parametrize("make", [latens.FactorAnalysis, latens.NoisyICA])
def test_noise_and_loadings_of_factors_and_sources_begin_from_their_priors(make: Any) -> None:
    variances = np.linspace(5.0, 10.0, 6)
    given = {"prior": "ard", "noise_variance_prior": (variances, 12.0), "loading_prior": LOADING}
    fitted = make(2, **given, **QUICK).fit(REAL)
    model, q, _, _ = settled(fitted)
    prior = model.prior(q.n_components).loadings.weights.noise
    assert prior.shape == pytest.approx(np.full(6, 6.0))
    assert prior.rate / prior.shape * fitted._units.scale**2 == pytest.approx(variances)
    assert q.loadings.weights.noise.shape == pytest.approx(np.full(6, 6.0 + 0.5 * 60))
    assert model.relevance == (4.0, 10.0)


def test_every_prior_of_views_reaches_the_posterior_in_the_units_of_its_view() -> None:
    views = {"real": REAL, "count": COUNTS}
    model = latens.MultiViewFactorAnalysis(
        2,
        likelihoods={"real": "gaussian", "count": "poisson"},
        sparse_factors=True,
        noise_variance_prior={"real": NOISE},
        dispersion_prior=(0.2, 30.0),
        loading_prior={"real": (400.0, 8.0)},
        inclusion_prior=BETA,
        usage_prior=(3.0, 4.0),
        activity_prior=(2.0, 6.0),
        intercept_prior={"real": 900.0},
        **QUICK,
    ).fit(views, groups=np.arange(60) % 2)
    _, q, stats, square = settled(model)
    real, count = q.views["real"], q.views["count"]
    assert real.noise.shape == pytest.approx(np.full(6, 6.0 + 30.0))
    prior = model._model.prior(q.n_components).views
    assert prior["real"].noise.rate / prior["real"].noise.shape * square == pytest.approx(np.full(6, 7.0))
    assert (prior["count"].noise.rate / prior["count"].noise.shape)[0] == pytest.approx(0.2)
    assert real.alpha.shape == pytest.approx(4.0 + 0.5 * 6)
    assert (prior["real"].alpha.rate / prior["real"].alpha.shape)[0] * square == pytest.approx(400.0)
    assert (prior["count"].alpha.shape)[0] == pytest.approx(1e-3)
    assert real.theta.on + real.theta.off == pytest.approx(7.0 + 6)
    assert q.usage.on == pytest.approx(3.0 + stats.used)
    assert q.activity.shape == pytest.approx(3.0 + 0.5 * stats.sizes[:, None] + np.zeros((2, q.n_components)))
    assert prior["real"].offsets.variance[0, 0] * square == pytest.approx(900.0)
    assert count.noise.shape[0] > 15.0


def test_columns_of_classes_begin_from_their_priors() -> None:
    table = np.column_stack([REAL[:, 0], COUNTS[:, 0], REAL[:, 1]])
    model = latens.LatentClassAnalysis(
        2,
        likelihoods={0: "gaussian", 1: "poisson", 2: "gaussian"},
        mean_prior={0: (45.0, 5.0)},
        variance_prior={"x0": NOISE},
        rate_prior={1: (2.0, 9.0)},
        **QUICK,
    ).fit(table)
    q, stats, prior = model._state.q.clusters.parts, model._state.stats, model._model.clusters.parts
    assert model._units.leave(np.array([[prior["gaussian"].mean[0, 0], 0, 0]]))[0, 0] == pytest.approx(45.0)
    assert prior["gaussian"].strength[0, 0] == 5.0
    assert prior["gaussian"].strength[0, 1] != 5.0
    assert prior["gaussian"].covariance[0, 0] * model._units.scale[0] ** 2 == pytest.approx(7.0)
    assert prior["gaussian"].shape[0].tolist() == [6.0, 1.0]
    assert q["poisson"].rate.shape.sum() == pytest.approx(2 * 9.0 + COUNTS[:, 0].sum())
    assert q["poisson"].rate.rate.sum() == pytest.approx(2 * 4.5 + stats.n)


def test_variances_of_a_regression_begin_from_their_priors() -> None:
    given = {"weight_variance_prior": (0.3, 4.0), "noise_variance_prior": (5.0, 6.0)}
    model = latens.BayesianLinearRegression("gamma", "gamma", **given).fit(REAL[:, :5], REAL[:, 5])
    assert model.posterior_.alpha.shape == pytest.approx(2.0 + 0.5 * 5)
    assert model.posterior_.beta.shape == pytest.approx(3.0 + 0.5 * (60 - 1), abs=0.51)
    sure = latens.BayesianLinearRegression("gamma", "gamma", weight_variance_prior=(0.3, 1e9)).fit(
        REAL[:, :5], REAL[:, 5]
    )
    assert sure.weight_precision_ == pytest.approx(1 / 0.3, rel=1e-6)
    known = latens.BayesianLinearRegression(1 / 0.3, "gamma").fit(REAL[:, :5], REAL[:, 5])
    assert sure.coef_ == pytest.approx(known.coef_, rel=1e-6)


def test_a_prior_of_many_rows_is_what_is_learnt_and_another_unit_changes_nothing() -> None:
    fits = [
        latens.FactorAnalysis(2, prior="ard", noise_variance_prior=(40.0 * c * c, 1e9), **QUICK).fit(c * REAL)
        for c in (1.0, 1024.0, 1000.0)
    ]
    noise = fits[0]._units.leave_variance(fits[0].posterior_.loadings.mean_noise)
    assert noise == pytest.approx(np.full(6, 40.0), rel=1e-3)  # published is that of a new row
    assert np.array_equal(fits[1].noise_variance_, 2.0**20 * fits[0].noise_variance_)
    assert np.array_equal(fits[1].components_, 1024 * fits[0].components_)
    # roundings of other units move the end of an ascent along what the bound hardly tells
    assert fits[2].elbo_ == pytest.approx(fits[0].elbo_ - REAL.size * np.log(1000), abs=1e-5)
    assert fits[2].components_ == pytest.approx(1000 * fits[0].components_, rel=1e-4)


def test_priors_are_in_files_and_go_on_in_streams(tmp_path: Path) -> None:
    model = latens.NoisyICA(2, noise_variance_prior=NOISE, loading_prior=LOADING, **QUICK).fit(REAL)
    latens.save(model, tmp_path / "model.latens")
    read = latens.load(tmp_path / "model.latens")
    assert tuple(read.noise_variance_prior) == NOISE
    assert tuple(read.loading_prior) == LOADING
    assert read._model.relevance == (4.0, 10.0)
    read.partial_fit(REAL)
    assert read._state.q.loadings.weights.noise.shape == pytest.approx(np.full(6, 6.0 + 0.5 * 120))


VIEWS = {"v": REAL}
BAD: dict[str, tuple[Any, Any, str]] = {
    "no pair": (latens.BinaryFactorAnalysis(2, usage_prior=3.0), REAL, r"usage_prior=3.0 is no pair; give \(a, b\)"),
    "a negative count": (latens.NoisyOr(2, leak_prior=(1, -2)), BINARY, r"leak_prior\[1\]=-2 is out of range"),
    "text": (latens.NoisyICA(2, loading_prior="flat"), REAL, r"loading_prior='flat' is no pair; give \(variance, n\)"),
    "worth nothing": (
        latens.BinaryFactorAnalysis(2, noise_variance_prior=(1.0, 0)),
        REAL,
        r"noise_variance_prior\[1\]=0 is out of range; choose a number above 0",
    ),
    "too few variances": (
        latens.NoisyICA(2, noise_variance_prior=([1.0, 2.0], 3)),
        REAL,
        r"has shape \(2,\); expected 6 positive numbers, one for each column",
    ),
    "maximum likelihood": (
        latens.FactorAnalysis(2, loading_prior=(1, 1)),
        REAL,
        r"loading_prior needs prior='ard'; choose that, or leave loading_prior out",
    ),
    "a view that is not there": (
        latens.MultiViewFactorAnalysis(2, loading_prior={"w": (1, 1)}),
        VIEWS,
        r"loading_prior names 'w'; it can be given for 'v'",
    ),
    "no counts": (latens.MultiViewFactorAnalysis(2, dispersion_prior=(1, 1)), VIEWS, r"views of counts, and there are"),
    "no groups": (latens.MultiViewFactorAnalysis(2, activity_prior=(1, 1)), VIEWS, r"activity_prior needs groups of"),
    "not sparse": (latens.MultiViewFactorAnalysis(2, usage_prior=(1, 1)), VIEWS, r"needs sparse_factors=True"),
    "a column of another kind": (
        latens.LatentClassAnalysis(2, rate_prior={0: (1, 1)}),
        REAL,
        r"rate_prior names the column 'x0', which is gaussian; it is for poisson or negative-binomial columns",
    ),
    "no column": (latens.LatentClassAnalysis(2, mean_prior={"age": (1, 1)}), REAL, r"mean_prior names 'age'; the col"),
    "no dict": (latens.LatentClassAnalysis(2, mean_prior=(1, 1)), REAL, r"mean_prior=\(1, 1\) is no dict"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_prior_is_refused_with_a_remedy(name: str) -> None:
    model, X, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_a_regression_refuses_a_prior_of_what_is_not_learnt_by_it() -> None:
    with pytest.raises(ValueError, match=r"noise_variance_prior needs noise_precision='gamma'"):
        latens.BayesianLinearRegression(noise_variance_prior=(1, 1)).fit(REAL, REAL[:, 0])


def test_intervals_of_a_regression_whose_prior_was_given_are_integrated_as_well() -> None:
    """A prior that says what the rows say makes little difference; one that says otherwise does."""
    y = REAL[:, 0] + np.random.default_rng(0).normal(size=len(REAL))
    own = latens.BayesianLinearRegression("gamma", "gamma", weight_variance_prior=(1.0, 2.0)).fit(REAL[:, 1:], y)
    table = own.intervals()
    assert table.method == "integration"
    assert all(table["sound"])
    small = latens.BayesianLinearRegression("gamma", "gamma", weight_variance_prior=(1e-6, 1e4)).fit(REAL[:, 1:], y)
    assert np.all(small.coef_std_ < 0.1 * own.coef_std_)
