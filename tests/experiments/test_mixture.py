"""What the experiment on document 001 finds."""

from __future__ import annotations

import numpy as np
import pytest

from latens.experiments import find


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_moves_reach_the_best_bound_and_the_printed_sum_is_too_high(quick: bool) -> None:
    experiment = find("mixture")
    settings = experiment.quick if quick else experiment.settings
    result = experiment.run(settings, np.random.default_rng(0), lambda _: None)
    random, middle, ours, truth = (
        dict(zip(result.tables[0].columns, row, strict=True)) for row in result.tables[0].rows
    )
    bound = "bound (nats)"
    assert ours["reached the best bound"] == "1 of 1"
    assert ours[bound] >= truth[bound] - 1e-3 * settings.n_samples
    assert middle[bound] <= random[bound] + 1e-9
    assert "wrong sign" in result.notes[1]
    courses = {row[0] for row in result.tables[1].rows}
    assert len(courses) == settings.n_starts + 1
    for name in courses:
        assert np.all(np.diff([row[2] for row in result.tables[1].rows if row[0] == name]) > -1e-8)
    assert [figure.name for section in result.figures for figure in section.figures][:4] == [
        "true-data",
        "posterior",
        "posterior-moves",
        "elbo",
    ]
