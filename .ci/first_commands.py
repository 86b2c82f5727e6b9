"""The first commands of README.md, run as a stranger would: the built wheel, by name, in an empty environment.

    python .ci/first_commands.py

`make dist` comes before it. A browser is not opened, and `your.csv` is made up.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = "name,height,weight,smokes,town\n" + "".join(
    f"p{i},{165 + i * 7 % 23},{60 + i * 11 % 31}.5,{'yes' if i % 3 else 'no'},{('Oslo', 'Rome', 'Lima')[i % 3]}\n"
    for i in range(60)
)


def first_commands() -> list[list[str]]:
    """The lines of the first block of commands in README.md."""
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    if block is None:
        raise SystemExit("README.md has no block of commands")
    return [shlex.split(line, comments=True) for line in block[1].splitlines() if line.strip()]


def wheel() -> Path:
    """The newest wheel under dist/."""
    found = sorted((ROOT / "dist").glob("latens-*.whl"), key=os.path.getmtime)
    if not found:
        raise SystemExit("dist/ holds no wheel; run make dist first")
    return found[-1]


def main() -> None:
    version = wheel().name.split("-")[1]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        scripts = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        (home / "your.csv").write_text(TABLE, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"BROWSER": "true"}
        for command in first_commands():
            print("$", shlex.join(command), flush=True)
            if command[:2] == ["pip", "install"]:
                names = [f"{name}=={version}" if name.startswith("latens") else name for name in command[2:]]
                options = ["--quiet", "--disable-pip-version-check", "--find-links", str(ROOT / "dist")]
                command = [*command[:2], *options, "-c", str(ROOT / "constraints.txt"), *names]
            program = str(scripts / command[0])
            status = subprocess.run([program, *command[1:]], cwd=home, env=environment, check=False).returncode
            if status:
                raise SystemExit(f"{shlex.join(command)} ended with status {status}")
        written = sorted(path.name for path in home.iterdir() if path.is_file())
        if not {"latens-demo.html", "your.html", "your.latens"} <= set(written):
            raise SystemExit(f"expected pages and a model; there are {', '.join(written)}")
        print(f"first commands: all well, written: {', '.join(written)}")


if __name__ == "__main__":
    sys.exit(main())
