"""Columns of data frames whose labels are no text: they are names all the same, unless they only count columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
NAMES = [
    "BayesianLinearRegression",
    "BinaryFactorAnalysis",
    "FactorAnalysis",
    "GaussianMixture",
    "LatentClassAnalysis",
    "MultiViewFactorAnalysis",
    "NoisyICA",
]


def rows() -> tuple[Any, np.ndarray]:
    import pandas

    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    noise = rng.normal(size=(2, 80))
    return pandas.DataFrame({2: z + 0.3 * noise[0], 0: 5 + 3 * z + noise[1], 1: rng.poisson(np.exp(1 + z))}), z


def fitted(name: str, X: Any, z: np.ndarray) -> Any:
    if name == "BayesianLinearRegression":
        return latens.BayesianLinearRegression().fit(X, z)
    return getattr(latens, name)(2, random_state=0, max_iter=10).fit(X)


def score(model: Any, X: Any, z: np.ndarray) -> float:
    return float(model.score(X, z) if hasattr(model, "coef_") else model.score(X))


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_are_numbers_are_names(name: str) -> None:
    X, z = rows()
    model = fitted(name, X, z)
    assert list(model.feature_names_in_) == ["2", "0", "1"]
    np.testing.assert_allclose(score(model, X, z), score(fitted(name, X.to_numpy(), z), X.to_numpy(), z))
    with pytest.raises(ValueError, match=r"X\[\[2, 0, 1\]\]"):
        score(model, X[[0, 1, 2]], z)


@pytest.mark.parametrize("name", NAMES)
def test_columns_that_are_counted_are_not_taken_in_another_order(name: str) -> None:
    X, z = rows()
    X.columns = range(3)
    model = fitted(name, X, z)
    assert not hasattr(model, "feature_names_in_")
    if name == "MultiViewFactorAnalysis":  # whose tables are matched by the names of their columns
        assert score(model, X[[2, 0, 1]], z) == score(model, X, z)
        return
    with pytest.raises(ValueError, match="labelled 2, 0, 1, and those of the fit were counted from 0"):
        score(model, X[[2, 0, 1]], z)


@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_kinds_and_priors_are_of_the_column_with_that_label(name: str) -> None:
    X, _ = rows()
    model = getattr(latens, name)(2, likelihoods={1: "poisson"}, random_state=0, max_iter=10).fit(X)
    assert "poisson" in model.likelihoods_.values()
    if name == "LatentClassAnalysis":
        assert model.likelihoods_["1"] == "poisson"
        prior = latens.LatentClassAnalysis(1, mean_prior={0: (100.0, 1e6)}, random_state=0).fit(X)
        assert prior.means_[0, 1] == pytest.approx(100, abs=1)
    assert list(model.impute(X.mask(X > 8)).columns) == [2, 0, 1]


def test_views_are_matched_by_labels_that_are_numbers() -> None:
    X, _ = rows()
    counted = X.set_axis(range(3), axis=1)
    model = latens.MultiViewFactorAnalysis(2, random_state=0, max_iter=10).fit({"v": X, "w": counted})
    same = model.score({"v": X, "w": counted})
    assert model.score({"v": X[[0, 1, 2]], "w": counted[[1, 2, 0]]}) == same
