"""Files that lie, each in one way: everything else about them, checksums included, is as it should be."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import latens
from latens.io.archive.npy import layout_of, with_layout
from tests.io.fits import fitted


class Forgery:
    """The header and the members of a good file, to be changed and written again."""

    def __init__(self, source: Path) -> None:
        with zipfile.ZipFile(source) as archive:
            self.header: dict[str, Any] = json.loads(archive.read("header.json"))
            self.members = {name: archive.read(name) for name in archive.namelist() if name != "header.json"}
        self.text: bytes | None = None  # instead of the header
        self.extra: list[tuple[str, bytes]] = []
        self.compression = zipfile.ZIP_STORED
        self.tamper: Callable[[zipfile.ZipFile], None] = lambda archive: None  # just before the directory is written

    def at(self, path: str) -> dict[str, Any]:
        """The fields of a record of the fitted part, such as "state.q.usage", or what a mapping there holds by name."""
        node = self.header["fitted"]["fields"]
        for name in filter(None, path.split(".")):
            node = node[int(name)] if isinstance(node, list) else node[name]
            node = next((node[kind] for kind in ("fields", "dict", "tuple") if kind in node), node)
        return node

    def number_of(self, path: str) -> int:
        """The number of an array, such as that of "state.q.usage.on"."""
        parent, _, name = path.rpartition(".")
        return self.at(parent)[name]["array"]

    def put(self, path: str, array: np.ndarray) -> None:
        """Another array in place of one, declared and signed as if it had always been there."""
        number = self.number_of(path)
        entry = self.header["arrays"][number]
        text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
        body = text + b" " * (-(len(text) + 11) % 64) + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body + np.ascontiguousarray(array).tobytes()
        entry.update(dtype=array.dtype.str, shape=list(array.shape), layout=layout_of(array))
        self.sign(number, data)

    def sign(self, number: int, data: bytes) -> None:
        self.members[f"arrays/{number}.npy"] = data
        self.header["arrays"][number]["sha256"] = hashlib.sha256(data).hexdigest()

    def get(self, path: str) -> np.ndarray:
        number = self.number_of(path)
        array = np.load(io.BytesIO(self.members[f"arrays/{number}.npy"]), allow_pickle=False)
        return with_layout(array, self.header["arrays"][number]["layout"])

    def write(self, path: Path) -> Path:
        text = json.dumps(self.header).encode() if self.text is None else self.text
        with zipfile.ZipFile(path, "w", self.compression) as archive:
            for name, data in [("header.json", text), *self.members.items(), *self.extra]:
                archive.writestr(zipfile.ZipInfo(name), data, self.compression)
            self.tamper(archive)
        return path


def forgery(folder: Path, name: str = "ard") -> Forgery:
    """Of a file with a model of these settings."""
    return Forgery(latens.save(fitted(name), folder / "honest.latens"))
