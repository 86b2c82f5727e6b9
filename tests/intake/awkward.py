"""Files as people send them, made from strings, each with the kind that every column should be found to be."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["FILES", "Awkward"]


@dataclass(frozen=True)
class Awkward:
    """A file, and what should be made of it."""

    name: str
    content: Callable[[], bytes]
    kinds: dict[str, str]  # by column
    row_names: str | None = None  # the column that names the rows
    notes: tuple[str, ...] = ()  # words that must be said of the file as a whole
    cells: dict[tuple[int, str], Any] = field(default_factory=dict)  # values that the frame must hold

    def __str__(self) -> str:
        return self.name


def text(words: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    return lambda: words.encode(encoding)


def rows(template: str, n: int) -> str:
    """Lines made from a template with {i}, {x}, {y} (numbers), {sex}, {city}."""
    rng = np.random.default_rng(0)
    cities = ["Oslo", "Rome", "Lima", "Kyiv"]
    return "".join(
        template.format(
            i=i, x=round(rng.normal(5, 2), 3), y=round(rng.normal(), 3), sex="mf"[i % 2], city=cities[i % 4]
        )
        + "\n"
        for i in range(n)
    )


def _european() -> str:
    return "Größe;Gewicht;Stadt\n" + rows("{x};{y};{city}", 30).replace(".", ",")


def _people() -> str:
    """A customer table: a counter, names, dates, ids, a constant, free text."""
    lines = ["id,name,joined,country,plan,active,spent,comment"]
    plans = ["free", "basic", "pro"]
    for i in range(40):
        lines.append(
            f"{i + 1},Person {i},2021-{i % 12 + 1:02d}-{i % 28 + 1:02d},NO,{plans[i % 3]},{'yes' if i % 4 else 'no'},"
            f'{13.5 * i % 97:.2f},"words {i % 33}, and more"'
        )
    return "\n".join(lines)


def _missing_marks() -> str:
    marks = ["", "NA", "N/A", "NaN", "null", "None", "?", "-", "--", ".", "#N/A", "n/a"]
    lines = ["a,b"]
    lines += [f"{i * 0.37:.2f},{marks[i % 12] if i % 2 else i * 1.5}" for i in range(48)]
    return "\n".join(lines)


def _sentinels() -> str:
    rng = np.random.default_rng(1)
    lines = ["weight,age,dose,answer"]
    for i in range(100):
        weight = -999 if i % 20 == 3 else round(rng.normal(70, 10), 1)
        age = 9999 if i % 25 == 4 else int(rng.integers(20, 80))
        lines.append(f"{weight},{age},{[0, 1, 100][i % 3]},{99 if i % 30 == 5 else 1 + i % 5}")
    return "\n".join(lines)


def _money() -> str:
    lines = ["price,share,sales,debt"]
    lines += [f'"$1,{200 + 7 * i}.50",{i % 17 + 0.5}%,"{1 + i},{100 + i},000","({i}.25)"' for i in range(30)]
    return "\n".join(lines)


def _quoted() -> str:
    lines = ["title,score,rank"]
    lines += [f'"part {i % 5},\nsecond line ""{i % 5}""",{0.1 * i * i:.2f},{i % 7 + 1}' for i in range(35)]
    return "\n".join(lines)


def _excel() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Results of the spring campaign"])
    sheet.append([])
    sheet.append(["plot", "yield", "treated"])
    sheet.append([None, "kg", None])
    for i in range(25):
        sheet.append([f"plot {i}", 3.5 + 0.21 * (i % 9), "yes" if i % 3 else "no"])
    book.create_sheet("other")
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _parquet() -> bytes:
    import pandas

    n = 30
    frame = pandas.DataFrame(
        {
            "size": pandas.Categorical([["S", "M", "L"][i % 3] for i in range(n)], ["S", "M", "L"], ordered=True),
            "ok": [bool(i % 2) for i in range(n)],
            "when": pandas.date_range("2020-01-01", periods=n),
            "whole": pandas.array([None if i % 10 == 0 else i * i for i in range(n)], dtype="Int64"),
            "real": np.linspace(0, 1, n),
        }
    )
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def _counts() -> str:
    rng = np.random.default_rng(2)
    visits, likert, pages = rng.poisson(0.8, 200), rng.integers(1, 8, 200), rng.integers(100, 900, 200)
    return "visits,likert,pages\n" + "\n".join(f"{a},{b},{c}" for a, b, c in zip(visits, likert, pages, strict=True))


def _strays() -> str:
    lines = [f"{20 + i % 60},{[' Yes', 'no ', 'NO', 'YES'][i % 4]}" for i in range(60)]
    return "\n".join(["age,smokes", *lines, "unknown,yes"])


FILES = (
    Awkward("plain.csv", text("a,b,c\n" + rows("{x},{y},{city}", 20)), {"a": "number", "b": "number", "c": "category"}),
    Awkward(
        "european.csv",
        lambda: _european().encode("cp1252"),
        {"Größe": "number", "Gewicht": "number", "Stadt": "category"},
        notes=("separator: semicolon", "decimal comma", "encoding: cp1252"),
        cells={(0, "Größe"): 5.251},
    ),
    Awkward("bom.csv", text("x,y\n" + rows("{x},{y}", 20), "utf-8-sig"), {"x": "number", "y": "number"}),
    Awkward(
        "utf16.txt",
        text("naïve\ty\n" + rows("{x}\t{y}", 20), "utf-16"),
        {"naïve": "number", "y": "number"},
        notes=("separator: tab", "encoding: utf-16"),
    ),
    Awkward(
        "comments.csv",
        text("# made by a machine\n# in March\n\nx,y\n" + rows("{x},{y}", 10) + "# half time\n" + rows("{x},{y}", 10)),
        {"x": "number", "y": "number"},
        notes=("2 line(s) of comment skipped",),
        cells={(19, "x"): 5.823},
    ),
    Awkward(
        "comment_header.tsv",
        text("##format=4\n#POS\tQUAL\n" + rows("1{i}\t{x}", 20)),
        {"POS": "number", "QUAL": "number"},
        notes=("taken as the header",),
    ),
    Awkward(
        "from_r.txt",
        text('"len" "dose"\n' + rows('"r{i}" {x} {y}', 15)),
        {"row": "id", "len": "number", "dose": "number"},
        row_names="row",
        notes=("separator: blanks",),
    ),
    Awkward(
        "fixed_width.dat",
        text("  mass    speed\n" + rows("{x:8}  {y:8}", 20)),
        {"mass": "number", "speed": "number"},
    ),
    Awkward(
        "iris.data",
        text(rows("{x},{y},Iris-{city}", 24)),
        {"x0": "number", "x1": "number", "x2": "category"},
        notes=("no header",),
    ),
    Awkward(
        "units.csv",
        text("length,mass,sex\ncm,kg,\n" + rows("{x},{y},{sex}", 20)),
        {"length": "number", "mass": "number", "sex": "binary"},
        notes=("units",),
    ),
    Awkward("missing.csv", text(_missing_marks()), {"a": "number", "b": "number"}, cells={(1, "b"): None}),
    Awkward(
        "sentinels.csv",
        text(_sentinels()),
        {"weight": "number", "age": "number", "dose": "number", "answer": "scale"},
        cells={(3, "weight"): None, (4, "age"): None, (2, "dose"): 100.0, (5, "answer"): None},
    ),
    Awkward(
        "money.csv",
        text(_money()),
        {"price": "number", "share": "number", "sales": "number", "debt": "number"},
        cells={(1, "price"): 1207.5, (2, "share"): 2.5, (3, "sales"): 4103000.0, (4, "debt"): -4.25},
    ),
    Awkward(
        "quoted.csv",
        text(_quoted()),
        {"title": "category", "score": "number", "rank": "scale"},
        cells={(1, "title"): 'part 1,\nsecond line "1"'},
    ),
    Awkward(
        "twice.csv",
        text("x,x,,x\n" + rows("{x},{y},{sex},{i}.5", 20)),
        {"x": "number", "x (2)": "number", "column 3": "binary", "x (3)": "number"},
        notes=("made unique",),
    ),
    Awkward(
        "people.csv",
        text(_people()),
        {
            "id": "counter",
            "name": "id",
            "joined": "date",
            "country": "constant",
            "plan": "category",
            "active": "binary",
            "spent": "number",
            "comment": "text",
        },
        row_names="id",
    ),
    Awkward(
        "titles.csv",
        text("Sales of 2020,,\n,,\nshop,sold,returned\n" + rows("shop {i},{x},{y}", 20)),
        {"shop": "id", "sold": "number", "returned": "number"},
        row_names="shop",
        notes=("title line",),
    ),
    Awkward(
        "quoted_header.csv",
        text('"142.2","144.8"\n' + rows("{x},{y}", 12)),
        {"142.2": "number", "144.8": "number"},
    ),
    Awkward(
        "long_header.csv",
        text("a,b,c,4\n" + rows("{x},{y}", 12)),
        {"a": "number", "b": "number", "c": "empty", "4": "empty"},
    ),
    Awkward(
        "nameless.csv",
        text('"","x"\n' + rows('"{i}",{x}', 12)),
        {"row": "counter", "x": "number"},
        row_names="row",
    ),
    Awkward(
        "sheet.xlsx",
        _excel,
        {"plot": "id", "yield": "number", "treated": "binary"},
        row_names="plot",
        notes=("sheet 'Sheet' of 2", "units", "title line"),
    ),
    Awkward(
        "typed.parquet",
        _parquet,
        {"size": "category", "ok": "binary", "when": "date", "whole": "number", "real": "number"},
        row_names="when",
        cells={(0, "whole"): None, (3, "whole"): 9.0, (1, "size"): "M"},
    ),
    Awkward(
        "trailing.csv",
        text("a,b,\n" + rows("{x},{y},", 20)),
        {"a": "number", "b": "number"},
    ),
    Awkward(
        "numbered.csv",
        text(",0,1,2\n" + rows("{i},{x},{y},{i}.25", 20)),
        {"row": "counter", "0": "number", "1": "number", "2": "number"},
        row_names="row",
    ),
    Awkward(
        "years.csv",
        text("country,2019,2020\n" + rows("land {i},{x},{y}", 20)),
        {"country": "id", "2019": "number", "2020": "number"},
        row_names="country",
    ),
    Awkward(
        "postal.csv",
        text("zip,rent\n" + rows("0{i}12,{x}", 30)),
        {"zip": "id", "rent": "number"},
        row_names="zip",
    ),
    Awkward(
        "old_mac.csv",
        lambda: ("a|b|c\n" + rows("{x}|{y}|{sex}", 20)).replace("\n", "\r").encode(),
        {"a": "number", "b": "number", "c": "binary"},
        notes=("separator: bar",),
    ),
    Awkward(
        "windows.csv.gz",
        lambda: gzip.compress(("a;b\n" + rows("{x};{y}", 20)).replace("\n", "\r\n").encode()),
        {"a": "number", "b": "number"},
    ),
    Awkward("one_column.txt", text("depth\n" + rows("{x}", 20)), {"depth": "number"}),
    Awkward("strays.csv", text(_strays()), {"age": "number", "smokes": "binary"}, cells={(60, "age"): None}),
    Awkward("counts.csv", text(_counts()), {"visits": "count", "likert": "scale", "pages": "number"}),
    Awkward(
        "spaced.csv",
        text("a, b, c\n" + rows("{x}, {y}, {city}", 20)),
        {"a": "number", "b": "number", "c": "category"},
        cells={(1, "c"): "Rome"},
    ),
    Awkward(
        "short_lines.csv",
        text("a,b,c\n" + rows("{x},{y},{i}", 19) + "1.0,2.0\n"),
        {"a": "number", "b": "number", "c": "number"},
        cells={(19, "c"): None},
    ),
)
