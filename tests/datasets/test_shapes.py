"""The 4 x 4 images of overlapping shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_shapes

EXPECTED = [
    "0100 0100 0100 0100",  # vertical line, second column
    "0001 0001 0001 0001",  # vertical line, fourth column
    "1111 0000 0000 0000",  # top row
    "0010 0111 0010 0000",  # cross around row 2, column 3
    "0000 0110 0110 0000",  # centre box
    "0000 0000 1100 1100",  # box at the bottom left
    "1111 1001 1001 1111",  # frame
    "1000 0100 0010 0001",  # main diagonal
]


def test_every_feature_appears_in_the_truth() -> None:
    _, truth = make_shapes(10, random_state=0)
    drawn = [" ".join("".join(str(int(p != 0)) for p in row) for row in w.reshape(4, 4)) for w in truth.components]
    assert drawn == EXPECTED


def test_each_feature_has_one_strength_between_a_half_and_one() -> None:
    for seed in range(20):
        _, truth = make_shapes(1, random_state=seed)
        for feature in truth.components:
            (strength,) = np.unique(feature[feature != 0])
            assert 0.5 <= strength <= 1


def test_rows_are_the_sum_of_the_features_that_are_on() -> None:
    X, truth = make_shapes(200, noise=0.0, random_state=3)
    np.testing.assert_array_equal(X, truth.codes @ truth.components)
    assert set(np.unique(truth.codes)) == {0.0, 1.0}


def test_noise_and_activity_are_as_asked() -> None:
    X, truth = make_shapes(20_000, activity=0.2, noise=0.3, random_state=0)
    residual = X - truth.codes @ truth.components
    assert truth.noise_variance == pytest.approx(0.09)
    assert residual.std() == pytest.approx(0.3, rel=0.01)
    np.testing.assert_allclose(truth.codes.mean(axis=0), 0.2, atol=0.015)
    np.testing.assert_array_equal(truth.usage, np.full(8, 0.2))


def test_each_feature_may_have_its_own_activity() -> None:
    _, truth = make_shapes(500, activity=[0, 1, 0, 1, 0, 1, 0, 1], random_state=0)
    np.testing.assert_array_equal(truth.codes, np.tile([0.0, 1.0], (500, 4)))


def test_signed_features_differ_in_sign_only() -> None:
    X, plain = make_shapes(50, random_state=5)
    Y, signed = make_shapes(50, signed=True, random_state=5)
    np.testing.assert_array_equal(np.abs(signed.components), plain.components)
    np.testing.assert_array_equal(signed.codes, plain.codes)
    assert (signed.components < 0).any()
    assert (signed.components > 0).any()
    np.testing.assert_allclose(X - plain.codes @ plain.components, Y - signed.codes @ signed.components, atol=1e-12)


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    np.testing.assert_array_equal(make_shapes(random_state=1)[0], make_shapes(random_state=1)[0])
    assert not np.array_equal(make_shapes(random_state=1)[0], make_shapes(random_state=2)[0])
    assert not np.array_equal(make_shapes()[0], make_shapes()[0])


def test_a_generator_moves_on_from_call_to_call() -> None:
    rng = np.random.default_rng(0)
    first, second = make_shapes(random_state=rng)[0], make_shapes(random_state=rng)[0]
    np.testing.assert_array_equal(first, make_shapes(random_state=0)[0])
    assert not np.array_equal(first, second)


def test_an_old_random_state_is_accepted_and_reproducible() -> None:
    make = lambda: make_shapes(random_state=np.random.RandomState(4))[0]  # noqa: E731
    np.testing.assert_array_equal(make(), make())


def test_whole_numbers_written_as_floats_count() -> None:
    assert make_shapes(12.0, random_state=3.0)[0].shape == (12, 16)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 is too small; choose at least 1."),
        ({"n_samples": 2.5}, "n_samples=2.5 is not a whole number; choose at least 1."),
        ({"n_samples": True}, "n_samples=True is not a whole number"),
        ({"n_samples": "ten"}, "n_samples='ten' is not a whole number"),
        ({"activity": 1.5}, "activity=1.5 is not a probability; choose a probability from 0 to 1"),
        ({"activity": float("nan")}, "activity=nan is not a probability"),
        ({"activity": "often"}, "activity='often' is not a number"),
        ({"activity": [0.1, 0.2]}, r"activity has shape \(2,\); .* each of the 8 images"),
        ({"noise": -1}, "noise=-1 is no standard deviation; choose a finite number of at least 0."),
        ({"noise": float("inf")}, "noise=inf is no standard deviation"),
        ({"noise": None}, "noise=None is no standard deviation"),
        ({"random_state": -1}, "random_state=-1 is no seed; give a whole number of at least 0"),
        ({"random_state": 1.5}, "random_state=1.5 is no seed"),
        ({"random_state": "seed"}, "random_state='seed' is no seed"),
        ({"random_state": True}, "random_state=True is no seed"),
    ],
)
def test_bad_arguments_are_named_with_the_remedy(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_shapes(**arguments)
