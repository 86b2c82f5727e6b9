"""A fit does not depend on the order of the columns: whatever is drawn for them goes by what they hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import datasets

import latens
from latens.core import Rows
from latens.estimators.rows.sampling import column_places

RNG = np.random.default_rng(12)
WINE = datasets.load_wine().data
GAPPY = np.where(RNG.random(WINE.shape) < 0.1, np.nan, WINE)
CANCER = datasets.load_breast_cancer().data[:200, :10]  # whose columns go together: clusters have axes of their own
DIGITS = (datasets.load_digits().data[:200, 18:30] > 7.5).astype(float)
SHAPES = latens.datasets.make_shapes(150, random_state=0)[0]
CLASS = RNG.integers(3, size=200)
MIXED = np.column_stack(
    [
        RNG.normal(2.0 * CLASS),
        RNG.poisson(1 + 3 * CLASS),
        RNG.random(200) < 0.2 + 0.3 * CLASS,
        RNG.integers(4, size=200),
        np.where(CLASS == 1, RNG.integers(4, size=200), 0),
        RNG.normal(size=200) ** 3,
    ]
).astype(float)
FITS: dict[str, tuple[Any, np.ndarray]] = {
    "clusters": (latens.GaussianMixture(random_state=0), WINE),
    "clusters, holes": (latens.GaussianMixture(random_state=0), GAPPY),
    "clusters with axes": (latens.GaussianMixture(random_state=0), CANCER),
    "tied clusters": (latens.GaussianMixture(covariance_type="tied", random_state=0), WINE),
    "clusters of random starts": (latens.GaussianMixture(4, init="random", random_state=0), WINE),
    "binary clusters": (latens.BernoulliMixture(random_state=0), DIGITS),
    "classes": (latens.LatentClassAnalysis(random_state=0), MIXED),
    "causes": (latens.BinaryFactorAnalysis(8, n_init=1, random_state=0), SHAPES),
    "causes of binary rows": (latens.NoisyOr(4, random_state=0), DIGITS),
    "causes of random starts": (latens.NoisyOr(4, init="random", n_init=1, random_state=0), DIGITS),
    "sources": (latens.NoisyICA(random_state=0), WINE),
    "factors": (latens.FactorAnalysis(3, random_state=0), WINE),
    "views": (latens.MultiViewFactorAnalysis(random_state=0), WINE),
}


def fitted(model: Any, x: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x)


def by_column(model: Any) -> np.ndarray:
    """(K, D), what is published of components and columns."""
    if isinstance(model, latens.NoisyICA):
        return np.array(model.mixing_).T
    components = model.components_
    return np.array(next(iter(components.values())) if isinstance(components, dict) else components)


@pytest.mark.parametrize("name", FITS)
def test_other_orders_of_columns_give_the_same_fit(name: str) -> None:
    model, x = FITS[name]
    # sources and factors settle slowly along directions that hardly matter
    close = 1e-4 if name in ("sources", "factors") else 1e-6
    before = fitted(model, x)
    bound, components = before.elbo_, by_column(before)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(x.shape[1])
        after = fitted(model, x[:, order])
        assert after.elbo_ == pytest.approx(bound, rel=1e-9)
        size = np.abs(components).max(axis=0)[order]
        np.testing.assert_allclose(by_column(after) / size, components[:, order] / size, atol=close)


def test_places_of_columns_go_by_what_they_hold() -> None:
    x = RNG.exponential(size=(100, 6)) * RNG.random(6)
    places, order = column_places(Rows(x)), RNG.permutation(6)
    assert sorted(places) == list(range(6))
    np.testing.assert_array_equal(column_places(Rows(x[:, order])), places[order])
    np.testing.assert_array_equal(column_places(Rows(x[RNG.permutation(100)])), places)
    np.testing.assert_array_equal(column_places(Rows(32.0 + 1.8 * x)), places)
    np.testing.assert_array_equal(column_places(Rows(csr_array(x))), places)
    weight = RNG.integers(0, 3, 100)
    repeated = column_places(Rows(np.repeat(x, weight, axis=0)))
    np.testing.assert_array_equal(column_places(Rows(x, weight=weight.astype(float))), repeated)
