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
    joint, rng, units = np.zeros((len(asked), 2)), np.random.default_rng(0), model._units
    for _ in range(2000):
        drawn = model._predictive().sample(rng)  # `posterior_`, with what the rows leave unknown of its clusters
        pi, means = drawn.weights.mean, units.leave(drawn.clusters.mean)
        covariances = units.leave_covariance(drawn.clusters.covariance)
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


def blurred(seed: int, n: int = 60) -> np.ndarray:
    """Two clusters that overlap in the first of three columns."""
    rng = np.random.default_rng([seed, 17])
    return 3 * (rng.random((n, 1)) < 0.4) * np.array([1.0, 0.5, 0.0]) + rng.normal(size=(n, 3))


def test_certain_rows_without_holes_leave_the_posterior_as_it_is() -> None:
    """There the posterior is that of known labels, which is exact."""
    X = np.vstack([few_rows(3), few_rows(4) + 1000.0])
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    assert np.all(model.lost_rows_ < 1e-9)
    alone = latens.GaussianMixture(1, random_state=0, moves=False, prune=False).fit(few_rows(5))
    assert not alone.lost_rows_.any()
    assert alone._predictive() is alone.posterior_


def test_rows_with_holes_tell_means_and_covariances_by_what_they_show() -> None:
    """Of three columns two were seen: two thirds of a mean, and three of six pairs."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 1000.0])
    X[:20, 2] = np.nan
    model = latens.GaussianMixture(2, random_state=0, moves=False).fit(X)
    k = int(np.argmin(model.means_[:, 0]))
    assert model.lost_rows_[:, k] == pytest.approx([20 / 3, 10.0], abs=1e-6)
    assert model.lost_rows_[:, 1 - k] == pytest.approx([0.0, 0.0], abs=1e-6)
    own, known = model.posterior_.clusters, model._predictive().clusters
    assert known.dof[k] == pytest.approx(own.dof[k] - 10.0)
    assert known.strength[k] == pytest.approx(own.strength[k] - 20 / 3)
    assert known.precision == pytest.approx(own.precision)


def test_known_labels_lose_nothing() -> None:
    X = blurred(0)
    labels = (X[:, 0] > 1.5).astype(int)
    assert latens.GaussianMixture(2, random_state=0).fit(X, known=labels).lost_rows_ == pytest.approx(0.0, abs=1e-12)
    assert latens.GaussianMixture(2, random_state=0, moves=False).fit(X).lost_rows_.min() > 0.5


def test_what_is_lost_is_that_of_weighted_rows_and_of_files(tmp_path: Any) -> None:
    X, make = blurred(1), lambda: latens.GaussianMixture(2, random_state=0, moves=False, tol=1e-10)
    twice, weighted = make().fit(np.vstack([X, X])), make().fit(X, sample_weight=np.full(len(X), 2.0))
    assert np.sort(weighted.lost_rows_) == pytest.approx(np.sort(twice.lost_rows_), rel=1e-3)
    latens.save(weighted, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert np.array_equal(again.score_samples(X), weighted.score_samples(X))
    other = weighted.set_params(covariance_type="diag").fit(X)
    assert not hasattr(other, "lost_rows_")


def test_new_rows_are_likelier_where_what_is_lost_is_counted() -> None:
    """By .006 nats a row, 15 data sets; three standard errors are .004."""
    gains = []
    for seed in range(15):
        X = blurred(seed)
        hidden = np.random.default_rng(seed).random(X.shape) < 0.1
        hidden[hidden.all(axis=1), 0] = False
        model = latens.GaussianMixture(2, random_state=0, moves=False).fit(np.where(hidden, np.nan, X))
        new = blurred(seed + 1000, 200)
        counted = model.score(new)
        model.lost_rows_ = np.zeros_like(model.lost_rows_)
        gains.append(counted - model.score(new))
    assert np.mean(gains) > 0.002


@pytest.mark.slow
def test_entries_of_blurred_clusters_of_few_rows_are_held_as_often_as_said() -> None:
    """92.6 % of 60 rows by the posterior as it is; two standard errors of 200 data sets are .9 %."""
    held = []
    for seed in range(3000, 3200):
        X = blurred(seed)
        hidden = np.random.default_rng(seed).random(X.shape) < 0.1
        hidden[hidden.all(axis=1), 0] = False
        gappy = np.where(hidden, np.nan, X)
        model = latens.GaussianMixture(2, random_state=0, moves=False).fit(gappy)
        mean, std = model.impute(gappy, return_std=True)
        held.append((np.abs(mean - X) <= 1.96 * std)[hidden])
    assert 0.93 < np.concatenate(held).mean() < 0.97


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
