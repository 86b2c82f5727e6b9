"""`fit(..., checkpoint="dir/")`: a journal of the search, in a file that is named after the question and the data.

A job of many fits, such as `latens.stability`, keeps the journals of all of them until it is done
(`context.keeping_journals`): when it is asked again, fits that had ended answer from theirs, and the one that was
broken off goes on.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import latens
from latens.errors import CheckpointRefused, warn
from latens.inference.search.journal import Journal
from latens.system.fingerprint import fingerprint

__all__ = ["Checkpoint", "checkpoint_folder"]

# parameters that change neither the answer nor the way to it
PARAMETERS_WITHOUT_EFFECT = frozenset({"verbose", "callbacks", "n_jobs", "max_time"})


class Checkpoint:
    """The journals of one call of `fit`, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journals: list[Journal] = []
        self._left_behind = sorted(folder.glob("*.checkpoint"))  # by fits that did not end

    def journal(
        self,
        estimator: Any,
        rng: np.random.Generator,
        about: list[Any],
        over: Callable[[], bool] | None = None,
        foreign: Any = None,
    ) -> tuple[Journal, np.random.Generator]:
        """One more journal, and the generator to draw from: where nobody gave a seed, that of the fit that goes on.

        `about` tells the model, its data and its start from others; `over()`, whether the time of the fit has passed;
        `foreign` is the rows where another library than NumPy holds them.
        """
        is_seeded = estimator.random_state is not None
        asked = {
            "estimator": type(estimator).__name__,
            "latens": latens.__version__,
            "parameters": {
                name: value
                for name, value in estimator.get_params(deep=False).items()
                if name not in PARAMETERS_WITHOUT_EFFECT and name != "random_state"
            },
            "random": _state(rng) if is_seeded else None,
            "about": about,
        }
        if foreign is not None:  # it rounds in its own way
            asked["library"] = type(foreign).__module__
        store = latens.CheckpointStore(self.folder, type(estimator).__name__, fingerprint(asked), foreign)
        self._tell_of_others(store.path)
        journal = Journal(store, secrets.randbits(128), over)
        self._journals.append(journal)
        return journal, rng if is_seeded else np.random.default_rng(journal.notes.seed)

    def _tell_of_others(self, own: Path) -> None:
        """Say that a fit begins anew beside checkpoints of others, where somebody may have meant to go on from them.

        Only of its first journal: what a fit that goes on has not come to yet is new as well.
        """
        alike = [path for path in self._left_behind if path.name.partition("-")[0] == own.name.partition("-")[0]]
        if self._journals or not alike or own in alike:
            return
        which = repr(alike[0].name) + (f" and {len(alike) - 1} more" if len(alike) > 1 else "")
        warn(
            CheckpointRefused(
                f"the fit starts again: {which} in {str(own.parent)!r} is of another fit (other parameters, rows "
                "or version), and is kept.",
                "To continue it, give the parameters and rows it was begun with.",
            )
        )

    def close(self) -> None:
        """The fit has ended well: its journals are not needed any more."""
        for journal in self._journals:
            journal.close()

    def keep(self) -> None:
        """The fit has ended well, but it is part of a job that may die: all its steps are written down."""
        for journal in self._journals:
            journal.keep()

    def remove(self) -> None:
        """The job has ended, too."""
        for journal in self._journals:
            journal.store.remove()


def _state(rng: np.random.Generator) -> list[Any]:
    """All that later draws depend on, and later children."""
    bits: Any = rng.bit_generator
    sequence = getattr(bits, "seed_seq", None)
    spawned = [getattr(sequence, name, None) for name in ("entropy", "spawn_key", "n_children_spawned")]
    return [bits.state, spawned]


def checkpoint_folder(checkpoint: Any) -> Path:
    """The folder, made if it is not there, in which a file can be written.

    Raises
    ------
    TypeError
        If it is no path.
    OSError
        If nothing can be written there: it is known before the fit begins, not after an hour.
    """
    if not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint={checkpoint!r} is no path; give the name of a folder, such as 'checkpoints/'.")
    folder, probe = Path(checkpoint), f".latens-{os.getpid()}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / probe).write_bytes(b"")
        (folder / probe).unlink()
    except OSError as error:
        raise type(error)(
            error.errno,
            f"nothing can be written to checkpoint={str(checkpoint)!r} ({error.strerror}); give a folder that you may "
            "write to, on a disk with room",
        ) from error
    return folder
