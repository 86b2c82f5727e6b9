"""Factors against what is known about the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from latens.errors import MixedNumbers, UnseenLevels
from latens.estimators.association import associate
from latens.system.summary_table import Table

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(60, 2))
AGE = 50 + 10 * Z[:, 0] + RNG.normal(size=60)
SITE = np.array(["a", "b", "c"])[np.digitize(Z[:, 1] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])]
NOTHING = RNG.normal(size=60)


def found(table: Table, factor: str, column: str) -> dict[str, Any]:
    (row,) = [row for row in table.rows if row[:2] == (factor, column)]
    return dict(zip(table.columns, row, strict=True))


def test_numbers_and_labels_get_their_test() -> None:
    table = associate(Z, ["f0", "f1"], {"age": AGE, "site": SITE, "nothing": NOTHING})
    assert table.columns == ("factor", "column", "test", "effect", "p", "adjusted p", "n", "low", "high")
    assert len(table) == 6
    age = found(table, "f0", "age")
    r, p = stats.pearsonr(Z[:, 0], AGE)
    assert (age["test"], age["effect"], age["n"]) == ("Pearson", pytest.approx(r), 60)
    assert age["p"] == pytest.approx(p)
    site = found(table, "f1", "site")
    h, p = stats.kruskal(*(Z[s == SITE, 1] for s in "abc"))
    assert (site["test"], site["effect"]) == ("Kruskal-Wallis", pytest.approx((h - 2) / 57))
    assert site["p"] == pytest.approx(p)
    assert {row[:2] for row in table.rows[:2]} == {("f0", "age"), ("f1", "site")}
    assert table["adjusted p"] == sorted(table["adjusted p"])
    assert found(table, "f1", "nothing")["adjusted p"] > 0.05


def test_many_tests_are_paid_for() -> None:
    table = associate(Z, ["f0", "f1"], {str(i): RNG.normal(size=60) for i in range(200)})
    assert min(table["p"]) < 0.01  # of 400
    assert min(table["adjusted p"]) > 0.05
    expected = stats.false_discovery_control(table["p"])
    assert table["adjusted p"] == pytest.approx(expected)


def test_two_values_are_two_groups() -> None:
    sex = (Z[:, 0] > 0).astype(int)
    for values in (sex, sex.astype(bool), np.where(sex, "m", "f")):
        row = found(associate(Z, ["f0", "f1"], {"sex": values}), "f0", "sex")
        assert row["test"] == "Kruskal-Wallis"
        assert row["effect"] > 0.5


def test_missing_values_are_left_out_by_column() -> None:
    age, site = AGE.copy(), SITE.astype(object)
    age[:5], site[:7] = np.nan, None
    table = associate(Z, ["f0", "f1"], {"age": age, "site": site})
    row = found(table, "f0", "age")
    assert row["n"] == 55
    assert row["effect"] == pytest.approx(stats.pearsonr(Z[5:, 0], AGE[5:]).statistic)
    assert found(table, "f1", "site")["n"] == 53


@pytest.mark.parametrize("values", [[1.0] * 60, ["same"] * 60, [f"id{i}" for i in range(60)], [np.nan] * 60])
def test_what_says_nothing_is_not_significant(values: list[Any]) -> None:
    table = associate(Z, ["f0", "f1"], {"column": values, "large": 1e300 * AGE})
    assert found(table, "f0", "column")["effect"] == 0
    assert found(table, "f0", "column")["p"] == 1
    assert found(table, "f0", "large")["effect"] > 0.9


def test_structured_arrays_are_taken() -> None:
    both = np.array(list(zip(AGE, SITE, strict=True)), dtype=[("age", float), ("site", "U1")])
    assert associate(Z, ["f0", "f1"], both) == associate(Z, ["f0", "f1"], {"age": AGE, "site": SITE})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"age": AGE[:5]}, "column 'age' of metadata has 5 entries for 60 rows"),
        (AGE, "metadata is a ndarray; give a data frame, a dict"),
        ({}, "metadata has no columns"),
    ],
)
def test_metadata_that_does_not_fit_is_refused(metadata: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        associate(Z, ["f0", "f1"], metadata)


@pytest.mark.extras
def test_frames_are_matched_by_row_name() -> None:
    import pandas as pd
    import polars as pl

    names = [f"p{i}" for i in range(60)]
    frame = pd.DataFrame({"age": AGE, "site": pd.Categorical(SITE)}, index=names)
    plain = associate(Z, ["f0", "f1"], {"age": AGE, "site": SITE})
    assert associate(Z, ["f0", "f1"], frame.iloc[::-1], row_names=names) == plain
    assert associate(Z, ["f0", "f1"], frame.reset_index(drop=True), row_names=names) == plain
    assert associate(Z, ["f0", "f1"], pl.DataFrame({"age": AGE, "site": SITE})) == plain
    part = associate(Z, ["f0", "f1"], frame.iloc[10:], row_names=names)
    assert found(part, "f0", "age")["n"] == 50
    with pytest.raises(ValueError, match="no row name in common: 'q0', 'q1' and 58 more, against 'p0', 'p1' and 58"):
        associate(Z, ["f0", "f1"], frame.rename(index=lambda name: name.replace("p", "q")), row_names=names)
    frame["when"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(AGE, unit="D")
    frame["dose"] = pd.array([None, *range(59)], dtype="Int64")
    row = found(associate(Z, ["f0", "f1"], frame, row_names=names), "f0", "when")
    assert row["effect"] == pytest.approx(stats.pearsonr(Z[:, 0], AGE).statistic)
    assert found(associate(Z, ["f0", "f1"], frame, row_names=names), "f0", "dose")["n"] == 59


def test_effects_of_numbers_and_labels_have_intervals() -> None:
    table = associate(Z, ["f0", "f1"], {"age": AGE, "site": SITE, "nothing": NOTHING, "one": ["a"] * 60})
    age, site = found(table, "f0", "age"), found(table, "f1", "site")
    known = stats.pearsonr(Z[:, 0], AGE).confidence_interval()
    assert (age["low"], age["high"]) == pytest.approx((known.low, known.high))
    assert 0.3 < site["low"] < site["effect"] < site["high"] < 1
    assert np.isnan(found(table, "f0", "one")["low"])
    few = associate(Z[:4], ["f0", "f1"], {"site": list("abab"), "age": AGE[:4]})
    assert np.isnan(few["low"]).all()
    # halves that never overlap: ranks of halves explain three quarters at most
    halves = associate(np.arange(20.0)[:, None], ["f"], {"half": ["a"] * 10 + ["b"] * 10})
    assert 0.4 < halves["low"][0] < halves["effect"][0] <= halves["high"][0] <= 1


def test_an_interval_of_labels_holds_nothing_where_the_test_sees_nothing() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        z, label = rng.normal(size=(50, 1)), rng.integers(3, size=50).astype(str)
        z += rng.choice([0.0, 0.4]) * label.astype(float)[:, None]
        (row,) = associate(z, ["f"], {"label": label}).rows
        _, _, _, effect, p, _, _, low, high = row
        assert 0 <= low <= effect <= high < 1
        if p > 0.06:
            assert low == 0


@pytest.mark.parametrize(("shares", "shift"), [((0.5, 0.5), 0.0), ((0.5, 0.5), 0.8), ((0.6, 0.3, 0.1), 1.5)])
def test_intervals_of_labels_hold_the_share_of_many_rows(shares: tuple[float, ...], shift: float) -> None:
    """Whatever the shape of groups: of skewed ones, 150 rows, 120 data sets; 95 % less three standard errors is .89."""
    rng = np.random.default_rng(len(shares))

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        label = rng.choice(len(shares), size=n, p=shares)
        return rng.exponential(size=n) + shift * label, label.astype(str)

    z, label = draw(100_000)
    true = associate(z[:, None], ["f"], {"label": label})["effect"][0] if shift else 0.0
    held = 0
    for _ in range(120):
        z, label = draw(150)
        table = associate(z[:, None], ["f"], {"label": label})
        held += table["low"][0] <= true <= table["high"][0]
    assert held >= 0.89 * 120


@pytest.mark.extras
def test_numbers_in_text_are_numbers_and_levels_stay_labels() -> None:
    import pandas as pd

    fares = [f"${1000 + 90 * z:,.2f}" for z in Z[:, 0]]
    meta = pd.DataFrame(
        {
            "fare": fares,
            "sold": [f"{x / 1000:.1f}k" if x >= 1000 else f"{x:.0f}" for x in np.exp(7 + Z[:, 0])],
            "batch": [str(i % 4) for i in range(60)],
            "level": pd.Categorical([f"{i % 5}.5" for i in range(60)]),
        }
    )
    table = associate(Z, ["f0", "f1"], meta)
    tests = {row[1]: row[2] for row in table.rows}
    assert tests == {"fare": "Pearson", "sold": "Pearson", "batch": "Kruskal-Wallis", "level": "Kruskal-Wallis"}
    assert found(table, "f0", "fare")["effect"] > 0.999
    alone = associate(Z, ["f0", "f1"], pd.Series(fares, name="fare"))
    assert found(alone, "f0", "fare")["effect"] == found(table, "f0", "fare")["effect"]
    assert associate(Z, ["f0", "f1"], pd.Series(fares)).rows[0][1] == "metadata"
    polars = pytest.importorskip("polars")
    assert found(associate(Z, ["f0", "f1"], polars.Series("fare", fares)), "f0", "fare")["test"] == "Pearson"


@pytest.mark.extras
def test_a_series_is_matched_by_the_names_of_its_rows() -> None:
    import pandas as pd

    names = [f"r{i}" for i in range(60)]
    age = pd.Series(AGE, index=names, name="age")
    given = associate(Z, ["f0", "f1"], age.iloc[::-1], row_names=names)
    assert given.rows == associate(Z, ["f0", "f1"], {"age": AGE}).rows


def test_numbers_written_in_several_ways_are_labels_with_a_word() -> None:
    shares = [f"{50 + 10 * z:.1f}%" if i % 2 else f"{0.5 + 0.1 * z:.3f}" for i, z in enumerate(Z[:, 0])]
    with pytest.warns(MixedNumbers, match=r"column 'share' of metadata holds numbers .* in % \(30 cells, such as"):
        table = associate(Z, ["f0", "f1"], {"share": shares})
    assert set(table["test"]) == {"Kruskal-Wallis"}
    dear = [f"${90 * z:.2f}" for z in Z[:, 0]]
    dear[3] = "free"
    with pytest.warns(UnseenLevels, match="holds 1 value.* no numbers in .*, taken as missing, such as 'free'"):
        table = associate(Z, ["f0", "f1"], {"fare": dear})
    assert found(table, "f0", "fare")["n"] == 59


def test_columns_that_cannot_be_tested_are_no_tests() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 2))
    known = {"age": z[:, 0] + rng.normal(size=60), "dose": rng.normal(size=60)}
    empty = {f"empty{j}": [None] * 60 for j in range(20)} | {
        "constant": [1.0] * 60,
        "name": [f"p{i}" for i in range(60)],
    }
    alone, beside = associate(z, ["a", "b"], known), associate(z, ["a", "b"], known | empty)
    assert beside.rows[:4] == alone.rows
    assert set(beside["adjusted p"][4:]) == {1.0}
