"""What should be known of a fit before it begins, and looked at before it is believed: each cause one warning.

Warnings say what to type. Once there is a fit, it stays whatever interrupts come.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latens.array.transfer import host, n_bytes
from latens.core import Compressing, Model, Rows, State, without_transients
from latens.errors import (
    AllKept,
    FewerThanAsked,
    FitInterrupted,
    HeywoodCase,
    LatensWarning,
    LittleMemory,
    NeverSeen,
    NothingFound,
    WorseThanIndependent,
    collect_warnings,
    warn,
)
from latens.estimators.fitting.context import FitContext
from latens.estimators.fitting.independent_columns import independent_bound
from latens.estimators.rows.data import Data, InBlocks, InMemory
from latens.inference.ascent import ascend
from latens.inference.search.moves import starts_with_one_more
from latens.system.memory import free_memory, in_words
from latens.system.wording import listed

__all__ = [
    "AT_FLOOR",
    "FEW_ASKED",
    "doubt_fit",
    "doubt_memory",
    "doubt_noise",
    "doubt_number",
    "doubt_unseen",
    "fit_bytes",
    "looking_over",
    "tell_late_interrupt",
]

PER_COLUMN, PER_ROW = 2.0, 0.05  # nats below independent columns that priors alone may cost
FEWEST_ROWS = 10  # with fewer, columns that have means and variances of their own describe the rows all but exactly
MOST_ROWS = 4096  # looked at before all are
NATS_BEYOND_DOUBT = 1.0  # nats a row by which a fit is above independent columns, so that some rows tell
NATS_TOLD = 0.05  # gain of an iteration that a bound which is only told need not wait for, however few the rows
FEW_ASKED = 4  # components; who asks for so few may have meant exactly that number
AT_FLOOR = 1e-5  # of a column's variance: noise below it is none
COPIES_OF_ROWS = 2  # rows in the units of the model, and what passes over them take at their largest
COPIES_OF_POSTERIORS = 2  # of rows: those of the last pass, and of this one
COPIES_OF_GLOBALS = 4  # the posterior, its statistics, and both of what is tried instead
ROWS_PROBED = 32  # rows that tell how large the posterior of one is
FLOAT = 8  # bytes


def doubt_memory(needed: float) -> None:
    """Warn of a fit that needs so many bytes besides its data, where fewer are free."""
    free = free_memory()
    if free is not None and needed > free:
        warn(
            LittleMemory(
                f"this fit needs about {in_words(needed)} of memory besides its data, and {in_words(free)} are free: "
                "it may be slow, or be killed.",
                "Fit rows in blocks with latens.scan, pass X as float32, or choose fewer n_components or columns.",
            ),
            once=True,  # a fit may be made of several
        )


def fit_bytes(model: Model, data: Data, sample: Rows, starts: Sequence[State]) -> float:
    """Bytes that a fit of these rows will need besides them; 0 where another device holds the rows.

    Rows that are read in blocks take one block at a time, and their posteriors go to a file where they are large.
    """
    if isinstance(data, InMemory) and not data.may_be_threaded:
        return 0.0
    if isinstance(model, Compressing):
        # sums of products of columns, or the rows themselves where those are fewer numbers
        return float(COPIES_OF_GLOBALS * FLOAT * data.n_columns * min(data.n_columns, data.n_rows))
    q = starts[0].q
    needed = float(COPIES_OF_GLOBALS * n_bytes(q))
    if not isinstance(data, InMemory):
        return needed
    needed += COPIES_OF_ROWS * n_bytes(data.rows.x)
    if not model.exact_local(q):
        probe = sample[slice(0, ROWS_PROBED)]
        local = without_transients(model.local_step(q, probe))
        needed += COPIES_OF_POSTERIORS * data.n_rows * n_bytes(local) / len(probe)
    return needed


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
            f"{type(estimator).__name__} was interrupted after the last of its {estimator.n_iter_} iterations; the fit "
            f"is kept and can be used.{words}"
        )
    )


def doubt_fit(estimator: Any, context: FitContext) -> None:
    """Warn of columns without a value, of a number of components that says little, and of fits worse than independence.

    The latter takes rows that are in memory.
    """
    doubt_unseen(estimator, context.given)
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
                f"the bound is {estimator.elbo_ / rows.n:.4g} nats a row, below the {alone / rows.n:.4g} "
                f"of independent columns: this {type(estimator).__name__} describes the rows badly.",
                _remedy(estimator),
            )
        )


def doubt_unseen(estimator: Any, data: Data) -> None:
    """Warn of columns in which no row holds a value: a sensor that was off, a name that was read wrongly."""
    if isinstance(data, InBlocks):
        counts = data.source.survey.count
    elif isinstance(data, InMemory) and data.rows.seen is not None:
        counts = host(data.rows.counts)
    else:
        return
    places = np.flatnonzero(counts == 0).tolist()
    if places:
        names = estimator._feature_names()
        unseen = listed((names[j] for j in places), form=str)
        warn(
            NeverSeen(
                f"column(s) {unseen} of X contain only NaN; their estimates are a guess.",
                "Drop them, or look why they are empty.",
            )
        )


def _surely_better(estimator: Any, rows: Rows) -> bool:
    """Whether some rows, evenly spaced, leave no doubt that the bound is above that of independent columns."""
    part = rows[slice(None, None, -(-len(rows) // MOST_ROWS))]
    alone = independent_bound(part, binary=bool(estimator.binary))
    return alone is not None and alone / part.n < estimator.elbo_ / rows.n - NATS_BEYOND_DOUBT


def doubt_number(estimator: Any, context: FitContext) -> None:
    """Warn where all components allowed were kept, or fewer are there than were asked for."""
    if estimator.n_components_ == 0:
        bounds = _both_bounds(estimator, context, _height_with_one_more(estimator, context))
        warn(
            NothingFound(
                f"{type(estimator).__name__} finds nothing: {bounds}.",
                "Give more rows, or set n_components and prune=False to keep that number.",
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
                f"only {found} of the {asked} requested components are used; the others explain nothing.",
                f"Ask for n_components={found}.",
            )
        )
    elif not exact and found < asked <= FEW_ASKED:
        warn(
            FewerThanAsked(
                f"{found} of at most {asked} components {'is' if found == 1 else 'are'} needed: "
                f"n_components={asked} is an upper bound"
                f"{_cost_of_one_more(found + 1, estimator.elbo_, _height_with_one_more(estimator, context))}.",
                f"To have exactly {asked}: prune=False.",
            )
        )
    elif not exact and found == asked > 1 and estimator.moves:
        warn(
            AllKept(
                f"all {asked} allowed components are kept: there may be more.",
                f"Raise n_components, or set it to None to have the number found; {asked} may be right.",
            )
        )


def doubt_noise(
    estimator: Any, names: Any, *, floor: float = AT_FLOOR, parts: str = "factors", remedy: str = "prior='ard'"
) -> None:
    """Warn of Heywood cases: columns whose noise went to 0, so that a factor is the column itself.

    Parameters
    ----------
    estimator
        With noise variances by column.
    names : sequence
        Of the columns.
    floor : float
        Share of a column's variance below which its noise is none.
    parts : str
        What its components are called.
    remedy : str
        What may help besides fewer components, and leaving the columns out.
    """
    noise = np.asarray(estimator.noise_variance_)
    signal = np.sum(estimator._variance_by_column(), axis=0)
    places = np.flatnonzero((noise < floor * (noise + signal)) & (signal > 0)).tolist()
    found = [str(names[j]) for j in places]
    if found:
        unnamed = "" if hasattr(estimator, "feature_names_in_") else f", X[:, {places[:8]}],"
        k = estimator.n_components_
        fewer = f"n_components={k - 1}, " if k > 1 else ""
        warn(
            HeywoodCase(
                f"the noise of column(s) {listed(map(str, found))} is at its floor (a Heywood case): {parts} follow "
                f"these columns{unnamed} alone, and the likelihood has no interior maximum.",
                f"Try {fewer}{remedy}, or leave the columns out.",
            )
        )


def _height_with_one_more(estimator: Any, context: FitContext) -> float:
    """The bound of one component more, where a reader may ask for it and all rows are at hand; NaN elsewhere."""
    model, state = estimator._model, estimator._state
    k, sums = state.q.n_components, isinstance(model, Compressing)
    wanted = k == 0 or (estimator.n_components is not None and k < estimator.n_components <= FEW_ASKED)
    whole = sums or (isinstance(context.data, InMemory) and len(context.sample) == len(context.data.rows))
    exact = estimator._keeps_all or getattr(estimator, "prior", "ard") == "ml"
    if not wanted or not whole or exact or not (estimator.converged_ or estimator.n_iter_ >= estimator.max_iter):
        return math.nan
    context = replace(context, sample=state.data if sums else context.sample, rng=np.random.default_rng(0))
    slack = float(np.finfo(np.float32).eps ** 0.5) if context.data.is_single else 1e-9
    tol = max(estimator.tol, NATS_TOLD / max(context.data.n, 1.0))
    ascent = partial(ascend, model, [context.sample], max_iter=estimator.max_iter, tol=tol, slack=slack,
                     log_scale=context.units.log_scale)  # fmt: skip
    with collect_warnings(owner=ascent), warnings.catch_warnings():  # they are not of the fit
        warnings.simplefilter("ignore", LatensWarning)
        larger = list(starts_with_one_more(model, state, context.sample, context.rng))
        fits = [ascent(start) for start in larger or _starts_with(k + 1, estimator, context)]
    if any(fit.interrupted for fit in fits):
        raise KeyboardInterrupt
    return max((fit.elbo for fit in fits), default=math.nan)


def _starts_with(k: int, estimator: Any, context: FitContext) -> list[State]:
    """Starts with exactly k components, whatever was asked for."""
    other = copy(estimator)
    other.n_components, other.prune, other.init = k, False, "auto"
    starts = other._starts(other._model, replace(context, smaller=None))
    return [start for start in starts if start.q.n_components == k]


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
    alone = estimator._alone(estimator._model, context, bound)  # a frequency of its own for each column has no tails
    if other < alone:
        return f"{numbers}, below the {alone:,.1f} of independent columns"
    return f"{numbers}, which the search did not reach"


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
