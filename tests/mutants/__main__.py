"""Plant every bug of the catalogue in a copy of the tree, and see that its tests fail: `python -m tests.mutants`.

The same tests are run without the bug as well: a test that fails anyway notices nothing. Ends with status 1 where a bug
passes its tests, where its line is no longer found, or where tests fail without it. Nothing is written beside the
copies, which are made from the folder that holds this file; `PYTEST_ADDOPTS` reaches every run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md")
PASSED, FAILED = 0, 1  # pytest's status where tests ran, and where some of them failed


def lost(mutants: list[Mutant]) -> list[str]:
    """What is wrong with the catalogue: lines that stand in their file no more, or more than once."""
    found = []
    for mutant in mutants:
        file = ROOT / "src" / "latens" / mutant.file
        times = file.read_text(encoding="utf-8").count(mutant.right) if file.is_file() else 0
        if times != 1:
            found.append(f"{mutant.name}: its line stands {times} times in {mutant.file}; write its row anew")
        if mutant.right == mutant.wrong:
            found.append(f"{mutant.name}: changes nothing")
    return found


@contextmanager
def planted(mutant: Mutant | None, tree: Path) -> Iterator[None]:
    if mutant is None:
        yield
        return
    file = tree / "src" / "latens" / mutant.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


@dataclass
class Bench:
    """Copies of the tree, of which each holds at most one bug at a time."""

    markers: str  # which tests are run, where a row of the catalogue does not say it
    longest: float  # seconds that one run may take: a bug that never ends was noticed
    trees: Queue[Path] = field(default_factory=Queue)

    def status(self, mutant: Mutant | None, tests: str) -> tuple[int | None, str]:
        """pytest's status and the end of its output; None where it did not end."""
        tree = self.trees.get()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", self.markers]
        try:
            with planted(mutant, tree):
                run = subprocess.run(
                    [*command, *shlex.split(tests)],
                    cwd=tree,
                    env=environment(tree, mutant),
                    capture_output=True,
                    text=True,
                    timeout=self.longest,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            self.trees.put(tree)
        return run.returncode, (run.stdout + run.stderr)[-1500:]


def environment(tree: Path, mutant: Mutant | None) -> dict[str, str]:
    """That of this process, with the library of one copy and single threads."""
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and not _is_ours(each)]
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    # Numba does not see that a function in another file has changed, so a changed kernel is compiled from nothing.
    kernels = tree / (".numba" if mutant is None or not mutant.file.startswith("array/") else f".numba-{id(mutant)}")
    return {
        **os.environ,
        **single,
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), *others]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(kernels),
    }


def _is_ours(folder: str) -> bool:
    return Path(folder).resolve() in (ROOT, ROOT / "src")


def verdict(mutant: Mutant, with_it: tuple[int | None, str], without: tuple[int | None, str]) -> str:
    """Whether its tests notice a bug: "caught", or what happened instead."""
    if without[0] != PASSED:
        return f"no verdict, its tests fail without it ({mutant.tests}):\n{without[1]}"
    status, output = with_it
    if status in (FAILED, None):
        return "caught"
    if status == PASSED:
        return "PASSED ITS TESTS: write the one that is missing"
    return f"no verdict, pytest ended with {status}:\n{output}"


def copied(folder: Path, number: int) -> Path:
    tree = folder / str(number)
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        elif source.exists():
            shutil.copy2(source, tree / name)
    return tree


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only bugs whose name or file holds one of these words")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time, each in its own copy")
    parser.add_argument("--check", action="store_true", help="only see that every line is still there")
    parser.add_argument("--markers", default="not gpu", help="as pytest's -m; 'not gpu and not extras' without extras")
    parser.add_argument("--longest", type=float, default=600, help="seconds after which a run is ended")
    return parser.parse_args()


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> int:
    given = arguments()
    chosen = [m for m in MUTANTS if not given.words or any(w in f"{m.name} {m.file}" for w in given.words)]
    problems = lost(chosen)
    for problem in problems:
        say(problem)
    if problems or given.check:
        return bool(problems)
    with tempfile.TemporaryDirectory(prefix="latens-mutants-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        bench = Bench(given.markers, given.longest)
        for tree in pool.map(lambda number: copied(Path(folder), number), range(given.jobs)):
            bench.trees.put(tree)
        tests = list(dict.fromkeys(mutant.tests for mutant in chosen))
        without = {each: pool.submit(bench.status, None, each) for each in tests}

        def is_caught(mutant: Mutant) -> bool:
            began = time.monotonic()
            with_it = bench.status(mutant, mutant.tests)
            seconds = time.monotonic() - began
            answer = verdict(mutant, with_it, without[mutant.tests].result())
            say(f"{mutant.file}: {mutant.name}: {answer} ({seconds:.0f} s)")
            return answer == "caught"

        caught = sum(pool.map(is_caught, chosen))
    say(f"{caught} of {len(chosen)} planted bugs were caught")
    return caught != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
