"""`latens demo`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import latens
from latens.errors import FitInterrupted
from tests.cli.commands import call
from tests.report.reading import Page


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    page = tmp_path_factory.mktemp("demo") / "page.html"
    return call("demo", "--quick", "--out", page), page


def test_the_table_has_its_columns_and_all_features_are_found(quick: tuple[Result, Path]) -> None:
    result, _ = quick
    assert result.exit_code == 0, result.output
    heading, shapes, images, table, views, *_ = result.stdout.splitlines()
    assert [name.strip() for name in heading.split("  ") if name] == [
        *("data", "rows x columns", "features found", "K found", "bound (nats)", "seconds")
    ]
    assert shapes.split()[:8] == ["shapes", "200", "x", "16", "8", "of", "8", "8"]
    assert images.split()[:8] == ["images", "200", "x", "256", "8", "of", "8", "8"]
    assert table.split()[:8] == ["table", "250", "x", "6", "3", "of", "3", "3"]
    assert views.split()[:8] == ["views", "150", "x", "70", "4", "of", "4", "4"]


def test_columns_are_aligned(quick: tuple[Result, Path]) -> None:
    heading, *rows = quick[0].stdout.splitlines()[:5]
    assert {len(heading)} == {len(row) for row in rows}


def test_the_last_line_is_where_the_page_is(quick: tuple[Result, Path]) -> None:
    result, path = quick
    assert result.stdout.splitlines()[-1] == str(path)
    assert path.is_file()
    assert list(path.parent.iterdir()) == [path]


def test_progress_goes_to_stderr_and_names_the_fits(quick: tuple[Result, Path]) -> None:
    fits = [f"fitting the {name} ..." for name in ("shapes", "images", "table", "views")]
    assert quick[0].stderr.splitlines() == [*fits, "writing the page ..."]


def test_the_page_is_self_contained_and_shows_all_fits(quick: tuple[Result, Path]) -> None:
    page = Page(quick[1])
    assert "://" not in quick[1].read_text(encoding="utf-8")
    assert not {"link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert page.open == []
    for words in (
        "Shapes",
        "Images",
        "8 of 8",
        "at most 16 components",
        "Bound",
        "income",
        "Which rows show which views",
    ):
        assert words in page.text
    assert sum(image.shape == (16, 16, 3) for image in page.images) >= 16


@pytest.mark.slow
def test_json_has_the_numbers_of_the_table(tmp_path: Path) -> None:
    answer = json.loads(call("demo", "--quick", "--json", "--quiet", "--out", tmp_path / "page.html").output)
    assert answer["version"] == latens.__version__
    assert Path(answer["page"]).is_file()
    shapes, images, *_ = answer["fits"]
    assert (shapes["data"], shapes["rows"], shapes["columns"]) == ("shapes", 200, 16)
    assert (images["features_found"], images["features_true"], images["components"]) == (8, 8, 8)
    X, _ = latens.datasets.make_shapes(200, random_state=0)
    assert shapes["bound"] == latens.BinaryFactorAnalysis(16, random_state=0).fit(X).elbo_


@pytest.mark.slow
def test_the_page_lies_in_the_current_folder_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("demo", "--quick", "--quiet", "--seed", "3")
    assert result.output == f"{tmp_path / 'latens-demo.html'}\n"
    assert (tmp_path / "latens-demo.html").is_file()


@pytest.fixture
def no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("a fit was begun for a page that cannot be written")

    monkeypatch.setattr("latens.cli.demo._fit", fail)


@pytest.mark.usefixtures("no_fit")
@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("missing/page.html", "missing does not exist; create it or choose another path."),
        ("file/page.html", "does not exist; create it"),
        ("", "is a folder; name a file"),
    ],
)
def test_a_target_that_cannot_be_is_refused_before_any_work(out: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = call("demo", "--out", tmp_path / out)
    assert result.exit_code == 2
    assert words in result.output
    assert len(result.output.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("no_fit")
def test_a_folder_without_permission_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("latens.cli.terminal.targets.tempfile.TemporaryFile", refuse)
    result = call("demo", "--out", tmp_path / "page.html")
    assert result.exit_code == 2
    assert result.output == f"Error: cannot write to {tmp_path} (Permission denied); choose another path.\n"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left\non device")

    monkeypatch.setattr("latens.cli.demo._fit", fail)


@pytest.mark.usefixtures("broken")
def test_an_error_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    result = call("demo", "--out", tmp_path / "page.html")
    assert result.exit_code == 1
    assert result.output == "Error: no space left on device\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("order", [("--debug", "demo"), ("demo", "--debug")])
def test_debug_raises_what_was_raised(order: tuple[str, str], tmp_path: Path) -> None:
    result = call(*order, "--out", tmp_path / "page.html")
    assert isinstance(result.exception, OSError)


def test_an_unforeseen_error_names_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.cli.demo._fit", lambda *_: {}["gone"])
    result = call("demo", "--out", tmp_path / "page.html")
    assert result.output == "Error: KeyError: 'gone' (--debug shows where)\n"


def test_an_interrupted_fit_ends_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.cli.demo._fit", lambda *_: warnings.warn("stopped", FitInterrupted, stacklevel=1))
    result = call("demo", "--out", tmp_path / "page.html")
    assert result.exit_code == 130  # as shells have it
    assert result.output == "Error: interrupted; there is no answer, and nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_warnings_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: Any) -> None:
        warnings.warn("took\nlong", UserWarning, stacklevel=1)
        raise ValueError("over")

    monkeypatch.setattr("latens.cli.demo._fit", warn)
    result = call("demo", "--out", tmp_path / "page.html")
    assert result.stderr == "Warning: took long\nError: over\n"


def test_help_names_every_command() -> None:
    text = call("--help").output
    for words in ("demo ", "experiments ", "--version", "--debug"):
        assert words in text
    assert "..." not in text.partition("Commands:")[2]  # no help line is cut off
    assert call("--version").output == f"latens {latens.__version__}\n"


@pytest.mark.slow
def test_help_loads_nothing_heavy_and_the_demo_no_matplotlib(tmp_path: Path) -> None:
    script = (
        "import sys; from latens.cli import main\n"
        "def heavy(): return sorted({'sklearn', 'numba', 'matplotlib'} & set(sys.modules))\n"
        "print(heavy()); main(['demo', '--quick', '--quiet'], standalone_mode=False); print(heavy())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    first, _, last = run.stdout.splitlines()
    assert first == "[]"
    assert "matplotlib" not in last


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_whole_demo_finds_all_features(seed: int, tmp_path: Path) -> None:
    answer = json.loads(call("demo", "--json", "--quiet", "--seed", str(seed), "--out", tmp_path / "page.html").output)
    assert [(fit["features_found"], fit["components"]) for fit in answer["fits"]] == [(8, 8), (8, 8), (3, 3), (4, 4)]


def test_the_command_line_is_also_a_module() -> None:
    run = subprocess.run([sys.executable, "-m", "latens", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("latens")
