"""Tables: numbers stand to the right, words to the left."""

from __future__ import annotations

from latens.report import Table


def test_columns_of_words_are_told_from_numbers() -> None:
    table = Table(("name", "method", "nats", "share"), (("a", "SWAG", "−3.2", ""), ("b", "3 of 5", "1e-3", ".5")))
    assert table.words == {0, 1}
