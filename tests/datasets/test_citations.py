"""Generated citations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_citations


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
