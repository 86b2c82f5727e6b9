"""Shares and strongest columns do not depend on the units of single columns, and are the same everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

import latens
from latens.models.factor_analysis.model import _in_place
from latens.report.subject import Entry

UNITS = np.array([1.0, 1000.0, 0.01, 1.0, 10.0, 1.0])


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(200, 6))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: latens.FactorAnalysis(2), id="factors"),
        pytest.param(lambda: latens.MultiViewFactorAnalysis(2, random_state=0), id="views"),
        pytest.param(lambda: latens.GaussianMixture(2, random_state=0), id="clusters"),
    ],
)
def test_units_of_columns_change_neither_shares_nor_strongest_columns(make: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, other = make().fit(rows()), make().fit(rows() * UNITS)
    assert plain.n_components_ == other.n_components_
    np.testing.assert_allclose(np.sum(plain.summary()["share"]), np.sum(other.summary()["share"]), rtol=0.02)
    assert sorted(map(sorted, plain.top_features(1).values())) == sorted(map(sorted, other.top_features(1).values()))


def test_one_column_of_large_numbers_does_not_explain_a_view() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 1)) @ np.array([[1.0, 1.0, 1.0, 0.0]]) + rng.normal(size=(300, 4))
    X[:, 3] = 1000 * rng.normal(size=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(2, random_state=0, prune=False).fit({"a": X})
    codes = np.asarray(model.transform({"a": X})) @ model.components_["a"]
    by_column = 1 - np.var(X - codes, axis=0) / np.var(X, axis=0)
    assert model.explained_["total"][0, 0] == pytest.approx(by_column.mean(), abs=0.02)
    assert model.summary()["share"] == pytest.approx(list(Entry(model, {"a": X}).sizes.share))


def test_page_and_summary_tell_the_same_shares_and_columns() -> None:
    X = rows() * UNITS
    for model in (latens.FactorAnalysis(2).fit(X), latens.NoisyICA(2, random_state=0).fit(X)):
        entry = Entry(model, X)
        assert list(entry.sizes.share) == model.summary()["share"]
        for k, top in enumerate(model.top_features(3).values()):
            assert [entry.profile.columns[d] for d in entry.profile.top(k, 3)] == top


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: latens.FactorAnalysis(2), id="factors"),
        pytest.param(lambda: latens.FactorAnalysis(2, prior="ard"), id="relevant factors"),
        pytest.param(lambda: latens.NoisyICA(2, random_state=0), id="sources"),
        pytest.param(lambda: latens.BinaryFactorAnalysis(2, noise="diagonal", random_state=0), id="causes"),
        pytest.param(lambda: latens.MultiViewFactorAnalysis(2, random_state=0), id="views"),
    ],
)
def test_intervals_of_shares_are_of_those_in_the_summary(make: Callable[[], Any]) -> None:
    X = rows() * UNITS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X)
        tables = [model.intervals(X, method=method, quantities=["share"]) for method in ("response", "mean-field")]
    for table in tables:
        np.testing.assert_allclose(np.asarray(table["estimate"], dtype=float), model.summary()["share"], rtol=0.05)


def test_shares_of_causes_are_the_ones_expected_of_them() -> None:
    rng = np.random.default_rng(3)
    on = rng.random((300, 2)) < [0.45, 0.3]
    strength = np.array([[0.8, 0.8, 0.7, 0.4, 0.02, 0.02], [0.02, 0.02, 0.4, 0.7, 0.8, 0.8]])
    chance = 1 - 0.95 * np.prod(1 - on[:, :, None] * strength, axis=1)
    X = (rng.random(chance.shape) < chance).astype(float)
    model = latens.NoisyOr(2, random_state=0).fit(X)
    for method in ("response", "mean-field", "gibbs"):
        table = model.intervals(X, method=method, quantities=["share"])
        assert np.all(np.abs(np.array(table["estimate"]) - model.share_) < 0.03), method
        assert np.all(np.array(table["std"]) > 0.005), method


def test_every_method_tells_shares_and_what_is_known_of_components() -> None:
    rng, methods = np.random.default_rng(0), ("response", "mean-field", "bootstrap", "gibbs")
    X = rng.normal(size=(80, 1)) @ np.ones((1, 4)) + rng.normal(size=(80, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(X)
        tables = {method: model.intervals(X, method=method) for method in methods}
        drawn = model.sample_posterior(50, method="gibbs", X=X)["share"]
    response = tables["response"]
    for table in tables.values():
        assert table["parameter"].count("share") == model.n_components_
        np.testing.assert_allclose(table.components["nats"], response.components["nats"], atol=0.1)
        np.testing.assert_allclose(table.components["missing information"], response.components["missing information"])
    assert drawn.shape == (50, model.n_components_)
    of_shares = {
        method: np.array([row[5] for row in table.rows if row[0] == "share"]) for method, table in tables.items()
    }
    assert np.all(of_shares["mean-field"] < of_shares["response"])
    np.testing.assert_allclose(of_shares["gibbs"], of_shares["response"], rtol=0.25)


def test_intervals_have_the_numbers_and_signs_of_the_factors_they_are_of() -> None:
    wine = load_wine().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(prior="ard", random_state=0).fit(wine / wine.std(axis=0))
        table = model.intervals(quantities=["components"])
    assert model.n_components_ > 2
    estimate = np.asarray(table["estimate"], dtype=float).reshape(model.components_.shape)
    np.testing.assert_allclose(estimate, model.components_, atol=0.02)


def test_turned_axes_keep_their_places_and_sides() -> None:
    rng = np.random.default_rng(4)
    rotation = np.linalg.qr(np.eye(5) + 0.1 * rng.normal(size=(5, 5)))[0]
    rotation *= np.sign(np.diag(rotation))[:, None]
    mixed = (rotation * rng.choice([-1.0, 1.0], size=5)[:, None])[rng.permutation(5)]
    assert not np.allclose(mixed, rotation)
    np.testing.assert_array_equal(_in_place(mixed), rotation)


def test_a_summary_whose_shares_do_not_fall_says_what_components_are_numbered_by() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 2))
    loud = 1000 * (z[:, :1] + 0.3 * rng.normal(size=(300, 2)))  # one factor of two columns in a small unit
    soft = z[:, 1:] + 0.3 * rng.normal(size=(300, 6))
    model = latens.FactorAnalysis(2, random_state=0).fit(np.hstack([loud, soft]))
    shares = [row[2] for row in model.summary().rows]
    assert shares[1] > 2 * shares[0]
    assert model.summary().note.startswith("numbered by variance in the units of the data")
    assert "numbered by" not in latens.FactorAnalysis(2, random_state=0).fit(soft).summary().note
