"""The mixed images of the separation experiment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_images
from latens.datasets.images import PICTURES


@pytest.mark.parametrize("size", [16, 17, 32])
def test_pictures_exist_at_every_size(size: int) -> None:
    X, truth = make_images(20, size=size, random_state=0)
    assert X.shape == (20, size * size)
    assert truth.components.shape == (8, size * size)
    assert truth.shape == (size, size)


def test_pictures_reach_from_black_to_nearly_white() -> None:
    _, truth = make_images(1, n_sources=len(PICTURES), random_state=0)
    assert truth.components.min() == 0
    np.testing.assert_array_less(truth.components, 1 + 1e-12)
    np.testing.assert_array_less(0.85, truth.components.max(axis=1))


def test_pictures_overlap_but_none_resembles_another() -> None:
    _, truth = make_images(1, n_sources=len(PICTURES), random_state=0)
    unit = truth.components / np.linalg.norm(truth.components, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    assert cosines.min() > 0
    assert cosines.max() < 0.8


def test_a_larger_picture_is_the_same_picture() -> None:
    _, small = make_images(1, size=16, n_sources=12, random_state=0)
    _, large = make_images(1, size=32, n_sources=12, random_state=0)
    halved = large.components.reshape(12, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(12, 256)
    cosine = np.sum(halved * small.components, axis=1)
    cosine /= np.linalg.norm(halved, axis=1) * np.linalg.norm(small.components, axis=1)
    assert cosine.min() > 0.995


def test_rows_are_the_sum_of_the_pictures_that_are_on() -> None:
    X, truth = make_images(100, noise=0.0, random_state=3)
    np.testing.assert_array_equal(X, truth.codes @ truth.components)


def test_noise_and_activity_are_as_asked() -> None:
    X, truth = make_images(3000, activity=0.5, noise=0.4, random_state=0)
    assert (X - truth.codes @ truth.components).std() == pytest.approx(0.4, rel=0.01)
    np.testing.assert_allclose(truth.codes.mean(axis=0), 0.5, atol=0.04)


def test_fewer_sources_are_the_first_of_them() -> None:
    _, few = make_images(5, n_sources=3, random_state=0)
    _, many = make_images(5, random_state=0)
    np.testing.assert_array_equal(few.components, many.components[:3])
    assert few.codes.shape == (5, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 8}, "size=8 is too small; choose at least 16."),
        ({"n_sources": 0}, "n_sources=0 is too small; choose from 1 to 12."),
        ({"n_sources": 13}, "n_sources=13 is too large; choose from 1 to 12."),
        ({"n_samples": -3}, "n_samples=-3 is too small; choose at least 1."),
        ({"activity": -0.1}, "activity=-0.1 is not a probability"),
    ],
)
def test_bad_arguments_are_named_with_the_remedy(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_images(**arguments)
