"""Awkward files: every column accounted for and of the right kind, every value where it belongs, never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

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


TOKENS = (b",", b";", b"\t", b"\n", b'"', b"#", b"\r\n", b"NA", b"-999", b"1e999", b"inf", b"\xff", b"\x00", b"'", b"|")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(5))
def test_damaged_files_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    """Tokens put in, stretches cut out or repeated: columns that add up, or one clear line; nothing else."""
    rng = np.random.default_rng(seed)
    n_read = 0
    for file in FILES:
        content = bytearray(file.content())
        for _ in range(rng.integers(1, 10)):
            at = int(rng.integers(len(content) + 1))
            if rng.random() < 0.5:
                content[at:at] = TOKENS[rng.integers(len(TOKENS))]
            elif rng.random() < 0.5:
                del content[at : at + int(rng.integers(1, 30))]
            else:
                content[at:at] = content[at : at + int(rng.integers(1, 40))]
        (tmp_path / file.name).write_bytes(bytes(content))
        try:
            table = latens.read(tmp_path / file.name)
        except latens.errors.TableRefused:
            continue
        n_read += 1
        used_columns = [role for role in table.columns["treatment"] if role == "kept"]
        assert table.frame.shape == (table.n_rows, len(used_columns))
        matrix = table.matrix()
        assert not np.isinf(matrix.toarray() if issparse(matrix) else matrix).any()
    assert n_read >= 5  # so that reading is tried too
