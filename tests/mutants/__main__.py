"""Plant every bug of the catalogue in a copy of the tree, and see that its tests fail: `python -m tests.mutants`.

Ends with status 1 where a bug passes its tests, where its line is no longer found, or where tests did not run. It says
something only where `make test` and `make test-extras` pass: a test that fails anyway notices nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md")
LONGEST = 600  # seconds that the tests of one bug may take: a bug that never ends was noticed
FAILED = 1  # pytest's status where tests ran and some of them failed


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
def planted(mutant: Mutant, tree: Path) -> Iterator[None]:
    file = tree / "src" / "latens" / mutant.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


def verdict(mutant: Mutant, tree: Path) -> str:
    """Whether its tests notice it: "caught", or what happened instead."""
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **single, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_CACHE_DIR"] = str(tree / ".numba")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not gpu",
        *shlex.split(mutant.tests),
    ]
    with planted(mutant, tree):
        try:
            run = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return "caught"
    if run.returncode == FAILED:
        return "caught"
    if run.returncode == 0:
        return "PASSED ITS TESTS: write the one that is missing"
    return f"no verdict, pytest ended with {run.returncode}:\n{(run.stdout + run.stderr)[-1500:]}"


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only bugs whose name or file holds one of these words")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="bugs tried at a time")
    parser.add_argument("--check", action="store_true", help="only see that every line is still there")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.words or any(w in f"{m.name} {m.file}" for w in given.words)]
    problems = lost(chosen)
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    if problems or given.check:
        return bool(problems)
    with tempfile.TemporaryDirectory(prefix="latens-mutants-") as folder:
        trees: Queue[Path] = Queue()
        for number in range(given.jobs):
            trees.put(copied(Path(folder), number))

        def tried(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                answer = verdict(mutant, tree)
            finally:
                trees.put(tree)
            sys.stdout.write(f"{mutant.file}: {mutant.name}: {answer}\n")
            sys.stdout.flush()
            return answer == "caught"

        with ThreadPoolExecutor(given.jobs) as pool:
            caught = sum(pool.map(tried, chosen))
    sys.stdout.write(f"{caught} of {len(chosen)} planted bugs were caught\n")
    return caught != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
