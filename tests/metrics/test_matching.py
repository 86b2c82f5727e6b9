"""Matching learnt with true components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_shapes
from latens.metrics import match_components


def test_a_shuffled_and_rescaled_copy_is_found_completely() -> None:
    true = make_shapes(1, random_state=0)[1].components
    order = np.random.default_rng(0).permutation(8)
    match = match_components(true[order] * np.arange(1, 9)[:, None], true)
    np.testing.assert_array_equal(order[match.index], np.arange(8))
    np.testing.assert_allclose(match.similarity, 1.0)
    assert match.found() == 8


def test_the_pairing_is_one_to_one_and_best_in_sum() -> None:
    true = np.array([[1.0, 0.0], [0.8, 0.6]])
    learnt = np.array([[0.96, 0.28], [0.0, 1.0]])
    match = match_components(learnt, true)
    np.testing.assert_array_equal(match.index, [0, 1])  # the first is the nearest of both, but only one may have it
    np.testing.assert_allclose(match.similarity, [0.96, 0.6])
    assert match.found() == 1
    assert match.found(threshold=0.5) == 2


def test_too_few_learnt_components_leave_gaps() -> None:
    match = match_components(np.eye(4)[[3, 1]], np.eye(4))
    np.testing.assert_array_equal(match.index, [-1, 1, -1, 0])
    np.testing.assert_array_equal(match.similarity, [0, 1, 0, 1])
    assert match.found() == 2


def test_no_learnt_component_finds_nothing() -> None:
    match = match_components(np.zeros((0, 4)), np.eye(4))
    np.testing.assert_array_equal(match.index, [-1, -1, -1, -1])
    assert match.found() == 0


def test_surplus_components_do_not_disturb() -> None:
    rng = np.random.default_rng(0)
    learnt = np.vstack([rng.normal(size=(5, 6)), 2 * np.eye(6)])
    np.testing.assert_array_equal(match_components(learnt, np.eye(6)).index, np.arange(5, 11))


def test_zero_components_match_nothing_and_are_no_error() -> None:
    match = match_components([[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(match.index, [1, 0])
    np.testing.assert_array_equal(match.similarity, [1.0, 0.0])


def test_the_opposite_direction_counts_only_where_signs_are_free() -> None:
    true = np.eye(3)
    assert match_components(-true, true).found() == 0
    free = match_components(-true, true, signed=True)
    assert free.found() == 3
    np.testing.assert_array_equal(free.sign, [-1, -1, -1])


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_the_unit_of_measurement_does_not_matter(scale: float) -> None:
    true = make_shapes(1, random_state=0)[1].components
    np.testing.assert_allclose(match_components(scale * true, true).similarity, 1.0)


@pytest.mark.parametrize(
    ("learnt", "true", "message"),
    [
        (np.eye(3), np.eye(4), r"learnt has shape \(3, 3\) and true has shape \(4, 4\): their columns differ"),
        (np.ones(3), np.eye(3), r"learnt has shape \(3,\); pass one component a row"),
        (np.eye(3), np.zeros((0, 3)), "true has no components"),
        (np.eye(3), np.full((2, 3), np.nan), "true contains NaN or infinite entries"),
        ([["a", "b"]], np.eye(2), "learnt is not an array of numbers"),
    ],
)
def test_bad_arguments_are_named_with_the_remedy(learnt: Any, true: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match_components(learnt, true)
