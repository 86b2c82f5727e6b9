"""LazyFrames of polars: a block is a slice of the query, collected when it is read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.scale.arrays import BLOCK_BYTES
from latens.scale.blocks import Block, as_numbers, row_ranges

__all__ = ["LazyFrameReader", "is_lazy_frame", "lazy_frame_reader"]


@dataclass(frozen=True)
class LazyFrameReader:
    query: Any  # polars.LazyFrame
    n_rows: int
    names: tuple[str, ...]
    single: bool  # all columns are float32
    concurrent: bool = True

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.single else np.float64)

    def handles(self, block_rows: int | None) -> Sequence[tuple[int, int]]:
        return row_ranges(self.n_rows, block_rows or max(1, BLOCK_BYTES // (8 * self.n_columns)))

    def read(self, handle: tuple[int, int], numbers: Sequence[str], others: Sequence[str]) -> Block:
        start, stop = handle
        frame = self.query.select(*dict.fromkeys([*numbers, *others])).slice(start, stop - start).collect()
        if len(frame) != stop - start:
            raise ValueError(
                f"rows {start} to {stop} of the LazyFrame are {len(frame)} rows now: its data have changed since it "
                "was scanned. Call latens.scan again and fit anew."
            )
        read = {name: frame.get_column(name).to_numpy() for name in frame.columns}
        where = "the LazyFrame"
        return Block(as_numbers({name: read[name] for name in numbers}, where), {name: read[name] for name in others})


def is_lazy_frame(source: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(source, polars.LazyFrame)


def lazy_frame_reader(query: Any) -> LazyFrameReader:
    """Counts the rows once."""
    schema = query.collect_schema()
    n_rows = int(query.select(sys.modules["polars"].len()).collect().item())
    single = all(str(kind) == "Float32" for kind in schema.dtypes())
    return LazyFrameReader(query, n_rows, tuple(schema.names()), single)
