"""Cells that hold numbers with something around them: read by all cells of their column together, or not as numbers."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import MixedNumbers, UnseenLevels, UnusedColumns
from latens.intake.columns import Column
from latens.intake.numbers.column import read_numbers
from latens.intake.numbers.format import ColumnFormat

LENGTHS = np.random.default_rng(3).uniform(400, 9000, 60)  # of which cells are made in each way

READ = {
    "thousands in k beside plain ones": (["3.9k", "438", "12k", "1.2M", "0"], [3900, 438, 12000, 1.2e6, 0]),
    "K is a thousand beside plain ones": (["3.9K", "438"], [3900, 438]),
    "and kelvin alone": (["273.15 K", "300 K"], [273.15, 300]),
    "exactly": (["1.005k", "12"], [1005, 12]),
    "money in millions": (["$3.9M", "$450k", "$12", "£0"][:3], [3.9e6, 450e3, 12]),
    "words that multiply": (["3,9 Mio. €", "450.000 €"], [3.9e6, 450e3]),
    "decimals tell thousands": (["3.750 €", "1.200,50 €", "7 €"], [3750, 1200.5, 7]),
    "points twice are thousands": (["1.234.567 €", "3.750 €"], [1234567, 3750]),
    "commas before three digits": (["$3,750", "$12"], [3750, 12]),
    "blanks and decimal commas": (["1 234,5", "2 000,25"], [1234.5, 2000.25]),
    "codes of currencies": (["CHF 1'250.00", "CHF 3"], [1250, 3]),
    "negative in every way": (["($5)", "-$7", "$-3", "$1"], [-5, -7, -3, 1]),
    "a bare 0 is of any unit": (["39%", "12 %", "0"], [39, 12, 0]),
    "powers": (["3.750e+03", "1.2E-1"], [3750, 0.12]),
}
NOT_READ = {
    "a unit in some": (
        ["3.9 kg", "1765", "2 kg"],
        "in kg (2 cells, such as '3.9 kg') and without kg (1, such as '1765')",
    ),
    "percent and fractions": (
        ["39%", "0.176", "12%"],
        "in % (2 cells, such as '39%') and without % (1, such as '0.176')",
    ),
    "two currencies": (
        ["$5", "€5", "$6"],
        "in $ (2 cells, such as '$5') and in € (1, such as '€5'): write one currency",
    ),
    "two units": (
        ["3 m", "4 km", "5 m"],
        "in m (2 cells, such as '3 m') and in km (1, such as '4 km'): write one unit",
    ),
    "bytes or billions": (["1.2B", "300", "4B"], "in B (2 cells, such as '1.2B') and without B"),
    "thousands or decimals of money": (["3.750 €", "980 €"], "'3.750 €' may be 3750 or 3.75 (1 cell like it)"),
    "where the currency follows, of commas too": (["3,750 €", "980 €"], "write 3750 € or 3.75 €"),
    "of a unit beside whole hundreds": (["1.250 kg", "980 kg"], "'1.250 kg' may be 1250 or 1.25"),
    "points and commas": (
        ["3.75", "3,75", "2,5"],
        "with a decimal point (1, such as '3.75') and with a decimal comma (2",
    ),
    "0 degrees are no 0": (["5°C", "0", "7°C"], "in °C (2 cells, such as '5°C') and without °C"),
}


@pytest.mark.parametrize("case", READ)
def test_cells_of_one_kind_are_numbers(case: str) -> None:
    cells, expected = READ[case]
    found = read_numbers(Counter(cells))
    assert found is not None
    assert found.doubt == ""
    assert [found.numbers[cell] for cell in cells] == expected
    again = found.reading.like(ColumnFormat.of(cells, found.reading).examples, found.reading.decimal)
    assert again == found.reading  # what a file of a model keeps of it
    assert [again.number(cell) for cell in cells] == expected


@pytest.mark.parametrize("case", NOT_READ)
def test_cells_of_several_kinds_are_not_and_are_told(case: str) -> None:
    cells, words = NOT_READ[case]
    found = read_numbers(Counter(cells))
    assert found is not None
    assert words in found.doubt
    assert ": write " in found.doubt


@pytest.mark.parametrize(
    "cells", [["1,3", "2,5", "4"], ["007", "12"], ["10-20", "20-30"], ["yes", "1"], ["5 (300)", "7"]]
)
def test_what_is_no_number_is_none(cells: list[str]) -> None:
    assert read_numbers(Counter(cells)) is None


def table_of_cells() -> dict[str, list[str]]:
    return {
        "sales": [f"{x / 1000:.1f}k" if x >= 1000 else f"{x:.0f}" for x in LENGTHS],
        "mass": [f"{x / 1000:.2f} kg" if i % 3 else f"{x:.0f}" for i, x in enumerate(LENGTHS)],
        "share": [f"{x / 100:.0f}%" if i % 4 else f"{x / 1e4:.3f}" for i, x in enumerate(LENGTHS)],
        "price": [f"{'$€'[i % 2]}{x:.2f}" for i, x in enumerate(LENGTHS)],
        "rent": [f"{x:,.0f} €".replace(",", ".") for x in LENGTHS + 1000],
    }


LEFT_OUT = {
    "mass": "in kg (40 cells, such as ",
    "share": "in % (45 cells, such as ",
    "price": "in $ (30 cells, such as ",
    "rent": "(60 cells like it)",
}


@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_leave_out_columns_whose_numbers_are_of_several_kinds(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame(table_of_cells() | {"x": LENGTHS, "y": np.sqrt(LENGTHS)})
    with pytest.warns(UnusedColumns) as caught:
        model = latens.LatentClassAnalysis(1, random_state=0, max_iter=3).fit(frame)
    assert [column.name for column in model.columns_.table.columns] == ["sales", "x", "y"]
    (said,) = [str(each.message) for each in caught if each.category is UnusedColumns]
    for name, words in LEFT_OUT.items():
        assert f"{name} (numbers written in several ways, " in said
        assert words in said


@pytest.mark.extras
def test_files_leave_them_out_and_warn(tmp_path: Path) -> None:
    import pandas

    path = tmp_path / "cells.csv"
    pandas.DataFrame(table_of_cells() | {"x": LENGTHS}).to_csv(path, index=False)
    with pytest.warns(MixedNumbers) as caught:
        table = latens.read(path)
    assert list(table.frame.columns) == ["sales", "x"]
    np.testing.assert_allclose(table.frame["sales"], LENGTHS, rtol=0.1)
    said = [str(each.message) for each in caught]
    for (name, words), each in zip(LEFT_OUT.items(), said, strict=True):
        assert each.startswith(f"column {name!r} holds numbers that are written in several ways, ")
        assert words in each
        assert "the column is left out. To have numbers, write " in each


def test_a_few_cells_of_another_kind_are_missing_and_counted() -> None:
    from latens.intake.raw_table import RawTable
    from latens.intake.treatment import Choices, treat

    cells = [f"{x / 100:.0f}%" for x in LENGTHS]
    cells[7], cells[9] = "0.176", "unknown"
    (column,), (values,) = treat(RawTable(("share",), (np.array(cells, dtype=object),)), Choices())
    assert column.note == "percent; 2 value(s) that are no numbers in % taken as missing, such as '0.176'"
    assert column.n_missing == 2
    assert np.flatnonzero(np.isnan(values)).tolist() == [7, 9]


def later(column: Column, *cells: str | None) -> tuple[list[float], list[str]]:
    """Later cells of a column as numbers, and what is said of them."""
    from latens.intake.encoding import Encoding
    from latens.intake.raw_table import RawTable

    table = RawTable((column.name,), (np.array(cells, dtype=object),))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matrix = Encoding((column,)).encode(table).matrix
    return matrix[:, 0].tolist(), [str(each.message) for each in caught]


def fitted(*cells: str, decimal: str = ".") -> Column:
    """The column that cells were found to be, as a file of a model has it."""
    from latens.intake.raw_table import RawTable
    from latens.intake.treatment import Choices, treat

    table = RawTable(("c",), (np.array(cells, dtype=object),), decimal=decimal)
    (column,), _ = treat(table, Choices())
    return Column.from_json(column.to_json())


def test_later_cells_are_read_as_those_of_the_fit() -> None:
    assert later(fitted("3.750,00 €", "12 €", "7 €"), "3.750 €", "1.5 €") == (
        [3.75, 1.5],
        [],
    )  # its own cells tell more
    assert later(fitted("3.750,00 €", "12 €", "7 €"), "3.750 €", None)[0][0] == 3750
    assert later(fitted("3.9K", "438", "12"), "2K", "17") == ([2000, 17], [])
    numbers, said = later(fitted("39%", "12%", "40%"), "0.5", "20%")
    assert np.isnan(numbers[0])
    assert numbers[1] == 20
    assert said == [
        "column 'c' holds 1 value(s) that are no numbers in %, taken as missing, such as '0.5'. Correct them, or leave "
        "those cells empty."
    ]
    numbers, said = later(fitted("39%", "12%", "40%"), "0.5", "0.2")
    assert numbers == [0.5, 0.2]
    assert said == [
        "column 'c' holds 2 number(s) without '%', which cells of the fit had, such as '0.5': they are taken as "
        "numbers in %. If they are of another unit, turn them into % first."
    ]
    numbers, said = later(fitted("0.39", "0.12", "0.4"), "39%", "12%")
    assert said[0].startswith("column 'c' holds 2 value(s) that are no numbers, taken as missing, such as '39%'")


def test_two_numbers_are_two_levels_as_they_are_written() -> None:
    column = fitted("5 kg", "10 kg", "5 kg")
    assert (column.kind, column.levels, column.note) == ("binary", ("5 kg", "10 kg"), "1 = 10 kg, 0 = 5 kg")
    assert later(column, "10 kg", "5 kg") == ([1, 0], [])


@pytest.mark.extras
def test_fractions_where_the_fit_had_percents_are_doubted() -> None:
    import pandas as pd

    z = np.random.default_rng(0).uniform(0.1, 0.9, 60)
    frame = pd.DataFrame({"share": [f"{100 * a:.0f}%" for a in z], "x": z, "y": z**2})
    model = latens.LatentClassAnalysis(1, random_state=0, max_iter=3).fit(frame)
    with pytest.warns(
        UnseenLevels, match=r"'share' was in percent at the fit and holds numbers up to 0\.898 .* by 100"
    ):
        model.predict(frame.assign(share=z))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenLevels)
        model.predict(frame.assign(share=100 * z))


@pytest.mark.extras
def test_few_cells_are_levels_with_a_word() -> None:
    import pandas as pd

    sizes = ["500 g", "1 kg", "2 kg", "1.5 kg"] * 15
    frame = pd.DataFrame({"size": sizes, "x": np.arange(60.0) ** 2, "y": np.sqrt(np.arange(60.0))})
    with pytest.warns(MixedNumbers, match=r"'size' .* in kg \(45 cells, such as '1 kg'\) .* are taken as levels"):
        model = latens.LatentClassAnalysis(1, random_state=0, max_iter=3).fit(frame)
    assert model.likelihoods_["size"] == "categorical"


def test_columns_of_earlier_files_are_read_as_before_with_a_word() -> None:
    numbers, said = later(Column("c", "number", note="currency $"), "$1,200.50", "$3")
    assert numbers == [1200.5, 3]
    assert said[0].startswith("column 'c' holds 2 number(s) in '$', which is not known of the fit")
    assert later(Column("c", "number", unit="kg"), "3 kg", None)[0][0] == 3


@pytest.mark.extras
def test_columns_with_a_role_are_no_measurements(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{1 + i % 2},{1 + i % 2},{1 + i % 2}.5,{'fm'[i % 2]},{1 + i % 2}" for i in range(40)]
    path = tmp_path / "roles.csv"
    path.write_text("\n".join(["x,w,g,e,s,a", *lines]))
    table = latens.read(path, weights="w", groups="g", exposure="e", covariates=["s", "a"])
    rows: dict[str, Any] = {row[0]: (row[1], row[2], row[4]) for row in table.columns.rows}
    assert rows == {
        "x": ("number", "kept", ""),
        "w": ("number", "weights", ""),
        "g": ("category", "groups", "2 groups"),
        "e": ("number", "exposure", ""),
        "s": ("category", "covariate", "2 levels: f, m"),
        "a": ("number", "covariate", ""),
    }
    assert table.numbers_aside("weights").tolist() == [1.0 + i % 2 for i in range(40)]
    assert set(table.groups()) == {"1", "2"}


@pytest.mark.extras
@pytest.mark.parametrize("after", ["", " g", " €", " %"])
def test_the_same_digits_are_read_in_one_way_and_told(after: str, tmp_path: Path) -> None:
    """They were 1.234 without a unit, 1234 in grams and text in euros, told of the last alone."""
    import pandas

    path = tmp_path / "mix.csv"
    cells = [f"{digits}{after}" for digits in ["1.234", "2.500", "3.125", "4.750"] * 30]
    pandas.DataFrame({"a": cells, "b": ["1,5", "2,25", "3", "4"] * 30}).to_csv(path, sep=";", index=False)
    with pytest.warns(MixedNumbers, match=rf"'1\.234{after}' read as 1234, .*\. For 1\.234 write 1,2340{after}\.$"):
        table = latens.read(path)
    assert table.frame["a"].tolist()[:4] == [1234, 2500, 3125, 4750]
    assert table.frame["b"].tolist()[:4] == [1.5, 2.25, 3, 4]
    path.write_text(path.read_text().replace("1.234", "1,2340").replace("2.500", "2,5"))
    path.write_text(path.read_text().replace("3.125", "3,1250").replace("4.750", "4,75"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MixedNumbers)  # as the warning advised
        assert latens.read(path).frame["a"].tolist()[:4] == [1.234, 2.5, 3.125, 4.75]


@pytest.mark.extras
def test_thousands_that_their_column_tells_are_not_doubted(tmp_path: Path) -> None:
    path = tmp_path / "told.csv"
    rows = "1.250 g;1.200,50 €;0,5\n980 g;3.750 €;1,5\n2.125 g;12 €;2,25\n" * 20
    path.write_text("mass;price;x\n" + rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MixedNumbers)
        table = latens.read(path)
    assert table.frame.iloc[:2].to_numpy().tolist() == [[1250, 1200.5, 0.5], [980, 3750, 1.5]]


@pytest.mark.extras
def test_units_alone_tell_the_decimal_mark_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "units.csv"
    path.write_text("mass;length\n" + "3.750 g;18,3 mm\n4.125 g;17,25 mm\n3.900 g;19 mm\n" * 20)
    with pytest.warns(MixedNumbers, match="'3.750 g' read as 3750"):
        table = latens.read(path)
    assert table.frame.iloc[:2].to_numpy().tolist() == [[3750, 18.3], [4125, 17.25]]


@pytest.mark.extras
def test_points_beside_clear_decimals_stay_decimals(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("a;b\n" + "1.234;1,75\n0.125;2,50\n12.5;3\n" * 20)
    assert latens.read(path).frame.iloc[:3].to_numpy().tolist() == [[1.234, 1.75], [0.125, 2.5], [12.5, 3]]
