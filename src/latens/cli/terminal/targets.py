"""Where output goes, checked before any work is done for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from latens.cli.terminal.failures import Refused
from latens.system.atomic_write import special_file

__all__ = ["new_file", "new_folder"]


def new_file(path: Path) -> Path:
    """An absolute path at which a file can be written; its folder must exist."""
    path = path.expanduser().absolute()
    if path.is_dir():
        raise Refused(f"{path} is a folder; name a file, such as {path / 'page.html'}.")
    kind = special_file(path)
    if kind is not None:
        raise Refused(f"{path} is {kind}, which a file must not replace; choose another path.")
    if not path.parent.is_dir():
        raise Refused(f"the folder {path.parent} does not exist; create it or choose another path.")
    _try_writing(path.parent)
    return path


def new_folder(path: Path) -> Path:
    """An absolute path of a folder that exists or can be made."""
    path = path.expanduser().absolute()
    ground = next(one for one in (path, *path.parents) if one.exists())
    if not ground.is_dir():
        raise Refused(f"{ground} is a file, so there can be no folder {path}; choose another path.")
    _try_writing(ground)
    return path


def _try_writing(folder: Path) -> None:
    """Trying is the only test that holds on every system."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Refused(f"cannot write to {folder} ({reason}); choose another path.") from error
