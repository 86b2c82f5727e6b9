"""Which likelihood suits the numbers of each view, and what to try where none does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import column_sums, host, like
from latens.core import Rows, Survey, blocks
from latens.errors import ConstantColumns, DoubtfulScale, NeverSeen, warn
from latens.estimators.multi_view.tables.wide import Layout, WideTable
from latens.intake import Encoding
from latens.intake.kind_guess import COUNT_REACH, POISSON_RATIO, count_kind
from latens.models.likelihoods import Likelihood, Look
from latens.models.likelihoods.names import LIKELIHOODS, Kind, refuse_unknown
from latens.system.wording import listed

__all__ = ["KINDS", "ChosenKinds", "check_likelihoods", "guess_from_survey", "guess_likelihoods"]

KINDS = tuple(LIKELIHOODS)
LARGE_COUNT = 20  # whole numbers above it may be measurements as well as counts
FEW_COLUMNS, MOST_VARIANCE = 0.05, 0.5  # share of the columns that hold this share of the variance: a skewed view
LEAST_COLUMNS = 20  # in fewer columns, one of them may well hold most of the variance
FAR_MORE = 30.0  # times the median of standard deviations that one of few columns has where units differ

_log = logging.getLogger("latens")


@dataclass(frozen=True)
class ChosenKinds:
    """What was chosen for views before anything is guessed."""

    likelihoods: Any  # by view, as the caller gave them or as the columns of a frame say; None: all are guessed
    encoding: Encoding | None = None  # how a frame of mixed columns became numbers


def guess_likelihoods(table: WideTable, given: Any) -> tuple[str, ...]:
    """The likelihood of each view: the caller's choice, or a guess from its values.

    Only 0 and 1: "bernoulli". Whole numbers from 0 up to a small maximum, 20, with the zeros, the tails and the
    variances of counts in most columns (`latens.intake.kind_guess`): "poisson". Anything else: "gaussian", scales of 1
    to 7 too.

    Parameters
    ----------
    table : WideTable
    given : dict of str or Likelihood, one of these, or None
        The caller's choices by view, perhaps not for all; one word is for all views.

    Returns
    -------
    tuple of str
        One for each view.
    """
    return guess_from_looks(table.layout, given, partial(_look, table.rows))


def guess_from_survey(survey: Survey, layout: Layout, given: Any) -> tuple[str, ...]:
    """The same of views that are read in blocks."""
    return guess_from_looks(layout, given, partial(_look_of_survey, survey))


def guess_from_looks(layout: Layout, given: Any, look_at: Callable[[slice, bool], Look]) -> tuple[str, ...]:
    """The caller's choice for each view, checked, or a guess from what its columns look like.

    `look_at` is given columns, and whether somebody asks for more than their range: guesses, and likelihoods of one's
    own, which may refuse what they like.
    """
    chosen = _choices(given, layout)
    kinds = []
    for view, columns, features in zip(layout.views, layout.bounds, layout.features, strict=True):
        own = chosen.get(view)
        look = look_at(columns, own is None or isinstance(own, Likelihood))
        if own is None:
            kind = _guess(view, look)
            _log.info("view %r is taken as %s; likelihoods={%r: ...} chooses another.", view, kind, view)
        else:
            _check(view, own, look)
            kind = own.name
        constant = [name for name, still in zip(features, look.low == look.high, strict=True) if still]
        if constant:
            warn(
                ConstantColumns(
                    f"{len(constant)} column(s) of view {view!r} never vary: {listed(constant)}. They are kept, and no "
                    "factor can move them (their loadings are 0)."
                )
            )
        empty = [name for name, none in zip(features, look.low > look.high, strict=True) if none]
        if empty:
            warn(
                NeverSeen(
                    f"{len(empty)} column(s) of view {view!r} hold no value at all: {listed(empty)}. They are kept; "
                    "what is said of them is the prior alone.",
                    "Leave them out, or look why they are empty.",
                )
            )
        kinds.append(kind)
    return tuple(kinds)


def check_likelihoods(table: WideTable, kinds: Mapping[str, Kind]) -> None:
    """Refuse new rows with values that the likelihoods of a fit give probability 0."""
    for view, columns in zip(table.layout.views, table.layout.bounds, strict=True):
        if not kinds[view].has_unit:
            _check(view, kinds[view], _look(table.rows, columns, False))


def _choices(given: Any, layout: Layout) -> dict[str, Kind]:
    if given is None:
        return {}
    views = layout.views
    if isinstance(given, str | Likelihood):
        given = dict.fromkeys(views, given)
    if not isinstance(given, Mapping):
        raise ValueError(f"likelihoods={given!r} is no dict; give one such as {{{views[0]!r}: 'gaussian'}}.")
    given = {str(view): kind for view, kind in given.items()}  # as views are called, whatever keys they had
    strange = [view for view in given if view not in views]
    if strange:
        name, words = strange[0], ""
        owner = next((view for view, own in zip(views, layout.features, strict=True) if name in own), None)
        if owner is not None:
            named = {owner: {name: given[name] if isinstance(given[name], str) else "..."}}
            words = f" {name!r} is a column of {owner!r}: likelihoods={named}."
        raise ValueError(f"likelihoods names the view(s) {listed(strange)}; there are {listed(views)}.{words}")
    return {view: _kind(view, kind) for view, kind in given.items()}


def _kind(view: str, kind: Any) -> Kind:
    """The class behind a name, or the caller's own likelihood."""
    refuse_unknown(view, kind)
    if isinstance(kind, Likelihood):
        if kind.name in LIKELIHOODS and not isinstance(kind, LIKELIHOODS[kind.name]):
            raise ValueError(
                f"likelihoods[{view!r}] is called {kind.name!r}, which is taken; give it a name of its own."
            )
        return kind
    return LIKELIHOODS[kind]


def _guess(view: str, look: Look) -> str:
    if look.smallest == np.inf:  # nothing was observed
        return "gaussian"
    if look.binary:
        return "bernoulli"
    if look.whole and look.smallest >= 0:
        if look.largest <= LARGE_COUNT:
            return "poisson" if look.counted else "gaussian"
        if not _most(COUNT_REACH * look.low <= look.high, look.low < look.high):
            return "gaussian"  # grams or millimetres that were rounded
        _doubt(
            f"view {view!r} holds counts up to {_size(look.largest)} and is taken as gaussian.",
            f"Try likelihoods={{{view!r}: 'negative-binomial'}} with exposure='total', or np.log1p of it.",
        )
    elif look.skewed:
        _doubt(
            f"view {view!r} has no negative values, and a few of its columns hold most of the variance, so that "
            "factors will describe little else.",
            "Try np.log1p of it.",
        )
    if look.unequal:
        _doubt(
            f"columns of view {view!r} are of unequal units: one has most of the variance, and more than {FAR_MORE:g} "
            "times the median of standard deviations, so that factors will describe little else.",
            "Divide the columns by their standard deviations, X / X.std(axis=0).",
        )
    return "gaussian"


def _check(view: str, kind: Kind, look: Look) -> None:
    """Refuse values that a likelihood gives probability 0; an empty view can be anything."""
    wrong = kind.refusal(look)
    if wrong is not None:
        raise ValueError(f"view {view!r} is to be {kind.name} but {wrong}")


def _size(count: float) -> str:
    return f"{count:,.0f}" if count < 1e15 else f"{count:.0e}"


def _doubt(message: str, remedy: str) -> None:
    warn(DoubtfulScale(message, remedy))


def _look(rows: Rows, columns: slice, more: bool) -> Look:
    """With `more`, moments of columns too, by which counts and skewed views are known."""
    d = columns.stop - columns.start
    low, high, whole, binary = np.full(d, np.inf), np.full(d, -np.inf), True, True
    pieces = [Rows(*_part(block, columns)) for block in blocks(rows, 2 * d)]
    for piece in pieces:
        x, seen = piece.x, piece.seen
        xp = array_namespace(x)
        far = xp.full_like(x, xp.inf)
        low = np.minimum(low, host(xp.min(x if seen is None else xp.where(seen, x, far), axis=0)))
        high = np.maximum(high, host(xp.max(x if seen is None else xp.where(seen, x, -far), axis=0)))
        whole = whole and bool(xp.all(x == xp.floor(x)))  # what is missing is stored as 0, and 0 is whole and binary
        binary = binary and bool(xp.all((x == 0) | (x == 1)))
    positive = more and low.min() >= 0 and not binary
    variance = _variances(pieces) if more and not binary else np.zeros(d)
    skewed = positive and d >= LEAST_COLUMNS and _held_by_few(variance)
    counted = positive and whole and _counted(pieces, low)
    return Look(low, high, whole, binary, skewed, counted, _of_unequal_units(variance))


def _look_of_survey(survey: Survey, columns: slice, _: bool) -> Look:
    columns_survey = survey.columns(columns)
    binary = bool(columns_survey.binary.all())
    positive = columns_survey.low.min() >= 0 and not binary and len(columns_survey.low) >= LEAST_COLUMNS
    variance = (columns_survey.deviation / np.sqrt(np.maximum(columns_survey.count, 1))) ** 2
    # a survey has no third moments: zeros and variances must do
    like_counts = (columns_survey.low == 0) & (variance >= POISSON_RATIO * columns_survey.mean)
    return Look(
        columns_survey.low,
        columns_survey.high,
        bool(columns_survey.whole.all()),
        binary,
        bool(positive and _held_by_few(variance)),
        _most(like_counts, columns_survey.low < columns_survey.high),
        bool(not columns_survey.binary.all() and _of_unequal_units(variance)),
    )


def _part(block: Rows, columns: slice) -> tuple[Array, Array | None]:
    """One view of a block; rows of weight 0 are as if they had never been given."""
    x, seen = block.x[:, columns], None if block.seen is None else block.seen[:, columns]
    if block.weight is None:
        return x, seen
    xp = array_namespace(x)
    counts = (block.weight > 0)[:, None]
    seen = xp.broadcast_to(counts, x.shape) if seen is None else seen & counts
    return xp.where(seen, x, xp.zeros_like(x)), seen


def _variances(pieces: list[Rows]) -> Floats:
    counts = np.maximum(sum(piece.counts for piece in pieces), 1)
    mean = sum(column_sums(piece.x) for piece in pieces) / counts
    with np.errstate(over="ignore"):  # infinite variances are compared with no others
        squares: Any = sum(column_sums(((piece.x - like(mean, piece.x)) * piece.mask) ** 2) for piece in pieces)
    return np.asarray(squares / counts)


def _counted(pieces: list[Rows], low: Floats) -> bool:
    """Whether most columns look like counts."""
    n = np.maximum(sum(piece.counts for piece in pieces), 1)
    mean = sum(column_sums(piece.x) for piece in pieces) / n
    residuals = [(piece.x - like(mean, piece.x)) * piece.mask for piece in pieces]
    second, third = (np.asarray(sum(column_sums(part**power) for part in residuals) / n) for power in (2, 3))
    moments = zip(np.broadcast_to(mean, low.shape).tolist(), second.tolist(), third.tolist(), strict=True)
    kinds = np.array([count_kind(*each) is not None for each in moments])
    return _most(kinds & (low == 0), second > 0)


def _most(which: Any, of: Any) -> bool:
    """Whether at least half of some columns are of a kind."""
    return bool(np.sum(which & of) >= max(1.0, 0.5 * np.sum(of)))


def _held_by_few(variance: Floats) -> bool:
    """Whether a few columns hold most of the variance."""
    variance = np.sort(variance)[::-1]
    few = max(1, int(FEW_COLUMNS * len(variance)))
    return bool(variance[:few].sum() > MOST_VARIANCE * variance.sum())


def _of_unequal_units(variance: Floats) -> bool:
    """Whether one of a few columns has most of the variance, and far more of it than is usual among them."""
    varying = variance[variance > 0]
    if not 2 < len(varying) <= len(variance) < LEAST_COLUMNS:
        return False
    largest = varying.max()
    return bool(largest > MOST_VARIANCE * varying.sum() and largest > FAR_MORE**2 * np.median(varying))
