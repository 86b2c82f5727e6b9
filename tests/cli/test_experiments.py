"""`latens experiments`: what it lists, shows, writes and refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner, Result

from latens.cli import main
from latens.experiments import DOCUMENTS, EXPERIMENTS
from latens.experiments.experiment import Verdict
from tests.report.reading import Page

NAMES = [experiment.name for experiment in EXPERIMENTS]
# Those that need torch run with the other tests of optional packages.
TORCH = {"digits-nets", "uci-nets", "weight-posterior", "weight-uncertainty"}
# Of the others a few light ones run with every test, all of them with the slow ones.
LIGHT = {"binary-sigma", "image-separation", "mixture"}
RUNS = [
    pytest.param(name, marks=pytest.mark.extras if name in TORCH else () if name in LIGHT else pytest.mark.slow)
    for name in NAMES
]


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["experiments", *map(str, arguments)])


class Written:
    """A folder that an experiment filled."""

    def __init__(self, name: str, folder: Path, *options: str) -> None:
        self.folder = folder / "deep" / name
        self.result = call("run", name, "--out", self.folder, *options)
        assert self.result.exit_code == 0, self.result.output
        self.numbers: dict[str, Any] = json.loads((self.folder / "numbers.json").read_text(encoding="utf-8"))

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


Quick = Callable[[str], Written]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """Each experiment is run when first asked for, so that a worker runs only those it has tests of."""
    return cache(lambda name: Written(name, tmp_path_factory.mktemp("experiments"), "--quick"))


def test_the_list_goes_by_document_and_names_the_figures() -> None:
    lines = call("list").output.splitlines()
    named = [line.replace("*", " ").split() for line in lines if line.startswith(" ")]
    assert sorted(words[0] for words in named if words[0] in NAMES) == sorted(NAMES)
    documents = [line.split(",")[0] for line in lines if line.startswith("document")]
    assert documents == [f"document 00{i}" for i in range(5)]
    place = next(line for line in lines if "binary-ard" in line)
    assert place.startswith(" * ")
    assert place.endswith("section 3.2, figures 9 to 12")
    assert lines.index(place) < next(i for i, line in enumerate(lines) if line.startswith("document 001"))
    assert set(NAMES) >= {"binary-factors", "binary-sigma", "binary-ard", "image-separation"}


@pytest.mark.parametrize("name", NAMES)
def test_show_names_source_and_settings(name: str) -> None:
    text = call("show", name).output
    assert "source: document 00" in text
    answer = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}
    settings = next(experiment for experiment in EXPERIMENTS if experiment.name == name).settings
    assert fields(settings)
    for field in fields(settings):
        assert answer[field.name], field.name
        value = getattr(settings, field.name)
        if isinstance(value, int):
            assert answer[field.name][0].replace(",", "") == str(value)
    assert "--quick" in text


@pytest.mark.parametrize("command", ["run", "show"])
def test_an_unknown_name_lists_the_known_ones(command: str) -> None:
    result = call(command, "binary-factor")
    assert result.exit_code == 2
    assert result.output == f"Error: there is no experiment 'binary-factor'; choose one of {', '.join(NAMES)}.\n"


@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_said_last_and_is_self_contained(name: str, quick: Quick) -> None:
    done = quick(name)
    index = done.folder / "index.html"
    assert done.result.stdout.splitlines()[-1] == str(index)
    assert "://" not in index.read_text(encoding="utf-8")
    page = Page(index)
    assert page.open == []
    for note in done.numbers["notes"]:
        assert note in page.text
    assert next(one for one in EXPERIMENTS if one.name == name).place in page.text


@pytest.mark.parametrize("name", RUNS)
def test_the_key_table_is_printed(name: str, quick: Quick) -> None:
    done = quick(name)
    printed = done.result.stdout.partition("\n\n")[0].splitlines()
    rows = next(iter(done.numbers["tables"].values()))["rows"]
    assert [line.split("  ")[0] for line in printed[-len(rows) :]] == [str(row[0]) for row in rows]


@pytest.mark.parametrize("name", RUNS)
def test_numbers_in_csv_and_json_are_the_same(name: str, quick: Quick) -> None:
    done = quick(name)
    assert {f"{table}.csv" for table in done.numbers["tables"]} == {path.name for path in done.folder.glob("*.csv")}
    for table, content in done.numbers["tables"].items():
        rows = done.table(table)
        assert len(rows) == len(content["rows"]) > 0
        for row, values in zip(rows, content["rows"], strict=True):
            assert list(row) == content["columns"]
            for cell, value in zip(row.values(), values, strict=True):
                assert cell == value if isinstance(value, str) else float(cell) == value


@pytest.mark.parametrize("name", RUNS)
def test_every_picture_is_a_file_that_needs_nothing_else(name: str, quick: Quick) -> None:
    done = quick(name)
    pictures = sorted(done.folder.glob("*.svg"))
    assert len(pictures) >= 2
    for path in pictures:
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in path.read_text(encoding="utf-8")
        for element in root.iter():
            assert element.get("href", "data:image/png").startswith("data:image/png")
    assert {path.suffix for path in done.folder.iterdir()} == {".html", ".svg", ".csv", ".json"}


@pytest.mark.parametrize(
    ("name", "table", "group", "value"),
    [
        pytest.param("binary-factors", "free-energy", ("start", "run"), "free energy", marks=pytest.mark.slow),
        ("binary-sigma", "free-energy", ("sigma",), "free energy"),
        pytest.param("binary-ard", "iterations", ("way", "K"), "bound", marks=pytest.mark.slow),
        ("image-separation", "iterations", (), "bound"),
    ],
)
def test_the_bound_never_falls(name: str, table: str, group: tuple[str, ...], value: str, quick: Quick) -> None:
    last: dict[tuple[str, ...], float] = {}
    for row in quick(name).table(table):
        if "document" in (row.get("way"), row.get("start")):
            continue  # the print: its own sums may fall
        key, now = tuple(row[column] for column in group), float(row[value])
        before = last.get(key, now)
        assert now >= before - 1e-9 * max(abs(before), 1.0)
        last[key] = now
    assert last


QUICKEST = {"binary-factors", "mixture", "multi-view"}
PRINTED = [
    one.name if one.name in QUICKEST else pytest.param(one.name, marks=pytest.mark.slow)
    for one in EXPERIMENTS
    if one.printed
]


@pytest.mark.parametrize("name", PRINTED)
def test_the_print_alone_runs_and_names_its_repairs(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "print"
    result = call("run", name, "--quick", "--printed", "--quiet", "--out", folder)
    assert result.exit_code == 0, result.output
    page = (folder / "index.html").read_text(encoding="utf-8")
    experiment = next(one for one in EXPERIMENTS if one.name == name)
    assert experiment.printed
    text = Page(folder / "index.html").text
    for listing in experiment.printed.listings:
        assert all(error in text for error in listing.errors)
        assert all(repair.run in text for repair in listing.repairs)
    assert "Repairs" in page
    assert list(folder.glob("*.svg"))
    assert json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["experiment"] == f"{name}-printed"


def test_an_experiment_without_a_print_says_which_have_one(tmp_path: Path) -> None:
    result = call("run", "noisy-or-text", "--printed", "--out", tmp_path)
    assert result.exit_code == 2
    assert result.output.startswith("Error: document 004 prints no algorithm for noisy-or-text; it does for binary-fac")


def test_all_of_them_lead_to_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(one for one in EXPERIMENTS if one.name in {"binary-sigma", "mixture", "weight-posterior"})
    monkeypatch.setattr("latens.experiments.EXPERIMENTS", few)

    def lacks(*_: Any) -> None:
        raise ImportError("needs torch: pip install 'latens[torch]'")

    monkeypatch.setattr("latens.experiments.weight_posterior.require", lacks)
    result = call("run", "all", "--quick", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    index = tmp_path / "index.html"
    assert result.stdout.splitlines()[-1] == str(index)
    page, source = Page(index), index.read_text(encoding="utf-8")
    assert page.open == []
    for name in ("binary-sigma", "mixture"):
        assert (tmp_path / name / "index.html").is_file()
        assert f'href="{name}/index.html"' in source
    assert "Not run: needs torch" in page.text
    assert source.count('<svg class="chart"') >= 4
    assert "Callum Lau" in page.text


def test_all_of_them_take_no_file(tmp_path: Path) -> None:
    result = call("run", "all", "--data", tmp_path, "--out", tmp_path)
    assert result.exit_code == 2
    assert "--data is for one experiment" in result.output


@pytest.mark.parametrize("name", RUNS)
def test_the_page_says_what_the_document_reports_and_what_comes_out(name: str, quick: Quick) -> None:
    done = quick(name)
    experiment = next(one for one in EXPERIMENTS if one.name == name)
    text = Page(done.folder / "index.html").text
    assert DOCUMENTS[experiment.document].title in text
    assert DOCUMENTS[experiment.document].author in text
    assert done.numbers["claims"]
    for claim in done.numbers["claims"]:
        assert claim["verdict"] in get_args(Verdict)
        assert claim["reported"] in text
        assert claim["found"] in text


def test_the_same_seed_writes_the_same_files(tmp_path: Path) -> None:
    one, two, other = (
        Written("binary-sigma", tmp_path / str(i), "--quick", "--seed", seed) for i, seed in enumerate("112")
    )
    files = sorted(path.name for path in one.folder.iterdir())
    assert all((one.folder / name).read_bytes() == (two.folder / name).read_bytes() for name in files)
    assert one.numbers["tables"] != other.numbers["tables"]
    assert one.numbers["settings"]["seed"] == 1


def test_no_option_is_named_that_experiments_lack(quick: Quick) -> None:
    assert "-k" not in quick("mixture").result.output


def test_quiet_prints_the_path_alone(tmp_path: Path) -> None:
    result = call("run", "binary-sigma", "--quick", "--quiet", "--out", tmp_path)
    assert result.output == f"{tmp_path / 'index.html'}\n"


def test_the_default_folder_bears_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("run", "binary-sigma", "--quick").exit_code == 0
    assert (tmp_path / "latens-experiments" / "binary-sigma" / "index.html").is_file()


def test_a_folder_below_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = call("run", "binary-ard", "--out", tmp_path / "file" / "here")
    assert result.exit_code == 2
    assert f"Error: {tmp_path / 'file'} is a file, so there can be no folder" in result.output
    assert len(result.output.splitlines()) == 1


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("latens.experiments.writing.write_page", fail)
    result = call("run", "binary-sigma", "--quick", "--quiet", "--out", tmp_path)
    assert result.exit_code == 1
    assert result.output == "Error: no space left on device\n"
    assert list(tmp_path.iterdir()) == []
