"""Tables of yes and no that are not written as 0 and 1, given to estimators of binary rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import ValuesCut

ESTIMATORS = [latens.BernoulliMixture, latens.NoisyOr]
ONES = (np.random.default_rng(0).random((80, 4)) < 0.4).astype(float)


@pytest.mark.extras
@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("words", [("no", "yes"), ("N", "Y"), ("FALSE", "TRUE")])
def test_the_remedy_for_words_is_a_line_that_runs(make: Any, words: tuple[str, str]) -> None:
    import pandas

    X = pandas.DataFrame(np.where(ONES > 0, words[1], words[0]), columns=list("abcd"))
    X.iloc[3, 2] = None
    with pytest.raises(ValueError, match="which is no number; give 1 where it is so") as refused:
        make(2, random_state=0).fit(X)
    line = str(refused.value).split("such as ")[1].rstrip(".")
    found = eval(line, {"X": X})
    expected = ONES.copy()
    expected[3, 2] = np.nan
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.extras
@pytest.mark.parametrize("make", ESTIMATORS)
def test_words_that_differ_by_column_are_told_apart(make: Any) -> None:
    import pandas

    X = pandas.DataFrame({"a": ["yes", "no"] * 20, "b": ["m", "f"] * 20})
    with pytest.raises(ValueError, match="column by column"):
        make(2).fit(X)


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("holes", [False, True])
def test_ones_and_twos_are_not_taken_for_a_table_of_ones_without_a_word(make: Any, holes: bool) -> None:
    X = ONES + 1
    if holes:
        X[2, 1] = np.nan
    with pytest.warns(ValuesCut, match=r"All of them are 1 now, since X holds 1 and 2 only: .*\(X == 2\)"):
        make(2, random_state=0).fit(X)


def test_other_values_are_cut_with_the_usual_words() -> None:
    with pytest.warns(ValuesCut, match=r"Pass \(X > 0.5\)"):
        latens.BernoulliMixture(2, random_state=0).fit(3 * ONES)
