"""Damage of any kind is refused, or changes nothing."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from tests.io.fits import estimators_differ, fitted


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return latens.save(fitted("one component"), tmp_path_factory.mktemp("small") / "model").read_bytes()


def survives(data: bytes, path: Path) -> bool:
    """Whether the file loads, and then as the model that was saved; anything but a refusal fails the test."""
    path.write_bytes(data)
    try:
        loaded = latens.load(path)
    except FileRefused:
        return False
    assert estimators_differ(fitted("one component"), loaded) is None
    return True


def test_every_flipped_byte_is_refused_or_harmless(small: bytes, tmp_path: Path) -> None:
    # all of the first member's start and of the archive's end, and one byte in 37 between
    positions = sorted({*range(64), *range(64, len(small) - 80, 37), *range(len(small) - 80, len(small))})
    loaded = 0
    for position in positions:
        data = bytearray(small)
        data[position] ^= 0xFF if position % 2 else 1 << position % 8
        loaded += survives(bytes(data), tmp_path / "model")
    # dates and rights of members may be anything
    assert 0 < loaded < len(positions) / 3


def test_every_flipped_byte_of_the_contents_is_refused(small: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        spans = [(i.header_offset + 30 + len(i.filename), i.file_size) for i in archive.infolist()]
    for start, size in spans:
        for position in {start, start + size // 3, start + size - 1}:
            data = bytearray(small)
            data[position] ^= 0x10
            assert not survives(bytes(data), tmp_path / "model")


def test_every_cut_is_refused(small: bytes, tmp_path: Path) -> None:
    for length in [*range(0, len(small), 97), *range(len(small) - 30, len(small))]:
        assert not survives(small[:length], tmp_path / "model")


def test_bytes_gone_from_the_middle_are_noticed(small: bytes, tmp_path: Path) -> None:
    for position in range(100, len(small) - 100, 501):
        assert not survives(small[:position] + small[position + 7 :], tmp_path / "model")


def test_bytes_in_front_are_refused(small: bytes, tmp_path: Path) -> None:
    assert not survives(b"#!/bin/sh\n" + small, tmp_path / "model")


def test_damage_is_told_with_a_remedy(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(small[:-500])
    with pytest.raises(FileRefused, match=r"damaged or cut short.*Copy it again"):
        latens.load(tmp_path / "model")


class Bomb:
    def __reduce__(self) -> Any:
        return pytest.fail, ("the pickle was opened",)


def as_npz(path: Path) -> None:
    np.savez(path.open("wb"), a=np.array([Bomb()], dtype=object))


OTHERS = {
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "text": (lambda path: path.write_text("hello, world"), "begins with b'hello, w'"),
    "json": (lambda path: path.write_text('{"format": "latens-model"}'), "perhaps JSON"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps(Bomb())), "looks like a pickle.*never opens"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(b"x")), "a gzip file"),
    "npy": (lambda path: np.save(path.open("wb"), np.zeros(3)), "a single NumPy array"),
    "npz with objects": (as_npz, "0 members called header.json"),
    "empty zip": (lambda path: zipfile.ZipFile(path, "w").close(), "no model written by latens"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_other_kinds_are_told_apart(kind: str, tmp_path: Path) -> None:
    write, message = OTHERS[kind]
    write(tmp_path / "model")
    with pytest.raises(FileRefused, match=f"(?s)model is refused: it .*{message}"):
        latens.load(tmp_path / "model")


def test_a_limit_on_the_size_is_kept(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(small)
    assert latens.load(tmp_path / "model", max_bytes=len(small)).n_components_ == 1
    with pytest.raises(FileRefused, match=f"{len(small)} bytes, more than max_bytes={len(small) - 1}"):
        latens.load(tmp_path / "model", max_bytes=len(small) - 1)
