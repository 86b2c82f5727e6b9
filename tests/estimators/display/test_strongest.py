"""What describes a component: columns that enough of its rows show, in the summary, in pictures and on pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.plots.strengths import strengths
from latens.report import Entry
from latens.report.sections.findings.components import NOT_SHOWN, columns, listing


def clusters_with_a_column_that_one_lacks(covariance_type: str) -> tuple[Any, np.ndarray, int]:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], [40, 50, 60])
    X = np.array([[0, 0, 0], [6, 3, 8], [0, 9, 4]])[label] + rng.normal(size=(150, 3)) @ [
        [1, 0.6, 0.8],
        [0, 1, 0.5],
        [0, 0, 1],
    ]
    X[label == 0, 2] = np.nan
    model = latens.GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    return model, X, int(model.predict(X[:1])[0])


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag"])
def test_a_column_that_no_row_of_a_cluster_shows_does_not_describe_it(covariance_type: str, tmp_path: Path) -> None:
    model, X, k = clusters_with_a_column_that_one_lacks(covariance_type)
    top = list(model.top_features(3).values())
    assert sorted(top[k]) == ["x0", "x1"]
    assert all(len(names) == 3 for j, names in enumerate(top) if j != k)
    assert model.summary()["top features"] == top
    drawn = strengths(model)
    assert [drawn.columns[d] for d in drawn.strongest(k, 3)] == top[k]
    path = latens.save(model, tmp_path / "model.latens")
    assert latens.load(path).summary() == model.summary()

    entry = Entry(model, X)
    line, table = listing(entry), columns(entry)
    assert line is not None
    assert "x2" not in line.table.rows[k][-1]
    assert table is not None
    assert "no row of the cluster shows the column" in table.text
    cells = table.body.split("<tr>")[4].split("<td")[2:]  # of x2
    assert [NOT_SHOWN in cell for cell in cells] == [j == k for j in range(3)]
    assert 'class="unsound"' in cells[k]


def test_rows_that_lack_a_column_are_counted_batch_by_batch() -> None:
    _, X, _ = clusters_with_a_column_that_one_lacks("full")
    model = latens.GaussianMixture(2, random_state=0)
    for batch in np.array_split(X[np.random.default_rng(1).permutation(150)], 3):
        model.partial_fit(batch)
    assert model.unseen_rows_.sum(axis=0) == pytest.approx([0, 0, 40], abs=1e-6)


def test_a_level_that_one_row_of_a_class_shows_comes_after_what_all_show() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [22, 200])
    number = 3.0 * label + rng.normal(size=222)
    remark = np.where(label == 1, 1.0 + (rng.random(222) < 0.5), np.nan)
    remark[0] = 0  # of the 22 rows the only remark, and nowhere else
    X = np.column_stack([remark, number, 2.5 * label + rng.normal(size=222)])
    model = latens.LatentClassAnalysis(2, likelihoods={0: "categorical"}, random_state=0).fit(X)
    few = int(model.predict(X[:1])[0])
    assert model.top_features(3)[f"class{few}"] == ["x1", "x2", "x0"]
    profile = Entry(model, X).profile
    assert profile is not None
    odd = next(d for d, name in enumerate(profile.columns) if name.startswith("x0 = 0"))
    assert profile.strength[odd, few] > abs(profile.strength[profile.columns.index("x2"), few])  # and yet of one row
    assert odd not in profile.notable(few, 5)


def test_what_one_row_shows_is_no_effect_of_a_cause() -> None:
    rng = np.random.default_rng(0)
    on = rng.random((1500, 2)) < 0.05
    chance = 1 - (1 - 0.9 * on[:, :1] * [1, 1, 1, 0, 0, 0, 0]) * (1 - 0.9 * on[:, 1:] * [0, 0, 0, 1, 1, 1, 0])
    X = (rng.random((1500, 7)) < chance).astype(float)
    X[np.flatnonzero(on[:, 0])[0], 6] = 1  # a word that occurs once
    model = latens.NoisyOr(2, random_state=0).fit(X)
    profile = Entry(model, X).profile
    assert profile is not None
    k = int(np.argmax(model.components_[:, 0]))
    assert sorted(profile.notable(k, 5)) == [0, 1, 2]
    assert sorted(model.top_features(3)[f"cause{k}"]) == ["x0", "x1", "x2"]


def test_a_column_that_few_rows_show_comes_after_those_that_all_show() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(300, 1))
    X = z * [1.0, 1.0, 1.0, 1.0, 3.0] + rng.normal(size=(300, 5))
    X[4:, 4] = np.nan
    for model in (
        latens.FactorAnalysis(1, prior="ml").fit(X),
        latens.MultiViewFactorAnalysis(1, random_state=0).fit(X),
    ):
        assert model.top_features(5)["factor0"][-1] == "x4"
