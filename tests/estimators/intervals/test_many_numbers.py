"""All numbers of posteriors too large for all second derivatives: in the directions that codes leave unknown."""

from __future__ import annotations

import numpy as np
import pytest

import latens
from latens.core import State
from latens.core.coordinates import Chart
from latens.estimators.intervals import intervals
from latens.inference.sweep import serial_sweep
from latens.inference.uncertainty import response_of_many
from latens.inference.uncertainty.arrow import arrow_of, blocks_of
from latens.inference.uncertainty.response import STEP, ascend_to
from tests.estimators.intervals.test_few_numbers import causes, clusters, views


def switches(rng: np.random.Generator) -> np.ndarray:
    loadings = np.array([[2.0, 2.0, 0.0, 0.0, 1.0], [1.0, 2.0, 1.5, 0.0, 0.0]])
    return (rng.random((200, 2)) < 0.4) @ loadings + rng.normal(size=(200, 5))


def answers(rng: np.random.Generator) -> np.ndarray:
    on = rng.random(300)[:, None] < 0.4
    return (rng.random((300, 8)) < np.where(on, 0.25, 0.65)).astype(float)


def measured_and_said(rng: np.random.Generator) -> dict[str, np.ndarray]:
    x = views(rng)
    return {"measured": x, "said": (x[:, ::2] + rng.normal(size=(150, 4)) > 0).astype(float)}


CASES = {
    "views": (lambda: latens.MultiViewFactorAnalysis(2, random_state=0), views),
    "yes/no views": (lambda: latens.MultiViewFactorAnalysis(2, random_state=0), measured_and_said),
    "factors": (lambda: latens.FactorAnalysis(2, prior="ard", random_state=0), views),
    "noisy-OR": (lambda: latens.NoisyOr(2, random_state=0), causes),
    "full clusters": (lambda: latens.GaussianMixture(2, random_state=0), clusters),
    "diagonal clusters": (lambda: latens.GaussianMixture(2, covariance_type="diag", random_state=0), clusters),
    "classes": (lambda: latens.BernoulliMixture(2, random_state=0), answers),
    "switches": (lambda: latens.BinaryFactorAnalysis(2, e_step="exact", random_state=0), switches),
    "sources": (lambda: latens.NoisyICA(2, random_state=0), views),
}


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
@pytest.mark.parametrize("name", CASES)
def test_all_numbers_of_a_large_posterior_have_the_errors_of_all_second_derivatives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, draw = CASES[name]
    x = draw(np.random.default_rng(0))
    model = build().fit(x)
    dense = model.intervals(x, method="response")
    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    many = model.intervals(x, method="response")
    assert many.method.startswith("response in ")
    assert {row[:4] for row in many.rows} == {row[:4] for row in dense.rows}
    every = {row[:4]: row for row in dense.rows}
    pairs = [(row, every[row[:4]]) for row in many.rows if np.isfinite(every[row[:4]][5])]
    assert [row[5] for row, _ in pairs] == pytest.approx([other[5] for _, other in pairs], rel=0.05)
    assert [row[4] for row, _ in pairs] == pytest.approx([other[4] for _, other in pairs], rel=0.01, abs=0.01)
    narrow = {row[:4]: row for row in model.intervals(x, method="mean-field").rows}
    assert any(narrow[row[:4]][5] < 0.9 * row[5] for row, _ in pairs if row[:4] in narrow)
    assert np.mean([row[8] == other[8] for row, other in pairs]) > 0.9


def test_a_curvature_whose_blocks_meet_is_not_taken_for_one_whose_blocks_do_not() -> None:
    model = latens.FactorAnalysis(2, prior="ard", random_state=0).fit(views(np.random.default_rng(0)))
    top = ascend_to(model._model, [model._state.data], State(model.posterior_), serial_sweep, 0.0)
    chart = Chart(top.q)

    def product(v: np.ndarray, meeting: float) -> np.ndarray:
        side = STEP / np.abs(v).max() * v
        ends = [chart.pulled(each, model._model.slopes(chart.at(each), top.stats)) for each in (side, -side)]
        return (ends[1] - ends[0]) * (np.abs(v).max() / (2 * STEP)) + meeting * v.sum()

    blocks = blocks_of(chart)[0]
    arrow = arrow_of(lambda v: product(v, 0.0), blocks, 1e-5)
    assert arrow is not None
    assert arrow_of(lambda v: product(v, 1.0), blocks, 1e-5) is None
    rng = np.random.default_rng(1)
    u, v = arrow.free * rng.normal(size=(2, chart.size))
    assert arrow.pulled(arrow.times(arrow.spread(u))) == pytest.approx(u, abs=1e-6)  # R' (-A) R = 1
    assert u @ arrow.pulled(v) == pytest.approx(arrow.spread(u) @ v)


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
def test_numbers_that_directions_did_not_settle_are_not_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    x = views(np.random.default_rng(0))
    model = latens.FactorAnalysis(2, prior="ard", random_state=0).fit(x)
    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    monkeypatch.setattr(response_of_many, "MOST_DIRECTIONS", 6)
    monkeypatch.setattr(response_of_many, "AT_A_TIME", 2)
    table = model.intervals(x)
    assert table.method == "response in 6 directions"
    assert "6 directions did not settle it" in table["why"]
    assert not all(table["sound"])


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
def test_clusters_that_leave_nothing_unknown_are_told_as_if_memberships_were_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 3)) + 60.0 * (np.arange(80)[:, None] % 2)
    model = latens.GaussianMixture(2, random_state=0).fit(x)
    dense = model.intervals(x)
    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    many = model.intervals(x)
    assert many.method == "response in 0 directions"
    assert many["std"] == pytest.approx(dense["std"], rel=1e-3)


def test_roots_in_single_precision_lead_where_those_in_double_do() -> None:
    model = latens.FactorAnalysis(2, prior="ard", random_state=0).fit(views(np.random.default_rng(0)))
    chart = Chart(ascend_to(model._model, [model._state.data], State(model.posterior_), serial_sweep, 0.0).q)
    arrow = response_of_many._arrow(chart, lambda q: model._model.slopes(q, model._state.stats))
    assert arrow is not None
    rounded, v = arrow.rounded(), np.random.default_rng(1).normal(size=chart.size).astype(np.float32)
    for name in ("spread", "pulled"):
        ours, theirs = (getattr(each, name)(v) for each in (rounded, arrow))
        assert ours.dtype == np.float32
        assert ours == pytest.approx(theirs, abs=1e-5 * np.abs(theirs).max())


@pytest.mark.filterwarnings("ignore::latens.errors.AllKept")
def test_curvature_of_noise_that_many_rows_tell_is_exact_enough_for_its_flattest_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shape and rate of a noise precision are told apart by 1 / N of their curvature: coarse differences lose it."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(3, 20)) * (rng.random((3, 20)) < 0.5)
    x = rng.normal(size=(50_000, 3)) @ loadings + rng.normal(size=(50_000, 20)) + 30.0
    model = latens.MultiViewFactorAnalysis(3, random_state=0).fit(x)
    dense = model.intervals(x, method="response")
    monkeypatch.setattr(intervals, "MOST_COORDINATES", 10)
    many = model.intervals(x, method="response")
    assert many["std"] == pytest.approx(dense["std"], rel=0.02)
