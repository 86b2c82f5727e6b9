"""The experiments on document 002 at small sizes: what they claim is in their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latens.experiments import find, write


def quiet(text: str) -> None:
    """Progress that nobody watches."""


@pytest.mark.slow
def test_online_em_freezes_where_its_warm_up_foretells_it(tmp_path: Path) -> None:
    experiment = find("online-fa")
    settings = replace(experiment.quick, sizes=(20,), n_components=3, n_samples=(100, 500, 1500), n_trials=1)
    result = experiment.run(settings, np.random.default_rng(0), quiet)
    summary, freeze = result.tables[:2]
    wide = dict(zip(summary.columns, summary.rows[-1], strict=True))
    assert wide["online EM / exact"] > 1.5
    assert wide["transport / exact"] < 1.2
    thaw = [row[1] for row in freeze.rows]
    assert thaw[0] < thaw[1] < thaw[2]
    assert thaw[2] > settings.n_samples[-1]
    page = write(experiment, settings, 0, result, tmp_path)
    assert page.is_file()
    assert len(list(tmp_path.glob("covariance-*.svg"))) == 3
    assert len(list(tmp_path.glob("wasserstein-*.svg"))) == 3


@pytest.mark.slow
def test_only_the_corrected_sampler_finds_the_posterior(tmp_path: Path) -> None:
    experiment = find("regression-posterior")
    settings = replace(experiment.quick, n_epochs=150, ranks=(2,))
    result = experiment.run(settings, np.random.default_rng(1), quiet)
    table = {row[0]: row[1:] for row in result.tables[0].rows}
    assert max(table["Langevin"]) < 1
    assert all(plain > 5 * good for plain, good in zip(table["SGD iterates"], table["Langevin"], strict=True))
    assert "generated" in result.notes[-1]
    assert write(experiment, settings, 0, result, tmp_path).is_file()


def test_the_real_sets_are_used_where_they_are_given(data_file: Callable[[str], Path]) -> None:
    folder = data_file("uci/yacht/data.csv.gz").parents[2]
    experiment = find("regression-posterior")
    settings = replace(experiment.quick, n_epochs=60, ranks=(1,), data=str(folder))
    result = experiment.run(settings, np.random.default_rng(2), quiet)
    assert result.tables[0].columns[1:] == ("housing", "concrete", "energy", "yacht")
    assert not any("generated" in note for note in result.notes)
