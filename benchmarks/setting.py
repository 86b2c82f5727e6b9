"""How much of everything to run, and on what it ran."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.tables import Table

__all__ = ["FIRST_SEED", "FULL", "QUICK", "RESULTS", "Section", "Setting", "environment"]

FIRST_SEED = 50_000
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Setting:
    name: str
    n_seeds: int  # fits of ours
    n_cheap: int  # fits of a peer that costs about as much
    n_dear: int  # fits of a peer that costs seconds
    sizes: tuple[tuple[int, int, int, int], ...]  # N, D, K, and the rows on which the source's form is timed
    n_repeats: int
    n_fits: int  # in which the bound must not fall
    large: tuple[int, int, int, int]  # N, D, causes in the data, causes to start from
    jobs: int = 1  # processes, for what is not timed
    only: str = ""  # part of the name of a problem or model; empty: all
    results: Path = RESULTS  # where answers are put while a section runs

    def asks_for(self, name: str) -> bool:
        return self.only.lower() in name.lower()


FULL = Setting(
    name="full",
    n_seeds=100,
    n_cheap=50,
    n_dear=10,
    sizes=((100_000, 256, 32, 20_000), (100_000, 784, 64, 5_000)),
    n_repeats=5,
    n_fits=1000,
    large=(100_000, 64, 12, 16),
)
QUICK = Setting(
    name="quick",
    n_seeds=2,
    n_cheap=1,
    n_dear=1,
    sizes=((10_000, 64, 16, 2_000),),
    n_repeats=1,
    n_fits=30,
    large=(3_000, 32, 6, 8),
)


@dataclass(frozen=True)
class Section:
    name: str  # group.section
    about: str
    home: str  # module:function, imported when it is run: each needs packages of its own

    def run(self, setting: Setting) -> list[Table]:
        module, _, name = self.home.partition(":")
        tables: list[Table] = getattr(import_module(f"benchmarks.{module}"), name)(setting)
        return tables

    def answers_to(self, name: str) -> bool:
        return name == self.name or name in self.name.split(".")


def environment(setting: Setting, seconds: float) -> dict[str, Any]:
    """What a reader of the numbers needs to know about the run."""
    import latens  # not before it is needed: naming the sections stays quick

    packages = ("numpy", "scipy", "numba", "scikit-learn")
    return {
        "setting": setting.name,
        "wall_seconds": round(seconds, 1),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "latens": latens.__version__,  # also of a copy that was never installed
        **{name: version(name) for name in packages},
    }
