"""Writing a file all or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a draft beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Raises
    ------
    FileNotFoundError
        If the folder of `path` does not exist.
    """
    target = Path(os.path.realpath(path))  # through a link, as ordinary writing would go
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(path.parent)!r} does not exist, so {path.name!r} cannot be written there; "
            "create it first, with Path.mkdir(parents=True), or choose another."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file.")
    draft = target.with_name(f".latens-{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # the name must not move before the bytes are on the disk
        if target.exists():
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a loss of power, where folders can be synchronised."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
