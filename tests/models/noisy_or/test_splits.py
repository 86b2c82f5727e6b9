"""Causes that share columns, taken for one, are told apart by the rows in which it is on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from latens import NoisyOr
from latens.core import Rows, State
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.inference.ascent import ascend
from latens.models.noisy_or import splits
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from latens.models.noisy_or.splits import split_causes

SHARED = ((16, 17, 18, 19), (18, 19, 20, 21))


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four causes with columns of their own, and two weak ones that share two columns."""
    rng = np.random.default_rng(seed)
    strength, often = np.zeros((6, 24)), np.empty(6)
    for k in range(4):
        strength[k, 4 * k : 4 * k + 4], often[k] = rng.uniform(0.5, 0.9, 4), rng.uniform(0.05, 0.2)
    for k, columns in enumerate(SHARED, 4):
        strength[k, list(columns)], often[k] = rng.uniform(0.35, 0.7, 4), rng.uniform(0.03, 0.08)
    on = rng.random((n, 6)) < often
    x = rng.random((n, 24)) > 0.98 * np.prod(1 - on[:, :, None] * strength, axis=1)
    return x.astype(float), strength


def posterior(strength: np.ndarray, often: float, rows: float) -> CausePosterior:
    """As sure as so many rows make it."""
    k, d = strength.shape
    chance = np.clip(strength, 0.01, 0.99)
    return CausePosterior(
        profiles=Dirichlet(np.full(1, rows)),
        usage=Beta.alike(often * rows, (1 - often) * rows, 1, k),
        causes=Beta(often * rows * chance, often * rows * (1 - chance)),
        leak=Beta.alike(0.02 * rows, 0.98 * rows, d),
    )


def test_a_cause_that_is_two_is_split_into_these() -> None:
    x, strength = drawn(0, 3000)
    model, rows = NoisyOrCauses(24), Rows(x)
    merged = np.vstack([strength[:4], strength[4:].mean(axis=0)])
    fit = ascend(model, [rows], State(posterior(merged, 0.1, 3000.0)), max_iter=50)
    q = fit.state.q
    first = next(split_causes(model, q, 3000.0, rows, model.local_step(q, rows), limit=8))
    assert first.n_components == 6
    ascent = ascend(model, [rows], State(first), max_iter=10)
    assert ascent.elbo > fit.elbo + 10.0
    found = ascent.state.q.causes.mean[-2:]
    own = [set(np.flatnonzero(chance > 0.25).tolist()) for chance in found]
    assert sorted(own, key=min) == [set(columns) for columns in SHARED]


def test_causes_that_are_one_are_not_split() -> None:
    x, strength = drawn(0, 3000)
    model, rows = NoisyOrCauses(16), Rows(x[:, :16])
    q = ascend(model, [rows], State(posterior(strength[:4, :16], 0.1, 3000.0)), max_iter=50).state.q
    assert not list(split_causes(model, q, 3000.0, rows, model.local_step(q, rows), limit=8))


def test_no_more_causes_than_allowed() -> None:
    x, strength = drawn(0, 3000)
    model, rows = NoisyOrCauses(24), Rows(x)
    q = posterior(np.vstack([strength[:4], strength[4:].mean(axis=0)]), 0.1, 3000.0)
    local = model.local_step(q, rows)
    assert list(split_causes(model, q, 3000.0, rows, local, limit=6))
    assert not list(split_causes(model, q, 3000.0, rows, local, limit=5))


def test_few_rows_of_wide_tables_are_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    x, strength = drawn(0, 3000)
    model = NoisyOrCauses(24)
    q = posterior(np.vstack([strength[:4], strength[4:].mean(axis=0)]), 0.1, 3000.0)
    sizes: list[int] = []
    plain = scipy.sparse.csr_array.toarray

    def counted(matrix: Any) -> np.ndarray:
        sizes.append(matrix.shape[0] * matrix.shape[1])
        return plain(matrix)

    rows = Rows(scipy.sparse.csr_array(x))
    local = model.local_step(q, rows)
    monkeypatch.setattr(splits, "MOST_ENTRIES", 24_000)
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", counted)
    first = next(split_causes(model, q, 3000.0, rows, local, limit=8))
    assert sizes == [24_000]
    assert first.n_components == 6


@pytest.mark.slow
def test_a_default_fit_finds_both() -> None:
    assert NoisyOr(random_state=0, n_jobs=1).fit(drawn(0, 3000)[0]).n_components_ == 6
