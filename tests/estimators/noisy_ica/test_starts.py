"""Where noisy ICA begins: two contrasts of FastICA, where one of them may end far below the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import latens
from latens.models.noisy_ica.priors import negentropy


def beats(seed: int) -> np.ndarray:
    """(1000, 10), eight sources that beat every 20 rows, each at its own time, a Gaussian and a Laplace source."""
    rng, row = np.random.default_rng(seed), np.arange(1000)
    pulses = [np.exp(-0.5 * (((row + rng.integers(200)) % 20) / 4 - 3) ** 2 * (1 + number)) for number in range(8)]
    sources = np.column_stack([*pulses, rng.normal(size=1000), rng.laplace(size=1000)])
    x = sources / sources.std(axis=0) @ rng.normal(size=(10, 10))
    return np.asarray(x + 0.05 * x.std(axis=0) * rng.normal(size=x.shape))


@pytest.mark.parametrize(("seed", "least"), [(42, -13529.5), (50, -14812.0), (44, -11466.0)])
def test_the_contrast_that_ends_higher_is_kept(seed: int, least: float) -> None:
    """The usual contrast ends at -13,529, -15,002 and -11,465, the bounded one at -13,789, -14,811 and -11,840."""
    assert latens.NoisyICA(random_state=seed).fit(beats(seed)).elbo_ > least


@pytest.mark.parametrize(("seed", "state", "reached"), [(101, 1, -55286.2), (104, 4, -55399.8)])
def test_hearts_are_heard_from_any_rows(
    data_file: Callable[[str], Path], seed: int, state: int, reached: float
) -> None:
    """The usual contrast alone ends 513 and 508 nats below."""
    table = np.loadtxt(data_file("signals/foetal_ecg.dat"))[:, 1:]
    rows = np.random.default_rng(seed).choice(len(table), 2000, replace=False)
    assert latens.NoisyICA(random_state=state).fit(table[rows]).elbo_ > reached - 2.0


def test_negentropy_is_what_sources_are_likelier_by() -> None:
    """Against the entropies of a Laplace source, of two levels and of a Gaussian, all of which it knows roughly."""
    rng, n = np.random.default_rng(0), 20_000
    levels = 0.95 * rng.choice([-1.0, 1.0], n) + (1 - 0.95**2) ** 0.5 * rng.normal(size=n)
    sources = 3.0 + 2.0 * np.column_stack([rng.laplace(size=n), levels, rng.normal(size=n)])
    laplace = 0.5 * np.log(2 * np.pi * np.e) - 1 - 0.5 * np.log(2)
    two = 0.5 * np.log(2 * np.pi * np.e) - (np.log(2) + 0.5 * np.log(2 * np.pi * np.e * (1 - 0.95**2)))
    found = negentropy(sources)
    assert 0.6 * laplace < found[0] < laplace + 0.02
    assert found[1] == pytest.approx(two, abs=0.02)
    assert found[2] == pytest.approx(0.0, abs=0.01)
