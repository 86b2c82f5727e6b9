"""The names of likelihoods, one table for all estimators, and likelihoods of one's own beside them.

`NAMES` says what each means; `LIKELIHOODS` has the class behind it for views. Latent classes have families of their own
for the same names (`latens.families`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latens.models.likelihoods.bernoulli import Bernoulli, Categorical
from latens.models.likelihoods.counts import NegativeBinomial, PoissonCounts
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Likelihood
from latens.models.likelihoods.ordered_logit import OrderedLogit
from latens.models.likelihoods.student import Student

__all__ = [
    "LIKELIHOODS",
    "MEASUREMENTS",
    "NAMES",
    "Kind",
    "chosen_again",
    "kinds_of",
    "names_columns",
    "own_likelihoods",
    "refuse_unknown",
]

NAMES: dict[str, str] = {
    "gaussian": "measurements with normal noise",
    "student": "measurements with outliers",
    "bernoulli": "yes or no, as 1 and 0",
    "categorical": "levels without order",
    "ordinal": "levels in order",
    "poisson": "counts",
    "negative-binomial": "overdispersed counts",
}

LIKELIHOODS: dict[str, type[Likelihood]] = {
    kind.name: kind
    for kind in (Gaussian, Student, Bernoulli, Categorical, OrderedLogit, PoissonCounts, NegativeBinomial)
}

MEASUREMENTS = tuple(name for name, kind in LIKELIHOODS.items() if kind.has_unit)  # whose values have a unit

Kind = type[Likelihood] | Likelihood  # the class behind a name, or the caller's own


def refuse_unknown(key: str, kind: Any) -> None:
    """Refuse what is neither a name of the table nor a likelihood of the caller's own."""
    if isinstance(kind, Likelihood) or (isinstance(kind, str) and kind in LIKELIHOODS):
        return
    if isinstance(kind, type) and issubclass(kind, Likelihood):
        raise ValueError(f"likelihoods[{key!r}] is the class {kind.__name__}; give an instance, {kind.__name__}().")
    raise ValueError(
        f"likelihoods[{key!r}]={kind!r} is not known; choose one of {', '.join(map(repr, LIKELIHOODS))}, or give an "
        "instance of latens.likelihoods.Likelihood."
    )


def names_columns(given: Any) -> bool:
    """Whether likelihoods are given for single columns of views."""
    return isinstance(given, Mapping) and any(isinstance(kind, Mapping) for kind in given.values())


def own_likelihoods(given: Any) -> dict[str, Likelihood]:
    """The caller's own among what was given for views or columns, by view or column; under "" one for all views."""
    if isinstance(given, Likelihood):
        return {"": given}
    if not isinstance(given, Mapping):
        return {}
    found = {str(name): kind for name, kind in given.items() if isinstance(kind, Likelihood)}
    for columns in given.values():
        found |= own_likelihoods(columns) if isinstance(columns, Mapping) else {}
    return found


def kinds_of(names: Mapping[str, str], given: Any) -> dict[str, Kind]:
    """What each view's likelihood is, from its name and what the caller gave."""
    return {
        view: LIKELIHOODS[kind] if isinstance(kind, str) else kind for view, kind in chosen_again(names, given).items()
    }


def chosen_again(names: Mapping[str, str], given: Any) -> dict[str, str | Likelihood]:
    """Each view's likelihood as a caller would choose it: by name, or the caller's own."""
    own = own_likelihoods(given)
    named = {kind.name: kind for kind in own.values()}  # of a view that holds columns which were given it
    return {view: own.get(view, own.get("", named.get(name, name))) for view, name in names.items()}
