"""Noise that the caller knows entry by entry, and factors that samples may go without."""

from __future__ import annotations

import numpy as np
import pytest

import latens


@pytest.fixture(scope="module")
def measured() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes, precision = rng.normal(size=(300, 2)), np.exp(1.5 * rng.normal(size=(300, 30)))
    y = codes @ rng.normal(size=(2, 30)) + rng.normal(size=(300, 30)) / np.sqrt(precision) + 3
    other = codes @ rng.normal(size=(2, 20)) + 0.5 * rng.normal(size=(300, 20))
    hidden = rng.random(y.shape) < 0.1
    return {"y": np.where(hidden, np.nan, y), "v": other}, precision, y, hidden


@pytest.fixture(scope="module")
def fitted(measured) -> latens.MultiViewFactorAnalysis:
    views, precision, _, _ = measured
    return latens.MultiViewFactorAnalysis(4, random_state=0).fit(views, precision={"y": precision})


def test_known_noise_is_worth_knowing(measured, fitted) -> None:
    blind, reference = latens.MultiViewFactorAnalysis(4, random_state=0).fit(measured[0]), fitted
    assert reference.n_components_ == 2
    assert reference.elbo_ > blind.elbo_ + 1000
    assert set(reference.noise_variance_) == {"v"}  # there is none to learn of the other


def test_limits_follow_the_noise_of_each_entry(measured, fitted) -> None:
    views, precision, y, hidden = measured
    _, low, high = fitted.impute(views, coverage=0.95, precision={"y": precision})
    inside = (y[hidden] > low["y"][hidden]) & (y[hidden] < high["y"][hidden])
    assert 0.93 <= inside.mean() <= 0.97
    width = (high["y"] - low["y"])[hidden]
    assert np.corrcoef(width, precision[hidden] ** -0.5)[0, 1] > 0.99


def test_the_unit_of_a_view_is_that_of_its_precisions(measured, fitted) -> None:
    views, precision, _, _ = measured
    c = 2.0**-30
    scaled, finer = {**views, "y": c * views["y"]}, {"y": precision / c**2}
    two = latens.MultiViewFactorAnalysis(4, random_state=0).fit(scaled, precision=finer)
    n_seen = np.isfinite(views["y"]).sum()
    assert two.elbo_ == pytest.approx(fitted.elbo_ - n_seen * np.log(c), rel=1e-9)
    assert two.score(scaled, precision=finer) == pytest.approx(
        fitted.score(views, precision={"y": precision}) - n_seen / 300 * np.log(c), rel=1e-9
    )


def test_a_view_that_is_absent_needs_no_precision(measured, fitted) -> None:
    views, _, _, _ = measured
    assert fitted.transform({"v": views["v"]}).shape == (300, 2)
    with pytest.raises(ValueError, match="known precisions; pass precision="):
        fitted.transform(views)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"z": np.ones((300, 30))}, "there are 'y', 'v'"),
        ({"y": np.ones((300, 29))}, "expected \\(300, 30\\)"),
        ({"y": np.zeros((300, 30))}, "not positive"),
        (3.0, "give a dict"),
    ],
)
def test_precisions_that_are_none_are_refused(measured, wrong, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.MultiViewFactorAnalysis(3).fit(measured[0], precision=wrong)


def test_sparse_factor_values_are_found_where_loadings_are_dense() -> None:
    """Dense loadings say nothing about rotation; that most samples lack a factor does."""
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(300, 3)) * (rng.random((300, 3)) < 0.3)
    views = {
        name: codes @ rng.normal(size=(3, d)) + 0.7 * rng.normal(size=(300, d)) for name, d in (("a", 40), ("b", 30))
    }
    plain, sparse = (
        latens.MultiViewFactorAnalysis(6, sparse_factors=option, random_state=0).fit(views) for option in (False, True)
    )
    found = np.abs(np.corrcoef(codes.T, sparse.scores_.T)[:3, 3:]).max(axis=1)
    assert sparse.n_components_ == 3
    assert found.min() > 0.98
    assert sparse.elbo_ > plain.elbo_
    assert sparse.transform(views) == pytest.approx(sparse.scores_, abs=1e-4)
    assert sparse.score_is_bound_
