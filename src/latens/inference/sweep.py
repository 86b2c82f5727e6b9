"""One pass over the blocks: here, or on a pool of threads, with the same bits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from latens.core import Sweep

__all__ = [
    "BlockCounter",
    "Step",
    "Sweep",
    "ThreadedSweep",
    "block_counter",
    "gather",
    "note_blocks",
    "noted",
    "serial_sweep",
    "tree_sum",
]

T = TypeVar("T")

Step = Callable[[Any, Any], tuple[Any, Any]]  # (batch, warm) -> (local, statistics)


def serial_sweep(step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """Block after block; statistics are added as they come, so that few of them are in memory at once."""
    pairs = (step(batch, start) for batch, start in zip(batches, warm, strict=True))
    return gather(noted(pairs, len(batches)))


@dataclass(frozen=True)
class ThreadedSweep:
    """Blocks on a pool of threads, no more of them under way than keep the threads busy."""

    pool: ThreadPoolExecutor
    n_ahead: int = 32  # blocks read or worked on while the oldest is waited for

    def __call__(self, step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        return gather(noted(self._in_order(step, zip(batches, warm, strict=True)), len(batches)))

    def _in_order(self, step: Step, pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        under_way = deque[Future[tuple[Any, Any]]]()
        try:
            for batch, start in pairs:
                under_way.append(self.pool.submit(step, batch, start))
                if len(under_way) > self.n_ahead:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:  # after an error or an interrupt: those that have not begun never will
                future.cancel()


def tree_sum(parts: Iterable[Any]) -> Any:
    """Neighbours in pairs, then pairs of pairs: an order fixed by their number alone.

    Parts are added like the carries of a binary counter, so that of M of them at most log2(M) + 1 sums are held.

    Examples
    --------
    >>> tree_sum(["a", "b", "c", "d", "e"])
    'abcde'
    """
    sums = list[tuple[int, Any]]()  # of 2^level parts each, levels falling
    for part in parts:
        level, total = 0, part
        while sums and sums[-1][0] == level:
            total, level = sums.pop()[1] + total, level + 1
        sums.append((level, total))
    total = sums.pop()[1]
    while sums:
        total = sums.pop()[1] + total
    return total


def gather(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], Any]:
    """Answers of the blocks in their order, and the sum of their statistics."""
    locals_ = list[Any]()

    def statistics() -> Iterator[Any]:
        for local, stats in pairs:
            locals_.append(local)
            yield stats

    total = tree_sum(statistics())
    return tuple(locals_), total


class BlockCounter(Protocol):
    """Who is told how far a pass is, such as the line on the terminal."""

    def show_blocks(self, done: int, total: int) -> None: ...


# that of the fit under way; None where nobody wants to know
block_counter: ContextVar[BlockCounter | None] = ContextVar("block_counter", default=None)


def note_blocks(done: int, total: int) -> None:
    """Tell whoever counts for the fit that is under way, if somebody does, how many blocks of a pass are done."""
    counter = block_counter.get()
    if counter is not None:
        counter.show_blocks(done, total)


def noted(answers: Iterable[T], total: int) -> Iterator[T]:
    """The same answers of blocks one after the other, each of which is counted."""
    for done, answer in enumerate(answers, 1):
        note_blocks(done, total)
        yield answer
