"""The smoke test on the oldest and on the newest packages, each in an environment of its own.

    python .ci/versions.py test        install constraints-oldest.txt and constraints-newest.txt, run tests/versions
    python .ci/versions.py refresh     write both files anew: the lowest versions that pyproject.toml allows, on the
                                       oldest Python it allows; the newest versions there are, on the newest Python here

The first line of a constraints file names its Python. Interpreters are looked for on the PATH (python3.13) and
among pyenv's. A Python that is not there is said to be missing, and its packages are left untested.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ERAS = ("oldest", "newest")
TEST_PACKAGES = {"pytest", "pandas"}  # what tests/versions needs besides latens
HEADER = "# Python {version}: the {era} packages for the smoke test of .ci/versions.py, written by `make newest`."

Version = tuple[int, int]


def main(command: str) -> int:
    found = interpreters()
    if command == "refresh":
        oldest = required_python()
        if oldest not in found:
            print(f"no Python {dotted(oldest)} on the PATH or in pyenv: constraints-oldest.txt cannot be refreshed")
            return 1
        write_constraints("oldest", oldest, found[oldest])
        write_constraints("newest", max(found), found[max(found)])
        return 0
    return max(test(era, found) for era in ERAS)


def interpreters() -> dict[Version, str]:
    """A command that starts each Python 3 found, by version."""
    names = [f"python3.{minor}" for minor in range(required_python()[1], 40)]
    candidates = [sys.executable, *filter(None, map(shutil.which, names)), *pyenv_interpreters()]
    found: dict[Version, str] = {}
    for command in candidates:
        version = version_of(command)
        if version is not None and version >= required_python():
            found.setdefault(version, command)
    return found


def pyenv_interpreters() -> list[str]:
    """Newest first; a shim on the PATH does not start a version that is not selected, so that pyenv is asked."""
    if shutil.which("pyenv") is None:
        return []
    listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout.split()
    releases = [name for name in listed if re.fullmatch(r"3\.\d+\.\d+", name)]
    releases.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    prefixes = [
        subprocess.run(["pyenv", "prefix", name], capture_output=True, text=True, check=False).stdout.strip()
        for name in releases
    ]
    return [str(Path(prefix) / "bin" / "python") for prefix in prefixes if prefix]


def version_of(command: str) -> Version | None:
    """The version a command starts, None where it does not start."""
    question = "import sys, venv; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([command, "-c", question], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return None
    parts = answer.stdout.split()
    return (int(parts[0]), int(parts[1])) if answer.returncode == 0 and len(parts) == 2 else None


def required_python() -> Version:
    bound = project()["requires-python"]
    major, minor = bound.removeprefix(">=").split(".")[:2]
    return int(major), int(minor)


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirements() -> list[str]:
    """What latens needs, and what its smoke test needs besides, each with the bound that pyproject.toml gives it."""
    extras = [line for extra in project()["optional-dependencies"].values() for line in extra]
    chosen = {line.split(">=")[0]: line for line in extras if line.split(">=")[0] in TEST_PACKAGES}
    return [*project()["dependencies"], *chosen.values()]


def test(era: str, found: dict[Version, str]) -> int:
    constraints = ROOT / f"constraints-{era}.txt"
    version = constrained_python(constraints)
    if version not in found:
        here = ", ".join(map(dotted, sorted(found)))
        print(f"{era} packages: NOT TESTED: no Python {dotted(version)} on the PATH or in pyenv, only {here}")
        return 0
    python = environment(era, found[version])
    pip(python, "install", "-c", str(constraints), *requirements(), str(ROOT))
    smoke_test = [python, "-m", "pytest", "-q", "-m", "", "tests/versions"]
    status = subprocess.run(smoke_test, cwd=ROOT, env=one_thread(), check=False)
    verdict = "passed" if status.returncode == 0 else "FAILED"
    print(f"{era} packages: {verdict} on Python {dotted(version)}: {versions_of(python)}", flush=True)
    return status.returncode


def write_constraints(era: str, version: Version, command: str) -> None:
    wanted = [line.replace(">=", "==") for line in requirements()] if era == "oldest" else requirements()
    python = environment(era, command, fresh=True)
    pip(python, "install", "--upgrade", *wanted)
    frozen = pip(python, "freeze")
    header = HEADER.format(version=dotted(version), era=era)
    (ROOT / f"constraints-{era}.txt").write_text(f"{header}\n{frozen}")
    print(f"constraints-{era}.txt: Python {dotted(version)}, {len(frozen.split())} packages", flush=True)


def environment(era: str, command: str, fresh: bool = False) -> str:
    """The interpreter of .venv-oldest or .venv-newest, which is made where it is missing or of another Python."""
    folder = ROOT / f".venv-{era}"
    python = str(folder / "bin" / "python")
    if fresh or version_of(python) != version_of(command):
        subprocess.run([command, "-m", "venv", "--clear", str(folder)], check=True)
    return python


def pip(python: str, *arguments: str) -> str:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def constrained_python(constraints: Path) -> Version:
    first = constraints.read_text().splitlines()[0]
    major, minor = re.findall(r"\d+", first)[:2]
    return int(major), int(minor)


def versions_of(python: str) -> str:
    shown = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    return ", ".join(line.strip() for line in pip(python, "freeze").splitlines() if line.startswith(shown))


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


if __name__ == "__main__":
    if sys.argv[1:] not in (["test"], ["refresh"]):
        sys.exit("usage: python .ci/versions.py test | refresh")
    sys.exit(main(sys.argv[1]))
