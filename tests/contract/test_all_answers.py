"""What every model says about rows: densities that add up, moments that can be, draws that are its own.

`test_answers` goes further for binary factors, whose posteriors can be written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.core import Rows
from tests.contract.cases import CASES, EXCUSED, Case, posterior_midway, random_rows

COUNTS = np.arange(200.0)  # all that a count may be


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every case, but those for which the table says why a test means nothing."""
    excused = EXCUSED.get(metafunc.function.__name__, {})
    metafunc.parametrize("case", [pytest.param(CASES[name], id=name) for name in CASES if name not in excused])


def asked(case: Case, seed: int, n: int, d: int, k: int, *, holes: bool = False) -> tuple[Any, Any, Rows]:
    """A model, a posterior that has seen rows, and the rows."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n, d, holes=holes, weighted=False)
    return (*posterior_midway(case, rows, k, rng), rows)


def is_binary(model: Any, rows: Rows) -> bool:
    """Whether the model sees 0 and 1 where the contract gives it real numbers."""
    return hasattr(model, "see") and bool(np.isin(model.see(rows).x, [0.0, 1.0]).all())


def log_density(model: Any, q: Any, rows: Rows) -> np.ndarray:
    return np.asarray(model.log_predictive(q, rows, model.local_step(q, rows)))


def everything(model: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Values (S, 1) that stand for all that the last entry of a row may be, and what each counts."""
    listed = getattr(model, "listed", None)  # by models of levels or counts, a real number for each
    if listed is not None:
        values = np.asarray(listed, float)
        return values[:, None], np.ones(len(values))
    seen = np.asarray(model.see(rows).x) if hasattr(model, "see") else np.asarray(rows.x)
    if np.array_equal(seen, np.round(seen)):  # whole numbers, each of which the model sees as itself
        counts = Rows(np.repeat(COUNTS[:, None], rows.x.shape[1], axis=1))
        values = np.unique(np.asarray(model.see(counts).x)[:, 0])
        return values[:, None], np.ones(len(values))
    u = (np.arange(6000) + 0.5) / 6000 * np.pi - np.pi / 2
    return 3 * np.tan(u)[:, None], 3 * np.pi / 6000 / np.cos(u) ** 2


def test_the_predictive_density_adds_up_to_one_or_to_less_where_it_is_a_bound(case: Case) -> None:
    model, q, rows = asked(case, 21, 25, 1, 2)
    x, mass = everything(model, rows)
    whole = float(np.exp(log_density(model, q, Rows(x))) @ mass)
    if model.score_is_bound(q):
        assert 0.2 < whole <= 1 + 1e-6
    else:
        assert whole == pytest.approx(1, abs=1e-5)


def test_a_hole_is_a_sum_over_what_it_may_hold(case: Case) -> None:
    model, q, rows = asked(case, 22, 25, 2, 2, holes=True)
    if model.score_is_bound(q):
        return
    x, mass = everything(model, rows)
    for value in (0.0, 1.0):
        full = np.exp(log_density(model, q, Rows(np.column_stack([np.full(len(x), value), x])))) @ mass
        gappy = np.exp(log_density(model, q, Rows(np.array([[value, 0.0]]), np.array([[True, False]]))))
        assert gappy == pytest.approx(full, rel=1e-5)


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_the_predictive_density_is_not_below_the_row_bound(case: Case, holes: bool) -> None:
    model, q, rows = asked(case, 23, 40, 4, 3, holes=holes)
    local = model.local_step(q, rows)
    bounds = model.row_bounds(q, rows, local)
    assert np.all(np.isfinite(bounds))
    assert np.min(model.log_predictive(q, rows, local) - bounds) > -1e-9


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_codes_and_imputations_have_moments_that_can_be(case: Case, holes: bool) -> None:
    model, q, rows = asked(case, 26, 30, 4, 3, holes=holes)
    local = model.local_step(q, rows)
    mean, variance = model.codes(rows, local)
    assert mean.shape == variance.shape == (30, 3)
    filled, spread = model.impute(q, rows, local)
    assert filled.shape == spread.shape == (30, 4)
    for array in (mean, variance, filled, spread):
        assert np.all(np.isfinite(array))
    assert variance.min() >= 0
    assert spread.min() >= 0
    if is_binary(model, rows):
        assert filled.min() >= 0
        assert filled.max() <= 1
        assert spread == pytest.approx(filled * (1 - filled), abs=1e-9)


def test_rows_are_drawn_about_the_reconstruction_of_their_codes(case: Case) -> None:
    rng = np.random.default_rng(29)
    model, q, _ = asked(case, 29, 40, 3, 3)
    point = q.sample(rng)
    x, codes = model.draw(point, 6000, rng)
    gap = x - np.asarray(model.reconstruct(point, codes))
    assert np.all(np.abs(gap.mean(axis=0)) < 5 * gap.std(axis=0) / np.sqrt(len(x)) + 1e-12)


def test_a_row_that_shows_nothing_gets_the_codes_of_a_draw(case: Case) -> None:
    if not case.points:
        return  # under a posterior, codes answer to expected logarithms and draws to draws
    rng = np.random.default_rng(30)
    model, q, _ = asked(case, 30, 40, 3, 3, holes=True)
    nothing = Rows(np.zeros((1, 3)), np.zeros((1, 3), bool))
    local = model.local_step(q, nothing)
    for _ in range(20):
        local = model.local_step(q, nothing, local)
    mean, _ = model.codes(nothing, local)
    _, codes = model.draw(q, 20_000, rng)
    error = codes.std(axis=0) / np.sqrt(len(codes))
    assert np.all(np.abs(codes.mean(axis=0) - mean[0]) < 5 * error + 1e-9)


def test_a_draw_of_the_globals_is_a_point(case: Case) -> None:
    rng = np.random.default_rng(31)
    model, q, _ = asked(case, 31, 40, 3, 2)
    one, codes = q.sample(rng), rng.random((5, 2))
    assert one.n_components == 2
    again = one.sample(rng)
    assert np.array_equal(model.reconstruct(again, codes), model.reconstruct(one, codes))


def test_only_keeps_components_in_the_given_order(case: Case) -> None:
    model, q, _ = asked(case, 32, 40, 4, 3)
    part = q.only(np.array([2, 0]))
    assert part.n_components == 2
    few = np.asarray(model.reconstruct(part, np.array([[0.0, 1.0], [1.0, 0.0]])))
    all_ = np.asarray(model.reconstruct(q, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])))
    assert few == pytest.approx(all_, rel=1e-9, abs=1e-12)


def test_importance_is_a_share(case: Case) -> None:
    model, q, rows = asked(case, 33, 60, 4, 3)
    share = model.importance(q, model.statistics(rows, model.local_step(q, rows)))
    assert share.shape == (3,)
    assert share.min() >= 0
    assert share.sum() <= 1 + 1e-9
