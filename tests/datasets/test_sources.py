"""Generated mixtures of sources: what was asked for is what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kurtosis

from latens.datasets import make_ica


def test_rows_are_mixtures_under_noise_of_the_asked_size() -> None:
    X, truth = make_ica(20_000, 6, 3, snr=3.0, noise="unequal", random_state=0)
    left = X - truth.sources @ truth.mixing.T
    assert left.var(axis=0) == pytest.approx(truth.noise_variance, rel=0.05)
    assert truth.sources.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert truth.sources.std(axis=0) == pytest.approx(1)
    signal = np.mean(np.sum(truth.mixing**2, axis=1))
    assert 10 * np.log10(signal / truth.noise_variance.mean()) == pytest.approx(3.0)
    assert truth.noise_variance.max() > 1.5 * truth.noise_variance.min()
    equal = make_ica(50, 6, 3, random_state=0)[1].noise_variance
    assert np.all(equal == equal[0])


def test_kinds_of_sources_have_their_tails() -> None:
    _, truth = make_ica(50_000, 5, 4, sources=["student", "laplace", "uniform", "gaussian"], tails=6.0, random_state=1)
    heavy, laplace, uniform, normal = kurtosis(truth.sources, axis=0)
    assert heavy > 1.5
    assert laplace == pytest.approx(3, abs=0.5)
    assert uniform == pytest.approx(-1.2, abs=0.02)
    assert normal == pytest.approx(0, abs=0.1)
    assert make_ica(10, 5, 4, sources="mixed", random_state=1)[1].kinds == ("student", "laplace", "uniform", "student")


def test_seeds_repeat() -> None:
    one, two, other = (make_ica(20, random_state=seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": "loud"}, "sources='loud' is not known"),
        ({"sources": ["laplace"]}, "or 3 of them"),
        ({"tails": 2.0}, "tails=2.0 has no variance to set"),
        ({"snr": np.nan}, "snr=nan is no ratio"),
        ({"noise": "some"}, "choose 'equal' or 'unequal'"),
        ({"n_samples": 1}, "n_samples=1 is too small"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_ica(**options)
