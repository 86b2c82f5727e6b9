"""What is read from each kind of file, what later files are read with, and what needs no pandas."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse, random_array, save_npz

import latens
from latens.errors import AbsentColumns, RowOfSums, TableRefused, UnseenLevels
from latens.intake import Column, Encoding, RawTable, encode_like
from latens.intake.encoding import encodings_from_text, encodings_to_text
from latens.intake.treatment import Choices, treat

PEOPLE = "name,age,smokes,plan\n" + "".join(
    f"p{i},{20 + (i * 7) % 50}.5,{'yes' if i % 3 else 'no'},{['free', 'pro', 'team'][i % 3]}\n" for i in range(30)
)


@pytest.fixture
def no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def texts(*values: str | None) -> np.ndarray:
    return np.array(values, dtype=object)


@pytest.mark.usefixtures("no_pandas")
class TestWithoutPandas:
    def test_a_file_of_numbers_with_a_header_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "n.csv").write_text("a;b\n1,5;2\nNA;3\n2,25;5\n")
        table = latens.read(tmp_path / "n.csv")
        np.testing.assert_array_equal(table.matrix(), [[1.5, 2], [np.nan, 3], [2.25, 5]])
        assert table.encoded().names == ("a", "b")
        with pytest.raises(ImportError, match=r"needs pandas: pip install 'latens\[table\]'"):
            _ = table.frame

    def test_text_is_refused_with_the_remedy(self, people: Path) -> None:
        with pytest.raises(TableRefused, match=r"column 'name' .* 'p0'; reading it needs pandas: pip install"):
            latens.read(people)

    def test_arrays_are_read(self, tmp_path: Path) -> None:
        X = np.random.default_rng(0).normal(size=(20, 3))
        np.save(tmp_path / "x.npy", X)
        np.savez(tmp_path / "x.npz", X=X, y=np.arange(20))
        for name in ("x.npy", "x.npz"):
            np.testing.assert_array_equal(latens.read(tmp_path / name).matrix(), X)
        np.savez(tmp_path / "two.npz", rna=X, mut=(X[:, :2] > 0).astype(float))
        views = latens.read(tmp_path / "two.npz").views()
        assert {name: view.shape for name, view in views.items()} == {"rna": (20, 3), "mut": (20, 2)}

    def test_sparse_files_stay_sparse(self, tmp_path: Path) -> None:
        from scipy.io import mmwrite

        X = random_array((50, 8), density=0.2, rng=np.random.default_rng(0), format="csr")
        X.data[:] = 1
        save_npz(tmp_path / "x.npz", X)
        mmwrite(tmp_path / "x.mtx", X)
        for name in ("x.npz", "x.mtx"):
            table = latens.read(tmp_path / name)
            assert issparse(table.matrix())
            np.testing.assert_array_equal(table.matrix().toarray(), X.toarray())
            assert set(table.columns["kind"]) == {"binary"}

    def test_lists_of_items_are_rows_of_ones(self, tmp_path: Path) -> None:
        (tmp_path / "baskets.txt").write_text("milk,bread\nmilk\neggs,milk,beer,bread\nbeer\nbread,eggs,milk\n")
        table = latens.read(tmp_path / "baskets.txt")
        assert table.matrix().shape == (5, 4)
        assert table.encoded().names == ("milk", "bread", "eggs", "beer")
        (tmp_path / "new.txt").write_text("beer,wine\nmilk\n")
        new = encode_like(tmp_path / "new.txt", table.encodings)["x"]
        np.testing.assert_array_equal(new.matrix.toarray(), [[0, 0, 0, 1], [1, 0, 0, 0]])

    def test_names_as_10x_writes_them_show_that_rows_are_features(self, tmp_path: Path) -> None:
        from scipy.io import mmwrite
        from scipy.sparse import csr_array

        mmwrite(tmp_path / "matrix.mtx", csr_array(np.eye(5, 3) + 1))
        (tmp_path / "features.tsv").write_text("".join(f"ENSG{j:011d}\tG{j}\tGene\n" for j in range(5)))
        (tmp_path / "barcodes.tsv").write_text("AAC-1\nAAG-1\nAAT-1\n")
        table = latens.read(tmp_path / "matrix.mtx", transpose=True)
        assert table.encoded().names == ("G0", "G1", "G2", "G3", "G4")
        assert table.encoded().row_names == ("AAC-1", "AAG-1", "AAT-1")


def test_levels_columns_and_row_names_are_those_of_the_fit_in_any_order() -> None:
    encoding = Encoding(
        (
            Column("age", "number", codes=(-999.0,)),
            Column("smokes", "binary", levels=("no", "yes")),
            Column("plan", "category", levels=("free", "pro", "team")),
        ),
        "name",
    )
    raw = RawTable(
        ("PLAN", "name", "smokes", "age"),
        (texts("pro", "gold", None), texts("a", "b", "a"), texts("Yes", "no", "maybe"), np.array([30.0, -999.0, 40.0])),
    )
    with pytest.warns(UnseenLevels, match=r"1 value\(s\) that were not there at the fit") as caught:
        encoded = encoding.encode(raw)
    assert sorted(str(each.message).split()[1] for each in caught) == ["'plan'", "'smokes'"]
    expected = [[30, 1, 0, 1, 0], [np.nan, 0, np.nan, np.nan, np.nan], [40, np.nan, np.nan, np.nan, np.nan]]
    np.testing.assert_array_equal(encoded.matrix, expected)
    assert encoded.names == ("age", "smokes", "plan = free", "plan = pro", "plan = team")
    assert encoded.row_names == ("a", "b", "a (2)")
    two = Encoding((Column("dose", "binary", levels=("0.5", "1")),))
    np.testing.assert_array_equal(two.encode(RawTable(("dose",), (texts("0.50", "1.0"),))).matrix, [[0], [1]])


def test_an_absent_column_is_missing_and_said_and_none_of_them_is_refused() -> None:
    encoding = Encoding((Column("age", "number"), Column("height", "number")))
    with pytest.warns(AbsentColumns, match=r"1 column\(s\) .* taken as missing: 'height'"):
        encoded = encoding.encode(RawTable(("age", "other"), (np.ones(2), np.ones(2))))
    np.testing.assert_array_equal(encoded.matrix, [[1, np.nan], [1, np.nan]])
    with pytest.raises(TableRefused, match="none of the 2 columns of the model is in this table: it wants 'age'"):
        encoding.encode(RawTable(("other",), (np.ones(2),)))


def test_a_column_of_decimal_commas_among_points_is_numbers() -> None:
    raw = RawTable(
        ("acid", "price", "answers"),
        (
            texts("1,71", "12,5", None, "3", "1,234"),
            texts("1,234", "5,678", "2,000", "3,100", "7,250"),
            texts("1,3", "2", "1,2", "1,3", "2"),
        ),
    )
    columns, values = treat(raw, Choices())
    assert [column.kind for column in columns] == ["number", "number", "category"]
    assert (columns[0].decimal, columns[0].note, columns[1].decimal) == (",", "decimal comma", ".")
    np.testing.assert_array_equal(values[0], [1.71, 12.5, np.nan, 3, 1.234])
    np.testing.assert_array_equal(values[1], [1234, 5678, 2000, 3100, 7250])
    again = Encoding(columns[:1]).encode(RawTable(("acid",), (texts("0,5", None),)))
    np.testing.assert_array_equal(again.matrix, [[0.5], [np.nan]])


@pytest.mark.extras
def test_single_quotes_around_all_names_are_no_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "quoted.csv").write_text("'age'\t'height'\n" + "".join(f"{i}\t{i * i + 0.5}\n" for i in range(12)))
    assert [name for name, *_ in latens.read(tmp_path / "quoted.csv").columns.rows] == ["age", "height"]


@pytest.mark.extras
def test_a_last_row_of_sums_is_told(tmp_path: Path) -> None:
    rows = [(f"shop {i}", i % 7 + 1, round(12.35 * i + 1, 2)) for i in range(30)]
    lines = ["name,visits,sales", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "plain.csv").write_text("\n".join(lines))
    total = f"Total,{sum(row[1] for row in rows)},{sum(row[2] for row in rows):.2f}"
    (tmp_path / "sums.csv").write_text("\n".join([*lines, total]))
    with pytest.warns(RowOfSums, match="last row is the sum of the others in 2 of 2 columns of numbers"):
        latens.read(tmp_path / "sums.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowOfSums)
        latens.read(tmp_path / "plain.csv")


@pytest.mark.extras
@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("Person,,Pay,\nname,town,net amount in euros,gross", ["name", "town", "net amount in euros", "gross"]),
        ("who,town,Pay,Pay\n,,mean,sd", ["who", "town", "mean", "sd"]),
        ("who,Pay,Tax,Tax\n,mean,mean,sd", ["who", "Pay mean", "Tax mean", "sd"]),
    ],
)
def test_names_of_groups_above_names_of_columns_are_no_row(header: str, names: list[str], tmp_path: Path) -> None:
    is_town = "town" in header
    rows = [
        f"p{i},{('Oslo', 'Rome', 'Lima')[i % 3] if is_town else i + 0.5},{1.5 * i},{i % 5 + 0.25}" for i in range(30)
    ]
    (tmp_path / "grouped.csv").write_text("\n".join([header, *rows]))
    table = latens.read(tmp_path / "grouped.csv")
    assert table.n_rows == 30
    assert [row[0] for row in table.columns.rows] == names
    assert "the first two lines are taken as the header" in table.notes
    assert sum(table.n_missing().values()) == 0


@pytest.mark.extras
def test_a_table_of_counts_is_told_that_they_may_be_weights(tmp_path: Path) -> None:
    levels = [(town, sex) for town in ("Oslo", "Rome", "Lima", "Kyiv") for sex in ("m", "f")]
    lines = [f"{town},{sex},{3 * i % 7}" for i, (town, sex) in enumerate(levels)]
    hint = "may say how often a row occurs, as all others differ; if so, --weights n"
    for more, is_told in (([], True), (["Oslo,m,4"], False)):  # a second row of the same levels is an observation
        (tmp_path / "counts.csv").write_text("\n".join(["town,sex,n", *lines, *more]))
        notes = {name: note for name, _, _, _, note in latens.read(tmp_path / "counts.csv").columns.rows}
        assert (hint in notes["n"]) == is_told
    assert hint not in str(latens.read(tmp_path / "counts.csv", weights="n").columns)


@pytest.mark.extras
def test_boxes_that_are_ticked_or_empty_are_yes_or_no_also_in_new_rows(tmp_path: Path) -> None:
    ticks = np.random.default_rng(0).random((30, 4)) < 0.4
    marks = ("x", "x", "1", "TV")
    lines = [",".join(mark if on else "" for mark, on in zip(marks, row, strict=True)) + ",7" for row in ticks]
    lines[3] += ".5"
    (tmp_path / "boxes.csv").write_text("\n".join(["tea,jam,one,seen,n", *lines]))
    table = latens.read(tmp_path / "boxes.csv", category=["one", "seen"])
    np.testing.assert_array_equal(table.matrix()[:, :4], ticks)
    assert table.frame["seen"].tolist() == ["TV" if on else "no" for on in ticks[:, 3]]
    assert ("tea", "binary", "kept", 0, "1 = x, 0 = an empty cell") in table.columns.rows
    (tmp_path / "new.csv").write_text("jam,seen,one,tea\n,TV,1,x\n,,,\n")
    again = encodings_from_text(encodings_to_text(table.encodings))
    new = encode_like(tmp_path / "new.csv", again)["x"].matrix
    np.testing.assert_array_equal(new[0, :4], [1, 0, 1, 1])
    alone = {name: note for name, _, _, _, note in latens.read(tmp_path / "boxes.csv").columns.rows}
    assert alone["seen"] == "always 'TV', or empty; --category seen takes empty cells as no"
    assert alone["one"] == "always 1, or empty; --category one takes empty cells as no"


@pytest.mark.extras
def test_phrases_that_recur_on_lines_of_their_own_are_levels_and_no_lists(tmp_path: Path) -> None:
    (tmp_path / "segments.csv").write_text("segment\n" + "key account\nretail\nsmall business\nretail\n" * 6)
    table = latens.read(tmp_path / "segments.csv")
    assert [(name, kind) for name, kind, *_ in table.columns.rows] == [("segment", "category")]


def test_an_encoding_is_plain_data_and_comes_back_the_same() -> None:
    encoding = Encoding(
        (
            Column("a", "number", codes=(-9.0,), log1p=True, decimal=","),
            Column("b", "category", levels=("x", "y", "z")),
        ),
        "id",
        "long",
        True,
        ("refused",),
    )
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.pop("columns"),
        lambda content: content.update(version=2),
        lambda content: content.update(row_names=3),
        lambda content: content.update(missing="refused"),
        lambda content: content.update(missing=[3]),
        lambda content: content["columns"][0].update(kind="code"),
        lambda content: content["columns"][0].update(run="this"),
        lambda content: content["columns"][0].update(levels=[1]),
        lambda content: content["columns"][0].update(codes=["x"]),
        lambda content: content["columns"][0].update(decimal="!"),
        lambda content: content["columns"].append(content["columns"][0]),
    ],
)
def test_a_spoilt_encoding_is_refused(spoil: object) -> None:
    content = Encoding((Column("a", "number"),)).to_json()
    spoil(content)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"encoding|column|level|code|decimal"):
        Encoding.from_json(content)


def test_codes_for_missing_are_told_and_can_be_kept() -> None:
    values = np.r_[np.random.default_rng(0).normal(50, 10, 97).round(2), [-999.0] * 3]
    raw = RawTable(("w",), (values,))
    (column,), (cleaned,) = treat(raw, Choices())
    assert column.codes == (-999.0,)
    assert "-999 taken as missing, 3 times (--missing none keeps it)" in column.note
    assert np.isnan(cleaned).sum() == column.n_missing == 3
    (column,), (cleaned,) = treat(raw, Choices(missing=()))
    assert column.codes == ()
    assert not np.isnan(cleaned).any()
    (column,), _ = treat(raw, Choices(missing=(values[0],)))
    assert column.codes == (values[0],)
    assert column.note == f"{values[0]:g} taken as missing, once"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (np.r_[np.linspace(1950, 2020, 95), [0.0] * 5], 0.0),
        (np.r_[np.random.default_rng(0).lognormal(10, 1, 97), [-99.0] * 3], -99.0),
        (np.r_[np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 19), [98.0] * 3, [99.0] * 2], 99.0),
        (np.r_[np.random.default_rng(0).normal(20, 3, 90).round(1), [850.0] * 10], 850.0),
    ],
)
def test_far_values_that_are_repeated_are_codes_for_missing(values: np.ndarray, code: float) -> None:
    (column,), _ = treat(RawTable(("v",), (values,)), Choices())
    assert code in column.codes


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.zeros(90), np.arange(1, 9), [40, 40]],  # counts with a long tail
        np.repeat([0.0, 1.0, 100.0], 20),  # doses
        np.r_[np.random.default_rng(0).standard_cauchy(300)],
        np.r_[np.random.default_rng(0).normal(size=99), 1e6],  # one outlier, not repeated
        np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20),
        np.r_[np.geomspace(1e-9, 0.005, 90), [0.01] * 10],  # a tail that ends in a repeated value
        np.r_[np.linspace(0, 0.2, 30), [1.0] * 5],  # 0 and 1 with a few shares between
        np.r_[np.linspace(3, 9, 40), [5000.0] * 60],  # most of the column
    ],
)
def test_honest_values_are_no_codes_for_missing(values: np.ndarray) -> None:
    (column,), _ = treat(RawTable(("v",), (values,)), Choices())
    assert column.codes == ()


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (np.tile([1.0, 2.0], 10), "binary", ("1", "2")),
        (np.tile([0.0, 1.0, 2.0], 10), "scale", ()),  # labels, no counts
        (np.r_[np.zeros(20), np.ones(12), [2.0] * 6, [3.0, 5.0]], "count", ()),
        (np.tile([0.25, 0.75], 10), "binary", ("0.25", "0.75")),
        (np.array([0.25, 0.75, np.nan]), "number", ()),
        (np.arange(1990.0, 2020.0), "number", ()),  # years in a row
        (np.arange(30.0), "counter", ()),
        (np.full(9, 4.0), "constant", ()),
        (np.full(9, np.nan), "empty", ()),
    ],
)
def test_kinds_of_numbers(values: np.ndarray, kind: str, levels: tuple[str, ...]) -> None:
    (column,), _ = treat(RawTable(("v",), (values,)), Choices())
    assert (column.kind, column.levels) == (kind, levels)


def test_none_is_missing_among_numbers_and_a_level_among_words() -> None:
    words = RawTable(("airbags",), (texts(*["driver", "None", "both"] * 5),))
    (column,), _ = treat(words, Choices())
    assert (column.kind, column.levels) == ("category", ("None", "both", "driver"))
    np.testing.assert_array_equal(Encoding((column,)).encode(words).matrix[:2], [[0, 0, 1], [1, 0, 0]])
    numbers = RawTable(("n",), (texts(*["1.5", "None", "2.25", "none"] * 9),))
    (column,), (values,) = treat(numbers, Choices())
    assert column.n_missing == 18
    np.testing.assert_array_equal(values[:4], [1.5, np.nan, 2.25, np.nan])
    np.testing.assert_array_equal(np.isnan(Encoding((column,)).encode(numbers).matrix[:4, 0]), [0, 1, 0, 1])


@pytest.mark.extras
def test_choices_of_the_caller_go_before_the_rules(people: Path) -> None:
    table = latens.read(people, category=["name"], target="age", drop=["plan"], columns=None)
    role = dict(zip(table.columns["column"], table.columns["treatment"], strict=True))
    assert role == {"name": "kept", "age": "target", "smokes": "kept", "plan": "dropped"}
    np.testing.assert_array_equal(table.aside("target")[:3], [20.5, 27.5, 34.5])
    only = latens.read(people, columns=["age"], log1p=["age"])
    np.testing.assert_allclose(only.matrix()[:, 0], np.log1p([20.5 + (i * 7) % 50 for i in range(30)]))
    assert only.encoded().row_names is None


@pytest.mark.extras
def test_a_new_frame_and_a_new_file_are_read_as_the_first_was(people: Path, tmp_path: Path) -> None:
    import pandas

    table = latens.read(people)
    assert table.sentence() == ("30 rows; 4 columns: 1 number, 1 yes/no, 1 category; row names: name")
    assert ("smokes", "1 = yes, 0 = no") in table.treated()
    frame = pandas.read_csv(people)
    np.testing.assert_array_equal(table.encode(frame).matrix, table.matrix())
    np.testing.assert_array_equal(table.encode(table.frame).matrix, table.matrix())
    frame.iloc[::-1, ::-1].to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    new = encode_like(tmp_path / "new.tsv", table.encodings)["x"]
    np.testing.assert_array_equal(new.matrix, table.matrix()[::-1])
    assert new.row_names[:2] == ("p29", "p28")
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(table.encode(polars.from_pandas(frame)).matrix, table.matrix())


@pytest.mark.extras
def test_views_are_by_kind_and_fit(people: Path) -> None:
    views = latens.read(people).views()
    assert {name: list(view.columns) for name, view in views.items()} == {
        "numbers": ["age"],
        "yes_no": ["smokes"],
        "categories": ["plan = free", "plan = pro", "plan = team"],
    }
    assert list(views["numbers"].index[:2]) == ["p0", "p1"]


@pytest.mark.extras
def test_a_long_table_is_laid_out_by_view(tmp_path: Path) -> None:
    lines = ["sample,feature,view,value"]
    lines += [f"s{i},g{j},rna,{i + j / 10}" for i in range(4) for j in range(3)]
    lines += [f"s{i},m{j},mut,{i * j % 2}" for i in range(1, 4) for j in range(1, 3)]
    (tmp_path / "long.csv").write_text("\n".join(lines))
    views = latens.read(tmp_path / "long.csv", format="long").views()
    assert list(views) == ["rna", "mut"]
    assert views["rna"].loc["s2"].tolist() == [2.0, 2.1, 2.2]
    assert list(views["mut"].index) == ["s1", "s2", "s3"]


@pytest.mark.extras
def test_edges_are_a_matrix_of_sources_by_targets(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("from,to\na,b\nb,c\na,c\n")
    table = latens.read(tmp_path / "edges.csv", format="edges")
    np.testing.assert_array_equal(table.matrix().toarray(), [[1, 1], [0, 1]])
    assert table.encoded().row_names == ("a", "b")


@pytest.mark.extras
def test_features_in_rows_are_transposed_when_asked(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(
        "gene,s1,s2,s3,s4\n" + "".join(f"ENSG{i:011d},{i},1.5,{i * i},0.1\n" for i in range(9))
    )
    table = latens.read(tmp_path / "g.csv", transpose=True)
    assert table.encoded().row_names == ("s1", "s2", "s3", "s4")
    assert table.columns["column"][0] == "ENSG00000000000"
    again = encode_like(tmp_path / "g.csv", table.encodings)["x"]
    np.testing.assert_array_equal(again.matrix, table.matrix())


@pytest.mark.extras
def test_annotated_files_are_read(tmp_path: Path) -> None:
    import anndata
    import mudata
    import pandas

    rng = np.random.default_rng(0)
    plain = pandas.option_context("mode.string_storage", "python")  # what this anndata can write
    with plain, anndata.settings.override(allow_write_nullable_strings=True):
        names = [f"c{i}" for i in range(12)]
        obs = pandas.DataFrame({"batch": pandas.Categorical(["a", "b"] * 6), "depth": np.arange(12.0)}, index=names)
        rna = anndata.AnnData(rng.normal(size=(12, 3)), obs, pandas.DataFrame(index=["a", "b", "c"]))
        mut = anndata.AnnData(
            (rng.normal(size=(12, 2)) > 0).astype(float), obs[["batch"]], pandas.DataFrame(index=["d", "e"])
        )
        rna.write_h5ad(tmp_path / "x.h5ad")
        mudata.MuData({"rna": rna, "mut": mut}).write(tmp_path / "x.h5mu")
    table = latens.read(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(table.matrix(), rna.X)
    assert table.encoded().row_names[0] == "c0"
    for known in (table.known(), latens.read(tmp_path / "x.h5mu").known()):
        assert {name: list(known[name]) for name in known} == {name: list(obs[name]) for name in obs}
        assert list(known.index) == names
    views = latens.read(tmp_path / "x.h5mu").views()
    assert {name: view.shape for name, view in views.items()} == {"rna": (12, 3), "mut": (12, 2)}
    with pytest.raises(TableRefused, match=r"several tables \(rna, mut\); take views\(\)"):
        latens.read(tmp_path / "x.h5mu").matrix()


@pytest.mark.extras
def test_several_files_are_views_of_the_same_rows(people: Path, tmp_path: Path) -> None:
    (tmp_path / "rna.csv").write_text("name,g1,g2\n" + "".join(f"p{i},{i}.25,{i * i}.5\n" for i in range(30)))
    table = latens.read({"rna": tmp_path / "rna.csv", "clinic": people}, drop=["plan"])
    assert list(table.views()) == ["rna", "clinic numbers", "clinic yes_no"]
    assert table.columns.columns[0] == "view"
    again = encode_like({"clinic": people}, table.encodings)
    np.testing.assert_array_equal(again["clinic"].matrix, table.parts["clinic"].encoded().matrix)
    with pytest.raises(TableRefused, match="the model has no view 'protein'; it has 'rna', 'clinic'"):
        encode_like({"protein": people}, table.encodings)


@pytest.mark.extras
def test_names_of_columns_of_several_files_may_say_which_and_must_be_there(tmp_path: Path) -> None:
    for view in ("rna", "mut"):
        rows = (f"p{i},{i * i % 13}.5,{i * 7 % 11}.25\n" for i in range(30))
        (tmp_path / f"{view}.csv").write_text("name,tp53,kras\n" + "".join(rows))
    files = {view: tmp_path / f"{view}.csv" for view in ("rna", "mut")}
    table = latens.read(files, drop=["mut: tp53"], log1p=["rna"])
    assert {view: list(frame.columns) for view, frame in table.views().items()} == {
        "rna": ["tp53", "kras"],
        "mut": ["kras"],
    }
    plain = latens.read(files).views()
    np.testing.assert_allclose(table.views()["rna"], np.log1p(plain["rna"]))
    np.testing.assert_array_equal(table.views()["mut"], plain["mut"][["kras"]])
    with pytest.raises(TableRefused, match="there is no column 'tp35' in 'rna', 'mut'; did you mean 'tp53'"):
        latens.read(files, drop=["tp35"])


@pytest.mark.extras
def test_what_is_left_out_by_name_is_known_of_the_rows(people: Path) -> None:
    assert latens.read(people).known() is None
    known = latens.read(people, drop=["plan"]).known()
    assert list(known.columns) == ["plan"]
    assert list(known.index) == list(latens.read(people).frame.index)


def test_columns_of_zeros_that_a_fit_left_out_are_not_new(tmp_path: Path) -> None:
    from scipy.io import mmwrite

    X = np.zeros((8, 4))
    X[::2, 0] = X[::3, 2] = 1.0
    mmwrite(tmp_path / "x.mtx", csr_array(X))
    table = latens.read(tmp_path / "x.mtx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.encoded().names == ("x0", "x2")
        (encoding,) = encodings_from_text(encodings_to_text(table.encodings)).values()
        encode_like(tmp_path / "x.mtx", {"x": encoding})
    mmwrite(tmp_path / "more.mtx", csr_array(np.hstack([X, X])))
    with pytest.warns(UnseenLevels, match=r"4 column\(s\) of this table were not there at the fit"):
        encode_like(tmp_path / "more.mtx", {"x": encoding})


@pytest.mark.extras
@pytest.mark.parametrize(
    ("header", "names"), [(",name,height", "name"), ("id,name,height", "id"), (",comment,height", "row")]
)
def test_a_nameless_counter_gives_way_to_names(tmp_path: Path, header: str, names: str) -> None:
    word = "a remark of many more letters than a name has" if "comment" in header else "Ann"
    path = tmp_path / "people.csv"
    path.write_text("\n".join([header, *(f"{i + 1},{word} {i},{160 + i * 7 % 31}" for i in range(20))]))
    table = latens.read(path)
    roles = {row[0]: row[2] for row in table.columns.rows}
    assert roles[names] == "row names"
    assert sorted(roles.values()) == ["dropped", "kept", "row names"]


@pytest.mark.extras
def test_columns_that_may_lack_values_by_their_type_are_read(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame(
        {
            "ok": pandas.array([True, None, False] * 10, dtype="boolean"),
            "town": pandas.array(["Oslo", "Rome", None] * 10, dtype="string"),
            "dose": pandas.array([1, None, 7] * 10, dtype="Int64"),
            "loose": pandas.Series([1.5, pandas.NA, 3] * 10, dtype=object),
            "level": pandas.Categorical(["low", None, "high"] * 10, ["low", "high"]),
            "when": pandas.Series([pandas.NaT, *pandas.date_range("2024-01-01", periods=29)[::-1]]),
        }
    )
    table = latens.read(frame)
    assert {row[0]: (row[1], row[3]) for row in table.columns.rows} == {
        "ok": ("binary", 10), "town": ("binary", 10), "dose": ("binary", 10), "loose": ("binary", 10),
        "level": ("binary", 10), "when": ("date", 1),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.LatentClassAnalysis(2, random_state=0).fit(frame)
        assert model.impute(frame)["ok"].isna().sum() == 0


@pytest.mark.extras
def test_a_word_for_which_numbers_are_levels_is_told(tmp_path: Path) -> None:
    answers = [str(1 + i % 5) if i % 10 else "refused" for i in range(100)]
    (tmp_path / "q.csv").write_text("q3,x\n" + "".join(f"{each},{i * 7 % 31}.5\n" for i, each in enumerate(answers)))
    (part,) = latens.read(tmp_path / "q.csv").parts.values()
    assert part.columns[0].note.startswith("6 levels: 1, 2, 3, ..., refused")
