"""Rows agree: probabilities, filled entries, densities and draws of new rows are of one predictive distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, t

import latens


def few_rows(seed: int = 0, n: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + np.where(
        np.arange(n)[:, None] < n // 3, [3.0, 0.0], 0.0
    )


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "known"])
def test_filled_entries_are_those_of_the_density(kind: str) -> None:
    """A grid over the missing entry, weighted by `score_samples`, has the mean and spread that `impute` tells."""
    X = few_rows()
    model = latens.GaussianMixture(2, covariance_type=kind, random_state=0, moves=False).fit(X)
    grid = np.linspace(-60, 60, 24_001)
    for shown in (-1.0, 1.2, 4.0):
        rows = np.column_stack([np.full(len(grid), shown), grid])
        weight = np.exp(model.score_samples(rows))
        mean = weight @ grid / weight.sum()
        std = np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())
        filled, spread = model.impute(np.array([[shown, np.nan]]), return_std=True)
        assert filled[0, 1] == pytest.approx(mean, abs=2e-4)
        assert spread[0, 1] == pytest.approx(std, rel=5e-3)
        assert filled[0, 0] == shown


@pytest.mark.parametrize("holes", [False, True])
def test_probabilities_are_those_of_the_density(holes: bool) -> None:
    """Against averages over draws of the parameters; the memberships of the bound are surer."""
    X = few_rows(1)
    model = latens.GaussianMixture(2, random_state=0, moves=False).fit(X)
    asked = np.array([[1.0, 0.2], [1.8, 1.0], [2.5, -0.5], [0.3, 0.4]])
    if holes:
        asked[::2, 1] = np.nan
    draws = model.sample_posterior(2000)
    joint = np.zeros((len(asked), 2))
    for pi, means, covariances in zip(draws["weights"], draws["means"], draws["covariances"], strict=True):
        for k in range(2):
            for i, row in enumerate(asked):
                o = ~np.isnan(row)
                gap, inner = row[o] - means[k, o], covariances[k][np.ix_(o, o)]
                form = gap @ np.linalg.solve(inner, gap)
                joint[i, k] += pi[k] * np.exp(-0.5 * form) / np.sqrt(np.linalg.det(2 * np.pi * inner))
    shares = model.predict_proba(asked)
    assert shares == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=0.03)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert model.score_samples(asked) == pytest.approx(np.log(joint.sum(axis=1) / 2000), abs=0.08)
    assert np.mean(shares.max(axis=1)) < np.mean(model.transform(asked).max(axis=1))
    assert np.array_equal(model.predict(asked), shares.argmax(axis=1))


def test_rows_are_drawn_from_the_predictive_density() -> None:
    x = np.random.default_rng(2).normal(size=(6, 1)) * 2 + 5
    model = latens.GaussianMixture(1, covariance_type="full", random_state=0).fit(x)
    clusters, frame = model.posterior_.clusters, model._units
    dof, scale = clusters.student()
    centre, width = frame.leave(clusters.mean)[0, 0], np.sqrt(scale[0, 0, 0]) * frame.scale
    rows, codes = model.sample(4000)
    assert codes.shape == (4000, 1)
    assert kstest((rows[:, 0] - centre) / width, t(dof[0]).cdf).pvalue > 0.01
    shared, _ = model.sample(4000, globals="shared")
    assert kstest((shared[:, 0] - centre) / width, t(dof[0]).cdf).pvalue < 1e-4


@pytest.mark.parametrize(
    "make",
    [
        lambda: latens.GaussianMixture(2, random_state=0),
        lambda: latens.FactorAnalysis(1, prior="ard", random_state=0),
        lambda: latens.BinaryFactorAnalysis(2, random_state=0),
        lambda: latens.NoisyICA(1, random_state=0, max_iter=20),
        pytest.param(lambda: latens.MultiViewFactorAnalysis(1, random_state=0), marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_one_draw_of_the_parameters_is_a_data_set_and_many_are_not(make: Any) -> None:
    model = make().fit(few_rows(3, 12))
    found: dict[str, list[list[float]]] = {"each": [], "shared": []}
    for how, places in found.items():
        for seed in range(16):
            rows, codes = model.set_params(random_state=seed).sample(150, globals=how)
            assert len(rows) == len(codes) == 150
            column = np.asarray(rows)[:, 0]
            places.append([column.mean(), np.log(column.std())])
    wider = np.std(found["shared"], axis=0) / np.std(found["each"], axis=0)
    assert wider.max() > 1.5  # of the mean, or where that is a point, of the spread


def test_an_unknown_way_to_draw_is_refused() -> None:
    model = latens.GaussianMixture(1, random_state=0).fit(few_rows())
    with pytest.raises(ValueError, match="globals='none' is not known; choose one of 'each', 'shared'"):
        model.sample(3, globals="none")
