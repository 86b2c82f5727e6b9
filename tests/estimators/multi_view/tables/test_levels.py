"""Views of levels: categories as yes/no columns, and back; scales with one loading a column."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import latens
from latens.core import Rows
from latens.errors import UnseenLevels
from latens.estimators.multi_view.tables.level_columns import LevelColumns

N, D, C = 300, 12, 4


def made(seed: int = 0, kind: str = "categorical") -> tuple[np.ndarray, np.ndarray]:
    """Factor values and a view of levels 0 to 3, whose chances of each level the factors move."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N, 2))
    if kind == "ordinal":
        eta = z @ rng.normal(size=(2, D)) + rng.logistic(size=(N, D))
        return z, np.digitize(eta, [-1.0, 0.3, 1.5]).astype(float)
    utility = np.einsum("nk,kdc->ndc", z, 1.4 * rng.normal(size=(2, D, C))) + rng.gumbel(size=(N, D, C))
    return z, np.argmax(utility, axis=2).astype(float)


def model(kind: str = "categorical", **options: Any) -> latens.MultiViewFactorAnalysis:
    settings = {"random_state": 0, "sparse_loadings": False, "max_iter": 60, **options}
    return latens.MultiViewFactorAnalysis(4, likelihoods={"survey": kind}, **settings)


def fitted(kind: str = "categorical") -> tuple[Any, np.ndarray, np.ndarray]:
    z, y = made(kind=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(kind).fit({"survey": y}), z, y


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_factors_behind_levels_are_found_and_hidden_levels_get_probabilities(kind: str) -> None:
    z, y = made(kind=kind)
    hidden = np.random.default_rng(9).random(y.shape) < 0.1
    shown = np.where(hidden, np.nan, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model(kind).fit({"survey": shown})
    design = np.column_stack([found.scores_, np.ones(N)])
    left = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    assert 1 - np.sum(left**2) / np.sum((z - z.mean(axis=0)) ** 2) > 0.6
    chances = found.impute_proba({"survey": shown})["survey"]
    assert list(chances) == [f"survey_{d}" for d in range(D)]
    score, usual = [], []
    for d, name in enumerate(chances):
        assert chances[name].sum(axis=1) == pytest.approx(1, abs=1e-12)
        levels = found.levels_["survey"][name]
        at = np.array([levels.index(value) for value in y[hidden[:, d], d]])
        score.append(np.log(chances[name][hidden[:, d], at]))
        share = np.array([np.nanmean(shown[:, d] == level) for level in levels])
        usual.append(np.log(share[at]))
    assert np.mean(np.concatenate(score)) > np.mean(np.concatenate(usual)) + 0.1
    filled = found.impute({"survey": shown})["survey"]
    assert np.array_equal(filled[~hidden], y[~hidden])
    if kind == "categorical":
        assert np.mean(filled[hidden] == y[hidden]) > 0.4
    else:  # scales are filled with what is expected of them
        expected = np.column_stack([own @ np.arange(C) for own in chances.values()])
        assert filled[hidden] == pytest.approx(expected[hidden])
        assert np.mean((filled - y)[hidden] ** 2) < 0.85 * np.var(y)
    assert 0 < found.explained_["total"][0, 0] < 1


def test_levels_are_a_binary_view_with_missing_entries() -> None:
    _, y = made()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = model().fit({"survey": y})
        x, seen = one.layout_.levels["survey"].expanded(Rows(y))
        two = model("bernoulli").fit({"survey": np.where(seen, x, np.nan)})
    assert one.elbo_ == pytest.approx(two.elbo_, rel=1e-12)
    assert one.components_["survey"] == pytest.approx(two.components_["survey"])


def test_the_chance_of_a_level_is_that_of_its_yes_after_all_noes() -> None:
    levels = LevelColumns(("a", "b"), ((5.0, 7.0, 6.0), (1.0, 0.0)))
    chances = expit(np.random.default_rng(0).normal(size=(3, 3)))
    first, second = levels.probabilities(chances).values()
    expected = [chances[:, 0], (1 - chances[:, 0]) * chances[:, 1], (1 - chances[:, 0]) * (1 - chances[:, 1])]
    assert first == pytest.approx(np.stack(expected, axis=1))
    assert second == pytest.approx(np.stack([chances[:, 2], 1 - chances[:, 2]], axis=1))


def test_the_most_common_category_comes_first_and_scales_keep_their_order() -> None:
    y = np.array([[3.0], [1.0], [3.0], [2.0], [1.0], [3.0]]) + np.zeros((6, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model().fit({"survey": y}).levels_["survey"]["survey_0"] == [3.0, 1.0, 2.0]
        assert model("ordinal").fit({"survey": y}).levels_["survey"]["survey_0"] == [1.0, 2.0, 3.0]


def test_loadings_are_named_by_level_and_draws_are_levels() -> None:
    found, _, y = fitted()
    assert found.layout_.features[0][:1] == (f"survey_0 = {found.levels_['survey']['survey_0'][0]:g}",)
    assert found.components_["survey"].shape == (found.n_components_, D * (C - 1))
    views, codes = found.sample(50)
    assert views["survey"].shape == (50, D)
    assert set(np.unique(views["survey"])) <= set(np.unique(y))
    assert found.inverse_transform(codes)["survey"].shape == (50, D)
    _, std = found.impute({"survey": np.full((2, D), np.nan)}, return_std=True)
    assert std["survey"].shape == (2, D)
    assert ((std["survey"] > 0) & (std["survey"] <= 0.5)).all()


def test_scales_have_one_loading_thresholds_of_their_own_and_draws_that_are_levels() -> None:
    y = made(kind="ordinal")[1]
    y[:, 3] = np.minimum(y[:, 3], 2)
    y[:, 4] = np.array([1.0, 2.0, 5.0, 10.0])[y[:, 4].astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model("ordinal").fit({"survey": y})
    assert found.layout_.features == (tuple(f"survey_{d}" for d in range(D)),)
    assert found.components_["survey"].shape == (found.n_components_, D)
    cuts = found.thresholds_["survey"]
    assert [len(cuts[name]) for name in ("survey_2", "survey_3")] == [3, 2]
    assert all((np.diff(own) > 0).all() for own in cuts.values())
    holey = y[:40].copy()
    holey[:, :6] = np.nan
    filled, std = found.impute({"survey": holey}, return_std=True)
    whole, low, high = found.impute({"survey": holey}, coverage=0.9)
    levels = [set(np.unique(column)) for column in y.T]
    for table in (low, high, *found.impute({"survey": holey}, n_draws=3)[1], found.sample(50)[0]):
        assert all(set(np.unique(column)) <= own for column, own in zip(table["survey"].T, levels, strict=True))
    assert (low["survey"] <= high["survey"]).all()
    assert np.array_equal(whole["survey"], filled["survey"])
    assert (std["survey"][:, :6] > 0).all()
    assert not std["survey"][:, 6:].any()
    by_chance = found.impute_proba({"survey": holey})["survey"]["survey_4"] @ np.array([1.0, 2.0, 5.0, 10.0])
    assert filled["survey"][:, 4] == pytest.approx(by_chance)
    limits = found.impute({"survey": holey}, quantiles=(0.05, 0.5, 0.95))[1]
    assert (limits[0.05]["survey"] <= limits[0.5]["survey"]).all()
    assert (limits[0.5]["survey"] <= limits[0.95]["survey"]).all()


def test_the_unit_and_the_distance_of_levels_do_not_matter_to_a_scale() -> None:
    y = made(kind="ordinal")[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = model("ordinal").fit({"survey": y})
        two = model("ordinal").fit({"survey": np.array([-3.0, 0.5, 0.75, 4000.0])[y.astype(int)]})
    assert one.elbo_ == pytest.approx(two.elbo_, abs=1e-4)  # starts are a little apart
    assert one.components_["survey"] == pytest.approx(two.components_["survey"], abs=1e-3)


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_levels_that_the_fit_did_not_see_are_missing_and_counted(kind: str) -> None:
    found, _, y = fitted(kind)
    new = y[:5].copy()
    new[:2, 3] = 17.0
    with pytest.warns(UnseenLevels, match=r"in the column\(s\) survey_3 \(2\)"):
        strange = found.transform({"survey": new})
    new[:2, 3] = np.nan
    assert strange == pytest.approx(found.transform({"survey": new}))


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_a_file_keeps_the_levels(tmp_path: Path, kind: str) -> None:
    found, _, y = fitted(kind)
    loaded = latens.load(latens.save(found, tmp_path / "model.latens"))
    assert loaded.levels_ == found.levels_
    assert np.array_equal(loaded.transform({"survey": y[:5]}), found.transform({"survey": y[:5]}))
    one, two = (each.impute_proba({"survey": y[:5]})["survey"]["survey_2"] for each in (loaded, found))
    assert np.array_equal(one, two)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            np.full(N, 2.0),
            "column 'survey_0' of view 'survey' is to be categorical but shows only 2; a category needs",
        ),
        (np.full(N, np.nan), "column 'survey_0' .* shows no value at all"),
        (np.arange(float(N)), "column 'survey_0' .* has 300 levels in 300 rows: nothing can be learnt"),
    ],
    ids=["one level", "nothing", "too many"],
)
def test_columns_that_are_no_categories_are_refused(column: np.ndarray, message: str) -> None:
    y = made()[1]
    y[:, 0] = column
    with pytest.raises(ValueError, match=message):
        model().fit({"survey": y})


@pytest.mark.filterwarnings("ignore")
def test_measurements_of_few_rows_are_no_scale() -> None:
    y = made(kind="ordinal")[1][:60]
    y[:, 0] = np.random.default_rng(0).normal(size=60)
    with pytest.raises(ValueError, match="has 60 levels with fractions, as measurements have; choose 'gaussian'"):
        model("ordinal").fit({"survey": y})


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_streams_learn_levels_while_they_wait(kind: str) -> None:
    _, y = made(kind=kind)
    found = model(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, N, 100):
            found.partial_fit({"survey": y[start : start + 100]})
    assert found.n_components_ > 0
    assert found.transform({"survey": y[:3]}).shape == (3, found.n_components_)
