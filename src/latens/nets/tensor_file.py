"""Tensors in a file of the safetensors layout, data only, with a checksum.

    8 bytes     length of the header, little-endian
    header      JSON: each tensor's dtype, shape and place; `__metadata__` holds the rest as JSON text, and the checksum
    numbers     C order, little-endian, without gaps

Any reader of safetensors opens it. References: the format of https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from latens.errors import FileRefused
from latens.system.atomic_write import replacing
from latens.system.optional_imports import require

__all__ = ["read_tensors", "write_tensors"]

DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
LARGEST_HEADER = 2**26  # bytes
FORMAT, VERSION = "latens-weights", 1


def write_tensors(path: Path, state: dict[str, Any]) -> Path:
    """Write nested dicts and lists of plain values and tensors, all or nothing."""
    arrays: dict[str, Any] = {}
    tree = json.dumps(_encoded(state, "", arrays), allow_nan=False)
    entries, place = {}, 0
    for name, array in arrays.items():
        kind = "F64" if array.dtype.itemsize == 8 else "F32"
        entries[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    digest = _digest(tree, entries)
    for array in arrays.values():
        digest.update(array.reshape(-1).view(np.uint8).data)
    notes = {"format": FORMAT, "version": str(VERSION), "state": tree, "sha256": digest.hexdigest()}
    header = json.dumps({"__metadata__": notes, **entries}).encode("ascii")
    header += b" " * (-len(header) % 8)
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            file.write(array.reshape(-1).view(np.uint8).data)
    return path


def read_tensors(path: Path) -> dict[str, Any]:
    """What `write_tensors` wrote, tensors on the host.

    Raises
    ------
    FileRefused
        If it is another file, damaged, or of a newer version.
    """
    torch = require("torch", "torch")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(LARGEST_HEADER, size - 8):
            raise FileRefused(f"{path} is refused: it is no file of tensors; give one that save() wrote.")
        entries, tree, checksum = _header(path, file.read(length), size - 8 - length)
        digest, arrays = _digest(tree, entries), {}
        for name, entry in entries.items():
            array = np.empty(entry["shape"], DTYPES[entry["dtype"]])
            numbers = array.reshape(-1).view(np.uint8).data
            file.readinto(numbers)
            digest.update(numbers)
            arrays[name] = torch.from_numpy(array)
    if digest.hexdigest() != checksum:
        raise FileRefused(f"{path} is refused: it does not match its checksum, so it was damaged; copy it again.")
    try:
        state = _decoded(json.loads(tree), arrays)
        _ = state["kind"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileRefused(f"{path} is refused: it does not say which posterior it contains ({error}).") from error
    return dict(state)


def _header(path: Path, text: bytes, n_bytes: int) -> tuple[dict[str, Any], str, str]:
    """Entries in the order of their places, the tree and the checksum, all checked against the file's size."""
    try:
        entries = json.loads(text)
        notes = entries.pop("__metadata__")
        if notes["format"] != FORMAT:
            raise KeyError("format")
        version, tree, checksum = int(notes["version"]), str(notes["state"]), str(notes["sha256"])
        place = 0
        for entry in entries.values():
            if not all(type(size) is int and 0 <= size <= n_bytes for size in entry["shape"]):
                raise ValueError("shape")
            nbytes = math.prod(entry["shape"]) * DTYPES[entry["dtype"]].itemsize
            if entry["data_offsets"] != [place, place + nbytes]:
                raise ValueError("data_offsets")
            place += nbytes
        if place != n_bytes:
            raise ValueError("size")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileRefused(
            f"{path} is refused: its header is damaged or not of {FORMAT} ({type(error).__name__}: {error}); give a "
            "file that save() of a posterior over weights wrote."
        ) from error
    if version > VERSION:
        raise FileRefused(f"{path} is refused: it was written by a newer latens; pip install --upgrade latens")
    return entries, tree, checksum


def _digest(tree: str, entries: dict[str, Any]) -> Any:
    return hashlib.sha256(tree.encode() + json.dumps(entries).encode())


def _encoded(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Plain values with each tensor replaced by its name."""
    if isinstance(value, dict):
        return {key: _encoded(entry, f"{name}.{key}".strip("."), arrays) for key, entry in value.items()}
    if isinstance(value, list):
        return [_encoded(entry, f"{name}.{i}".strip("."), arrays) for i, entry in enumerate(value)]
    if hasattr(value, "detach"):
        array = value.detach().cpu().contiguous().numpy()
        arrays[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return {"tensor": name}
    return value


def _decoded(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, dict) and set(value) == {"tensor"}:
        return arrays[value["tensor"]]
    if isinstance(value, dict):
        return {key: _decoded(entry, arrays) for key, entry in value.items()}
    if isinstance(value, list):
        return [_decoded(entry, arrays) for entry in value]
    return value
