"""Freed memory is kept only where a process was told to give it back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FRESH_PAGES = """
import resource, numpy as np
from latens.system.allocator import keep_freed_memory
answer = keep_freed_memory() if {keep} else None
def work():
    for _ in range(20):
        np.ones(2**18) * 2.0
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(answer, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(keep: bool, environment: dict[str, str]) -> tuple[str, int]:
    """What the function answered in a new process, and pages that were cleared by arrays of the size of freed ones."""
    done = subprocess.run(
        [sys.executable, "-c", FRESH_PAGES.format(keep=keep)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer, pages = done.stdout.split()
    return answer, int(pages)


@pytest.fixture
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}


def test_a_process_of_its_own_settings_is_left_alone(environment: dict[str, str]) -> None:
    assert page_faults(True, environment)[0] == "False"


@pytest.mark.skipif(sys.platform != "linux", reason="of the GNU C library")
def test_a_worker_that_gives_all_memory_back_keeps_some_again(environment: dict[str, str]) -> None:
    as_dask_sets_it = {**environment, "MALLOC_TRIM_THRESHOLD_": "65536"}
    _, before = page_faults(False, as_dask_sets_it)
    answer, after = page_faults(True, as_dask_sets_it)
    assert answer == "True"
    assert after < before / 4
