"""Remedies of the library in the words of the command line can be typed as they stand."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from latens.cli.terminal.remedies import in_options
from latens.report.measures.certainty import Certainty, certainty_of
from tests.cli.commands import call, done


def test_names_of_views_with_blanks_are_quoted() -> None:
    words = in_options(
        "view 'b numbers' holds counts up to 6,300 and is taken as gaussian. Try likelihoods={'b numbers': "
        "'negative-binomial'} with exposure='total', or np.log1p of it."
    )
    typed = words[words.index("--likelihood") : words.index(", or")]
    assert shlex.split(typed) == ["--likelihood", "b numbers=negative-binomial", "--exposure", "total"]


def test_weights_and_copies_are_mended_in_the_file(numbers: Path) -> None:
    head, *lines = numbers.read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{900 + i}" for i, line in enumerate(lines)]
    Path("w.csv").write_text("\n".join([f"{head},w", *rows, *rows]), encoding="utf-8")
    said = done("fit", "w.csv", "--weights", "w", "--model", "gaussian-mixture", "-k", "1", "--report", "none").stdout
    assert "Warning: the column of --weights adds up to" in said
    assert "do not count them: divide the column of --weights by its mean." in said
    plain = done("fit", "w.csv", "--drop", "w", "--model", "gaussian-mixture", "-k", "1", "--report", "none").stdout
    assert "keep one of each in the file; or give each, in a column for --weights, 1 over their number." in plain
    assert not {"sample_weight", "drop_duplicates"} & set(re.findall(r"\w+", said + plain))


def test_what_is_refused_is_said_in_options_too(numbers: Path) -> None:
    head, *lines = numbers.read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{i - 2}" for i, line in enumerate(lines)]
    Path("w.csv").write_text("\n".join([f"{head},w", *rows]), encoding="utf-8")
    fit = ("--model", "gaussian-mixture", "-k", "1", "--report", "none")
    assert call("fit", "w.csv", "--weights", "w", *fit).stderr.splitlines()[-1] == (
        "Error: the column of --weights holds 2 negative value(s), such as -2, and weights say how often a row counts; "
        "give 0 to a row that is to be left out."
    )
    Path("half.csv").write_text("\n".join([head, *lines[:50]]), encoding="utf-8")
    for file in ("half.csv", numbers):
        done("fit", file, *fit, "--out", Path(file).with_suffix(".latens"))
    refused = call("compare", "half.latens", numbers.with_suffix(".latens")).stderr
    assert "give --data FILE with rows that neither has seen" in refused


def test_rows_of_the_fit_are_noticed_where_models_are_compared(numbers: Path) -> None:
    for k in "12":
        done("fit", numbers, "--model", "gaussian-mixture", "-k", k, "--out", f"{k}.latens", "--report", "none")
    said = done("compare", "1.latens", "2.latens", "--data", numbers).stderr
    assert "Warning: --data looks like the 100 rows that '1' was fitted to" in said
    assert "leave --data out to compare bounds" in said


@pytest.mark.extras
def test_pages_have_the_remedies_of_the_command_that_wrote_them(numbers: Path) -> None:
    pytest.importorskip("pandas")
    head, *lines = numbers.read_text(encoding="utf-8").splitlines()
    last = [line.rpartition(",")[2] for line in lines]
    rows = [f"{line},{value}" for line, value in zip(lines, last, strict=True)]
    Path("twice.csv").write_text("\n".join([f"{head},again", *rows]), encoding="utf-8")
    said = done("fit", "twice.csv", "--model", "gaussian-mixture", "-k", "1").stdout
    page = Path("twice.html").read_text(encoding="utf-8")
    assert "Keep one of each: --drop again." in said
    assert "Keep one of each: --drop again." in page
    assert "X.drop(columns" not in page


def test_signs_of_columns_are_explained_where_they_are_printed(numbers: Path) -> None:
    clusters = ("fit", numbers, "--model", "gaussian-mixture", "-k", "2")
    words = "(share of the rows; columns that {}, the strongest first: + more and - less than in all rows)"
    assert words.format("surely show it") in done(*clusters).stdout
    without_intervals = done(*clusters, "--report", "none", "--force").stdout
    assert words.format("show it by two standard errors") in without_intervals
    factors = done("fit", numbers, "--model", "factor-analysis", "-k", "1", "--report", "none", "--force").stdout
    assert "+ rises and - falls with it)" in factors


def test_kinds_of_columns_are_options() -> None:
    words = in_options("If they are counts: likelihoods={'n': 'poisson', 'n 2': 'poisson'}, and so on for the others.")
    assert words == "If they are counts: --likelihood n=poisson --likelihood 'n 2=poisson', and so on for the others."


def test_columns_that_are_called_sure_are_those_of_the_page(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With intervals of column b so wide that they hold the number of all rows."""

    def wide(entry: Any) -> Certainty:
        found = certainty_of(entry)
        rows = [(*row[:6], row[4] - 1e3, row[4] + 1e3, *row[8:]) if row[2] == "b" else row for row in found.table.rows]
        return replace(found, table=replace(found.table, rows=tuple(rows)))

    def columns_of(said: str) -> set[str]:
        lines = [line for line in said.splitlines() if re.match(r"cluster\d ", line)]
        return {name.strip(" ,+-") for line in lines for name in line.partition("%")[2].split(",")}

    command = ("fit", numbers, "--model", "gaussian-mixture", "-k", "2", "--force")
    assert columns_of(done(*command).stdout) == {"a", "b", "c"}
    monkeypatch.setattr("latens.report.subject.certainty_of", wide)
    assert columns_of(done(*command).stdout) == {"a", "c"}
    assert columns_of(done(*command, "--report", "none").stdout) == {"a", "b", "c"}  # intervals are those of a page
