"""Priors that the caller gives, in the units of the data, as models take them.

A chance has a Beta prior, given by its two counts:

    usage_prior=(a, b)                      pi ~ Beta(a, b), of mean a / (a + b) and worth a + b observations

A variance has one by what it is thought to be and how many observations that thought is worth; the precision that a
model holds is its inverse:

    noise_variance_prior=(variance, n)      1 / variance ~ Gamma(n / 2, n variance / 2)

None leaves a prior as it is by default: as good as nothing, in the units of the data.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.parameters import positive_number

__all__ = ["WEAK", "Pair", "beta_prior", "by_name", "no_prior", "variance_prior"]

WEAK = 1e-3  # what a prior by default is worth, and its rate in units of the data's variance

Pair = tuple[float, float]


def beta_prior(name: str, given: Any, default: Pair) -> Pair:
    """The two counts of a chance.

    >>> beta_prior("usage_prior", [1, 9], (1.0, 1.0))
    (1.0, 9.0)
    """
    if given is None:
        return default
    first, second = _pair(name, given, "(a, b), the two counts of a Beta distribution, such as (1, 9)")
    return positive_number(f"{name}[0]", first), positive_number(f"{name}[1]", second)


def variance_prior(name: str, given: Any, default: Any, square: Any = 1.0, d: int | None = None) -> Any:
    """Shape and rate of a precision; `square` is the square of the unit that models measure in.

    With `d` columns the variance may be one for each.

    >>> variance_prior("noise_variance_prior", (4.0, 10), None, square=4.0)
    (5.0, 5.0)
    """
    if given is None:
        return default
    variance, worth = _pair(name, given, "(variance, n), a variance in data units and how many rows it is worth")
    worth = positive_number(f"{name}[1]", worth)
    if d is None or isinstance(variance, numbers.Real):
        rate = 0.5 * worth * positive_number(f"{name}[0]", variance) / square
        return 0.5 * worth, float(rate) if np.ndim(rate) == 0 else np.asarray(rate)
    return 0.5 * worth, 0.5 * worth * _variances(name, variance, d) / square


def by_name(name: str, given: Any, views: Sequence[str]) -> dict[str, Any]:
    """One prior for all views, or a dict of them for some."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(views, given)
    strange = [str(view) for view in given if str(view) not in views]
    if strange:
        raise ValueError(
            f"{name} names {strange[0]!r}; it can be given for {', '.join(map(repr, views)) or 'nothing'}."
        )
    return {view: given.get(view) for view in views}


def no_prior(needs: str, **given: Any) -> None:
    """Refuse priors of what a fit has not.

    Raises
    ------
    ValueError
        If one was given; `needs` says when it would mean something.
    """
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} needs {needs}; choose that, or leave {name} out.")


def _pair(name: str, given: Any, wanted: str) -> tuple[Any, Any]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 2:
        raise ValueError(f"{name}={given!r} is no pair; give {wanted}.")
    return given[0], given[1]


def _variances(name: str, given: Any, d: int) -> Floats:
    """(d,), the variances of a prior with one for each column, checked."""
    try:
        found: Floats = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}[0]={given!r} is no variance; give a number, or one for each column.") from None
    if found.shape != (d,) or not np.isfinite(found).all() or not (found > 0).all():
        raise ValueError(f"{name}[0] has shape {found.shape}; expected {d} positive numbers, one for each column.")
    return found
