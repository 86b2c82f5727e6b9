"""Annotations name the type of a stored field, in whatever form Python and NumPy spell it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from latens.io.checks.type_checks import fits

Scalar = TypeVar("Scalar", bound=np.generic)


class Alias(Generic[Scalar]):
    """Stands for typing.TypeAliasType, which Python 3.11 lacks: NumPy 2.5's NDArray is one."""

    __value__ = np.ndarray[Any, np.dtype[Scalar]]


class PlainAlias:
    """An alias without a parameter that stands for another alias."""

    __value__ = Alias[np.float64]


@pytest.mark.parametrize("hint", [NDArray[np.float64], Alias[np.float64], PlainAlias])
def test_an_alias_of_an_array_type_is_checked_as_the_array_type(hint: Any) -> None:
    assert fits(np.ones(2), hint)
    assert not fits(np.ones(2, dtype=np.float32), hint)
    assert not fits([1.0, 1.0], hint)


def test_an_alias_inside_a_union_or_a_tuple_is_checked_too() -> None:
    assert fits(None, Alias[np.bool_] | None)
    assert fits((np.ones(2, dtype=bool),), tuple[Alias[np.bool_], ...])
    assert not fits((np.ones(2),), tuple[Alias[np.bool_], ...])
