"""First-hour mistakes that a file brings: what is met, of which class, in which words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import latens
from latens.errors import AbsentColumns, LooksTransposed, MissingCodes, TableRefused, UnseenLevels
from latens.intake import encode_like

pytestmark = pytest.mark.extras


def people(n: int = 30, **more: Callable[[int], Any]) -> str:
    columns: dict[str, Callable[[int], Any]] = {
        "height": lambda i: 160 + i * 7 % 31,
        "weight": lambda i: 60 + i * 5 % 23,
    }
    columns |= more
    lines = [",".join(columns)] + [",".join(str(make(i)) for make in columns.values()) for i in range(n)]
    return "\n".join(lines)


def read(content: str, **options: Any) -> Callable[[Path], Any]:
    def act(folder: Path) -> Any:
        (folder / "x.csv").write_text(content)
        return latens.read(folder / "x.csv", **options)

    return act


def read_later(first: str, later: str) -> Callable[[Path], Any]:
    def act(folder: Path) -> Any:
        table = read(first)(folder)
        (folder / "new.csv").write_text(later)
        return encode_like(folder / "new.csv", table.encodings)

    return act


def fit_views(one: str, two: str) -> Callable[[Path], Any]:
    def act(folder: Path) -> Any:
        (folder / "one.csv").write_text(one)
        (folder / "two.csv").write_text(two)
        views = latens.read({"one": folder / "one.csv", "two": folder / "two.csv"}).views()
        return latens.MultiViewFactorAnalysis(1, random_state=0, max_iter=5).fit(views)

    return act


def told(content: str, column: str) -> Callable[[Path], Any]:
    """What the treatment of a column says, as a warning would."""

    def act(folder: Path) -> None:
        warnings.warn(dict(read(content)(folder).treated())[column], UserWarning, stacklevel=1)

    return act


GENES = "gene,s1,s2,s3\n" + "\n".join(f"ENSG{i:011d},{i}.5,{2 * i}.25,{3 * i}" for i in range(30))
LONG = "sample,feature,value\n" + "\n".join(f"s{i},f{j},{i * j + 0.5}" for i in range(5) for j in range(4))

MISTAKES = [
    ("2 a text column of many levels", told(people(90, town=lambda i: f"town {i % 40}"), "town"), UserWarning,
     ["dropped", "text with 40 levels", "--category town keeps it"]),
    ("3 a code for missing", read(people(100, lab=lambda i: -999 if i % 20 == 0 else 5 + i % 17 / 7)), MissingCodes,
     ["-999 in 'lab' taken as missing", "missing=[-999.0]", "missing='none'"]),
    ("4 a row counter", told(people(nr=lambda i: i), "nr"), UserWarning, ["row names", "counts the rows"]),
    ("5 features x samples", read(GENES), TableRefused, ["features x samples", "--transpose", "transpose=True"]),
    ("5 a long table", read(LONG), TableRefused, ["long table", "--format long", "format='long'"]),
    ("7 views without a row name in common",
     fit_views(people(name=lambda i: f"a{i}"), people(name=lambda i: f"b{i}").replace("height", "h")), ValueError,
     ["no row name in common", "'a0'", "'b0'"]),
    ("8 a view of features x samples",
     fit_views("id,p1,p2\n" + "\n".join(f"f{i},{i}.5,{i * i}" for i in range(9)),
               "id,p1,p2\n" + "\n".join(f"g{i},{i}.5,{i * i}" for i in range(9))), (ValueError, LooksTransposed),
     ["features x samples", "v.T"]),
    ("13 columns absent", read_later(people(), "weight\n70\n80\n"), AbsentColumns,
     ["1 column(s)", "taken as missing: 'height'"]),
    ("13 all columns absent", read_later(people(), "x,y\n1,2\n3,4\n"), TableRefused,
     ["none of the 2 columns", "'height', 'weight'", "there are 'x', 'y'"]),
    ("14 a new level", read_later(people(sex=lambda i: "mf"[i % 2]), people(3, sex=lambda i: "mfx"[i % 3])),
     UnseenLevels, ["column 'sex'", "1 value(s)", "taken as missing: 'x'", "Known are 'f', 'm'"]),
    ("20 a misspelt file", lambda folder: (read(people())(folder), latens.read(folder / "xx.csv")), FileNotFoundError,
     ["there is no file", "did you mean", "x.csv?"]),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "act", "kind", "words"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_is_met_by_its_class_and_words(
    mistake: str, act: Callable[[Path], Any], kind: type[Exception], words: list[str], tmp_path: Path
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act(tmp_path)
            met = [each.message for each in caught]
        except Exception as error:  # noqa: BLE001  whatever it is, it must be of the class in the table
            met = [error]
    messages = [str(one) for one in met if isinstance(one, kind)]
    assert any(all(word in message for word in words) for message in messages), (mistake, met)
    assert all("\n" not in message for message in messages)


def test_columns_in_another_order_are_no_mistake(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = read_later(people(), "weight,height\n70,180\n80,170\n")(tmp_path)["x"]
    assert encoded.matrix.tolist() == [[180.0, 70.0], [170.0, 80.0]]
