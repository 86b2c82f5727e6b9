"""Units, samples and starts: the parts of the shell that touch rows before any model does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latens.core import Rows, blocks
from latens.estimators.fitting.starts import independent_directions, is_mostly_positive, positive_parts, random_parts
from latens.estimators.rows.sampling import filled, sample_rows
from latens.estimators.rows.units import Units
from tests.estimators.switching_causes import switched_rows


@pytest.mark.parametrize("c", [1e-150, 1e-3, 1.0, 1e150])
@pytest.mark.parametrize("centred", [False, True])
def test_rows_in_model_units_are_of_order_one(c: float, centred: bool) -> None:
    rows = Rows(c * (switched_rows() + 100 * centred))
    inside = Units.of(rows, centred=centred).enter(rows)
    assert 0.5 < np.sqrt(np.mean(inside.x**2)) < 2


def test_the_unit_is_a_power_of_two_and_costs_no_digit() -> None:
    rows = Rows(switched_rows() * 1e-7)
    frame = Units.of(rows, centred=False)
    assert math.log2(frame.scale).is_integer()
    assert np.array_equal(frame.leave(frame.enter(rows).x), rows.x)
    assert frame.log_scale == pytest.approx(math.log(frame.scale))


def test_positions_directions_and_variances_leave_as_they_should() -> None:
    frame = Units(np.array([10.0, -20.0]), 3)
    assert np.array_equal(frame.enter(Rows(np.array([[18.0, -12.0]]))).x, [[1.0, 1.0]])
    assert np.array_equal(frame.leave(np.array([[1.0, 1.0]])), [[18.0, -12.0]])
    assert np.array_equal(frame.leave_direction(np.array([1.0, 2.0])), [8.0, 16.0])
    assert np.array_equal(frame.enter_direction(np.array([8.0, 16.0])), [1.0, 2.0])
    assert np.array_equal(frame.leave_variance(np.array([1.0, 2.0])), [64.0, 128.0])


def test_holes_stay_zero_when_the_origin_moves() -> None:
    rows = Rows(np.array([[5.0, 0.0], [7.0, 9.0]]), np.array([[True, False], [True, True]]))
    frame = Units.of(rows, centred=True)
    assert frame.origin == pytest.approx([6.0, 9.0], abs=0.01)
    assert frame.enter(rows).x[0, 1] == 0


def test_the_unit_is_that_of_observed_entries() -> None:
    """Missing ones are stored as 0, which is far from rows about 1000."""
    rng = np.random.default_rng(0)
    x, seen = 1000 + rng.normal(size=(200, 3)), rng.random((200, 3)) < 0.5
    assert Units.of(Rows(np.where(seen, x, 0.0), seen), centred=True).exponent == 0


def test_a_column_gets_its_origin_from_the_first_rows_that_show_it() -> None:
    x = np.random.default_rng(0).normal(size=(9, 4))
    frame = Units.of(Rows(x * [1, 0, 1, 0], np.array([[True, False, True, False]] * 9)), centred=True)
    assert frame.unseen == (1, 3)
    assert frame.meeting(Rows(x * [1, 0, 1, 0], np.array([[True, False, True, False]] * 9))) is frame
    late = x * [1, 0, 1, 1] + [0, 0, 0, 1e6]
    weight = np.arange(1.0, 10)
    units = frame.meeting(Rows(late, np.array([[True, False, True, True]] * 9), weight))
    assert units.unseen == (1,)
    assert units.origin[3] == pytest.approx(np.average(late[:, 3], weights=weight), abs=0.01)
    assert np.array_equal(units.origin[:3], frame.origin[:3])
    assert units.exponent == frame.exponent
    assert units.meeting(Rows(late + 1)).origin[3] == units.origin[3]
    assert Units.of(Rows(x * [1, 0, 1, 0], np.array([[True, False, True, False]] * 9)), centred=False).unseen == ()


def test_rows_that_leave_the_range_of_squares_are_refused_column_by_column() -> None:
    frame = Units(np.zeros(2), np.array([400, -400]))
    assert frame.meeting(Rows(np.array([[1e150, 1e-100]]))) is frame
    with pytest.raises(ValueError, match=r"up to 1e\+150 in size.*divide all of them by 1e\+150"):
        frame.meeting(Rows(np.array([[1e10, 1e150]])))


def test_one_row_is_its_own_origin() -> None:
    x = np.array([[1e9, -3.25]])
    frame = Units.of(Rows(x), centred=True)
    assert frame.origin == pytest.approx(x[0], rel=1e-15)
    assert frame.scale > 1e8


def test_the_origin_is_that_of_the_weighted_rows() -> None:
    x = np.array([[1.0], [4.0], [1e9]])
    weighted = Units.of(Rows(x, None, np.array([2.0, 1.0, 0.0])), centred=True)
    repeated = Units.of(Rows(x[[0, 0, 1]]), centred=True)
    assert weighted.exponent == repeated.exponent
    assert weighted.origin == pytest.approx(repeated.origin, abs=1e-9)


@pytest.mark.parametrize("x", [np.zeros((5, 2)), np.full((5, 2), 3.0), np.full((5, 2), -1e-300)])
@pytest.mark.parametrize("centred", [False, True])
def test_constant_rows_have_a_unit_too(x: np.ndarray, centred: bool) -> None:
    frame = Units.of(Rows(x), centred=centred)
    assert 0 < frame.scale < math.inf
    assert np.all(np.isfinite(frame.enter(Rows(x)).x))


def test_a_sample_of_few_rows_is_all_of_them_in_an_order_of_its_own() -> None:
    x = switched_rows(50)
    sample = sample_rows(Rows(x))
    assert sample.x.shape == x.shape
    assert {tuple(row) for row in sample.x} == {tuple(row) for row in x}
    shuffled = sample_rows(Rows(x[np.random.default_rng(0).permutation(50)]))
    assert np.array_equal(sample.x, shuffled.x)


@pytest.mark.parametrize("holes", [False, True])
def test_a_sample_does_not_see_order_repetition_or_weights(holes: bool) -> None:
    rng = np.random.default_rng(1)
    x = switched_rows(300)
    seen = rng.random(x.shape) < 0.8 if holes else None
    x = x if seen is None else np.where(seen, x, 0.0)
    times = rng.integers(0, 4, 300)
    weighted = sample_rows(Rows(x, seen, times.astype(float)), limit=40)
    order = rng.permutation(np.repeat(np.arange(300), times))
    repeated = sample_rows(Rows(x[order], None if seen is None else seen[order]), limit=40)
    assert len(weighted) == 40
    assert np.array_equal(weighted.x, repeated.x)
    if holes:
        assert np.array_equal(weighted.seen, repeated.seen)


def test_a_sample_leaves_out_rows_of_weight_zero() -> None:
    x = switched_rows(50)
    weight = (np.arange(50) % 2).astype(float)
    assert {tuple(row) for row in sample_rows(Rows(x, None, weight)).x} <= {tuple(row) for row in x[1::2]}


@pytest.mark.parametrize("c", [1e-150, 1e-9, 1e9, 1e150])
def test_a_sample_does_not_see_the_unit(c: float) -> None:
    """Not even where rows have holes, whose pattern has no unit."""
    rng = np.random.default_rng(2)
    c = 2.0 ** round(math.log2(c))
    x = switched_rows(200)
    seen = rng.random(x.shape) < 0.8
    x = np.where(seen, x, 0.0)
    one, two = (sample_rows(Rows(scale * x, seen), limit=50) for scale in (1.0, c))
    assert len(one) == len(two) == 50
    assert np.array_equal(two.x, c * one.x)


@pytest.mark.extras
def test_rows_of_torch_are_sampled_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(3000, 4)), np.ones((500, 4))])  # rows that repeat each other too
    brought, of_host = list[int](), torch.Tensor.__array__

    def counted(tensor: torch.Tensor, *options: object, **more: object) -> np.ndarray:
        brought.append(tensor.numel())
        return of_host(tensor, *options, **more)  # type: ignore[no-any-return,call-overload]

    monkeypatch.setattr(torch.Tensor, "__array__", counted)
    there = sample_rows(Rows(torch.asarray(x)), 300)
    assert np.array_equal(there.x, sample_rows(Rows(x), 300).x)
    assert sorted(brought) == [300, 300 * 4]  # the sample and its numbers, and nothing as long as the table


def test_heavy_rows_are_sampled_more_often() -> None:
    x = np.arange(100.0)[:, None]
    weight = np.where(np.arange(100) < 10, 91.0, 1.0)
    sample = sample_rows(Rows(x, None, weight), limit=50)
    assert np.mean(sample.x < 10) == pytest.approx(0.91, abs=0.02)


def test_holes_are_filled_with_column_means_for_a_start() -> None:
    rows = Rows(np.array([[1.0, 0.0], [3.0, 8.0]]), np.array([[True, False], [True, True]]))
    assert np.array_equal(filled(rows), [[1.0, 8.0], [3.0, 8.0]])


def test_blocks_cover_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(switched_rows(200))
    monkeypatch.setattr("latens.core.rows.BLOCK_FLOATS", 80 * (6 + 4))
    parts = blocks(rows, 4)
    assert [len(part) for part in parts] == [80, 80, 40]
    assert np.array_equal(np.vstack([part.x for part in parts]), rows.x)
    assert [len(part) for part in blocks(rows, 10**12)] == [64, 64, 64, 8]  # never smaller


@pytest.mark.parametrize("start", [positive_parts, independent_directions, random_parts])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_starts_have_the_right_shape_and_size(start: object, k: int) -> None:
    x = np.abs(switched_rows(80))
    parts = start(x, k, np.random.default_rng(0))  # type: ignore[operator]
    assert parts.shape == (k, x.shape[1])
    assert np.all(np.isfinite(parts))
    assert np.abs(parts).max() > 0.05 * x.std()


@pytest.mark.parametrize("start", [positive_parts, independent_directions, random_parts])
@pytest.mark.parametrize(
    "x", [np.zeros((5, 3)), np.ones((5, 3)), np.eye(2), np.ones((1, 3)), np.outer(np.arange(6.0), [1, 2, 3])]
)
def test_starts_from_degenerate_rows_are_finite(start: object, x: np.ndarray) -> None:
    parts = start(x, 4, np.random.default_rng(0))  # type: ignore[operator]
    assert parts.shape == (4, x.shape[1])
    assert np.all(np.isfinite(parts))


def test_noise_about_zero_does_not_make_rows_signed() -> None:
    rng = np.random.default_rng(0)
    x = np.abs(switched_rows(100))
    assert is_mostly_positive(x + 0.05 * rng.normal(size=x.shape))
    assert not is_mostly_positive(switched_rows(100))
