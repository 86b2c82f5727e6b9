"""Values of columns in blocks add up to those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from latens.core import Rows
from latens.estimators.mixtures.column_values import MOST_LEVELS, ColumnValues, table_values


def test_values_of_parts_add_up_to_those_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([1000 + rng.poisson(0.5, 90), rng.poisson(2.0, 90)]).astype(float)
    seen, weight = rng.random(x.shape) < 0.8, rng.integers(0, 3, 90).astype(float)
    rows = Rows(np.where(seen, x, 0.0), seen, weight)
    whole = table_values(rows)
    parts = [table_values(rows[slice(at, stop)]) for at, stop in ((0, 0), (0, 7), (7, 50), (50, 90))]
    together = (parts[0] + parts[1]) + (parts[2] + parts[3])
    for d, (one, other) in enumerate(zip(whole.columns, together.columns, strict=True)):
        shown = x[seen[:, d] & (weight > 0), d]
        assert one.n == other.n == len(shown)
        skew = np.mean((shown - shown.mean()) ** 3) / shown.var() ** 1.5
        for found in (one, other):
            moments = [found.mean, found.variance, found.skew]
            assert moments == pytest.approx([shown.mean(), shown.var(), skew], rel=1e-9)
            assert np.array_equal(found.levels, np.unique(shown))
            assert found.whole


def test_no_more_levels_are_kept_than_a_category_may_have() -> None:
    many = ColumnValues.of(np.arange(700.0)) + ColumnValues.of(np.arange(700.0, 1400.0) + 0.5)
    assert len(many.levels) == MOST_LEVELS + 1
    assert not many.whole


def test_values_too_large_for_cubes_have_no_moments() -> None:
    large = ColumnValues.of(np.array([0.0, 1e200])) + ColumnValues.of(np.array([0.5, 3.0]))
    assert (large.whole, large.square, large.cube) == (False, 0.0, 0.0)


def test_a_column_that_shows_nothing_has_no_moments() -> None:
    none = ColumnValues.of(np.zeros(0))
    assert ((none + none).n, none.variance, none.skew) == (0, 0.0, 0.0)
    assert (none + ColumnValues.of(np.array([3.0, 5.0]))).mean == 4.0
