"""A header and arrays as one zip archive without compression, so that sizes on disk are sizes in memory."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from latens.io.archive.npy import dtype_name, layout_of, little_endian, npy_prefix, npy_size, raw

__all__ = ["FORMAT", "HEADER", "LARGEST_HEADER", "MODEL", "VERSION", "Kind", "member_of", "write_archive"]


@dataclass(frozen=True)
class Kind:
    """What an archive is of, and what its header must have."""

    format: str
    version: int  # the newest that can be read
    keys: tuple[str, ...]
    written_by: str


FORMAT = "latens-model"
VERSION = 6
MODEL = Kind(FORMAT, VERSION, ("format", "version", "latens", "estimator", "params", "fitted", "arrays"), "latens.save")
HEADER = "header.json"
LARGEST_HEADER = 64 * 2**20  # bytes; names of columns are most of it, and a million of them fit


def member_of(name: str) -> str:
    """The member that holds an array: what `numpy.load` calls by the array's name."""
    return f"{name}.npy"


def write_archive(file: BinaryIO, header: Mapping[str, Any], arrays: Sequence[Any]) -> None:
    """Write header and arrays. The same contents give the same bytes.

    Raises
    ------
    ValueError
        If the header is larger than any reader accepts.
    """
    listed = [_entry(number, array) for number, array in enumerate(arrays)]
    text = json.dumps({**header, "arrays": listed}, indent=1, allow_nan=False).encode("ascii")
    if len(text) > LARGEST_HEADER:
        raise ValueError(
            f"the names and settings of the model take {len(text)} bytes; a file holds at most {LARGEST_HEADER}. "
            "Try shorter names of columns."
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(_member(HEADER, len(text)), "w") as member:
            member.write(text)
        for entry, array in zip(listed, arrays, strict=True):
            size = npy_size(entry["dtype"], entry["shape"])
            with archive.open(_member(member_of(entry["name"]), size), "w") as member:
                member.write(npy_prefix(entry["dtype"], entry["shape"]))
                member.write(raw(little_endian(array)))


def _entry(number: int, array: Any) -> dict[str, Any]:
    dtype, shape = dtype_name(array), list(array.shape)
    if dtype is None:
        raise TypeError(f"an array of {array.dtype} cannot be written; expected numbers or truth values.")
    digest = hashlib.sha256(npy_prefix(dtype, shape))
    digest.update(raw(little_endian(array)))
    return {
        "name": f"arrays/{number}",
        "dtype": dtype,
        "shape": shape,
        "layout": layout_of(array),
        "sha256": digest.hexdigest(),
    }


def _member(name: str, size: int) -> zipfile.ZipInfo:
    """A member whose bytes depend on nothing but its contents: no clock, no operating system."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.file_size = size  # lets zipfile choose the large-file form where it is needed
    return info
