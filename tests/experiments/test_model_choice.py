"""What the experiments on section 1.4 of document 000 and on the citations of document 004 find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latens.experiments import find


@pytest.mark.slow
def test_only_binary_factors_find_all_shapes() -> None:
    experiment = find("model-choice")
    settings = replace(experiment.quick, n_data_sets=1, n_test=200)
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    found = {row[0]: row[1] for row in result.tables[0].rows}
    assert found["BinaryFactorAnalysis"] == 8
    assert max(found["FactorAnalysis"], found["GaussianMixture"]) <= 4
    density = {row[0]: row[4] for row in result.tables[0].rows}
    assert density["BinaryFactorAnalysis"] == max(density.values())
    assert {claim.place.split(", ")[1] for claim in result.claims} == set(found)


def test_communities_are_found_from_citations() -> None:
    experiment = find("noisy-or-citations")
    result = experiment.run(replace(experiment.quick, n_samples=800), np.random.default_rng(0), lambda _: None)
    cosines = [row[1] for row in result.tables[0].rows]
    assert len(cosines) == 5
    assert min(cosines) > 0.9
    assert all(row[2] == row[3] for row in result.tables[0].rows)


@pytest.mark.extras  # text files are read by pandas
def test_a_file_of_citations_is_taken_in_place_of_generated_ones(tmp_path: Path) -> None:
    path = tmp_path / "cites.txt"
    rng = np.random.default_rng(1)
    sides = (("Pearl", "Jordan", "Lauritzen"), ("Vapnik", "Smola", "Burges"))
    lines = [f"p{i} {name}\n" for i in range(80) for name in sides[int(rng.integers(2))]]
    path.write_text("".join(lines), encoding="utf-8")
    experiment = find("noisy-or-citations")
    settings = replace(experiment.quick, data=str(path), upper_bound=3)
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    named = {frozenset(str(row[2]).split(", ")[:3]) for row in result.tables[0].rows}
    assert frozenset(sides[0]) in named
    assert frozenset(sides[1]) in named
