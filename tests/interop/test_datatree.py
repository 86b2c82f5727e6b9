"""Draws for ArviZ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.extras


def test_draws_are_those_of_the_model_with_names_of_components_and_features() -> None:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (60, 3)), rng.normal(9, 1, (30, 3))]
    model = latens.GaussianMixture(4, random_state=0).fit(X)
    tree = latens.interop.to_datatree(model, X, n_samples=12)
    posterior = tree["posterior"]
    drawn = model.sample_posterior(12)
    assert posterior["means"].dims == ("chain", "draw", "component", "feature")
    assert posterior["covariances"].dims == ("chain", "draw", "component", "feature", "other_feature")
    assert posterior["component"].values.tolist() == ["cluster0", "cluster1"]
    np.testing.assert_array_equal(posterior["means"].values[0], drawn["means"])
    np.testing.assert_array_equal(posterior["means"].sel(component="cluster1").values[0], drawn["means"][:, 1])
    np.testing.assert_array_equal(tree["observed_data"]["X"].values, X)
    assert tree["posterior"].attrs["inference_library"] == "latens"


def test_levels_are_named() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), rng.integers(3, size=80)]).astype(float)
    model = latens.LatentClassAnalysis(1, likelihoods={0: "gaussian", 1: "categorical"}, random_state=0).fit(X)
    chances = latens.interop.to_datatree(model, n_samples=12)["posterior"]["level_probabilities"]
    assert chances.dims == ("chain", "draw", "component", "level")
    assert chances["level"].values.tolist() == ["x1 = 0", "x1 = 1", "x1 = 2"]
    np.testing.assert_allclose(chances.sum("level"), 1)


def test_chains_of_gibbs_sampling_stay_apart() -> None:
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(0, 1, (30, 2)), rng.normal(9, 1, (20, 2))]
    model = latens.GaussianMixture(3, covariance_type="diag", random_state=0).fit(X)
    tree = latens.interop.to_datatree(model, X, n_samples=20, method="gibbs")
    assert dict(tree["posterior"].sizes)["chain"] == 4
    with pytest.raises(ValueError, match="give a multiple of it"):
        latens.interop.to_datatree(model, X, n_samples=21, method="gibbs")


def test_views_have_features_of_their_own() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=(50, 2))
    views = {"a": z @ rng.normal(size=(2, 4)) + rng.normal(size=(50, 4)), "b": z @ rng.normal(size=(2, 3))}
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)
    posterior = latens.interop.to_datatree(model, n_samples=5)["posterior"]
    assert posterior["components_a"].dims == ("chain", "draw", "component", "feature_a")
    assert posterior["components_b"].shape == (1, 5, model.n_components_, 3)


BITS = (np.random.default_rng(3).random((40, 4)) < 0.4).astype(float)
NUMBERS = np.random.default_rng(4).normal(size=(40, 4)) + 4.0 * (np.arange(40) % 2)[:, None]


@pytest.mark.parametrize(
    ("model", "X"),
    [
        pytest.param(latens.FactorAnalysis(1), NUMBERS, id="factors"),
        pytest.param(latens.NoisyICA(1, random_state=0, max_iter=10), NUMBERS, id="sources"),
        pytest.param(latens.BinaryFactorAnalysis(2, random_state=0, max_iter=10), NUMBERS, id="switches"),
        pytest.param(latens.NoisyOr(1, random_state=0, max_iter=10, prune=False), BITS, id="causes"),
        pytest.param(latens.GaussianMixture(2, random_state=0), NUMBERS, id="clusters"),
        pytest.param(latens.BernoulliMixture(2, random_state=0), BITS, id="binary clusters"),
        pytest.param(latens.LatentClassAnalysis(2, random_state=0), NUMBERS, id="classes"),
        pytest.param(latens.MultiViewFactorAnalysis(1, random_state=0), NUMBERS, id="views"),
        pytest.param(latens.BayesianLinearRegression(), NUMBERS, id="regression"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_hands_over_its_draws(model: Any, X: np.ndarray) -> None:
    fitted = model.fit(X, X[:, 0] + np.arange(40) % 3) if hasattr(model, "weight_precision") else model.fit(X)
    method = "gibbs" if hasattr(model, "weight_precision") else "mean-field"
    tree = latens.interop.to_datatree(fitted, X, n_samples=8, method=method)
    sizes = dict(tree["posterior"].sizes)
    assert sizes["chain"] * sizes["draw"] == 8
    assert any("feature" in str(dim) for dim in sizes)
    for values in tree["posterior"].data_vars.values():
        assert np.isfinite(values).all()
    np.testing.assert_array_equal(tree["observed_data"]["X"].values, X)
