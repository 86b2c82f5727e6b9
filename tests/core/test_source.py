"""Rows are changed where they are read: part by part where a step goes by parts, with the same answers."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from latens.core import Rows, Source
from latens.core import source as source_module
from latens.core.rows import rows_of_block
from latens.inference.sweep import serial_sweep

X = np.random.default_rng(0).normal(size=(500, 3))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "PART_FLOATS", 3 * 64)


def blocks() -> Source:
    slices = (slice(0, 300), slice(300, 500))
    return Source(slices, lambda rows: Rows(X[rows]), 3, X.dtype, serial_sweep)


def sums(rows: Rows, _: object) -> tuple[None, np.ndarray]:
    return None, rows.x.sum(axis=0)


@pytest.mark.parametrize("by_row", [True, False])
def test_a_step_on_parts_sees_changed_rows(by_row: bool) -> None:
    sizes = list[int]()

    def doubled(rows: Rows) -> Rows:
        sizes.append(len(rows))
        return Rows(2 * rows.x)

    source = blocks().then(doubled, by_row=by_row)
    _, total = source.sweep(source.on_parts(sums, lambda parts: reduce(add, parts), 0), source.handles, (None, None))
    np.testing.assert_allclose(total, 2 * X.sum(axis=0), rtol=1e-13)
    assert max(sizes) == (64 if by_row else 300)


def test_a_later_change_of_whole_blocks_comes_after_the_earlier_one() -> None:
    source = blocks().then(lambda rows: Rows(2 * rows.x), by_row=True).then(lambda rows: Rows(rows.x + 1))
    _, total = source.sweep(source.on_parts(sums, lambda parts: reduce(add, parts), 0), source.handles, (None, None))
    np.testing.assert_allclose(total, (2 * X + 1).sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize(
    ("n_rows", "size"), [(500, 64), (16 * 64, 64), (16 * 64 + 1, 65), (16 * 128, 128), (24 * 128, 96), (10**9, 128)]
)
def test_parts_are_cut_as_blocks_of_as_many_rows_in_memory(n_rows: int, size: int) -> None:
    """Blocks of many rows are twice as large, and a multiple of 16: parts of files and of chunks are to know of it."""
    parts = list[int]()

    def count(rows: Rows, _: object) -> tuple[None, int]:
        parts.append(len(rows))
        return None, 0

    source = blocks()
    source.sweep(source.on_parts(count, sum, 0, n_rows), source.handles, (None, None))
    assert rows_of_block(n_rows, 3, 3 * 64) == size
    assert parts == [size] * (300 // size) + [300 % size] + [size] * (200 // size) + [200 % size]
