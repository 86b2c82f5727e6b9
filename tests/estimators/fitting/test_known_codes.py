"""What is known of some rows: components keep its names, few known rows go a long way, and mistakes are named."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import latens
from latens.errors import FitResumed


def quietly(model: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments, **options)


def some_labels(truth: np.ndarray, each: int, seed: int = 0) -> np.ndarray:
    """Labels of a few rows of each cluster, -1 elsewhere."""
    rng, known = np.random.default_rng(seed), np.full(len(truth), -1)
    for label in range(truth.max() + 1):
        rows = rng.choice(np.flatnonzero(truth == label), each, replace=False)
        known[rows] = label
    return known


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_clusters_have_the_names_of_a_few_labelled_rows(load: Any) -> None:
    X, truth = load(return_X_y=True)
    known = some_labels(truth, 5)
    model = quietly(latens.GaussianMixture(covariance_type="diag", random_state=0), X, known=known)
    assert model.n_components_ == 3
    right = model.predict(X) == truth
    assert right[known >= 0].mean() >= 0.8
    assert right.mean() > 0.9


def test_rows_that_are_known_count_in_the_cluster_they_are_known_to_be_in() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))  # one cloud: only the labels say that there are two
    known = (X[:, 0] > 0).astype(int)
    model = quietly(latens.GaussianMixture(random_state=0), X, known=known)
    assert model.n_components_ == 2
    assert model.weights_ == pytest.approx(np.bincount(known) / 200, abs=0.01)
    assert model.means_[:, 0] == pytest.approx([X[known == k, 0].mean() for k in (0, 1)], abs=0.02)
    turned = quietly(latens.GaussianMixture(random_state=0), X, known=1 - known)
    assert turned.means_ == pytest.approx(model.means_[::-1], abs=1e-3)
    assert turned.elbo_ == pytest.approx(model.elbo_, rel=1e-3)  # priors are made of a sample in another order


def test_there_may_be_clusters_that_nobody_named() -> None:
    rng = np.random.default_rng(1)
    truth = np.arange(300) % 3
    X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[truth] + rng.normal(size=(300, 2))
    known = np.where((truth < 2) & (rng.random(300) < 0.2), truth, -1)
    model = quietly(latens.GaussianMixture(3, random_state=0), X, known=known)
    assert np.mean(model.predict(X) == truth) > 0.98


def test_causes_keep_the_order_in_which_their_codes_are_known() -> None:
    X, truth = latens.datasets.make_shapes(300, random_state=0)
    codes = np.asarray(truth.codes, dtype=float)[:, ::-1]
    known = np.where(np.random.default_rng(0).random(codes.shape) < 0.1, codes, np.nan)
    model = quietly(latens.BinaryFactorAnalysis(random_state=0), X, known=known)
    assert model.n_components_ == 8
    assert np.mean((model.transform(X) > 0.5) == codes) > 0.99


def test_causes_of_noisy_or_too() -> None:
    rng = np.random.default_rng(0)
    strength = np.array(
        [[0.9, 0.9, 0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 0.8, 0.9, 0.9, 0.0], [0.0, 0.0, 0.0, 0.0, 0.8, 0.9]]
    )
    codes = (rng.random((300, 3)) < 0.35).astype(float)
    X = (rng.random((300, 6)) < 1 - np.exp(codes @ np.log1p(-strength)) * 0.98).astype(float)
    known = np.where(rng.random(codes.shape) < 0.15, codes, -1)
    model = quietly(latens.NoisyOr(random_state=0), X, known=known)
    assert model.n_components_ == 3
    assert model.components_ == pytest.approx(strength, abs=0.2)
    with pytest.raises(ValueError, match="e_step='jensen' does not list for 3 causes; choose e_step='exact'"):
        latens.NoisyOr(random_state=0, e_step="jensen").fit(X, known=known)


def test_classes_of_mixed_columns_too_with_holes_and_weights() -> None:
    X, truth = load_iris(return_X_y=True)
    X = np.column_stack([X, truth == 0])
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    weight = np.ones(150)
    weight[:3] = 0
    model = quietly(latens.LatentClassAnalysis(random_state=0), X, sample_weight=weight, known=some_labels(truth, 8))
    assert np.mean(model.predict(X) == truth) > 0.85


def test_names_stay_in_streams_and_files(tmp_path: Path) -> None:
    X, truth = load_iris(return_X_y=True)
    size = np.r_[0:10, 50:80, 100:150]  # the last class is the largest: by importance it would come first
    model = quietly(latens.GaussianMixture(random_state=0), X[size], known=some_labels(truth[size], 5))
    latens.save(model, tmp_path / "model.latens")
    loaded = latens.load(tmp_path / "model.latens")
    assert loaded.means_ == pytest.approx(model.means_)
    loaded.partial_fit(X[80:100])
    assert np.mean(loaded.predict(X) == truth) > 0.9
    again = quietly(model, X[size])  # a fit without: the largest first
    assert again.weights_[0] == max(again.weights_)


def test_a_bound_of_intervals_takes_what_is_known() -> None:
    X, truth = load_iris(return_X_y=True)
    known = some_labels(truth, 10)
    model = quietly(latens.GaussianMixture(covariance_type="diag", random_state=0), X, known=known)
    assert model.intervals(X, known=known, quantities="weights").method == "response"
    with pytest.raises(ValueError, match="rows whose codes are known are not sampled"):
        model.intervals(X, known=known, method="gibbs")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.zeros(5), r"known has shape \(5,\), X has 20 rows"),
        (np.full(20, -1), "known has no known entry"),
        (np.full(20, 0.5), "known holds 0.5; labels are whole numbers from 0 on"),
        (np.array(["a"] * 20), "known holds something that is no number"),
        (np.array([0, 2] * 10), "no row of 1; number the labels 0, 1, 2"),
        (np.arange(20), "known has 20 components, but n_components=2; give 20 or more"),
    ],
)
def test_labels_that_make_no_sense_are_refused(known: Any, message: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = latens.GaussianMixture(2, random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(X, known=known)
    assert not hasattr(model, "means_")
    with pytest.raises(ValueError, match="known holds 3; a code is 0, 1, or NaN"):
        latens.BinaryFactorAnalysis(2, random_state=0).fit(X, known=np.full((20, 2), 3.0))


def test_a_checkpoint_of_other_labels_is_not_gone_on_from(tmp_path: Path) -> None:
    X, truth = load_iris(return_X_y=True)
    known = some_labels(truth, 5)
    swapped = np.where(known >= 0, (known + 1) % 3, -1)

    def stop(event: Any) -> bool:
        raise KeyboardInterrupt

    def resumed(labels: np.ndarray) -> bool:
        options = {"covariance_type": "diag", "random_state": 0, "n_init": 2}
        quietly(latens.GaussianMixture(callbacks=stop, **options), X, known=known, checkpoint=tmp_path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            latens.GaussianMixture(**options).fit(X, known=labels, checkpoint=tmp_path)
        return any(isinstance(each.message, FitResumed) for each in caught)

    assert resumed(known)
    assert not resumed(swapped)
