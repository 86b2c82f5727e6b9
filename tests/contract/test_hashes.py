"""Fits give the numbers that they gave; `python -m tests.contract.hashes` compares their bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.contract.cases import CASES
from tests.contract.hashes import (
    CLOSE,
    SITUATIONS,
    Digest,
    comparable,
    differences,
    digest,
    digests_of,
    keys,
    stored,
    summary,
)
from tests.contract.variants import VARIANTS

STORED_FITS = stored()["fits"]


def in_turn() -> list[str]:
    """One situation for each variant, in turn, so that each is met by a part of the variants."""
    every = keys()
    of = {name: [key for key in every if key.startswith(f"{name} / ")] for name in VARIANTS}
    return [own[i % len(own)] for i, own in enumerate(of.values())]


def test_every_row_of_the_contract_table_has_an_estimator_here() -> None:
    assert [name for name in CASES if name not in VARIANTS] == []


def test_every_fit_is_stored() -> None:
    assert list(STORED_FITS) == keys()
    assert {key.split(" / ")[1] for key in in_turn()} == set(SITUATIONS)


def comparable_here(key: str) -> tuple[Mapping[str, Digest], Mapping[str, Digest], float]:
    digests, close = comparable(STORED_FITS[key])
    return digests, digests_of(key), close


@pytest.mark.parametrize("key", in_turn())
def test_a_fit_gives_the_numbers_that_it_gave(key: str) -> None:
    assert differences(*comparable_here(key)) == []


def test_a_change_of_one_entry_of_an_array_is_seen() -> None:
    before = np.linspace(1, 2, 30)
    after = before.copy()
    after[17] += 1e-6
    old, new = [digest(before), *summary(before)], [digest(after), *summary(after)]
    assert old[0] != new[0]
    assert differences({"a": old}, {"a": new}, CLOSE) != []
    assert differences({"a": old}, {"a": new}, 1e-5) == []
    assert differences({"a": old}, {"a": new}, None) != []
    swapped = before[::-1]
    assert differences({"a": old}, {"a": [digest(swapped), *summary(swapped)]}, CLOSE) != []


def test_an_attribute_that_is_gone_is_told() -> None:
    answer = [digest(np.ones(2)), *summary(np.ones(2))]
    assert differences({"a": answer, "b": answer}, {"a": answer}, CLOSE) == ["b is gone"]
