"""Files appear whole or not at all, replace nothing but files, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import latens
from latens.cli import main
from latens.errors import FileRefused
from latens.system.atomic_write import replacing

X = latens.datasets.make_shapes(60, random_state=0)[0]


@cache
def _fitted() -> Any:
    return latens.BinaryFactorAnalysis(4, n_init=1, max_iter=5, tol=0.0, moves=False, random_state=0).fit(X)


def fitted() -> Any:
    """A model, and the caller's own."""
    return deepcopy(_fitted())


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_save_refuses_to_replace_a_pipe_or_a_device(pipe: Path) -> None:
    with pytest.raises(
        FileExistsError, match=r"pipe' is a named pipe, which a file must not replace; give the name of a"
    ):
        latens.save(fitted(), pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(FileExistsError, match=r"'/dev/null' is a device"):
        latens.save(fitted(), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_to_a_device_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(FileExistsError, match=r"is a device"), replacing(tmp_path / "link"):
        pass
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_page_refuses_to_replace_a_pipe_or_a_device(pipe: Path) -> None:
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(FileExistsError, match=r"must not replace"):
            latens.report(fitted(), X, path)


def test_the_demo_refuses_a_pipe_before_any_work(pipe: Path) -> None:
    outcome = CliRunner().invoke(main, ["demo", "--out", str(pipe)])
    assert outcome.exit_code != 0
    assert "is a named pipe, which a file must not replace; choose another path" in outcome.output
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_load_does_not_wait_for_a_pipe(pipe: Path) -> None:
    with pytest.raises(FileRefused, match=r"pipe is refused: it is a named pipe, not a file"):
        latens.load(pipe)


def test_a_page_written_over_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o600)
    latens.report(fitted(), X, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "BinaryFactorAnalysis" in path.read_text(encoding="utf-8")


def test_a_draft_of_a_private_file_is_private_from_the_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_what_a_killed_save_left_goes_with_the_next_one(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from latens.system.atomic_write import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('written', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "model")], **pipes) as writer:  # type: ignore[call-overload]
        assert writer.stdout.readline() == b"written\n"
        draft = next(tmp_path.iterdir())
        long_ago = time.time() - 3600
        os.utime(draft, (long_ago, long_ago))
        latens.save(fitted(), tmp_path / "model")
        assert draft.exists()  # its writer lives, however slow it is
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    latens.save(fitted(), tmp_path / "other")
    assert draft.exists()  # it belongs to another file
    latens.save(fitted(), tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


def test_names_with_half_a_surrogate_pair_are_reported_saved_and_loaded(tmp_path: Path) -> None:
    model = fitted().set_component_names([f"half \ud800 {k}" for k in range(fitted().n_components_)])
    page = latens.report(model, X, tmp_path / "page.html")
    assert "half \\ud800 0" in page.read_text(encoding="utf-8")
    latens.save(model, tmp_path / "model")
    assert list(latens.load(tmp_path / "model").component_names_) == list(model.component_names_)
