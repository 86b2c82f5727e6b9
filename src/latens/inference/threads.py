"""One place for threads: BLAS is held to one, and row blocks are spread over a pool.

A block's work then runs on one core and sums are added in a fixed tree, so that the bits
of a result do not depend on how many threads there are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_holders = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread. The limit is one for the whole process, so holders are counted, not nested."""
    global _holders, _limit
    with _lock:
        if _holders == 0:
            _limit = threadpool_limits(1, "blas")
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limit.restore_original_limits()
                _limit = None
