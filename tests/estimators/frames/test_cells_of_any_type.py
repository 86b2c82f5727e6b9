"""Missing cells of columns whose levels are no text: they are filled with values of the column's own type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
N = 120


def intervals(size: Any) -> Any:
    import pandas

    return pandas.Series(pandas.qcut(size, 3))


def whole_intervals(size: Any) -> Any:
    import pandas

    return pandas.Series(pandas.cut(10 * size, [-100, -5, 5, 100]))


def tuples(size: Any) -> Any:
    import pandas

    return pandas.Series([("big", 1) if each > 0 else ("small", 2) for each in size]).astype("category")


def encoded_bytes(size: Any) -> Any:
    import pandas

    return pandas.Series([b"Dream" if each > 0.5 else b"Biscoe" if each > -0.5 else b"Torgersen" for each in size])


def several_types(size: Any) -> Any:
    import pandas

    return pandas.Series([1 if each > 0.5 else "a" if each > -0.5 else 2.5 for each in size], dtype=object)


def years(size: Any) -> Any:
    import pandas

    return pandas.Series(pandas.PeriodIndex([str(2007 + int(each > 0) + int(each > 1)) for each in size], freq="Y"))


def years_as_text(size: Any) -> Any:
    return years(size).astype(str)


@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
@pytest.mark.parametrize(
    "column", [intervals, whole_intervals, tuples, encoded_bytes, several_types, years, years_as_text]
)
def test_levels_that_are_no_text_are_filled_as_what_they_are(name: str, column: Any) -> None:
    import pandas

    rng = np.random.default_rng(0)
    size = rng.normal(size=N)
    X = pandas.DataFrame({f"x{d}": size + 0.3 * rng.normal(size=N) for d in range(3)}).assign(q=column(size))
    held = set(X["q"])
    X.loc[:29, "q"] = None
    model = getattr(latens, name)(2, random_state=0, max_iter=30).fit(X)
    filled = model.impute(X)
    assert filled["q"].dtype == X["q"].dtype
    if column in (years, years_as_text):  # numbers, which are rounded
        assert {type(each) for each in filled["q"][:30]} == {type(each) for each in held}
        assert all(str(each).isdigit() for each in filled["q"])
    else:
        assert set(filled["q"][:30]) <= held
    assert filled[30:].equals(X[30:])
    drawn, _ = model.sample(5)
    assert drawn.shape == (5, 4)


def test_a_level_that_new_rows_do_not_show_is_filled_in_the_type_of_the_others() -> None:
    import pandas

    rng = np.random.default_rng(1)
    size = rng.normal(size=N)
    X = pandas.DataFrame({"x": size, "y": size + 0.1 * rng.normal(size=N), "q": encoded_bytes(size)})
    model = latens.LatentClassAnalysis(3, random_state=0, max_iter=30).fit(X)
    new = X[size < -0.5].head(3).copy()
    new.loc[len(X)] = [2.0, 2.0, None]
    assert model.impute(new)["q"].tolist()[-1] == b"Dream"


@pytest.mark.parametrize("kind", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_columns_that_arrive_without_any_value_are_filled_in_the_type_of_the_fit(kind: Any) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.random(120) < 0.5
    often = rng.random((4, 120)) < np.where(z, 0.95, 0.05)
    frame = pd.DataFrame({"x": rng.normal(size=120) + 3 * z, "word": np.where(often[0], "yes", "no")})
    frame = frame.assign(flag=often[1].astype(int), share=often[2].astype(float), sure=often[3], n=rng.poisson(3, 120))
    frame["code"] = np.where(z, "1", "2")
    model = kind(2, random_state=0, max_iter=50)
    names = {"word": str, "flag": int, "share": float, "sure": bool, "n": int, "code": str}
    empty = frame.head(6).assign(**{name: pd.Series([None] * 6, dtype=object) for name in names})
    filled = model.fit(frame).impute(empty)
    assert {name: {type(cell) for cell in filled[name]} for name in names} == {
        name: {held} for name, held in names.items()
    }
    assert filled["flag"].tolist() == z[:6].astype(int).tolist()
