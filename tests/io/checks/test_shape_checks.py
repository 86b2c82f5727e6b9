"""The small language in which shapes are declared."""

from __future__ import annotations

import pytest

from latens.io.checks.shape_checks import shape_matches


@pytest.mark.parametrize(
    ("shape", "declared", "matches"),
    [
        ((), "", True),
        ((4,), "k", True),
        ((5,), "k", False),
        ((4, 1), "k", False),
        ((4,), "k d", False),
        ((1,), "1|d", True),
        ((16,), "1|d", True),
        ((2,), "1|d", False),
        ((5, 3), "k+intercept k-1", True),
        ((4, 3), "k+intercept k-1", False),
        ((3, 3), "p p", True),
        ((3, 2), "p p", False),
    ],
)
def test_a_shape_is_as_declared_or_not(shape: tuple[int, ...], declared: str, matches: bool) -> None:
    assert shape_matches(shape, declared, {"d": 16, "k": 4, "intercept": 1}) is matches


def test_a_free_size_is_kept_only_where_the_whole_shape_fits() -> None:
    sizes = {"k": 4}
    assert not shape_matches((3, 5), "p k", sizes)
    assert sizes == {"k": 4}
    assert shape_matches((2, 4), "p k", sizes)
    assert not shape_matches((3,), "p", sizes)
