"""What the experiment on weight posteriors finds."""

import numpy as np
import pytest

from latens.experiments import find

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_factors_beat_swag_and_its_diagonal_and_draw_tensors_as_one(quick):
    experiment = find("weight-posterior")
    result = experiment.run(
        experiment.quick if quick else experiment.settings, np.random.default_rng(50002), lambda _: None
    )
    summary, _, correlation = result.tables
    for n, factors, swag, diagonal in summary.rows:
        assert factors < swag
        assert factors < (diagonal if n >= 300 else 1.01 * diagonal)
    assert correlation.rows[0][1] > 0.95
    figures = [figure for section in result.figures for figure in section.figures]
    assert all(figure.name and figure.caption for figure in figures)
