"""Files that cannot be rows of samples: one line that says what was seen and what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import TableRefused

LONG = "sample,feature,value\n" + "".join(f"s{i},f{j},{i * j + 0.5}\n" for i in range(5) for j in range(4))
MOLTEN = "index,what,value\n" + "".join(f"{i},{j},{i + 0.5}\n" for j in ("ash", "hue", "acid") for i in range(12))
PAIRS = "order,item\n" + "".join(f"{i},{item}\n" for i in range(9) for item in ("tea", "jam", "oats")[: 1 + i % 3])
SALES = "InvoiceNo,Item,Price\n" + PAIRS.partition("\n")[2].replace("\n", ",2.5\n")
GENES = "gene,s1,s2,s3\n" + "".join(f"ENSG{i:011d},{i}.5,{i * 2}.25,{3 * i}.125\n" for i in range(30))


@pytest.mark.extras
@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("empty.csv", b"", {}, ["empty.csv is empty"]),
        ("blank.csv", b"\n \n\n", {}, ["blank.csv is empty"]),
        ("header.csv", b"a,b,c\n", {}, ["header.csv has a header and no rows"]),
        ("one.csv", b"a,b\n1,2\n", {}, ["one.csv has 1 row"]),
        ("picture.png", b"\x89PNG\r\n", {}, ["end with .png are not read", "Save it as CSV"]),
        ("binary.csv", b"ab\0\0cd\0ef,gh\n" * 5 + bytes(range(1, 200)), {}, ["is no text"]),
        ("long.csv", LONG.encode(), {}, ["looks like a long table", "--format long", "format='long'"]),
        ("months.csv", MOLTEN.replace("index,what,value", "year,month,warm").encode(), {}, ["like a long table"]),
        ("molten.csv", MOLTEN.encode(), {}, ["molten.csv looks like a long table", "--format long"]),
        ("pairs.csv", PAIRS.encode(), {}, ["one line for each order and item", "--format transactions", "format='tr"]),
        ("sales.csv", SALES.encode(), {"format": "transactions"}, ["'InvoiceNo' repeats", "in a file of their own"]),
        ("genes.csv", GENES.encode(), {}, ["features x samples", "'ENSG00000000000'", "--transpose", "transpose=True"]),
        ("ragged.csv", b"a,b\n" + b"1,2\n" * 40 + b"1,2,3\n", {}, ["line 42", "3 fields, the others 2"]),
        ("open.csv", b'a,b\n1,2\n3,"4\n5,6\n', {}, ["a quote that is opened about line 3", "never closed"]),
        ("old.xls", b"\xd0\xcf\x11\xe0", {}, ["old.xls", "save it as .xlsx or CSV"]),
        ("broken.xlsx", b"PK no", {}, ["broken.xlsx is no Excel file"]),
        ("broken.parquet", b"PAR1 no", {}, ["broken.parquet is no Parquet file"]),
        ("broken.npy", b"no", {}, ["broken.npy is no file of numbers"]),
        ("packed.csv.gz", b"no gzip", {}, ["packed.csv.gz cannot be unpacked"]),
        ("table.csv", b"age,sex\n1,m\n2,f\n", {"drop": ["aeg"]}, ["no column 'aeg'", "did you mean 'age'?"]),
        ("table.csv", b"age,sex\n1,m\n2,f\n", {"index_col": "zzz"}, ["no column 'zzz'", "there are 'age', 'sex'"]),
        ("table.csv", b"age,sex\n1,m\n2,f\n", {"format": "wide"}, ["format='wide' is not known", "transactions"]),
        ("edges.csv", b"a,b,c,d\n1,2,3,4\n2,3,4,5\n", {"format": "edges"}, ["two columns, source and target"]),
        ("twice.csv", (LONG + "s0,f0,9\n").encode(), {"format": "long"}, ["'s0' has more than one value of 'f0'"]),
        ("texts.csv", b"a,b,c\nx,y,1\nz,w,2\n", {"transpose": True}, ["names in one column", "--drop NAME"]),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    name: str, content: bytes, options: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableRefused) as caught:
        latens.read(tmp_path / name, **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def test_a_pattern_is_refused_with_what_to_do_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "part-1.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableRefused, match=r"names several files.*put their rows into one file"):
        latens.read(tmp_path / "part-*.csv")


@pytest.mark.extras
def test_options_that_a_refusal_names_lay_out_frames_as_they_do_files(tmp_path: Path) -> None:
    import pandas as pd

    for text, format, shape in ((LONG, "long", (5, 3)), (PAIRS, "transactions", (9, 3))):
        path = tmp_path / f"{format}.csv"
        path.write_text(text)
        from_file = latens.read(path, format=format).encoded()
        from_frame = latens.read(pd.read_csv(path), format=format).encoded()
        assert from_file.matrix.shape == shape
        np.testing.assert_array_equal(_dense(from_frame.matrix), _dense(from_file.matrix))
        assert from_frame.names == from_file.names


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


@pytest.mark.extras
@pytest.mark.parametrize(
    "text",
    [
        "patient,weight\n" + "".join(f"{i % 4},{60 + 0.5 * i}\n" for i in range(12)),  # measured again and again
        "patient,answer\n" + "".join(f"{i % 4},{('no', 'yes')[i % 2]}\n" for i in range(40)),  # the same again
        "id,colour\n" + "".join(f"{i},{('red', 'blue', 'green')[i % 3]}\n" for i in range(12)),  # a row for each
    ],
    ids=["numbers", "repeated pairs", "different ids"],
)
def test_two_columns_that_are_no_lists_of_items_are_read_as_they_are(text: str, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text(text)
    assert latens.read(tmp_path / "two.csv").n_rows == text.count("\n") - 1


def test_a_misspelt_path_names_no_file_whose_ending_alone_is_alike(tmp_path: Path) -> None:
    (tmp_path / "s5.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nosuch\.csv\.$"):
        latens.read(tmp_path / "nosuch.csv")


def test_a_misspelt_path_names_the_file_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match=r"no file .*patient\.csv; did you mean .*patients\.csv\?"):
        latens.read(tmp_path / "patient.csv")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        latens.read(tmp_path / "nowhere" / "patient.csv")
    with pytest.raises(TableRefused, match="is a folder; name a file in it"):
        latens.read(tmp_path)


def save_objects(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("objects.npy", save_objects, "would run code"),
        ("line.npy", lambda path: np.save(path, np.arange(5.0)), r"shape \(5,\)"),
        ("words.npy", lambda path: np.save(path, np.array([["a"]])), "expected numbers"),
        ("none.npz", lambda path: np.savez(path, y=np.arange(3.0)), r"no matrix of numbers .* y \(3,\)"),
        ("unequal.npz", lambda path: np.savez(path, a=np.eye(3), b=np.eye(4)), r"a 3, b 4"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(
    name: str, write: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    write(tmp_path / name)
    with pytest.raises(TableRefused, match=words):
        latens.read(tmp_path / name)


def test_what_is_no_path_and_no_frame_is_refused() -> None:
    with pytest.raises(TableRefused, match="a int cannot be read; give the path of a file, or a data frame"):
        latens.read(3)


@pytest.mark.extras
def test_excel_without_its_reader_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "sheet.xlsx").write_bytes(b"PK")
    with pytest.raises(TableRefused, match=r"needs openpyxl: pip install 'latens\[table\]'. Or save the sheet as CSV"):
        latens.read(tmp_path / "sheet.xlsx")
