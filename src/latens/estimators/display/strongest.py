"""Which columns describe a component: those in which it surely stands out, the surest first.

A strength is what a component adds to a column, or how far its rows are from all rows, in standard deviations of the
column. It counts for what is left of it after two standard errors, so that one row does not make a trait of a group,
and a column that none of the component's rows shows never describes it.
"""

from __future__ import annotations

import numpy as np

from latens.array import Floats

__all__ = ["least_strength", "standard_errors", "strongest"]

N_ERRORS = 2.0  # standard errors that are taken off
FEWEST_ROWS = 0.5  # of a component that show a column, as memberships share rows out; with fewer, none does


def least_strength(strength: Floats, error: Floats) -> Floats:
    """The lower end of absolute strengths: below 0 where the sign is not sure, -inf where no row shows the column.

    >>> least_strength(np.array([-1.0, 2.0, 0.5]), np.array([0.1, 1.5, np.inf])).tolist()
    [0.8, -1.0, -inf]
    """
    return np.asarray(np.abs(strength) - N_ERRORS * error)


def strongest(least: Floats, n: int) -> list[int]:
    """The n columns of the largest lower ends (D,), without those that no row shows.

    >>> strongest(np.array([0.8, -1.0, -np.inf]), 3)
    [0, 1]
    """
    return [int(d) for d in np.argsort(-least, kind="stable")[:n] if least[d] > -np.inf]


def standard_errors(variance: Floats, rows: Floats) -> Floats:
    """Of means of so many rows, whose entries have this variance, and of one row more that the prior is worth.

    >>> standard_errors(np.array([1.0, 1.0]), np.array([3.0, 0.0])).tolist()
    [0.5, inf]
    """
    shown = np.asarray(rows) >= FEWEST_ROWS
    return np.where(shown, np.sqrt(np.asarray(variance) / (np.where(shown, rows, 0.0) + 1.0)), np.inf)
