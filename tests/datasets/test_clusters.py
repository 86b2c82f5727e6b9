"""Rows about centres drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_mixture


def test_rows_have_the_moments_of_their_clusters() -> None:
    x, truth = make_mixture(40_000, n_components=3, n_features=2, shape="any", weights=[0.5, 0.3, 0.2], random_state=0)
    for k in range(3):
        rows = x[truth.labels == k]
        error = np.sqrt(np.diagonal(truth.covariances[k]) / len(rows))
        assert np.all(np.abs(rows.mean(axis=0) - truth.means[k]) < 5 * error)
        assert np.cov(rows.T) == pytest.approx(truth.covariances[k], abs=0.1)
    assert np.bincount(truth.labels) / len(x) == pytest.approx(truth.weights, abs=0.02)


def test_centres_spread_and_round_clusters_are_round() -> None:
    _, truth = make_mixture(10, n_components=4000, n_features=1, spread=3.0, noise=0.5, random_state=1)
    assert truth.means.std() == pytest.approx(3.0, rel=0.05)
    assert np.all(truth.covariances == 0.25)


def test_a_seed_gives_the_same_rows() -> None:
    assert np.array_equal(make_mixture(random_state=3)[0], make_mixture(random_state=3)[0])
    assert not np.array_equal(make_mixture(random_state=3)[0], make_mixture(random_state=4)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 is too small"),
        ({"spread": -1.0}, "spread=-1.0 is no standard deviation"),
        ({"noise": "a"}, "noise='a' is no standard deviation"),
        ({"shape": "square"}, "shape='square' is not known; choose 'round' or 'any'"),
        ({"weights": [0.5, 0.6]}, "choose 5 numbers of at least 0 that add up to 1"),
        ({"weights": "many"}, "are not numbers"),
    ],
)
def test_bad_settings_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_mixture(**options)
