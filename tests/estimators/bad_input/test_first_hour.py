"""The mistakes of a first hour: what each meets, by its class and words that must occur; each is one line to act on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import latens
from latens.cli import main
from latens.errors import FewerThanAsked, NothingFound
from latens.report import Entry
from latens.report.sections.head import verdicts

pytestmark = pytest.mark.extras

RNG = np.random.default_rng(0)
TWO = np.r_[RNG.normal(0, 1, (40, 2)), RNG.normal(8, 1, (40, 2))]
NOISE = RNG.normal(size=(80, 6))
LINE = RNG.normal(size=(60, 1)) @ RNG.normal(size=(1, 6)) + RNG.normal(size=(60, 6))


def frame(table: Any, **options: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(table, **options)


def clusters(X: Any, *rest: Any, k: int = 2) -> Any:
    return latens.GaussianMixture(k, random_state=0).fit(X, *rest)


def with_code() -> Any:
    X = TWO.copy()
    X[::20, 0] = -999.0
    return clusters(frame(X, columns=["age", "bmi"]))


def named(n: int, first: int = 0) -> Any:
    return frame(RNG.normal(size=(n, 4)), index=[f"s{i + first}" for i in range(n)])


def other_columns(columns: str) -> Any:
    table = frame(LINE, columns=list("abcdef"))
    return latens.FactorAnalysis(1).fit(table).transform(table[list(columns)])


def new_level() -> Any:
    table = frame({"x": TWO[:, 0], "town": ["Oslo", "Rome"] * 40})
    model = latens.LatentClassAnalysis(2, random_state=0).fit(table)
    table.loc[0, "town"] = "Lima"
    return model.transform(table)


def sorted_batches() -> Any:
    model = latens.GaussianMixture(4, random_state=0)
    rows = np.r_[RNG.normal(0, 1, (300, 2)), RNG.normal(30, 1, (300, 2))]
    for i in range(0, 600, 60):
        model.partial_fit(rows[i : i + 60])


def point_estimates() -> Any:
    return latens.compare({k: latens.FactorAnalysis(k).fit(LINE) for k in (1, 2)})


def raw_counts() -> Any:
    counts = RNG.negative_binomial(2, 0.001, (60, 20)).astype(float)
    return latens.MultiViewFactorAnalysis(2, random_state=0, max_iter=5).fit({"rna": counts})


def another_question() -> Any:
    with TemporaryDirectory() as folder:
        latens.GaussianMixture(2, random_state=0, max_time=1e-9).fit(TWO, checkpoint=folder)
        latens.GaussianMixture(5, random_state=0).fit(TWO, checkpoint=folder)


def typed(*words: str) -> Any:
    """What the command line says, in a folder that holds one table."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "data.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
        (Path(folder) / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
        result = CliRunner().invoke(main, [word.replace("HERE", folder) for word in words])
    raise SystemExit(result.output.strip().splitlines()[-1])


# (mistake, what is done, class of what it meets, words that must occur)
MISTAKES: list[tuple[str, Callable[[], Any], str, list[str]]] = [
    ("1 fewer clusters than asked for", lambda: clusters(TWO, k=3), "FewerThanAsked",
     ["2 of at most 3", "an upper bound", "with 3 the bound is 3.7 nats lower", "prune=False"]),
    ("2 a text column", lambda: clusters(frame({"age": TWO[:, 0], "town": ["Oslo", "Rome"] * 40})), "ValueError",
     ["'town'", "'Oslo'", "X.drop(columns=['town'])", "LatentClassAnalysis", "MultiViewFactorAnalysis"]),
    ("3 a code for missing", with_code, "MissingCodes",
     ["'age'", "-999", "4 times", "X.replace({'age': -999}, np.nan)"]),
    ("4 a row counter", lambda: clusters(frame({"id": np.arange(80.0), "a": TWO[:, 0], "b": TWO[:, 1]})), "CountsRows",
     ["'id'", "number the rows", "X.set_index('id')", "X.drop(columns=['id'])"]),
    ("5 features x samples", lambda: latens.MultiViewFactorAnalysis(2).fit(
        {"a": RNG.normal(size=(1000, 20)), "b": RNG.normal(size=(500, 20))}), "ValueError",
     ["1000 and 500 rows but 20 columns each", "features x samples", "v.T"]),
    ("5 channels x time", lambda: latens.NoisyICA(2, max_iter=2).fit(RNG.normal(size=(8, 300))), "LooksTransposed",
     ["8 rows, 300 columns", "rows must be time points", "X.T"]),
    ("6 weights by position", lambda: clusters(TWO, None, np.ones(80)), "FutureWarning",
     ["by name only", "fit(X, sample_weight=...)"]),
    ("7 few shared row names", lambda: latens.MultiViewFactorAnalysis(1, random_state=0, max_iter=5).fit(
        {"a": named(30), "b": named(30, 27)}), "FewSharedRows", ["3 of the 30", "'a'", "reset_index(drop=True)"]),
    ("8 numbers against names", lambda: latens.MultiViewFactorAnalysis(1).fit(
        {"a": frame(RNG.normal(size=(30, 4))), "b": named(30)}), "ValueError",
     ["no row name in common", "'s0'", "'0'", "reset_index(drop=True)"]),
    ("9 lower_bound_", lambda: clusters(TWO).lower_bound_, "AttributeError", ["elbo_", "elbo_ / n_rows"]),
    ("10 comparing point estimates", point_estimates, "ValueError", ["point estimates", "X_test=", "prior='ard'"]),
    ("11 clusters of ratings", lambda: clusters(frame(RNG.integers(1, 8, (80, 3)), columns=["q1", "q2", "q3"])),
     "FewValues", ["'q1'", "7 distinct values", "latens.LatentClassAnalysis"]),
    ("12 raw counts", raw_counts, "DoubtfulScale",
     ["'rna'", "counts up to", "'negative-binomial'", "exposure='total'", "np.log1p"]),
    ("13 columns in another order", lambda: other_columns("bacdef"), "ValueError", ["X[model.feature_names_in_]"]),
    ("13 a column that is absent", lambda: other_columns("abcde"), "ValueError",
     ["- f", "X.reindex(columns=model.feature_names_in_)"]),
    ("14 a new level", new_level, "UnseenLevels", ["'town'", "1 value(s)", "'Lima'", "taken as missing"]),
    ("15 all are kept", lambda: clusters(TWO), "AllKept", ["all 2 allowed components", "Raise n_components", "None"]),
    ("16 nothing found", lambda: latens.BinaryFactorAnalysis(4, random_state=0).fit(NOISE), "NothingFound",
     ["finds nothing", "nats without any component and", "with one", "Give more rows", "prune=False"]),
    ("17 sorted batches", sorted_batches, "StreamChanged",
     ["rows 301 to 360", "nats a row", "sorted", "shuffled", "latens.scan"]),
    ("18 too large", lambda: clusters(RNG.normal(size=(60, 20000)), k=50), "ValueError",
     ["160 GB", "are free", "covariance_type='diag'"]),
    ("19 a checkpoint of another question", another_question, "CheckpointRefused",
     ["starts again", "of another fit", "is kept", "the parameters and rows it was begun with"]),
    ("20 a file instead of a command", lambda: typed("data.csv"), "SystemExit", ["did you mean latens fit data.csv?"]),
    ("20 a misspelt file", lambda: typed("fit", "HERE/dta.csv"), "SystemExit",
     ["there is no file", "did you mean", "data.csv?"]),
    ("20 a spreadsheet without a reader", lambda: typed("fit", "HERE/old.xls"), "SystemExit", ["old.xls", "CSV"]),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "act", "kind", "words"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_meets_its_remedy(mistake: str, act: Callable[[], Any], kind: str, words: list[str]) -> None:
    messages: list[tuple[str, str]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act()
        except (ValueError, AttributeError, MemoryError, SystemExit) as error:
            messages.append((type(error).__name__, str(error)))
    messages += [(each.category.__name__, str(each.message)) for each in caught]
    texts = [text for name, text in messages if name == kind]
    assert texts, messages
    assert [word for word in words if word not in texts[0]] == [], texts[0]


@pytest.mark.parametrize("one", [latens.GaussianMixture, latens.LatentClassAnalysis, latens.FactorAnalysis,
                                 latens.NoisyICA, latens.MultiViewFactorAnalysis])  # fmt: skip
def test_the_nats_of_another_component_are_those_of_a_fit_with_it(one: Any) -> None:
    settings = {"random_state": 0} | ({"prior": "ard"} if one is latens.FactorAnalysis else {})
    rows = TWO if hasattr(one, "predict") else NOISE
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = one(4, **settings).fit(rows)
        more = one(model.n_components_ + 1, prune=False, **settings).fit(rows)
    messages = next(str(each.message) for each in caught if each.category in (FewerThanAsked, NothingFound))
    bounds = [float(each.replace(",", "")) for each in re.findall(r"-[\d,]+\.\d", messages)]
    assert more.n_components_ == model.n_components_ + 1
    assert min(abs(bound - more.elbo_) for bound in bounds) < 0.5  # a search of its own may end a little higher
    assert f"{model.elbo_:,.1f}" in messages


def test_fewer_clusters_than_asked_for_are_explained_on_the_page() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clusters(TWO, k=3)
    assert model.n_components_ == 2
    assert "2 clusters needed of at most 3 (an upper bound; prune=False keeps all)." in str(
        verdicts(Entry(model), "s1")
    )


def test_19_a_checkpoint_of_another_question_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        latens.GaussianMixture(2, random_state=0, max_time=1e-9).fit(TWO, checkpoint=tmp_path)
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        latens.GaussianMixture(3, random_state=0, max_time=1e-9).fit(TWO, checkpoint=tmp_path)
    assert before
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(tmp_path.iterdir())) > len(before)
