"""What can go wrong, by name. Every layer may import this one; it imports nothing."""

from __future__ import annotations

__all__ = [
    "AbsentColumns",
    "BoundNotFinite",
    "ConstantColumns",
    "DoubtfulScale",
    "ElboDecreased",
    "FileRefused",
    "FitInterrupted",
    "FollowsTotals",
    "LooksTransposed",
    "NeverSeen",
    "NotSettled",
    "SourcesTooLight",
    "StillSnapshots",
    "TableRefused",
    "UnknownGroups",
    "UnseenLevels",
    "ValuesCut",
    "WeightsTooSmall",
]


class ElboDecreased(UserWarning):
    """The bound fell by more than rounding explains: a wrong update, or too low a precision."""


class FitInterrupted(UserWarning):
    """A fit was stopped from the keyboard; the best state so far was kept."""


class ValuesCut(UserWarning):
    """A model of binary rows was given other values than 0 and 1, and cut them at `binarize`."""


class LooksTransposed(UserWarning):
    """An array has so many more columns than rows that samples may have been put into columns."""


class DoubtfulScale(UserWarning):
    """A view is on a scale its likelihood describes badly, such as raw counts; its logarithm would serve better."""


class ConstantColumns(UserWarning):
    """Some columns never vary: they are kept, and no factor can move them."""


class NeverSeen(UserWarning):
    """Some columns hold no value at all: what is said of them is a guess from the other columns."""


class NotSettled(UserWarning):
    """Codes of some rows still moved when their local steps were used up."""


class FollowsTotals(UserWarning):
    """A factor is all but the row totals of a view: how much was measured, not what."""


class SourcesTooLight(UserWarning):
    """Some sources have lighter tails than the chosen prior of sources can hold."""


class StillSnapshots(UserWarning):
    """Weights have all but stopped moving while a posterior is collected from them: it will be too narrow."""


class UnknownGroups(UserWarning):
    """Some samples are of groups that were not there when the model was fitted: the likeliest of its own is taken."""


class UnseenLevels(UserWarning):
    """Some values of a column were not there when the model was fitted: they are taken as missing."""


class AbsentColumns(UserWarning):
    """Some columns of the model are not in a table: they are taken as missing in every row."""


class WeightsTooSmall(UserWarning):
    """Weights count rows for less than they are, as shares that add up to 1 do: little can be learnt from so few."""


class BoundNotFinite(FloatingPointError):
    """A term of the bound became NaN or infinite; the message names it."""


class FileRefused(ValueError):
    """A file is not a model this version can read safely."""


class TableRefused(ValueError):
    """A file or table cannot be read as rows of samples; the message says what to type."""
