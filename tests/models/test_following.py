"""Codes of rows that go on with other components."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.special import stretched
from latens.array.states import pack, unpack
from latens.models.binary_factors.posteriors import States, Switches
from latens.models.noisy_ica.posteriors import Sources


def test_codes_follow_the_components_that_are_kept_and_new_ones_are_off() -> None:
    rng = np.random.default_rng(0)
    on, of = (rng.random((7, 3, 5)) < 0.5).astype(float), np.array([4, -1, 0])
    words = pack(on)
    expected = np.stack([on[:, :, 4], np.zeros((7, 3)), on[:, :, 0]], axis=2)
    moved = States(words, 5).follow(of)
    assert moved.k == 3
    assert np.array_equal(unpack(moved.words, 3, on), expected)
    assert np.array_equal(Switches(on[:, 0]).follow(of).mean, expected[:, 0])


def test_a_list_of_all_states_is_made_anew() -> None:
    assert States(None, 4).follow(np.array([2])).words is None


def test_a_stretched_step_goes_as_far_in_logarithms_but_not_out_of_sight() -> None:
    assert stretched(np.array([1.0]), np.array([2.0]), 3.0) == pytest.approx(8.0)
    assert stretched(np.array([1.0]), np.array([2.0]), 1.0) == pytest.approx(2.0)
    assert stretched(np.array([1.0]), np.array([100.0]), 8.0) == pytest.approx(1000.0)


def test_scales_and_signs_follow_the_sources_that_are_kept() -> None:
    rng = np.random.default_rng(1)
    quiet, on = rng.random((7, 4)), rng.random((7, 2))
    moved = Sources(quiet, np.array([1, 3]), Switches(on), None, None, None).follow(np.array([3, 0, -1]))
    assert np.array_equal(moved.quiet, np.stack([quiet[:, 3], quiet[:, 0], np.ones(7)], axis=1))
    assert moved.light.tolist() == [0]
    assert np.array_equal(moved.signs.mean, on[:, 1:])
