"""The one table type: with and without pandas."""

from __future__ import annotations

import sys

import pytest

from latens.system.summary_table import Table

TABLE = Table(("group", "view", "share"), (("a", "rna", 0.25), ("b", "rna", 0.5)), n_keys=2)


def test_a_table_is_read_by_column_and_printed_without_pandas() -> None:
    assert TABLE["share"] == [0.25, 0.5]
    assert str(TABLE).splitlines()[1].split() == ["a", "rna", "0.25"]
    assert "<td>0.25</td>" in TABLE._repr_html_()
    with pytest.raises(KeyError, match="no column 'age'; there are group, view, share"):
        TABLE["age"]


@pytest.mark.extras
def test_a_frame_has_the_keys_as_its_index() -> None:
    frame = TABLE.to_frame()
    assert frame.index.names == ["group", "view"]
    assert frame.loc[("b", "rna"), "share"] == 0.5


@pytest.mark.extras
def test_former_ways_to_a_frame_warn() -> None:
    with pytest.warns(FutureWarning, match="write to_frame instead"):
        former = TABLE.to_pandas()
    assert former.equals(TABLE.to_frame())
    with pytest.warns(FutureWarning, match=r"write table\.to_frame\(\)\.loc instead"):
        assert TABLE.loc[("a", "rna"), "share"] == 0.25


def test_without_pandas_a_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    with pytest.raises(ImportError, match="pip install"):
        TABLE.to_frame()
