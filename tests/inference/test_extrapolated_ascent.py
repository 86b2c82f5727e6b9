"""Ascent in leaps: to the end of plain ascent, in fewer iterations, and never below it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import State
from latens.core.coordinates import Chart
from latens.families.spike_slab import SpikeSlab
from latens.inference import extrapolated_ascent
from latens.inference.ascent import ascend
from latens.inference.extrapolated_ascent import ascend_in_leaps
from latens.inference.sweep import serial_sweep
from tests.contract.cases import CASES, posterior_midway, random_rows
from tests.inference.toy import Place, Scripted, some_rows

TOL = 1e-12


def close_clusters() -> Any:
    """A fit of two clusters 2.8 sd apart: each iteration leaves nine tenths of the way."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2)) + np.where(rng.random(300)[:, None] < 0.4, [2.8, 0.0], 0.0)
    model = latens.GaussianMixture(2, moves=False, prune=False, random_state=0).fit(x)
    return model._model, [model._rows_in_blocks(x, {})[0]], State(model.posterior_)


def counted(passes: list[int]) -> Any:
    def sweep(step: Any, batches: Any, warm: Any) -> Any:
        passes.append(len(batches))
        return serial_sweep(step, batches, warm)

    return sweep


def never(gain: float, elbo: float) -> bool:
    return False


def test_leaps_end_where_plain_ascent_does_in_a_fraction_of_the_iterations() -> None:
    model, batches, start = close_clusters()
    plain = ascend(model, batches, start, max_iter=5000, tol=TOL)
    passes: list[int] = []
    fit = ascend_in_leaps(model, batches, start, max_iter=5000, tol=TOL, enough=never, sweep=counted(passes))
    assert fit.elbo == pytest.approx(plain.elbo, abs=1e-7)
    gap = Chart(fit.state.q).coordinates(plain.state.q)
    assert gap is not None
    assert np.abs(gap).max() < 1e-4
    assert len(passes) < 0.3 * len(plain.trace)


def shrinking_steps(share: float, jitter: float) -> list[SpikeSlab]:
    """Posteriors of which one slab's logarithm nears 0 by steps that shrink, and one chance rounds next to 1."""
    spread = np.ones((2, 1))
    return [
        SpikeSlab(
            np.array([[0.5], [1 - (5 + 3 * jitter * (i % 2)) * 2.0**-52]]),
            spread,
            np.exp(share**i) * spread,
            np.ones(1),
        )
        for i in range(7)
    ]


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_a_chance_that_rounds_next_to_1_does_not_lead_a_leap(jitter: float) -> None:
    end = extrapolated_ascent._leap(shrinking_steps(0.9, jitter))
    assert end is not None
    assert np.log(end.variance) == pytest.approx(0.0, abs=1e-4)  # from .53, whence the next step would lead to .48
    assert end.on[1, 0] == pytest.approx(shrinking_steps(0.9, jitter)[-1].on[1, 0], abs=1e-15)


def test_a_leap_that_seems_too_long_goes_part_of_the_way() -> None:
    points = shrinking_steps(0.999, 0.0)
    farther = [replace(point, variance=point.variance**3) for point in points]
    end = extrapolated_ascent._leap(farther)
    assert end is not None
    length = np.log(farther[-1].variance) - np.log(end.variance)
    assert length == pytest.approx(extrapolated_ascent.LARGEST_STEP)


def test_a_leap_that_lowers_the_bound_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batches, start = close_clusters()
    plain = ascend(model, batches, start, max_iter=40, tol=TOL)
    rng, ends = np.random.default_rng(0), []

    def wrong_leap(points: Any) -> Any:
        chart = Chart(points[-1])
        ends.append(chart.at(rng.normal(size=chart.size)))
        return ends[-1]

    monkeypatch.setattr(extrapolated_ascent, "_leap", wrong_leap)
    passes: list[int] = []
    fit = ascend_in_leaps(
        model, batches, start, max_iter=40 + 5, tol=TOL, enough=never, sweep=counted(passes)
    )  # one iteration is lost for each leap
    assert len(ends) == 5
    assert len(passes) == 45
    assert fit.elbo == pytest.approx(plain.elbo, abs=1e-9)


def test_enough_ends_the_ascent_and_sees_plain_gains_only() -> None:
    model, batches, start = close_clusters()
    gains: list[float] = []

    def small(gain: float, elbo: float) -> bool:
        gains.append(gain)
        return gain < 1e-4

    fit = ascend_in_leaps(model, batches, start, max_iter=1000, tol=0.0, enough=small)
    assert gains[-1] < 1e-4
    assert all(gain >= 1e-4 for gain in gains[:-1])
    assert gains[-1] == fit.trace[-1].elbo - fit.trace[-2].elbo


def test_a_posterior_without_coordinates_takes_plain_iterations() -> None:
    heights = [-100 + 50 * (1 - 0.5**i) for i in range(200)]
    found = ascend_in_leaps(Scripted(heights), [some_rows()], State(Place()), max_iter=30, tol=0.0, enough=never)
    assert found.elbo == ascend(Scripted(heights), [some_rows()], State(Place()), max_iter=30, tol=0.0).elbo


@pytest.mark.parametrize("name", list(CASES))
def test_coordinates_of_another_point_lead_to_it(name: str) -> None:
    rng = np.random.default_rng(40)
    _, q = posterior_midway(CASES[name], random_rows(rng, 20, 3, holes=True, weighted=True), 2, rng)
    chart = Chart(q)
    there = 0.1 * rng.normal(size=chart.size)
    found = chart.coordinates(chart.at(there))
    assert found is not None
    assert found == pytest.approx(there, abs=1e-4)  # shares next to 1 are known to few digits


def test_a_point_of_another_shape_has_no_coordinates() -> None:
    from latens.families.beta import Beta

    chart = Chart(Beta(np.ones(2), np.ones(2)))
    assert chart.coordinates(Beta(np.ones(3), np.ones(3))) is None
    assert chart.coordinates(replace(chart.point, on=np.array([1.0, 0.0]))) is None
