"""The journal of a fit as a file, beside the one that was written before it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from latens import __version__
from latens.array.fields import record
from latens.core import Fit, State
from latens.errors import CheckpointNotWritten, CheckpointRefused, FileRefused, FitResumed, warn
from latens.inference.search.journal import Entry, Notes
from latens.io.archive.reading import read_archive
from latens.io.archive.writing import Kind, write_archive
from latens.io.encoding import decode, encode
from latens.io.foreign_locals import for_file, for_fit
from latens.io.trace import from_columns, to_columns
from latens.system.atomic_write import remove_abandoned_drafts, replacing, special_file

__all__ = ["CheckpointStore"]

CHECKPOINT = Kind(
    "latens-checkpoint",
    1,
    ("format", "version", "latens", "estimator", "fingerprint", "journal", "arrays"),
    "fit(checkpoint=...)",
)


@record
class StoredFit:
    state: State
    trace: list[dict[str, Any]]
    converged: bool
    stopped: bool


@record
class StoredEntry:
    depth: int
    answer: Any  # StoredFit, Statistics, a number, True, False or None
    generator: dict[str, Any] | None


@record
class StoredJournal:
    seed: int
    entries: list[StoredEntry]
    state: State | None
    trace: list[dict[str, Any]]


class CheckpointStore:
    """The file of one fit: named after its fingerprint, so that fits of other questions or data have another.

    Parameters
    ----------
    folder : path
    estimator : str
        The name of its class.
    fingerprint : str
        Of the question and the data.
    rows : array, optional
        The rows of the fit where another library than NumPy holds them: local posteriors are brought back to it.
    """

    def __init__(self, folder: str | os.PathLike[str], estimator: str, fingerprint: str, rows: Any = None) -> None:
        self.estimator, self.fingerprint, self.rows = estimator, fingerprint, rows
        self.path = Path(folder) / f"{estimator}-{fingerprint[:16]}.checkpoint"
        self.previous = self.path.with_suffix(".checkpoint.previous")

    def read(self) -> Notes | None:
        """The notes of the newest file that can be used, with a word about each that cannot.

        Drafts that a kill in the middle of a writing left behind are removed.
        """
        remove_abandoned_drafts(self.path, older_than=0.0)
        for path, otherwise in ((self.path, "the previous one is used"), (self.previous, "the fit starts again")):
            if not os.path.lexists(path):
                continue
            try:
                notes = self._notes_in(path)
            except (FileRefused, OSError) as error:
                otherwise = otherwise if self.previous.exists() else "the fit starts again"
                warn(CheckpointRefused(f"the checkpoint {str(path)!r} is refused, and {otherwise}: {error}"))
                continue
            steps, iterations = len(notes.entries), len(notes.trace)
            warn(
                FitResumed(
                    f"{self.estimator} continues from {str(path)!r}: {steps} step(s) of the search are done, and "
                    f"{iterations} iteration(s) of the ascent under way."
                )
            )
            return notes
        return None

    def write(self, notes: Notes) -> None:
        """Replace the file; the one before stays beside it. A disk that is full leaves both as they were."""
        arrays: list[Any] = []
        header = {
            "format": CHECKPOINT.format,
            "version": CHECKPOINT.version,
            "latens": __version__,
            "estimator": self.estimator,
            "fingerprint": self.fingerprint,
            "journal": encode(_stored(notes), arrays, "the journal"),
        }
        try:
            with replacing(self.path) as file:
                write_archive(file, header, arrays)
                self._keep_previous()
        except OSError as error:
            reason = error.strerror or str(error)
            warn(
                CheckpointNotWritten(
                    f"the checkpoint {str(self.path)!r} could not be written ({reason}); the previous one is "
                    "unchanged, and the fit continues.",
                    "Make room on that disk, or give another folder as checkpoint.",
                )
            )

    def remove(self) -> None:
        for path in (self.path, self.previous):
            path.unlink(missing_ok=True)

    def _keep_previous(self) -> None:
        """Another name for the present file, which the new one is about to replace."""
        if not self.path.exists():
            return
        self.previous.unlink(missing_ok=True)
        try:
            os.link(self.path, self.previous)
        except OSError:  # a file system without links
            with suppress(OSError):
                shutil.copyfile(self.path, self.previous)

    def _notes_in(self, path: Path) -> Notes:
        kind = special_file(path)
        if kind is not None or path.is_dir():
            raise FileRefused(f"it is {kind or 'a folder'}, not a file.")
        with open(path, "rb") as file:
            header, arrays = read_archive(file, kind=CHECKPOINT)
        if (header["estimator"], header["fingerprint"], header["latens"]) != (
            self.estimator,
            self.fingerprint,
            __version__,
        ):
            raise FileRefused("it is of another fit: other parameters, other data or another version of latens.")

        def take(number: int) -> Any:
            if type(number) is not int or not 0 <= number < len(arrays):
                raise FileRefused(f"it refers to the array {number!r} of {len(arrays)}.")
            return arrays[number]

        stored = decode(header["journal"], take, "the journal")
        if not isinstance(stored, StoredJournal):
            raise FileRefused(f"its journal is given as a {type(stored).__name__}; expected a StoredJournal.")
        return _notes(stored, self.rows)


def _stored(notes: Notes) -> StoredJournal:
    entries = [StoredEntry(entry.depth, _stored_answer(entry.answer), entry.generator) for entry in notes.entries]
    state = None if notes.state is None else for_file(notes.state)
    return StoredJournal(notes.seed, entries, state, to_columns(notes.trace))


def _stored_answer(answer: Any) -> Any:
    if not isinstance(answer, Fit):
        return answer
    return StoredFit(for_file(answer.state), to_columns(answer.trace), answer.converged, answer.stopped)


def _notes(stored: StoredJournal, rows: Any) -> Notes:
    entries = tuple(Entry(entry.depth, _answer(entry.answer, rows), entry.generator) for entry in stored.entries)
    state = None if stored.state is None else for_fit(stored.state, rows)
    return Notes(stored.seed, entries, state, from_columns(stored.trace))


def _answer(stored: Any, rows: Any) -> Any:
    if not isinstance(stored, StoredFit):
        return stored
    return Fit(for_fit(stored.state, rows), from_columns(stored.trace), stored.converged, stopped=stored.stopped)
