"""One batch of data: what is known of its rows goes wherever they go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from latens.core import Rows, Source, blocks
from latens.estimators.rows.sampling import distinct, sample_rows, sample_source, stacked
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import occupied
from latens.inference.sweep import serial_sweep

GROUP = np.array([0.0, 1.0, 0.0, np.nan, 2.0])
PRECISION = np.arange(10.0).reshape(5, 2) + 1


@pytest.fixture
def rows() -> Rows:
    x = np.arange(15.0).reshape(5, 3)
    return Rows(x, x != 4, np.array([1.0, 0, 2, 1, 3]), {"group": GROUP, "precision": PRECISION})


def test_what_is_known_is_sliced_with_the_rows(rows: Rows) -> None:
    assert np.array_equal(rows[1:4].aux["group"], GROUP[1:4], equal_nan=True)
    assert np.array_equal(rows[1:4].aux["precision"], PRECISION[1:4])


def test_chosen_rows_keep_everything_that_is_theirs(rows: Rows) -> None:
    few = rows.take(np.array([4, 0]))
    assert few.x.tolist() == [[12, 13, 14], [0, 1, 2]]
    assert few.seen is not None
    assert few.seen.tolist() == rows.seen[[4, 0]].tolist()
    assert few.weight.tolist() == [3, 1]
    assert few.aux["group"].tolist() == [2, 0]
    assert few.aux["precision"].tolist() == PRECISION[[4, 0]].tolist()


def test_columns_and_units_leave_it_as_it_is(rows: Rows) -> None:
    for part in (rows.columns(slice(1, 2)), Units(np.ones(3), 2).enter(rows), occupied(replace(rows, weight=None))):
        assert part.aux["precision"] is PRECISION


def test_rows_that_do_not_count_go_with_what_is_known_of_them(rows: Rows) -> None:
    assert occupied(rows).aux["precision"].tolist() == PRECISION[[0, 2, 3, 4]].tolist()


def test_counts_above_each_number_are_those_of_rows_by_their_weights() -> None:
    x = np.array([[0.0, 3.0], [2.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(Rows(x).counts_above, [[2, 2], [1, 1], [0, 1]])
    np.testing.assert_array_equal(Rows(x, weight=np.array([2.0, 1.0, 0.5])).counts_above, [[1.5, 3], [1, 2], [0, 2]])
    assert Rows(np.zeros((2, 3))).counts_above.shape == (0, 3)


def test_rows_that_differ_in_what_is_known_are_different() -> None:
    x = np.ones((4, 2))
    group = np.array([0.0, 1.0, np.nan, 0.0])
    once = distinct(Rows(x, aux={"group": group}))
    assert once.weight is not None
    weight_of_group = dict(zip(map(str, once.aux["group"]), once.weight.tolist(), strict=True))
    assert weight_of_group == {"0.0": 2.0, "1.0": 1.0, "nan": 1.0}
    sample = sample_rows(Rows(x, aux={"group": group}))
    assert len(sample) == 4
    assert np.array_equal(np.sort(sample.aux["group"]), np.sort(group), equal_nan=True)


def test_one_part_below_the_other(rows: Rows) -> None:
    whole = stacked([rows[:2], rows[2:]])
    assert np.array_equal(whole.aux["group"], GROUP, equal_nan=True)


def test_sparse_rows_are_known_of_too(rows: Rows) -> None:
    sparse = Rows(csr_array(np.eye(5)), None, None, {"precision": PRECISION})
    assert sparse.take(np.array([3])).aux["precision"].tolist() == [PRECISION[3].tolist()]
    assert len(sample_rows(sparse, 3).aux["precision"]) == 3


def test_a_sample_of_blocks_is_that_of_memory() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    rows = Rows(x, rng.random(x.shape) < 0.8, None, {"exposure": rng.uniform(1, 2, 50)})
    rows = replace(rows, x=rows.x * rows.seen)
    source = Source((slice(0, 20), slice(20, 50)), rows.__getitem__, 3, x.dtype, serial_sweep)
    here, there = sample_rows(rows, 10), sample_source(source, 10)
    assert there.x.tolist() == here.x.tolist()
    assert there.aux["exposure"].tolist() == here.aux["exposure"].tolist()
    where = [int(np.flatnonzero((rows.x == row).all(axis=1))[0]) for row in there.x]
    assert there.aux["exposure"].tolist() == rows.aux["exposure"][where].tolist()


def test_blocks_leave_room_for_what_is_known() -> None:
    wide = {"precision": np.ones((40000, 30))}
    assert len(blocks(Rows(np.ones((40000, 30)), aux=wide), 0)) == 2 * len(blocks(Rows(np.ones((40000, 30))), 0)) - 1
