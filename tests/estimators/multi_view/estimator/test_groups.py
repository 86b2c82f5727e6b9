"""Groups of samples, each with levels and active factors of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.multi_view.units import sizes
from latens.metrics import match_components
from tests.estimators.multi_view.estimator.views import Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestGroups:
    def test_each_group_has_levels_of_its_own(self, grouped: tuple[Views, Any, Any]) -> None:
        _, truth, found = grouped
        assert found.layout_.groups == ("group0", "group1")
        for g, group in enumerate(found.layout_.groups):
            assert found.intercepts_["view0"][g] == pytest.approx(truth.intercepts["view0"] + 30 * g, abs=0.6), group
        assert found.n_components_ == 3  # none of them is the difference of the groups

    def test_a_factor_may_be_silent_in_a_group(self, grouped: tuple[Views, Any, Any]) -> None:
        _, truth, found = grouped
        match = match_components(found.scores_.T, truth.codes.T, signed=True)
        spread = np.array([truth.codes[truth.groups == group].var(axis=0) for group in found.layout_.groups])
        activity = found.activity_[:, match.index]
        assert np.all(activity[spread == 0] < 0.1)
        assert np.all(activity[spread > 0] > 0.3)
        explained = found.explained_["per_factor"][:, :, match.index].max(axis=1)
        assert np.all(explained[spread == 0] < 0.01)
        assert np.all(explained[spread > 0] > 0.03)

    def test_factors_are_in_units_of_their_spread_over_all_samples(self, grouped: tuple[Views, Any, Any]) -> None:
        """Only a prior tells variances of groups from sizes of loadings; published, factors have variance 1."""
        views, truth, found = grouped
        shares = np.array([np.mean(truth.groups == group) for group in found.layout_.groups])
        assert shares @ found.activity_ == pytest.approx(np.ones(found.n_components_), rel=0.01)
        codes, std = found.transform(views, groups=truth.groups, return_std=True)
        assert (codes**2 + std**2).mean(axis=0) == pytest.approx(np.ones(found.n_components_), rel=0.02)
        expected = codes @ found.components_["view1"] + found.intercepts_["view1"][found.group_of_]
        assert found.inverse_transform(codes, groups=truth.groups)["view1"] == pytest.approx(expected)

    def test_files_hold_factor_values_of_groups_in_the_unit_of_the_posterior(
        self, grouped: tuple[Views, Any, Any], tmp_path: Any
    ) -> None:
        """As files always did: read again, they are in the unit of everything else that is published."""
        found = grouped[2]
        latens.save(found, tmp_path / "groups.latens")
        again = latens.load(tmp_path / "groups.latens")
        assert np.array_equal(again.scores_, found.scores_)
        assert vars(again)["scores_"] == pytest.approx(found.scores_ * sizes(found.posterior_))

    def test_the_group_of_a_new_sample_counts_where_it_is_known(self, grouped: tuple[Views, Any, Any]) -> None:
        views, truth, found = grouped
        assert found.transform(views, groups=truth.groups) == pytest.approx(found.scores_, abs=1e-9)
        part = {"view1": views["view1"]}
        answer = found.impute(part, groups=truth.groups)["view0"]
        assert np.mean((answer - truth.expected["view0"] - 30 * (truth.groups == "group1")[:, None]) ** 2) < 2
        # where it is not known, the levels tell it
        assert found.transform(views) == pytest.approx(found.scores_, abs=1e-9)
        share = np.array([np.mean(truth.groups == group) for group in truth.groups])  # far apart: no other group helps
        assert found.score(views) == pytest.approx(found.score(views, groups=truth.groups) + np.log(share).mean())
        wrong = np.where(truth.groups == "group0", "group1", "group0")
        assert found.score(views, groups=wrong) < found.score(views) - 100
        half = np.where(np.arange(300) % 2, truth.groups, None)
        assert found.transform(part, groups=half)[1::2] == pytest.approx(
            found.transform(part, groups=truth.groups)[1::2]
        )

    def test_one_group_is_no_group(self, data: tuple[Views, Any], fitted: Any) -> None:
        found = model().fit(data[0], groups=["all"] * 200)
        assert np.array_equal(found.scores_, fitted.scores_)
        codes = model(3, max_iter=3).fit_transform(data[0], groups=["all"] * 200)
        assert codes.shape[0] == 200

    def test_draws_and_reconstructions_leave_the_group_out(self, grouped: tuple[Views, Any, Any]) -> None:
        _, _, found = grouped
        drawn, codes = found.sample(7)
        assert [view.shape for view in drawn.values()] == [(7, 50), (7, 40)]
        assert codes.shape == (7, 3)
        assert found.inverse_transform(np.zeros((2, 3)))["view0"].shape == (2, 50)
