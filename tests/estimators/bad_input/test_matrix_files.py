"""The robustness matrix, its files: what is written comes back, and what was damaged or forged is refused."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from latens.io.archive.writing import VERSION
from tests.estimators.subjects import Subject


@pytest.fixture
def path(subject: Subject, tmp_path: Path) -> Path:
    return Path(latens.save(subject.fit(subject.rows()), tmp_path / "model.latens"))


def test_a_file_answers_with_the_same_bits(subject: Subject, path: Path) -> None:
    x = subject.rows()
    model, again = subject.fit(x), latens.load(path)
    assert again.elbo_ == model.elbo_
    assert np.array_equal(subject.answer(again, x), subject.answer(model, x))
    assert str(again.get_params()) == str(model.get_params())


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "cut at its end": lambda data: data[:-10],
    "other bytes": lambda data: b"not a model" * 100,
    "a pickle": lambda data: pickle.dumps({"model": 1}),
    "beheaded": lambda data: data[100:],
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_files_are_refused(path: Path, what: str) -> None:
    path.write_bytes(DAMAGE[what](path.read_bytes()))
    with pytest.raises(FileRefused, match=r"model.latens is refused"):
        latens.load(path)


@pytest.mark.parametrize("part", [0.01, 0.2, 0.5, 0.8, 0.95, 1.0])
def test_a_changed_byte_is_noticed_or_changes_nothing(subject: Subject, path: Path, part: float) -> None:
    data, x = path.read_bytes(), subject.rows()
    plain = subject.answer(latens.load(path), x)
    at = int(part * len(data))
    path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF if at < len(data) else 7]) + data[at + 1 :])
    try:
        model = latens.load(path)
    except FileRefused:
        return
    assert np.array_equal(subject.answer(model, x), plain)  # what no answer depends on, such as a date


@pytest.mark.parametrize("change", [("latens-model", "other-model"), (f'"version": {VERSION}', '"version": 99')])
def test_files_of_another_kind_or_time_are_refused(path: Path, change: tuple[str, str]) -> None:
    other = path.with_suffix(".forged")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                text = data.decode()
                assert change[0] in text
                data = text.replace(*change).encode()
            new.writestr(name, data)
    with pytest.raises(FileRefused, match=r"newer|does not say"):
        latens.load(other)


def test_an_unfitted_estimator_is_not_saved(subject: Subject, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        latens.save(subject.make(), tmp_path / "m")
    assert not list(tmp_path.iterdir())
