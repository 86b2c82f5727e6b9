"""Classes of measurements with outliers: `likelihoods={column: "student"}`."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import latens

KINDS = {0: "student", 1: "student"}


@cache
def three_classes(freedom: float) -> tuple[np.ndarray, np.ndarray]:
    """Two measurements and a yes/no column of 300 rows, one cell in ten missing."""
    rng = np.random.default_rng(3)
    label = rng.integers(3, size=300)
    noise = rng.standard_t(freedom, size=(300, 2))
    x = np.column_stack([6.0 * label + noise[:, 0], -5.0 * (label == 1) + noise[:, 1], rng.random(300) < 0.3]).astype(
        float
    )
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, label


@cache
def fitted(kind: str, freedom: float = 2.0) -> Any:
    x, _ = three_classes(freedom)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return latens.LatentClassAnalysis(8, likelihoods={0: kind, 1: kind}, n_init=1, random_state=0).fit(x)


def test_outliers_buy_no_classes() -> None:
    x, label = three_classes(2.0)
    assert fitted("student").n_components_ == 3
    assert fitted("gaussian").n_components_ > 3
    assert fitted("student").elbo_ > fitted("gaussian").elbo_ + 20
    shown = ~np.isnan(x[:, :2]).any(axis=1)
    assert adjusted_rand_score(label[shown], fitted("student").predict(x)[shown]) > 0.9


def test_where_there_are_none_little_is_lost() -> None:
    light = fitted("student", 1e6)
    assert light.n_components_ == 3
    assert fitted("gaussian", 1e6).elbo_ - 6 < light.elbo_
    degrees = [row[3] for row in light.profiles_.rows if row[2] == "degrees of freedom"]
    assert min(degrees) > 15


def test_profiles_have_middles_scales_and_degrees_of_freedom() -> None:
    rows = {(row[0], row[2]): row[3:] for row in fitted("student").profiles_.rows}
    assert np.allclose(sorted(rows["x0", "mean"]), [0, 6, 12], atol=0.6)
    assert all(0.6 < scale < 1.5 for scale in rows["x0", "scale"])
    assert 1.4 < rows["x0", "degrees of freedom"][0] < 3.5
    assert fitted("student").n_parameters_ == 2 + 2 * 2 * 3 + 2 + 3


def test_the_unit_of_a_column_changes_nothing_else() -> None:
    x, _ = three_classes(2.0)
    other = latens.LatentClassAnalysis(8, likelihoods=KINDS, n_init=1, random_state=0)
    moved = x * [1024.0, 1, 1] + [4096.0, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.fit(moved)
    usual = fitted("student")
    shift = np.log(1024.0) * np.sum(~np.isnan(x[:, 0]))
    assert other.elbo_ == pytest.approx(usual.elbo_ - shift, abs=1e-2)
    assert other.predict_proba(moved) == pytest.approx(usual.predict_proba(x), abs=0.01)


def test_quantiles_of_hidden_entries_hold_what_they_say() -> None:
    rng = np.random.default_rng(5)
    label = rng.integers(2, size=500)
    x = 8.0 * label[:, None] + rng.standard_t(2.0, size=(500, 4))
    hidden = rng.random(x.shape) < 0.2
    hidden[:, 0] = False
    shown = np.where(hidden, np.nan, x)
    model = latens.LatentClassAnalysis(4, likelihoods="student", n_init=1, random_state=0).fit(shown)
    _, quantiles = model.impute(shown, quantiles=(0.05, 0.95))
    inside = (quantiles[0.05] <= x) & (x <= quantiles[0.95])
    assert 0.85 < inside[hidden].mean() < 0.95


def test_a_variance_that_does_not_exist_is_infinite() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy((400, 2))
    x[::7, 1] = np.nan
    model = latens.LatentClassAnalysis(1, likelihoods="student", random_state=0).fit(x)
    filled, spread = model.impute(x, return_std=True)
    assert np.isfinite(filled).all()
    assert np.isinf(spread[::7, 1]).all()
    assert (spread[:, 0] == 0).all()


def test_streams_weights_and_files(tmp_path: Any) -> None:
    x, _ = three_classes(2.0)
    model = latens.LatentClassAnalysis(3, likelihoods=KINDS, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in np.array_split(x, 3):
            model.partial_fit(part)
    latens.save(model, tmp_path / "classes.latens")
    again = latens.load(tmp_path / "classes.latens")
    assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
    assert model.score(x) > fitted("student").score(x) - 0.1
    twice = latens.LatentClassAnalysis(3, likelihoods=KINDS, n_init=1, moves=False, prune=False, random_state=0)
    row = latens.LatentClassAnalysis(**twice.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice.fit(x, sample_weight=np.full(300, 2.0))
        row.fit(np.concatenate([x, x]))
    assert twice.elbo_ == pytest.approx(row.elbo_, abs=0.1)


def test_priors_are_given_in_data_units() -> None:
    x, _ = three_classes(2.0)
    strong = latens.LatentClassAnalysis(1, likelihoods=KINDS, mean_prior={0: (100.0, 1e6)}, random_state=0).fit(x)
    assert strong.means_[0, 0] == pytest.approx(100.0, abs=0.5)
    with pytest.raises(ValueError, match="it is for gaussian or student columns"):
        latens.LatentClassAnalysis(1, likelihoods=KINDS, mean_prior={2: (0.5, 1.0)}).fit(x)
