"""Columns with a role in a table that was read, or in a scan: weights, exposures, groups, covariates, targets.

`fit` of such a table takes them as if they were given beside it; an estimator that does not know a role refuses it.
"""

from __future__ import annotations

from typing import Any

from latens.intake import Intake
from latens.intake.columns import COVARIATE

__all__ = ["from_table", "refuse_roles", "rows_and_exposure"]

# what a role is called as an argument
ROLES = {"sample_weight": "weights", "exposure": "exposure", "groups": "groups", "covariates": COVARIATE, "y": "target"}


def from_table(X: Any, **given: Any) -> tuple[Any, ...]:
    """What is given beside rows, in its order; what is None comes from the columns that a table was read with.

    Examples
    --------
    >>> from_table([[1.0]], sample_weight=[2], exposure=None)
    ([2], None)
    """
    if not isinstance(X, Intake):
        return tuple(given.values())
    return tuple(_of_table(X, argument, value) for argument, value in given.items())


def _of_table(table: Intake, argument: str, given: Any) -> Any:
    role = ROLES[argument]
    name = table.name_of_role(role)
    if name is None or (given is not None and argument == "y"):
        return given
    if given is not None and not (isinstance(given, str) and given == name):
        word = "covariates" if role == COVARIATE else role
        raise ValueError(
            f"{argument} is given beside a table that was read with {word}={name!r}; leave one of the two out."
        )
    if argument == "groups":
        return table.groups()
    return table.covariates() if argument == "covariates" else table.numbers_aside(role)


def rows_and_exposure(estimator: Any, X: Any, exposure: Any, *, new: bool = True) -> tuple[Any, Any]:
    """A frame in place of a table that was read, and its exposures where none are given; refuses other roles.

    Tables of `new` rows have the columns of the fit, also those that are constant or empty there.
    """
    if not isinstance(X, Intake):
        return X, exposure
    refuse_roles(estimator, X)
    table = X.like(estimator) if new else X
    return table.frame, from_table(X, exposure=exposure)[0]


def refuse_roles(estimator: Any, rows: Any) -> None:
    """Groups are of views and exposures of counts; elsewhere they would be left out without a word.

    Parameters
    ----------
    estimator : object
        Its class says whether it `takes_exposure`.
    rows : Intake or Scan
    """
    takes_exposure = getattr(estimator, "takes_exposure", False)
    roles = ("groups", "covariates") if takes_exposure else ("groups", "exposure", "covariates")
    is_read = isinstance(rows, Intake)
    named = {
        role: rows.name_of_role(COVARIATE if role == "covariates" else role) if is_read else getattr(rows, role)
        for role in roles
    }
    given = [role for role in roles if named[role] not in (None, ())]
    if given:
        raise ValueError(
            f"{type(estimator).__name__} has no {given[0]}; leave {given[0]}={named[given[0]]!r} out of "
            f"latens.{'read' if is_read else 'scan'} and name the columns to use, or fit MultiViewFactorAnalysis."
        )
