"""A few real kills of a process; `python -m benchmarks scale.kills` has twenty."""

from __future__ import annotations

import pytest

from benchmarks.scale.kills import survive


@pytest.mark.slow
def test_a_fit_killed_by_the_system_ends_with_the_bits_of_one_that_lived() -> None:
    answer = survive("GaussianMixture", 3, seed=1)
    assert answer["same"]
    assert answer["kills"] == 3
    assert answer["resumed"] >= 2
