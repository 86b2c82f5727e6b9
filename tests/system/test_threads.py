"""Slabs are the same on any number of threads, and a thread that is at work on one uses no others."""

from __future__ import annotations

import threading

import pytest

from latens.system.threads import LEAST_SHARED, on_slabs, slabs_on_threads


def slabs(n: int, size: int, n_entries: int) -> tuple[list[tuple[int, int, int]], set[str]]:
    seen, names = list[tuple[int, int, int]](), set[str]()

    def work(*slab: int) -> None:
        seen.append(slab)  # type: ignore[arg-type]
        names.add(threading.current_thread().name)

    on_slabs(work, n, size, n_entries)
    return sorted(seen), names


@pytest.mark.parametrize("n", [0, 1, 4, 5, 13])
def test_slabs_cover_all_columns_once(n: int) -> None:
    alone, names = slabs(n, 4, LEAST_SHARED)
    with slabs_on_threads(3):
        assert slabs(n, 4, LEAST_SHARED)[0] == alone
    assert [column for _, start, stop in alone for column in range(start, stop)] == list(range(n))
    assert names <= {threading.current_thread().name}


def test_little_work_wakes_nobody() -> None:
    with slabs_on_threads(3):
        assert slabs(13, 4, LEAST_SHARED - 1)[1] == {threading.current_thread().name}
        assert len(slabs(13, 4, LEAST_SHARED)[1]) > 1


def test_slabs_within_a_slab_stay_on_its_thread() -> None:
    inner = list[set[str]]()
    with slabs_on_threads(2):
        on_slabs(lambda number, *_: inner.append(slabs(9, 4, LEAST_SHARED)[1]) if number else None, 8, 4, LEAST_SHARED)
    assert [len(names) for names in inner] == [1]


def test_an_error_on_another_thread_is_raised() -> None:
    def work(number: int, *_: int) -> None:
        if number == 2:
            raise ValueError("the third")

    with slabs_on_threads(2), pytest.raises(ValueError, match="the third"):
        on_slabs(work, 12, 4, LEAST_SHARED)
