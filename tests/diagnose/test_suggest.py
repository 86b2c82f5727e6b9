"""Which structure fills hidden cells best, and whether scores of cells are what they claim to be."""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.diagnose import suggestion
from latens.diagnose.candidates import Candidate, baselines, candidates
from latens.diagnose.cells import CellTable


def numbers(n: int = 150, seed: int = 0) -> np.ndarray:
    """Two clusters; the last two columns are rounded and counts."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    x = rng.normal(size=(n, 4)) + 3.0 * label[:, None]
    x[:, 2] = np.round(x[:, 2])
    return np.column_stack([x, rng.poisson(0.8 + 1.5 * label)])


def answers(n: int = 150, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chance = np.array([[0.9, 0.8, 0.85, 0.1, 0.15, 0.2], [0.1, 0.2, 0.15, 0.9, 0.8, 0.9]])
    return (rng.random((n, 6)) < chance[rng.integers(2, size=n)]).astype(float)


def table_of(X: Any) -> CellTable:
    return CellTable.of(X, np.random.default_rng(0))


def all_candidates(table: CellTable) -> list[Candidate]:
    return [*baselines(table, 100), *candidates(table, 100)]


@cache
def fitted(kind: str) -> list[tuple[Candidate, Any, CellTable]]:
    table = table_of({"numbers": numbers, "answers": answers}[kind]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(one, one.fit(table, np.arange(100), None, 0), table) for one in all_candidates(table)]


def test_kinds_of_columns_are_fixed_once_for_all_candidates() -> None:
    table = table_of(numbers())
    assert table.kinds == ("number", "number", "number", "number", "count")
    assert [one.name for one in all_candidates(table)] == [
        *("independent columns", "one Gaussian", "classes", "clusters", "factors", "switches", "sources")
    ]


def scores_over(candidate: Candidate, model: Any, table: CellTable, j: int, values: np.ndarray) -> np.ndarray:
    """(n, m), scores of a hidden cell of row 120 on and what they would be at other values."""
    rows = np.arange(120, 125)
    hidden = np.zeros((len(rows), table.n_columns), bool)
    hidden[:, j] = True
    out = []
    for value in values:
        moved = {name: getattr(table, name).copy() for name in ("values", "spread", "exact", "spread_exact")}
        for array in moved.values():
            array[:, j] = value
        if table.kinds[j] == "count":  # in the units of each array
            unit = table.spread_exact[:, j], table.exact[:, j]
            slope = np.ptp(unit[0]) / np.ptp(unit[1])
            level = unit[0][0] - slope * unit[1][0]
            for name in ("spread", "spread_exact"):
                moved[name][:, j] = level + slope * value
        at = type(table)(**{name: getattr(table, name) for name in table.__dataclass_fields__} | moved)
        out.append(candidate.score(model, at, rows, hidden)[:, j])
    return np.array(out).T


@pytest.mark.parametrize("which", range(7))
@pytest.mark.parametrize("column", [0, 2, 4])
def test_scores_of_a_hidden_cell_are_log_probabilities_that_add_up_to_one(which: int, column: int) -> None:
    candidate, model, table = fitted("numbers")[which]
    if table.kinds[column] == "count":
        values, step = np.arange(-8.0 if candidate.spreads_counts else 0.0, 15.0), 1.0  # a normal has negative counts
    elif table.width[column] > 0:
        first = table.exact[~np.isnan(table.exact[:, column]), column][0]
        step, values = 1.0, first + table.width[column] * np.arange(-14, 15)
    else:
        step = 0.4
        values = np.arange(-6, 6, step)
    scores = scores_over(candidate, model, table, column, values)
    assert np.exp(scores).sum(axis=1) * step == pytest.approx(np.ones(5), abs=0.03)


@pytest.mark.parametrize("which", range(4))
def test_probabilities_of_a_yes_and_a_no_add_up_to_one(which: int) -> None:
    candidate, model, table = fitted("answers")[which]
    scores = scores_over(candidate, model, table, 1, np.array([0.0, 1.0]))
    assert np.exp(scores).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-3)


@cache
def suggested(kind: str) -> latens.diagnose.suggestion.Suggestion:
    rng = np.random.default_rng(1)
    X = {
        "shapes": lambda: latens.datasets.make_shapes(240, random_state=0)[0],
        "noise": lambda: rng.normal(size=(120, 5)) * [1, 2, 5, 0.1, 9],
        "answers": lambda: answers(200),
    }[kind]()
    return latens.suggest(X, max_time=None)


@pytest.mark.slow
def test_switches_are_suggested_for_shapes() -> None:
    found = suggested("shapes")
    assert (found.best, found.leader, found.nothing) == ("switches", "switches", False)
    assert found.verdict.startswith("Switches (causes that are on or off) fill hidden cells best")
    assert found.table["structure"][0] == "switches"
    assert {"independent columns", "one Gaussian"} <= set(found.table["structure"])
    assert isinstance(found.model, latens.BinaryFactorAnalysis)
    assert found.model.n_components_ == 8


def test_groups_of_yes_no_rows_are_found() -> None:
    found = suggested("answers")
    assert found.leader == "clusters"
    assert isinstance(found.model, latens.BernoulliMixture)


def test_nothing_is_suggested_for_independent_noise() -> None:
    found = suggested("noise")
    assert (found.best, found.leader, found.nothing, found.model) == (None, None, True, None)
    assert found.verdict.startswith("Nothing")


def test_tails_of_independent_columns_are_no_structure() -> None:
    """Clusters of different width fit heavy tails, but cells then say nothing about each other."""
    names, n = ("clusters", "independent columns"), 400
    rng = np.random.default_rng(0)
    better = rng.normal(0.05, 0.1, (n, 2))

    def one(name: str, scores: np.ndarray, alone: np.ndarray) -> Any:
        model = latens.GaussianMixture()
        model.n_components_ = 2
        candidate = type("Named", (), {"name": name, "finds": "groups"})()
        return suggestion._Scored(candidate, scores, alone, model, name == names[1])

    scored = [one(names[0], better, better), one(names[1], np.zeros((n, 2)), np.zeros((n, 2)))]
    sums = [each.scores.sum(axis=1) for each in scored]
    means = [float(total.sum()) / (2 * n) for total in sums]
    noise = rng.normal(0.0, 0.1, n)
    found = suggestion._verdict(scored, sums, means, [noise, np.zeros(n)], 2 * n)
    assert found.nothing
    assert "by the shapes of single columns" in found.words  # the test that failed, and not the other
    assert f"{noise.sum() / (2 * n):.2g} nats a cell with a standard error of" in found.words
    assert "no structure fills hidden cells clearly better" not in found.words
    assert suggestion._verdict(scored, sums, means, sums, 2 * n).best == "clusters"


def test_a_structure_that_learns_from_other_cells_leads_where_the_first_fits_shapes_alone() -> None:
    names, n = ("independent columns", "clusters", "factors"), 400
    rng = np.random.default_rng(0)
    zeros, first, second = np.zeros((n, 2)), rng.normal(0.5, 0.1, (n, 2)), rng.normal(0.2, 0.1, (n, 2))
    scored = []
    for name, scores in zip(names, (zeros, first, second), strict=True):
        model = latens.GaussianMixture()
        model.n_components_ = 2
        candidate = type("Named", (), {"name": name, "finds": "groups"})()
        scored.append(suggestion._Scored(candidate, scores, zeros, model, name == names[0]))
    sums = [each.scores.sum(axis=1) for each in scored]
    means = [float(total.sum()) / (2 * n) for total in sums]
    gained = [np.zeros(n), rng.normal(0.0, 0.1, n), sums[2]]
    found = suggestion._verdict(scored, sums, means, gained, 2 * n)
    assert (found.best, found.leader, found.nothing) == (None, "factors", False)
    assert "clusters fill hidden cells best, but by the shapes of single columns" in found.words


def test_the_table_shows_both_tests_that_a_structure_passes() -> None:
    found = latens.suggest(answers(), max_time=None, refit=False)
    row = dict(zip(found.table.columns, found.table.rows[0], strict=True))
    assert row["above independent"] > 2 * row["error above"] > 0
    assert row["from other cells"] > 2 * row["error from cells"] > 0
    base = found.table["structure"].index("independent columns")
    assert found.table["from other cells"][base] == 0


def counts_of(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    patterns, counts = np.unique(X, axis=0, return_counts=True)
    return patterns, counts


@pytest.mark.parametrize("columns", [4, 6])  # nearly all combinations are listed, or many of them once
def test_rows_of_a_table_of_counts_are_repeated(columns: int) -> None:
    X = answers(300)[:, :columns]
    patterns, counts = counts_of(X)
    lacking = np.vstack([patterns, patterns[:1]])  # a row of frequency 0 is none
    table = CellTable.of(lacking, np.random.default_rng(0), np.append(counts, 0.0))
    assert table.weight is None
    assert np.array_equal(table.exact, patterns.repeat(counts, axis=0))
    by_counts = latens.suggest(patterns, max_time=None, refit=False, sample_weight=counts)
    by_rows = latens.suggest(patterns.repeat(counts, axis=0), max_time=None, refit=False)
    assert by_counts.n_cells == by_rows.n_cells == X.size
    assert by_counts.leader == by_rows.leader == "clusters"
    assert by_counts.table["structure"] == by_rows.table["structure"]
    for column in ("score", "error above", "error from cells"):
        assert np.array_equal(by_counts.table[column], by_rows.table[column], equal_nan=True)
    assert "each row repeated as often as it counts" in by_counts.verdict


def test_many_rows_of_a_table_of_counts_are_drawn_by_their_frequencies() -> None:
    patterns, counts = counts_of(answers(300)[:, :4])
    table = CellTable.of(patterns, np.random.default_rng(0), 1000.0 * counts)
    drawn = dict(zip(map(tuple, patterns), np.zeros(len(patterns)), strict=True))
    for row in table.exact:
        drawn[tuple(row)] += 1
    share = counts / counts.sum()
    assert len(table) == 2000
    assert np.all(np.abs(np.array(list(drawn.values())) / 2000 - share) < 5 * np.sqrt(share * (1 - share) / 2000))


def test_weights_that_are_no_frequencies_do_not_repeat_rows() -> None:
    """Expansion weights, whole or not, and weights of rows of measurements: no row may be both fitted and scored."""
    rng = np.random.default_rng(0)
    patterns = np.unique(answers(300), axis=0)
    wide = (rng.random((200, 15)) < 0.5).astype(float)
    survey = (rng.random((300, 4)) < 0.5).astype(float)  # in which all combinations occur, many times each
    for X, weight in (
        (survey, rng.integers(1, 900, len(survey)).astype(float)),
        (patterns, rng.uniform(0.5, 3.0, len(patterns))),
        (wide, rng.integers(50, 900, len(wide)).astype(float)),
        (numbers(80), rng.integers(1, 4, 80).astype(float)),
        (patterns, np.ones(len(patterns))),
    ):
        table = CellTable.of(X, np.random.default_rng(0), weight)
        assert table.weight is not None
        assert len(table) == len(X)


def test_correlated_columns_are_not_nothing_where_one_gaussian_fills_cells_best() -> None:
    """Factors with a few wild cells are not clearly above independent columns, and not clearly behind one Gaussian."""
    names, n = ("independent columns", "one Gaussian", "factors"), 400
    rng = np.random.default_rng(0)
    one_gaussian = rng.normal(1.3, 0.2, (n, 2))
    wild = one_gaussian - 0.2
    wild[:2] -= 150.0
    scored = []
    for name, scores in zip(names, (np.zeros((n, 2)), one_gaussian, wild), strict=True):
        model = latens.FactorAnalysis()
        model.n_components_ = 2
        candidate = type("Named", (), {"name": name, "finds": "graded factors"})()
        scored.append(suggestion._Scored(candidate, scores, np.zeros((n, 2)), model, name != "factors"))
    sums = [each.scores.sum(axis=1) for each in scored]
    means = [float(total.sum()) / (2 * n) for total in sums]
    found = suggestion._verdict(scored, sums, means, sums, 2 * n)
    assert (found.best, found.leader, found.nothing) == (None, "factors", False)
    assert found.words.startswith("No clear winner: one Gaussian fills hidden cells best, 1.29 nats")
    assert "factors come within 2 standard errors of it" in found.words


def test_without_a_time_the_iterations_alone_bound_a_candidate() -> None:
    table = table_of(numbers())
    for one in all_candidates(table):
        model = one.short(table, np.arange(100), None, 0)
        assert model.max_time is None
        assert model.max_iter == one.build().max_iter

    class Wide:
        n_columns = 300

    for one in all_candidates(table):
        assert one.short(Wide, np.arange(1333), None, 0).max_iter == 75


def test_candidates_that_time_cut_off_are_named() -> None:
    words = "had ended: more of it may change the answer."
    found = latens.suggest(numbers(), max_time=0.01, refit=False)
    assert words in found.verdict
    assert "factors" in found.verdict.partition("Time was over before")[2]
    assert words not in latens.suggest(answers(), max_time=None, refit=False).verdict


def test_the_time_of_the_search_is_no_setting_of_the_model_that_it_finds() -> None:
    found = latens.suggest(answers(), max_time=1000)
    assert found.model.converged_
    assert found.model.max_time is None


def test_the_leader_is_fitted_to_all_rows_where_that_is_wanted() -> None:
    found = {refit: latens.suggest(answers(), max_time=None, refit=refit) for refit in (True, False)}
    assert found[True].leader == found[False].leader == "clusters"
    assert found[True].model.n_components_ == 2
    assert found[False].model is None


def test_few_cells_are_too_few_to_tell() -> None:
    found = latens.suggest(numbers(24), max_time=None)
    assert found.best is None
    assert not found.nothing
    assert "Too few to tell: 120 cells" in found.verdict


def test_a_column_that_another_equals_is_left_out_and_named() -> None:
    X = numbers(60)
    table = table_of(np.column_stack([X, 2 * X[:, 0] + 1]))
    assert table.n_columns == X.shape[1]
    assert "columns 'x0' and 'x5' are the same in other units: the first of each is taken" in table.notes


def test_a_copy_in_single_precision_is_named_in_the_words_of_a_fit() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    X = np.column_stack([X, X[:, 1], X[:, 2].astype(np.float32)])
    notes, words = table_of(X).notes, "columns 'x2' and 'x4' are equal but for rounding: "
    assert any(note.startswith(words) for note in notes)
    assert any(note.startswith("columns 'x1' and 'x3' are equal in every row: ") for note in notes)
    with pytest.warns(latens.errors.EqualColumns, match=words):
        latens.GaussianMixture(1).fit(X)


def test_the_first_structure_is_not_behind_itself() -> None:
    found = latens.suggest(answers(), max_time=None, refit=False)
    assert "nan" not in str(found)
    assert str(found.table).splitlines()[1].split()[-2:] == ["0", "-"]
    assert "error: standard error of how far a structure is behind the first" in str(found)
    assert np.isnan(found.table["error"][0])


def test_rounded_columns_are_spread_over_their_width() -> None:
    table = table_of(numbers())
    j = 2
    gap = np.abs(table.spread[:, j] - table.spread_exact[:, j])
    assert 0 < table.width[j] < 1
    assert 0 < gap.max() <= table.width[j] / 2
    assert np.array_equal(table.values[:, 4], table.exact[:, 4])  # models of kinds take counts as they are


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.arange(5.0), "expected rows by columns"),
        (np.array([["a", "b"], ["c", "d"]]), "give a data frame"),
        (np.array([[1.0, np.inf], [2.0, 3.0]]), "infinite value"),
        (np.random.default_rng(0).normal(size=(40, 1)), "a hidden cell needs others beside it"),
        ({"a": numbers(), "b": numbers()}, "MultiViewFactorAnalysis"),
    ],
)
def test_what_cannot_be_a_table_is_refused_with_what_to_do(X: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        latens.suggest(X)


def test_the_signature_is_that_of_the_documentation() -> None:
    parameters = inspect.signature(latens.suggest).parameters
    assert list(parameters)[:3] == ["X", "max_time", "path"]
    assert (parameters["max_time"].default, parameters["path"].default) == (60, None)


def test_a_page_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    latens.suggest(numbers(24), max_time=5, path=tmp_path / "page.html")
    assert "What fills hidden cells best" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.extras
def test_a_raw_frame_is_suggested_classes_or_factors() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    label = rng.integers(2, size=200)
    frame = pd.DataFrame(
        {
            "size": rng.normal(3.0 * label),
            "weight": rng.normal(2.0 * label),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(200) < 0.85, label, 2)],
            "visits": rng.poisson(1 + 2 * label),
            "member": np.where(rng.random(200) < 0.2 + 0.6 * label, "yes", "no"),
            "name": [f"person {i}" for i in range(200)],
        }
    )
    frame.loc[3, "colour"] = None
    found = latens.suggest(frame, max_time=None)
    assert found.leader == "classes"
    assert set(found.table["structure"]) == {"classes", "factors", "independent columns"}
    assert isinstance(found.model, latens.LatentClassAnalysis)
    assert found.model.n_components_ == 2
    assert found.model.likelihoods_["visits"] == "negative-binomial"  # as where it won
    assert "name" in found.verdict


@pytest.mark.extras
def test_levels_of_a_category_have_probabilities_that_add_up_to_one() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.choice(list("xyz"), 150), "c": rng.integers(0, 2, 150)})
    table = table_of(frame)
    for candidate in candidates(table, 100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = candidate.fit(table, np.arange(100), None, 0)
        scores = scores_over(candidate, model, table, 1, np.arange(3.0))
        assert np.exp(scores).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-6)


def test_no_more_switches_are_tried_than_there_are_columns_and_each_structure_is_told() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(1.5 * rng.normal(size=(240, 3)) + rng.normal(size=(240, 1)))
    said: list[str] = []
    found = latens.suggest(X, max_time=None, refit=False, progress=said.append)
    sizes = {row[0]: row[2] for row in found.table.rows}
    assert sizes["switches"] <= 3
    assert len(said) == len(sizes)
    assert said[0] == f"independent columns, 1 of {len(sizes)}"


def test_a_verdict_without_a_winner_names_the_simplest() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(150, 1))
    X = z @ rng.normal(size=(1, 5)) + rng.normal(size=(150, 5))
    found = latens.suggest(X, max_time=None, refit=False)
    assert found.leader is not None
    first = found.table.rows[0][0]
    if found.best is None and found.leader != first:
        assert f"{found.leader} are the simplest structure of these" in found.verdict
    else:
        assert "simplest" not in found.verdict
