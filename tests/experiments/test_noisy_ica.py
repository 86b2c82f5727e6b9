"""What the experiment on section 2 of document 000 finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latens.experiments import find


@pytest.mark.slow
def test_unequal_noise_is_where_factors_and_sources_pay() -> None:
    experiment = find("noisy-ica")
    settings = replace(experiment.quick, snrs=(0.0,))
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    at = {(row[0], row[2]): row[3] for row in result.tables[0].rows}
    assert at["unequal", "NoisyICA"] > at["unequal", "FastICA"] + 0.05
    assert at["unequal", "NoisyICA"] > at["unequal", "FA, then FastICA"] - 0.01
    assert at["equal", "NoisyICA"] > at["equal", "FastICA"] - 0.02
    assert [row[3:] for row in result.tables[1].rows] == [(4, 4)] * 3
    names = [figure.name for section in result.figures for figure in section.figures]
    assert names[:3] == ["separation-equal", "separation-unequal", "student-t"]


@pytest.mark.slow
def test_a_mother_and_a_child_are_heard(data_file: Callable[[str], Path]) -> None:
    experiment = find("noisy-ica")
    settings = replace(experiment.quick, snrs=(10.0,), data=str(data_file("signals/foetal_ecg.dat")))
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    assert result.tables[2].name == "recording"
    assert len(result.tables[2].rows) >= 4
    with pytest.raises(ValueError, match="there is no file"):
        experiment.run(replace(settings, data="nowhere.dat"), np.random.default_rng(0), lambda _: None)
