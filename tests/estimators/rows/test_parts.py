"""`transform(X, out="dir/")`: Parquet parts with row names, which go on where they were broken off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.scale.scan import Scan
from latens.system import atomic_write

RNG = np.random.default_rng(0)
X = 4 * RNG.normal(size=(3, 4))[RNG.integers(0, 3, 250)] + RNG.normal(size=(250, 4))
NAMES = [f"sample {i}" for i in range(len(X))]


@pytest.fixture(scope="module")
def model() -> Any:
    return latens.GaussianMixture(3, moves=False, random_state=0).fit(X)


def rows_of(folder: Path) -> tuple[list[Any], np.ndarray]:
    """Names and numbers of all parts together."""
    import pyarrow.dataset as datasets

    table = datasets.dataset(folder, format="parquet").to_table()
    values = np.column_stack([table.column(name).to_numpy() for name in table.column_names if name != "row"])
    return table.column("row").to_pylist(), values


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    import pyarrow as arrow
    import pyarrow.parquet as files

    columns = {"who": NAMES, **{f"x{d}": X[:, d] for d in range(X.shape[1])}}
    files.write_table(arrow.table(columns), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.mark.extras
def test_parts_hold_the_answer_by_row_name(model: Any, parquet: Path, tmp_path: Path) -> None:
    scan = latens.scan(parquet, row_names="who", block_rows=60)
    folder = model.transform(scan, out=tmp_path / "codes")
    assert sorted(path.name for path in folder.iterdir()) == [f"part-{i:05d}.parquet" for i in range(5)]
    names, values = rows_of(folder)
    assert names == NAMES
    assert values.tobytes() == model.transform(X).tobytes()


@pytest.mark.extras
def test_rows_without_names_are_numbered_through_and_deviations_stand_beside(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", X)
    model = latens.FactorAnalysis(2, random_state=0).fit(X)
    model.transform(latens.scan(tmp_path / "rows.npy", block_rows=70), return_std=True, out=tmp_path / "codes")
    numbers, values = rows_of(tmp_path / "codes")
    assert numbers == list(range(len(X)))
    np.testing.assert_allclose(values, np.hstack(model.transform(X, return_std=True)), atol=1e-12)


@pytest.mark.extras
def test_what_is_in_memory_is_one_part(model: Any, tmp_path: Path) -> None:
    import pandas as pd

    model.transform(X, out=tmp_path / "array")
    assert rows_of(tmp_path / "array")[0] == list(range(len(X)))
    frame = pd.DataFrame(X, index=NAMES, columns=list("abcd"))
    latens.GaussianMixture(3, moves=False, random_state=0).fit(frame).transform(frame, out=tmp_path / "frame")
    assert rows_of(tmp_path / "frame")[0] == NAMES


@pytest.mark.extras
def test_views_are_written_too(tmp_path: Path) -> None:
    scans = {}
    for name, columns in {"first": slice(0, 2), "second": slice(2, 4)}.items():
        np.save(tmp_path / f"{name}.npy", X[:, columns])
        scans[name] = latens.scan(tmp_path / f"{name}.npy", block_rows=100)
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(scans)
    model.transform(scans, out=tmp_path / "codes")
    np.testing.assert_array_equal(rows_of(tmp_path / "codes")[1], np.asarray(model.transform(scans)))


@pytest.mark.extras
def test_a_call_that_was_broken_off_does_only_the_rest(
    model: Any, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, replace = latens.scan(parquet, row_names="who", block_rows=60), atomic_write.os.replace
    left = [2]

    def replace_or_die(draft: Any, target: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        replace(draft, target)

    with monkeypatch.context() as patched:
        patched.setattr(atomic_write.os, "replace", replace_or_die)
        with pytest.raises(KeyboardInterrupt):
            model.transform(scan, out=tmp_path / "codes")
    assert len(list((tmp_path / "codes").iterdir())) == 2
    read, numbers = [], Scan.numbers

    def note(self: Scan, number: int) -> Any:
        read.append(number)
        return numbers(self, number)

    monkeypatch.setattr(Scan, "numbers", note)
    model.transform(latens.scan(parquet, row_names="who", block_rows=60), out=tmp_path / "codes")
    assert read == [2, 3, 4]
    assert rows_of(tmp_path / "codes")[0] == NAMES


@pytest.mark.extras
@pytest.mark.parametrize("what", ["model", "rows", "cut", "options"])
def test_parts_of_another_answer_are_refused(what: str, model: Any, parquet: Path, tmp_path: Path) -> None:
    scan = latens.scan(parquet, row_names="who", block_rows=60)
    model.transform(scan, out=tmp_path / "codes")
    other, options = model, {}
    if what == "model":
        other = latens.GaussianMixture(2, moves=False, random_state=0).fit(X)
    elif what == "rows":
        parquet.touch()
        scan = latens.scan(parquet, row_names="who", block_rows=60)
    elif what == "cut":
        scan = latens.scan(parquet, row_names="who", block_rows=200)
    else:
        options = {"return_std": True}
    with pytest.raises(ValueError, match=r"part-00000.parquet' is there already, and is of another.*empty folder"):
        other.transform(scan, out=tmp_path / "codes", **options)


@pytest.mark.extras
def test_a_stranger_among_the_parts_is_named(model: Any, tmp_path: Path) -> None:
    (tmp_path / "part-00007.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"holds 'part-00007.parquet', which is no part of this answer"):
        model.transform(X, out=tmp_path)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [(3, TypeError, "out=3 is no path"), ("file", FileExistsError, "file' is a file; give the name of a folder")],
)
def test_no_folder_is_refused(out: Any, error: type[Exception], words: str, model: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(error, match=words):
        model.transform(X, out=tmp_path / out if isinstance(out, str) else out)


def test_covariances_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leave return_cov out"):
        latens.FactorAnalysis(1).fit(X).transform(X, return_cov=True, out=tmp_path)
