"""`latens.scan`: every format gives the same blocks of numbers, and refuses what it cannot read."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.scale.scan import Scan

X = np.random.default_rng(0).normal(size=(257, 5))
X[3, 1] = np.nan
NAMES = [f"c{j}" for j in range(5)]


def rows_of(scan: Scan) -> np.ndarray:
    return np.concatenate(list(scan))


def test_npy_in_blocks(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    scan = latens.scan(tmp_path / "x.npy", block_rows=100)
    assert [len(block) for block in scan] == [100, 100, 57]
    np.testing.assert_array_equal(rows_of(scan), X)
    np.testing.assert_array_equal(rows_of(scan), X)  # as often as asked for


def test_columns_by_number_and_a_column_of_weights() -> None:
    scan = latens.scan(np.abs(X), columns=[4, 0], weights=2, block_rows=64)
    np.testing.assert_array_equal(rows_of(scan), np.abs(X)[:, [4, 0]])
    parts, total = scan.source().over(lambda rows, _: (rows.weight, rows.n))
    np.testing.assert_array_equal(np.concatenate(parts), np.abs(X)[:, 2])
    assert total == pytest.approx(np.abs(X)[:, 2].sum())


def test_a_function_that_returns_an_iterator_is_begun_anew_each_time() -> None:
    scan = latens.scan(lambda: (X[at : at + 50] for at in range(0, 257, 50)))
    np.testing.assert_array_equal(rows_of(scan), X)
    np.testing.assert_array_equal(rows_of(scan), X)
    np.testing.assert_array_equal(scan.block(4).numbers, X[200:250])


def test_an_iterator_that_runs_dry_is_refused() -> None:
    left = iter([X])
    with pytest.raises(ValueError, match="a new iterator at every call"):
        latens.scan(lambda: left)


def test_a_file_that_changes_under_a_scan_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    scan = latens.scan(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", X[:100])
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        rows_of(scan)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda folder: latens.scan(folder / "absent.npy"), "there is no file"),
        (lambda folder: latens.scan(X, columns=[9]), "of the data's"),
        (lambda folder: latens.scan(X, target=7), "target=7 is no column"),
        (lambda folder: latens.scan(X, block_rows=0), "block_rows=0"),
        (lambda folder: latens.scan(X[:, :0]), "columns"),
        (lambda folder: latens.scan(X[:0]), "holds no rows"),
        (lambda folder: latens.scan(lambda: iter([])), "has no block"),
    ],
)
def test_what_cannot_be_scanned_says_so(wrong, words: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        wrong(tmp_path)


def test_an_object_that_is_no_data_is_refused_with_what_is() -> None:
    with pytest.raises(TypeError, match="a float cannot be scanned; give a path"):
        latens.scan(3.0)


@pytest.mark.extras
class TestParquet:
    def write(self, path: Any, values: np.ndarray, **options: object) -> None:
        import pyarrow
        import pyarrow.parquet

        columns = {name: values[:, j] for j, name in enumerate(NAMES)}
        pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)

    def test_row_groups_and_blocks(self, tmp_path: Path) -> None:
        self.write(tmp_path / "x.parquet", X, row_group_size=100)
        scan = latens.scan(tmp_path / "x.parquet")
        assert [len(block) for block in scan] == [100, 100, 57]
        np.testing.assert_array_equal(rows_of(scan), X)
        assert [len(block) for block in latens.scan(tmp_path / "x.parquet", block_rows=60)] == [60, 40, 60, 40, 57]
        assert scan.feature_names == tuple(NAMES)

    def test_patterns_of_names_and_folders(self, tmp_path: Path) -> None:
        for number, part in enumerate(np.array_split(X, 3)):
            self.write(tmp_path / f"part-{number}.parquet", part)
        np.testing.assert_array_equal(rows_of(latens.scan(str(tmp_path / "part-*.parquet"))), X)
        np.testing.assert_array_equal(rows_of(latens.scan(tmp_path)), X)

    def test_hive_partitions_are_columns(self, tmp_path: Path) -> None:
        for year, part in zip((2020, 2021), np.array_split(X, 2), strict=True):
            (tmp_path / f"year={year}").mkdir()
            self.write(tmp_path / f"year={year}" / "a.parquet", part)
        scan = latens.scan(tmp_path)
        assert scan.feature_names == (*NAMES, "year")
        assert np.unique(rows_of(scan)[:, 5]).tolist() == [2020.0, 2021.0]

    def test_a_dataset_of_pyarrow_and_a_lazy_frame(self, tmp_path: Path) -> None:
        import polars
        import pyarrow.dataset

        self.write(tmp_path / "x.parquet", X)
        dataset = pyarrow.dataset.dataset(tmp_path / "x.parquet")
        np.testing.assert_array_equal(rows_of(latens.scan(dataset)), X)
        lazy = latens.scan(polars.scan_parquet(tmp_path / "x.parquet"), columns=["c4", "c1"], block_rows=77)
        np.testing.assert_array_equal(rows_of(lazy), X[:, [4, 1]])

    @pytest.fixture
    def bucket(self) -> Any:
        """A file system that is not the machine's, with two objects in it; it answers to fsspec+memory://."""
        import fsspec
        import pyarrow.fs

        store = fsspec.filesystem("memory")
        system = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(store))
        for number, part in enumerate((X[:130], X[130:])):
            with system.open_output_stream(f"/bucket/rows/part-{number}.parquet") as file:
                self.write(file, part, row_group_size=50)
        yield system
        store.rm("/bucket", recursive=True)

    @pytest.mark.parametrize("address", ["rows", "rows/part-*.parquet", "rows/part-[01].parquet"])
    def test_object_storage_by_its_address(self, bucket: Any, address: str) -> None:
        scan = latens.scan(f"fsspec+memory://bucket/{address}")
        assert [len(block) for block in scan] == [50, 50, 30, 50, 50, 27]
        np.testing.assert_array_equal(rows_of(scan), X)
        assert rows_of(latens.scan("fsspec+memory://bucket/rows/part-1.parquet")).shape == (127, 5)

    def test_object_storage_by_a_dataset_gives_the_fit_of_memory(self, bucket: Any) -> None:
        import pyarrow.dataset

        scan = latens.scan(pyarrow.dataset.dataset("/bucket/rows", filesystem=bucket, format="parquet"))
        stored, here = (latens.FactorAnalysis(2, random_state=0).fit(data) for data in (scan, X))
        assert stored.elbo_ == pytest.approx(here.elbo_, rel=1e-9)

    def test_objects_that_change_or_go_are_refused(self, bucket: Any) -> None:
        scan = latens.scan("fsspec+memory://bucket/rows")
        with bucket.open_output_stream("/bucket/rows/part-1.parquet") as file:
            self.write(file, X)
        with pytest.raises(ValueError, match=r"part-1.parquet' has changed since it was scanned"):
            rows_of(scan)
        bucket.delete_file("/bucket/rows/part-0.parquet")
        with pytest.raises(ValueError, match=r"part-0.parquet' was there when it was scanned and is gone"):
            rows_of(scan)

    def test_addresses_that_nothing_answers_to(self, bucket: Any) -> None:
        for absent in ("nothing", "rows/other-*.parquet", "nowhere/part-*.parquet"):
            with pytest.raises(FileNotFoundError, match="no file matches 'fsspec"):
                latens.scan(f"fsspec+memory://bucket/{absent}")
        with pytest.raises(ValueError, match="is no address that pyarrow reads"):
            latens.scan("teapot://bucket/rows")
        with pytest.raises(ValueError, match=r"of object storage Parquet and zarr are read, and \.csv is not"):
            latens.scan("s3://bucket/rows.csv")

    def test_handles_travel_to_other_processes(self, tmp_path: Path) -> None:
        self.write(tmp_path / "x.parquet", X, row_group_size=100)
        source = latens.scan(tmp_path / "x.parquet").source()
        load, handles = pickle.loads(pickle.dumps((source.load, source.handles)))
        np.testing.assert_array_equal(load(handles[1]).x, X[100:200])

    def test_a_string_column_is_named(self, tmp_path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"x": [1.0, 2.0], "city": ["Rome", "Oslo"]})
        pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match=r"column 'city' of .* holds text such as 'Rome', not numbers"):
            rows_of(latens.scan(tmp_path / "t.parquet"))
        assert latens.scan(tmp_path / "t.parquet", groups="city").feature_names == ("x",)

    def test_whole_numbers_and_missing_marks(self, tmp_path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"n": [1, None, 3], "yes": [True, False, None], "f": pyarrow.array([1, 2, 3], "float32")})
        pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
        got = rows_of(latens.scan(tmp_path / "t.parquet"))
        np.testing.assert_array_equal(got, [[1, 1, 1], [np.nan, 0, 2], [3, np.nan, 3]])


@pytest.mark.extras
def test_zarr_hdf5_and_memory_maps(tmp_path: Path) -> None:
    import h5py
    import zarr

    stored = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(64, 5), dtype="f8")
    stored[:] = X
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["m"] = X
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for source in (str(tmp_path / "x.zarr"), stored, str(tmp_path / "x.h5"), f"{tmp_path / 'x.h5'}::m", mapped):
        np.testing.assert_array_equal(rows_of(latens.scan(source, block_rows=100)), X)
    with pytest.raises(ValueError, match="holds no 'absent'; it has m"):
        latens.scan(f"{tmp_path / 'x.h5'}::absent")


@pytest.mark.extras
@pytest.mark.parametrize("sparse", [True, False])
def test_anndata_on_disk(tmp_path: Path, sparse: bool) -> None:
    import anndata
    import pandas
    from scipy.sparse import csr_matrix

    counts = np.random.default_rng(0).poisson(0.3, size=(90, 7)).astype(np.float32)
    with pandas.option_context("future.infer_string", False):  # strings that h5ad files know
        anndata.AnnData(csr_matrix(counts) if sparse else counts).write_h5ad(tmp_path / "a.h5ad")
    scan = latens.scan(str(tmp_path / "a.h5ad"), block_rows=40)
    np.testing.assert_array_equal(rows_of(scan), counts)
    assert next(iter(scan)).dtype == np.float32
    opened = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    for source in (opened, opened.to_memory()):
        np.testing.assert_array_equal(rows_of(latens.scan(source, block_rows=40)), counts)
    some = latens.scan(str(tmp_path / "a.h5ad"), columns=["5", "2"], block_rows=40)
    np.testing.assert_array_equal(rows_of(some), counts[:, [5, 2]])


@pytest.mark.extras
def test_what_obs_knows_of_the_rows_of_an_h5ad_file(tmp_path: Path) -> None:
    import anndata
    import h5py
    import pandas

    rng, n = np.random.default_rng(1), 50
    with pandas.option_context("future.infer_string", False):
        obs = pandas.DataFrame(
            {
                "batch": pandas.Categorical(rng.choice(["a", "b"], n)).set_categories(["b", "a", "absent"]),
                "donor": [f"d{i}" for i in range(n)],
                "size": rng.random(n) + 0.5,
                "age": pandas.array([None, *range(1, n)], dtype="Int64"),
            },
            index=[f"cell {i}" for i in range(n)],
        )
        obs.loc["cell 3", "batch"] = None
        data = anndata.AnnData(rng.normal(size=(n, 4)), obs=obs)
        data.write_h5ad(tmp_path / "a.h5ad")
    scan = latens.scan(str(tmp_path / "a.h5ad"), weights="size", groups="batch", row_names="donor", block_rows=20)
    for name, expected in {"batch": obs["batch"].astype(object), "donor": obs["donor"], "size": obs["size"]}.items():
        read = np.concatenate([scan.column(number, name) for number in range(3)])
        assert [None if value is None or value != value else value for value in read] == [
            None if value is None or value != value else value for value in expected
        ]
    ages = np.concatenate([scan.column(number, "age") for number in range(3)]).astype(float)
    np.testing.assert_array_equal(ages, [np.nan, *range(1, n)])
    with pytest.raises(ValueError, match="groups='absent' is no column"):
        latens.scan(str(tmp_path / "a.h5ad"), groups="absent")

    with h5py.File(tmp_path / "a.h5ad", "a") as file:  # as files of older versions are
        del file["X"].attrs["encoding-type"], file["X"].attrs["encoding-version"]
    np.testing.assert_array_equal(rows_of(latens.scan(str(tmp_path / "a.h5ad"))), data.X)
    with pytest.raises(ValueError, match=r"a\.h5ad.*changed"):
        next(iter(scan))


@pytest.mark.extras
def test_a_data_loader_keeps_its_order() -> None:
    import torch
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, TensorDataset

    data = TensorDataset(torch.as_tensor(X), torch.arange(len(X)))
    np.testing.assert_array_equal(rows_of(latens.scan(DataLoader(data, batch_size=100))), X)
    with pytest.raises(ValueError, match="shuffle=False"):
        latens.scan(DataLoader(data, batch_size=100, shuffle=True))
    drawn = BatchSampler(RandomSampler(data), 100, drop_last=False)
    with pytest.raises(ValueError, match="by a RandomSampler"):
        latens.scan(DataLoader(data, batch_sampler=drawn))
    sampler = BatchSampler(SequentialSampler(data), 100, drop_last=False)
    np.testing.assert_array_equal(rows_of(latens.scan(DataLoader(data, batch_sampler=sampler))), X)


def test_blocks_of_a_function_that_change_from_pass_to_pass_are_refused() -> None:
    rng = np.random.default_rng(0)
    scan = latens.scan(lambda: iter(np.array_split(rng.permutation(X), 3)))
    with pytest.raises(ValueError, match="other rows than it did at the first pass"):
        latens.GaussianMixture(2, random_state=0).fit(scan)


@pytest.mark.extras
def test_a_data_loader_of_an_iterable_has_the_order_of_its_data() -> None:
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    class Stored(IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            return iter(torch.as_tensor(X))

    scan = latens.scan(DataLoader(Stored(), batch_size=100))
    assert scan.n_blocks == 3
    np.testing.assert_array_equal(rows_of(scan), X)
    np.testing.assert_array_equal(rows_of(scan), X)


@pytest.mark.extras
class TestCsv:
    def test_blocks_of_rows_and_of_bytes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import pandas

        from latens.scale import csv_files

        pandas.DataFrame(X, columns=NAMES).to_csv(tmp_path / "x.csv", index=False)
        scan = latens.scan(tmp_path / "x.csv", block_rows=100)
        assert [len(block) for block in scan] == [100, 100, 57]
        np.testing.assert_array_equal(rows_of(scan), X)
        monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
        monkeypatch.setattr(csv_files, "CHUNK", 700)
        small = latens.scan(tmp_path / "x.csv")
        assert small.n_blocks > 10
        np.testing.assert_array_equal(rows_of(small), X)

    def test_newlines_within_quotes_and_another_dialect(self, tmp_path: Path) -> None:
        lines = ["# a comment", "name;u;v", *(f'"row\n{i}";{i},5;{i}' for i in range(20))]
        (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
        scan = latens.scan(tmp_path / "x.csv", row_names="name", block_rows=6)
        assert [len(block) for block in scan] == [6, 6, 6, 2]
        np.testing.assert_array_equal(rows_of(scan), [[i + 0.5, i] for i in range(20)])

    def test_compressed_text_is_refused_with_the_remedy(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv.gz").write_bytes(b"")
        with pytest.raises(ValueError, match=r"compressed.*unpack it, or store it as Parquet"):
            latens.scan(tmp_path / "x.csv.gz")


def test_blocks_are_indexed_and_read_as_often_as_one_likes() -> None:
    x = np.arange(14.0).reshape(7, 2)
    found = latens.scan(x, block_rows=3)
    assert [len(block) for block in found] == [len(block) for block in found] == [3, 3, 1]
    np.testing.assert_array_equal(found[1], x[3:6])
    np.testing.assert_array_equal(found[-1], x[6:])
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.extras
class TestColumnsOfOtherNames:
    """Answers about columns in another order would be wrong without a sign."""

    X = np.random.default_rng(0).normal(size=(90, 3)) + 9 * np.repeat([[0.0], [1.0], [3.0]], 30, axis=0)

    def path(self, folder: Path, names: str = "a,b,c") -> Path:
        path = folder / "rows.csv"
        np.savetxt(path, self.X, delimiter=",", header=names, comments="")
        return path

    @pytest.mark.parametrize("act", ["transform", "predict", "score", "partial_fit"])
    def test_of_a_scan_they_are_refused(self, act: str, tmp_path: Path) -> None:
        path = self.path(tmp_path)
        model = latens.GaussianMixture(3, random_state=0).fit(latens.scan(path, block_rows=40))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.asarray(getattr(model, act)(latens.scan(path, block_rows=40)), dtype=object)
        with pytest.raises(ValueError, match=r"in the same order: latens\.scan\(\.\.\., columns="):
            getattr(model, act)(latens.scan(path, columns=["c", "b", "a"]))
        other = self.path(tmp_path, "a,b,d")
        with pytest.raises(ValueError, match=r"Unseen at fit time: 'd'\. Seen at fit time, yet now missing: 'c'\."):
            getattr(model, act)(latens.scan(other))

    def test_of_views_too(self, tmp_path: Path) -> None:
        path = self.path(tmp_path)
        one, two = (latens.scan(path, columns=names, block_rows=40) for names in (["a", "b"], ["b", "a"]))
        model = latens.MultiViewFactorAnalysis(1, max_iter=2, tol=0, moves=False, random_state=0)
        model.fit({"one": one, "other": latens.scan(path, columns=["c"], block_rows=40)})
        rest = {"other": latens.scan(path, columns=["c"], block_rows=40)}
        assert np.asarray(model.transform({"one": one, **rest})).shape == (90, model.n_components_)
        with pytest.raises(ValueError, match="in the same order"):
            model.transform({"one": two, **rest})

    def test_of_a_dask_dataframe_too(self, tmp_path: Path) -> None:
        import dask.dataframe
        import pandas

        model = latens.GaussianMixture(3, random_state=0).fit(latens.scan(self.path(tmp_path)))
        frame = pandas.DataFrame(self.X, columns=["c", "b", "a"])
        with pytest.raises(ValueError, match="in the same order"):
            model.predict(dask.dataframe.from_pandas(frame, npartitions=2))


@pytest.mark.extras
def test_lines_of_more_fields_than_the_header_are_refused(tmp_path: Path) -> None:
    lines = [f"{i},{i % 5}" for i in range(60)]
    lines[40] += ",9"
    (tmp_path / "long.csv").write_text("a,b\n" + "\n".join(lines))
    found = latens.scan(tmp_path / "long.csv", block_rows=30)
    assert found[0].shape == (30, 2)
    with pytest.raises(ValueError, match=r"has more fields than the header's 2: '40,0,9'\. Mend it"):
        found[1]


@pytest.mark.extras
def test_tables_in_memory_and_folders_of_other_files_say_what_to_give(tmp_path: Path) -> None:
    import pandas
    import pyarrow

    frame = pandas.DataFrame({"a": [1.0, 2.0]})
    for table in (frame, pyarrow.Table.from_pandas(frame)):
        with pytest.raises(TypeError, match="is in memory already: give it to fit as it is"):
            latens.scan(table)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"holds files that are no Parquet; name those that are, by a pattern such as"):
        latens.scan(tmp_path)
    with pytest.raises(TypeError, match=r"suggest compares models on rows in memory.*latens\.suggest\(scan\[0\]\)"):
        latens.suggest(latens.scan(np.eye(5)))


@pytest.mark.extras
def test_codes_with_leading_zeros_name_rows_as_they_are_written(tmp_path: Path) -> None:
    lines = [f"{row:03d},{row % 7},{row / 3:.3f}" for row in range(30)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x,y", *lines]) + "\n")
    scan = latens.scan(tmp_path / "x.csv", columns=["x", "y"], row_names="id", block_rows=20)
    names = [str(name) for number in range(scan.n_blocks) for name in scan.names_of_rows(number)]
    assert (
        names == [str(name) for name in latens.read(tmp_path / "x.csv").frame.index] == [f"{i:03d}" for i in range(30)]
    )
