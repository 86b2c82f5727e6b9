"""States of the noisy-OR by compiled kernels: what is kept of states that many rows list changes no number."""

import numpy as np
import pytest

from latens.array.kernels.noisy_or.states import Effects, improve, share_kept
from latens.core import Rows

K, D = 16, 12


def effects(rng, n_profiles, leak=0.05):
    theta = -np.log1p(-rng.uniform(0.0, 0.9, (K, D)))
    odds = rng.normal(-2.0, 2.0, (n_profiles, K))
    profile = np.log(rng.dirichlet(np.ones(n_profiles))) - np.logaddexp(0.0, odds).sum(axis=1)
    first = np.full(D, -np.log1p(-leak))
    return Effects(profile, odds, theta, first, -theta, -first)


def listed(rng, kind, n, c=20):
    """Few kinds of states in all rows; more than there are places for; some of each; repeated ones in a row."""
    few, many = rng.integers(0, 2**K, 30)[rng.integers(0, 30, (n, c))], rng.integers(0, 2**K, (n, c))
    if kind == "mixed":
        return np.where(rng.random((n, c)) < 0.5, few, many)
    return {"few": few, "many": many, "repeated": np.repeat(few[:, ::4], 4, axis=1)}[kind]


@pytest.mark.parametrize("n_profiles", [1, 3])
@pytest.mark.parametrize("kind", ["few", "many", "mixed", "repeated"])
@pytest.mark.parametrize("leak", [0.05, 1e-12])
def test_kept_states_give_the_numbers_of_plain_arrays(kind, n_profiles, leak):
    rng = np.random.default_rng(0)
    given, words = effects(rng, n_profiles, leak), listed(rng, kind, 700)
    rows = Rows((rng.random((700, D)) < 0.4).astype(float), seen=rng.random((700, D)) < 0.9)
    rows = Rows(rows.x * rows.seen, seen=rows.seen)
    for n_rounds in (0, 1):
        found, score = improve(given, rows.x, rows.mask, rows.ones, words, 3, n_rounds)
        plain_found, plain_score = improve(given, rows.x, rows.mask, None, words, 3, n_rounds)
        np.testing.assert_allclose(np.sort(score, axis=1), np.sort(plain_score, axis=1), rtol=1e-10)
        best = np.argmax(score, axis=1), np.argmax(plain_score, axis=1)
        assert (found[np.arange(700), best[0]] == plain_found[np.arange(700), best[1]]).all()
        mass = np.exp(score - score.max(axis=1, keepdims=True))
        one, other = share_kept(given, rows.x, rows.ones, found, mass), share_kept(given, rows.x, None, found, mass)
        for name in ("used", "on", "caused", "leaked"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)
