"""Sources of columns that are rounded, or in which many rows share a value: such entries stand for intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import latens
from latens.array.rounding import interval_variances
from latens.core import Rows
from latens.estimators.fitted_parts import fitted_parts


def rounded_sources(n: int = 500, seed: int = 0) -> np.ndarray:
    """Five sensors of two heavy sources: two in whole numbers, one that is 0 in half of the rows."""
    mixing, rng = np.random.default_rng(0).normal(size=(2, 5)), np.random.default_rng([seed, 1])
    x = rng.standard_t(3, size=(n, 2)) @ mixing + 0.5 * rng.normal(size=(n, 5))
    x[:, :2] = np.round(x[:, :2])
    x[:, 2] = np.where(x[:, 2] > 0, 1 + x[:, 2], 0.0)
    return x


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return rounded_sources()


@pytest.fixture(scope="module")
def fitted(table: np.ndarray) -> latens.NoisyICA:
    return latens.NoisyICA(random_state=0).fit(table)


def test_widths_of_intervals() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    often_zero = np.where(x > 0, 2 + x, 0.0)
    gap = often_zero[often_zero > 0].min()
    share = np.mean(often_zero == 0)
    found = interval_variances(np.column_stack([x, np.round(x, 1), often_zero]))
    assert found == pytest.approx([0.0, 0.1**2 / 12, min(share * gap**2 / 12, often_zero.var() / 3)])
    assert interval_variances(np.column_stack([x, 2 * x, np.round(100 * x)])) is None
    rarely = (np.arange(400) < 8).astype(float)  # intervals of a whole step would have several times its variance
    assert interval_variances(rarely[:, None]) == pytest.approx(rarely.var() / 3)


def test_holes_tell_nothing_of_widths() -> None:
    rng = np.random.default_rng(1)
    x, seen = np.round(rng.normal(size=(300, 2)), 1), rng.random((300, 2)) > 0.2
    filled = np.where(seen, x, np.pi)
    assert interval_variances(filled, 0.0, seen) == pytest.approx([0.1**2 / 12] * 2)


def test_columns_that_are_not_rounded_have_no_intervals() -> None:
    X, _ = latens.datasets.make_ica(300, 6, 2, random_state=0)
    model = latens.NoisyICA(random_state=0).fit(X)
    assert model._model.rounding is None
    assert np.array_equal(model.rounding_, np.zeros(6))


def test_bounds_of_rows_are_below_the_chance_of_their_intervals() -> None:
    """By quadrature over the one source, with parameters that are points."""
    rng = np.random.default_rng(3)
    z, h = rng.standard_t(3, size=400), 0.5
    x = h * np.round((z[:, None] * [1.0, -0.7, 0.5] + [0.1, 0.3, -0.2] + 0.3 * rng.normal(size=(400, 3))) / h)
    model = latens.NoisyICA(1, prior="ml", sources="heavy-tailed", random_state=0).fit(x)
    assert model.rounding_ == pytest.approx([h] * 3)
    q, units = model.posterior_, fitted_parts(model).units
    rows = units.enter(Rows(x)).x[:60]
    step = h / np.broadcast_to(units.scale, 3)
    grid = np.linspace(-40, 40, 16001)
    mean = grid[:, None] * q.loadings.mean[0] + q.loadings.mean[1]
    sd = np.sqrt(q.loadings.mean_noise)
    weight = student.pdf(grid, q.shapes.tails[0]) * (grid[1] - grid[0])
    masses = np.stack([norm.cdf((row + step / 2 - mean) / sd) - norm.cdf((row - step / 2 - mean) / sd) for row in rows])
    log_chance = np.log(masses.prod(axis=2) @ weight) - 3 * np.log(h)
    bounds = model.score_samples(x[:60])
    assert np.all(bounds < log_chance)
    assert np.mean(log_chance - bounds) < 1.0


def test_noise_of_rounded_columns_does_not_end_at_its_prior(table: np.ndarray, fitted: latens.NoisyICA) -> None:
    least = fitted.rounding_**2 / 12
    assert np.all(least[:3] > 0)
    assert np.all(fitted.noise_variance_[:3] > 0.9 * least[:3])


def test_hidden_cells_of_rounded_columns_are_within_their_limits(fitted: latens.NoisyICA) -> None:
    fresh = rounded_sources(seed=1)  # other rows of the same sensors
    holes = np.random.default_rng(5).random(fresh.shape) < 0.15
    filled, std = fitted.impute(np.where(holes, np.nan, fresh), return_std=True)
    within = np.abs(filled - fresh)[holes] < 1.645 * std[holes]
    assert 0.84 < np.mean(within) < 0.97


def test_the_bound_is_that_of_rows_and_parameters(table: np.ndarray, fitted: latens.NoisyICA) -> None:
    parts = fitted_parts(fitted)
    rows = parts.units.enter(Rows(table))
    local = parts.model.local_step(fitted.posterior_, rows)
    for _ in range(20):
        local = parts.model.local_step(fitted.posterior_, rows, local)
    stats = parts.model.statistics(rows, local)
    by_row = float(parts.model.row_bounds(fitted.posterior_, rows, local).sum())
    assert by_row == pytest.approx(sum(parts.model.data_terms(fitted.posterior_, stats).values()), rel=1e-9)
    assert np.all(np.diff(fitted.elbo_history_) > -1e-9 * abs(fitted.elbo_))


@pytest.mark.parametrize(
    "options", [{}, {"covariance": "scale-mixture", "sources": "heavy-tailed"}], ids=["full", "joint"]
)
def test_the_bound_of_rows_counts_intervals_in_every_model(table: np.ndarray, options: dict[str, Any]) -> None:
    model = latens.NoisyICA(2, moves=False, max_iter=20, random_state=0, **options).fit(table)
    parts = fitted_parts(model)
    rows = parts.units.enter(Rows(table))
    local = parts.model.local_step(model.posterior_, rows)
    stats = parts.model.statistics(rows, local)
    by_row = float(parts.model.row_bounds(model.posterior_, rows, local).sum())
    assert by_row == pytest.approx(sum(parts.model.data_terms(model.posterior_, stats).values()), rel=1e-9)


def test_scans_streams_and_files_know_the_intervals(table: np.ndarray, fitted: latens.NoisyICA, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, table)
    scanned = latens.NoisyICA(random_state=0).fit(latens.scan(path))
    assert scanned.rounding_ == pytest.approx(fitted.rounding_)
    assert scanned.elbo_ == pytest.approx(fitted.elbo_, abs=0.5)
    streamed = latens.NoisyICA(random_state=0).partial_fit(table[:250]).partial_fit(table[250:])
    assert streamed.rounding_[:2] == pytest.approx([1.0, 1.0])
    assert np.all(streamed.noise_variance_[:2] > 0.9 / 12)
    latens.save(fitted, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert np.array_equal(again.rounding_, fitted.rounding_)
    assert np.array_equal(again.score_samples(table[:9]), fitted.score_samples(table[:9]))


def test_gibbs_sampling_draws_the_noise_that_includes_rounding(table: np.ndarray, fitted: latens.NoisyICA) -> None:
    draws = fitted.sample_posterior(60, method="gibbs", X=table)
    assert draws["noise_variance"].mean(axis=0)[:3] == pytest.approx(fitted.noise_variance_[:3], rel=0.25)
