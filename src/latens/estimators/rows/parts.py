"""`transform(X, out="dir/")`: answers about rows as a folder of Parquet files, one for each block.

A part is written whole or not at all and says what it is of, so that a call which was broken off goes on with the parts
that are not there yet.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from latens.array.transfer import host
from latens.estimators.rows.lazy import LazyRows
from latens.system.atomic_write import replacing
from latens.system.fingerprint import fingerprint
from latens.system.optional_imports import is_dask, require

__all__ = ["into_parts"]

Method = TypeVar("Method", bound=Callable[..., Any])

KEY = b"latens"  # of what a part is, in its schema


def into_parts(method: Method) -> Method:
    """A method about rows X that also takes `out`, a folder, into which its answers are written."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, *rest: Any, out: Any = None, **options: Any) -> Any:
        if out is None:
            return method(self, X, *rest, **options)
        if options.get("return_cov"):
            raise ValueError("out= writes posterior means and standard deviations; leave return_cov out.")
        names = [str(name) for name in self.get_feature_names_out()]
        about = [type(self).__name__, self.posterior_, self._units, names, rest, options]
        return _write(_blocks_of(method(self, X, *rest, **options), X), names, about, _folder(out))

    return cast("Method", answer)


@dataclass(frozen=True)
class _Blocks:
    """Answers by block, each a function of its number."""

    n_blocks: int
    answer: Callable[[int], Sequence[Any]]  # (n, K) each: means, and maybe standard deviations
    row_names: Callable[[int], Any]  # (n,), None where rows have none
    identity: Callable[[int], Any]  # tells the rows of a block from others, without their answer


def _blocks_of(answers: Any, X: Any) -> _Blocks:
    each = answers if isinstance(answers, tuple) else (answers,)
    if isinstance(each[0], LazyRows):
        scan = each[0].scan
        return _Blocks(
            len(each[0]), lambda number: [lazy.part(number) for lazy in each], scan.names_of_rows, scan.identity
        )
    if is_dask(each[0]):
        named = hasattr(X, "partitions") and hasattr(X, "columns")
        return _Blocks(
            each[0].numblocks[0],
            lambda number: [lazy.blocks[number].compute() for lazy in each],
            lambda number: np.asarray(X.partitions[number].index.compute()) if named else None,
            lambda number: X.name if hasattr(X, "name") else X._name,
        )
    index = getattr(X, "index", None)
    return _Blocks(1, lambda _: each, lambda _: index if hasattr(index, "to_numpy") else None, lambda _: answers)


def _write(blocks: _Blocks, names: Sequence[str], about: Any, folder: Path) -> Path:
    """The parts that are not there yet; rows without names are numbered through."""
    arrow, parquet = require("pyarrow", "table"), require("pyarrow.parquet", "table")
    model, begin = fingerprint(about), 0
    for number in range(blocks.n_blocks):
        path = folder / f"part-{number:05d}.parquet"
        key = fingerprint([model, number, blocks.n_blocks, blocks.identity(number)])
        if path.exists():
            begin += _rows_of(parquet, path, key)
            continue
        columns = _columns(blocks.answer(number), names)
        n = len(next(iter(columns.values())))
        rows = blocks.row_names(number)
        columns = {"row": np.arange(begin, begin + n) if rows is None else np.asarray(rows), **columns}
        table = arrow.table(columns).replace_schema_metadata({KEY: key.encode()})
        with replacing(path) as file:
            parquet.write_table(table, file)
        begin += n
    strange = sorted(path.name for path in folder.glob("part-*.parquet"))[blocks.n_blocks :]
    if strange:
        raise ValueError(
            f"{str(folder)!r} holds {strange[0]!r}, which is no part of this answer; give an empty folder."
        )
    return folder


def _columns(answers: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    mean, *std = answers
    columns = dict(zip(names, host(np.asarray(mean)).T, strict=True))
    for spread in std:
        columns |= dict(zip([f"{name}_std" for name in names], host(np.asarray(spread)).T, strict=True))
    return columns


def _rows_of(parquet: Any, path: Path, key: str) -> int:
    """How many rows a part has that is there already; one that was written for another answer (`key`) is refused."""
    stored = parquet.read_metadata(path)
    if (stored.metadata or {}).get(KEY, b"").decode() != key:
        raise ValueError(
            f"{str(path)!r} is there already, and is of another model, other rows or other options; give an empty "
            "folder."
        )
    return int(stored.num_rows)


def _folder(out: Any) -> Path:
    if not isinstance(out, str | os.PathLike):
        raise TypeError(f"out={out!r} is no path; give the name of a folder, such as 'codes/'.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"out={str(out)!r} is a file; give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
