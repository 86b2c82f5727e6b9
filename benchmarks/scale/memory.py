"""Peak memory of fits to files of 4e5 and of 4e6 rows x 16: what a fit needs must not grow with the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.clocks import in_new_process
from benchmarks.library.large import MIB, peak_memory
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["estimators", "fit_and_tell", "formats", "large_files"]

CHILD = "import sys; from benchmarks.scale.memory import fit_and_tell; fit_and_tell(*sys.argv[1:])"
D = 16
AT_ONCE = 100_000  # rows that are made, and stored together
MOST_MIB = 64.0  # MiB that the larger file may cost more

ESTIMATORS: dict[str, dict[str, Any]] = {
    "GaussianMixture": {"n_components": 4},
    "BernoulliMixture": {"n_components": 4},
    "LatentClassAnalysis": {"n_components": 4},
    "FactorAnalysis": {"n_components": 4},
    "BinaryFactorAnalysis": {"n_components": 4, "e_step": "mean-field"},
    "NoisyOr": {"n_components": 4, "e_step": "truncated"},
    "NoisyICA": {"n_components": 4},
    "MultiViewFactorAnalysis": {"n_components": 4},
    "BayesianLinearRegression": {},
}
BINARY = {"BernoulliMixture", "NoisyOr"}


def estimators(setting: Setting) -> list[Table]:
    """Every estimator on Parquet."""
    rows = []
    with TemporaryDirectory() as folder:
        for binary in (False, True):
            wanted = [name for name in ESTIMATORS if setting.only in name and (name in BINARY) == binary]
            paths = {n: _write_parquet(Path(folder), n, binary) for n in _sizes(setting) if wanted}
            rows += [_compared(name, paths) for name in wanted]
    return [Table("Peak memory of three iterations, moves on, from Parquet", rows, _notes(setting))]


def formats(setting: Setting) -> list[Table]:
    """Every format with a mixture."""
    rows = []
    for name, write in FORMATS.items():
        if setting.only not in name:
            continue
        with TemporaryDirectory() as folder:
            paths = {n: write(Path(folder), n) for n in _sizes(setting)}
            rows.append(_compared("GaussianMixture", paths, of=name))
    return [Table("Peak memory of GaussianMixture, three iterations, moves on, by format", rows, _notes(setting))]


def large_files(setting: Setting) -> list[Table]:
    """Ten times the rows once more, and a sparse file of many columns that would be 5.6 GB if it were dense."""
    full = setting.name == "full"
    rows, wide = [], []
    with TemporaryDirectory() as folder:
        few, many = (400_000, 40_000_000) if full else (20_000, 200_000)
        if setting.only in "Parquet":
            rows.append(_compared("GaussianMixture", {n: _write_parquet(Path(folder), n) for n in (few, many)}))
    with TemporaryDirectory() as folder:
        shape = (100_000, 7_000) if full else (500, 200)
        wanted = [name for name in ("MultiViewFactorAnalysis", "FactorAnalysis") if setting.only in name]
        path = _write_counts(Path(folder), *shape) if wanted else Path(folder)
        for name in wanted:
            measured, size = in_new_process(CHILD, name, str(path)), path.stat().st_size / MIB
            cells = {"fit": name, "file MiB": size, "peak MiB": measured["peak"], "beyond": measured["peak"] - size}
            print(cells, flush=True)
            wide.append(Row({**cells, "CPU s": measured["cpu"]}, {"beyond": at_most(1024.0)}))
    notes = [f"{shape[0]} x {shape[1]} counts, about one in twenty above 0; three iterations, moves on"]
    return [
        Table("Peak memory of GaussianMixture on Parquet, three iterations", rows, [f"{few} and {many} rows x {D}"]),
        Table("Peak memory of fits to a sparse h5ad file", wide, notes),
    ]


def fit_and_tell(name: str, source: str) -> None:
    """In a process of its own: how much memory it took at its peak, and how long."""
    import time
    import warnings

    import latens

    warnings.simplefilter("ignore")
    options = dict(ESTIMATORS[name])
    if name != "BayesianLinearRegression":
        options |= {"max_iter": 3, "tol": 0, "random_state": 0, "n_init": 1}
    began = time.process_time()
    target = {"target": f"x{D - 1}"} if name == "BayesianLinearRegression" else {}
    data = latens.scan(_opened(source), **target)
    model = getattr(latens, name)(**options).fit(data)
    peak = peak_memory() / MIB
    print(json.dumps({"peak": peak, "cpu": time.process_time() - began, "blocks": data.n_blocks, "fit": repr(model)}))


def _compared(name: str, paths: dict[int, str], of: str | None = None) -> Row:
    by_rows = {n: in_new_process(CHILD, name, path) for n, path in paths.items()}
    few, many = by_rows.values()
    cells = {
        "of": of or name,
        **{f"MiB at {n:.0e} rows": float(each["peak"]) for n, each in by_rows.items()},
        "difference": many["peak"] - few["peak"],
        "blocks": int(many["blocks"]),
        "CPU s": float(many["cpu"]),
    }
    print(cells, flush=True)
    return Row(cells, {"difference": at_most(MOST_MIB)})


def _sizes(setting: Setting) -> tuple[int, int]:
    return (400_000, 4_000_000) if setting.name == "full" else (20_000, 100_000)


def _notes(setting: Setting) -> list[str]:
    few, many = _sizes(setting)
    return [f"MiB, {few} and {many} rows x {D} of float64, a process for each fit"]


def _blocks(n: int, binary: bool = False) -> Iterator[Any]:
    """Rows of a few clusters, or their signs."""
    rng = np.random.default_rng(FIRST_SEED)
    centres = 2 * rng.normal(size=(6, D))
    for at in range(0, n, AT_ONCE):
        size = min(AT_ONCE, n - at)
        x = centres[rng.integers(0, 6, size)] + rng.normal(size=(size, D))
        yield (x > 0).astype(float) if binary else x


def _write_parquet(folder: Path, n: int, binary: bool = False) -> str:
    import pyarrow
    import pyarrow.parquet

    path, names = folder / f"rows-{n}-{int(binary)}.parquet", [f"x{d}" for d in range(D)]
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema([(name, pyarrow.float64()) for name in names])) as file:
        for x in _blocks(n, binary):
            file.write_table(pyarrow.table(list(x.T), names))
    return str(path)


def _write_npy(folder: Path, n: int) -> str:
    path = folder / f"rows-{n}.npy"
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, D))
    for number, x in enumerate(_blocks(n)):
        stored[number * AT_ONCE : number * AT_ONCE + len(x)] = x
    stored.flush()
    return str(path)


def _write_csv(folder: Path, n: int) -> str:
    import pandas

    path = folder / f"rows-{n}.csv"
    for number, x in enumerate(_blocks(n)):
        frame = pandas.DataFrame(x.round(4), columns=[f"x{d}" for d in range(D)])
        frame.to_csv(path, mode="a", header=number == 0, index=False)
    return str(path)


def _write_hdf5(folder: Path, n: int) -> str:
    import h5py

    path = folder / f"rows-{n}.h5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("x", (n, D), chunks=(AT_ONCE // 10, D))
        for number, x in enumerate(_blocks(n)):
            stored[number * AT_ONCE : number * AT_ONCE + len(x)] = x
    return f"{path}::x"


def _write_zarr(folder: Path, n: int) -> str:
    import zarr

    path = folder / f"rows-{n}.zarr"
    stored = zarr.open_array(str(path), mode="w", shape=(n, D), chunks=(AT_ONCE // 10, D), dtype="f8")
    for number, x in enumerate(_blocks(n)):
        stored[number * AT_ONCE : number * AT_ONCE + len(x)] = x
    return str(path)


def _write_h5ad(folder: Path, n: int) -> str:
    """Sparse rows, as AnnData stores them; three quarters of the entries are 0."""
    import anndata
    import pandas
    import scipy.sparse

    path = folder / f"rows-{n}.h5ad"
    parts = [scipy.sparse.csr_matrix(np.where(x > 1.5, x, 0.0)) for x in _blocks(n)]
    with pandas.option_context("future.infer_string", False):  # strings that h5ad files know
        anndata.AnnData(scipy.sparse.vstack(parts, format="csr")).write_h5ad(path)
    return str(path)


def _write_counts(folder: Path, n: int, n_columns: int) -> Path:
    """Counts as single cells have them: rows of a few kinds, most entries 0."""
    import anndata
    import pandas
    import scipy.sparse

    rng = np.random.default_rng(FIRST_SEED)
    kinds = rng.dirichlet(np.full(n_columns, 0.3), size=5)
    parts = [
        scipy.sparse.csr_matrix(
            rng.multinomial(n_columns // 20, kinds[rng.integers(0, 5, min(1000, n - at))]), dtype="f4"
        )
        for at in range(0, n, 1000)
    ]
    path = folder / "counts.h5ad"
    with pandas.option_context("future.infer_string", False):
        anndata.AnnData(scipy.sparse.vstack(parts, format="csr")).write_h5ad(path)
    return path


def _write_function(folder: Path, n: int, kind: str) -> str:
    return f"{kind}:{_write_npy(folder, n)}"


FORMATS: dict[str, Callable[[Path, int], str]] = {
    "Parquet": _write_parquet,
    "npy": _write_npy,
    "CSV": _write_csv,
    "HDF5": _write_hdf5,
    "zarr": _write_zarr,
    "h5ad, sparse": _write_h5ad,
    "LazyFrame of polars": lambda folder, n: f"polars:{_write_parquet(folder, n)}",
    "iterator": partial(_write_function, kind="iterator"),
    "DataLoader": partial(_write_function, kind="loader"),
}


def _opened(source: str) -> Any:
    """What is scanned: a path as it is, or what reads it."""
    kind, _, path = source.partition(":")
    if kind == "polars":
        import polars

        return polars.scan_parquet(path)
    if kind == "iterator":
        return partial(_stored_blocks, path)
    if kind == "loader":
        import torch

        class Stored(torch.utils.data.IterableDataset):  # type: ignore[type-arg,misc]
            def __iter__(self) -> Iterator[Any]:
                return map(torch.from_numpy, _stored_blocks(path))

        return torch.utils.data.DataLoader(Stored(), batch_size=None)
    return source


def _stored_blocks(path: str) -> Iterator[Any]:
    """Read, not mapped: pages of a map that the system keeps at hand would count as memory of the process."""
    n_blocks = -(-np.load(path, mmap_mode="r").shape[0] // AT_ONCE)
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        for _ in range(n_blocks):
            yield np.fromfile(file, dtype=np.float64, count=AT_ONCE * D).reshape(-1, D)
