"""Binary rows lit by causes: what the generators promise."""

from __future__ import annotations

import numpy as np
import pytest

from latens.datasets import CauseTruth, make_baskets, make_noisy_or


def lit_rates(truth: CauseTruth) -> np.ndarray:
    """(N, D), chance of every entry given the codes."""
    return 1 - (1 - truth.leak) * np.prod(np.where(truth.codes[:, :, None] > 0, 1 - truth.components, 1.0), axis=1)


@pytest.mark.parametrize("make", [make_noisy_or, make_baskets])
def test_rows_have_the_chances_of_their_causes(make: object) -> None:
    X, truth = make(4000, random_state=1)  # type: ignore[operator]
    assert set(np.unique(X)) == {0.0, 1.0}
    rates = lit_rates(truth)
    error = np.sqrt((rates * (1 - rates)).sum(axis=0)) + 1e-9
    assert np.all(np.abs(X.sum(axis=0) - rates.sum(axis=0)) < 5 * error)
    assert truth.codes.mean(axis=0) == pytest.approx(truth.usage, abs=0.05)
    assert truth.components.shape == (len(truth.names), len(truth.features))
    again, _ = make(4000, random_state=1)  # type: ignore[operator]
    assert np.array_equal(X, again)


def test_pictures_are_as_asked_for() -> None:
    X, truth = make_noisy_or(3000, activity=[0.1] * 7 + [0.9], failure=0.3, leak=0.02, random_state=2)
    assert X.shape == (3000, 64)
    assert truth.shape == (8, 8)
    assert set(np.unique(truth.components)) == {0.0, 0.7}
    assert truth.leak == pytest.approx(0.02)
    assert np.linalg.matrix_rank(truth.components) == 8
    overlaps = (truth.components > 0) @ (truth.components > 0).T
    assert np.all((overlaps > 0).sum(axis=1) >= 3)  # without overlap there is nothing to explain away


def test_without_noise_a_row_is_the_union_of_its_pictures() -> None:
    X, truth = make_noisy_or(200, failure=0.0, leak=0.0, random_state=3)
    assert np.array_equal(X, (truth.codes @ truth.components > 0).astype(float))


def test_without_causes_rows_are_lit_by_the_leak_alone() -> None:
    X, truth = make_noisy_or(2000, activity=0.0, leak=0.3, random_state=4)
    assert not truth.codes.any()
    assert X.mean() == pytest.approx(0.3, abs=0.01)


def test_occasions_of_baskets_depend_on_each_other() -> None:
    _, truth = make_baskets(20_000, random_state=4)
    breakfast, film = (truth.codes[:, truth.names.index(name)] for name in ("breakfast", "film night"))
    assert np.corrcoef(breakfast, film)[0, 1] < -0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 is too small"),
        ({"activity": 1.5}, "activity=1.5 is not a probability"),
        ({"activity": [0.1, 0.2]}, "activity has shape"),
        ({"failure": -0.1}, "failure=-0.1 is not a probability; choose a probability from 0 to 1"),
        ({"leak": np.nan}, "leak=nan is not a probability"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_noisy_or(**options)  # type: ignore[arg-type]
