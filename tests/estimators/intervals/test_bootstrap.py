"""Refits on rows drawn anew: as many rows as there were, from the same optimum, with the spread that theory gives."""

from __future__ import annotations

import numpy as np
import pytest

import latens
from latens.core import Rows
from latens.inference.uncertainty.bootstrap import _drawn_anew
from tests.estimators.intervals.test_intervals import quietly, two_clusters
from tests.estimators.subjects import Subject


def test_samples_have_as_many_rows_and_weights_are_copies() -> None:
    x, rng = np.arange(40.0)[:, None], np.random.default_rng(0)
    drawn = [_drawn_anew([Rows(x[:15]), Rows(x[15:])], rng) for _ in range(200)]
    assert all(sum(block.n for block in sample) == 40 for sample in drawn)
    assert all(len(block) <= size for sample in drawn for block, size in zip(sample, (15, 25), strict=True))
    weight = np.array([3.0, 1.0])
    heavy = [_drawn_anew([Rows(x[:2], weight=weight)], rng)[0] for _ in range(2000)]
    assert all(block.n == 4 for block in heavy)
    first = [float(block.weight[block.x[:, 0] == 0].sum()) for block in heavy]  # type: ignore[index]
    assert np.mean(first) == pytest.approx(3.0, abs=0.1)


def test_separate_clusters_have_the_textbook_errors() -> None:
    X, label = two_clusters(12.0, 400)
    table = latens.GaussianMixture(2, random_state=0).fit(X).intervals(X, method="bootstrap")
    assert table.method == "bootstrap"
    assert all(table["sound"])
    sizes = np.array([np.sum(~label), np.sum(label)])
    std = np.array([row[5] for row in table.rows if row[0] == "means"]).reshape(2, 2)
    assert std == pytest.approx(np.repeat(1 / np.sqrt(sizes)[:, None], 2, axis=1), rel=0.35)


def test_overlapping_clusters_vary_as_response_says() -> None:
    X, _ = two_clusters(3.0, 800, seed=3)
    model = latens.GaussianMixture(2, covariance_type="tied", random_state=0).fit(X)
    spread = {method: np.array(model.intervals(X, method=method)["std"]) for method in ("bootstrap", "response")}
    ratio = np.median(spread["bootstrap"] / spread["response"])
    assert 0.7 < ratio < 1.4


def test_factors_that_may_be_turned_are_not_sound() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(200, 6))
    table = latens.FactorAnalysis(2, prior="ard", random_state=0).fit(X).intervals(X, method="bootstrap")
    sound = {name: [row[8] for row in table.rows if row[0] == name] for name in ("components", "noise_variance")}
    assert not any(sound["components"])
    assert all(sound["noise_variance"])
    errors = [row[5] / row[4] for row in table.rows if row[0] == "noise_variance"]
    assert 0.05 < np.median(errors) < 0.25  # the logarithm of a variance: about sqrt(2 / 200) at least


def test_every_estimator_can_be_refitted(transformer: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.estimators.intervals.intervals.N_REFITS", 5)
    X = transformer.rows(n=60)
    model = transformer.fit(X)
    table = quietly(model.intervals, X, method="bootstrap")
    assert table.method == "bootstrap"
    assert len(table) > 0
    for row in table.rows:
        assert row[6] <= row[4] <= row[7]
        assert row[5] > 0


def test_rows_are_needed_and_must_be_those_of_the_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1)) @ rng.normal(size=(1, 4)) + rng.normal(size=(80, 4))
    model = latens.FactorAnalysis(1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="needs the rows of the fit"):
        model.intervals(method="bootstrap")
    with pytest.raises(ValueError, match="not the data of the fit"):
        model.intervals(X + rng.normal(size=X.shape), method="bootstrap")


def test_auto_refits_where_a_posterior_is_large_has_no_slopes_and_rows_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 16)) + np.where(np.arange(120)[:, None] % 2, 4.0, 0.0)
    sloped = quietly(latens.GaussianMixture(4, prune=False, random_state=0).fit, X)
    assert quietly(sloped.intervals, X).method.startswith("response in ")
    assert quietly(sloped.intervals, X, quantities="weights").method == "response"  # of a few numbers
    assert quietly(sloped.intervals, method="mean-field").method == "mean-field"
    monkeypatch.setattr("latens.estimators.intervals.intervals.MOST_COORDINATES", 10)
    ones = (np.random.default_rng(6).random((60, 6)) < 0.4).astype(float)
    model = quietly(latens.NoisyOr(2, e_step="jensen", random_state=0).fit, ones)
    assert quietly(model.intervals, ones).method == "bootstrap"
    with pytest.raises(ValueError, match="Choose method='bootstrap'"):
        model.intervals(ones, method="response")
