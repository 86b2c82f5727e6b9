"""One pass over blocks says of the columns what all rows would."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from latens.core import Rows, Survey
from latens.core import survey as survey_module
from latens.core.survey import MOST_PATTERNS, survey_rows
from latens.scale.scan import as_rows


def surveyed(x: np.ndarray, sizes: list[int], weight: np.ndarray | None = None) -> Survey:
    cuts = np.cumsum(sizes)[:-1]
    parts = np.split(x, cuts)
    weights = [None] * len(parts) if weight is None else np.split(weight, cuts)
    return reduce(add, [survey_rows(as_rows(part, w)) for part, w in zip(parts, weights, strict=True)])


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("holes", [False, True])
def test_blocks_give_the_moments_of_all_rows(scale: float, holes: bool) -> None:
    rng = np.random.default_rng(0)
    x = scale * (rng.normal(size=(100, 4)) * [1, 10, 0.1, 1] + [0, 1e6, 0, -3])
    if holes:
        x[rng.random(x.shape) < 0.3] = np.nan
        x[7] = np.nan
    weight = rng.integers(0, 4, 100).astype(float)
    whole = surveyed(x, [1, 40, 9, 50], weight)
    weight[np.isnan(x).all(axis=1)] = 0
    shown = ~np.isnan(x)
    counts = weight @ shown
    mean = np.nansum(weight[:, None] * x, axis=0) / counts
    squares = np.nansum(weight[:, None] * ((x - mean) / scale) ** 2, axis=0)
    np.testing.assert_allclose(whole.count, counts)
    np.testing.assert_allclose(whole.mean, mean, rtol=1e-13)
    np.testing.assert_allclose((whole.deviation / scale) ** 2, squares, rtol=1e-9)
    np.testing.assert_array_equal(whole.low, np.nanmin(x, axis=0))
    np.testing.assert_array_equal(whole.high, np.nanmax(x, axis=0))
    assert whole.n_rows == 100 - (1 if holes else 0)
    assert whole.n_empty == (1 if holes else 0)
    assert whole.n == weight.sum()


def test_kinds_of_numbers_and_odd_entries_are_counted() -> None:
    x = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, np.nan], [1.0, np.inf, 3.0]])
    survey = surveyed(x, [2, 1])
    assert survey.binary.tolist() == [True, False, False]
    assert survey.whole.tolist() == [True, True, False]
    assert survey.n_infinite == 1
    assert survey.n_odd == 3  # 2, .5 and 3; the infinite entry is counted by itself
    assert survey.n_missing == 1


def test_patterns_of_missing_entries_are_told_apart_up_to_a_number() -> None:
    rng = np.random.default_rng(0)
    few = np.where(np.arange(300)[:, None] % 3 == np.arange(3), np.nan, 1.0)
    assert len(surveyed(few, [100, 200]).patterns) == 3
    assert surveyed(few, [100, 200]).has_few_patterns
    many = np.where(rng.random((500, 12)) < 0.5, np.nan, 1.0)
    survey = surveyed(many, [250, 250])
    assert len(survey.patterns) == MOST_PATTERNS
    assert not survey.has_few_patterns


def test_an_empty_block_changes_nothing() -> None:
    x = np.random.default_rng(0).normal(size=(10, 2))
    alone, with_empty = survey_rows(Rows(x)), survey_rows(Rows(x)) + survey_rows(Rows(x[:0]))
    for name in ("count", "mean", "deviation", "low", "high"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(with_empty, name))


def test_a_block_that_is_looked_at_in_parts_is_surveyed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((400, 3)) < 0.1, np.nan, rng.normal(5.0, 1.0, (400, 3)))
    whole = surveyed(x, [400])
    monkeypatch.setattr(survey_module, "PART_ENTRIES", 60)
    parts = surveyed(x, [400])
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(parts.deviation, whole.deviation, rtol=1e-13)
    for name in ("n_rows", "n_missing", "n_odd", "patterns"):
        assert getattr(parts, name) == getattr(whole, name)
    np.testing.assert_array_equal(parts.low, np.nanmin(x, axis=0))
