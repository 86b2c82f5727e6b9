"""What the README shows is run as written."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_quick_start_runs_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)[:1]
    space: dict[str, object] = {}
    exec(compile(code, str(README), "exec"), space)
    printed = capsys.readouterr().out
    assert printed.startswith("8\n")
    assert (tmp_path / "report.html").stat().st_size > 1000
    again = space["latens"].load("shapes.latens")  # type: ignore[attr-defined]
    assert again.transform(space["X"]) == pytest.approx(space["codes"], abs=0)


def test_the_quick_start_has_ten_lines():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)[:1]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 10


def test_every_link_of_the_readme_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
