"""One place for threads: BLAS is held to one, and row blocks are spread over a pool.

A block's work then runs on one core and sums are added in a fixed tree, so that the bits
of a result do not depend on how many threads there are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "waking_map"]

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
