"""Fits with restarts and moves, killed at random moments: the bits at the end are those of a fit that lived."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least

__all__ = ["FITS", "Outcome", "fit_and_tell", "run", "survive"]

CHILD = "import sys; from benchmarks.scale.kills import fit_and_tell; fit_and_tell(*sys.argv[1:])"
INTERVAL = 0.02  # seconds between two checkpoints: many of them are half written when a kill comes
PATIENCE = 120.0  # seconds that a life may take to write its first checkpoint

FITS: dict[str, dict[str, Any]] = {
    "GaussianMixture": {"n_components": 12, "n_init": 120, "random_state": 0},
    "BinaryFactorAnalysis": {
        "n_components": 10,
        "e_step": "mean-field",
        "n_init": 2,
        "max_iter": 60,
        "random_state": 0,
    },
}


class Outcome(dict[str, Any]):
    """What a life told: kills that hit it, and the SHA-256 it ended with."""


def run(setting: Setting) -> list[Table]:
    n_kills = 20 if setting.name == "full" else 3
    rows = []
    for name in FITS:
        answer = survive(name, n_kills, FIRST_SEED)
        cells = {
            "estimator": name,
            "kills": answer["kills"],
            "lives that went on": answer["resumed"],
            "same SHA-256": int(answer["same"]),
            "iterations": answer["iterations"],
        }
        rows.append(Row(cells, {"same SHA-256": at_least(1)}))
    return [Table("Fits with restarts and moves, killed by SIGKILL at random moments", rows)]


def survive(name: str, n_kills: int, seed: int) -> Outcome:
    """Kill a fit so many times, and compare its end with that of a fit that nobody kills."""
    moments = random.Random(seed)
    with TemporaryDirectory() as folder, _child(name, Path(folder) / "alone") as unharmed:  # beside it: nobody waits
        try:
            place, kills, resumed = Path(folder) / "killed", 0, 0
            while kills < n_kills:
                child = _child(name, place)
                before = _stamps(place)
                if not _wait_for_notes(child, place, before):  # it came to its end first
                    break
                time.sleep(moments.uniform(0, 0.3))
                child.send_signal(signal.SIGKILL)
                child.wait()
                kills, resumed = kills + 1, resumed + bool(before)
            else:
                child = _child(name, place)
            last, alone = _answer(child), _answer(unharmed)
            left = [path.name for path in place.iterdir()]  # drafts, half written when a kill came, are gone, too
        finally:
            unharmed.kill()
    same = (last["sha256"], left) == (alone["sha256"], [])
    return Outcome(kills=kills, resumed=resumed, same=same, iterations=alone["iterations"])


def fit_and_tell(name: str, folder: str) -> None:
    """In a process of its own: the fit, its SHA-256 at the end."""
    import latens
    from latens.inference.search.journal import Journal

    Journal.__init__.__kwdefaults__.update(interval=INTERVAL, share=1.0)  # type: ignore[union-attr]
    rng = np.random.default_rng(1)
    x = 3 * rng.normal(size=(10, 6))[rng.integers(0, 10, 1500)] + rng.normal(size=(1500, 6))
    model = getattr(latens, name)(**FITS[name]).fit(x, checkpoint=folder)
    digest = hashlib.sha256()
    for key, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray | float | int) and key.endswith("_"):
            digest.update(key.encode() + np.asarray(value).tobytes())
    for event in model.trace_:
        digest.update(repr((event.step, event.restart, event.elbo, event.terms, event.n_components)).encode())
    print(json.dumps({"sha256": digest.hexdigest(), "iterations": model.n_iter_}))


def _child(name: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "ignore", "-c", CHILD, name, str(folder)]
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def _answer(child: subprocess.Popen[str]) -> dict[str, Any]:
    answer, _ = child.communicate()
    if child.returncode:
        raise RuntimeError(f"a fit ended with {child.returncode}: {answer}")
    result: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return result


def _stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.checkpoint")}


def _wait_for_notes(child: subprocess.Popen[str], folder: Path, before: dict[str, int]) -> bool:
    """Whether the child has written a checkpoint of its own before it ended."""
    until = time.monotonic() + PATIENCE
    while child.poll() is None:
        try:
            if _stamps(folder) != before:
                return True
        except FileNotFoundError:  # removed while it was looked at: the child is about to end
            pass
        if time.monotonic() > until:
            child.kill()
            raise RuntimeError(f"no checkpoint within {PATIENCE:g} seconds")
        time.sleep(0.005)
    return False
