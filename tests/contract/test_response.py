"""Second derivatives of every model's bound, beside its second differences and the information of its likelihood."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from latens.core import Covarying, CovaryingAtRest, Narrow, Rows, Sloped
from latens.core.coordinates import Chart
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.sweep import serial_sweep
from latens.inference.uncertainty import response as response_module
from latens.inference.uncertainty.arrow import blocks_of
from latens.inference.uncertainty.response import LOCAL_TOL, STEP, Response, respond
from latens.models.factor_analysis.sums import summed
from latens.models.mixture.model import Memberships
from tests.contract.cases import CASES, Case, bound, posterior_midway, random_rows

# truncated posteriors list other states at other points, so that their bound has no second derivative
SMOOTH = [name for name in CASES if "truncated" not in name]


MANY_LOCAL_STEPS = {"classes-overdispersed", "classes-outliers", "classes-mixed"}  # seconds each


@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.slow) if n in MANY_LOCAL_STEPS else n for n in SMOOTH])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def responded(name: str) -> tuple[Case, Any, Rows, Response]:
    """Anywhere will do: nothing here asks for an optimum of the globals."""
    case, rng = CASES[name], np.random.default_rng(31)
    rows = random_rows(rng, 30, 3, holes=True, weighted=True)
    model, q = posterior_midway(case, rows, 2, rng)
    return case, model, rows, respond(model, [rows[:11], rows[11:]], q, ascent=False)


def second_difference(height: Any, response: Response, direction: np.ndarray, h: float) -> float:
    chart = response.chart
    ends = height(chart.at(h * direction)) + height(chart.at(-h * direction))
    return float((ends - 2 * height(chart.point)) / h**2)


def test_its_hessian_is_that_of_the_bound_and_symmetric(name: str) -> None:
    _, model, rows, response = responded(name)

    def height(q: Any) -> float:
        local = local_fixed_point(model, q, rows, tol=LOCAL_TOL)
        return bound(model, q, model.statistics(rows, local))

    rng = np.random.default_rng(32)
    for _ in range(3):
        direction = rng.normal(size=response.chart.size) / np.sqrt(response.chart.size)
        steep = abs(direction @ response.fixed @ direction) + abs(direction @ response.cross @ direction)
        found = direction @ response.hessian @ direction
        assert found == pytest.approx(second_difference(height, response, direction, 1e-3), abs=1e-4 * steep)
    cross = response.cross
    assert np.abs(cross).max() > 0
    assert np.abs(cross - cross.T).max() < 1e-5 * np.abs(response.fixed).max()


# columns of counts with a dispersion and of Student's t have parameters without a conjugate family
WITHOUT_SLOPES = {
    "classes-overdispersed",
    "classes-outliers",
    "classes-mixed",
    "views-outliers",
}


@pytest.mark.parametrize("name", list(CASES))
def test_slopes_in_closed_form_are_those_of_the_bound_also_away_from_the_point(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(34)
    rows = random_rows(rng, 20, 3, holes=True, weighted=True)
    model, q = posterior_midway(case, rows, 2, rng)
    stats = model.statistics(rows, local_fixed_point(model, q, rows))
    if not isinstance(model, Sloped):  # a model may do without
        return
    here = model.slopes(q, stats)
    assert (here is None) == (name in WITHOUT_SLOPES)
    if here is None:
        return
    chart = Chart(q)
    at, h = 0.03 * rng.normal(size=chart.size), 1e-5
    found = chart.pulled(at, model.slopes(chart.at(at), stats))
    ends = [[bound(model, chart.at(at + side * step), stats) for side in (h, -h)] for step in np.eye(chart.size)]
    slopes = np.diff(ends, axis=1)[:, 0] / (-2 * h)
    assert found == pytest.approx(slopes, rel=1e-5, abs=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize(
    "family", ["binary-", "factors-", "mixture-", "classes-", "ica-", "views-", "noisy-or-ml-exact"]
)
def test_models_of_every_family_have_slopes(family: str) -> None:
    rng = np.random.default_rng(35)
    rows = random_rows(rng, 20, 3, holes=True, weighted=True)
    names = [name for name in CASES if name.startswith(family)]
    assert names
    assert all(isinstance(posterior_midway(CASES[name], rows, 2, rng)[0], Sloped) for name in names)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.points and case.exact_rows])
def test_points_with_exact_rows_have_the_observed_information(name: str) -> None:
    case, model, rows, response = responded(name)
    rng = np.random.default_rng(33)
    for _ in range(3):
        direction = rng.normal(size=response.chart.size) / np.sqrt(response.chart.size)
        information = second_difference(lambda q: case.log_evidence(model, q, rows), response, direction, 1e-3)
        steep = abs(direction @ response.fixed @ direction)
        assert direction @ response.hessian @ direction == pytest.approx(information, abs=1e-4 * steep)


def in_blocks(name: str) -> tuple[Any, Any, list[Rows]]:
    rng = np.random.default_rng(31)
    rows = random_rows(rng, 30, 3, holes=True, weighted=True)
    model, q = posterior_midway(CASES[name], rows, 2, rng)
    return model, q, [rows[:11], rows[11:]]


@pytest.mark.parametrize("name", ["mixture-full-dirichlet", "factors-ard", "ica-heavy", "views-binary"])
def test_second_derivatives_take_one_pass_over_the_rows(name: str) -> None:
    model, q, blocks = in_blocks(name)
    start = respond(model, blocks, q, ascent=False)
    passes = []

    def counted(step: Any, batches: Any, warm: Any) -> Any:
        passes.append(len(batches))
        return serial_sweep(step, batches, warm)

    state = response_module.State(q, start.stats)
    again = response_module._differentiated(model, blocks, state, counted)
    assert passes == [2]
    assert np.array_equal(again.hessian, start.hessian)


def test_exact_local_steps_give_second_derivatives_without_error_of_differences(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside differences over two long steps, extrapolated to none."""
    model, q, blocks = in_blocks(name)
    if not model.exact_local(q) or not isinstance(model, Sloped) or name in WITHOUT_SLOPES:
        return
    found = respond(model, blocks, q, ascent=False)
    assert found.step < STEP
    long = []
    for step in (1e-3, 2e-3):
        monkeypatch.setattr(response_module, "SHORT_STEP", step)
        long.append(respond(model, blocks, q, ascent=False).hessian)
    assert found.hessian == pytest.approx((4 * long[0] - long[1]) / 3, abs=1e-8 * np.abs(found.fixed).max())
    assert np.abs(long[0] - found.hessian).max() > 1e-9 * np.abs(found.fixed).max()  # long steps do err


MIXTURES = ["mixture-full-dirichlet", "mixture-diag-process", "mixture-bernoulli-uniform"]


@pytest.mark.parametrize("name", MIXTURES)
def test_information_lost_with_the_codes_is_the_sum_of_rows_covariances(name: str) -> None:
    """Louis: Cov_n of the slopes of a row's log density, over the clusters that the row may be of."""
    rng = np.random.default_rng(36)
    rows = random_rows(rng, 25, 3, holes=False, weighted=False)
    model, q = posterior_midway(CASES[name], rows, 2, rng)
    response = respond(model, [rows], q, ascent=False)
    origin, zero = np.zeros(response.chart.size), 0.0 * response.stats

    def slopes(stats: Any) -> np.ndarray:
        return response.chart.pulled(origin, model.slopes(q, stats))

    shares, lost = np.asarray(model.local_step(q, rows).mean), np.zeros_like(response.cross)
    for n, share in enumerate(shares):
        one = rows[n : n + 1]
        each = [slopes(model.statistics(one, Memberships(state[None]))) - slopes(zero) for state in np.eye(2)]
        lost += np.cov(np.stack(each), rowvar=False, aweights=share, ddof=0)
    assert np.abs(lost).max() > 1e-3 * np.abs(response.fixed).max()
    assert response.cross == pytest.approx(lost, abs=1e-8 * np.abs(response.fixed).max())


SUMMED = ["factors-ml", "factors-ard"]


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", SUMMED)
def test_information_lost_in_closed_form_is_that_of_the_rows(name: str, holes: bool) -> None:
    """Sums of rows that stand for them, beside the same rows settled under every posterior."""
    rng = np.random.default_rng(37)
    rows = random_rows(rng, 40, 4, holes=False, weighted=True)
    if holes:
        seen = np.ones(rows.x.shape)
        seen[:15, 1] = seen[10:25, 3] = 0.0
        rows = Rows(rows.x * seen, seen, rows.weight)
    model, q = posterior_midway(CASES[name], rows, 2, rng)
    assert isinstance(model, Covarying)
    by_rows = respond(model, [rows], q, ascent=False)
    by_sums = respond(model, [summed(rows, patterns_too=True)], q, ascent=False)
    size = np.abs(by_rows.fixed).max()
    assert np.abs(by_rows.cross).max() > 1e-2 * size
    assert by_sums.cross == pytest.approx(by_rows.cross, abs=1e-8 * size)
    assert by_sums.fixed == pytest.approx(by_rows.fixed, abs=1e-8 * size)
    assert np.abs(by_sums.cross - by_sums.cross.T).max() < 1e-10 * size  # covariances


@pytest.mark.parametrize("weighted", [False, True])
def test_complete_views_have_the_information_that_is_lost_in_closed_form(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(38)
    rows = random_rows(rng, 40, 4, holes=False, weighted=weighted)
    model, q = posterior_midway(CASES["views-gaussian"], rows, 2, rng)
    found, size = respond(model, [rows[:15], rows[15:]], q, ascent=False), []
    monkeypatch.setattr(response_module, "_lost", lambda *_: size.append(1))
    by_rows = respond(model, [rows[:15], rows[15:]], q, ascent=False)
    assert size == [1]
    largest = np.abs(by_rows.fixed).max()
    assert np.abs(by_rows.cross).max() > 1e-2 * largest
    assert found.cross == pytest.approx(by_rows.cross, abs=1e-8 * largest)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("ica-")])
def test_sources_of_heavy_tails_have_the_information_that_is_lost_in_closed_form(
    name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scales hear of their sources, and these of the scales: beside the same rows settled under every posterior."""
    rng = np.random.default_rng(40)
    rows = random_rows(rng, 40, 4, holes=False, weighted=weighted)
    model, q = posterior_midway(CASES[name], rows, 2, rng)
    assert isinstance(model, CovaryingAtRest)
    batches, chart = [rows[:15], rows[15:]], Chart.sized(q)
    lost = response_module._lost(model, batches, (None, None), chart, blocks_of(chart))
    assert (lost is None) == any(kind in name for kind in ("light", "mixed", "mean-field", "scale-mixture"))
    if lost is None:
        return
    found = respond(model, batches, q, ascent=False)
    assert np.array_equal(found.cross, lost)
    assert np.abs(found.cross - found.cross.T).max() < 1e-12 * np.abs(found.fixed).max()
    monkeypatch.setattr(response_module, "_lost", lambda *_: None)
    by_rows = respond(model, batches, q, ascent=False)
    largest = np.abs(by_rows.fixed).max()
    assert np.abs(by_rows.cross).max() > 1e-2 * largest
    assert found.cross == pytest.approx(by_rows.cross, abs=2e-6 * largest)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("ica-")])
def test_coordinates_that_rows_see_alike_are_moved_once(
    name: str, holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(39)
    rows = random_rows(rng, 40, 4, holes=holes, weighted=True)
    model, q = posterior_midway(CASES[name], rows, 2, rng)
    assert isinstance(model, Narrow)
    few = response_module._fewest_moves(model, [rows], Chart(q))
    assert holes or few is None or len(few[0]) < Chart(q).size
    monkeypatch.setattr(response_module, "_lost", lambda *_: None)
    found = respond(model, [rows], q, ascent=False)
    monkeypatch.setattr(response_module, "_fewest_moves", lambda *_: None)
    every = respond(model, [rows], q, ascent=False)
    assert found.cross == pytest.approx(every.cross, abs=2e-6 * np.abs(every.fixed).max())
