"""The estimator of multi-view factor analysis: what it finds, what it takes, what it answers and what it refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import latens
from latens.datasets import make_multiview
from latens.errors import ConstantColumns, FollowsTotals, NothingFound
from latens.metrics import match_components
from tests.estimators.multi_view.refit import codes_given_loadings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MIXED = ("gaussian", "bernoulli", "poisson")
Views = dict[str, np.ndarray]


def model(n_components: int | None = 6, **options: Any) -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(n_components, **{"random_state": 0, **options})


@pytest.fixture(scope="module")
def data() -> tuple[Views, Any]:
    return make_multiview(200, (60, 40), n_factors=3, noise=0.5, random_state=50)


@pytest.fixture(scope="module")
def fitted(data: tuple[Views, Any]) -> latens.MultiViewFactorAnalysis:
    return model().fit(data[0])


@pytest.fixture(scope="module")
def mixed() -> tuple[Views, Any]:
    return make_multiview(250, (30, 40, 30), MIXED, n_factors=2, missing=0.1, missing_views=0.1, random_state=51)


@pytest.fixture(scope="module")
def of_mixed(mixed: tuple[Views, Any]) -> latens.MultiViewFactorAnalysis:
    return model(5).fit(mixed[0])


@pytest.fixture(scope="module")
def grouped() -> tuple[Views, Any, Any]:
    views, truth = make_multiview(300, (50, 40), n_factors=3, groups=2, noise=0.6, random_state=64)
    views["view0"][truth.groups == "group1"] += 30
    return views, truth, model(6).fit(views, groups=truth.groups)


class TestFinding:
    @pytest.mark.parametrize("seed", range(60, 64))
    def test_the_factors_and_their_number_are_found(self, seed: int) -> None:
        views, truth = make_multiview(200, (60, 40), n_factors=3, noise=0.6, random_state=seed)
        found = model(8).fit(views)
        assert found.n_components_ == 3
        assert np.all(match_components(found.scores_.T, truth.codes.T, signed=True).similarity > 0.95)
        for name, loadings in truth.components.items():
            match = match_components(found.components_[name], loadings, signed=True)
            heard = np.abs(loadings).max(axis=1) > 0  # a factor may be silent in a view
            assert np.all(match.similarity[heard] > 0.97)

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
            heard = [name for name, w in truth.components.items() if np.abs(w[k]).max() > 0]
            knows = np.any([~truth.missing[name].all(axis=1) for name in heard], axis=0)
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


class TestNewSamples:
    @pytest.mark.parametrize("given", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)], ids=str)
    def test_factors_from_any_views_equal_a_refit_with_the_loadings_given(
        self, given: tuple[int, ...], of_mixed: Any
    ) -> None:
        new, _ = make_multiview(8, (30, 40, 30), MIXED, n_factors=2, missing=0.2, random_state=53)
        part = {f"view{m}": new[f"view{m}"] for m in given}
        mean, std = of_mixed.transform(part, return_std=True)
        exact_mean, exact_std = codes_given_loadings(of_mixed, part)
        assert mean == pytest.approx(exact_mean, abs=1e-6)
        assert std == pytest.approx(exact_std, abs=1e-6)

    def test_fewer_views_leave_more_uncertainty(self, of_mixed: Any, mixed: tuple[Views, Any]) -> None:
        one, all_ = (
            of_mixed.transform({name: mixed[0][name] for name in names}, return_std=True)[1].mean()
            for names in (("view0",), ("view0", "view1", "view2"))
        )
        assert all_ < one < 1.0001

    def test_standard_deviations_are_honest(self) -> None:
        views, truth = make_multiview(400, (25, 20), n_factors=2, random_state=54)
        found = model(4).fit(views)
        mean, std = found.transform({"view0": views["view0"]}, return_std=True)
        match = match_components(found.scores_.T, truth.codes.T, signed=True)
        gaps = match.sign * mean[:, match.index] - truth.codes
        heard = np.abs(truth.components["view0"]).max(axis=1) > 0
        inside = np.abs(gaps) < 1.96 * std[:, match.index]
        assert 0.9 < inside[:, heard].mean() < 0.98

    def test_scores_of_the_fit_are_its_transform(self, data: tuple[Views, Any], fitted: Any, of_mixed: Any) -> None:
        assert fitted.transform(data[0]) == pytest.approx(fitted.scores_, abs=1e-9)
        assert of_mixed.scores_.shape == (250, 2)

    def test_order_of_rows_and_blocks_do_not_matter(self, mixed: tuple[Views, Any], of_mixed: Any) -> None:
        order = np.random.default_rng(0).permutation(250)
        turned = of_mixed.transform({name: view[order] for name, view in mixed[0].items()})
        assert turned == pytest.approx(of_mixed.transform(mixed[0])[order], abs=1e-7)


class TestImputing:
    def test_intervals_cover_hidden_entries_as_often_as_they_say(self) -> None:
        views, truth = make_multiview(200, (80, 60), n_factors=3, missing=0.15, random_state=55)
        shifted = {"view0": 100 + views["view0"], "view1": 1e-3 * views["view1"]}
        found = model().fit(shifted)
        filled, low, high = found.impute(shifted, coverage=0.95)
        hits = []
        for (name, hole), shift, unit in zip(truth.missing.items(), (100, 0), (1, 1e-3), strict=True):
            hidden = (shift + unit * truth.complete[name])[hole]
            hits.append((low[name][hole] < hidden) & (hidden < high[name][hole]))
            assert np.array_equal(filled[name][~hole], shifted[name][~hole])
            gap = filled[name][hole] - (shift + unit * truth.expected[name])[hole]
            assert np.sqrt(np.mean(gap**2)) < 0.4 * unit
        assert 0.93 < np.mean(np.concatenate(hits)) < 0.97

    def test_standard_deviations_are_those_of_the_errors(self) -> None:
        views, truth = make_multiview(200, (60, 40), n_factors=2, missing=0.15, random_state=56)
        filled, std = model(4).fit(views).impute(views, return_std=True)
        for name, hole in truth.missing.items():
            ratio = (truth.complete[name] - filled[name])[hole] / std[name][hole]
            assert np.std(ratio) == pytest.approx(1, abs=0.06)
            assert np.all(std[name][~hole] == 0)

    @pytest.mark.parametrize("seed", [57, 58])
    def test_chances_of_rare_events_are_nearly_as_good_as_the_truth(self, seed: int) -> None:
        views, truth = make_multiview(
            300, (80, 60), ("gaussian", "bernoulli"), n_factors=3, rate=0.08, missing=0.1, random_state=seed
        )
        chance = model().fit(views).impute(views)["view1"]
        hole, y = truth.missing["view1"], truth.complete["view1"]

        def log_loss(p: np.ndarray) -> float:
            return float(-np.mean(np.log(np.where(y[hole] > 0, p[hole], 1 - p[hole]))))

        best = log_loss(truth.expected["view1"])
        assert best < log_loss(chance) < best + 0.03

    def test_intervals_of_counts_cover_too(self) -> None:
        views, truth = make_multiview(300, (60, 60), ("gaussian", "poisson"), n_factors=2, missing=0.1, random_state=59)
        filled, low, high = model(4).fit(views).impute(views, coverage=0.9)
        hole, y = truth.missing["view1"], truth.complete["view1"]
        inside = (low["view1"] <= y) & (y <= high["view1"])
        assert 0.88 < inside[hole].mean() <= 1  # whole numbers cannot stop at nine tenths
        assert np.all(filled["view1"] >= 0)
        assert np.all(low["view1"] % 1 == 0)

    def test_views_that_are_absent_are_predicted_whole(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, truth = data
        answer = fitted.impute({"view0": views["view0"]})
        assert set(answer) == {"view0", "view1"}
        assert np.array_equal(answer["view0"], views["view0"])
        rest = truth.expected["view1"] - answer["view1"]
        assert np.var(rest) < 0.5 * np.var(truth.expected["view1"] - truth.intercepts["view1"])

    def test_a_sample_with_nothing_gets_the_prior_and_the_levels(self, fitted: Any) -> None:
        nothing = {"view0": np.full((1, 60), np.nan)}
        mean, std = fitted.transform(nothing, return_std=True)
        assert mean == pytest.approx(0, abs=1e-12)
        assert std == pytest.approx(1)
        assert fitted.score_samples(nothing) == pytest.approx(0, abs=1e-9)
        assert fitted.impute(nothing)["view1"][0] == pytest.approx(fitted.intercepts_["view1"][0])

    def test_answers_come_in_the_container_that_was_given(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, _ = data
        assert isinstance(fitted.impute(list(views.values())), list)
        plain = model(3).fit(views["view0"])
        assert plain.impute(views["view0"]).shape == (200, 60)
        assert plain.layout_.views == ("x",)
        assert plain.inverse_transform(plain.transform(views["view0"])).shape == (200, 60)


class TestScores:
    def test_scores_are_the_density_at_the_expected_loadings(self, fitted: Any) -> None:
        new, _ = make_multiview(6, (60, 40), n_factors=3, missing=0.3, random_state=61)
        loadings = np.hstack(list(fitted.components_.values()))
        covariance = loadings.T @ loadings + np.diag(np.concatenate(list(fitted.noise_variance_.values())))
        level = np.concatenate([part[0] for part in fitted.intercepts_.values()])
        expected = []
        for row in np.hstack(list(new.values())):
            seen = ~np.isnan(row)
            expected.append(multivariate_normal.logpdf(row[seen], level[seen], covariance[np.ix_(seen, seen)]))
        assert not fitted.score_is_bound_
        assert fitted.score_samples(new) == pytest.approx(np.array(expected), rel=1e-10)
        assert fitted.score(new) == pytest.approx(np.mean(expected), rel=1e-10)

    def test_scores_of_mixed_views_are_below_the_likelihood_at_the_expected_loadings(self, of_mixed: Any) -> None:
        """Bounds: of a sample's evidence, here integrated over its factors by quadrature."""
        new, _ = make_multiview(5, (30, 40, 30), MIXED, n_factors=2, random_state=62)
        nodes, mass = np.polynomial.hermite_e.hermegauss(60)
        z = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        log_mass = np.log(np.outer(mass, mass).ravel() / mass.sum() ** 2)
        level = np.tile(log_mass[:, None], (1, 5))
        for name, view in of_mixed.inverse_transform(z).items():
            for row, y in enumerate(new[name]):
                level[:, row] += _log_likelihood(of_mixed, name, y, view).sum(axis=1)
        evidence = np.logaddexp.reduce(level, axis=0)
        gaps = evidence - of_mixed.score_samples(new)
        assert np.all((gaps > 0) & (gaps < 25))

    def test_what_is_explained_is_between_nothing_and_all(self, of_mixed: Any, fitted: Any) -> None:
        for each in (of_mixed, fitted):
            shares = each.explained_
            for part in shares.values():
                assert np.all((part >= 0) & (part <= 1))
            assert np.all(shares["per_factor"] <= shares["total"][..., None] + 0.02)
        assert of_mixed.explained_["total"].min() > 0.02

    def test_what_is_explained_without_noise_is_each_factors_share(self) -> None:
        rng = np.random.default_rng(3)
        z = np.linalg.qr(rng.normal(size=(100, 2)) - 0)[0]
        z = np.linalg.qr(z - z.mean(axis=0))[0] * 10
        w = np.zeros((2, 20))
        w[0, :12], w[1, 8:] = rng.normal(size=12), 2 * rng.normal(size=12)
        w[:, ::2] *= -1
        clean = 5 + z @ w
        found = model(4).fit({"a": clean + 1e-3 * rng.normal(size=clean.shape)})
        expected = np.sort(np.mean(w**2 / np.sum(w**2, axis=0), axis=1))  # each column in its own sd
        assert found.n_components_ == 2
        assert found.explained_["total"][0, 0] == pytest.approx(1, abs=1e-4)
        assert np.sort(found.explained_["per_factor"][0, 0]) == pytest.approx(expected, abs=0.02)

    def test_nothing_is_explained_where_there_is_nothing(self) -> None:
        views = {"a": np.random.default_rng(0).normal(size=(300, 30))}
        assert model(5).fit(views).explained_["total"][0, 0] < 0.02


def _log_likelihood(found: Any, name: str, y: np.ndarray, expected: np.ndarray) -> np.ndarray:
    kind = found.likelihoods_[name]
    if kind == "gaussian":
        variance = found.noise_variance_[name]
        return -0.5 * ((y - expected) ** 2 / variance + np.log(2 * np.pi * variance))
    if kind == "bernoulli":
        return np.log(np.where(y > 0, expected, 1 - expected))
    from scipy.special import gammaln

    return y * np.log(expected) - expected - gammaln(y + 1)


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
        settled = {"tol": 1e-9, "max_iter": 2000}
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


class TestStreams:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", MIXED)
    def test_later_batches_improve_what_is_said_of_unseen_samples(self, kind: str) -> None:
        views, _ = make_multiview(900, (40, 30), (kind, kind), n_factors=2, random_state=65)

        def part(rows: slice) -> Views:
            return {name: view[rows] for name, view in views.items()}

        stream, scores = model(4), []
        for start in range(0, 700, 70):
            stream.partial_fit(part(slice(start, start + 70)))
            scores.append(stream.score(part(slice(700, 900))))
        at_once = model(4).fit(part(slice(0, 700))).score(part(slice(700, 900)))
        assert scores[-1] > scores[0] + 0.5 * (at_once - scores[0])
        assert stream._state.stats.n == 700
        with pytest.raises(AttributeError, match=r"give the samples: model\.associate"):
            stream.associate({"x": np.arange(900)})
        assert np.all(stream.explained_["total"] <= 1)

    def test_a_stream_takes_any_views_and_groups(self) -> None:
        views, truth = make_multiview(300, (30, 20), n_factors=2, groups=2, random_state=66)
        stream = model(3).partial_fit(views, groups=truth.groups)
        before = stream.transform(views, groups=truth.groups)
        stream.partial_fit({"view1": views["view1"]}, groups=truth.groups)
        stream.partial_fit(views)
        assert stream._state.stats.n == 900
        after = stream.transform(views, groups=truth.groups)
        assert np.abs(np.corrcoef(before[:, 0], after[:, 0])[0, 1]) > 0.9

    def test_a_refused_batch_changes_nothing(self, data: tuple[Views, Any]) -> None:
        stream = model(3, max_iter=10).partial_fit(data[0])
        before = dict(vars(stream))
        with pytest.raises(ValueError, match="infinity"):
            stream.partial_fit({"view0": np.full((2, 60), np.inf)})
        assert vars(stream) == before


class TestConventions:
    def test_a_clone_has_the_parameters_and_no_fit(self, fitted: Any) -> None:
        copy = clone(fitted)
        assert copy.get_params() == fitted.get_params()
        with pytest.raises(NotFittedError):
            copy.transform({"view0": np.zeros((1, 60))})

    def test_names_reach_every_output(self, data: tuple[Views, Any], fitted: Any) -> None:
        found = clone(fitted).fit(data[0]).set_component_names(["a", "b", "c"])
        assert list(found.top_features(2)) == ["a", "b", "c"]
        assert "b" in str(found.summary())
        assert {row[0] for row in found.associate({"n": np.arange(200)}).rows} == {"a", "b", "c"}
        assert list(found.get_feature_names_out()) == ["a", "b", "c"]
        with pytest.raises(ValueError, match="3 different names"):
            found.set_component_names(["a", "a", "b"])

    def test_top_features_have_the_largest_share_of_their_variance(self, data: tuple[Views, Any], fitted: Any) -> None:
        strength = np.hstack(
            [w**2 / (np.sum(w**2, axis=0) + fitted.noise_variance_[n]) for n, w in fitted.components_.items()]
        )
        names = [f"{view}: {feature}" for view, f in zip(*_named(fitted), strict=True) for feature in f]
        answer = fitted.top_features(3)
        for k, top in enumerate(answer.values()):
            assert top == [names[d] for d in np.argsort(-strength[k])[:3]]
        assert all(name.startswith("view1_") for top in fitted.top_features(2, view="view1").values() for name in top)
        with pytest.raises(ValueError, match="view='x' is not known; choose one of 'view0', 'view1'"):
            fitted.top_features(view="x")

    def test_draws_are_like_the_data(self, data: tuple[Views, Any], fitted: Any) -> None:
        drawn, codes = fitted.sample(4000)
        assert np.var(codes, axis=0) == pytest.approx(1, abs=0.1)
        for name, view in data[0].items():
            assert drawn[name].mean(axis=0) == pytest.approx(view.mean(axis=0), abs=0.5)
            assert np.median(drawn[name].var(axis=0) / view.var(axis=0)) == pytest.approx(1, abs=0.1)
        codes_again = fitted.transform(drawn)
        assert np.all(np.diagonal(np.corrcoef(codes.T, codes_again.T)[:3, 3:]) > 0.9)  # of the same sign

    def test_draws_of_mixed_views_are_of_their_kind(self, of_mixed: Any) -> None:
        drawn, _ = of_mixed.sample(50)
        assert set(np.unique(drawn["view1"])) == {0.0, 1.0}
        assert np.all((drawn["view2"] >= 0) & (drawn["view2"] % 1 == 0))

    def test_reconstructions_are_levels_and_loadings(self, fitted: Any, of_mixed: Any) -> None:
        codes = np.random.default_rng(0).normal(size=(4, 3))
        for name, view in fitted.inverse_transform(codes).items():
            assert view == pytest.approx(codes @ fitted.components_[name] + fitted.intercepts_[name])
        codes = codes[:, :2]
        eta = codes @ of_mixed.components_["view1"] + of_mixed.intercepts_["view1"]
        assert of_mixed.inverse_transform(codes)["view1"] == pytest.approx(expit(eta))

    def test_draws_of_the_posterior_scatter_about_it(self, fitted: Any) -> None:
        drawn = fitted.sample_posterior(200)["components"]["view0"]
        assert drawn.shape == (200, 3, 60)
        strong = fitted.inclusion_["view0"] > 0.999
        assert drawn.mean(axis=0)[strong] == pytest.approx(fitted.components_["view0"][strong], abs=0.15)

    def test_associations_are_found_and_aligned(self, data: tuple[Views, Any], fitted: Any) -> None:
        codes = fitted.scores_
        metadata = {"dose": codes[:, 1] + 0.3, "side": np.where(codes[:, 0] > 0, "l", "r"), "noise": np.arange(200) % 7}
        table = fitted.associate(metadata)
        first = {column: table["column"].index(column) for column in metadata}  # the smallest adjusted p
        assert table["factor"][first["dose"]] == fitted.get_feature_names_out()[1]
        assert table["factor"][first["side"]] == fitted.get_feature_names_out()[0]
        assert table["adjusted p"][first["dose"]] < 1e-10
        assert table["adjusted p"][first["noise"]] > 0.01

    def test_a_factor_that_follows_the_totals_is_doubted(self) -> None:
        rng = np.random.default_rng(0)
        size = rng.lognormal(sigma=0.5, size=(200, 1))
        counts = rng.normal(size=(200, 30)) * 0.1 + size * rng.uniform(1, 2, size=30)
        with pytest.warns(FollowsTotals, match="factor 0 all but equals the row totals of view 'counts'") as caught:
            model(3).fit({"counts": counts, "other": rng.normal(size=(200, 5))})
        assert caught[0].filename == __file__

    def test_a_warm_start_goes_on_unless_the_views_are_others(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, _ = data
        warm = model(warm_start=True).fit(views)
        assert np.array_equal(warm.scores_, fitted.scores_)
        warm.fit(views)
        assert warm.n_iter_ < 5
        assert warm.elbo_ >= fitted.elbo_
        renamed = {"b": views["view0"], "a": views["view1"]}
        assert np.array_equal(warm.fit(renamed).scores_, model().fit(renamed).scores_)
        assert warm.layout_.views == ("b", "a")

    def test_a_refused_fit_changes_nothing(self, data: tuple[Views, Any]) -> None:
        found = model(3, max_iter=5).fit(data[0])
        before = dict(vars(found))
        found.tol = -1
        with pytest.raises(ValueError, match="tol"):
            found.fit({"other": data[0]["view0"]})
        found.tol = before["tol"]
        assert vars(found) == before

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_components": 0}, "n_components=0 is too small"),
            ({"n_components": "many"}, "n_components='many' is not a whole number"),
            ({"likelihoods": {"view0": "normal"}}, r"likelihoods\['view0'\]='normal' is not known; choose"),
            ({"likelihoods": {"rna": "gaussian"}}, "likelihoods names the view.s. 'rna'; there are 'view0', 'view1'"),
            ({"likelihoods": {"view0": "bernoulli"}}, "view 'view0' is to be bernoulli but holds other values"),
            ({"likelihoods": {"view1": "poisson"}}, "view 'view1' is to be poisson but holds negative values"),
            ({"init": "pca"}, "init='pca' is not known; choose one of 'auto', 'random'"),
            ({"init": np.zeros((200, 6))}, r"init has shape \(200, 6\); expected \(6, 100\)"),
            ({"init": {"view0": np.zeros((6, 60))}}, "init has the views"),
            ({"sparse_loadings": "yes"}, "sparse_loadings='yes'"),
            ({"scale_views": None}, "scale_views=None"),
            ({"max_iter": 0}, "max_iter=0"),
        ],
    )
    def test_bad_parameters_are_named(self, options: dict[str, Any], message: str, data: tuple[Views, Any]) -> None:
        with pytest.raises(ValueError, match=message):
            model(**options).fit(data[0])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda v: {}, "no views were given"),
            (lambda v: {"a": v["view0"], "b": v["view1"][:50]}, "views have 200 and 50 rows"),
            (lambda v: {"a": np.where(v["view0"] > 2, np.inf, v["view0"])}, "view 'a' contains infinity"),
            (lambda v: {"a": v["view0"].astype(complex)}, "view 'a' is complex"),
            (lambda v: {"a": np.full((9, 2), np.nan)}, "the views hold nothing but NaN"),
            (lambda v: {"a": v["view0"][:1]}, "at least 2"),
        ],
    )
    def test_bad_views_are_named(self, change: Any, message: str, data: tuple[Views, Any]) -> None:
        with pytest.raises(ValueError, match=message):
            model(2).fit(change(data[0]))

    def test_bad_questions_are_named(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, _ = data
        for ask, message in [
            (lambda: fitted.transform({"rna": views["view0"]}), "'rna' were not there when the model was fitted"),
            (lambda: fitted.transform({"view0": views["view0"][:, :3]}), "has 3 columns; the model was fitted with 60"),
            (lambda: fitted.transform(views["view0"]), "one table was given, but the model was fitted to the views"),
            (lambda: fitted.transform(views, groups=["a"] * 200), "the model was fitted without"),
            (lambda: fitted.impute(views, coverage=1.5), "coverage=1.5 is out of range"),
            (lambda: fitted.inverse_transform(np.zeros((2, 7))), r"expected \(n, 3\)"),
            (lambda: fitted.sample(0), "n_samples=0"),
        ]:
            with pytest.raises(ValueError, match=message):
                ask()


def _named(found: Any) -> tuple[Any, Any]:
    return found.layout_.views, found.layout_.features


@pytest.mark.extras
class TestContainers:
    def test_a_pipeline_on_a_two_level_frame_is_cross_validated(self, data: tuple[Views, Any]) -> None:
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline

        views, truth = data
        frame = pd.concat({name: pd.DataFrame(view) for name, view in views.items()}, axis=1)
        y = truth.codes[:, 0] > 0
        scores = cross_val_score(make_pipeline(model(4), LogisticRegression()), frame, y, cv=3)
        assert scores.mean() > 0.9

    def test_a_pipeline_on_annotated_views_is_cross_validated(self, data: tuple[Views, Any]) -> None:
        import anndata
        import mudata
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline

        views, truth = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mdata = mudata.MuData({name: anndata.AnnData(view) for name, view in views.items()})
            y = truth.codes[:, 0] > 0
            scores = cross_val_score(make_pipeline(model(4), LogisticRegression()), mdata, y, cv=3)
        assert scores.mean() > 0.9

    def test_frames_keep_their_names_everywhere(self, data: tuple[Views, Any]) -> None:
        import pandas as pd

        views, _ = data
        rows = [f"patient {i}" for i in range(200)]
        frames = {
            name: pd.DataFrame(view, index=rows, columns=[f"{name} gene {d}" for d in range(view.shape[1])])
            for name, view in views.items()
        }
        frames["view1"] = frames["view1"].iloc[50:][::-1]  # some are missing there, and in another order
        found = model(4).fit(frames).set_output(transform="pandas")
        assert found.row_names_ == tuple(rows)
        assert found.transform(frames).index.tolist() == rows
        filled = found.impute(frames)
        assert filled["view1"].index.tolist() == rows
        assert filled["view1"].columns.tolist() == frames["view1"].columns.tolist()
        assert not filled["view1"].isna().any().any()
        assert all("gene" in name for top in found.top_features(2).values() for name in top)
        table = found.variance_explained_.to_frame()
        assert table.index.names == ["group", "view"]
        assert table.columns.tolist() == [*found.get_feature_names_out(), "total"]
        turned = pd.DataFrame({"age": found.scores_[:, 0]}, index=rows)[::-1]
        assert found.associate(turned)["factor"][0] == found.get_feature_names_out()[0]

    def test_layers_chosen_features_and_groups_of_annotated_views(self, grouped: tuple[Views, Any, Any]) -> None:
        import anndata
        import mudata

        views, truth, _ = grouped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = {}
            for name, view in views.items():
                parts[name] = anndata.AnnData(np.zeros_like(view), layers={"scaled": view})
                parts[name].var["chosen"] = np.arange(view.shape[1]) < 30
            mdata = mudata.MuData(parts)
            mdata.obs["site"] = truth.groups
            found = model(6, layer="scaled", use_var="chosen").fit(mdata, groups="site")
            plain = model(6).fit({name: view[:, :30] for name, view in views.items()}, groups=truth.groups)
            assert found.layout_.groups == ("group0", "group1")
            assert found.scores_ == pytest.approx(plain.scores_, abs=1e-9)
            assert found.transform(mdata, groups="site") == pytest.approx(found.scores_, abs=1e-9)
            assert found.transform(mdata[:20], groups="site").shape == (20, found.n_components_)

    def test_torch_answers_in_kind(self, data: tuple[Views, Any], fitted: Any) -> None:
        import torch

        views = {name: torch.asarray(view) for name, view in data[0].items()}
        found = model().fit(views)
        assert isinstance(found.scores_, np.ndarray)
        assert found.scores_ == pytest.approx(fitted.scores_, abs=1e-4)
        codes, std = found.transform({"view1": views["view1"]}, return_std=True)
        assert isinstance(codes, torch.Tensor)
        assert isinstance(std, torch.Tensor)
        filled = found.impute({"view1": views["view1"]})
        assert isinstance(filled["view0"], torch.Tensor)
