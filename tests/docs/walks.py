"""Which files a fit goes through: `python -m tests.docs.walks` prints the lists that docs/design.md has.

A file is on a walk if one of its functions is called. `array`, `families` and `system` are left apart: they hold
mathematics and tools that are the same for all.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import latens

SOURCE = Path(latens.__file__).resolve().parent
FOLDERS_LEFT_OUT = ("array", "families", "system")
TARGETS = {"GaussianMixture": 18, "MultiViewFactorAnalysis": 24}  # files that one walk should have at most


def files_called(act: Callable[[], Any]) -> list[str]:
    """Files of the library in which the act calls a function, in the order of their first call."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and code.co_name != "<module>":
            found[str(Path(code.co_filename).relative_to(SOURCE))] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [path for path in found if path.partition("/")[0] not in FOLDERS_LEFT_OUT]


def walks(name: str) -> dict[str, list[str]]:
    """The walks of one estimator, by what is called."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)) + 4 * rng.integers(2, size=(60, 1))
    X: Any = x if name == "GaussianMixture" else {"a": x, "b": rng.poisson(2.0, size=(60, 5))}
    make = partial(getattr(latens, name), 3, random_state=0, n_jobs=1)
    save = latens.save  # that names of the package are looked up where they live is no part of a walk
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.latens"
        model = make().fit(X).partial_fit(X)
        model.transform(X)
        save(model, path)  # what is imported or compiled on first use is no part of a walk
        acts: dict[str, Callable[[], Any]] = {
            "fit": lambda: make().fit(X),
            "partial_fit": lambda: model.partial_fit(X),
            "transform": lambda: model.transform(X),
            "save": lambda: save(model, path),
        }
        return {act: files_called(call) for act, call in acts.items()}


def page() -> str:
    """The lists as docs/design.md has them: files by folder, in the order of their first call."""
    parts = []
    for name in TARGETS:
        for act, files in walks(name).items():
            folders: dict[str, list[str]] = {}
            for path in files:
                folders.setdefault(str(Path(path).parent), []).append(Path(path).stem)
            lines = [f"    {folder:29}{' '.join(names)}" for folder, names in folders.items()]
            parts.append("\n".join([f"`{act}` of `{name}`, {len(files)} files:", "", *lines]))
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
