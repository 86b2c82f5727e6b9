"""A cluster of one row: nothing but the prior says how far its rows spread, and its intervals say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from tests.estimators.intervals.test_intervals import quietly

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(60, 3)), RNG.normal(size=(60, 3)) + 6, [[20, -20, 20]]])
MODELS: dict[str, Any] = {
    **{kind: latens.GaussianMixture(3, covariance_type=kind, random_state=0) for kind in ("full", "diag", "spherical")},
    "classes": latens.LatentClassAnalysis(3, random_state=0),
}
OF_SPREADS = ("means", "covariances", "standard_deviations")


@pytest.mark.parametrize("method", ["response", "bootstrap"])
@pytest.mark.parametrize("name", MODELS)
def test_means_and_spreads_of_a_cluster_of_one_row_are_not_sound(name: str, method: str) -> None:
    model = quietly(MODELS[name].fit, X)
    lone = str(model.get_feature_names_out()[int(model.predict(X[-1:])[0])])
    table = quietly(model.intervals, X, method=method)
    why = {row[9] for row in table.rows if row[1] == lone and row[0] in OF_SPREADS}
    assert why == {"of one row: how far its rows spread is known by the prior alone"}
    assert {row[8] for row in table.rows if row[1] not in ("", lone)} == {True}
    if method == "response":
        assert {row[8] for row in table.rows if row[1] == lone and row[0] == "weights"} == {True}


def test_a_spread_that_clusters_share_is_that_of_all_rows() -> None:
    model = quietly(latens.GaussianMixture(3, covariance_type="tied", random_state=0).fit, X)
    assert {row[8] for row in quietly(model.intervals, X, method="response").rows} == {True}
