"""What a fit shows that should be looked at before it is believed: each cause one warning, with what to type.

The fit is there by then, and stays whatever interrupts come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from latens.core import Rows
from latens.errors import (
    AllKept,
    FewerThanAsked,
    FitInterrupted,
    HeywoodCase,
    NothingFound,
    WorseThanIndependent,
    warn,
)
from latens.estimators.fitting.context import FitContext
from latens.estimators.fitting.independent_columns import independent_bound
from latens.estimators.fitting.one_more import FEW_ASKED, height_with_one_more
from latens.estimators.rows.data import InMemory
from latens.system.wording import listed

__all__ = ["doubt_fit", "doubt_noise", "doubt_number", "looking_over", "tell_late_interrupt"]

PER_COLUMN, PER_ROW = 2.0, 0.05  # nats below independent columns that priors alone may cost
FEWEST_ROWS = 10  # with fewer, columns that have means and variances of their own describe the rows all but exactly
MOST_ROWS = 4096  # looked at before all are
CLEARLY = 1.0  # nats a row by which a fit is above independent columns, so that some rows tell
AT_FLOOR = 1e-5  # of a column's variance: noise below it is none


@contextmanager
def looking_over(estimator: Any) -> Iterator[None]:
    """Steps that only say something about a fit: an interrupt ends them."""
    try:
        yield
    except KeyboardInterrupt:
        tell_late_interrupt(estimator, " Warnings about it may be missing.")


def tell_late_interrupt(estimator: Any, words: str = "") -> None:
    """Warn of an interrupt that came after the last iteration."""
    warn(
        FitInterrupted(
            f"{type(estimator).__name__} was interrupted after its last iteration, the {estimator.n_iter_}th; the fit "
            f"is kept and can be used.{words}"
        )
    )


def doubt_fit(estimator: Any, context: FitContext) -> None:
    """Warn of a number of components that says little, and of a fit that independent columns would beat.

    The latter takes rows that are in memory.
    """
    if not estimator.converged_ and estimator.n_iter_ < estimator.max_iter:
        return  # interrupted, or stopped by a callback: it was not given the time to describe the rows well
    doubt_number(estimator, context)
    data = context.given
    if not isinstance(data, InMemory) or data.rows.n < FEWEST_ROWS:
        return
    if not estimator.n_components_:
        return  # these are independent columns, and it was said that nothing is found
    rows = data.rows
    if len(rows) > MOST_ROWS and _surely_better(estimator, rows):
        return
    alone = independent_bound(rows, binary=bool(estimator.binary))
    if alone is not None and alone - estimator.elbo_ > max(PER_COLUMN * rows.x.shape[1], PER_ROW * rows.n):
        warn(
            WorseThanIndependent(
                f"the bound is {estimator.elbo_ / rows.n:.4g} nats a row, below the {alone / rows.n:.4g} of columns "
                f"that have nothing to do with each other: this {type(estimator).__name__} describes the rows badly.",
                _remedy(estimator),
            )
        )


def _surely_better(estimator: Any, rows: Rows) -> bool:
    """Whether some rows, evenly spaced, leave no doubt that the bound is above that of independent columns."""
    part = rows[slice(None, None, -(-len(rows) // MOST_ROWS))]
    alone = independent_bound(part, binary=bool(estimator.binary))
    return alone is not None and alone / part.n < estimator.elbo_ / rows.n - CLEARLY


def doubt_number(estimator: Any, context: FitContext) -> None:
    """Warn where all components allowed were kept, or fewer are there than were asked for."""
    if estimator.n_components_ == 0:
        bounds = _both_bounds(estimator, context, height_with_one_more(estimator, context))
        warn(
            NothingFound(
                f"{type(estimator).__name__} finds nothing: {bounds}.",
                "Give more rows, or n_components and prune=False to have that many all the same.",
            )
        )
        return
    if estimator.n_components is None or estimator._keeps_all:
        return
    asked, found = int(estimator.n_components), estimator.n_components_
    exact = getattr(estimator, "prior", "ard") == "ml"
    if exact and found < asked:
        warn(
            FewerThanAsked(
                f"{found} of the {asked} components asked for are there; the others explain nothing.",
                f"Ask for n_components={found}.",
            )
        )
    elif not exact and found < asked <= FEW_ASKED:
        warn(
            FewerThanAsked(
                f"{found} of at most {asked} components {'is' if found == 1 else 'are'} needed: "
                f"n_components={asked} is an upper bound"
                f"{_cost_of_one_more(found + 1, estimator.elbo_, height_with_one_more(estimator, context))}.",
                f"To have exactly {asked}: prune=False.",
            )
        )
    elif not exact and found == asked > 1 and estimator.moves:
        warn(
            AllKept(
                f"all {asked} components that were allowed are kept: there may be more.",
                f"Raise n_components, or give None to have the number found; {asked} may be right.",
            )
        )


def doubt_noise(estimator: Any, names: Any) -> None:
    """Warn of Heywood cases: columns whose noise went to 0, so that a factor is the column itself."""
    noise = np.asarray(estimator.noise_variance_)
    signal = np.sum(estimator._loadings**2, axis=0)
    places = np.flatnonzero((noise < AT_FLOOR * (noise + signal)) & (signal > 0)).tolist()
    found = [str(names[j]) for j in places]
    if found:
        unnamed = "" if hasattr(estimator, "feature_names_in_") else f", X[:, {places[:8]}],"
        k = estimator.n_components_
        fewer = f"n_components={k - 1}, " if k > 1 else ""
        warn(
            HeywoodCase(
                f"the noise of column(s) {listed(map(str, found))} is at its floor (a Heywood case): factors follow "
                f"these columns{unnamed} alone, and their likelihood has no maximum inside.",
                f"Try {fewer}prior='ard', or leave the columns out.",
            )
        )


def _both_bounds(estimator: Any, context: FitContext, other: float) -> str:
    """The bound without a component beside that with one, where it was tried, and why a higher one is not enough."""
    bound = estimator.elbo_
    if np.isnan(other):
        return "rows are best described without any component"
    numbers = f"the bound is {bound:,.1f} nats without any component and {other:,.1f} with one"
    if not other > bound:
        return numbers
    if not estimator.binary:
        return f"{numbers}, which heavy tails of single columns explain as well"
    alone = estimator._alone(context, bound)  # a frequency of its own for each column has no tails
    if other < alone:
        return f"{numbers}, below the {alone:,.1f} of columns that have nothing to do with each other"
    return f"{numbers}, to which the search did not come"


def _cost_of_one_more(k: int, bound: float, other: float) -> str:
    if not other < bound:  # not tried, or not settled
        return ""
    return f"; with {k} the bound is {bound - other:,.1f} nats lower ({other:,.1f}, not {bound:,.1f})"


def _remedy(estimator: Any) -> str:
    if getattr(estimator, "fit_intercept", True) is False:
        return "Try fit_intercept=True, which rows far from 0 need."
    if getattr(estimator, "covariance_type", "") == "known":
        return f"noise_variance={estimator.noise_variance:g} may not suit the rows: try covariance_type='full'."
    return "Raise n_init and max_iter, standardise the columns, or take another model."
