"""Whole numbers that somebody made text are names of levels; signs among levels that are taken as missing are told."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import MissingCodes

pytestmark = pytest.mark.extras

ESTIMATORS = ["LatentClassAnalysis", "MultiViewFactorAnalysis"]


def people(n: int = 200) -> Any:
    """A region from 1 to 4 beside two measurements that know nothing of it."""
    import pandas

    rng = np.random.default_rng(0)
    region = rng.integers(1, 5, n).astype(str)
    return pandas.DataFrame({"height": rng.normal(size=n), "weight": rng.normal(size=n), "region": region})


def kind_of(model: Any, name: str) -> str:
    """The likelihood of a column."""
    if hasattr(model, "layout_"):
        views = zip(model.layout_.views, model.layout_.features, strict=True)
        return next(str(model.likelihoods_[view]) for view, own in views if any(name in each for each in own))
    return str(model.likelihoods_[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("library", ["pandas", "polars", "read", "float"])
def test_numbers_made_text_are_levels(estimator: str, library: str) -> None:
    frame: Any = people()
    if library == "float":
        frame["region"] = frame["region"].astype(float).astype(str)  # 1.0, 2.0, ...
    if library == "polars":
        import polars

        frame = polars.DataFrame({name: frame[name].to_list() for name in frame})
    given = latens.read(frame) if library == "read" else frame
    model = getattr(latens, estimator)(random_state=0).fit(given)
    assert kind_of(model, "region") == "categorical"
    assert model.n_components_ == (1 if estimator == "LatentClassAnalysis" else 0)  # as a number, four classes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_text_that_nobody_made_of_numbers_is_read_as_numbers(estimator: str, tmp_path: Path) -> None:
    frame = people()
    make = getattr(latens, estimator)
    chosen = make(random_state=0, likelihoods={"region": "gaussian"}).fit(frame)
    assert kind_of(chosen, "region") == "gaussian"
    marked = frame.assign(region=frame["region"].mask(np.arange(len(frame)) % 20 == 0, "?"))
    assert kind_of(make(random_state=0).fit(marked), "region") == "gaussian"  # why it is text is the mark
    assert kind_of(make(random_state=0).fit(frame.astype(str)), "region") == "gaussian"
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert kind_of(make(random_state=0).fit(latens.read(tmp_path / "people.csv")), "region") == "gaussian"


@pytest.mark.filterwarnings("ignore")
def test_new_rows_and_files_know_the_levels(tmp_path: Path) -> None:
    frame = people()
    model = latens.LatentClassAnalysis(2, prune=False, random_state=0).fit(frame)
    latens.save(model, tmp_path / "m.latens")
    again = latens.load(tmp_path / "m.latens")
    as_numbers = frame.assign(region=frame["region"].astype(int))
    np.testing.assert_allclose(again.score_samples(as_numbers), model.score_samples(frame))
    hidden = frame.assign(region=frame["region"].mask(np.arange(len(frame)) < 20))
    assert set(model.impute(hidden)["region"]) == {"1", "2", "3", "4"}


@pytest.mark.filterwarnings("ignore::latens.errors.NothingFound")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_signs_among_levels_are_told_and_the_remedy_helps(estimator: str) -> None:
    frame = people()
    frame["position"] = np.resize(["P", "OF", "-", "IF"], len(frame))
    make = getattr(latens, estimator)
    with pytest.warns(MissingCodes, match=r"taken as missing, in position \('-', 50 times\)") as caught:
        make(random_state=0).fit(frame)
    assert "X['position'].replace('-', 'other')" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingCodes)
        make(random_state=0).fit(frame.assign(position=frame["position"].replace("-", "other")))


@pytest.mark.filterwarnings("ignore::latens.errors.NothingFound")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_words_for_no_value_are_told_and_either_remedy_helps(estimator: str) -> None:
    make, frame = getattr(latens, estimator), people()
    frame["country"] = np.resize(["NA", "DE", "n/a", "FR"], len(frame))
    with pytest.warns(MissingCodes, match=r"missing, in country \('NA', 50 times\), country \('n/a', 50") as caught:
        make(random_state=0).fit(frame)
    assert "X['country'].astype('category')" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingCodes)
        make(random_state=0).fit(frame.assign(country=frame["country"].replace(["NA", "n/a"], "other")))
        make(random_state=0).fit(frame.assign(country=frame["country"].astype("category")))


@pytest.mark.filterwarnings("ignore::latens.errors.NothingFound")
@pytest.mark.parametrize("levels", [("NA", "EU", "AS"), ("-", "+", "++"), ("?", "N/A", "null")])
@pytest.mark.parametrize("of", ["pandas", "pandas ordered", "polars Enum", "polars Categorical"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_level_that_its_type_declares_is_a_level(estimator: str, of: str, levels: tuple[str, ...]) -> None:
    """What the type of a column calls a level is observed, whatever it is called, also in later rows of plain text."""
    library = pytest.importorskip(of.split()[0])
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    texts, y = [levels[each] for each in k], k * 3 + rng.normal(size=120)
    if of.startswith("pandas"):
        column = library.Categorical(texts, categories=levels, ordered=of.endswith("ordered"))
    else:
        column = library.Series(texts, dtype=library.Enum(levels) if of.endswith("Enum") else library.Categorical)
    frame = library.DataFrame({"y": y, "c": column})
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingCodes)
        model = getattr(latens, estimator)(random_state=0).fit(frame)
    assert list(map(str, model.impute(frame)["c"])) == texts
    plain = library.DataFrame({"y": y, "c": texts})
    assert list(model.impute(plain)["c"]) == texts
    np.testing.assert_array_equal(model.transform(plain), model.transform(frame))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_where_no_column_can_be_used_the_remedy_is_named(estimator: str) -> None:
    import pandas

    names = [f"{first}{last}" for first in "abcde" for last in range(30)]
    frame = pandas.DataFrame({"name": names[:-1] + names[:1], "day": pandas.date_range("2020", periods=150)})
    with pytest.raises(ValueError, match=r"name \(text with 149 levels\).*likelihoods=\{name: 'categorical'\}"):
        getattr(latens, estimator)().fit(frame)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_row_and_rows_as_dicts(estimator: str) -> None:
    make = getattr(latens, estimator)
    with pytest.raises(ValueError, match=r"X has one row; give at least two"):
        make().fit(people(1))
    with pytest.raises(TypeError, match=r"pandas.DataFrame\(X\)"):
        make().fit(people(20).to_dict("records"))


@pytest.mark.filterwarnings("ignore")
def test_levels_that_occur_once_are_refused_by_classes() -> None:
    frame = people().assign(name=[f"n{i % 150}" for i in range(200)])
    with pytest.raises(ValueError, match=r"'name' is to be categorical but has 150 levels in 200 rows.*Join rare"):
        latens.LatentClassAnalysis(likelihoods={"name": "categorical"}).fit(frame)
