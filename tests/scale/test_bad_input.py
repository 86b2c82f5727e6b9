"""What is wrong with rows in files, on a cluster or in a checkpoint meets one clear error, and leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

X = np.random.default_rng(0).normal(size=(60, 3)) + 9 * np.repeat([[0.0], [1.0]], 30, axis=0)
Attempt = Callable[[Any], None]  # what is done with an estimator


def numbers(folder: Path, name: str = "rows.npy", n: int = 60) -> Path:
    np.save(folder / name, X[:n])
    return folder / name


def string_column(folder: Path) -> Attempt:
    (folder / "rows.csv").write_text("a,b,town\n" + "".join(f"{i},{i * i % 7},Oslo\n" for i in range(50)))
    return lambda model: model.fit(latens.scan(folder / "rows.csv", block_rows=20))


def string_column_of_dask(folder: Path) -> Attempt:
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame(X, columns=list("abc")).assign(town="Oslo")
    return lambda model: model.fit(dask.dataframe.from_pandas(frame, npartitions=2))


def misaligned_blocks(folder: Path) -> Attempt:
    views = {"a": latens.scan(X, block_rows=20), "b": latens.scan(X, block_rows=30)}
    return lambda model: latens.MultiViewFactorAnalysis(2).fit(views)


def misaligned_rows(folder: Path) -> Attempt:
    views = {"a": latens.scan(X, block_rows=20), "b": latens.scan(X[:59], block_rows=20)}
    return lambda model: latens.MultiViewFactorAnalysis(2).fit(views)


def changed_file(folder: Path) -> Attempt:
    scan = latens.scan(numbers(folder), block_rows=20)
    numbers(folder, n=59)
    return lambda model: model.fit(scan)


def changed_file_in_the_middle(folder: Path) -> Attempt:
    scan, steps = latens.scan(numbers(folder), block_rows=20), list[int]()

    def change(event: Any) -> None:
        steps.append(event.step)
        if len(steps) == 2:
            numbers(folder, n=59)

    def attempt(model: Any) -> None:
        model.set_params(callbacks=change).fit(scan)

    return attempt


def missing_file(folder: Path) -> Attempt:
    return lambda model: model.fit(latens.scan(folder / "none.npy"))


def missing_chunk(folder: Path) -> Attempt:
    import pandas

    (folder / "rows").mkdir()
    for part in range(3):
        frame = pandas.DataFrame(X[20 * part : 20 * part + 20], columns=list("abc"))
        frame.to_parquet(folder / "rows" / f"part-{part}.parquet")
    scan = latens.scan(folder / "rows")
    (folder / "rows" / "part-1.parquet").unlink()
    return lambda model: model.fit(scan)


def missing_block_of_an_iterator(folder: Path) -> Attempt:
    calls = list[int]()

    def blocks() -> Any:
        calls.append(1)
        return iter([X[:30], X[30:]] if len(calls) < 3 else [X[:30]])

    scan = latens.scan(blocks)
    return lambda model: model.fit(scan)


def no_client(folder: Path) -> Attempt:
    import dask.array

    chunks = dask.array.from_array(np.zeros((10**4, 2000)), chunks=(1000, 2000))  # too much to be fetched
    return lambda model: model.fit(chunks)


def unwritable_checkpoint(folder: Path) -> Attempt:
    (folder / "notes").write_text("a file, no folder")
    return lambda model: model.fit(X, checkpoint=folder / "notes")


def unwritable_checkpoint_of_a_scan(folder: Path) -> Attempt:
    (folder / "notes").write_text("a file, no folder")
    scan = latens.scan(numbers(folder), block_rows=20)
    return lambda model: model.fit(scan, checkpoint=folder / "notes" / "deeper")


CASES: dict[str, tuple[Callable[[Path], Attempt], type[Exception], str, bool]] = {  # and whether it needs extras
    "a string column": (string_column, ValueError, r"column 'town' of .*rows\.csv.* not numbers; name the col", True),
    "a string column of Dask": (string_column_of_dask, ValueError, r"column 'town' of X holds .*; leave such", True),
    "views of other blocks": (misaligned_blocks, ValueError, r"a, b have 3, 2 blocks; cut them alike", False),
    "views of other lengths": (misaligned_rows, ValueError, r"different numbers of rows by view \(a 20, b 19\)", False),
    "a changed file": (changed_file, ValueError, r"rows\.npy' has changed since it was scanned .* fit anew", False),
    "a file that changes in a fit": (changed_file_in_the_middle, ValueError, r"has changed since it was scan", False),
    "a missing file": (missing_file, FileNotFoundError, r"there is no file .*none\.npy'; check the name", False),
    "a missing chunk": (missing_chunk, ValueError, r"part-1\.parquet' was there when it was scanned and is gone", True),
    "a missing block": (missing_block_of_an_iterator, ValueError, r"ended after 1 blocks and had more before", False),
    "no client": (no_client, ValueError, r"no client is active; start one first", True),
    "an unwritable checkpoint": (unwritable_checkpoint, OSError, r"nothing can be written to checkpoint=", False),
    "an unwritable checkpoint of a scan": (
        unwritable_checkpoint_of_a_scan,
        OSError,
        r"nothing can be written to checkpoint=.*; give a folder that you may write to",
        False,
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.extras) if case[3] else name for name, case in CASES.items()]
)
def test_one_clear_error_and_nothing_half_written(name: str, tmp_path: Path) -> None:
    prepare, kind, words, _ = CASES[name]
    attempt = prepare(tmp_path)
    before = files(tmp_path)
    model = latens.GaussianMixture(2, random_state=0, moves=False, max_iter=5, tol=0)
    with pytest.raises(kind, match=words):
        attempt(model)
    assert not hasattr(model, "posterior_")
    assert files(tmp_path).keys() == before.keys()
    if name != "a file that changes in a fit":
        assert files(tmp_path) == before


@pytest.mark.extras
def test_answers_that_cannot_be_written_whole_are_not_written(tmp_path: Path) -> None:
    model = latens.GaussianMixture(2, random_state=0).fit(X)
    scan = latens.scan(numbers(tmp_path), block_rows=20)
    parts = iter(model.transform(scan))
    assert next(parts).shape == (20, model.n_components_)
    numbers(tmp_path, n=59)
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        model.transform(scan, out=tmp_path / "codes")
    assert [path for path in (tmp_path / "codes").iterdir() if path.suffix != ".parquet"] == []


def files(folder: Path) -> dict[str, bytes]:
    return {
        os.path.join(root, name): Path(root, name).read_bytes() for root, _, names in os.walk(folder) for name in names
    }


@pytest.mark.extras
def test_the_cell_that_is_no_number_is_the_one_that_is_shown(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1.5,2\n" * 30 + "broken,1\n")
    with pytest.raises(ValueError, match=r"column 'a' of .* holds text such as 'broken' among numbers as text"):
        latens.FactorAnalysis(1).fit(latens.scan(tmp_path / "rows.csv"))


def test_archives_and_patterns_of_text_files_are_refused_by_what_they_are(tmp_path):
    np.savez(tmp_path / "rows.npz", x=np.eye(3))
    with pytest.raises(ValueError, match=r"archive.*np\.save"):
        latens.scan(tmp_path / "rows.npz")
    with pytest.raises(ValueError, match="patterns name Parquet files"):
        latens.scan(tmp_path / "part-*.csv")


@pytest.mark.extras
def test_a_group_of_hdf5_is_no_array(tmp_path):
    import h5py

    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["group/x"] = np.eye(3)
    with pytest.raises(ValueError, match="is a group and no array; name one of those in it: x"):
        latens.scan(f"{tmp_path / 'rows.h5'}::group")


@pytest.mark.extras
def test_decimals_are_numbers(tmp_path):
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    given = [Decimal("1.25"), None, Decimal("-3")]
    pq.write_table(pa.table({"price": given}), tmp_path / "rows.parquet")
    source = latens.scan(tmp_path / "rows.parquet").source()
    rows = source.load(source.handles[0])
    np.testing.assert_array_equal(np.where(rows.seen, rows.x, np.nan)[:, 0], [1.25, np.nan, -3.0])
