"""Several views of odd tables, in odd units, asked odd questions: never a silent wrong answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import DoubtfulScale, FollowsTotals, UnknownGroups

Views = dict[str, Any]


def make(n: int = 80, sizes: tuple[int, ...] = (12, 10), seed: int = 0, noise: float = 0.3) -> Views:
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(n, 2))
    return {f"view{i}": codes @ rng.normal(size=(2, d)) + noise * rng.normal(size=(n, d)) for i, d in enumerate(sizes)}


def model(n_components: int = 4, **options: Any) -> Any:
    return latens.MultiViewFactorAnalysis(n_components, random_state=0, **options)


class TestNothingToExplain:
    def test_a_group_without_the_view_has_nothing_explained(self) -> None:
        views, groups = make(), np.repeat(["a", "b"], 40)
        views["view1"][40:] = np.nan
        shares = model().fit(views, groups=groups).explained_
        assert np.all(shares["total"][0] > 0.5)
        assert shares["total"][1, 0] > 0.5
        assert shares["total"][1, 1] == 0
        assert np.all(shares["per_factor"][1, 1] == 0)

    def test_a_view_without_anything_is_gaussian_and_not_explained(self) -> None:
        views = make() | {"empty": np.full((80, 3), np.nan)}
        found = model().fit(views)
        assert found.likelihoods_["empty"] == "gaussian"
        assert found.explained_["total"][0, 2] == 0

    @pytest.mark.parametrize("how", ["weight", "missing"])
    def test_a_group_of_samples_that_do_not_count_is_never_guessed(self, how: str) -> None:
        views, groups, weight = make(), np.repeat(["a", "b", "c"], [35, 35, 10]), np.ones(80)
        if how == "weight":
            weight[70:] = 0
        else:
            views = {name: np.where(np.arange(80)[:, None] < 70, view, np.nan) for name, view in views.items()}
        found = model().fit(views, groups=groups, sample_weight=weight)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asked = {name: view[:70] for name, view in views.items()}
            assert np.isfinite(found.transform(asked)).all()
        assert np.all(found.explained_["total"][2] == 0)


class TestValuesOfNewSamples:
    @pytest.mark.parametrize(
        ("kind", "excluded"),
        [
            ("bernoulli", {0.5: "other values than 0 and 1"}),
            ("poisson", {-1.0: "negative values", 1.5: "fractions"}),
        ],
    )
    def test_values_that_the_likelihood_excludes_are_refused(self, kind: str, excluded: dict[float, str]) -> None:
        views, rng = make(), np.random.default_rng(1)
        views["odd"] = rng.integers(0, 2 if kind == "bernoulli" else 5, size=(80, 6)).astype(float)
        found = model(max_iter=20, likelihoods={"odd": kind}).fit(views)
        before, new = found.elbo_, views["odd"].copy()
        for bad, what in excluded.items():
            new[3, 2] = bad
            for ask in (found.transform, found.impute, found.score_samples, found.score, found.partial_fit):
                with pytest.raises(ValueError, match=f"'odd' is to be {kind} but holds {what}"):
                    ask({"odd": new})
            assert found.elbo_ == before
        new[3, 2] = np.nan
        assert np.isfinite(found.transform({"odd": new})).all()

    def test_groups_that_the_fit_did_not_have_are_told(self) -> None:
        views = make()
        found = model(max_iter=20).fit(views, groups=["a", "b"] * 40)
        with pytest.warns(UnknownGroups, match="'c' were not there when the model was fitted; it has 'a', 'b'") as seen:
            found.transform(views, groups=["a", "c"] * 40)
        with pytest.warns(UnknownGroups):
            found.partial_fit(views, groups=["c"] * 80)
        assert len(seen) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.transform(views, groups=["a", None] * 40)

    def test_intervals_without_end_are_refused(self) -> None:
        found = model(max_iter=5).fit(make())
        with pytest.raises(ValueError, match="choose a number below 1"):
            found.impute({"view0": make()["view0"]}, coverage=1.0)


class TestUnits:
    def test_columns_of_one_view_may_have_units_of_their_own(self) -> None:
        rng = np.random.default_rng(1)
        codes, unit = rng.normal(size=(300, 2)), 10.0 ** -np.repeat([0, 2, 4], 10)
        x = (codes @ rng.normal(size=(2, 30)) + 0.5 * rng.normal(size=(300, 30))) * unit
        views = {"a": x, "b": codes @ rng.normal(size=(2, 20)) + 0.5 * rng.normal(size=(300, 20))}
        found = model(5).fit(views)
        assert found.n_components_ == 2
        assert found.n_iter_ < 100
        assert found.noise_variance_["a"] / unit**2 == pytest.approx(np.full(30, 0.25), rel=0.4)
        rebuilt = found.inverse_transform(found.scores_)["a"]
        left = np.sum((x - rebuilt) ** 2, axis=0) / np.sum((x - x.mean(axis=0)) ** 2, axis=0)
        assert left.reshape(3, 10).mean(axis=1).max() < 0.4  # a quarter of it is noise

    @pytest.mark.parametrize("unit", [1e-3, pytest.param(1.0, marks=pytest.mark.slow), 1e3])
    def test_entries_without_a_precision_have_the_usual_noise(self, unit: float) -> None:
        views = {name: unit * view for name, view in make(200).items()}
        precision = np.full((200, 12), (0.3 * unit) ** -2.0)
        views["view0"][0, 0] = precision[0, 0] = np.nan
        found = model().fit(views, precision={"view0": precision})
        _, std = found.impute(views, return_std=True, precision={"view0": precision})
        assert 0.3 <= std["view0"][0, 0] / unit < 0.36
        hidden = {"view1": views["view1"]}
        filled, low, high = found.impute(hidden, coverage=0.9)
        there = np.isfinite(views["view0"])
        inside = (low["view0"] <= views["view0"]) & (views["view0"] <= high["view0"])
        assert np.mean(inside[there]) == pytest.approx(0.9, abs=0.05)
        drawn, _ = found.sample(4000)
        assert drawn["view0"].std(axis=0) == pytest.approx(np.nanstd(views["view0"], axis=0), rel=0.15)
        assert np.isfinite(filled["view0"]).all()

    def test_a_precision_that_is_told_of_a_missing_entry_counts(self) -> None:
        views, precision = make(), np.full((80, 12), 0.3**-2.0)
        views["view0"][:2, 0] = np.nan
        precision[0, 0] = 1e-4
        found = model().fit(views, precision={"view0": precision})
        _, std = found.impute(views, return_std=True, precision={"view0": precision})
        assert std["view0"][0, 0] == pytest.approx(100, rel=0.01)
        assert std["view0"][1, 0] < 0.5

    def test_counts_beyond_counting_are_told_briefly(self) -> None:
        counts = np.abs(np.round(1e3 * make()["view0"])) * 1e30
        with pytest.warns(DoubtfulScale, match=r"counts up to \de\+\d\d and"):
            model(1, max_iter=2).fit({"a": counts})


class TestTotals:
    def test_a_factor_that_moves_features_both_ways_is_no_row_total(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FollowsTotals)
            for seed in range(12):  # one of two factors is often close to the total, by chance
                model(2, max_iter=100).fit(make(sizes=(40, 30), seed=seed))

    @pytest.mark.parametrize("log", [False, True])
    def test_how_much_was_measured_is_doubted(self, log: bool) -> None:
        rng = np.random.default_rng(3)
        size, usual = rng.lognormal(sigma=0.7, size=(150, 1)), rng.gamma(2, 40, size=(1, 40))
        counts = rng.poisson(size * usual).astype(float)
        with pytest.warns(FollowsTotals, match="row totals of view 'rna'"):
            model(3, likelihoods={"rna": "gaussian"}).fit({"rna": np.log1p(counts) if log else counts})


class TestNames:
    def test_views_named_by_numbers(self) -> None:
        views = make()
        numbered = {0: views["view0"], 1: (views["view1"] > 0).astype(float)}
        loadings = {0: np.ones((2, 12)), 1: np.ones((2, 10))}
        precision = {0: np.full((80, 12), 10.0)}
        found = model(2, likelihoods={1: "bernoulli"}, init=loadings, max_iter=3).fit(numbered, precision=precision)
        assert found.likelihoods_ == {"0": "gaussian", "1": "bernoulli"}
        assert found.layout_.precise == ("0",)
        assert found.transform({1: numbered[1]}).shape == (80, found.n_components_)

    @pytest.mark.extras
    def test_one_named_view_is_matched_by_column_however_it_is_asked_about(self) -> None:
        import pandas as pd

        frame = pd.DataFrame(make()["view0"], columns=[f"gene{j}" for j in range(12)])
        found = model().fit({"rna": frame})
        turned = frame[frame.columns[::-1]].copy()
        assert found.transform(turned) == pytest.approx(found.scores_)
        turned.loc[3, "gene7"] = np.nan
        filled = found.impute(turned)
        assert filled.loc[3, "gene7"] == pytest.approx(frame.loc[3, "gene7"], abs=1.5)
        assert filled["gene2"].to_numpy() == pytest.approx(frame["gene2"].to_numpy())
        with pytest.raises(ValueError, match="lacks the column"):
            found.transform(turned.rename(columns={"gene0": "other"}))
        assert found.transform(frame.to_numpy()) == pytest.approx(found.scores_)

    @pytest.mark.extras
    def test_samples_of_which_none_has_a_view(self) -> None:
        import pandas as pd
        from anndata import AnnData
        from mudata import MuData

        views, names = make(), [f"cell{i}" for i in range(80)]
        tables = {
            name: AnnData(view[start:], obs=pd.DataFrame(index=names[start:]))
            for (name, view), start in zip(views.items(), (0, 30), strict=True)
        }
        for table, stem in zip(tables.values(), "gm", strict=True):
            table.var_names = [f"{stem}{j}" for j in range(table.n_vars)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what mudata says of its own
            together = MuData(tables)
            found = model().fit(together)
            assert found.transform(together[:20]) == pytest.approx(found.scores_[:20], abs=1e-6)
        with pytest.raises(ValueError, match="one table was given, but the model was fitted to the views 'view0'"):
            found.transform(tables["view0"])
        frames = {name: pd.DataFrame(view, index=names) for name, view in views.items()}
        frames["view1"] = frames["view1"].iloc[:0]
        assert found.transform(frames).shape == (80, found.n_components_)
        with pytest.raises(ValueError, match="'view1' is empty"):
            model().fit(frames)

    @pytest.mark.extras
    def test_answers_carry_the_labels_that_were_given(self) -> None:
        import pandas as pd

        views, patients = make(), np.arange(100, 180)
        a = pd.DataFrame(views["view0"], columns=[f"gene{j}" for j in range(12)])
        found = model().set_output(transform="pandas").fit(a)
        assert found.transform(a).index.equals(a.index)
        assert found.transform(a[::-1]).index.equals(a.index[::-1])
        a, b = a.set_axis(patients), pd.DataFrame(views["view1"], index=patients)
        for given in ({"a": a, "b": b[::-1]}, pd.concat({"a": a, "b": b}, axis=1), [a, b]):
            found = model(max_iter=20).set_output(transform="pandas").fit(given)
            assert found.transform(given).index.tolist() == patients.tolist()
            filled = found.impute(given)
            parts = filled if isinstance(given, list) else [filled["a"], filled["b"]]
            for part, whole in zip(parts, (a, b), strict=True):
                pd.testing.assert_frame_equal(part, whole, check_names=False, check_column_type=False)

    def test_reconstructions_have_the_levels_of_their_group(self) -> None:
        views, groups = make(), np.repeat(["a", "b"], 40)
        shifted = {name: view + 20.0 * (groups == "b")[:, None] for name, view in views.items()}
        found = model().fit(shifted, groups=groups)
        answer = found.inverse_transform(found.scores_, groups=groups)
        assert np.abs(answer["view0"] - shifted["view0"]).mean() < 0.4
        either = found.inverse_transform(found.scores_)["view0"]
        assert either.mean() == pytest.approx(answer["view0"].mean(), abs=0.5)
        alone = model(max_iter=3).fit(views)
        with pytest.raises(ValueError, match="the model was fitted without"):
            alone.inverse_transform(np.zeros((2, alone.n_components_)), groups=["a", "b"])

    @pytest.mark.extras
    def test_feature_names_of_a_mofa2_file_are_all_different(self, tmp_path: Any) -> None:
        import h5py
        import pandas as pd

        a = pd.DataFrame(make()["view0"][:, :2], columns=["tp53", "tp53_b"])
        b = pd.DataFrame(make()["view1"][:, :1], columns=["tp53"])
        found = model(1, max_iter=5).fit({"a": a, "b": b})
        latens.interop.write_mofa2(found, tmp_path / "model.hdf5")
        with h5py.File(tmp_path / "model.hdf5") as file:
            names = [name for view in "ab" for name in file[f"features/{view}"][()]]
        assert len(set(names)) == 3
        assert latens.interop.read_mofa2(tmp_path / "model.hdf5").layout_.features == (("tp53", "tp53_b"), ("tp53",))


def test_without_a_group_a_score_is_that_of_the_mixture_of_groups() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1], [40, 80])
    x = rng.normal(size=(120, 6)) + 1.5 * group[:, None]
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit({"a": x}, groups=group)
    densities = np.stack([model.score_samples({"a": x}, groups=np.full(120, g)) for g in (0, 1)], axis=1)
    mixed = np.logaddexp(np.log(40 / 120) + densities[:, 0], np.log(80 / 120) + densities[:, 1])
    assert model.score_samples({"a": x}) == pytest.approx(mixed, rel=1e-10)
