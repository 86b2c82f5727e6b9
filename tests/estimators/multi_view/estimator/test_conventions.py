"""Parameters, names, refusals and what else an estimator of several views owes its users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from latens.errors import FollowsTotals
from tests.estimators.multi_view.estimator.views import Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
        with pytest.warns(FollowsTotals, match="factor 0 almost equals the row totals of view 'counts'") as caught:
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
