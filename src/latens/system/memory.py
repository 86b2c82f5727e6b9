"""How much memory is free, as far as the system says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["free_memory", "in_words", "peak_memory"]

GROUP = Path("/sys/fs/cgroup")  # of the container that the process runs in, where there is one


def free_memory() -> int | None:
    """Bytes that could be taken now, the smaller of the machine's and the container's; None where nobody says."""
    known = [each for each in (_of_machine(), _of_container()) if each is not None]
    return min(known) if known else None


def peak_memory() -> int | None:
    """Bytes that the process has held at most so far; None where the system does not say."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)


def in_words(size: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> in_words(19.2e9), in_words(5e5)
    ('19.2 GB', '500 kB')
    """
    for unit, bytes_ in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size:.0f} bytes"


def _of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_container() -> int | None:
    try:
        limit, used = ((GROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None
