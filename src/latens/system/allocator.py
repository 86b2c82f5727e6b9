"""Memory that was freed, in processes that were told to give it back at once."""

from __future__ import annotations

import ctypes
import os
from functools import cache

__all__ = ["keep_freed_memory"]

# of mallopt in the GNU C library, and how far it raises both by itself where nobody has set either
TRIM_THRESHOLD, MOST_KEPT = -1, 64 * 2**20
MMAP_THRESHOLD, LARGEST_KEPT = -3, 32 * 2**20


@cache
def keep_freed_memory() -> bool:
    """Let the C library keep some freed memory, as it does in other processes; whether that was asked of it.

    Workers of Dask are started with MALLOC_TRIM_THRESHOLD_=65536, so that every array that is freed goes back to the
    system at once. The pages of the next array are then cleared anew, which takes twice the time of the work on them.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST_KEPT)) and bool(mallopt(TRIM_THRESHOLD, MOST_KEPT))
