"""One place for threads: BLAS is held to one, and row blocks are spread over a pool.

A block's work then runs on one core and sums are added in a fixed tree, so that the bits
of a result do not depend on how many threads there are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

__all__ = ["on_slabs", "one_blas_thread", "slabs_on_threads", "waking_map"]

LEAST_SHARED = 2**14  # entries, at about ten nanoseconds each, from which other threads are worth waking

_lock = threading.Lock()
_holders = 0
_limit: Any = None
_libraries: ThreadpoolController | None = None
_n_modules = 0  # that were imported when the libraries were looked for


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread. The limit is one for the whole process, so holders are counted, not nested."""
    global _holders, _limit
    with _lock:
        if _holders == 0:
            _take_control()
            _limit = _blas_libraries().limit(limits=1, user_api="blas")
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _take_control()
                _limit.restore_original_limits()
                _take_control()
                _limit = None


def _blas_libraries() -> ThreadpoolController:
    """Those of the process. To look for them takes milliseconds, and only an import can have brought another."""
    global _libraries, _n_modules
    if _libraries is None or len(sys.modules) != _n_modules:
        _libraries, _n_modules = ThreadpoolController(), len(sys.modules)
    return _libraries


def _take_control() -> None:
    """threadpoolctl lets only the thread that first set a limit change it, where it knows; here any holder may."""
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


# threads that a global step may use beside its own; None in threads that are at work on blocks already
_slab_pool: ContextVar[Executor | None] = ContextVar("slab_pool", default=None)


@contextmanager
def slabs_on_threads(n_threads: int) -> Iterator[None]:
    """Let `on_slabs` use so many threads, as long as this one is inside."""
    if n_threads < 2:
        yield
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="latens-slabs") as pool:
        token = _slab_pool.set(pool)
        try:
            yield
        finally:
            _slab_pool.reset(token)


def on_slabs(work: Callable[[int, int, int], None], n: int, size: int, n_entries: int) -> None:
    """Call work(number, start, stop) on slabs of n columns, none of which sees another; entries tell how long it takes.

    Slabs are cut by their size alone, so that what is added slab by slab has the same bits on any number of threads.
    """
    slabs = [(number, start, min(start + size, n)) for number, start in enumerate(range(0, n, size))]
    pool = _slab_pool.get() if n_entries >= LEAST_SHARED else None
    if pool is None:
        for slab in slabs:
            work(*slab)
        return
    others = [pool.submit(work, *slab) for slab in slabs[1:]]
    for slab in slabs[:1]:
        work(*slab)
    for other in others:
        other.result()


def waking_map(pool: Executor) -> Callable[..., Iterable[Any]]:
    """`map` over a pool whose caller wakes up now and then, so that an interrupt reaches it while the pool works."""

    def spread(function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        futures = [pool.submit(function, *one) for one in zip(*arguments, strict=False)]
        try:
            while wait(futures, timeout=0.1).not_done:
                pass
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]

    return spread
