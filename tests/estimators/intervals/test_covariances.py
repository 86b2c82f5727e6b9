"""Variances and covariances of clusters: of one cluster the posterior is an inverse Wishart, known in closed form.

One variance is an inverse Gamma of shape (dof - D + 1) / 2, two columns are an inverse Wishart of their own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import invgamma, invwishart
from scipy.stats import t as student
from sklearn.datasets import load_wine

import latens


def quietly(function: Any, *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def correlated(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d))) * np.geomspace(0.1, 100.0, d)


def one_cluster(X: np.ndarray, kind: str = "full") -> tuple[Any, float, np.ndarray]:
    """A fit, degrees of freedom of a variance in its posterior, and the scatter in data units."""
    model = quietly(latens.GaussianMixture(1, covariance_type=kind, random_state=0).fit, X)
    clusters = model.posterior_.clusters
    return model, float(clusters.dof[0] - X.shape[1] + 1), model._units.leave_covariance(clusters.scatter[0])


def entries(table: Any) -> list[tuple[int, int, float, float, float, float]]:
    """Columns d and e, estimate, standard deviation and ends of each covariance, all of which are sound."""
    found = []
    for parameter, _, feature, _, estimate, std, low, high, sound, _ in table.rows:
        if parameter == "covariances":
            assert sound
            names = [int(name.strip(" x")) for name in feature.split(",")]
            found.append((names[0], names[-1], estimate, std, low, high))
    return found


WINE = load_wine(return_X_y=True)[0][:59]


@pytest.mark.parametrize(
    ("X", "kind"),
    [(correlated(60, 13), "full"), (correlated(60, 13), "tied"), (WINE, "full"), (correlated(40, 20), "full")],
    ids=["full", "tied", "wine", "few rows"],
)
def test_variances_of_one_cluster_are_inverse_gamma(X: np.ndarray, kind: str) -> None:
    model, m, scatter = one_cluster(X, kind)
    own = [row for row in entries(quietly(model.intervals, X, method="response")) if row[0] == row[1]]
    assert len(own) == X.shape[1]
    for d, _, estimate, std, low, high in own:
        exact = invgamma(0.5 * m, scale=0.5 * scatter[d, d])
        assert exact.cdf([low, high]) == pytest.approx([0.025, 0.975], abs=0.008)
        assert estimate == pytest.approx(0.5 * scatter[d, d] * np.exp(-digamma(0.5 * m)), rel=1e-4)
        assert std / estimate == pytest.approx(np.sqrt(polygamma(1, 0.5 * m)), rel=1e-4)


@pytest.mark.parametrize("X", [correlated(60, 13), WINE], ids=["simulated", "wine"])
def test_covariances_of_one_cluster_are_those_of_an_inverse_wishart(X: np.ndarray) -> None:
    model, m, scatter = one_cluster(X)
    drawn = invwishart(m + X.shape[1] - 1, scatter).rvs(4000, random_state=0)
    tails = []
    for d, e, estimate, _, low, high in entries(quietly(model.intervals, X, method="response")):
        tails.append([np.mean(drawn[:, d, e] < low), np.mean(drawn[:, d, e] > high)])
        assert 0.4 < np.mean(drawn[:, d, e] < estimate) < 0.6
    assert np.mean(tails, axis=0) == pytest.approx([0.025, 0.025], abs=0.005)
    assert np.min(tails) > 0.01
    assert np.max(tails) < 0.045


def test_means_of_one_cluster_have_the_tails_of_their_variances() -> None:
    X = correlated(40, 20)
    model, m, scatter = one_cluster(X)
    table = quietly(model.intervals, X, method="response", quantities="means")
    scale = np.sqrt(np.diag(scatter) / m / model.posterior_.clusters.strength[0])
    half = (np.array(table["upper"]) - table["lower"]) / 2
    assert half == pytest.approx(student.ppf(0.975, m) * scale, rel=1e-3)


@pytest.mark.parametrize("chosen", [False, True], ids=["all", "one by one"])
def test_variances_of_many_columns_are_inverse_gamma_too(chosen: bool) -> None:
    """More than 500 coordinates, whose numbers are told at once or one after another."""
    X = correlated(150, 32)
    model, m, scatter = one_cluster(X)
    options = {"quantities": "covariances", "features": ["x3"]} if chosen else {}
    table = quietly(model.intervals, X, method="response", **options)
    ((estimate, std),) = [row[2:4] for row in entries(table) if row[:2] == (3, 3)]
    assert estimate == pytest.approx(0.5 * scatter[3, 3] * np.exp(-digamma(0.5 * m)), rel=1e-3)
    assert std / estimate == pytest.approx(np.sqrt(polygamma(1, 0.5 * m)), rel=2e-3)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_variances_of_independent_columns_are_inverse_gamma(kind: str) -> None:
    """Columns that the same rows show have one shape of their posteriors, so that response sees only a part of it."""
    X = np.random.default_rng(0).normal(size=(12, 4)) * 5
    model = quietly(latens.GaussianMixture(1, covariance_type=kind, random_state=0).fit, X)
    clusters = model.posterior_.clusters
    shape, rate = float(clusters.shape[0, 0]), model._units.leave_variance(clusters.rate[0])
    rows = [row for row in quietly(model.intervals, X, method="response").rows if row[0] == "covariances"]
    for row, own in zip(rows, rate, strict=kind == "diag"):
        assert row[4] == pytest.approx(own * np.exp(-digamma(shape)), rel=1e-4)
        assert row[5] / row[4] == pytest.approx(np.sqrt(polygamma(1, shape)), rel=1e-4)


def test_standard_deviations_of_a_class_are_roots_of_inverse_gamma() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4)) * 5
    model = quietly(latens.LatentClassAnalysis(1, likelihoods="gaussian", random_state=0).fit, X)
    part = model.posterior_.clusters.parts["gaussian"]
    shape = np.broadcast_to(part.shape, part.rate.shape)[0]
    rows = [row for row in quietly(model.intervals, X, method="response").rows if row[0] == "standard_deviations"]
    assert [row[5] / row[4] for row in rows] == pytest.approx(0.5 * np.sqrt(polygamma(1, shape)), rel=1e-4)
    middle = model.standard_deviations_[0] * np.exp(0.5 * (np.log(shape) - digamma(shape)))
    assert [row[4] for row in rows] == pytest.approx(middle, rel=1e-4)


def test_draws_of_covariances_spread_as_their_intervals() -> None:
    X = correlated(60, 13)
    model, m, _ = one_cluster(X)
    drawn = quietly(model.sample_posterior, 4000, method="response", X=X)
    diagonal = drawn["covariances"][:, 0, range(13), range(13)]
    assert np.log(diagonal).std(axis=0) == pytest.approx(np.sqrt(polygamma(1, 0.5 * m)), rel=0.05)
    exact = quietly(model.sample_posterior, 4000)["covariances"][:, 0]
    assert drawn["covariances"][:, 0, 0, 1].std() == pytest.approx(exact[:, 0, 1].std(), rel=0.1)
    assert drawn["means"].std(axis=0)[0] == pytest.approx(
        quietly(model.sample_posterior, 4000)["means"].std(axis=0)[0], rel=0.08
    )


def test_overlapping_clusters_are_known_less_well_than_by_their_own_rows() -> None:
    """What response adds for the codes is on top of what each cluster's own posterior leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:120, 0] += 3.5
    start = np.array([[3.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    model = quietly(latens.GaussianMixture(2, moves=False, prune=False, init=start, random_state=0).fit, X)
    table = quietly(model.intervals, X, method="response")
    m = model.posterior_.clusters.dof - 2
    for row in table.rows:
        if row[0] == "covariances" and "," not in row[2]:
            alone = np.sqrt(polygamma(1, 0.5 * m[int(row[1][-1])]))
            ratio = row[5] / row[4] / alone
            assert 1.15 < ratio < 1.6 if row[2] == "x0" else 1.0 < ratio < 1.1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(60, 13), (200, 13), (100, 30)])
def test_intervals_of_covariances_hold_what_they_claim(n: int, d: int) -> None:
    held: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(15):
        X = np.random.default_rng(seed).normal(size=(n, d))
        model = quietly(latens.GaussianMixture(1, random_state=0).fit, X)
        rows = entries(quietly(model.intervals, X, method="response", quantities="covariances"))
        for one, other, _, _, low, high in rows:
            held[one == other].append(low <= (one == other) <= high)
    assert 0.91 < np.mean(held[True]) < 0.985
    assert 0.935 < np.mean(held[False]) < 0.965
