"""The two noisy-OR experiments at small sizes: what they claim is in their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latens.experiments import noisy_or_images, noisy_or_text, write


def quiet(text: str) -> None:
    """Progress that nobody watches."""


@pytest.mark.slow
def test_all_pictures_are_found_by_bayes_and_likelihood(tmp_path: Path) -> None:
    experiment = noisy_or_images.EXPERIMENT
    settings = replace(experiment.quick, n_samples=500, n_jensen=80)
    result = experiment.run(settings, np.random.default_rng(50_000), quiet)
    summary = {row[0]: row for row in result.tables[0].rows}
    assert summary["Bayes"][2] == summary["ML"][2] == 8
    for name in ("ML", "Jensen"):
        assert summary[name][4] <= summary[name][5] + 1e-9  # bound, log probability
    page = write(experiment, settings, 0, result, tmp_path)
    assert page.is_file()
    assert {"pictures.svg", "rows.svg", "bound.svg"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_occasions_of_baskets_are_found_and_profiles_help(tmp_path: Path) -> None:
    experiment = noisy_or_text.EXPERIMENT
    result = experiment.run(experiment.quick, np.random.default_rng(50_001), quiet)
    assert "10 are found" in result.notes[1]
    held_out = dict(result.tables[1].rows)
    assert held_out[3] > held_out[1]
    assert "They are not text." in result.notes[-1]
    write(experiment, experiment.quick, 0, result, tmp_path)
    assert {"causes.svg", "usage.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_documents_may_be_given(data_file: Callable[[str], Path]) -> None:
    experiment = noisy_or_text.EXPERIMENT
    settings = replace(experiment.quick, data=str(data_file("text/20news_w100.mat")), n_samples=800, n_components=6)
    result = experiment.run(settings, np.random.default_rng(50_002), quiet)
    words = " ".join(str(row[2]) for row in result.tables[0].rows)
    assert "god" in words
    assert "windows" in words


def test_a_file_that_is_not_there_or_not_right_is_refused(tmp_path: Path) -> None:
    from scipy.io import savemat

    experiment, path = noisy_or_text.EXPERIMENT, tmp_path / "other.mat"
    with pytest.raises(ValueError, match="there is no file"):
        experiment.run(replace(experiment.quick, data=str(path)), np.random.default_rng(0), quiet)
    savemat(path, {"x": np.ones(3)})
    with pytest.raises(ValueError, match="expected documents"):
        experiment.run(replace(experiment.quick, data=str(path)), np.random.default_rng(0), quiet)
