"""One pass over the blocks: here, or on a pool of threads, with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

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

FEW_NUMBERS = 2**15  # whose sum takes less time than to wait for the interpreter
MOST_WAITING = 64  # sums of so few numbers that are left for the end of a pass
SECONDS_BETWEEN_LOOKS = 0.1  # at a pass: how far it is, and whether somebody wants to stop it

Step = Callable[[Any, Any], tuple[Any, Any]]  # (batch, warm) -> (local, statistics)


def serial_sweep(step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """Block after block; statistics are added as they come, so that few of them are in memory at once."""
    pairs = (step(batch, start) for batch, start in zip(batches, warm, strict=True))
    return gather(noted(pairs, len(batches)))


@dataclass(frozen=True)
class ThreadedSweep:
    """Blocks on a pool of threads, each of which takes the next one as soon as it is done with one."""

    pool: ThreadPoolExecutor
    n_threads: int = 32  # at most: those of a smaller pool leave nothing to do for the others

    def __call__(self, step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        share, n_noted = _Share(step, batches, warm), 0
        under_way = [self.pool.submit(share.work) for _ in range(min(self.n_threads, len(batches)))]
        try:
            while n_noted < len(batches):
                done = wait(under_way, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_EXCEPTION).done
                for future in done:
                    future.result()
                while n_noted < share.n_done:
                    n_noted += 1
                    note_blocks(n_noted, len(batches))
        finally:
            share.is_over = True  # after an error or an interrupt: blocks that have not begun never will
        return tuple(share.answers), share.total()


class _Share:
    """The blocks of one pass, which threads take one by one; whoever has the second of two sums adds them.

    Neither a thread nor the one that waits for all hands a block over: each time would be a wait for the interpreter.
    Nor do threads add sums of few numbers, unless there are many of them: at the end nobody waits for who does.
    """

    def __init__(self, step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> None:
        if len(batches) != len(warm):
            raise ValueError(f"{len(batches)} blocks and {len(warm)} local posteriors do not belong together.")
        self.step, self.batches, self.warm = step, batches, warm
        self.answers: list[Any] = [None] * len(batches)
        self.is_over, self.n_done = False, 0
        self._next, self._lock = count(), Lock()
        self._sums = dict[tuple[int, int], Any]()  # by level and place: of 2^level blocks each
        self._most_waiting: int | None = None  # sums that are left for the end; not known before the first

    def work(self) -> None:
        try:
            while not self.is_over and (number := next(self._next)) < len(self.batches):
                self.answers[number], statistics = self.step(self.batches[number], self.warm[number])
                self._add(number, statistics)
        except BaseException:
            self.is_over = True
            raise

    def _add(self, place: int, total: Any) -> None:
        """As `tree_sum` does: neighbours in pairs, then pairs of pairs."""
        level = 0
        if self._most_waiting is None:
            self._most_waiting = MOST_WAITING if _n_numbers(total) <= FEW_NUMBERS else 0
        while True:
            with self._lock:
                other = self._sums.pop((level, place ^ 1), None) if len(self._sums) >= self._most_waiting else None
                if other is None:
                    self._sums[level, place] = total
                    self.n_done += 1
                    return
            total = other + total if place % 2 else total + other
            level, place = level + 1, place // 2

    def total(self) -> Any:
        """Of neighbours that are left, and then of what has none, from right to left."""
        sums = self._sums
        while (pair := next((at for at in sums if at[1] % 2 == 0 and (at[0], at[1] + 1) in sums), None)) is not None:
            level, place = pair
            sums[level + 1, place // 2] = sums.pop(pair) + sums.pop((level, place + 1))
        (*rest, (_, total)) = sorted(sums.items(), key=lambda item: -item[0][0])
        for _, part in reversed(rest):
            total = part + total
        return total


def _n_numbers(total: Any) -> int:
    """About how many numbers statistics are made of."""
    if isinstance(total, Mapping):
        return sum(map(_n_numbers, total.values()))
    if is_dataclass(total):
        return sum(_n_numbers(getattr(total, part.name)) for part in fields(total))
    return total.size if isinstance(total, np.ndarray) else 1


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
