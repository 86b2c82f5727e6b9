"""Causes that a noisy-OR lacks, told by pairs of columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from latens.array import Floats
from latens.array.states import all_states
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from latens.models.noisy_or.new_causes import COUNTED, Pairs, _expected_pairs, count_pairs, more_causes

STRENGTH = np.kron(np.eye(4), np.full(3, 0.6))  # (K, D), three columns each


def posterior(strength: Floats, usage: Floats, n: float = 4000.0) -> CausePosterior:
    """As sure of these chances as n rows make it; usage is (P, K). The leak makes columns as common as they are."""
    leak = 1 - 0.98 * np.where(strength.sum(axis=0) > 0, 1.0, 1 - 0.1 * 0.6)
    on = n * usage.mean(axis=0)[:, None]
    return CausePosterior(
        profiles=Dirichlet(np.full(len(usage), n / len(usage))),
        usage=Beta(n * usage + 0.05, n * (1 - usage) + 1),
        causes=Beta(on * strength + 0.5, on * (1 - strength) + 1),
        leak=Beta(n * leak, n * (1 - leak)),
    )


def drawn(n: int = 4000, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    on = rng.random((n, len(STRENGTH))) < 0.1
    return (rng.random((n, STRENGTH.shape[1])) > 0.98 * np.exp(on @ np.log1p(-STRENGTH))).astype(float)


def test_pairs_are_expected_as_often_as_all_states_make_them() -> None:
    rng = np.random.default_rng(1)
    q = posterior(rng.uniform(0.1, 0.9, (3, 5)), rng.uniform(0.1, 0.6, (2, 3)))
    states, both = all_states(3).astype(float), np.zeros((5, 5))
    for weight, usage in zip(q.profiles.mean, q.usage.mean, strict=True):
        for state in states:
            chance = weight * np.prod(np.where(state > 0, usage, 1 - usage))
            one = 1 - (1 - q.leak.mean) * np.prod(1 - state[:, None] * q.causes.mean, axis=0)
            both += chance * np.outer(one, one)
    off = ~np.eye(5, dtype=bool)  # a column is not 1 twice
    assert _expected_pairs(q, np.arange(5))[off] == pytest.approx(both[off], rel=1e-12)


def test_pairs_count_weights_and_holes_and_sparse_rows_like_dense_ones() -> None:
    rng, x = np.random.default_rng(2), drawn(300)
    weight, seen = rng.integers(1, 4, len(x)).astype(float), rng.random(x.shape) < 0.8
    twice = np.repeat(np.arange(len(x)), weight.astype(int))
    whole = Rows(x[twice] * seen[twice], seen[twice])
    counted, repeated = (Pairs.of(rows, [rows]) for rows in (Rows(x * seen, seen, weight), whole))
    assert np.array_equal(counted.ones, repeated.ones)
    assert np.array_equal(counted.seen, repeated.seen)
    assert counted.n == repeated.n
    dense, sparse = (Pairs.of(rows, [rows[:100], rows[100:]]) for rows in (Rows(x), Rows(csr_array(x))))
    assert np.array_equal(dense.ones, sparse.ones)
    assert (dense.seen == 300).all()


@pytest.mark.parametrize("cause", range(4))
def test_the_cause_that_is_lacking_is_the_first_that_is_proposed_alone(cause: int) -> None:
    rows, model = Rows(drawn()), NoisyOrCauses(12)
    without = posterior(np.delete(STRENGTH, cause, axis=0), np.full((1, 3), 0.1))
    proposal = next(one for one in more_causes(model, without, 4000.0, rows, limit=8) if one.n_components == 4)
    strength = proposal.q.causes.mean[-1]
    assert proposal.of.tolist() == [0, 1, 2, -1]
    assert set(np.argsort(-strength)[:3]) == set(np.flatnonzero(STRENGTH[cause]))
    assert proposal.q.usage.mean[0, -1] == pytest.approx(0.1, abs=0.05)


def test_several_that_are_lacking_are_proposed_together_and_alone_as_far_as_is_allowed() -> None:
    rows, model = Rows(drawn()), NoisyOrCauses(12)
    none = posterior(0 * STRENGTH[:1], np.full((1, 1), 0.1)).only(np.arange(0))

    def sizes(limit: int) -> list[int]:
        return [one.n_components for one in more_causes(model, none, 4000.0, rows, limit)]

    assert sizes(8) == [4, 2, 1, 1, 1]
    assert sizes(3) == [3, 1, 1, 1]
    assert sizes(0) == []


def test_nothing_is_proposed_where_nothing_is_lacking() -> None:
    rows, model = Rows(drawn()), NoisyOrCauses(12)
    assert not list(more_causes(model, posterior(STRENGTH, np.full((1, 4), 0.1)), 4000.0, rows, limit=8))
    rng = np.random.default_rng(3)
    for n, d in ((60, 4), (300, 10), (2000, 40)):
        noise = (rng.random((n, d)) < rng.uniform(0.05, 0.4, d)).astype(float)
        leak = Beta(noise.sum(axis=0) + 0.5, n - noise.sum(axis=0) + 5)
        q = replace(posterior(np.full((1, d), 0.5), np.full((1, 1), 0.1)).only(np.arange(0)), leak=leak)
        assert not list(more_causes(NoisyOrCauses(d), q, float(n), Rows(noise), limit=8))


def test_pairs_of_all_rows_are_known_to_who_looks_at_a_sample() -> None:
    x = drawn()
    sample, rows = Rows(x[:50]), Rows(x)
    count_pairs(sample, [rows[:1500], rows[1500:]])
    assert np.array_equal(sample.cached(COUNTED, lambda: None).ones, x.T @ x)
