"""Completed tables of samples that lack whole views, which share their uncertainty with others that lack the same."""

from __future__ import annotations

import numpy as np
import pytest

import latens


@pytest.fixture(scope="module")
def fitted() -> tuple[dict[str, np.ndarray], latens.MultiViewFactorAnalysis]:
    views, _ = latens.datasets.make_multiview(200, (30, 20), n_factors=2, random_state=0)
    return views, latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)


def test_a_view_that_is_absent_is_drawn(fitted: tuple[dict[str, np.ndarray], latens.MultiViewFactorAnalysis]) -> None:
    views, model = fitted
    filled, std, draws = model.impute({"view1": views["view1"]}, return_std=True, n_draws=40)
    spread = np.std([draw["view0"] for draw in draws], axis=0)
    assert np.median(spread / std["view0"]) == pytest.approx(1, abs=0.1)
    assert np.corrcoef(filled["view0"].ravel(), np.mean([d["view0"] for d in draws], axis=0).ravel())[0, 1] > 0.95


def test_samples_that_show_nothing_or_a_part_are_drawn_among_others(
    fitted: tuple[dict[str, np.ndarray], latens.MultiViewFactorAnalysis],
) -> None:
    views, model = fitted
    holes = {name: table.copy() for name, table in views.items()}
    holes["view0"][:60], holes["view1"][50:80] = np.nan, np.nan
    _, (drawn,) = model.impute(holes, n_draws=1)
    assert all(np.isfinite(table).all() for table in drawn.values())
    np.testing.assert_array_equal(drawn["view0"][60:], views["view0"][60:])


def test_inclusion_probabilities_take_samples_that_lack_views() -> None:
    views, _ = latens.datasets.make_multiview(120, (15, 10), n_factors=2, random_state=0)
    views["view0"][:40] = np.nan
    model = latens.MultiViewFactorAnalysis(2, prune=False, random_state=0).fit(views)
    found = model.inclusion_probabilities(views)
    assert found["view0"].shape == model.inclusion_["view0"].shape
