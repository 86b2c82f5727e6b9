"""A header and arrays out of an archive that nobody has to trust.

The order matters: what the file is, then its version, then which members it has and how large they are, and only
then their contents.
"""

from __future__ import annotations

import errno
import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from latens.errors import FileRefused
from latens.io.archive.header import parse_header
from latens.io.archive.npy import DTYPES, npy_prefix, npy_size, raw, with_layout
from latens.io.archive.writing import HEADER, LARGEST_HEADER, MODEL, Kind, member_of

__all__ = ["read_archive"]

PIECE = 2**20  # bytes read at once

_BEGINNINGS = {
    b"\x80": "a pickle, which can run any program when it is opened and which latens therefore never opens",
    b"\x93NUMPY": "a single NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "a gzip file",
    b"{": "a text, perhaps JSON",
}


def read_archive(file: BinaryIO, max_bytes: int | None = None, kind: Kind = MODEL) -> tuple[dict[str, Any], list[Any]]:
    """The header of an archive and its arrays, checked against their declared sizes and checksums.

    Raises
    ------
    FileRefused
        If anything is not as `write_archive` writes it.
    """
    size = os.fstat(file.fileno()).st_size
    if max_bytes is not None and size > max_bytes:
        raise FileRefused(f"it has {size} bytes, more than max_bytes={max_bytes}; raise that limit if you trust it.")
    _check_beginning(file.read(8), kind.written_by)
    with _damage_named(), zipfile.ZipFile(file) as archive:
        header = _read_header(archive, size, kind)
        entries = header["arrays"]
        _check_members(archive, entries, size)
        return header, [_read_array(archive, entry) for entry in entries]


def _check_beginning(start: bytes, written_by: str) -> None:
    if start.startswith(b"PK\x03\x04"):
        return
    known = next((known for magic, known in _BEGINNINGS.items() if start.startswith(magic)), None)
    looks = f"it looks like {known}" if known else f"it begins with {start!r}" if start else "it is empty"
    what = "model" if written_by == MODEL.written_by else "file"
    raise FileRefused(f"it is no {what} written by {written_by}: {looks}. Give a file that {written_by} wrote.")


@contextmanager
def _damage_named() -> Iterator[None]:
    """Whatever zipfile makes of damaged bytes, as one kind of error."""
    try:
        yield
    except (FileRefused, MemoryError):
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):
            raise  # the disk's fault, not the file's
        raise FileRefused(_damage(error)) from error
    except Exception as error:
        raise FileRefused(_damage(error)) from error


def _damage(error: Exception) -> str:
    cause = f"{type(error).__name__}: {error}"[:200]
    return f"it is damaged or cut short ({cause}). Copy it again from where it came, or save the model again."


def _read_header(archive: zipfile.ZipFile, size: int, kind: Kind) -> dict[str, Any]:
    found = [info for info in archive.infolist() if info.filename == HEADER]
    if len(found) != 1:
        raise FileRefused(
            f"it is a zip archive with {len(found)} members called {HEADER}; a model has one. Archives of other kinds "
            f"(npz, xlsx, docx) begin alike; give a file that {kind.written_by} wrote."
        )
    _check_stored(found[0])
    if found[0].file_size > min(LARGEST_HEADER, size):
        raise FileRefused(f"its header claims {found[0].file_size} bytes; at most {min(LARGEST_HEADER, size)} can be.")
    return parse_header(archive.read(found[0]), kind)


def _check_members(archive: zipfile.ZipFile, entries: list[dict[str, Any]], size: int) -> None:
    """Every declared member once and of its declared size, none besides, together no more than the file."""
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise FileRefused("two of its members have the same name.")
    declared = {member_of(entry["name"]): npy_size(entry["dtype"], entry["shape"]) for entry in entries}
    strange = [name for name in members if name not in declared and name != HEADER]
    if strange:
        raise FileRefused(f"it has a member {strange[0][:80]!r} that its header does not declare.")
    absent = [name for name in declared if name not in members]
    if absent:
        raise FileRefused(f"its header declares {absent[0]}, which it does not have.")
    for name, expected in declared.items():
        _check_stored(members[name])
        if members[name].file_size != expected:
            raise FileRefused(
                f"{name} has {members[name].file_size} bytes where its declared shape and dtype need {expected}."
            )
    if sum(info.file_size for info in members.values()) > size:
        raise FileRefused(f"its members claim more bytes than the {size} of the file.")


def _check_stored(info: zipfile.ZipInfo) -> None:
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise FileRefused(f"its member {info.filename} is compressed; latens stores members as they are.")
    if info.flag_bits & 1:
        raise FileRefused(f"its member {info.filename} is encrypted; latens does not encrypt.")


def _read_array(archive: zipfile.ZipFile, entry: dict[str, Any]) -> Any:
    prefix = npy_prefix(entry["dtype"], entry["shape"])
    array = np.empty(entry["shape"], DTYPES[entry["dtype"]])
    numbers = raw(array)
    with archive.open(member_of(entry["name"])) as member:
        start = member.read(len(prefix))
        filled = 0
        while filled < len(numbers) and (piece := member.read(min(PIECE, len(numbers) - filled))):
            numbers[filled : filled + len(piece)] = piece
            filled += len(piece)
        member.read(1)  # the end, where zipfile compares its own checksum
    digest = hashlib.sha256(start)
    digest.update(numbers)
    if start != prefix or filled != len(numbers) or digest.hexdigest() != entry["sha256"]:
        raise FileRefused(
            f"the contents of {entry['name']} do not match their checksum: the file was damaged or changed. "
            "Copy it again from where it came, or save the model again."
        )
    if array.dtype == np.bool_ and np.any(array.view(np.uint8) > 1):
        raise FileRefused(f"{entry['name']} holds truth values that are neither 0 nor 1.")
    return with_layout(array, entry["layout"])
