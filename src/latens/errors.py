"""What can go wrong, by name. Every layer may import this one; it imports none of them."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = [
    "AbsentColumns",
    "AllKept",
    "BoundNotFinite",
    "CheckpointNotWritten",
    "CheckpointRefused",
    "CollinearColumns",
    "ConstantColumns",
    "CountsRows",
    "DoubtfulScale",
    "ElboDecreased",
    "EmptyRows",
    "EndlessOdds",
    "EqualColumns",
    "FewInReservoir",
    "FewSharedRows",
    "FewValues",
    "FewerThanAsked",
    "FileRefused",
    "FitInterrupted",
    "FitResumed",
    "FollowsTotals",
    "GroupsOfOne",
    "HeywoodCase",
    "LatensWarning",
    "LittleMemory",
    "LooksTransposed",
    "MissingCodes",
    "MixedNumbers",
    "NeverSeen",
    "NotIdentified",
    "NotMeasured",
    "NotSettled",
    "NothingFound",
    "OneFeatureViews",
    "OrderAssumed",
    "RepeatedRows",
    "RowsByPlace",
    "RowsOfFit",
    "SourcesTooLight",
    "StillSnapshots",
    "StreamChanged",
    "TableRefused",
    "UnknownGroups",
    "UnseenLevels",
    "UnusedColumns",
    "ValuesCut",
    "WarningRecord",
    "WeightsTooSmall",
    "WorseThanIndependent",
    "collect_warnings",
    "warn",
]


WRAPPERS = ("latens", "sklearn", "joblib")  # packages whose lines are not those of a caller


class WarningRecord(NamedTuple):
    """A warning as a fit keeps it in `warnings_`."""

    code: str  # what a program asks for, such as "constant-columns"
    message: str  # what was seen
    remedy: str  # what to type; empty where nothing needs to be done


class LatensWarning(UserWarning):
    """The base of every warning that latens gives: what was seen, and what to type about it.

    ``warnings.simplefilter("ignore", latens.errors.LatensWarning)`` silences all of them, and "error" instead of
    "ignore" makes each an error. Those of a fit stay in its `warnings_`.

    Parameters
    ----------
    message : str
        What was seen: name and count.
    remedy : str
        What to type.

    Examples
    --------
    >>> seen = ConstantColumns("columns 'a' and 'b' never vary.", "Drop them: X.drop(columns=['a', 'b']).")
    >>> seen.record.code
    'constant-columns'
    >>> print(seen)
    columns 'a' and 'b' never vary. Drop them: X.drop(columns=['a', 'b']).
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.message, self.remedy)

    @property
    def record(self) -> WarningRecord:
        """Its code, the name of the class in lower case, with what it says."""
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()
        return WarningRecord(code, self.message, self.remedy)


class ElboDecreased(LatensWarning):
    """The bound fell by more than rounding explains: a wrong update, or too low a precision."""


class FitInterrupted(LatensWarning):
    """A fit was stopped from the keyboard; the best state so far was kept."""


class FitResumed(LatensWarning):
    """A fit goes on from a checkpoint."""


class CheckpointRefused(LatensWarning):
    """A checkpoint is damaged, or of another fit or version: the one before it is used, or the fit begins anew."""


class CheckpointNotWritten(LatensWarning):
    """A checkpoint could not be written; the one before it is as it was, and the fit goes on."""


class ValuesCut(LatensWarning):
    """A model of binary rows was given other values than 0 and 1, and cut them at `binarize`."""


class LooksTransposed(LatensWarning):
    """An array has so many more columns than rows that samples may have been put into columns."""


class DoubtfulScale(LatensWarning):
    """Columns are on a scale that a model describes badly, such as raw counts, or units without a common prior."""


class ConstantColumns(LatensWarning):
    """Some columns never vary: they are kept, and no factor can move them."""


class NeverSeen(LatensWarning):
    """Some columns hold no value at all: what is said of them is a guess from the other columns."""


class NotSettled(LatensWarning):
    """Codes of some rows still moved when their local steps were used up."""


class FollowsTotals(LatensWarning):
    """A factor is all but the row totals of a view: how much was measured, not what."""


class SourcesTooLight(LatensWarning):
    """Some sources have lighter tails than the chosen prior of sources can hold."""


class OneOutput(LatensWarning):
    """The one output of a net was taken for a logit, without having been told that it is no mean."""


class StillSnapshots(LatensWarning):
    """Weights have all but stopped moving while a posterior is collected from them: it will be too narrow."""


class RowsOfFit(LatensWarning):
    """Models are compared by the density of rows that one of them was fitted to, which favours the more flexible."""


class RowsByPlace(LatensWarning):
    """Labels of values beside rows are partly those of the rows, and not meant so: values go by their place."""


class StreamChanged(LatensWarning):
    """Rows of a stream are unlike those before them: it is sorted, or what it tells of changes."""


class FewInReservoir(LatensWarning):
    """A component of a stream has few of the rows that are kept of it: it is known less well than from all rows."""


class UnknownGroups(LatensWarning):
    """Some samples are of groups that were not there when the model was fitted: the likeliest of its own is taken."""


class UnseenLevels(LatensWarning):
    """Some values of a column, or items of lists, were not there when the model was fitted: they are left out."""


class AbsentColumns(LatensWarning):
    """Some columns of the model are not in a table: they are taken as missing in every row."""


class WeightsTooSmall(LatensWarning):
    """Weights count rows for less than they are, as shares that add up to 1 do: little can be learnt from so few."""


class WeightsTooLarge(LatensWarning):
    """Weights count rows for many times what they are, as those do that expand a survey: far too much is learnt."""


class GroupsOfOne(LatensWarning):
    """Some groups hold one sample: labels may be names of rows, or a measured number."""


class FewSharedRows(LatensWarning):
    """A view shares few row names with the others, or counts its rows from another number: spellings may differ."""


class OneFeatureViews(LatensWarning):
    """A view has one feature: whatever explains it alone counts as a factor of the whole view."""


class EmptyRows(LatensWarning):
    """Some rows show nothing: what is said of them is what is said of any row."""


class LittleMemory(LatensWarning):
    """A fit will need more memory than is free."""


class MissingCodes(LatensWarning):
    """A column repeats a far number such as -999, which may stand for a missing value."""


class MixedNumbers(LatensWarning):
    """Numbers of a column are written in several ways, such as 39% and 0.176, or in one that has two meanings."""


class CountsRows(LatensWarning):
    """A column numbers the rows."""


class EqualColumns(LatensWarning):
    """Columns are equal in every row."""


class RepeatedRows(LatensWarning):
    """Rows of measurements occur several times each, and count as if each were another one."""


class FewValues(LatensWarning):
    """A column that is taken as a real number has few distinct values."""


class OrderAssumed(LatensWarning):
    """Levels of a scale are taken in the order of the alphabet, since no other was given."""


class AllKept(LatensWarning):
    """A fit kept every component it was allowed: there may be more."""


class NothingFound(LatensWarning):
    """A fit has no component: rows are best described without any."""


class FewerThanAsked(LatensWarning):
    """A fit has fewer components than were asked for."""


class HeywoodCase(LatensWarning):
    """The noise of a column went to 0: a factor is that column."""


class WorseThanIndependent(LatensWarning):
    """A fit describes the rows worse than columns that are independent of each other."""


class UnusedColumns(LatensWarning):
    """Some columns of a table are of a kind that a model cannot use, such as dates or names: they are left out."""


class NotIdentified(LatensWarning):
    """Rows have too few columns to tell as many classes apart: other classes explain them as well."""


class NotMeasured(LatensWarning):
    """Clusters of whose rows none has a value of a column of metadata: nothing is told of them."""


class EndlessOdds(LatensWarning):
    """Covariates tell some clusters apart without error, so that maximum likelihood has no finite odds."""


class CollinearColumns(LatensWarning):
    """Covariates do not vary or are sums of each other, so that no odds are those of one alone."""


class BoundNotFinite(FloatingPointError):
    """A term of the bound became NaN or infinite; the message names it."""


class FileRefused(ValueError):
    """A file is not a model this version can read safely."""


class TableRefused(ValueError):
    """A file or table cannot be read as rows of samples; the message says what to type."""


class _Collection(NamedTuple):
    owner: Any  # whose warnings they are: an estimator that is being fitted
    records: list[WarningRecord]


_collection: ContextVar[_Collection | None] = ContextVar("_collection", default=None)


@contextmanager
def collect_warnings(owner: Any) -> Iterator[list[WarningRecord]]:
    """Record what `warn` is given in here; inside a collection of the same owner, that one goes on.

    Parameters
    ----------
    owner : object
        Whose warnings they are, such as the estimator that is being fitted.

    Yields
    ------
    list of WarningRecord
        What was warned of so far.
    """
    outer = _collection.get()
    if outer is not None and outer.owner is owner:
        yield outer.records
        return
    collection = _Collection(owner, [])
    token = _collection.set(collection)
    try:
        yield collection.records
    finally:
        _collection.reset(token)


def warn(warning: LatensWarning, *, once: bool = False) -> None:
    """Give a warning at the caller's line, once per cause within a collection.

    The caller's line is the first that is neither of latens nor of what wraps its methods: scikit-learn, and joblib in
    pipelines and searches.

    Parameters
    ----------
    warning : LatensWarning
        What is the matter, and what to do.
    once : bool
        Whether one of its kind is enough, whatever its numbers are.
    """
    collection = _collection.get()
    if collection is not None:
        if once and any(record.code == warning.record.code for record in collection.records):
            return
        if warning.record in collection.records:
            return
        collection.records.append(warning.record)
    warnings.warn(warning, stacklevel=caller_level())


def caller_level() -> int:
    """The `stacklevel` for `warnings.warn` that names the caller's line: of neither latens nor what wraps its fits."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in WRAPPERS:
        level, frame = level + 1, frame.f_back
    return level
