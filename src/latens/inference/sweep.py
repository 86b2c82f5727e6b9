"""One pass over the blocks: here, or on a pool of threads, with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Step", "Sweep", "ThreadedSweep", "serial_sweep", "tree_sum"]

Step = Callable[[Any, Any], tuple[Any, Any]]  # (batch, warm) -> (local, statistics)


class Sweep(Protocol):
    def __call__(self, step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]: ...


def serial_sweep(step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    return _gather([step(batch, start) for batch, start in zip(batches, warm, strict=True)])


@dataclass(frozen=True)
class ThreadedSweep:
    pool: ThreadPoolExecutor

    def __call__(self, step: Step, batches: Sequence[Any], warm: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        return _gather(list(self.pool.map(step, batches, warm)))


def tree_sum(parts: Sequence[Any]) -> Any:
    """Neighbours in pairs, then pairs of pairs: an order fixed by their number alone."""
    while len(parts) > 1:
        pairs = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + list(parts[2 * len(pairs) :])
    return parts[0]


def _gather(pairs: Sequence[tuple[Any, Any]]) -> tuple[tuple[Any, ...], Any]:
    return tuple(local for local, _ in pairs), tree_sum([stats for _, stats in pairs])
