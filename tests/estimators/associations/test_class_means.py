"""Numbers by cluster: how seldom noise is found, how often intervals hold, and clusters that were not measured."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import NotMeasured
from latens.estimators.class_association import Assigned, covariates_table, outcomes_table
from latens.system.summary_table import Table

SIZES = (49, 32, 32, 27, 23, 10, 3, 2)  # as clusters of wine have them
LABELS = np.repeat(np.arange(len(SIZES)), SIZES)
SURE = Assigned(np.eye(len(SIZES))[LABELS], tuple(f"k{k}" for k in range(len(SIZES))))
Draw = Callable[[np.random.Generator, int], np.ndarray]
NORMAL: Draw = lambda rng, n: rng.normal(size=n)  # noqa: E731
LOGNORMAL: Draw = lambda rng, n: np.exp(rng.normal(size=n))  # noqa: E731
COUNTS: Draw = lambda rng, n: rng.poisson(0.1, n).astype(float)  # noqa: E731


def asked(draw: Draw, n_columns: int = 150) -> tuple[np.ndarray, Table]:
    """p of columns of noise, and the table."""
    rng = np.random.default_rng(5)
    noise = {f"c{i}": draw(rng, len(LABELS)) for i in range(n_columns)}
    table = outcomes_table(SURE, {name: y for name, y in noise.items() if len(set(y)) > 2}, None, 0.95)
    return np.array(list(dict(zip(table["column"], table["p"], strict=True)).values())), table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "mean", "hold"), [(NORMAL, 0.0, 0.94), (LOGNORMAL, np.exp(0.5), 0.9), (COUNTS, 0.1, 0.9)]
)
def test_noise_is_found_in_one_of_twenty_though_clusters_are_small(draw: Draw, mean: float, hold: float) -> None:
    p, table = asked(draw)
    assert 0.01 < np.mean(p < 0.05) < 0.1  # two and a half standard errors; a third and more by each cluster's spread
    assert np.sum(p < 0.001) <= 1  # a fifth and more
    assert np.all(p > 0)
    held = [low <= mean <= high for low, high in zip(table["low"], table["high"], strict=True)]
    assert hold < np.mean(held) < 0.99
    of_two = [each for each, name in zip(held, table["cluster"], strict=True) if name == "k7"]
    assert np.mean(of_two) > 0.9


def test_noise_is_seldom_a_covariate_of_small_clusters() -> None:
    rng, p = np.random.default_rng(0), list[float]()
    rates = 0.94 * np.eye(len(SIZES)) + 0.06 / len(SIZES)
    assigned = Assigned(rates[LABELS], SURE.names)
    for _ in range(20):
        table = covariates_table(assigned, {"x": rng.normal(size=len(LABELS))}, None, 0.95)
        p += table["p"][1::2]
    assert np.mean(np.array(p) < 0.05) < 0.09


def test_what_differs_is_found_in_a_small_cluster_too() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=len(LABELS))
    for k, gap in ((7, 6.0), (6, 5.0), (5, 3.0), (0, 1.2)):
        table = outcomes_table(SURE, {"y": y + gap * (k == LABELS)}, None, 0.95)
        assert table["p"][0] < 1e-3
        assert table["low"][k] < y[k == LABELS].mean() + gap < table["high"][k]
    far = outcomes_table(SURE, {"y": y + 10.0 * LABELS}, None, 0.95)
    assert far["p"][0] < 1e-30


def test_spreads_that_differ_are_no_difference_of_means() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [15, 60])
    assigned = Assigned(np.eye(2)[labels], ("a", "b"))
    noise = {f"c{i}": rng.normal(size=75) * np.where(labels == 0, 3.0, 1.0) for i in range(120)}
    table = outcomes_table(assigned, noise, None, 0.95)
    assert np.mean(np.array(table["p"]) < 0.05) < 0.12  # pooled variances: a quarter


def measured_in_part() -> tuple[Assigned, np.ndarray]:
    """Three clusters with few errors, none of whose third's outcomes are known."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 60)
    share = np.array([[0.98, 0.015, 0.005], [0.015, 0.98, 0.005], [0.01, 0.01, 0.98]])[labels]
    y = np.where(labels == 2, np.nan, 5.0 * labels + rng.normal(size=180))
    return Assigned(share, ("a", "b", "c")), y


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_a_cluster_that_was_not_measured_is_not_described(kind: str) -> None:
    assigned, y = measured_in_part()
    values: Any = y if kind == "numbers" else [None if np.isnan(v) else "high" if v > 2 else "low" for v in y]
    with pytest.warns(NotMeasured, match="in c no row, or fewer than two effective rows, have a value of 'y'"):
        table = outcomes_table(assigned, {"y": values}, None, 0.95)
    for name in ("estimate", "low", "high", "uncorrected"):
        assert np.isnan(table[name]).tolist() == [of == "c" for of in table["cluster"]]
    assert "in c no row" in table.note
    assert table["p"][0] < 1e-6  # the other two differ
    with pytest.warns(NotMeasured, match="in c no row"):
        odds = covariates_table(assigned, {"y": np.where(np.isnan(y), np.nan, y % 1)}, None, 0.95)
    assert np.isnan(odds["log odds"]).tolist() == [of == "c" for of in odds["cluster"]]


def test_where_one_cluster_alone_was_measured_nothing_is_compared() -> None:
    assigned, y = measured_in_part()
    y[:60] = np.nan
    with pytest.warns(NotMeasured, match="in a, c no row"):
        table = outcomes_table(assigned, {"y": y}, None, 0.95)
    assert np.isnan(table["p"]).all()
    assert np.isfinite(table["estimate"]).tolist() == [False, True, False]
    with pytest.warns(NotMeasured):
        odds = covariates_table(assigned, {"y": y}, None, 0.95)
    assert np.isnan(odds["log odds"]).all()


def test_small_weights_that_add_up_do_not_describe_a_cluster() -> None:
    labels = np.repeat([0, 1, 2], 100)
    assigned = Assigned(np.array([[0.9, 0.1, 0.0], [0.1, 0.85, 0.05], [0.0, 0.05, 0.95]])[labels], ("a", "b", "c"))
    known = np.flatnonzero(labels == 0)
    weights = assigned.weights[known, 2]
    assert 0 < weights.max() < 0.02  # of each row of a for c, as if they were a row or so of c together
    assert weights.sum() ** 2 / np.sum(weights**2) > 50
    assert assigned.described(known).tolist() == [0]
    with pytest.warns(NotMeasured, match="in b, c no row"):
        table = outcomes_table(assigned, {"y": np.where(labels == 0, np.arange(300.0), np.nan)}, None, 0.95)
    assert np.isnan(table["low"]).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "as_written",
    [
        lambda day: np.datetime64("2008-01-01") + np.timedelta64(day, "D"),
        lambda day: date.fromordinal(date(2008, 1, 1).toordinal() + day),
        lambda day: datetime.fromordinal(date(2008, 1, 1).toordinal() + day),
        lambda day: datetime(2008, 1, 1, tzinfo=UTC).replace(day=1 + day),
    ],
)
def test_means_of_dates_are_dates_and_odds_are_by_day(as_written: Callable[[int], Any]) -> None:
    labels, days = np.repeat([0, 1], 30), np.tile(np.arange(10), 6)
    assigned = Assigned(np.eye(2)[labels], ("a", "b"))
    table = outcomes_table(assigned, {"when": [as_written(int(d) + 10 * k) for d, k in zip(days, labels, strict=True)]},
                           None, 0.95)  # fmt: skip
    assert [str(value) for value in table["estimate"]] == ["2008-01-05T12:00:00", "2008-01-15T12:00:00"]
    assert str(table["low"][0]) < "2008-01-05" < str(table["high"][0]) < "2008-01-07"
    odds = covariates_table(assigned, {"when": [as_written(int(d)) for d in days]}, None, 0.95)
    assert odds["covariate"] == ["(intercept)", "when (days)"]
    assert odds["high"][1] - odds["low"][1] == pytest.approx(2 * 1.96 / np.sqrt(60 * 0.25 * np.var(days)), rel=0.05)


@pytest.mark.slow
def test_noise_is_seldom_found_beside_a_fit_of_wine() -> None:
    from sklearn.datasets import load_wine

    X = load_wine().data
    model = latens.LatentClassAnalysis(random_state=0).fit(X)  # classes of 49 rows down to 2
    rng = np.random.default_rng(0)
    table = model.associate({f"c{i}": rng.normal(size=len(X)) for i in range(60)}, X)
    p = np.array(list(dict(zip(table["column"], table["p"], strict=True)).values()))
    assert np.mean(p < 0.05) < 0.13
    assert p.min() > 1e-4


def test_shares_of_levels_add_up_to_one_where_corrected_ones_are_negative() -> None:
    rng = np.random.default_rng(2)
    true = rng.integers(3, size=400)
    rates = 0.7 * np.eye(3) + 0.1
    noisy = np.array([rng.choice(3, p=rates[k]) for k in true])
    assigned = Assigned(rates[noisy], ("k0", "k1", "k2"))
    level = np.array([["a", "b", "c", "d"][k if rng.random() < 0.98 else 3] for k in true])
    table = outcomes_table(assigned, {"level": level}, None, 0.95)
    shares, low, high = (np.array(table[name]).reshape(-1, 3) for name in ("estimate", "low", "high"))
    assert shares.min() == 0  # one was negative
    np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-12)
    assert np.all((low <= shares) & (shares <= high))
