"""Files of every kind as raw tables, by their suffix; optional packages are imported where they are needed."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from latens.errors import TableRefused
from latens.intake.layouts import SparseTable, from_edges, from_lists, from_long, from_transactions
from latens.intake.raw_table import RawTable
from latens.intake.text_files.dialect import sniff
from latens.intake.text_files.parsing import read_lines, read_text
from latens.system.optional_imports import require

__all__ = ["FORMATS", "Table", "laid_out", "load_tables"]

Table = RawTable | SparseTable
FORMATS = ("matrix", "transactions", "long", "edges")
TEXT = (".csv", ".tsv", ".txt", ".tab", ".data", ".dat", ".psv", "")
PACKED = (".gz", ".bz2", ".xz", ".zip")
READ = "CSV, TSV, Parquet, Excel, npy, npz, h5ad, h5mu and mtx"


def load_tables(
    path: Path,
    format: str | None,
    sep: str | None,
    sheet: str | int | None,
    fitted: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Table]:
    """The tables of a file by name; a file of one table calls it "x".

    `fitted` are the levels of a fit by column: text that is one of them is no mark of a missing value.

    Raises
    ------
    TableRefused
        If the file is of no kind that is read, or its content is not.
    FileNotFoundError
        If there is no file, naming those in the folder with names like it.
    """
    if format is not None and format not in FORMATS:
        raise TableRefused(f"format={format!r} is not known; choose one of {', '.join(FORMATS)}.")
    _check_there(path)
    suffix = _suffix(path)
    binary = BINARY.get(suffix)
    if binary is not None:
        tables: dict[str, Table]
        if binary is _excel:
            tables = _excel(path, sheet, fitted)
        else:
            tables = _parquet(path, fitted) if binary is _parquet else binary(path)
        return laid_out(tables, format)
    if suffix not in TEXT:
        raise TableRefused(f"{path.name}: files that end with {suffix} are not read; {READ} are. Save it as CSV.")
    if format == "transactions" or (format is None and sniff(path, sep).names is None):
        lines, _ = read_lines(path, sep)
        return {"x": from_transactions(lines)}
    return laid_out({"x": read_text(path, sep, fitted)}, format)


def laid_out(tables: dict[str, Table], format: str | None) -> dict[str, Table]:
    """Tables as rows x columns, from the layout that `format` names; as they are where that is None or 'matrix'."""
    table = next(iter(tables.values()))
    if format in (None, "matrix") or not isinstance(table, RawTable):
        return tables
    if format == "edges":
        return {"x": from_edges(table)}
    if format == "transactions":
        return {"x": from_lists(table)}
    return dict(from_long(table))


def _check_there(path: Path) -> None:
    if path.is_dir():
        raise TableRefused(f"{path} is a folder; name a file in it.")
    if path.exists():
        return
    if {"*", "?"} & set(path.name):
        raise TableRefused(
            f"{path} names several files, and one table is read at a time; put their rows into one file, or in Python "
            "into one frame: pandas.concat(map(pandas.read_csv, files))."
        )
    from difflib import get_close_matches

    folder = path.parent if path.parent.is_dir() else None
    names = [each.name for each in folder.iterdir() if _suffix(each) in (*TEXT, *BINARY)] if folder else []
    # endings are alike anyway: the rest of a name has to be
    close = [name for name in get_close_matches(path.name, names, n=5) if _alike(path.name, name)]
    words = f"; did you mean {folder / close[0]}?" if folder and close else "."
    if folder is None:
        words = f": there is no folder {path.parent}."
    raise FileNotFoundError(f"there is no file {path}{words}")


def _alike(name: str, other: str) -> bool:
    """Whether two names of files are alike without their endings."""
    from difflib import SequenceMatcher

    first, second = (each.partition(".")[0].lower() for each in (name, other))
    return SequenceMatcher(None, first, second).ratio() >= 0.6


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        inner = suffixes[-2] if len(suffixes) > 1 else ""
        return inner if inner in TEXT or inner == ".mtx" else ""
    return suffixes[-1] if suffixes else ""


def _parquet(path: Path, fitted: Mapping[str, Collection[str]] | None = None) -> dict[str, Table]:
    pandas = require("pandas", "table")
    require("pyarrow", "table")
    try:
        frame = pandas.read_parquet(path)
    except (OSError, ValueError) as error:
        raise TableRefused(
            f"{path.name} is no Parquet file that can be read ({str(error).splitlines()[0]})."
        ) from error
    return {"x": RawTable.of_frame(frame, fitted).with_codes_as_levels(frame)}


def _excel(
    path: Path, sheet: str | int | None = None, fitted: Mapping[str, Collection[str]] | None = None
) -> dict[str, Table]:
    """A sheet, written out as text so that titles, headers and units are found as in any file."""
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        raise TableRefused(f"{path.name} is of an old or other spreadsheet format; save it as .xlsx or CSV.")
    openpyxl = _excel_reader(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise TableRefused(f"{path.name} is no Excel file that can be read ({type(error).__name__}).") from error
    names = book.sheetnames
    chosen = names[0] if sheet is None else names[sheet] if isinstance(sheet, int) else sheet
    if chosen not in names:
        raise TableRefused(f"{path.name} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name  # of the same name, which refusals have
        with open(copy, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(
                [_cell(value) for value in row] for row in book[chosen].iter_rows(values_only=True)
            )
        book.close()
        raw = read_text(copy, ",", fitted)
    notes = [f"sheet {chosen!r} of {len(names)}: {', '.join(names)}"] if len(names) > 1 else []
    return {
        "x": RawTable(
            raw.names, raw.values, raw.levels, raw.row_names, raw.row_name_column, raw.decimal, raw.units,
            (*notes, *raw.notes),
        )
    }  # fmt: skip


def _excel_reader(path: Path) -> Any:
    try:
        return require("openpyxl", "table")
    except ImportError as error:
        raise TableRefused(
            f"{path.name}: reading Excel needs openpyxl: pip install 'latens[table]'. Or save the sheet as CSV."
        ) from error


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value)


def _npy(path: Path) -> dict[str, Table]:
    return {"x": _from_array(path, _loaded(path))}


def _npz(path: Path) -> dict[str, Table]:
    """One matrix, a sparse matrix as SciPy saves it, or several with equal rows as views."""
    content = _loaded(path)
    if {"data", "shape", "format"} <= set(content.files):
        from scipy.sparse import load_npz

        return {"x": _from_sparse(load_npz(path))}
    arrays = {name: content[name] for name in content.files}
    tables = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiub"}
    if not tables:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise TableRefused(f"{path.name} holds no matrix of numbers (rows x columns); it has {shapes or 'nothing'}.")
    if len(tables) == 1:
        return {"x": _from_array(path, next(iter(tables.values())))}
    rows = {name: len(array) for name, array in tables.items()}
    if len(set(rows.values())) > 1:
        sizes = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise TableRefused(
            f"{path.name} holds matrices with different numbers of rows ({sizes}); views have the same "
            "rows. Save the one to be fitted as .npy."
        )
    return {name: _from_array(path, array) for name, array in tables.items()}


def _loaded(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = "it holds objects, which would run code" if "pickle" in str(error) else str(error).splitlines()[0]
        raise TableRefused(f"{path.name} is no file of numbers that can be read ({why}).") from error


def _from_array(path: Path, array: NDArray[Any]) -> RawTable:
    if array.dtype.names:
        names = tuple(array.dtype.names)
        return RawTable(names, tuple(_as_column(array[name]) for name in names))
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise TableRefused(
            f"{path.name} holds an array of shape {array.shape} and type {array.dtype}; expected numbers, rows x "
            "columns."
        )
    matrix = np.asfortranarray(array, dtype=np.float64)
    return RawTable(tuple(f"x{j}" for j in range(matrix.shape[1])), tuple(matrix.T))


def _as_column(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    return np.array([text or None for text in values.astype(str).tolist()], dtype=object)


def _from_sparse(matrix: Any, names: Any = None, rows: Any = None) -> SparseTable:
    matrix = csr_array(matrix, dtype=np.float64)
    if np.isnan(matrix.data).any() or np.isinf(matrix.data).any():
        raise TableRefused("a sparse matrix with NaN or infinity is not read; save it as a dense matrix.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    names = tuple(f"x{j}" for j in range(matrix.shape[1])) if names is None else tuple(map(str, names))
    return SparseTable(matrix, names, None if rows is None else tuple(map(str, rows)))


def _mtx(path: Path) -> dict[str, Table]:
    """A Matrix Market file, with the names in the files beside it where they are as 10x writes them."""
    from scipy.io import mmread

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # which class of sparse matrix: any will do
            matrix = mmread(path)
    except (OSError, ValueError) as error:
        raise TableRefused(f"{path.name} is no Matrix Market file that can be read ({error}).") from error
    features = _names_beside(path, ("features.tsv", "genes.tsv"), matrix.shape[0])
    cells = _names_beside(path, ("barcodes.tsv",), matrix.shape[0] if features is None else matrix.shape[1])
    if features is not None:
        return {"x": _from_sparse(matrix, cells, features)}
    if not issparse(matrix):
        return {"x": _from_array(path, np.asarray(matrix))}
    return {"x": _from_sparse(matrix, None, cells)}


def _names_beside(path: Path, files: tuple[str, ...], count: int) -> list[str] | None:
    for name in files:
        for beside in (path.with_name(name), path.with_name(f"{name}.gz")):
            if beside.is_file():
                lines, _ = read_lines(beside, "\t")
                if len(lines) == count:
                    return [line[min(1, len(line) - 1)] for line in lines]
    return None


def _h5ad(path: Path) -> dict[str, Table]:
    anndata = require("anndata", "omics")
    return {"x": _annotated(_open(path, anndata.read_h5ad))}


def _h5mu(path: Path) -> dict[str, Table]:
    mudata = require("mudata", "omics")
    whole = _open(path, mudata.read_h5mu)
    copies = tuple(f"{name}:" for name in whole.mod)  # columns of .obs that its tables have as well
    common = whole.obs[[name for name in whole.obs.columns if not str(name).startswith(copies)]]
    return {str(name): _annotated(view, common) for name, view in whole.mod.items()}


def _open(path: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages about their own future
            return reader(path)
    except (OSError, ValueError, KeyError) as error:
        raise TableRefused(f"{path.name} cannot be read ({type(error).__name__}: {error}).") from error


def _annotated(table: Any, common: Any = None) -> Table:
    """The rows of AnnData, and what `.obs` says of them; `common` is what MuData says of the rows of all its tables."""
    if table.X is None:
        raise TableRefused("the file has no X; write the layer you mean into X.")
    obs = table.obs if common is None else table.obs.join(common.drop(columns=table.obs.columns, errors="ignore"))
    about = RawTable.of_frame(obs)
    known = dict(zip(about.names, about.values, strict=True))
    if issparse(table.X):
        return replace(_from_sparse(table.X, table.var_names, table.obs_names), known=known)
    matrix = np.asfortranarray(np.asarray(table.X), dtype=np.float64)
    return RawTable(
        tuple(map(str, table.var_names)), tuple(matrix.T), row_names=tuple(map(str, table.obs_names)), known=known
    )


BINARY: Mapping[str, Callable[..., dict[str, Table]]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".xlsx": _excel,
    ".xlsm": _excel,
    ".xls": _excel,
    ".ods": _excel,
    ".npy": _npy,
    ".npz": _npz,
    ".mtx": _mtx,
    ".h5ad": _h5ad,
    ".h5mu": _h5mu,
}
