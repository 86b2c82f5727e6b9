"""Numbers with their unit in the cells, and dates that say which row is which."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

import latens
from latens.errors import TableRefused, UnseenLevels
from latens.intake import Intake, encode_like
from latens.intake.encoding import encodings_from_text, encodings_to_text

DAYS = [str(date(2024, 1, 1) + timedelta(days=i)) for i in range(30)]


def roles(table: Intake) -> dict[str, str]:
    return {row[0]: row[2] for row in table.columns.rows}


@pytest.mark.extras
def test_numbers_with_one_unit_are_numbers_in_this_file_and_in_later_ones(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    path.write_text("weight;power\n" + "".join(f"{1 + i % 2}.{100 + i * 7} kg;{50 + i * 3}hp\n" for i in range(30)))
    table = latens.read(path)
    np.testing.assert_array_equal(table.matrix()[:2], [[1.1, 50], [2.107, 53]])
    assert [row[4] for row in table.columns.rows] == ["unit: kg", "unit: hp"]
    (encoding,) = encodings_from_text(encodings_to_text(table.encodings)).values()
    path.write_text("power;weight\n60hp;1.5 kg\n61;1.5 t\n")
    with pytest.warns(UnseenLevels) as caught:
        encoded = encode_like(path, {"x": encoding})["x"]
    np.testing.assert_array_equal(encoded.matrix, [[1.5, 60], [np.nan, np.nan]])
    said = [str(each.message) for each in caught]
    assert "column 'weight' holds 1 value(s) that are no numbers in kg, taken as missing, such as '1.5 t'" in said[0]
    assert "column 'power' holds 1 value(s) that are no numbers in hp, taken as missing, such as '61'" in said[1]
    path.write_text("power;weight\n60;1.5 kg\n61;1.6 kg\n")
    np.testing.assert_array_equal(encode_like(path, {"x": encoding})["x"].matrix, [[1.5, 60], [1.6, 61]])


@pytest.mark.extras
def test_numbers_in_several_units_stay_out_and_the_remedy_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    path.write_text("weight,a\n" + "".join(f"{i + 1.5} {'t' if i % 3 else 'kg'},{i * i % 17}.5\n" for i in range(30)))
    (row, _) = latens.read(path).columns.rows
    note = (
        "in t (20 cells, such as '2.5 t') and in kg (10, such as '1.5 kg'): write one unit; --category weight keeps it"
    )
    assert row[2:] == ("dropped", 0, f"numbers written in several ways, {note}")


@pytest.mark.extras
def test_dates_in_order_name_the_rows_and_others_do_not(tmp_path: Path) -> None:
    import pandas

    path = tmp_path / "prices.csv"
    numbers = [f"{i * 7 % 11}.5,{i * 5 % 13}.25" for i in range(30)]
    for days, role in ((DAYS, "row names"), (DAYS[::-1], "row names"), (DAYS[15:] + DAYS[:15], "dropped")):
        path.write_text("\n".join(["day,a,b", *(f"{day},{rest}" for day, rest in zip(days, numbers, strict=True))]))
        table = latens.read(path)
        assert roles(table) == {"day": role, "a": "kept", "b": "kept"}
        if role == "row names":
            assert list(table.frame.index) == days
    frame = pandas.DataFrame({"day": pandas.to_datetime(DAYS), "a": np.arange(30) ** 2.0, "b": np.sqrt(np.arange(30))})
    frame.to_parquet(tmp_path / "prices.parquet")
    assert list(latens.read(tmp_path / "prices.parquet").frame.index) == DAYS
    named = ["who,day,a,b", *(f"p{i},{day},{rest}" for i, (day, rest) in enumerate(zip(DAYS, numbers, strict=True)))]
    path.write_text("\n".join(named))
    assert roles(latens.read(path)) == {"who": "row names", "day": "dropped", "a": "kept", "b": "kept"}


@pytest.mark.extras
def test_a_line_for_each_day_and_name_is_a_long_table_though_some_are_lacking(tmp_path: Path) -> None:
    path = tmp_path / "stocks.csv"
    lines = [f"{name},{day},{i + 0.5}" for name in ("ab", "cd", "ef") for i, day in enumerate(DAYS)]
    path.write_text("\n".join(["symbol,date,price", *lines[7:]]))
    with pytest.raises(TableRefused, match=r"looks like a long table.*--format long"):
        latens.read(path)
    table = latens.read(path, format="long").frame
    assert list(table.columns) == ["ab", "cd", "ef"]
    assert sorted(table.index) == DAYS
    assert table["ab"].isna().sum() == 7


@pytest.mark.extras
def test_an_excel_sheet_without_rows_is_refused_by_its_own_name(tmp_path: Path) -> None:
    import pandas

    pandas.DataFrame({"a": [], "b": []}).to_excel(tmp_path / "book.xlsx", index=False)
    with pytest.raises(TableRefused, match=r"book\.xlsx has a header and no rows"):
        latens.read(tmp_path / "book.xlsx")


@pytest.mark.extras
def test_lines_within_levels_do_not_break_the_table_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "birds.csv"
    path.write_text("island,a\n" + "".join(f'"{"XYZ"[i % 3]}\n(south)",{i * i % 17}.5\n' for i in range(30)))
    assert len(str(latens.read(path).columns).splitlines()) == 3
