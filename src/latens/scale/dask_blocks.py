"""Dask arrays and dataframes: chunks stay on the workers, steps travel to them, one sum comes back.

A step is pickled once and enters the graph as a task of its own, never by `scatter`: scattered data are lost with their
worker. Tasks depend on (step, chunk) alone and nothing is pinned to a worker, so that any of them can be done again
elsewhere; sums are added in a tree fixed by the number of chunks, so that the bits do not depend on who did what.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from latens.array.transfer import is_sparse
from latens.core import Rows, Source, SumOnly
from latens.inference.sweep import note_blocks, tree_sum
from latens.scale.blocks import as_numbers
from latens.scale.scan import Known, as_rows
from latens.system.allocator import keep_freed_memory
from latens.system.optional_imports import require
from latens.system.threads import one_blas_thread

__all__ = ["DaskSweep", "dask_source", "gathered", "map_chunks"]

ARITY = 16  # a power of two: the tree of sums is then that of pairs
PATIENCE = 45.0  # seconds in which no worker has anything to do before a pass is given up
SECONDS_BETWEEN_LOOKS = 2.0  # seconds between two looks at how far a pass is
RETRIES = 3
STATES_OF_UNDONE = ("waiting", "queued", "no-worker", "processing")  # states of a task of Dask
MOST_BYTES_GATHERED = (
    100 * 2**20
)  # bytes up to which a collection is fetched: a pass over chunks costs milliseconds for each
LOST_CHUNKS = "chunks of X were lost with their worker and cannot be made again"
REMEDY = (
    "give lazy chunks (read from files) or persist them anew, not data that were scattered, and fit again (with "
    "checkpoint= a fit goes on where it was)."
)

_log = logging.getLogger(__name__)


def gathered(X: Any) -> Any | None:
    """The rows themselves where they are few, else None; how many they are must be known without work."""
    _refuse_gpu(getattr(X, "_meta", None))
    if hasattr(X, "columns") or not X.nbytes < MOST_BYTES_GATHERED:  # of unknown chunks it is NaN
        return None
    _log.info("X is a Dask array of %.1f MB and is fetched: passes over so few rows cost more.", X.nbytes / 2**20)
    values = X.compute()
    return values.toarray() if is_sparse(values) else values.todense() if hasattr(values, "todense") else values


def dask_source(X: Any, *known: Known) -> Source:
    """The rows of an array or a dataframe of Dask, on the client that is active.

    `known` are columns of a dataframe that tell something of its rows and are no measurements.

    Raises
    ------
    ValueError
        Without an active client, for an array that is not rows x columns, or for chunks on GPUs.
    """
    _refuse_gpu(getattr(X, "_meta", None))
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        beside = {str(column) for one in known for column in one.columns}
        chunks, names = X.to_delayed(), tuple(str(name) for name in X.columns if str(name) not in beside)
        text = [name for name in names if not _is_number(X.dtypes[name])]
        if text:
            raise ValueError(
                f"column {text[0]!r} of X holds {X.dtypes[text[0]]}, not numbers; leave such columns out: "
                f"X.drop(columns={text!r})."
            )
        return _source(chunks, _LoadFrame(names, known), len(names), np.dtype(np.float64), X, names)
    if X.ndim != 2:
        raise ValueError(f"X is a Dask array of {X.ndim} dimensions; expected 2, rows x columns.")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X  # columns of a row together; rows stay where they are
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return _source(X.to_delayed()[:, 0], _load_array, int(X.shape[1]), dtype, X, None)


def _client() -> Any:
    distributed = require("distributed", "dask")
    try:
        return distributed.default_client()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection and no client is active; start one first: "
            "from dask.distributed import Client; client = Client()"
        ) from error


def _refuse_gpu(chunk: Any) -> None:
    """Steps on workers are the host's: a chunk that lies on a GPU would be copied there and back in every pass."""
    if hasattr(chunk, "__cuda_array_interface__") or type(chunk).__module__.startswith("cudf"):
        kind = f"{type(chunk).__module__}.{type(chunk).__qualname__}"
        raise ValueError(
            f"X is a Dask collection with chunks on a GPU ({kind}); several "
            "GPUs are not used together. Give chunks of NumPy or pandas, X.map_blocks(lambda chunk: chunk.get()) for "
            "CuPy, or fit the rows that one GPU holds as a tensor of torch, without Dask."
        )


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


@dataclass(frozen=True)
class DaskSweep:
    """A pass on the cluster of a client."""

    client: Any
    patience: float = PATIENCE
    held: Any = None  # the collection: persisted chunks are forgotten when nobody refers to them

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], handles: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]:
        delayed, cloudpickle = require("dask", "dask").delayed, require("cloudpickle", "dask")
        sent = delayed(_same, pure=False)(cloudpickle.dumps(step))  # a task: any worker can have it again
        if isinstance(step, SumOnly):
            work = delayed(_sum_on_block, pure=False)
            sums = [work(sent, handle, local) for handle, local in zip(handles, carried, strict=True)]
            return (None,) * len(handles), self._gathered([_tree(delayed, sums)], len(handles))[0]
        work = delayed(_on_block, pure=False)
        pairs = [work(sent, handle, local) for handle, local in zip(handles, carried, strict=True)]
        first, second = delayed(_first, pure=False), delayed(_second, pure=False)
        answers = self._gathered([*map(first, pairs), _tree(delayed, [second(pair) for pair in pairs])], len(handles))
        return tuple(answers[:-1]), answers[-1]

    def _gathered(self, wanted: list[Any], n_blocks: int) -> list[Any]:
        """Results of the tasks; an error, never an endless wait, where they cannot come."""
        distributed = require("distributed", "dask")
        futures = self.client.compute(wanted, optimize_graph=False, retries=RETRIES)
        try:
            self._wait_for(futures, n_blocks)
            return list(self.client.gather(futures))
        except (distributed.CancelledError, distributed.KilledWorker) as error:
            raise RuntimeError(f"{LOST_CHUNKS} ({type(error).__name__}); {REMEDY}") from error

    def _wait_for(self, futures: list[Any], n_blocks: int) -> None:
        idle_since = None
        while True:
            try:
                require("distributed", "dask").wait(futures, timeout=SECONDS_BETWEEN_LOOKS)
                return
            except TimeoutError:
                left = min(self.client.run_on_scheduler(_to_be_done), n_blocks)  # other fits may be on the cluster, too
                note_blocks(n_blocks - left, n_blocks)
                busy = any(self.client.processing().values())
                idle_since = None if busy else idle_since or time.monotonic()
                if idle_since is not None and time.monotonic() - idle_since > self.patience:
                    self.client.cancel(futures)
                    raise RuntimeError(self._why_idle()) from None

    def _why_idle(self) -> str:
        """Why nothing happens on the cluster any more."""
        if not self.client.scheduler_info()["workers"]:
            return (
                f"the cluster has had no worker for {self.patience:g} seconds; start workers and fit again (with "
                "checkpoint= a fit goes on where it was)."
            )
        return f"{LOST_CHUNKS} (no worker has had anything to do for {self.patience:g} seconds); {REMEDY}"


def _to_be_done(dask_scheduler: Any) -> int:
    """Blocks of the pass that nobody has taken the step on yet; runs on the scheduler, which names its argument."""
    key_split = require("dask.utils", "dask").key_split  # what Dask calls the tasks of a function
    groups = [dask_scheduler.task_groups.get(key_split(step.__name__)) for step in (_on_block, _sum_on_block)]
    return sum(group.states[state] for group in groups if group is not None for state in STATES_OF_UNDONE)


def _tree(delayed: Any, sums: list[Any]) -> Any:
    add = delayed(tree_sum, pure=False)
    while len(sums) > 1:
        sums = [add(sums[at : at + ARITY]) for at in range(0, len(sums), ARITY)]
    return sums[0]


def _source(chunks: Any, load: Any, n_columns: int, dtype: Any, X: Any, names: tuple[str, ...] | None) -> Source:
    sweep = DaskSweep(_client(), PATIENCE, held=X)
    return Source(tuple(chunks), load, n_columns, dtype, sweep, names, remote=True)


@dataclass(frozen=True)
class _LoadFrame:
    names: tuple[str, ...]
    known: tuple[Known, ...] = ()

    def __call__(self, frame: Any) -> Rows:
        rows = as_rows(as_numbers({name: frame[name].to_numpy() for name in self.names}, "X"))
        aux = {one.name: one.read(*(frame[column].to_numpy() for column in one.columns), rows) for one in self.known}
        return replace(rows, aux=aux) if aux else rows


def _load_array(chunk: Any) -> Rows:
    _refuse_gpu(chunk)  # which arrays do not always tell before they are made
    x = chunk.toarray() if is_sparse(chunk) else np.asarray(chunk.todense() if hasattr(chunk, "todense") else chunk)
    return as_rows(x if x.dtype in (np.float32, np.float64) else x.astype(np.float64))


# What runs on the workers.


def _same(step: bytes) -> bytes:
    return step


@lru_cache(maxsize=4)
def _thawed(step: bytes) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A step is thawed once per worker, not once per chunk."""
    loads: Callable[[bytes], Callable[[Any, Any], tuple[Any, Any]]] = require("cloudpickle", "dask").loads
    return loads(step)


def _on_block(step: bytes, chunk: Any, carried: Any) -> tuple[Any, Any]:
    keep_freed_memory()
    with one_blas_thread():
        return _thawed(step)(chunk, carried)


def _sum_on_block(step: bytes, chunk: Any, carried: Any) -> Any:
    return _on_block(step, chunk, carried)[1]


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def map_chunks(answer: Callable[[Any], Any], X: Any) -> Any:
    """A lazy Dask array: what a function answers about the numbers of each chunk, one row of it for each of X."""
    _refuse_gpu(getattr(X, "_meta", None))
    if hasattr(X, "columns"):
        X = X.to_dask_array()
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    like = np.asarray(answer(np.zeros((1, X.shape[1]), dtype=X.dtype if X.dtype.kind == "f" else np.float64)))
    chunks = (X.chunks[0],) if like.ndim == 1 else (X.chunks[0], (like.shape[1],))
    return X.map_blocks(
        _answered, answer, like, dtype=like.dtype, chunks=chunks, drop_axis=[1] if like.ndim == 1 else [], meta=like[:0]
    )


def _answered(chunk: Any, answer: Callable[[Any], Any], like: Any) -> Any:
    if not len(chunk):
        return like[:0]
    with one_blas_thread():
        return np.asarray(answer(chunk.toarray() if is_sparse(chunk) else chunk))
