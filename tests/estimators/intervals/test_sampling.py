"""When "auto" samples, what it says of it, and what draws do not unmark."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.intervals import by_sampling as module
from latens.estimators.parameters import SECONDS_OF_FITS


def two_told(gap: float, n: int = 120) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2)) + np.where(rng.random(n) < 0.4, gap, 0.0)[:, None] * [1.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return latens.GaussianMixture(2, moves=False, prune=False, random_state=0).fit(X), X


def test_clusters_that_rows_hardly_tell_apart_are_sampled_and_it_is_said_why() -> None:
    model, X = two_told(1.5)
    table = model.intervals(X)
    assert table.method == "gibbs"
    assert "nats, fewer than 3: sampled. 4 chains, R-hat at most" in table.note
    assert table.note in str(table)
    assert not any(table["sound"])


def test_chains_that_do_not_meet_leave_sound_what_no_other_fit_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clusters that overlap beside one that is apart: nothing would be sound of draws that disagree."""
    monkeypatch.setattr(module, "DISAGREEMENT", 0.0)
    monkeypatch.setattr(module, "LONGER", 1)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2)) + np.where(np.arange(150) < 50, 30.0, 0.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.GaussianMixture(3, moves=False, prune=False, random_state=0).fit(X)
        table, drawn = model.intervals(X), model.intervals(X, method="gibbs")
    assert table.method == "response"
    assert "sampled, but not told by draws. 4 chains" in table.note
    sound = {component for component, is_sound in zip(table["component"], table["sound"], strict=True) if is_sound}
    assert f"cluster{np.argmax(model.means_[:, 0])}" in sound
    assert not all(table["sound"])
    assert not any(drawn["sound"])


def test_sampling_that_would_take_long_is_left_and_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GIBBS_SECONDS", 1e-6)
    model, X = two_told(1.5)
    SECONDS_OF_FITS[model] = 1e-6
    table = model.intervals(X)
    assert table.method == "response"
    assert "but not sampled: it would take about" in table.note
    weighted = model.fit(X, sample_weight=np.full(len(X), 1.5)).intervals(X, sample_weight=np.full(len(X), 1.5))
    assert "but not sampled: rows with weights that are no whole numbers" in weighted.note


def test_sampling_may_take_as_long_as_three_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, X = two_told(1.5)
    assert 0 < SECONDS_OF_FITS[model] < 30
    monkeypatch.setattr(module, "MOST_GIBBS_SECONDS", 1e-6)
    SECONDS_OF_FITS[model] = 1000.0
    assert model.intervals(X).method == "gibbs"
    SECONDS_OF_FITS[model] = 1e-3
    assert re.search(r"it would take about \d+ s, \d+ times the fit", model.intervals(X).note)
    latens.save(model, tmp_path / "fit.latens")  # also of two clusters where rows show one
    loaded = latens.load(tmp_path / "fit.latens")
    assert loaded._seconds_of_fit() == pytest.approx(sum(event.seconds for event in model.trace_))


def test_clusters_that_are_told_apart_are_not_sampled_and_nothing_is_said() -> None:
    model, X = two_told(6.0)
    table = model.intervals(X)
    assert (table.method, table.note) == ("response", "")


def test_draws_do_not_make_components_sound_that_are_worth_little() -> None:
    model, X = two_told(1.5)
    table = model.intervals(X, method="gibbs")
    assert not any(table["sound"])
    assert table.components["nats"] == pytest.approx(model.intervals(X, method="response").components["nats"], abs=0.1)


def test_chains_that_have_not_met_go_on_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = two_told(1.5)
    sweeps, plain = [], module.gibbs

    def watch(*args: Any, **how: Any) -> Any:
        sweeps.append(how["thinning"])
        return plain(*args, **{**how, "thinning": 1})  # what is drawn does not matter, only how long it would take

    monkeypatch.setattr(module, "gibbs", watch)
    monkeypatch.setattr(module, "DISAGREEMENT", 0.0)
    model.intervals(X, method="gibbs")
    assert sweeps == [3] * 4 + [12] * 4


@pytest.mark.filterwarnings("ignore")
def test_rows_that_count_twice_are_sampled_as_two_rows() -> None:
    X = two_told(5.0, 60)[1]
    weight = np.where(np.arange(len(X)) < 20, 2.0, np.where(np.arange(len(X)) < 25, 0.0, 1.0))
    twice = np.repeat(X, weight.astype(int), axis=0)
    tables = [
        latens.GaussianMixture(2, random_state=0).fit(rows, **options).intervals(rows, method="gibbs", **options)
        for rows, options in ((X, {"sample_weight": weight}), (twice, {}))
    ]
    np.testing.assert_allclose(tables[0]["std"], tables[1]["std"], rtol=0.15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight_prior", ["dirichlet", "dirichlet_process"])
def test_clusters_with_holes_are_sampled(weight_prior: str) -> None:
    """Draws agree with response where clusters are separate; empty rows, which no fit counts, are no hindrance."""
    X = two_told(6.0, 200)[1]
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    X[5] = np.nan
    model = latens.GaussianMixture(2, weight_prior=weight_prior, random_state=0).fit(X)
    tables = [model.intervals(X, method=method) for method in ("gibbs", "response")]
    assert tables[0]["parameter"] == tables[1]["parameter"]
    ratio = np.array(tables[0]["std"]) / np.array(tables[1]["std"])
    assert 0.9 < np.median(ratio) < 1.15
