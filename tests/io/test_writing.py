"""Files appear whole or not at all, and only what can be read is written."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import latens
from tests.io.fits import estimators_differ, fitted


@pytest.mark.parametrize("give", [str, Path])
def test_save_returns_the_path_as_it_was_given(give: type, tmp_path: Path) -> None:
    path = tmp_path / "any name.at all"
    assert latens.save(fitted(), give(path)) == path
    assert latens.load(give(path)).n_components_ == fitted().n_components_


@pytest.mark.parametrize("moment", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError("no space left")])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    moment: str, failure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = latens.save(fitted("ml"), tmp_path / "model")
    before = path.read_bytes()

    def fail(*args: Any) -> None:
        assert path.read_bytes() == before
        raise failure

    monkeypatch.setattr(os, moment, fail)
    with pytest.raises(failure if isinstance(failure, type) else type(failure)):
        latens.save(fitted("ard"), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_a_failure_halfway_through_the_arrays_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def fail_late(self: zipfile.ZipFile, name: Any, *args: Any, **kwargs: Any) -> Any:
        opened.append(name)
        if len(opened) > 5:
            raise OSError("no space left")
        return original(self, name, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", fail_late)
    with pytest.raises(OSError, match="no space left"):
        latens.save(fitted(), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_bytes_are_on_the_disk_before_the_name_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, f=original: (calls.append(n), f(*a))[1])
    latens.save(fitted(), tmp_path / "model")
    assert calls[:2] == ["fsync", "replace"]


def test_an_older_file_is_replaced_and_its_permissions_stay(tmp_path: Path) -> None:
    path = latens.save(fitted("ml"), tmp_path / "model")
    path.chmod(0o640)
    latens.save(fitted("ard"), path)
    assert latens.load(path).prior == "ard"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    path = latens.save(fitted(), tmp_path / "model")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_writing_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "model")
    latens.save(fitted(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "folder") == ["model"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.*does not exist.*create it first"):
        latens.save(fitted(), tmp_path / "nowhere" / "model")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        latens.save(fitted(), tmp_path)
    with pytest.raises(OSError, match=r"directory|denied"):
        latens.load(tmp_path)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        latens.load(tmp_path / "nothing")


def test_an_unfitted_estimator_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match=r"BinaryFactorAnalysis is not fitted yet.*call fit first"):
        latens.save(latens.BinaryFactorAnalysis(), tmp_path / "model")
    assert os.listdir(tmp_path) == []


class Homemade(latens.BinaryFactorAnalysis):
    """A subclass that no file can name."""


class Impostor:
    """Claims to be what it is not."""


Impostor.__module__, Impostor.__qualname__ = "latens.estimators.binary_factors", "BinaryFactorAnalysis"


@pytest.mark.parametrize(
    "thing",
    [None, "text", PCA(), make_pipeline(PCA()), latens.BinaryFactorAnalysis, Homemade(), Impostor()],
    ids=lambda thing: type(thing).__name__,
)
def test_other_things_are_not_saved(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"cannot be saved; latens\.save writes .*BinaryFactorAnalysis"):
        latens.save(thing, tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "value",
    [
        range(3),
        np.array(["a", None], dtype=object),
        np.array([1 + 2j]),
        np.longdouble(1),
        {3: "x"},
        {"a": [lambda: None]},
        object(),
        Path("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_parameter_that_no_file_holds_is_named(value: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"the parameter init.* which a file cannot hold"):
        latens.save(fitted().set_params(init=value), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_parameter_without_end_is_named(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match=r"the parameter init.*levels deep"):
        latens.save(fitted().set_params(init=endless), tmp_path / "model")


@pytest.mark.parametrize(
    "value", [float("nan"), [1.0, float("nan")], np.array([np.nan])], ids=["number", "list", "array"]
)
def test_what_could_not_be_loaded_is_not_saved(value: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be saved.*parameter init"):
        latens.save(fitted().set_params(init=value), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_saving_changes_nothing(tmp_path: Path) -> None:
    model = fitted("all at once, missing").set_params(init=np.zeros((2, 3)).T)
    before = fitted("all at once, missing").set_params(init=np.zeros((2, 3)).T)
    latens.save(model, tmp_path / "model")
    assert estimators_differ(before, model) is None


def test_a_parameter_changed_since_the_fit_is_named(tmp_path: Path) -> None:
    model = fitted().set_params(prior="ml")
    with pytest.raises(ValueError, match=r"states prior='ml', but its model was built with prior='ard'.*fit again"):
        latens.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
