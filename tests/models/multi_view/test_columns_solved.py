"""Loadings that rows tell, column by column, also where a column never meets some of what stands beside it."""

from __future__ import annotations

import numpy as np

from latens.models.multi_view.moves import _solved


def test_regressors_that_are_not_told_apart_share_what_they_say() -> None:
    """As on penguins: of the species asked after the first, none is from one of the islands that are covariates."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    full = np.stack([rows.T @ rows, np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])])
    pull = np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 5.0]])
    found = _solved(full, pull)
    assert np.allclose(found[0], np.linalg.solve(full[0], pull[0]))
    assert np.allclose(found[1], [1.0, 1.0, 5.0])
