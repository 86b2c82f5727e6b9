"""A pass on a cluster, simulated task by task: one scheduler that handles tasks in turn, and workers of unequal speed.

The scheduler needs some time for each task, to send it out and to take its answer. A worker takes a chunk when it is
free. Sums are added in a tree of arity 16, whose tasks wait for all of their parts. Nothing else happens.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

__all__ = ["Cluster", "simulate"]

ARITY = 16


@dataclass(frozen=True)
class Cluster:
    n_cores: int
    per_task: float  # seconds of the scheduler
    add: float  # seconds of a task that adds sums
    spread: float = 0.1  # standard deviation of the logarithm of a chunk's time


def simulate(cluster: Cluster, n_chunks: int, per_chunk: float, rng: np.random.Generator) -> float:
    """Seconds from the start of a pass to its sum."""
    times = per_chunk * np.exp(cluster.spread * rng.normal(size=n_chunks) - 0.5 * cluster.spread**2)
    parents, needs = _tree(n_chunks)
    durations = np.concatenate([times, np.full(len(needs) - n_chunks, cluster.add)])
    ready = list(range(n_chunks))[::-1]  # tasks whose parts are there, the first one last
    free, clock = cluster.n_cores, 0.0
    under_way: list[tuple[float, int]] = []  # when a task ends
    waiting = list(needs)
    while True:
        while ready and free:
            task = ready.pop()
            clock += cluster.per_task
            free -= 1
            heapq.heappush(under_way, (clock + durations[task], task))
            while under_way and under_way[0][0] <= clock:  # answers that came in the meantime
                free += _done(heapq.heappop(under_way)[1], parents, waiting, ready)
        if not under_way:
            return float(clock)
        ended, task = heapq.heappop(under_way)
        clock = max(clock, ended)
        free += _done(task, parents, waiting, ready)


def _done(task: int, parents: list[int], waiting: list[int], ready: list[int]) -> int:
    parent = parents[task]
    if parent >= 0:
        waiting[parent] -= 1
        if not waiting[parent]:
            ready.append(parent)
    return 1


def _tree(n_chunks: int) -> tuple[list[int], list[int]]:
    """Of each task the one that adds its sum, -1 for the last, and how many parts it waits for."""
    parents, needs, level = [-1] * n_chunks, [0] * n_chunks, list(range(n_chunks))
    while len(level) > 1:
        above = []
        for at in range(0, len(level), ARITY):
            part = level[at : at + ARITY]
            for task in part:
                parents[task] = len(needs)
            above.append(len(needs))
            needs.append(len(part))
            parents.append(-1)
        level = above
    return parents, needs
