"""LatentClassAnalysis on data frames as people have them: text, categories, dates, missing cells."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import AbsentColumns, UnseenLevels, UnusedColumns

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::latens.errors.UnusedColumns")]
QUICK = {"random_state": 0, "n_init": 1, "n_jobs": 1}


def people(n: int = 300, seed: int = 0) -> tuple[Any, Any, np.ndarray]:
    """A frame of two classes with missing cells, the same complete, and the classes."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    whole = pd.DataFrame(
        {
            "age": np.round(rng.normal(40 + 20 * label, 5)),
            "species": np.where(label & (rng.random(n) < 0.8), "Gentoo", rng.choice(["Adelie", "Chinstrap"], n)),
            "smokes": np.where(rng.random(n) < 0.1 + 0.8 * label, "yes", "no"),
            "visits": rng.poisson(1 + 6 * label),
            "grade": pd.Categorical(
                np.where(rng.random(n) < 0.5, "mid", np.where(label, "high", "low")),
                ["low", "mid", "high"],
                ordered=True,
            ),
            "member": rng.random(n) < 0.3,
            "born": pd.date_range("2020-01-01", periods=n),
            "note": [f"text {i}" for i in range(n)],
        },
        index=[f"person {i}" for i in range(n)],
    )
    frame = whole.copy()
    for name in ("age", "species", "smokes", "grade"):
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame, whole, label


def fitted(frame: Any, **options: Any) -> latens.LatentClassAnalysis:
    return latens.LatentClassAnalysis(4, **QUICK, **options).fit(frame)


def test_a_raw_frame_is_fitted_as_it_is() -> None:
    frame, _, label = people()
    with pytest.warns(UnusedColumns, match=r"2 column\(s\) are not used: born \(dates are not modelled\), note \("):
        model = fitted(frame)
    assert model.n_components_ == 2
    assert np.mean(model.predict(frame) == label) in (pytest.approx(1, abs=0.03), pytest.approx(0, abs=0.03))
    kinds = {"age": "gaussian", "species": "categorical", "smokes": "bernoulli", "grade": "ordinal"}
    assert kinds.items() <= model.likelihoods_.items()
    assert list(model.feature_names_in_) == ["age", "species", "smokes", "visits", "grade", "member"]
    answer = model.profiles_["of"]
    assert answer[2:5] == ["P(Adelie)", "P(Chinstrap)", "P(Gentoo)"]
    assert "P(yes)" in answer
    assert answer[-4:] == ["P(low)", "P(mid)", "P(high)", "P(True)"]


def test_polars_says_the_same() -> None:
    import polars as pl

    frame, _, _ = people()
    one = fitted(frame, likelihoods={"grade": "ordinal"})
    two = fitted(pl.from_pandas(frame), likelihoods={"grade": "ordinal"})
    assert two.likelihoods_ == one.likelihoods_
    assert two.elbo_ == pytest.approx(one.elbo_, abs=3)  # levels of the scale come in another order
    whole = two.impute(pl.from_pandas(frame))
    assert whole.schema == pl.from_pandas(frame).schema
    assert whole.null_count().to_numpy().sum() == 0


def test_an_enumeration_of_polars_is_a_scale_in_its_order() -> None:
    import polars as pl

    frame, _, _ = people()
    raw = pl.from_pandas(frame).with_columns(pl.col("grade").cast(pl.String).cast(pl.Enum(["low", "mid", "high"])))
    one, two = fitted(frame), fitted(raw)
    assert two.likelihoods_["grade"] == one.likelihoods_["grade"] == "ordinal"
    assert two.profiles_["of"] == one.profiles_["of"]
    assert two.impute(raw).schema == raw.schema


def test_imputed_frames_have_the_types_they_had() -> None:
    frame, whole, _ = people()
    model = fitted(frame)
    found, spread = model.impute(frame, return_std=True)
    assert found.dtypes.equals(frame.dtypes)
    assert list(found.index) == list(frame.index)
    assert not found.isna().any().any()
    hole = frame.isna()
    assert found.mask(hole).equals(frame.mask(hole))
    assert np.mean(found.loc[hole["smokes"], "smokes"] == whole.loc[hole["smokes"], "smokes"]) > 0.75
    used = hole[list(model.feature_names_in_)].to_numpy()
    assert np.array_equal(spread > 0, used)


def test_new_frames_may_have_other_orders_levels_and_columns() -> None:
    frame, _, _ = people()
    model = fitted(frame)
    expected = model.predict_proba(frame)
    assert model.predict_proba(frame[list(frame.columns[::-1])]) == pytest.approx(expected)
    strange, empty = frame.head(5).copy(), frame.head(5).copy()
    strange["species"], empty["species"] = "Emperor", None
    with pytest.warns(UnseenLevels, match="column 'species' holds 5 value.*'Emperor'; known are 'Adelie'"):
        found = model.predict_proba(strange)
    assert found == pytest.approx(model.predict_proba(empty))
    with pytest.warns(AbsentColumns, match="'species'"):
        assert model.predict_proba(frame.head(5).drop(columns="species")) == pytest.approx(found)
    with pytest.raises(ValueError, match=r"X is a ndarray, and the model was fitted to a data frame.*'age', 'species'"):
        model.predict(np.zeros((3, 6)))


def test_the_encoding_is_part_of_the_file(tmp_path: Path) -> None:
    frame, _, _ = people()
    model = fitted(frame)
    loaded = latens.load(latens.save(model, tmp_path / "people.latens"))
    assert loaded.columns_ == model.columns_
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.impute(frame).equals(model.impute(frame))
    loaded.partial_fit(frame)
    assert loaded._state.stats.n == 2 * len(frame)


def test_kinds_that_frames_do_not_have_are_refused() -> None:
    frame, _, _ = people()
    with pytest.raises(ValueError, match="column 'species' holds categories and cannot be gaussian; choose"):
        fitted(frame, likelihoods={"species": "gaussian"})
    with pytest.raises(ValueError, match="no column of X can be used: born"):
        fitted(frame[["born", "note"]])
    many = frame.assign(town=[f"town {i % 40}" for i in range(len(frame))])
    assert "town" not in fitted(many).likelihoods_
    assert fitted(many, likelihoods={"town": "categorical"}).likelihoods_["town"] == "categorical"


def test_columns_that_are_not_used_are_told_in_words_of_python() -> None:
    frame, _, _ = people(n=120)
    frame["town"] = [f"town {i % 60}" for i in range(len(frame))]
    with pytest.warns(UnusedColumns, match=r"town \(text with 60 levels\)") as caught:
        latens.LatentClassAnalysis(2, max_iter=2, moves=False, **QUICK).fit(frame)
    message = next(str(each.message) for each in caught if each.category is UnusedColumns)
    assert "--" not in message
    assert "likelihoods={name: 'categorical'}" in message


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("kind", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_frames_of_nullable_types_are_those_of_plain_ones(backend: Any, kind: Any) -> None:
    frame, _, _ = people()
    frame = frame.drop(columns=["born", "note"]).assign(grade=frame["grade"].astype(object))
    frame["member"] = frame["member"].astype(object)
    frame.loc["person 3", "member"] = None
    nullable = frame.convert_dtypes(dtype_backend=backend)
    assert nullable.isna().sum().sum() == frame.isna().sum().sum()
    plain, own = (kind(2, random_state=0).fit(table) for table in (frame, nullable))
    assert own.elbo_ == pytest.approx(plain.elbo_, abs=1e-6)
    whole = own.impute(nullable)
    assert whole.dtypes.equals(nullable.dtypes)
    assert not whole.isna().any().any()
    for name in ("species", "smokes", "grade", "member"):
        assert whole[name].tolist() == plain.impute(frame)[name].tolist()


def test_decimals_are_numbers() -> None:
    from decimal import Decimal

    frame, _, _ = people()
    exact = frame.assign(age=[None if value != value else Decimal(str(value)) for value in frame["age"]])
    assert fitted(exact).likelihoods_["age"] == "gaussian"
    assert fitted(exact).elbo_ == pytest.approx(fitted(frame).elbo_)


BOTH = pytest.mark.parametrize("kind", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])


@BOTH
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_decimals_are_filled_with_decimals_of_as_many_digits(kind: Any, library: str) -> None:
    from decimal import Decimal

    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(0)
    price = [Decimal(i % 17) + Decimal("0.25") if i % 9 else None for i in range(100)]
    columns = {"price": price, "g": ["ab"[i % 2] for i in range(100)], "x": rng.normal(size=100)}
    frame: Any = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    filled = list(kind(2, **QUICK).fit(frame).impute(frame)["price"])
    assert [one for one, own in zip(filled, price, strict=True) if own is not None] == [p for p in price if p]
    assert {one.as_tuple().exponent for one in filled} == {-2}


@BOTH
@pytest.mark.parametrize(
    ("column", "chosen", "words"),
    [
        (
            lambda n: ["a"] * n,
            "categorical",
            r"column 'odd' is to be categorical but is always 'a'; a category needs two",
        ),
        (lambda n: [None] * n, "ordinal", "column 'odd' is to be ordinal but shows no value at all; a category needs"),
        (lambda n: [3.0] * n, "gaussian", "column 'odd' is to be gaussian but is always 3; leave the column out"),
        (lambda n: [f"l{i}" for i in range(n)], "gaussian", "column 'odd' is to be gaussian but holds text"),
        (lambda n: ["yes", "no"] * (n // 2), "poisson", "column 'odd' holds 'no' and 'yes' and cannot be poisson"),
        (lambda n: range(-1, n - 1), "poisson", "column 'odd' is to be poisson but holds"),
        (lambda n: np.linspace(0, 1, n), "negative-binomial", "column 'odd' is to be negative-binomial but holds"),
        (lambda n: np.linspace(0, 1, n), "bernoulli", "column 'odd' is to be bernoulli but holds"),
        (lambda n: np.linspace(0, 1, n), "gausian", r"likelihoods\['odd'\]='gausian' is not known; choose one of"),
        (
            lambda n: [np.inf, *range(n - 1)],
            "gaussian",
            r"column 'odd' holds 1 infinite value\(s\), the first in row 0",
        ),
    ],
)
def test_kinds_that_do_not_suit_a_column_are_refused_by_its_name(
    kind: Any, column: Any, chosen: str, words: str
) -> None:
    frame = people(n=60)[0].drop(columns="note")
    frame = frame.reset_index(drop=True).assign(odd=column(60))
    with pytest.raises(ValueError, match=words):
        kind(2, likelihoods={"odd": chosen}).fit(frame)


@BOTH
def test_a_frame_without_rows_is_refused_in_words(kind: Any) -> None:
    with pytest.raises(ValueError, match="X has no rows"):
        kind(2).fit(people(n=60)[0].iloc[:0])


@BOTH
def test_infinities_of_later_frames_are_refused_in_columns_that_are_used(kind: Any) -> None:
    frame, _, _ = people(n=60)
    model = kind(2, random_state=0).fit(frame)
    assert len(model.transform(frame.assign(other=np.inf))) == 60
    with pytest.raises(ValueError, match="column 'age' holds 60 infinite"):
        model.transform(frame.assign(age=np.inf))


@BOTH
def test_the_kind_that_was_chosen_goes_before_what_numbers_look_like(kind: Any) -> None:
    frame, _, label = people(n=120)
    frame["week"], frame["sex"] = np.arange(120) + 1, 1 + label
    with pytest.warns(UnusedColumns, match=r"week \(counts the rows\)"):
        assert "week" not in str(kind(2, random_state=0).fit(frame).summary())
    model = kind(2, likelihoods={"week": "gaussian", "sex": "gaussian"}, random_state=0).fit(frame)
    frame["week"], frame["sex"] = frame["week"].astype(float), frame["sex"].astype(float)
    frame.loc["person 0", ["week", "sex"]] = np.nan
    filled = model.impute(frame).loc["person 0"]
    assert 0.8 <= filled["sex"] <= 2.2
    assert 20 < filled["week"] < 100


@pytest.mark.parametrize(
    ("columns", "remedy"),
    [(["note"], None), (["always"], None), (["town"], "likelihoods={name: 'categorical'}"), (["week"], "'gaussian'}")],
)
def test_what_to_type_about_columns_that_are_not_used_is_what_helps(columns: list[str], remedy: str | None) -> None:
    frame, _, _ = people(n=120)
    frame = frame.drop(columns="born").assign(always=1.0, week=range(120), town=[f"town {i % 60}" for i in range(120)])
    frame = frame.drop(columns=list({"note", "always", "town", "week"} - set(columns)))
    with pytest.warns(UnusedColumns) as caught:
        latens.LatentClassAnalysis(2, max_iter=2, moves=False, **QUICK).fit(frame)
    message = next(str(each.message) for each in caught if each.category is UnusedColumns)
    assert (remedy in message) if remedy else message.endswith("Drop them.")


@BOTH
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_numbers_come_back_with_their_types(kind: Any, library: str) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    label = rng.integers(2, size=80)
    frame = pd.DataFrame(
        {
            "large": 2**60 + rng.integers(5, size=80),  # no float holds them
            "size": np.round(rng.normal(50 + 20 * label, 5)),
            "small": rng.normal(3.0 * label).astype("float32"),
            "steps": rng.integers(1, 6, size=80),
        }
    ).astype({"size": "Int64"})
    frame.loc[::9, "size"] = pd.NA
    frame.loc[::7, "small"] = np.nan
    if library == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    model = kind(2, random_state=0).fit(frame)
    filled, quantiles, draws = model.impute(frame, quantiles=[0.1], n_draws=1)
    for whole in (filled, quantiles[0.1], *draws):
        assert type(whole) is type(frame)
        assert list(whole.dtypes) == list(frame.dtypes)
        shown = whole["large"].to_numpy() == frame["large"].to_numpy()
        assert shown.all()
        for name in frame.columns:
            before, after = (np.asarray(table[name].to_list(), dtype=object) for table in (frame, whole))
            there = np.array([value is not None and value is not getattr(pd, "NA", None) for value in before])
            there &= np.array([value == value for value in np.where(there, before, 0)])
            assert (before[there] == after[there]).all()
            assert all(value is not None and value == value for value in after)


def test_two_values_again_and_again_are_levels() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=100)
    X = np.column_stack([rng.normal(4.0 * label), np.where(rng.random(100) < 0.1, 2 - label, 1 + label)])
    model = latens.LatentClassAnalysis(2, **QUICK).fit(X)
    assert model.likelihoods_ == {"x0": "gaussian", "x1": "categorical"}
    assert not {"few-values"} & {each.code for each in model.warnings_}
    X[:10, 1] = np.nan
    assert set(model.impute(X)[:, 1]) == {1.0, 2.0}


def test_deviations_of_a_frame_have_the_names_of_the_columns_that_are_used() -> None:
    frame, _, _ = people()
    model = fitted(frame)
    _, std = model.impute(frame, return_std=True)
    assert list(std.columns) == list(model.feature_names_in_)
    assert ((std > 0) == frame[std.columns].isna()).all().all()


def test_exposures_of_classes_are_refused_in_words_that_help() -> None:
    frame, _, _ = people(n=60)
    with pytest.raises(ValueError, match="exposure is a dict, which is for several views; give one number for each"):
        fitted(frame, likelihoods={"visits": "poisson"}).set_params(max_iter=2).fit(frame, exposure={"x": np.ones(60)})
    with pytest.raises(ValueError, match=r"such as likelihoods=\{'age': 'poisson'\}"):
        fitted(frame[["species", "age"]]).fit(frame[["species", "age"]], exposure=np.ones(60))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_a_stream_knows_the_levels_of_a_type_that_its_first_batch_does_not_show(estimator: Any, kind: str) -> None:
    import pandas as pd
    import polars as pl

    rng, levels = np.random.default_rng(0), ["rare", "low", "high"]
    label = np.arange(240) // 40 % 2
    x, size = rng.normal(4 * label[:, None], size=(240, 3)), np.array(levels)[1 + (rng.random(240) < 0.2 + 0.6 * label)]
    size[60::9] = "rare"
    frame = pd.DataFrame(x, columns=list("abc")).assign(size=pd.Categorical(size, levels, ordered=True))
    if kind == "polars":
        frame = pl.from_pandas(frame.astype({"size": str})).with_columns(pl.col("size").cast(pl.Enum(levels)))
    settings = {"random_state": 0, "tol": 1e-7}
    streamed, whole = estimator(2, **settings), estimator(2, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", latens.errors.UnseenLevels)
        for at in (slice(0, 60), slice(60, 240)):
            streamed.partial_fit(frame[at])
        whole.fit(frame)
    assert "ordinal" in streamed.likelihoods_.values()
    assert streamed.likelihoods_ == whole.likelihoods_
    assert streamed.score(frame) == pytest.approx(whole.score(frame), abs=0.01)
    assert list(streamed.impute(frame)["size"]) == list(frame["size"])


@pytest.mark.parametrize("estimator", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_yes_and_no_in_other_words_than_at_the_fit_are_the_same_answers(estimator: Any) -> None:
    frame = people(60)[1][["age", "species", "smokes", "member"]]
    model = estimator(2, random_state=0, max_iter=6, moves=False).fit(frame)
    hole = np.arange(60) % 9 == 0
    smokes = frame["smokes"] == "yes"
    for column in (smokes, smokes.astype(int), smokes.map({True: "Y", False: "n"})):
        new = frame.assign(smokes=column, member=frame["member"].astype(float))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnseenLevels)
            assert np.array_equal(model.transform(new), model.transform(frame))
            answer = model.impute(new.assign(member=new["member"].mask(hole)))
        assert set(answer["member"]) <= {0.0, 1.0}
        mine = model.impute(new.assign(smokes=column.astype(object).mask(hole)))["smokes"]
        assert set(mine) == set(column)
        words = {"yes": column[smokes].iloc[0], "no": column[~smokes].iloc[0]}
        both = model.impute(frame.assign(smokes=frame["smokes"].mask(hole)))["smokes"]
        assert list(mine) == [words[word] for word in both]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_a_column_of_words_that_arrives_as_empty_numbers_is_filled_with_words(estimator: Any, kind: str) -> None:
    polars = pytest.importorskip("polars")
    frame = people(60)[1][["age", "species", "smokes", "visits"]]
    model = estimator(2, random_state=0, max_iter=6, moves=False).fit(frame)
    new = frame.iloc[:9].assign(smokes=np.nan, species=[np.nan] * 4 + [7.0] * 5)
    new = polars.from_pandas(new) if kind == "polars" else new
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevels)
        filled, quantiles, draws = model.impute(new, quantiles=(0.1,), n_draws=1)
    for answer in (filled, quantiles[0.1], draws[0]):
        assert set(answer["smokes"]) <= {"yes", "no"}
        assert set(list(answer["species"])[:4]) <= {"Adelie", "Chinstrap", "Gentoo"}
        assert set(map(str, list(answer["species"])[4:])) <= {"7", "7.0"}
        assert len(answer) == 9
    if kind == "pandas":
        assert list(filled.index) == list(frame.index[:9])
