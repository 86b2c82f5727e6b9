"""What must not matter to several views: units, weights as repeated rows, precision, levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_multiview
from latens.metrics import match_components
from tests.estimators.multi_view.estimator.views import Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestInvariance:
    @pytest.mark.parametrize("unit", [1e-12, 1e12])
    def test_the_unit_of_a_view_changes_nothing_but_units(
        self, unit: float, data: tuple[Views, Any], fitted: Any
    ) -> None:
        views, _ = data
        found = model().fit({"view0": unit * views["view0"], "view1": views["view1"]})
        assert found.n_components_ == fitted.n_components_
        assert found.scores_ == pytest.approx(fitted.scores_, abs=1e-6)
        assert found.components_["view0"] / unit == pytest.approx(fitted.components_["view0"], abs=1e-6)
        assert found.noise_variance_["view0"] / unit**2 == pytest.approx(fitted.noise_variance_["view0"], rel=1e-6)
        assert found.elbo_ == pytest.approx(fitted.elbo_ - 200 * 60 * np.log(unit), rel=1e-8)
        assert found.explained_["total"] == pytest.approx(fitted.explained_["total"], abs=1e-6)

    @pytest.mark.parametrize("scale_views", [True, False])
    def test_views_of_very_different_units_are_all_heard(self, scale_views: bool) -> None:
        views, truth = make_multiview(200, (40, 40), n_factors=2, random_state=63)
        found = model(5, scale_views=scale_views).fit({"view0": 1e9 * views["view0"], "view1": 1e-9 * views["view1"]})
        assert found.n_components_ == 2
        assert np.all(match_components(found.scores_.T, truth.codes.T, signed=True).similarity > 0.9)

    @pytest.mark.slow
    def test_a_weight_is_that_many_rows(self, mixed: tuple[Views, Any]) -> None:
        views = {name: view[:120] for name, view in mixed[0].items()}
        weight = np.random.default_rng(1).integers(0, 4, size=120)
        settled = {"tol": 1e-9, "max_iter": 4000}
        weighted = model(3, **settled).fit(views, sample_weight=weight)
        repeated = model(3, **settled).fit({name: np.repeat(view, weight, axis=0) for name, view in views.items()})
        assert weighted.elbo_ == pytest.approx(repeated.elbo_, rel=1e-9)
        for name in views:
            assert weighted.components_[name] == pytest.approx(repeated.components_[name], abs=1e-5)
        assert weighted.explained_["total"] == pytest.approx(repeated.explained_["total"], abs=1e-6)
        assert weighted.scores_[weight > 0] == pytest.approx(weighted.transform(views)[weight > 0], abs=1e-6)
        assert weighted.scores_[weight == 0] == pytest.approx(weighted.transform(views)[weight == 0], abs=1e-6)

    def test_single_precision_stays_single(self, mixed: tuple[Views, Any], of_mixed: Any) -> None:
        single = {name: view.astype(np.float32) for name, view in mixed[0].items()}
        found = model(5).fit(single)
        assert found.transform(single).dtype == np.float32
        assert found.impute(single)["view0"].dtype == np.float32
        assert found.n_components_ == of_mixed.n_components_
        assert found.scores_ == pytest.approx(of_mixed.scores_, abs=0.02)
        assert found.components_["view0"].dtype == np.float64

    def test_large_levels_do_no_harm(self, data: tuple[Views, Any], fitted: Any) -> None:
        moved = {name: (view + 1e6).astype(np.float64) for name, view in data[0].items()}
        found = model().fit(moved)
        assert found.scores_ == pytest.approx(fitted.scores_, abs=1e-3)
        assert found.intercepts_["view0"] - 1e6 == pytest.approx(fitted.intercepts_["view0"], abs=1e-2)

    def test_the_same_seed_gives_the_same_bits(self, mixed: tuple[Views, Any], of_mixed: Any) -> None:
        assert np.array_equal(model(5).fit(mixed[0]).scores_, of_mixed.scores_)

    def test_the_data_are_left_as_they_were(self, mixed: tuple[Views, Any]) -> None:
        before = {name: view.copy() for name, view in mixed[0].items()}
        model(3, max_iter=5).fit(mixed[0]).impute(mixed[0])
        for name, view in mixed[0].items():
            assert np.array_equal(view, before[name], equal_nan=True)
