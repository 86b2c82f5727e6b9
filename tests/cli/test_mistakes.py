"""First-hour mistakes with files and commands: one line with what was seen and what to type, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from latens.cli import main

NUMBERS = "a,b\n" + "".join(f"{i * 0.37 % 5:.2f},{i * 0.73 % 7:.2f}\n" for i in range(40))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(NUMBERS)
    rng = np.random.default_rng(0)
    np.save("binary.npy", (rng.random((40, 3)) < 0.5).astype(float))
    np.save("square.npy", rng.normal(size=(40, 2)))


def nothing() -> None:
    pass


def write(name: str, content: str) -> Callable[[], None]:
    return lambda: (Path(name).write_text(content), None)[1]


# (what was typed, what lies there, exit status, words that must occur)
MISTAKES = [
    ("data.csv", nothing, 2, ["data.csv is no command", "did you mean latens fit data.csv?"]),
    ("fit data.csv --out page.html", nothing, 2, ["where the model goes", "--report page.html names"]),
    ("fit data.csv --report m.latens", nothing, 2, ["where the page goes", "--out m.latens names"]),
    ("data.csv --open", nothing, 2, ["did you mean latens fit data.csv --open?"]),
    ("model.latens", nothing, 2, ["is a model", "latens report model.latens --data FILE"]),
    ("fti data.csv", nothing, 2, ["no command 'fti'", "did you mean latens fit?"]),
    ("zzzzzz", nothing, 2, ["no command 'zzzzzz'", "there are fit, transform"]),
    ("fit dta.csv", nothing, 2, ["no file dta.csv", "did you mean data.csv?"]),
    ("fit nowhere/data.csv", nothing, 2, ["no file nowhere/data.csv", "there is no folder nowhere"]),
    ("fit", nothing, 2, ["name a file to read", "latens fit data.csv", "--view NAME=FILE"]),
    ("fit .", nothing, 2, ["is a folder; name a file in it"]),
    ("fit data.csv --view x=data.csv", nothing, 2, ["one file, or several as --view NAME=FILE"]),
    ("fit --view data.csv", nothing, 2, ["write --view NAME=FILE, such as --view rna=rna.csv"]),
    ("fit --view x=data.csv --view x=data.csv", nothing, 2, ["two views are called 'x'"]),
    ("fit data.csv -k many", nothing, 2, ["-k many is no number", "-k 8, -k auto or -k 2:12"]),
    ("fit data.csv -k 0", nothing, 2, ["-k 0 holds no number from 1 on"]),
    ("fit data.csv --missing k.A. -999", nothing, 2, ["-999 follows it", "--missing k.A.,-999, or repeat --missing"]),
    ("fit --missing -9 -99 data.csv", nothing, 2, ["-99 follows it", "--missing -9,-99"]),
    ("fit data.csv --drop a b", nothing, 2, ["b follows it", "--drop a,b"]),
    ("fit data.csv --drop a more.csv", nothing, 2, ["takes one file of rows, and more.csv is one more"]),
    ("fit data.csv -9", nothing, 2, ["No such option"]),
    ("fit data.csv --drop A", nothing, 2, ["no column 'A'", "there are 'a', 'b'"]),
    ("fit data.csv --drop a,b", nothing, 2, ["no column left to fit", "dropped 2: a, b", "--dry-run"]),
    ("fit data.csv --target y", nothing, 2, ["no column 'y'"]),
    ("fit data.csv --model linear-regression", nothing, 2, ["name it by --target NAME"]),
    ("fit data.csv --model noisy-or", nothing, 2, ["takes yes/no columns", "'a', 'b' hold numbers", "--drop a --drop b",
                                                   "--model multi-view"]),
    ("fit data.csv --model multi-view --likelihood gaussian", nothing, 2, ["names no view", "--likelihood VIEW=KIND"]),
    ("fit data.csv --likelihood numbers=gaussian", nothing, 2, ["--likelihood is for multi-view"]),
    ("fit data.csv --groups g", nothing, 2, ["no column 'g'"]),
    ("fit data.csv --groups a --model gaussian-mixture", nothing, 2, ["--groups is for multi-view"]),
    ("fit holes.csv --weights w", write("holes.csv", "a,b,w\n" + "1,2.5,1\n2,3.5,\n" * 9), 2,
     ["the column 'w' of --weights is empty in 9 of 18 rows; fill it in"]),
    ("suggest", nothing, 2, ["name a file to read, such as latens suggest data.csv"]),
    ("fit data.csv --out nowhere/m.latens", nothing, 2, ["folder", "nowhere does not exist; create it"]),
    ("fit data.csv --out data.csv", nothing, 2, ["is the file to be read; choose another name"]),
    ("fit data.csv --report page.html", write("page.html", "<p>mine</p>"), 2, ["was not written by latens", "--force"]),
    ("fit empty.csv", write("empty.csv", ""), 2, ["empty.csv is empty"]),
    ("fit picture.png", write("picture.png", "x"), 2, ["end with .png are not read", "Save it as CSV"]),
    ("fit one.csv", write("one.csv", "a,b\n1,2\n"), 2, ["one.csv has 1 row"]),
    ("transform model.latens data.csv", nothing, 2, ["no file model.latens", "latens fit FILE --out model.latens"]),
    ("transform data.csv", nothing, 2, ["data.csv is a table; name the model first"]),
    ("predict broken.latens data.csv", write("broken.latens", "no model"), 1, ["broken.latens is refused"]),
    ("fit data.csv --model gauss", nothing, 2, ["'gauss'", "gaussian-mixture"]),
    ("fit data.csv -k 5:2", nothing, 2, ["-k 5:2 ends before it begins; write -k 2:5"]),
    ("fit data.csv other.csv", nothing, 2, ["takes one file of rows, and other.csv is one more", "--view NAME=FILE"]),
    ("report m.latens data.csv", nothing, 2, ["did you mean latens report MODEL --data data.csv?"]),
    ("stability m.latens data.csv", nothing, 2, ["did you mean latens stability MODEL --data data.csv?"]),
    ("compare data.csv data.csv", nothing, 2, ["data.csv is a table", "latens compare MODEL.latens --data data.csv"]),
    ("predict data.csv", nothing, 2, ["data.csv is a table", "latens predict MODEL.latens data.csv"]),
    ("fit data.csv --n-init 0", nothing, 2, ["--n-init", "0"]),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "before", "status", "words"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_meets_one_line_with_the_remedy(
    typed: str, before: Callable[[], None], status: int, words: list[str]
) -> None:
    before()
    result = CliRunner().invoke(main, typed.split())
    assert result.exit_code == status, result.output
    last = result.output.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert word in last, last
    assert "Traceback" not in result.output
    assert not Path("data.latens").exists()


FITTED = [
    ("transform m.latens other.csv", ["none of the 2 columns of the model is in this table: it wants 'a', 'b'"]),
    (
        "impute m.latens unlike.csv",
        [
            "no cell of these rows can be read as the model wants them",
            "a (number), b (number)",
            "is it the file that was meant?",
        ],
    ),
    ("transform m.latens data.csv --out data.csv", ["is a file to be read"]),
    ("transform m.latens data.csv --out z.doc", ["name a file that ends with .csv, .tsv, .parquet or .npy"]),
    ("transform m.latens data.csv --out there.csv", ["there.csv exists; --force replaces it"]),
    ("predict f.latens data.csv", ["has no clusters and no target to predict", "latens transform f.latens FILE"]),
    ("transform m.latens --view rna=data.csv --view x=data.csv", ["the model has no view 'rna'"]),
    ("transform m.latens", ["name a file to read, such as latens transform m.latens data.csv"]),
    ("fit data.csv --model factor-analysis --continue m.latens", ["holds a GaussianMixture", "cannot go on as"]),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One fit of each, for all mistakes with a model."""
    home = tmp_path_factory.mktemp("models")
    (home / "data.csv").write_text(NUMBERS)
    for name, model in (("m", "gaussian-mixture"), ("f", "factor-analysis")):
        arguments = ["fit", str(home / "data.csv"), "--model", model, "--out", str(home / f"{name}.latens")]
        done = CliRunner().invoke(main, [*arguments, "--report", "none", "--quiet", "-k", "1", "--max-iter", "50"])
        assert done.exit_code == 0, done.output
    return home


@pytest.mark.parametrize(("typed", "words"), FITTED, ids=[each[0] for each in FITTED])
def test_a_mistake_with_a_model_meets_one_line_too(typed: str, words: list[str], models: Path) -> None:
    for name in ("m.latens", "f.latens"):
        Path(name).write_bytes((models / name).read_bytes())
    Path("other.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    Path("there.csv").write_text("")
    Path("unlike.csv").write_text("A,y\n,2\n,4\n,7\n")
    result = CliRunner().invoke(main, typed.split())
    assert result.exit_code == 2, result.output
    last = result.output.strip().splitlines()[-1]
    for word in words:
        assert word in last, last


@pytest.mark.extras
def test_weights_that_are_words_are_refused_before_structures_are_tried() -> None:
    Path("words.csv").write_text("a,b,w\n" + "".join(f"{i % 7},{i % 5}.5,{'xyz'[i % 3]}\n" for i in range(90)))
    result = CliRunner().invoke(main, ["fit", "words.csv", "--weights", "w"])
    assert result.exit_code == 2
    assert "the column 'w' of --weights holds no numbers but text, such as 'x', 'y', 'z'" in result.output
    assert "trying" not in result.output


def test_startup_loads_neither_pandas_nor_scikit_learn_nor_scipy() -> None:
    import subprocess
    import sys

    script = (
        "import sys; from latens.cli import main\n"
        "print(sorted({'pandas', 'sklearn', 'scipy', 'numba', 'matplotlib'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
