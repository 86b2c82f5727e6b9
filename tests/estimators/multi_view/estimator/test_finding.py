"""Factors of several views: that they and their number are found, and what is published of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from latens.datasets import make_multiview
from latens.errors import ConstantColumns, NothingFound
from latens.metrics import match_components
from tests.estimators.multi_view.estimator.views import MIXED, Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestFinding:
    @pytest.mark.parametrize("seed", range(60, 64))
    def test_the_factors_and_their_number_are_found(self, seed: int) -> None:
        views, truth = make_multiview(200, (60, 40), n_factors=3, noise=0.6, random_state=seed)
        found = model(8).fit(views)
        assert found.n_components_ == 3
        assert np.all(match_components(found.scores_.T, truth.codes.T, signed=True).similarity > 0.95)
        for name, loadings in truth.components.items():
            match = match_components(found.components_[name], loadings, signed=True)
            has_loadings = np.abs(loadings).max(axis=1) > 0  # a factor may be silent in a view
            assert np.all(match.similarity[has_loadings] > 0.97)

    def test_factors_of_mixed_views_are_found(self, mixed: tuple[Views, Any], of_mixed: Any) -> None:
        assert of_mixed.likelihoods_ == dict(zip(mixed[0], MIXED, strict=True))
        assert of_mixed.n_components_ == 2
        # counts were made by another link, softplus, than the logarithm that the model takes
        assert np.all(match_components(of_mixed.scores_.T, mixed[1].codes.T, signed=True).similarity > 0.84)
        assert of_mixed.score_is_bound_
        assert set(of_mixed.noise_variance_) == {"view0"}

    def test_noise_and_levels_are_those_of_the_data(self, data: tuple[Views, Any], fitted: Any) -> None:
        _, truth = data
        for name, variance in truth.noise_variance.items():
            assert np.median(fitted.noise_variance_[name] / variance) == pytest.approx(1, abs=0.05)
            assert fitted.intercepts_[name][0] == pytest.approx(truth.intercepts[name], abs=0.6)

    def test_features_that_follow_a_factor_are_told_from_those_that_do_not(
        self, data: tuple[Views, Any], fitted: Any
    ) -> None:
        name, truth = "view0", data[1]
        match = match_components(fitted.scores_.T, truth.codes.T, signed=True)
        on, strength = fitted.inclusion_[name][match.index], np.abs(truth.components[name])
        assert np.all((on >= 0) & (on <= 1))
        assert np.mean(on[strength > 0.5] > 0.9) > 0.95
        assert np.mean(on[strength == 0] < 0.5) > 0.95
        assert np.all(model(4, sparse_loadings=False).fit(data[0]).inclusion_[name] == 1)

    def test_factors_come_by_their_share_and_their_strongest_loading_is_positive(self, fitted: Any) -> None:
        assert np.all(np.diff(fitted.share_) <= 0)
        scaled = np.hstack([w / np.sqrt(fitted.noise_variance_[n]) for n, w in fitted.components_.items()])
        assert np.all(np.take_along_axis(scaled, np.argmax(np.abs(scaled), axis=1)[:, None], axis=1) > 0)

    def test_the_bound_never_falls(self, fitted: Any, of_mixed: Any) -> None:
        for each in (fitted, of_mixed):
            history = each.elbo_history_
            assert np.all(np.diff(history) > -1e-9 * np.abs(history[-1]))

    def test_without_a_number_one_is_found(self, data: tuple[Views, Any]) -> None:
        assert model(None).fit(data[0]).n_components_ == 3

    @pytest.mark.parametrize(("n", "d", "k"), [(4, 5, 30), (2, 1, 3), (60, 3, 40), (3, 200, 10)])
    def test_more_factors_than_rows_or_columns_never_end_in_an_error(self, n: int, d: int, k: int) -> None:
        rng = np.random.default_rng(n)
        views = {"a": rng.normal(size=(n, d)), "b": rng.poisson(1.0, size=(n, d)).astype(float)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantColumns)
            warnings.simplefilter("ignore", NothingFound)
            found = model(k).fit(views)
        assert found.n_components_ <= k
        assert np.isfinite(found.elbo_)
        assert found.transform(views).shape == (n, found.n_components_)
        assert np.isfinite(found.transform(views)).all()

    @pytest.mark.filterwarnings("ignore::latens.errors.ConstantColumns")
    @pytest.mark.parametrize("kind", MIXED)
    def test_views_without_anything_in_them_are_fitted(self, kind: str) -> None:
        found = model(3, likelihoods=kind).fit({"nothing": np.zeros((12, 4)), "ones": np.ones((12, 3))})
        assert np.isfinite(found.elbo_)
        assert all(np.isfinite(part).all() for part in found.impute({"ones": np.ones((2, 3))}).values())

    @pytest.mark.parametrize("kind", MIXED)
    def test_constant_columns_get_loading_zero(self, kind: str, mixed: tuple[Views, Any]) -> None:
        views, _ = mixed
        name = dict(zip(MIXED, views, strict=True))[kind]
        with_constant = {**views, name: np.hstack([views[name], np.ones((len(views[name]), 1))])}
        with pytest.warns(ConstantColumns):
            found = model(4).fit(with_constant)
        assert np.abs(found.components_[name][:, -1]).max() < 1e-2 * np.abs(found.components_[name]).max()
        answer = found.inverse_transform(np.zeros((1, found.n_components_)))[name][0, -1]
        assert answer == pytest.approx(1, abs=0.1)

    def test_samples_without_whole_views_are_learnt_from(self) -> None:
        views, truth = make_multiview(200, (60, 60), n_factors=2, missing_views=0.4, noise=0.5, random_state=52)
        found = model(5).fit(views)
        assert found.n_components_ == 2
        match = match_components(found.scores_.T, truth.codes.T, signed=True)
        for k in range(2):  # a sample knows a factor if it shows a view that follows it
            names = [name for name, w in truth.components.items() if np.abs(w[k]).max() > 0]
            knows = np.any([~truth.missing[name].all(axis=1) for name in names], axis=0)
            answer, true = found.scores_[:, match.index[k]], truth.codes[:, k]
            assert np.abs(np.corrcoef(answer[knows], true[knows])[0, 1]) > 0.95
            std = found.transform(views, return_std=True)[1][:, match.index[k]]
            assert std[knows].mean() < 0.5
            assert np.all(std[~knows] > 0.9)

    def test_given_loadings_are_a_start(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, truth = data
        tall = {name: view * 1e6 for name, view in views.items()}
        by_view = model(3, init=truth.components).fit(views)
        at_once = model(3, init=1e6 * np.hstack(list(truth.components.values()))).fit(tall)
        scratch = model(3, init="random").fit(views)  # other starts climb on a sample first
        for found in (by_view, at_once):
            assert found.n_components_ == 3
            assert found.n_iter_ < scratch.n_iter_
        assert by_view.elbo_ == pytest.approx(fitted.elbo_, abs=3)

    def test_samples_may_go_without_a_factor(self) -> None:
        rng = np.random.default_rng(67)
        on = rng.random((300, 2)) < 0.3
        codes = on * rng.normal(size=(300, 2)) * 2
        loadings = [rng.normal(size=(2, 30)) * (rng.random((2, 30)) < 0.4) for _ in range(2)]
        views = {f"v{m}": codes @ w + rng.normal(size=(300, 30)) for m, w in enumerate(loadings)}
        sparse, dense = (model(5, sparse_factors=which).fit(views) for which in (True, False))
        assert sparse.n_components_ == dense.n_components_ == 2
        rest = []
        for found, least in ((sparse, 0.98), (dense, 0.9)):
            match = match_components(found.scores_.T, codes.T, signed=True)
            assert np.all(match.similarity > least)
            rest.append(np.mean(np.abs(found.scores_[:, match.index][~on])))
        assert rest[0] < 0.2 * rest[1]
        assert sparse.elbo_ > dense.elbo_

    def test_random_starts_and_several_of_them(self, data: tuple[Views, Any], fitted: Any) -> None:
        found = model(6, init="random", n_init=3).fit(data[0])
        assert found.elbo_ > fitted.elbo_ - 0.01 * abs(fitted.elbo_)
        assert {event.restart for event in found.trace_} <= {0, 1, 2}
