"""What the experiments on document 003 find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from latens.experiments import find, multi_view, multi_view_omics
from latens.experiments.experiment import Result
from latens.experiments.mofapy2_peer import Factors


def table(result: Result, name: str) -> list[dict[str, Any]]:
    (found,) = [one for one in result.tables if one.name == name]
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_factors_and_their_supports_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_view, "is_installed", lambda: False)
    experiment = find("multi-view")
    result = experiment.run(experiment.quick, np.random.default_rng(0), lambda _: None)
    rows = {row["data"]: row for row in table(result, "recovery")}
    assert list(rows) == ["complete", "entries missing", "views missing", "dense loadings", "mixed"]
    for case in ("complete", "entries missing"):
        assert rows[case]["factor correlation"] > 0.95
        assert rows[case]["support AUROC"] > rows[case]["the same, factors known"] - 0.05
        assert rows[case]["factors"] == 3
    assert all(row["falls of the bound"] == 0 for row in rows.values())
    assert all(row["method"] == "latens" for row in rows.values())
    assert all(0.7 < row["the same, factors known"] <= 1 for row in rows.values())
    for row in table(result, "explained"):
        assert 0 < row["total"] <= 1
    names = [figure.name for section in result.figures for figure in section.figures]
    assert names[:4] == ["loadings-true", "loadings-found", "explained-complete-view0", "explained-complete-view1"]
    assert "mofapy2 is not installed" in result.notes[0]


def test_a_judgement_of_the_truth_is_full_marks() -> None:
    _, truth = multi_view.make_multiview(100, (40, 30), n_factors=3, random_state=0)
    perfect = Factors(-truth.codes[:, ::-1], {v: -w[::-1] for v, w in truth.components.items()}, np.arange(3.0), 1.0)
    correlation, area, _, factors, _, falls = multi_view._judge(perfect, truth, 1.0)
    assert (correlation, area, factors, falls) == (pytest.approx(1), pytest.approx(1), 3, 0)
    rng = np.random.default_rng(0)
    noise = Factors(
        rng.normal(size=(100, 3)),
        {v: rng.normal(size=w.shape) for v, w in truth.components.items()},
        np.arange(3.0)[::-1],
        1.0,
    )
    correlation, area, _, _, _, falls = multi_view._judge(noise, truth, 1.0)
    assert correlation < 0.5
    assert area == pytest.approx(0.5, abs=0.15)
    assert falls == 2


def test_generated_views_stand_in_for_patients() -> None:
    experiment = find("multi-view-omics")
    result = experiment.run(experiment.quick, np.random.default_rng(0), lambda _: None)
    kinds = {row["view"]: row["likelihood"] for row in table(result, "explained")}
    assert kinds == {"expression": "gaussian", "proteins": "gaussian", "mutations": "bernoulli"}
    gains = {row["view"]: row["gain"] for row in table(result, "imputation")}
    assert gains["expression"] > 0.1
    assert any("these are no patients" in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latens.errors.ConstantColumns", "ignore::latens.errors.DoubtfulScale")
def test_patients(data_file: Callable[[str], Path]) -> None:
    experiment = find("multi-view-omics")
    start = data_file("multiomics/breastTCGA_mrna.csv").with_name("breastTCGA")
    settings = replace(experiment.quick, data=str(start))
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    best = table(result, "associations")[0]
    assert best["column"] == "subtype"
    assert best["adjusted p"] < 1e-10
    assert all(row["gain"] > 0.1 for row in table(result, "imputation"))


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    read = multi_view_omics._tables
    rng, settings = np.random.default_rng(0), multi_view_omics.Settings()
    with pytest.raises(ValueError, match=r"there are no files .*nothing_\*\.csv"):
        read(replace(settings, data=str(tmp_path / "nothing")), rng)
    for name in ("a_rna", "a_mut", "b_rna"):
        (tmp_path / f"{name}.csv").write_text('"","g1","g2"\n"p1",1,NA\n"p2",3,400\n')
    (tmp_path / "a_label.csv").write_text('"","sex"\n"1","f"\n"2","m"\n')
    with pytest.raises(ValueError, match=r"tables of several studies \(a, b\)"):
        read(replace(settings, data=str(tmp_path)), rng)
    sheets, labels, logged = read(replace(settings, data=str(tmp_path / "a")), rng)
    assert list(sheets) == ["mut", "rna"]
    assert logged == ["mut", "rna"]
    assert labels == {"sex": ["f", "m"]}
    assert sheets["rna"].X[1, 1] == pytest.approx(np.log1p(400))
    assert np.isnan(sheets["rna"].X[0, 1])


def test_factors_that_are_independent_given_a_row_cost_what_a_divergence_says() -> None:
    rng = np.random.default_rng(5)
    loadings, noise = rng.normal(size=(2, 6)), rng.uniform(0.5, 2, 6)
    model = SimpleNamespace(
        n_components_=2, components_={"v": loadings}, noise_variance_={"v": noise}, scores_=np.zeros((7, 2))
    )
    precision = np.eye(2) + loadings / noise @ loadings.T
    covariance = np.diag(1 / np.diagonal(precision))  # the best independent Gaussian
    divergence = 0.5 * (np.trace(precision @ covariance) - 2 - np.linalg.slogdet(precision @ covariance)[1])
    assert multi_view._joint_gain(model) == pytest.approx(7 * divergence)
