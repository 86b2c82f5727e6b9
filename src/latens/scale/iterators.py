"""Blocks that can only be had one after another: a function that returns an iterator, a DataLoader of torch.

A pass begins the iterator anew. Blocks are asked for in order, so that nothing is read twice within a pass.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from latens.array.transfer import detached, is_sparse
from latens.scale.blocks import Block

__all__ = ["IteratorReader", "is_data_loader", "loader_reader"]


class IteratorReader:
    """The blocks of `make()`, which must give the same blocks each time it is called."""

    concurrent = False

    def __init__(self, make: Callable[[], Iterable[Any]], names: tuple[str, ...] | None = None) -> None:
        self._make, self._lock = make, threading.Lock()
        self._under_way: Iterator[Any] | None = None
        self._next = 0
        self._seen: dict[int, bytes] = {}
        self.names = names
        first = next(iter(make()), None)
        if first is None:
            raise ValueError("the iterator has no block; give a function that returns a new iterator at every call.")
        numbers = _numbers(first)
        self.names = names or _names(first)
        self.n_columns, self.dtype = int(numbers.shape[1]), numbers.dtype

    def handles(self, block_rows: int | None) -> Sequence[int]:
        """Numbers of the blocks; to count them takes a pass unless the iterable has a length."""
        made = self._make()
        n = len(made) if isinstance(made, Sized) else sum(1 for _ in made)
        if n == 0:
            raise ValueError("the second call gave an iterator without blocks; return a new iterator at every call.")
        return range(n)

    def read(self, handle: int, numbers: Sequence[Any], others: Sequence[Any]) -> Block:
        with self._lock:
            block = self._at(handle)
        values = _numbers(block)
        if values.shape[1] != self.n_columns:
            raise ValueError(
                f"block {handle} has {values.shape[1]} columns and the first has {self.n_columns}; give equal ones."
            )
        mark = _mark(values)
        if self._seen.setdefault(handle, mark) != mark:
            raise ValueError(
                f"block {handle} holds other rows than it did at the first pass; every pass must see the same rows in "
                "the same order. Give a function that draws nothing by chance, or store the rows first: np.save."
            )
        if self.names is not None:
            numbers = [self.names.index(name) for name in numbers]
            entries = {name: values[:, self.names.index(name)] for name in others}
        else:
            entries = {str(column): values[:, column] for column in others}
        whole = list(numbers) == list(range(self.n_columns))
        return Block(values if whole else values[:, list(numbers)], entries)

    def _at(self, number: int) -> Any:
        if self._under_way is None or number < self._next:
            self._under_way, self._next = iter(self._make()), 0
        while True:
            try:
                block = next(self._under_way)
            except StopIteration:
                self._under_way = None
                raise ValueError(
                    f"the iterator ended after {self._next} blocks and had more before; it must give the same ones "
                    "at every call."
                ) from None
            self._next += 1
            if self._next == number + 1:
                return block


def is_data_loader(source: Any) -> bool:
    """Whether it is a DataLoader of torch; torch is not imported for the question."""
    torch = sys.modules.get("torch.utils.data")
    return torch is not None and isinstance(source, torch.DataLoader)


def loader_reader(loader: Any) -> IteratorReader:
    """The batches of a DataLoader, whose order must not change between passes.

    An IterableDataset has an order of its own and often no length: its batches are counted by a pass.
    """
    if isinstance(loader.dataset, sys.modules["torch.utils.data"].IterableDataset):
        return IteratorReader(lambda: (batch for batch in loader))
    batched = loader.batch_sampler  # of torch's own kind the rows are drawn by the sampler within it
    own = type(batched).__name__ if batched is not None else "BatchSampler"
    sampler = type(getattr(batched, "sampler", loader.sampler)).__name__ if own == "BatchSampler" else own
    if sampler != "SequentialSampler":
        raise ValueError(
            f"the DataLoader draws its rows by a {sampler}, so every pass would see other batches; make it with "
            "shuffle=False."
        )
    return IteratorReader(lambda: loader)


def _numbers(block: Any) -> Any:
    """The rows of a block: an array, a table, or the first of several things that a DataLoader gives."""
    block = block[0] if isinstance(block, tuple | list) else block
    if is_sparse(block):
        block = block.toarray()
    values = np.asarray(block.to_numpy() if hasattr(block, "to_numpy") else detached(block))
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise ValueError(
            f"a block is of shape {values.shape} and type {values.dtype.name}; expected numbers, rows x columns."
        )
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _mark(values: Any) -> bytes:
    """What tells these rows from others: how many they are, the first and the last."""
    ends = np.ascontiguousarray(values[[0, -1]]).tobytes() if len(values) else b""
    return hashlib.blake2b(ends + str(len(values)).encode(), digest_size=16).digest()


def _names(block: Any) -> tuple[str, ...] | None:
    columns = getattr(block, "columns", None)
    return None if columns is None else tuple(map(str, columns))
