"""A few real kills of a process; `python -m benchmarks scale.kills` has twenty."""

from __future__ import annotations

import pytest

from benchmarks.scale.kills import survive


@pytest.mark.slow
def test_a_fit_killed_by_the_system_ends_with_the_bits_of_one_that_lived() -> None:
    told = survive("GaussianMixture", 3, seed=1)
    assert told["same"]
    assert told["kills"] == 3
    assert told["resumed"] >= 2
