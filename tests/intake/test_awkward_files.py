"""Awkward files: every column accounted for and of the right kind, every value where it belongs, never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import latens
from latens.intake import Intake
from tests.intake.awkward import FILES, Awkward

pytestmark = pytest.mark.extras


def intake(file: Awkward, folder: Path) -> Intake:
    path = folder / file.name
    path.write_bytes(file.content())
    return latens.read(path)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_column_is_kept_dropped_or_names_the_rows(file: Awkward, tmp_path: Path) -> None:
    table = intake(file, tmp_path)
    assert set(table.columns["treatment"]) <= {"kept", "dropped", "row names"}
    assert table.columns["column"] == list(file.kinds)
    role = dict(zip(table.columns["column"], table.columns["treatment"], strict=True))
    assert list(table.frame.columns) == [name for name in role if role[name] == "kept"]
    assert [name for name in role if role[name] == "row names"] == ([file.row_names] if file.row_names else [])


@pytest.mark.parametrize("file", FILES, ids=str)
def test_what_was_found_out_is_said_and_values_are_where_they_belong(file: Awkward, tmp_path: Path) -> None:
    table = intake(file, tmp_path)
    for words in file.notes:
        assert any(words in note for note in table.notes), (words, table.notes)
    for (row, column), value in file.cells.items():
        found = table.frame[column].iloc[row]
        assert (found != found) if value is None else found == value
    assert table.matrix().shape == (len(table.frame), len(table.encoded().names))
    assert np.isfinite(table.matrix()[~np.isnan(table.matrix())]).all()


def test_the_right_kind_for_at_least_95_percent_of_columns(tmp_path: Path) -> None:
    wrong, total = [], 0
    for file in FILES:
        columns = intake(file, tmp_path).columns
        found = dict(zip(columns["column"], columns["kind"], strict=True))
        total += len(file.kinds)
        wrong += [
            (file.name, name, kind, found.get(name)) for name, kind in file.kinds.items() if found.get(name) != kind
        ]
    assert total >= 70
    assert len(FILES) >= 20
    assert len(wrong) <= 0.05 * total, wrong
