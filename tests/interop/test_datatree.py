"""Draws for ArviZ."""

from __future__ import annotations

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
