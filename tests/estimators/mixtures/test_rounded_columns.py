"""Whole and rounded numbers among the columns of latent classes: a class of one value is as wide as its rounding."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import latens
from latens.errors import FewValues
from latens.estimators.mixtures.column_values import ColumnValues
from latens.families.normal_columns import NormalColumns


def fitted(X: np.ndarray, **options: object) -> latens.LatentClassAnalysis:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewValues)
        return latens.LatentClassAnalysis(random_state=0, **options).fit(X)


def two_kinds(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in three measurements, and a year of three that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    return np.column_stack([rng.normal(2.5 * label[:, None], 1, (n, 3)), rng.choice([2007, 2008, 2009], n)]), label


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classes_do_not_count_the_values_of_a_column(seed: int) -> None:
    X, label = two_kinds(300, seed)
    model = fitted(X)
    assert model.n_components_ == 2
    assert max(np.mean(model.predict(X) == label), np.mean(model.predict(X) != label)) > 0.9
    year = [model.profiles_["of"][i] for i in range(len(model.profiles_.rows))].index("s.d.", 6)
    assert min(model.profiles_.rows[year][3:]) > 0.28  # of a year, 1 / sqrt(12)


def test_a_scale_that_says_nothing_buys_no_class() -> None:
    assert fitted(np.random.default_rng(0).integers(1, 6, (500, 5)).astype(float)).n_components_ == 1


def test_classes_that_differ_in_a_scale_are_found() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(2, size=400)
    X = np.clip(np.round(rng.normal(2 + 2.5 * label[:, None], 0.7, (400, 4))), 1, 6)
    model = fitted(X)
    assert model.n_components_ == 2
    assert np.mean(model.predict(X) == model.predict(X)[0]) == pytest.approx(np.mean(label == label[0]), abs=0.03)


def test_what_is_added_to_squares_is_a_bound_of_the_chance_of_a_step() -> None:
    """Of a normal as good as known, beside SciPy's chance of the step, over its width."""
    for width in (0.1, 0.3, 1.0, 3.0):
        sure = np.full((1, 1), 1e9)
        known = NormalColumns(np.full((1, 1), 0.4), sure, sure, sure * width**2, rounding=np.array([1 / 12]))
        (theta,), ((level,),) = known.natural
        for x in np.linspace(-4, 4, 33):
            bound = theta @ [x, x**2] + level
            chance = norm.logcdf(x + 0.5, 0.4, width) + np.log(
                -np.expm1(norm.logcdf(x - 0.5, 0.4, width) - norm.logcdf(x + 0.5, 0.4, width))
            )
            assert bound <= chance + 1e-6
        at_mean = theta @ [0.4, 0.16] + level
        assert width < 1 or at_mean > norm.logpdf(0, 0, width) - 0.05 / width**2  # and is close where steps are fine


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1, 2, 3, 5], 1.0),
        ([17.5, 22, 27, 32, 37, 42], 4.5),
        ([2000, 2010, 1990, 2010], 10.0),
        ([39.1, 39.5, 40.3, 39.2, 39.3, 39.4], 0.1),
        ([0.3, 0.1 + 0.2, 1.3, 2.3], 1.0),  # rounding errors are no steps
        ([30_000, 30_001, 45_000, 61_000, 82_500], 0.0),
        ([5, 5, 5], 0.0),
        ([], 0.0),
        (np.random.default_rng(0).normal(size=200), 0.0),
        (np.arange(2000), 0.0),  # so many that steps are fine
    ],
)
def test_steps_of_a_column(values: list[float], step: float) -> None:
    held = np.array(values, dtype=float)
    assert ColumnValues.of(held).step == pytest.approx(step)
    assert ColumnValues.of(np.repeat(held, 3)[::-1]).step == pytest.approx(step)
    assert ColumnValues.of(8 * held).step == pytest.approx(8 * step)
    assert (ColumnValues.of(held[:2]) + ColumnValues.of(held[2:])).step == pytest.approx(step)


def test_units_weights_and_files_change_nothing(tmp_path: Path) -> None:
    X, _ = two_kinds(200, 5)
    model = fitted(X, tol=1e-9)
    months = fitted(X * [1, 1, 1, 16], tol=1e-9)
    assert months.n_components_ == model.n_components_
    assert months.elbo_ == pytest.approx(model.elbo_ - len(X) * np.log(16), abs=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = latens.LatentClassAnalysis(random_state=0).fit(X, sample_weight=np.full(len(X), 2.0))
        twice = latens.LatentClassAnalysis(random_state=0).fit(np.repeat(X, 2, axis=0))
    assert weighted.columns_.steps == twice.columns_.steps
    assert weighted.elbo_ == pytest.approx(twice.elbo_, abs=0.1)
    latens.save(model, tmp_path / "m.latens")
    again = latens.load(tmp_path / "m.latens")
    assert again.columns_.steps == model.columns_.steps == (0.0, 0.0, 0.0, 1.0)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X[:50])
    model.partial_fit(X[:50])
    np.testing.assert_array_equal(again.means_, model.means_)


def test_draws_of_the_posterior_hold_the_width_of_a_step() -> None:
    """Where a year tells the class, its deviation is that of rounding, by response and by Gibbs sampling alike."""
    X, label = two_kinds(200, 6)
    X[:, 3] = 2007 + label
    model = fitted(X, n_components=2, prune=False, moves=False, likelihoods="gaussian")
    for method in ("response", "gibbs"):
        found = model.intervals(X, method=method, quantities=["standard_deviations"])
        own = [i for i, name in enumerate(found["feature"]) if name == "x3"]
        assert len(own) == 2
        assert all(found["lower"][i] < 0.2887 < found["upper"][i] for i in own)
        assert all(found["upper"][i] - found["lower"][i] < 0.1 for i in own)
