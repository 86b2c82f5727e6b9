"""The benchmarks run from the command line; what they say is no matter of a test."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import SECTIONS

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_section_prints_its_columns_and_writes_json(tmp_path: Path) -> None:
    done = run("--quick", "binary.shapes", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if line.startswith("method"))
    for column in ("all 8", "CPU s", "x first row", "goal", "verdict"):
        assert column in head
    (table,) = json.loads((tmp_path / "binary.shapes.json").read_text("utf-8"))["tables"]
    assert [row["cells"]["method"] for row in table["rows"]][:3] == ["latens ml", "latens ard", "as printed"]
    assert table["rows"][0]["verdict"]


def test_an_unknown_section_is_refused_by_name() -> None:
    done = run("--quick", "binary.shaeps")
    assert done.returncode == 2
    assert "no section binary.shaeps; --list names them" in done.stderr


def test_every_section_has_a_home() -> None:
    """Sections are imported when they are run: a misspelt one would otherwise show only then."""
    for section in SECTIONS:
        module, _, name = section.home.partition(":")
        source = (ROOT / "benchmarks" / f"{module.replace('.', '/')}.py").read_text("utf-8")
        assert name in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}, section


def test_naming_the_sections_imports_none_of_them() -> None:
    script = "import sys; from benchmarks.__main__ import main; main(['--list']); print('latens' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
