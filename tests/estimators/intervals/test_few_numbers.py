"""Chosen numbers of posteriors that are too large for all second derivatives: by conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.intervals import by_response, intervals
from latens.inference.uncertainty import response_of_few
from latens.inference.uncertainty.response_of_few import respond_few


def views(rng: np.random.Generator) -> np.ndarray:
    loadings = np.zeros((2, 8))
    loadings[0, :4], loadings[1, 4:] = [1.2, -1.0, 0.8, 1.0], [1.0, 0.9, -1.1, 0.8]
    return rng.normal(size=(150, 2)) @ loadings + rng.normal(size=(150, 8))


def causes(rng: np.random.Generator) -> np.ndarray:
    strength = np.array([[0.8, 0.8, 0.7, 0.4, 0.02, 0.02], [0.02, 0.02, 0.4, 0.7, 0.8, 0.8]])
    on = (rng.random((300, 2)) < [0.45, 0.3]).astype(float)
    return (rng.random((300, 6)) < 1 - 0.95 * np.prod(1 - on[:, :, None] * strength, axis=1)).astype(float)


def clusters(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(200, 2)) + np.where(rng.random(200)[:, None] < 0.4, [4.0, 0.0], 0.0)


CASES = [
    (lambda: latens.MultiViewFactorAnalysis(2, random_state=0), views, ["noise_variance"]),
    (lambda: latens.NoisyOr(2, random_state=0), causes, ["usage", "leak"]),
    (lambda: latens.GaussianMixture(2, random_state=0), clusters, ["weights", "means"]),
    (lambda: latens.FactorAnalysis(1, prior="ard", random_state=0), views, ["noise_variance", "mean"]),
]


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
@pytest.mark.parametrize(("build", "draw", "quantities"), CASES)
def test_chosen_numbers_of_a_large_posterior_have_the_errors_of_all_second_derivatives(
    build: Any, draw: Any, quantities: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = draw(np.random.default_rng(0))
    model = build().fit(x)
    dense = model.intervals(x, method="response", quantities=quantities)
    products = []

    def counted(*given: Any, **options: Any) -> Any:
        found = respond_few(*given, **options)
        products.append((found.n_products, len(found.values)))
        return found

    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    monkeypatch.setattr(by_response, "respond_few", counted)
    few = model.intervals(x, quantities=quantities)
    assert few.method == "response"
    assert [row[:4] for row in few.rows] == [row[:4] for row in dense.rows]
    assert few["std"] == pytest.approx(dense["std"], rel=0.02)
    assert few["sound"] == pytest.approx(dense["sound"])
    assert products[0][0] <= 10 * products[0][1]


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
def test_a_number_that_is_not_settled_is_not_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    x = clusters(np.random.default_rng(1))
    model = latens.GaussianMixture(2, random_state=0).fit(x)
    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    monkeypatch.setattr(response_of_few, "MOST_PRODUCTS", 1)
    table = model.intervals(x, quantities="weights")
    assert set(table["why"]) == {"ten products with the curvature did not settle it"}
    assert not any(table["sound"])
