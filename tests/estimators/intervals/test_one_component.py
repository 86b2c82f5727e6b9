"""What the only component is worth: without it columns are independent, and that model has a bound, too."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import latens
from latens.inference.search.component_worth import CLEARLY_WORTH, Enough, fits_without

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(200, 1))
REAL = Z @ RNG.normal(size=(1, 6)) + RNG.normal(size=(200, 6))
ON = RNG.random((200, 1)) < 0.4
YES = (RNG.random((200, 6)) < np.where(ON, 0.7, 0.1)).astype(float)
JUMPS = ON * RNG.normal(size=(1, 6)) * 2 + 0.5 * RNG.normal(size=(200, 6))


def nats(model: Any, X: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = model.fit(X).intervals(X, method="response")
    (found,) = table.components["nats"]
    return float(found)


def independent_normals(x: np.ndarray) -> float:
    return float(np.sum(norm(x.mean(axis=0), x.std(axis=0)).logpdf(x)))


def independent_chances(x: np.ndarray) -> float:
    p = x.mean(axis=0)
    return float(np.sum(x * np.log(p) + (1 - x) * np.log1p(-p)))


def test_after_maximum_likelihood_it_is_the_ratio_to_independent_columns() -> None:
    factors, causes = latens.FactorAnalysis(1), latens.NoisyOr(1, prior="ml", random_state=0)
    assert nats(factors, REAL) == pytest.approx(factors.elbo_ - independent_normals(REAL), abs=0.01)
    assert nats(causes, YES) == pytest.approx(causes.elbo_ - independent_chances(YES), abs=0.1)


CASES = {
    "factors by relevance": (latens.FactorAnalysis(1, prior="ard"), REAL),
    "on/off causes": (latens.BinaryFactorAnalysis(1, random_state=0), JUMPS),
    "noisy-OR": (latens.NoisyOr(1, random_state=0), YES),
    "noisy-OR by jensen": (latens.NoisyOr(1, e_step="jensen", random_state=0), YES),
    "sources": (latens.NoisyICA(1, random_state=0), REAL),
    "views": (latens.MultiViewFactorAnalysis(1, random_state=0), {"x": REAL}),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_a_number_for_every_model_that_can_do_without(name: str) -> None:
    assert 20 < nats(*CASES[name]) < 2000


def test_a_single_factor_that_rows_hardly_show_is_not_sound() -> None:
    rng = np.random.default_rng(3)
    X = 0.6 * rng.normal(size=(60, 1)) + rng.normal(size=(60, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(1, prior="ard").fit(X)
        table = model.intervals(X, method="response")
    assert table.components["nats"][0] < 3
    assert not any(row[8] for row in table.rows if row[1])


@pytest.mark.slow
def test_what_the_bound_loses_by_independence_is_counted_in_the_worth_of_the_only_factor() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 1)) @ [[1.0, 0.8, -0.6, 0.5, 0.9, 0.0]] + 0.7 * rng.normal(size=(30, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(1, prior="ard").fit(X)
    without = fits_without(model._model, *model._data_of_fit(X, {})[:1], model.posterior_)[0]
    evidence = latens.metrics.log_evidence(model, X)
    worth = nats(model, X)
    assert worth > without.nats + 2
    assert worth == pytest.approx(without.nats + evidence.value - model.elbo_, abs=1.5)


def test_what_the_bound_of_two_clusters_loses_and_that_of_one_does_not_is_counted_in_their_worth() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:, 0] += 3.0 * (np.arange(200) % 5 < 2)
    two = latens.GaussianMixture(2, moves=False, prune=False, random_state=0).fit(X)
    one = latens.GaussianMixture(1, random_state=0).fit(X)  # whose bound is the evidence
    worth = two.intervals(X, method="response").components["nats"]
    evidence = latens.metrics.log_evidence(two, X, n_chains=5, n_steps=100)
    assert worth == pytest.approx([evidence.value - one.elbo_] * 2, abs=0.5)
    assert worth[0] > two.elbo_ - one.elbo_ + math.log(2) + 1.5


def test_an_ascent_without_a_component_ends_where_its_worth_is_known_as_well_as_is_asked() -> None:
    """To a hundredth; to a fifth where thousands of nats are lost, in which all 200 iterations are not waited for."""
    assert Enough(100_000.0)(90.0, 0.0)
    assert not Enough(100_000.0)(110.0, 0.0)
    assert not Enough(CLEARLY_WORTH)(1.0, 0.0)
    assert Enough(CLEARLY_WORTH)(0.04, 0.0)
    assert not Enough(1.1 * CLEARLY_WORTH)(1.0, 0.0)  # in the end it may be worth less


def test_all_rows_are_in_the_only_cluster() -> None:
    assert math.isinf(nats(latens.GaussianMixture(1), REAL))


def test_means_of_categories_without_an_order_are_not_called_sound() -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(2, size=200)
    X = np.column_stack([rng.normal(4.0 * label), np.where(rng.random(200) < 0.8, label, 2.0)])
    kinds = {1: "categorical"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = latens.LatentClassAnalysis(2, likelihoods=kinds, random_state=0).fit(X).intervals(X)
    sound = {(row[0], row[2]): row[8] for row in table.rows}
    assert not sound["means", "x1"]
    assert sound["means", "x0"]
    assert all(value for (name, _), value in sound.items() if name == "level_probabilities")
    assert {row[9] for row in table.rows if row[:1] == ("means",) and row[2] == "x1"} == {
        "categories have no order and no mean: see level_probabilities"
    }
