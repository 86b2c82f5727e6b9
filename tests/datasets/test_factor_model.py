"""The random factor model of the source."""

from __future__ import annotations

import numpy as np
import pytest

from latens.datasets import make_factor_model


def test_loadings_are_orthogonal_with_squared_lengths_from_the_spectrum() -> None:
    _, truth = make_factor_model(10, n_features=30, n_components=4, spectrum=(2.0, 5.0), random_state=0)
    inner = truth.components @ truth.components.T
    assert inner == pytest.approx(np.diag(np.diag(inner)), abs=1e-10)
    assert np.all((np.diag(inner) >= 2) & (np.diag(inner) <= 5))
    assert np.all((truth.noise_variance >= 0) & (truth.noise_variance <= np.diag(inner).max()))


def test_the_literal_reading_scales_columns_of_the_data() -> None:
    _, truth = make_factor_model(10, n_features=30, n_components=4, literal=True, random_state=0)
    inner = truth.components @ truth.components.T
    assert not np.allclose(inner, np.diag(np.diag(inner)))


def test_rows_have_the_mean_and_covariance_they_were_made_from() -> None:
    X, truth = make_factor_model(200_000, n_features=5, n_components=2, random_state=1)
    cov = truth.to_low_rank().covariance()
    size = np.sqrt(np.diag(cov))
    assert np.abs((X.mean(axis=0) - truth.mean) / size).max() < 5 / np.sqrt(len(X))
    assert np.abs((np.cov(X.T) - cov) / size / size[:, None]).max() < 8 / np.sqrt(len(X))
    left = X - truth.mean - truth.codes @ truth.components
    assert left.var(axis=0) == pytest.approx(truth.noise_variance, rel=0.03)


def test_a_seed_gives_the_same_rows() -> None:
    one, two, other = (make_factor_model(5, random_state=seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 101}, "n_components=101 is too large"),
        ({"spectrum": (0, 1)}, r"spectrum=\(0, 1\)"),
        ({"spectrum": 3}, "spectrum=3 is no range of variances; give two finite numbers"),
        ({"spectrum": (5, 1, 2)}, r"spectrum=\(5, 1, 2\) is no range"),
        ({"spectrum": ("a", "b")}, "is no range"),
        ({"n_samples": 0}, "n_samples=0 is too small"),
    ],
)
def test_impossible_models_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_factor_model(**options)
