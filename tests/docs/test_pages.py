"""Examples on the pages are run as written."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>>" in page.read_text() and "_build" not in page.parts)
# Pages that show an optional package.
EXTRAS = [page for page in PAGES if "import torch" in page.read_text()]
PLAIN = [page for page in PAGES if page not in EXTRAS]


@pytest.mark.parametrize(
    "page", [*PLAIN, *(pytest.param(page, marks=pytest.mark.extras) for page in EXTRAS)], ids=lambda page: page.stem
)
def test_the_examples_of_a_page_run_as_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, n_examples = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert n_examples > 0
    assert failed == 0


def test_every_model_page_has_its_equations_as_mathematics() -> None:
    pages = [page for page in (DOCS / "models").glob("*.md") if page.name not in ("README.md", "index.md")]
    assert len(pages) == 10
    without = [page.name for page in pages if "$$\n\\begin{aligned}\n" not in page.read_text(encoding="utf-8")]
    assert without == []
