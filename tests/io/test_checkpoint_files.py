"""Checkpoints that are damaged, foreign or newer are refused by name, and the one before is used."""

from __future__ import annotations

import json
import resource
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from latens.core import Fit, Iteration, State, without_transients
from latens.errors import CheckpointNotWritten, CheckpointRefused, FitResumed
from latens.families.gamma import Gamma
from latens.inference.search.journal import Entry, Notes
from latens.io.checkpoint import CheckpointStore
from latens.io.encoding import decode, encode
from latens.system.atomic_write import _draft_stem
from tests.contract.cases import CASES, posterior_midway, random_rows


def notes(number: int, size: int = 3) -> Notes:
    state = State(Gamma(np.full(size, 1.0 + number), np.ones(size)), None, (None, None), number)
    trace = (Iteration(0, 0, -3.5, {"data": -3.0, "prior": -0.5}, 2, 0.1),)
    rng = np.random.default_rng(number).bit_generator.state
    entries = (Entry(0, Fit(state, trace, True, stopped=True)), Entry(1, None), Entry(1, True), Entry(2, 0.1, rng))
    return Notes(2**100 + number, entries, state, trace)


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    """With two files, the second one newer."""
    store = CheckpointStore(tmp_path, "Toy", "0123456789abcdef" * 4)
    store.write(notes(1))
    store.write(notes(2))
    return store


def number_of(found: Notes | None) -> int | None:
    return None if found is None else found.seed - 2**100


def test_what_is_read_is_what_was_written(store: CheckpointStore) -> None:
    with pytest.warns(FitResumed, match=r"4 step\(s\) of the search are done, and 1 iteration\(s\)"):
        found = store.read()
    written = notes(2)
    assert found is not None
    assert (found.seed, found.trace, found.entries[1:]) == (written.seed, written.trace, written.entries[1:])
    fit, before = found.entries[0].answer, written.entries[0].answer
    assert (fit.trace, fit.converged, fit.stopped, fit.interrupted) == (before.trace, True, True, False)
    assert found.state is not None
    for state in (fit.state, found.state):
        assert state.q.shape.tobytes() == written.state.q.shape.tobytes()  # type: ignore[union-attr]
        assert (state.stats, state.locals, state.step) == (None, (None, None), 2)


def test_an_empty_folder_has_no_notes(tmp_path: Path) -> None:
    assert CheckpointStore(tmp_path, "Toy", "ab" * 32).read() is None


def test_drafts_that_a_kill_left_go_with_the_next_run(store: CheckpointStore) -> None:
    draft, other = (store.path.with_name(f"{stem}ab.tmp") for stem in (_draft_stem(store.path), ".latens-other-"))
    for path in (draft, other):
        path.write_bytes(b"half")
    with pytest.warns(FitResumed):
        assert number_of(store.read()) == 2
    assert not draft.exists()
    assert other.exists()  # of another fit


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b"\x93NUMPY") + 135  # in the numbers of the first array
    data[at] ^= 1
    path.write_bytes(bytes(data))


def flip_header(path: Path) -> None:
    data = path.read_bytes()
    assert data.count(b'"depth": 2') == 1
    path.write_bytes(data.replace(b'"depth": 2', b'"depth": 1'))


def rewrite(**changes: object) -> Callable[[Path], None]:
    """The same archive with another header, checksums right."""

    def change(path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        header = {**json.loads(members["header.json"]), **changes}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, json.dumps(header) if name == "header.json" else content)

    return change


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x05K\x01.")


def fold(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut short": (cut, "damaged or cut short"),
    "empty": (empty, "it is empty"),
    "a flipped bit": (flip, "damaged"),
    "a flipped bit of the header": (flip_header, "damaged"),
    "newer": (rewrite(version=2), "written by a newer latens"),
    "another fit": (rewrite(fingerprint="f" * 64), "it is of another fit"),
    "another version": (rewrite(latens="99.0"), "it is of another fit"),
    "another format": (rewrite(format="latens-model"), "does not say that it is a latens-checkpoint"),
    "code": (pickled, "a pickle, which can run any program"),
    "no journal": (rewrite(journal=3), "expected a StoredJournal"),
    "a strange class": (rewrite(journal={"record": "Popen", "fields": {}}), "names the class 'Popen'"),
    "a folder": (fold, "a folder, not a file"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_checkpoint_is_refused_by_name_and_the_previous_one_is_used(store: CheckpointStore, damage: str) -> None:
    spoil, words = DAMAGE[damage]
    spoil(store.path)
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        found = store.read()
    message = str(records[0].message)
    assert [one.category for one in records] == [CheckpointRefused, FitResumed]
    assert f"the checkpoint {str(store.path)!r} is refused, and the previous one is used" in message
    assert words in message
    assert number_of(found) == 1


def test_where_both_are_bad_the_fit_begins_anew(store: CheckpointStore) -> None:
    cut(store.path)
    flip(store.previous)
    with pytest.warns(CheckpointRefused) as records:
        assert store.read() is None
    assert [str(store.path) in str(records[0].message), str(store.previous) in str(records[1].message)] == [True, True]
    assert "the fit starts again" in str(records[1].message)


@contextmanager
def disk_of(n_bytes: int) -> Iterator[None]:
    """No file can grow larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_checkpoint_as_it_was(store: CheckpointStore) -> None:
    before = {path: path.read_bytes() for path in store.path.parent.iterdir()}
    words = r"could not be written.*unchanged, and the fit continues.*Make room"
    with pytest.warns(CheckpointNotWritten, match=words), disk_of(4096):
        store.write(notes(3, 4096))
    assert {path: path.read_bytes() for path in store.path.parent.iterdir()} == before
    with pytest.warns(FitResumed):
        assert number_of(store.read()) == 2


def test_removal_leaves_nothing(store: CheckpointStore) -> None:
    store.remove()
    assert list(store.path.parent.iterdir()) == []
    store.remove()


@pytest.mark.parametrize("name", CASES)
def test_every_local_posterior_that_is_kept_comes_back_as_it_was(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(0)
    rows = random_rows(rng, 12, 4, holes=True, weighted=False)
    model, q = posterior_midway(case, rows, 2, rng)
    if model.exact_local(q):
        return  # found again without it
    local, arrays = without_transients(model.local_step(q, rows)), list[np.ndarray]()
    again = decode(encode(local, arrays, "local"), arrays.__getitem__, "local")
    pairs = zip(*(model.codes(rows, model.local_step(q, rows, warm)) for warm in (local, again)), strict=True)
    assert all(one.tobytes() == other.tobytes() for one, other in pairs)
