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
    "RowOfSums",
    "RowsByPlace",
    "RowsOfFit",
    "SourcesTooLight",
    "StillSnapshots",
    "StreamChanged",
    "TableRefused",
    "TwoMeanings",
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


WRAPPERS = ("latens", "sklearn", "joblib")  # packages whose lines are not those of the caller


class WarningRecord(NamedTuple):
    """A warning as a fit stores it in `warnings_`."""

    code: str  # for programs, such as "constant-columns"
    message: str  # what was seen
    remedy: str  # what to type; empty where nothing needs to be done


class LatensWarning(UserWarning):
    """The base of every warning of latens: what was found, and what to type to change it.

    ``warnings.simplefilter("ignore", latens.errors.LatensWarning)`` silences all of them, and "error" instead of
    "ignore" makes each an error. The warnings of a fit are stored in its `warnings_`.

    Parameters
    ----------
    message : str
        What was found: name and count.
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
        """The code (the name of the class in lower case), the message and the remedy."""
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()
        return WarningRecord(code, self.message, self.remedy)


class ElboDecreased(LatensWarning):
    """The bound fell by more than rounding explains: a wrong update, or too low a precision."""


class FitInterrupted(LatensWarning):
    """A fit was stopped from the keyboard; the best state so far was kept."""


class FitResumed(LatensWarning):
    """A fit continues from a checkpoint."""


class CheckpointRefused(LatensWarning):
    """A checkpoint is damaged, or of another fit or version: the previous one is used, or the fit starts again."""


class CheckpointNotWritten(LatensWarning):
    """A checkpoint could not be written; the previous one is unchanged, and the fit continues."""


class ValuesCut(LatensWarning):
    """A model of binary rows was given values other than 0 and 1, and set them to 0 or 1 by `binarize`."""


class LooksTransposed(LatensWarning):
    """An array has so many more columns than rows that its columns may be samples."""


class DoubtfulScale(LatensWarning):
    """Columns have a scale that the model describes badly, such as raw counts, or different units under one prior."""


class ConstantColumns(LatensWarning):
    """Some columns never vary: they stay in the fit, but no factor can explain them."""


class NeverSeen(LatensWarning):
    """Some columns have no value at all: their parameters are a guess from the other columns."""


class NotSettled(LatensWarning):
    """The local posteriors of some rows had not converged after the largest number of local steps."""


class FollowsTotals(LatensWarning):
    """A factor is almost equal to the row totals of a view: it describes how much was measured."""


class TwoMeanings(LatensWarning):
    """A factor is one thing in samples that have a view, and another in those that lack it."""


class SourcesTooLight(LatensWarning):
    """Some sources have lighter tails than the chosen prior of sources allows."""


class OneOutput(LatensWarning):
    """The single output of a network is treated as a logit; it may be a mean, since `task` was not given."""


class StillSnapshots(LatensWarning):
    """Weights hardly move while a posterior is collected from them: the posterior will be too narrow."""


class RowsOfFit(LatensWarning):
    """Models are compared by the density of rows that one of them was fitted to, which favours flexible models."""


class RowsByPlace(LatensWarning):
    """Labels of given values overlap with those of the rows only by counting: values are matched by position."""


class StreamChanged(LatensWarning):
    """Rows of a stream are unlike those before them: the stream is sorted, or its distribution changes."""


class FewInReservoir(LatensWarning):
    """A component has few rows in the stored sample of a stream: it is estimated less well than from all rows."""


class UnknownGroups(LatensWarning):
    """Some samples are of groups that the fit did not have: the most probable group of the fit is used."""


class UnseenLevels(LatensWarning):
    """Some values of a column, or items of lists, were not in the data of the fit: they are ignored."""


class AbsentColumns(LatensWarning):
    """Some columns of the model are not in a table: they are treated as missing in every row."""


class WeightsTooSmall(LatensWarning):
    """Weights are far below 1, such as shares that add up to 1: the fit has very few effective rows."""


class WeightsTooLarge(LatensWarning):
    """Weights count each row many times, such as expansion weights of a survey: too many components are found."""


class GroupsOfOne(LatensWarning):
    """Some groups have one sample: the labels may be names of rows, or a measured number."""


class FewSharedRows(LatensWarning):
    """A view shares few row names with the others, or numbers its rows from another start: spellings may differ."""


class OneFeatureViews(LatensWarning):
    """A view has one feature: a factor of this feature alone counts as a factor of the whole view."""


class EmptyRows(LatensWarning):
    """Some rows have no observed value: their results are those of the prior."""


class LittleMemory(LatensWarning):
    """A fit will need more memory than is free."""


class MissingCodes(LatensWarning):
    """A column repeats an extreme number such as -999, which may be a code for a missing value."""


class RowOfSums(LatensWarning):
    """The last row of a table is the sum of the others, as spreadsheets have it: it is no row of the data."""


class MixedNumbers(LatensWarning):
    """Numbers of a column are written in several ways, such as 39% and 0.176, or in one that has two meanings."""


class CountsRows(LatensWarning):
    """A column numbers the rows."""


class EqualColumns(LatensWarning):
    """Columns are equal in every row."""


class RepeatedRows(LatensWarning):
    """Rows of measurements occur several times each, and every copy counts as a separate row."""


class FewValues(LatensWarning):
    """A column that is treated as real numbers has few distinct values."""


class OrderAssumed(LatensWarning):
    """Levels of a scale are in alphabetical order, since no other order was given."""


class AllKept(LatensWarning):
    """A fit kept every allowed component: there may be more."""


class NothingFound(LatensWarning):
    """A fit has no component: the bound is highest without any."""


class FewerThanAsked(LatensWarning):
    """A fit has fewer components than were asked for."""


class HeywoodCase(LatensWarning):
    """The noise variance of a column went to 0: a factor follows that column."""


class WorseThanIndependent(LatensWarning):
    """A fit describes the rows worse than columns that are independent of each other."""


class UnusedColumns(LatensWarning):
    """Some columns of a table are of a kind that a model cannot use, such as dates or names: they are left out."""


class NotIdentified(LatensWarning):
    """There are too few columns for this number of classes: other classes explain the rows equally well."""


class NotMeasured(LatensWarning):
    """In some clusters no row has a value in a column of metadata: these clusters have no result."""


class DirectEffects(LatensWarning):
    """Columns of metadata depend on the columns of the fit beyond the cluster: their means are not corrected."""


class EndlessOdds(LatensWarning):
    """Covariates separate some clusters without error, so that maximum likelihood has no finite odds."""


class CollinearColumns(LatensWarning):
    """Covariates are constant or linear combinations of each other, so that their odds are not identified."""


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
    """Record the warnings given in this block; inside a collection of the same owner, add to that collection.

    Parameters
    ----------
    owner : object
        The object that the warnings are about, such as the estimator that is being fitted.

    Yields
    ------
    list of WarningRecord
        The warnings so far.
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
        What was found, and what to do.
    once : bool
        Whether to give only the first warning of its class.
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
