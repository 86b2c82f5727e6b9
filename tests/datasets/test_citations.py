"""Generated citations, and files of edges and of transactions."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.datasets import make_citations, read_edges, read_transactions


def test_papers_cite_the_authors_of_their_communities() -> None:
    x, truth = make_citations(4000, random_state=0)
    assert x.shape == (4000, 40)
    assert set(np.unique(x)) == {0.0, 1.0}
    assert np.all(np.sum(truth.components > 0, axis=1) >= 8)
    assert 0 < np.sum(np.sum(truth.components > 0, axis=0) == 2) < 20
    alone = truth.codes.sum(axis=1) == 1
    for k, strength in enumerate(truth.components):
        of_one = x[alone & (truth.codes[:, k] == 1)]
        expected = 1 - (1 - strength) * (1 - truth.leak)
        assert np.all(np.abs(of_one.mean(axis=0) - expected) < 5 * np.sqrt(0.25 / len(of_one)))


def test_the_same_seed_draws_the_same_citations() -> None:
    one, two = (make_citations(50, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_communities": 9}, "n_communities=9 is too large; choose from 1 to 8"),
        ({"n_authors": 3}, "n_authors=3 is too small; choose at least 5"),
        ({"leak": 2}, "leak=2 is not a probability"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_citations(10, **options)


@pytest.mark.parametrize("separator", ["\t", ",", ";", " "])
def test_edges_in_any_separator_with_comments_repeats_and_weights(tmp_path: Path, separator: str) -> None:
    lines = ["# from to", "a x", "a y 0.5", "", "b y", "a x", "% end"]
    path = tmp_path / "edges.txt"
    path.write_text("\n".join(line.replace(" ", separator) for line in lines), encoding="utf-8")
    x, rows, columns = read_edges(path)
    assert (rows, columns) == (("a", "b"), ("x", "y"))
    np.testing.assert_array_equal(x.toarray(), [[1, 1], [0, 1]])


def test_names_may_hold_spaces_where_commas_separate(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("paper,author\np 1,Judea Pearl\np 2,Judea Pearl\n")
    x, rows, columns = read_edges(path, header=True)
    assert (rows, columns, x.shape) == (("p 1", "p 2"), ("Judea Pearl",), (2, 1))


def test_a_line_with_one_name_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("a x\nlonely\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2 of .*edges.txt is 'lonely'; expected two names, a row and a column"):
        read_edges(path)


@pytest.mark.parametrize("read", [read_edges, read_transactions])
def test_empty_and_absent_files_are_refused(tmp_path: Path, read: Callable[..., Any]) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no line but comments and empty ones"):
        read(tmp_path / "empty.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "absent.txt")


def test_transactions_go_straight_into_a_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.permutation(["bread", "butter", "jam"] if i % 2 else ["beer", "crisps"])) for i in range(60)]
    path = tmp_path / "baskets.dat"
    path.write_text("\n".join(lines), encoding="utf-8")
    x, rows, items = read_transactions(path)
    assert x.shape == (60, 5)
    assert x.sum() == 30 * 3 + 30 * 2
    assert rows[0] == "1"
    model = latens.NoisyOr(2, n_profiles=1, random_state=0).fit(x)
    together = {frozenset(np.array(items)[row > 0.5]) for row in model.components_}
    assert frozenset({"beer", "crisps"}) in together
