"""The sample of rows in blocks is that of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from latens.core import Rows
from latens.estimators.rows import sampling
from latens.estimators.rows.sampling import sample_rows, sample_source
from latens.estimators.rows.units import Units
from latens.scale.scan import as_rows, scan


def table(kind: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    if kind == "repeated":
        return rng.integers(0, 3, (900, 3)).astype(float)
    x = rng.normal(size=(900, 3))
    if kind == "holes":
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def in_blocks(x: np.ndarray, block_rows: int):
    return scan(x, block_rows=block_rows).source()


@pytest.mark.parametrize("kind", ["plain", "holes", "repeated"])
@pytest.mark.parametrize("block_rows", [7, 128, 2000])
def test_blocks_and_order_do_not_change_the_sample(kind: str, block_rows: int) -> None:
    x = table(kind)
    shuffled = np.random.default_rng(2).permutation(x)
    whole = as_rows(x)
    weighted = Rows(whole.x, whole.seen, whole.weight)
    want = sample_rows(weighted, 256)
    got = sample_source(in_blocks(shuffled, block_rows), 256)
    np.testing.assert_array_equal(got.x, want.x)
    np.testing.assert_array_equal(got.mask + 0 * got.x, want.mask + 0 * want.x)


def test_above_the_sketch_the_sample_still_follows_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SKETCH", 300)
    x = table("plain")
    one, other = (sample_source(in_blocks(rows, size), 100).x for rows, size in [(x, 50), (x[::-1].copy(), 333)])
    np.testing.assert_array_equal(one, other)
    assert {tuple(row) for row in one} <= {tuple(row) for row in x}
    assert np.abs(one.mean(axis=0) - x.mean(axis=0)).max() < 0.35


@pytest.mark.parametrize("kind", ["plain", "holes", "repeated", "weighted"])
@pytest.mark.parametrize("rows_at_once", [64, 333, 2000])
def test_above_the_sketch_memory_and_blocks_choose_alike(
    monkeypatch: pytest.MonkeyPatch, kind: str, rows_at_once: int
) -> None:
    monkeypatch.setattr(sampling, "SKETCH", 20 if kind == "repeated" else 300)
    monkeypatch.setattr(sampling, "ROWS_AT_ONCE", rows_at_once)
    x = table("plain" if kind == "weighted" else kind)
    weight = np.random.default_rng(4).integers(0, 3, len(x)).astype(float) if kind == "weighted" else None
    whole, order = as_rows(x), np.random.default_rng(2).permutation(len(x))
    here = sample_rows(Rows(whole.x, whole.seen, whole.weight if weight is None else weight), 100)
    counted = np.column_stack([x, np.ones(len(x)) if weight is None else weight])[order]
    there = sample_source(scan(counted, weights=3, columns=[0, 1, 2], block_rows=128).source(), 100)
    np.testing.assert_array_equal(here.x, there.x)
    np.testing.assert_array_equal(here.mask + 0 * here.x, there.mask + 0 * there.x)


def test_rows_whose_hashes_are_alike_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_mixed", lambda values: np.zeros(len(values), np.uint64))
    x = table("repeated")
    np.testing.assert_array_equal(sample_source(in_blocks(x, 128), 256).x, sample_rows(as_rows(x), 256).x)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", ["plain", "holes", "repeated"])
def test_units_from_a_survey_are_those_of_the_rows(kind: str, centred: bool) -> None:
    x = 37.0 * table(kind) + [0, 1e5, -2]
    direct = Units.of(as_rows(x), centred=centred)
    from_survey = Units.of_survey(in_blocks(x, 100).survey, x.dtype, centred=centred)
    assert direct.exponent == from_survey.exponent
    np.testing.assert_array_equal(direct.origin, from_survey.origin)
