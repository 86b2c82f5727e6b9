"""Writing a file all or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["remove_abandoned_drafts", "replacing", "special_file"]

JUST_BEGUN = 60.0  # seconds in which a draft may not be locked yet


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a draft beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Raises
    ------
    FileNotFoundError
        If the folder of `path` does not exist.
    IsADirectoryError, FileExistsError
        If there is a folder, a device or a pipe at `path`.
    """
    target = Path(os.path.realpath(path))  # through a link, as ordinary writing would go
    _check_target(path, target)
    remove_abandoned_drafts(target)
    draft = target.with_name(f"{_draft_stem(target)}{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            _hold(file)
            if target.exists():
                shutil.copymode(target, draft)  # before a byte is written: what was private stays so
            yield file
            file.flush()
            os.fsync(file.fileno())  # the name must not move before the bytes are on the disk
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _check_target(path: Path, target: Path) -> None:
    """Refuse what cannot be replaced by a file."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(path.parent)!r} does not exist, so {path.name!r} cannot be written there; "
            "create it first, with Path.mkdir(parents=True), or choose another."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file.")
    kind = special_file(path)
    if kind is not None:
        raise FileExistsError(f"{str(path)!r} is {kind}, which a file must not replace; give the name of a file.")


def special_file(path: str | os.PathLike[str]) -> str | None:
    """What stands at a path in words, if it is neither a regular file nor a folder nor nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def _draft_stem(target: Path) -> str:
    """How the names of its drafts begin: short, whatever the target is called."""
    return f".latens-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}-"


def _hold(file: BinaryIO) -> None:
    """Lock a draft while it is written, where the system has such locks: they end with the process, however it ends."""
    if fcntl is not None:
        with suppress(OSError):  # some network drives have none
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_abandoned_drafts(path: Path, older_than: float = JUST_BEGUN) -> None:
    """Drafts of the same file that no process holds were left by one that was killed.

    With `older_than=0` also those that were just begun: one of them may be of a process that is about to lock it, whose
    writing then fails.
    """
    if fcntl is None:
        return
    target = Path(os.path.realpath(path))
    for draft in target.parent.glob(f"{_draft_stem(target)}*.tmp"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime < older_than:
                continue
            with open(draft, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a loss of power, where folders can be synchronised."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
