"""Values that are put aside: in memory while they are small, else in files of a folder that lives as long as needed."""

from __future__ import annotations

import math
import mmap
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

__all__ = ["Changed", "PutAside", "Scratch", "mapped"]

IN_MEMORY = 32 * 2**20  # bytes


class PutAside:
    """A value that was put aside; `get` brings it back, and when nobody holds this any more, its file goes."""

    def __init__(self, value: Any = None, path: Path | None = None) -> None:
        self._value, self.path = value, path

    def get(self) -> Any:
        return self._value if self.path is None else pickle.loads(self.path.read_bytes())


class Changed(PutAside):
    """What was put aside, as a function makes it: it is brought back and changed when it is asked for."""

    def __init__(self, aside: PutAside, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self._aside, self._change = aside, change

    def get(self) -> Any:
        return self._change(self._aside.get())


def mapped(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An array in pages of its own, which the system has back as soon as nobody holds it.

    What outlives a pass over blocks lies between their scratch otherwise, and keeps the pages of it from going back.

    Examples
    --------
    >>> mapped((2, 3), "float32").tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, mmap.mmap(-1, n_bytes)) if n_bytes else np.empty(shape, dtype)


class Scratch:
    """A place for values that are needed again later. Its files are this process's own, and gone with it.

    Parameters
    ----------
    in_memory : int
        Bytes of arrays that are kept in memory; what goes beyond them is written to files.

    Examples
    --------
    >>> import numpy as np
    >>> scratch = Scratch(in_memory=100)
    >>> small, large = scratch.put(np.ones(3)), scratch.put(np.ones(1000))
    >>> small.path is None, large.path.exists(), float(large.get().sum())
    (True, True, 1000.0)
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self.in_memory, self.held, self._count = in_memory, 0, 0
        self._lock = threading.Lock()
        self._folder: TemporaryDirectory[str] | None = None

    def put(self, value: Any) -> PutAside:
        size = _size(value)
        with self._lock:
            fits = self.held + size <= self.in_memory
            self.held += size if fits else 0
            path = None if fits else self._path()
        if path is None:
            stored = PutAside(value)
            weakref.finalize(stored, self._release, size)
            return stored
        path.write_bytes(pickle.dumps(value, protocol=5))
        stored = PutAside(path=path)
        weakref.finalize(stored, path.unlink, missing_ok=True)
        return stored

    def _path(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="latens-", ignore_cleanup_errors=True)
        self._count += 1
        return Path(self._folder.name) / f"{self._count}"

    def _release(self, size: int) -> None:
        with self._lock:
            self.held -= size


def _size(value: Any) -> int:
    """Bytes of the arrays within a value."""
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_size(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return int(getattr(value, "nbytes", 0))
