"""What Dask costs beside memory: CPU of a fit, and of the client and the scheduler for each chunk; kills of workers."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most

__all__ = ["costs", "kills"]

D, K = 16, 16


def costs(setting: Setting) -> list[Table]:
    from distributed import wait

    full = setting.name == "full"
    n, chunk, n_small = (2_000_000, 100_000, 400) if full else (20_000, 5_000, 20)
    x = _rows(
        n, distance=0.6
    )  # clusters overlap: the bound rises in every iteration, so that both fits make all of them
    began = time.process_time()
    memory = _mixture(n_jobs=1).fit(x)
    alone = time.process_time() - began
    with _cluster(1) as client:
        spread = _chunked(x, chunk).persist()
        wait(spread)
        client.submit(_warm, pure=False).result()  # imports are not counted
        idle = _idle(client)
        before, clock = _cpu(client), time.perf_counter()
        model = _mixture().fit(spread)
        here, there = _cpu(client)[0] - before[0], _cpu(client)[1] - before[1]
        wall = time.perf_counter() - clock
        each = _per_chunk(client, n_small)
    cells = {
        "rows": n,
        "chunk": chunk,
        "memory CPU s": alone,
        "Dask CPU s": here + there,
        "ratio": (here + there) / alone,
        "of it workers": there,
        "wall s": wall,
        "CPU s per s of an idle cluster": idle,
        "ratio without": (here + there - idle * wall) / alone,
        "iterations": model.n_iter_,
        "in memory": memory.n_iter_,
        "ms per chunk": 1000 * each,
        "same components": int(model.n_components_ == memory.n_components_),
    }
    goals = {"ratio": at_most(1.15), "ms per chunk": at_most(1.5), "same components": at_least(1)} if full else {}
    notes = [
        f"full mixture, D = {D}, K = {K}, 10 iterations; CPU of client, scheduler and worker together",
        "an idle cluster has its own work (heartbeats, profiles) by the clock; `ratio without` leaves it out",
        f"ms per chunk: client and scheduler, {n_small} chunks of 100 rows, the pass that surveys columns, median of 5",
    ]
    return [Table("A fit on Dask beside memory", [Row(cells, goals)], notes)]


def kills(setting: Setting) -> list[Table]:
    """Workers killed at random moments, lazy and persisted chunks, three workers: the bits of a calm fit."""
    n_kills = 10 if setting.name == "full" else 2
    x, rows, moments = _rows(60_000), [], random.Random(FIRST_SEED)
    with _cluster(3) as client:
        calm = _mixture().fit(_chunked(x, 5_000))
        for kind in ("lazy", "persisted"):
            hits = same = 0
            while hits < n_kills:
                data = _chunked(x, 5_000)
                data = data.persist() if kind == "persisted" else data
                client.wait_for_workers(3, timeout=120)
                pids = list(client.run(os.getpid).values())
                killer = threading.Timer(moments.uniform(0.1, 2.0), os.kill, (moments.choice(pids), signal.SIGKILL))
                killer.start()
                model = _mixture().fit(data)
                if killer.is_alive():  # the fit was quicker
                    killer.cancel()
                    continue
                hits, same = hits + 1, same + (model.elbo_history_.tobytes() == calm.elbo_history_.tobytes())
                print({"chunks": kind, "kills": hits, "same bits": same}, flush=True)
            rows.append(Row({"chunks": kind, "kills": hits, "same bits": same}, {"same bits": at_least(hits)}))
    return [Table("Workers killed by SIGKILL at random moments, three workers", rows)]


def _mixture(**options: Any) -> Any:
    import latens

    return latens.GaussianMixture(K, random_state=0, moves=False, n_init=1, max_iter=10, tol=0, **options)


def _rows(n: int, distance: float = 3.0) -> Any:
    rng = np.random.default_rng(FIRST_SEED)
    return distance * rng.normal(size=(K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D))


def _chunked(x: Any, chunk: int) -> Any:
    import dask.array

    return dask.array.from_array(x, chunks=(chunk, x.shape[1]))


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    """Small data stay on the workers, too.

    A worker that is seen dead 15 seconds after it was lost is given up by the cluster even when it is being started
    again: it may have come back and been killed once more in between. Here nobody is given up.
    """
    import dask
    from distributed import Client, LocalCluster

    from latens.scale import dask_blocks

    before, dask_blocks.MOST_BYTES_GATHERED = dask_blocks.MOST_BYTES_GATHERED, 0
    try:
        with (
            dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
            Client(cluster) as client,
        ):
            yield client
    finally:
        dask_blocks.MOST_BYTES_GATHERED = before


def _cpu(client: Any) -> tuple[float, float]:
    """CPU seconds so far, of this process with client and scheduler, and of the workers."""
    return time.process_time(), sum(client.run(time.process_time).values())


def _idle(client: Any, seconds: float = 3.0) -> float:
    """CPU seconds a second of a cluster that has nothing to do."""
    before = _cpu(client)
    time.sleep(seconds)
    return (sum(_cpu(client)) - sum(before)) / seconds


def _warm() -> None:
    _mixture().fit(_rows(2000))


def _per_chunk(client: Any, n_chunks: int) -> float:
    """CPU seconds of client and scheduler for each chunk of a pass in which workers do next to nothing."""
    from latens.core.source import _survey_step
    from latens.scale.dask_blocks import dask_source

    source = dask_source(_chunked(np.ones((100 * n_chunks, D)), 100).persist())
    spent = []
    for _ in range(5):
        began = time.process_time()
        source.total(_survey_step)
        spent.append(time.process_time() - began)
    return float(np.median(spent)) / n_chunks
