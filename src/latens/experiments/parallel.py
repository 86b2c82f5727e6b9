"""Trials of an experiment side by side, as many as the machine has cores and memory for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from latens.system.memory import free_memory

__all__ = ["side_by_side"]

T = TypeVar("T")


def side_by_side(
    work: Callable[..., T], tasks: Iterable[tuple[Any, ...]], n_jobs: int, gigabytes: float = 0.5
) -> list[T]:
    """Answers of `work(*task)`, in the order of the tasks.

    Parameters
    ----------
    work : callable
        A function of a module; all that it needs, seeds too, is in the task.
    tasks : iterable of tuple
    n_jobs : int
        Processes; 0: one for each core, 1: none beside this one. Each holds BLAS to its share of the cores.
    gigabytes : float
        What one task needs; fewer run at once where memory is short.
    """
    from joblib import Parallel, cpu_count, delayed

    waiting = list(tasks)
    most = min(n_jobs or cpu_count(), len(waiting), max(1, int(_memory() / gigabytes)))
    if most <= 1:
        return [work(*task) for task in waiting]
    return list(Parallel(n_jobs=most)(delayed(work)(*task) for task in waiting))


def _memory() -> float:
    """Gigabytes that may be filled: nine tenths of what is free, or 8 where nobody says."""
    free = free_memory()
    return 8.0 if free is None else 0.9 * free / 1e9
