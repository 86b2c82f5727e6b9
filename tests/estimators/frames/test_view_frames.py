"""MultiViewFactorAnalysis on data frames as people have them, and tables completed by chance."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import AbsentColumns, MissingCodes, OrderAssumed, UnseenLevels, UnusedColumns

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::latens.errors.UnusedColumns")]
N = 300


def people(seed: int = 0) -> tuple[Any, Any]:
    """A frame of nine columns of all kinds behind which is one factor, with missing cells, and the same complete."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    z = rng.normal(size=N)
    level = np.digitize(z + 0.5 * rng.normal(size=N), [-0.6, 0.6])
    whole = pd.DataFrame(
        {
            "height": 170 + 8 * z + 4 * rng.normal(size=N),
            "weight": 70 + 9 * z + 5 * rng.normal(size=N),
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[level],
            "smokes": np.where(rng.random(N) < 1 / (1 + np.exp(-2 * z)), "yes", "no"),
            "visits": rng.poisson(np.exp(0.3 + 0.6 * z)),
            "grade": pd.Categorical(
                np.array(["low", "mid", "high"])[np.digitize(z + rng.normal(size=N), [-0.5, 0.7])],
                ["low", "mid", "high"],
                ordered=True,
            ),
            "member": rng.random(N) < 0.4,
            "born": pd.date_range("2020-01-01", periods=N),
            "note": [f"text {i}" for i in range(N)],
        },
        index=[f"person {i}" for i in range(N)],
    )
    frame = whole.copy()
    for name in ("height", "weight", "species", "smokes", "grade"):
        frame.loc[rng.random(N) < 0.12, name] = None
    return frame, whole


def fitted(frame: Any, **options: Any) -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(3, random_state=0, n_jobs=1, **options).fit(frame)


def test_a_raw_frame_is_cut_into_views_by_kind_and_says_what_it_leaves_out() -> None:
    frame, _ = people()
    with pytest.warns(UnusedColumns, match=r"2 column\(s\) are not used: born \(dates are not modelled\), note \("):
        model = fitted(frame)
    assert model.likelihoods_ == {
        "numbers": "gaussian", "counts": "poisson", "yes_no": "bernoulli", "categories": "categorical",
        "scales": "ordinal",
    }  # fmt: skip
    assert sorted(model.levels_["categories"]["species"]) == ["Adelie", "Chinstrap", "Gentoo"]
    assert model.levels_["scales"] == {"grade": ["low", "mid", "high"]}
    named = [name for names in model.top_features(8).values() for name in names]
    assert any(name.startswith("categories: species = ") for name in named)
    assert model.n_components_ == 1
    assert model.row_names_[:2] == ("person 0", "person 1")
    assert [each.code for each in model.warnings_] == ["unused-columns", "fewer-than-asked"]


def test_imputed_frames_have_the_types_they_had_and_what_was_seen() -> None:
    frame, whole = people()
    model = fitted(frame)
    filled, std = model.impute(frame, return_std=True)
    assert filled.dtypes.equals(frame.dtypes)
    assert filled.index.equals(frame.index)
    assert not filled.isna().to_numpy().any()
    for name in frame.columns:
        seen = frame[name].notna()
        assert filled[name][seen].tolist() == frame[name][seen].tolist()
        if name in std:
            assert (std[name][seen] == 0).all()
    hole = frame["species"].isna()
    usual = (whole["species"][hole] == frame["species"].mode()[0]).mean()
    assert (filled["species"][hole] == whole["species"][hole]).mean() > usual + 0.15
    hole = frame["height"].isna()
    error = (filled["height"] - whole["height"])[hole]
    assert error.std() < 0.8 * whole["height"].std()
    chances = model.impute_proba(frame)
    assert chances["yes_no"]["smokes"].sum(axis=1) == pytest.approx(1)
    assert chances["categories"]["species"].shape == (N, 3)


@pytest.mark.parametrize("kind", ["factors", "classes"])
def test_quantiles_cover_and_completed_tables_are_of_their_kinds(kind: str) -> None:
    frame, whole = people()
    if kind == "factors":
        model: Any = fitted(frame)
    else:
        model = latens.LatentClassAnalysis(7, random_state=0, n_init=1, n_jobs=1).fit(frame)
    filled, quantiles, draws = model.impute(frame, quantiles=[0.05, 0.5, 0.95], n_draws=3)
    inside = []
    for name in ("height", "weight"):
        hole = frame[name].isna()
        low, middle, high = (quantiles[level][name][hole] for level in (0.05, 0.5, 0.95))
        assert (low < middle).all()
        assert (middle < high).all()
        inside += ((low <= whole[name][hole]) & (whole[name][hole] <= high)).tolist()
    assert 0.8 <= np.mean(inside) <= 0.98
    low, high = (quantiles[level]["grade"].cat.codes for level in (0.05, 0.95))
    assert (low <= high).all()
    assert len(draws) == 3
    for drawn in draws:
        assert drawn.dtypes.equals(frame.dtypes)
        assert not drawn.isna().to_numpy().any()
    hole = frame["height"].isna()
    assert np.std([drawn["height"][hole].to_numpy() for drawn in draws], axis=0).min() > 0
    spread = np.std([drawn["height"][hole] - filled["height"][hole] for drawn in draws])
    assert spread == pytest.approx(np.std((filled["height"] - whole["height"])[hole]), rel=0.4)


def test_draws_of_missing_entries_have_the_predictive_moments() -> None:
    views, _ = latens.datasets.make_multiview(60, (6, 4), n_factors=2, random_state=0)
    views = {name: np.where(np.random.default_rng(1).random(view.shape) < 0.2, np.nan, view)
             for name, view in views.items()}  # fmt: skip
    model = latens.MultiViewFactorAnalysis(3, random_state=0).fit(views)
    filled, std, draws = model.impute(views, return_std=True, n_draws=400)
    for name, view in views.items():
        hole = np.isnan(view)
        drawn = np.stack([each[name] for each in draws])
        z = (drawn.mean(axis=0) - filled[name])[hole] / (std[name][hole] / 20)
        assert np.abs(z).max() < 5
        assert drawn.std(axis=0)[hole] == pytest.approx(std[name][hole], rel=0.25)
        assert (drawn[:, ~hole] == view[~hole]).all()


def test_polars_says_the_same() -> None:
    import polars as pl

    frame, _ = people()
    given = pl.from_pandas(frame)
    one, two = fitted(frame, likelihoods={"grade": "ordinal"}), fitted(given, likelihoods={"grade": "ordinal"})
    assert two.likelihoods_ == one.likelihoods_
    filled = two.impute(given)
    assert filled.schema == given.schema
    assert filled.null_count().to_numpy().sum() == 0


def test_unseen_levels_and_absent_columns_are_missing_and_counted() -> None:
    frame, _ = people()
    model = fitted(frame)
    other = frame.copy()
    other.iloc[:7, 2] = "Dodo"
    with pytest.warns(UnseenLevels, match=r"'species' holds 7 value\(s\) .*'Dodo'"):
        codes = model.transform(other)
    other.iloc[:7, 2] = None
    assert codes == pytest.approx(model.transform(other))
    with pytest.warns(AbsentColumns, match=r"1 column\(s\).*'height'"):
        model.transform(frame.drop(columns="height"))
    assert model.transform(frame[frame.columns[::-1]]) == pytest.approx(model.transform(frame))


def test_a_file_holds_the_encoding(tmp_path: Path) -> None:
    frame, _ = people()
    model = fitted(frame)
    latens.save(model, tmp_path / "m.latens")
    again = latens.load(tmp_path / "m.latens")
    assert np.array_equal(again.transform(frame), model.transform(frame))
    assert again.impute(frame).equals(model.impute(frame))
    assert again.levels_ == model.levels_


def test_streams_take_raw_frames() -> None:
    frame, _ = people()
    model = latens.MultiViewFactorAnalysis(3, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in (0, 100, 200):
            model.partial_fit(frame.iloc[start : start + 100])
    whole = fitted(frame)
    assert model.likelihoods_ == whole.likelihoods_
    assert abs(np.corrcoef(model.transform(frame)[:, 0], whole.scores_[:, 0])[0, 1]) > 0.98


def test_numbers_beside_yes_and_no_are_mixed_and_like_measurements_are_one_view() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    like = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    assert fitted(like).likelihoods_ == {"x": "gaussian"}
    mixed = like.assign(vote=(rng.random(60) < 0.5).astype(float), visits=rng.poisson(1.0, 60))
    assert fitted(mixed).likelihoods_ == {"numbers": "gaussian", "counts": "poisson", "yes_no": "bernoulli"}
    counts = pd.DataFrame(rng.poisson(0.3 * np.ones((200, 5)))).clip(upper=2)
    counts[0] = counts[0].clip(upper=1)
    assert list(fitted(counts).likelihoods_) == ["x"]


def test_codes_for_missing_are_told_and_the_callers_kinds_go_first() -> None:
    frame, _ = people()
    coded = frame.assign(income=np.where(np.arange(N) % 10 == 0, -999.0, 30 + np.arange(N) % 7))
    with pytest.warns(MissingCodes, match=rf"taken as missing, in 'income' \(-999 {-(-N // 10)} times\)\. If they"):
        model = fitted(coded, likelihoods={"visits": "negative-binomial", "species": "ordinal"})
    assert model.likelihoods_["dispersed_counts"] == "negative-binomial"
    assert set(model.levels_["scales"]) == {"grade", "species"}
    filled = model.impute(coded)
    assert (filled["income"] > 0).all()


def test_text_that_is_to_be_a_scale_needs_an_order_and_scales_are_filled_with_levels() -> None:
    import pandas as pd

    frame, _ = people()
    with pytest.warns(
        OrderAssumed, match=r"order of the alphabet, in species \(Adelie < Chinstrap < Gentoo\)"
    ) as warned:
        model = fitted(frame, likelihoods={"species": "ordinal"})
    remedy = "pandas.Categorical(X['species'], ['Adelie', 'Chinstrap', 'Gentoo'], ordered=True)"
    assert any(remedy in str(each.message) for each in warned)
    assert set(model.impute(frame)["species"]) == {"Adelie", "Chinstrap", "Gentoo"}
    ordered = pd.Categorical(frame["species"], ["Adelie", "Chinstrap", "Gentoo"], ordered=True)
    steps = np.array([1, 2, 5, 10])[np.digitize(frame["height"].fillna(170), [165, 170, 175])]
    said = frame.assign(species=ordered, steps=pd.array(steps, dtype="Int64"))
    said.loc[said.index[:20], "steps"] = pd.NA
    model = fitted(said, likelihoods={"steps": "ordinal"})
    assert "order-assumed" not in [each.code for each in model.warnings_]
    filled, std = model.impute(said, return_std=True)
    assert filled.dtypes.equals(said.dtypes)
    assert set(filled["steps"]) == {1, 2, 5, 10}
    assert (std["steps"][:20] > 0).all()
    limits = model.impute(said, quantiles=(0.1, 0.9))[1]
    assert (limits[0.1]["species"] <= limits[0.9]["species"]).all()
    chances = model.impute_proba(said)["scales"]
    assert {name: own.shape for name, own in chances.items()} == {"species": (N, 3), "grade": (N, 3), "steps": (N, 4)}


def test_what_cannot_be_used_is_refused_with_the_remedy() -> None:
    import pandas as pd

    frame, _ = people()
    model = fitted(frame)
    with pytest.raises(ValueError, match="fitted to a data frame of mixed columns; give a frame with the columns"):
        model.transform(np.zeros((3, 7)))
    with pytest.raises(ValueError, match="'species' holds categories and cannot be gaussian; choose 'categorical'"):
        fitted(frame, likelihoods={"species": "gaussian"})
    with pytest.raises(ValueError, match="likelihoods names 'specis'; there are the columns 'height'"):
        fitted(frame, likelihoods={"specis": "categorical"})
    with pytest.raises(ValueError, match="no column of X can be used: note"):
        fitted(pd.DataFrame({"note": [f"text {i}" for i in range(9)]}))
    with pytest.raises(ValueError, match=r"quantiles=1\.5 is no probability"):
        model.impute(frame, quantiles=[1.5])
    with pytest.raises(ValueError, match="n_draws"):
        model.impute(frame, n_draws=0)


def test_likelihoods_that_are_neither_a_dict_nor_one_word_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"likelihoods=\['gaussian', 'poisson'\] is no dict; give one such as {'height'"
    ):
        fitted(people()[0], likelihoods=["gaussian", "poisson"])


def test_a_stream_of_frames_with_levels_is_saved_and_goes_on(tmp_path: Path) -> None:
    frame, _ = people()
    frame = frame.drop(columns=["born", "note"])
    model = latens.MultiViewFactorAnalysis(2, random_state=0)
    for at in range(0, N, 100):
        model.partial_fit(frame.iloc[at : at + 100])
    latens.save(model, tmp_path / "stream.latens")
    again = latens.load(tmp_path / "stream.latens")
    assert again.impute(frame).equals(model.impute(frame))
    more = frame.iloc[:50]
    assert again.partial_fit(more).transform(frame) == pytest.approx(model.partial_fit(more).transform(frame))


@pytest.mark.filterwarnings("ignore::latens.errors.NothingFound")
@pytest.mark.parametrize("kind", ["poisson", "negative-binomial"])
@pytest.mark.parametrize(("mean", "dispersion"), [(0.1, 8.0), (0.3, 4.0), (0.3, 0.0)])
def test_rare_counts_are_drawn_as_often_as_they_occur(kind: str, mean: float, dispersion: float) -> None:
    """Zeros, ones and more: columns of large dispersion were answered as if they had none."""
    import pandas as pd

    rng, n = np.random.default_rng(0), 2000
    visits = rng.poisson(mean * (rng.gamma(1 / dispersion, dispersion, size=n) if dispersion else np.ones(n)))
    hidden = np.arange(n) >= 1000
    columns = {"height": rng.normal(size=n), "member": rng.choice(["yes", "no"], n), "visits": visits}
    frame = pd.DataFrame(columns).assign(visits=np.where(hidden, np.nan, visits))
    model = fitted(frame, likelihoods={"visits": kind})
    (published,) = model.dispersion_.values()
    assert published[0] == pytest.approx(dispersion, rel=0.4, abs=0.1)
    _, tables = model.impute(frame, n_draws=100)
    drawn = np.concatenate([table["visits"][hidden].to_numpy(float) for table in tables])
    for least in (1, 2, 4):
        assert np.mean(drawn >= least) == pytest.approx(np.mean(visits[~hidden] >= least), rel=0.15, abs=0.003)


@pytest.mark.parametrize("factor", [1e-3, 7.3, 1e6])
def test_the_unit_of_a_column_moves_the_bound_by_its_logarithm_alone(factor: float, tmp_path: Path) -> None:
    """Numbers of a frame share a prior, not a unit: kilograms or grams are the same to them."""
    frame, _ = people()
    other = frame.assign(weight=factor * frame["weight"])
    one, two = fitted(frame), fitted(other)
    shift = frame["weight"].notna().sum() * np.log(factor)
    assert two.elbo_ + shift == pytest.approx(one.elbo_, abs=0.02)
    assert two.transform(other) == pytest.approx(one.transform(frame), abs=1e-3)
    filled = one.impute(frame)["weight"].to_numpy(float)
    assert two.impute(other)["weight"].to_numpy(float) / factor == pytest.approx(filled, rel=1e-4)
    for name, unit in (("components_", factor), ("noise_variance_", factor**2)):
        ours, theirs = (getattr(model, name)["numbers"][..., 1] for model in (one, two))
        assert theirs / unit == pytest.approx(ours, rel=1e-3)
    again = latens.load(latens.save(two, tmp_path / "model"))
    assert again.impute(other).equals(two.impute(other))
    assert again.score_samples(other) == pytest.approx(
        one.score_samples(frame) - np.log(factor) * frame["weight"].notna(), abs=1e-3
    )
