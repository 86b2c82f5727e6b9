"""Intervals of a page: the call that gives them, and which columns they say surely describe a component."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.intervals.table import IntervalTable
from latens.report import Entry
from latens.report.measures import certainty
from latens.report.sections.findings.components import listing
from latens.report.sections.trust import trust

RNG = np.random.default_rng(0)
CLUSTERS = RNG.normal(size=(150, 3)) + 5.0 * RNG.integers(2, size=(150, 1))
FACTORS = RNG.normal(size=(150, 2)) @ RNG.normal(size=(2, 6)) + 0.5 * RNG.normal(size=(150, 6))


@pytest.mark.parametrize("most", [None, 1])  # coordinates, from which on a page does not wait for what "auto" takes
def test_the_call_that_a_page_names_gives_its_intervals(monkeypatch: pytest.MonkeyPatch, most: int | None) -> None:
    if most is not None:
        monkeypatch.setattr(certainty, "MOST_COORDINATES", most)
    monkeypatch.setattr("latens.report.sections.trust.MOST_INTERVALS", 3)
    methods = []
    models: list[Any] = [latens.GaussianMixture(2, random_state=0), latens.FactorAnalysis(2)]
    for model, X in zip(models, (CLUSTERS, FACTORS), strict=True):
        entry = Entry(model.fit(X), X)
        section = trust(entry)
        assert section is not None
        said = next(str(note) for note in section.notes if "intervals are shown" in note)
        call = said.partition("shown; ")[2].removesuffix(" has all.")
        again = eval(call, {"model": model, "X": X})
        assert again.rows == entry.certainty.table.rows
        assert any("may choose a method that a page" in note for note in section.notes) == (most is not None)
        methods.append(again.method)
    assert methods == (["response"] * 2 if most is None else ["bootstrap", "mean-field"])


def test_a_column_whose_interval_holds_the_number_of_all_rows_is_not_sure() -> None:
    """A cluster of one row: its memberships are known, and yet a refit without it says nothing of it."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 6, [[20, -20, 20]]])
    model = latens.GaussianMixture(3, covariance_type="tied", random_state=0).fit(X)
    k = int(model.predict(X[-1:])[0])
    table = model.intervals(X)
    usual = model.weights_ @ model.means_
    ends = {(row[1], row[2]): (row[6], row[7]) for row in table.rows if row[0] == "means"}
    entry = Entry(model, X)
    assert entry.profile is not None
    assert sorted(entry.profile.notable(k, 3)) == [0, 1, 2]
    name = str(model.get_feature_names_out()[k])
    assert sorted(entry.notable(k, 3)) == [
        d for d in range(3) if not ends[name, f"x{d}"][0] <= usual[d] <= ends[name, f"x{d}"][1]
    ]
    wide = [(*row[:6], row[4] - 100, row[4] + 100, *row[8:]) if row[1] == name else row for row in table.rows]
    vars(entry)["certainty"] = certainty.Certainty(IntervalTable(table.columns, tuple(wide), "bootstrap"), "")
    del vars(entry)["ends"]
    assert entry.notable(k, 3) == []
    section = listing(entry)
    assert section is not None
    assert section.table is not None
    assert section.table.rows[k][-1] == "none stands out"


@pytest.mark.parametrize("kinds", ["bernoulli", "categorical"])
def test_chances_of_classes_are_sure_where_their_interval_leaves_out_those_of_all_rows(kinds: str) -> None:
    rng = np.random.default_rng(0)
    label = rng.random(300) < 0.4
    chance = np.where(label[:, None], [0.9, 0.8, 0.85, 0.4], [0.1, 0.2, 0.15, 0.4])
    X = (rng.random((300, 4)) < chance).astype(float)
    model = latens.LatentClassAnalysis(2, likelihoods=dict.fromkeys(range(4), kinds), random_state=0).fit(X)
    entry = Entry(model, X)
    assert entry.profile is not None
    for k in range(2):
        rows = [entry.profile.columns[d] for d in entry.notable(k, 8)]
        assert {name.partition(" ")[0] for name in rows} == {"x0", "x1", "x2"}
