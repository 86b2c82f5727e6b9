"""Whether a fit will need more memory than is free, said before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from latens.array import Array
from latens.array.transfer import is_sparse
from latens.core import Compressing, Model, Rows, State, without_transients
from latens.errors import LittleMemory, warn
from latens.estimators.rows.data import Data, InMemory
from latens.system.memory import free_memory, in_words

__all__ = ["doubt_memory", "fit_bytes"]

COPIES_OF_ROWS = 2  # rows in the units of the model, and what passes over them take at their largest
COPIES_OF_POSTERIORS = 2  # of rows: those of the last pass, and of this one
COPIES_OF_GLOBALS = 4  # the posterior, its statistics, and both of what is tried instead
PROBED = 32  # rows that tell how large the posterior of one is
FLOAT = 8  # bytes


def doubt_memory(needed: float) -> None:
    """Warn of a fit that needs so many bytes besides its data, where fewer are free."""
    free = free_memory()
    if free is not None and needed > free:
        warn(
            LittleMemory(
                f"this fit needs about {in_words(needed)} of memory besides its data, and {in_words(free)} are free: "
                "it may be slow, or be killed.",
                "Fit rows in blocks with latens.scan, pass X as float32, or choose fewer n_components or columns.",
            ),
            once=True,  # a fit may be made of several
        )


def fit_bytes(model: Model, data: Data, sample: Rows, starts: Sequence[State]) -> float:
    """Bytes that a fit of these rows will need besides them; 0 where another device holds the rows.

    Rows that are read in blocks take one block at a time, and their posteriors go to a file where they are large.
    """
    if isinstance(data, InMemory) and not data.may_be_threaded:
        return 0.0
    if isinstance(model, Compressing):
        # sums of products of columns, or the rows themselves where those are fewer numbers
        return float(COPIES_OF_GLOBALS * FLOAT * data.n_columns * min(data.n_columns, data.n_rows))
    q = starts[0].q
    needed = float(COPIES_OF_GLOBALS * n_bytes(q))
    if not isinstance(data, InMemory):
        return needed
    needed += COPIES_OF_ROWS * n_bytes(data.rows.x)
    if not model.exact_local(q):
        probe = sample[slice(0, PROBED)]
        local = without_transients(model.local_step(q, probe))
        needed += COPIES_OF_POSTERIORS * data.n_rows * n_bytes(local) / len(probe)
    return needed


def n_bytes(value: Array | Any) -> int:
    """Bytes of the arrays in a value: a record of records, a mapping or a sequence of them, or an array itself."""
    if is_sparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if is_dataclass(value):
        return sum(n_bytes(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, Mapping):
        return sum(map(n_bytes, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(n_bytes, value))
    return int(getattr(value, "nbytes", 0))
