"""The order in which other causes are tried: every move that is taken begins a new round of them."""

from __future__ import annotations

import numpy as np

from latens import NoisyOr
from latens.core import Removal, Rows
from latens.models.noisy_or.moves import propose


def test_causes_that_are_worth_something_are_left_out_after_others_were_added() -> None:
    """Five causes of which the last is two: with them apart, none can be spared."""
    rng, strength = np.random.default_rng(0), np.kron(np.eye(6), np.full(4, 0.7))
    strength[5, 18:20] = 0.7
    x = (rng.random((2000, 24)) > 0.97 * np.exp((rng.random((2000, 6)) < 0.15) @ np.log1p(-strength))).astype(float)
    init = np.vstack([strength[:4], strength[4:].mean(axis=0)])
    fit = NoisyOr(5, init=init, moves=False, prune=False, random_state=0).fit(x)
    state, model = fit._state, fit._model
    proposed = list(propose(model, state.q, state.stats, Rows(x), np.random.default_rng(0), 8))
    left_out = [isinstance(one, Removal) for one in proposed]
    added = [getattr(one, "q", one).n_components > 5 for one in proposed]
    assert any(added)
    assert 0 < sum(left_out[: added.index(True)]) <= 2
    assert sum(left_out) == 5  # each, at last
