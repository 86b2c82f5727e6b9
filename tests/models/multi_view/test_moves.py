"""Moves of factors: what is tried in place of a fit, and how."""

from __future__ import annotations

from typing import cast

import numpy as np

import latens
from latens.core import Removal
from latens.estimators.fitted_parts import fitted_parts
from latens.models.multi_view.model import MultiViewPosterior, MultiViewStatistics
from latens.models.multi_view.moves import deletions


def test_what_lacks_one_factor_is_tried_to_its_end_and_what_lacks_several_is_not() -> None:
    """Others take the place of a factor in thirty iterations that begin thousands of nats below."""
    x = np.random.default_rng(0).normal(size=(60, 8))
    model = latens.MultiViewFactorAnalysis(3, random_state=0, moves=False, prune=False, max_iter=3).fit(x)
    parts, q = fitted_parts(model), cast("MultiViewPosterior", model.posterior_)
    rows = parts.units.enter(model._rows_of_fit(x))
    stats = cast("MultiViewStatistics", parts.model.statistics(rows, parts.model.local_step(q, rows)))
    proposed = list(deletions(q, stats))
    assert {one.n_components for one in proposed} == {1, 2}
    for one in proposed:
        assert isinstance(one, Removal) == (one.n_components == 2)
        for name, view in q.views.items():
            assert np.array_equal(view.mean[:, one.of], one.q.views[name].mean[:, : one.n_components])
