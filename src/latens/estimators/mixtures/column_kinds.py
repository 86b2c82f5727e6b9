"""What each column of a table holds, and how its values are written as the numbers a model of mixed columns takes.

Real numbers, 0 and 1, and counts stay as they are. A column of levels is numbered from 0 in the order of its levels,
which are those that the fit saw; a value that is none of them is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.fields import record
from latens.array.transfer import host, like
from latens.core import Rows
from latens.errors import DoubtfulScale, FewValues, UnseenLevels, warn
from latens.estimators.mixtures.column_values import ColumnValues, TableValues
from latens.intake.encoding import Encoding, encodings_from_text, encodings_to_text
from latens.intake.kind_guess import count_kind, refuse_levels
from latens.models.likelihoods.names import MEASUREMENTS, NAMES
from latens.models.mixture.features import EXPOSURE
from latens.system.wording import listed

__all__ = ["COUNTS", "KINDS", "LEVELS", "ColumnKinds", "find_kinds"]

KINDS = tuple(NAMES)
COUNTS = ("poisson", "negative-binomial")
LEVELS = ("categorical", "ordinal")
CHECKED_KINDS = ("bernoulli", *COUNTS)  # kinds that do not take every number
FEW_LEVELS, REPEATS = 8, 10  # distinct values of a column that may be a scale, and rows for each of them
MOST_NAMED = 12  # columns in a line to type

_log = logging.getLogger("latens")


@record
class ColumnKinds:
    names: tuple[str, ...]  # (D,)
    kinds: tuple[str, ...]  # (D,), of KINDS
    levels: tuple[tuple[float, ...], ...]  # (D,), values of columns of levels in their order; () for others
    names_of_levels: tuple[tuple[str, ...], ...] = ()  # (D,), of raw data frames: what stands for each number
    encoding: str = ""  # of raw data frames, as JSON: how their columns became numbers
    exposure_unit: float = 0.0  # geometric mean of the exposures of the fit, in which the model counts; 0: it had none
    steps: tuple[float, ...] = ()  # (D,), to which measurements are rounded; 0 where they are not; (): nothing is known
    usual_counts: tuple[float, ...] = ()  # of a usual row in the columns of counts, where exposures are totals

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.kinds) == len(self.levels) or not set(self.kinds) <= set(KINDS):
            raise ValueError("names, kinds and levels of columns do not go together.")
        if any(bool(values) != (kind in LEVELS) for kind, values in zip(self.kinds, self.levels, strict=True)):
            raise ValueError("columns of levels have levels, and no others.")
        if self.names_of_levels and len(self.names_of_levels) != len(self.names):
            raise ValueError("names of levels are not those of the columns.")
        if not 0 <= self.exposure_unit < np.inf or (self.exposure_unit > 0 and not set(COUNTS) & set(self.kinds)):
            raise ValueError("exposures are of counts, and have a positive unit.")
        if self.steps and (len(self.steps) != len(self.names) or not all(0 <= step < np.inf for step in self.steps)):
            raise ValueError("steps are those of the columns, and not negative.")
        n_counts = sum(kind in COUNTS for kind in self.kinds)
        if self.usual_counts and (
            len(self.usual_counts) != n_counts or not all(0 < count < np.inf for count in self.usual_counts)
        ):
            raise ValueError("usual counts are those of the columns of counts, and positive.")

    @cached_property
    def table(self) -> Encoding | None:
        """How raw data frames become numbers; None where the model was fitted to numbers."""
        return encodings_from_text(self.encoding)["x"] if self.encoding else None

    def level_name(self, d: int, i: int) -> str:
        """The name of level i of column d; of a binary column, that of the value i."""
        if self.names_of_levels and self.names_of_levels[d]:
            return self.names_of_levels[d][i]
        return f"{self.levels[d][i] if self.levels[d] else float(i):g}"

    @property
    def named_levels(self) -> dict[str, list[str | float]]:
        """By column of levels, or of yes and no: what its numbers are called, or its values, in their order."""
        found: dict[str, list[str | float]] = {}
        for d, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            texts = self.names_of_levels[d] if self.names_of_levels else ()
            if kind in LEVELS or kind == "bernoulli":
                worded = texts and texts != ("0", "1")
                found[name] = list(texts) if worded else list(self.levels[d] or (0.0, 1.0))
        return found

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """The columns of each kind there is."""
        found = {kind: tuple(d for d, own in enumerate(self.kinds) if own == kind) for kind in KINDS}
        return {kind: at for kind, at in found.items() if at}

    def encode(self, rows: Rows) -> Rows:
        """Rows as the model takes them: levels as numbers from 0, what is no level of the fit as missing.

        Exposures are those of the fit's unit.
        """
        xp = array_namespace(rows.x)
        if EXPOSURE in rows.aux and self.exposure_unit > 0:
            rows = replace(rows, aux={**rows.aux, EXPOSURE: rows.aux[EXPOSURE] - float(np.log(self.exposure_unit))})
        if not any(self.levels):
            for d, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
                if kind in CHECKED_KINDS:
                    _check_values(name, kind, rows.x[:, d], None if rows.seen is None else rows.seen[:, d])
            return rows
        columns, seen, strange = [], [], list[str]()
        for d, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            x, there = rows.x[:, d], None if rows.seen is None else rows.seen[:, d]
            there = xp.ones_like(x, dtype=xp.bool) if there is None else there
            if kind in LEVELS:
                x, known = self._numbered(x, d)
                lost = int(xp.sum(xp.astype(there & ~known, xp.int64)))
                strange += [f"{name} ({lost})"] if lost else []
                there = there & known
                x = xp.where(there, x, xp.zeros_like(x))
            else:
                _check_values(name, kind, x, there)
            columns.append(x)
            seen.append(there)
        if strange:
            warn(
                UnseenLevels(
                    f"values that the fit did not see are taken as missing, in the column(s) {listed(strange)}.",
                    "Fit again with rows that have them, or correct them.",
                )
            )
        x, mask = xp.stack(columns, axis=1), xp.stack(seen, axis=1)
        if rows.seen is None and not strange:
            return replace(rows, x=x)
        some = xp.astype(xp.any(mask, axis=1), x.dtype)  # a row that shows nothing must not move the weights
        if rows.weight is None and bool(xp.all(some > 0)):
            return replace(rows, x=x, seen=mask)
        return replace(rows, x=x, seen=mask, weight=some if rows.weight is None else rows.weight * some)

    def decode(self, x: Array) -> Array:
        """Values in the units of the data: of levels the one whose number is nearest."""
        xp = array_namespace(x)
        columns = []
        for d, levels in enumerate(self.levels):
            column = x[:, d]
            if levels:
                at = xp.astype(xp.clip(xp.round(column), 0, len(levels) - 1), xp.int64)
                column = xp.take(like(np.array(levels), x), at)
            columns.append(column)
        return xp.stack(columns, axis=1)

    def _numbered(self, x: Array, d: int) -> tuple[Array, Array]:
        """Numbers of the levels (n,), and whether each is one."""
        xp = array_namespace(x)
        number, known = xp.zeros_like(x), xp.zeros_like(x, dtype=xp.bool)
        for i, level in enumerate(self.levels[d]):
            here = x == like(level, x)
            number = xp.where(here, xp.full_like(x, float(i)), number)
            known = known | here
        return number, known


def find_kinds(
    found: TableValues,
    names: Sequence[str],
    given: Any,
    table: tuple[Encoding, Mapping[str, str]] | None = None,
    in_stream: bool = False,
    exposed: bool = False,
) -> ColumnKinds:
    """The kind of each column: the caller's choice, or a guess from its values.

    The rule is that of `latens.intake.kind_guess`.

    Parameters
    ----------
    found : TableValues
        What the columns hold.
    names : sequence of str
        Of the columns.
    given : dict, str or None
        The caller's choices by name or number of a column, perhaps not for all; one word is for all columns.
    table : (Encoding, dict), optional
        Of a raw data frame: how its columns became numbers, and the kinds of those that tell it by themselves.
    in_stream : bool
        Whether later batches may show levels that are in the encoding and not in these rows.
    exposed : bool
        Whether rows have exposures, so that counts which are taken as measurements would be left out of them.

    Returns
    -------
    ColumnKinds
    """
    chosen, stated = _choices(given, names), {} if table is None else table[1]
    kinds, levels = [], []
    few: dict[str, int] = {}  # distinct values of columns that are guessed to be measurements
    countable: list[str] = []  # other columns so guessed, of whole numbers from 0 or above
    for name, values in zip(names, found.columns, strict=True):
        kind = chosen.get(name)
        if stated.get(name) in LEVELS and kind not in (None, *LEVELS):
            raise ValueError(
                f"column {name!r} holds categories and cannot be {kind}; choose 'categorical' or 'ordinal', or turn it "
                "into numbers."
            )
        if kind is None:
            kind = stated.get(name) or _guess(values)
            if kind == "gaussian" and _has_few_values(values):
                few[name] = len(values.levels)
            elif kind == "gaussian" and values.n and values.whole and values.levels[0] >= 0:
                countable.append(name)
            _log.info("column %r is taken as %s; likelihoods={%r: ...} chooses another.", name, kind, name)
        kinds.append(kind)
        typed = next((each.levels for each in table[0].columns if each.name == name), ()) if in_stream and table else ()
        if kind in LEVELS and not typed:
            refuse_levels(f"column {name!r}", kind, values.levels, values.n)
        every = tuple(map(float, range(len(typed)))) or tuple(values.levels.tolist())
        levels.append(every if kind in LEVELS else ())
    if few:
        _doubt_few_values(few)
    if exposed and countable:
        _doubt_uncounted(countable, kinds)
    steps = tuple(
        values.step if kind in MEASUREMENTS else 0.0 for kind, values in zip(kinds, found.columns, strict=True)
    )
    if table is None:
        return ColumnKinds(tuple(names), tuple(kinds), tuple(levels), steps=steps)
    encoding = table[0]
    texts = tuple(
        tuple(column.levels[int(level)] for level in own) if own and column.levels else column.levels
        for column, own in zip(encoding.columns, levels, strict=True)
    )
    text = encodings_to_text({"x": encoding})
    return ColumnKinds(tuple(names), tuple(kinds), tuple(levels), texts, text, steps=steps)


def _has_few_values(values: ColumnValues) -> bool:
    """Whether a column shows a handful of values again and again, as a scale from 1 to 5 does."""
    n_levels = len(values.levels)
    return 1 < n_levels <= FEW_LEVELS and values.n >= REPEATS * n_levels


def _doubt_few_values(few: dict[str, int]) -> None:
    """Warn of measurements that look like levels: shapes that no normal has are made of classes."""
    name, *others = few
    also = f"; so have {listed(others)}" if others else ""
    levels = ", ".join(f"{each!r}: 'ordinal'" for each in list(few)[:MOST_NAMED])
    warn(
        FewValues(
            f"column {name!r} is taken as gaussian and has only {few[name]} distinct values{also}: classes may "
            "describe the frequencies of these values instead of groups of rows.",
            f"If they are steps of a scale: likelihoods={{{levels}}}.",
        )
    )


def _doubt_uncounted(countable: list[str], kinds: Sequence[str]) -> None:
    """Warn of whole numbers beside counts that have exposures: as measurements they have none."""
    counted = [kind for kind in kinds if kind in COUNTS]
    if not counted:
        return  # exposures are then refused
    own = max(COUNTS, key=counted.count)
    named, rest = ", ".join(f"{each!r}: {own!r}" for each in countable[:MOST_NAMED]), ""
    typed = f"{{{named}}}"
    if len(countable) > MOST_NAMED:
        every = len(countable) + len(counted) == len(kinds)
        typed, rest = (repr(own), "") if every else (typed, ", and so on for the others")
    warn(
        DoubtfulScale(
            f"{len(countable)} column(s) of whole numbers are taken as gaussian, and exposures are for counts only, so "
            f"that these are not divided by them: {listed(countable)}.",
            f"If they are counts: likelihoods={typed}{rest}.",
        )
    )


def _choices(given: Any, names: Sequence[str]) -> dict[str, str]:
    """The kinds that were given, by the name of their column; one word stands for all columns."""
    if given is None:
        return {}
    if isinstance(given, str):
        given = dict.fromkeys(names, given)
    if not isinstance(given, Mapping):
        raise ValueError(
            f"likelihoods={given!r} is no dict; give one such as {{{names[0]!r}: 'categorical'}}, or one word for all."
        )
    chosen = {_name(key, names): kind for key, kind in given.items()}
    strange = [key for key in chosen if key not in names]
    if strange:
        raise ValueError(f"likelihoods names the column(s) {listed(strange)}; there are {listed(list(names))}.")
    for name, kind in chosen.items():
        if kind not in KINDS:
            raise ValueError(
                f"likelihoods[{name!r}]={kind!r} is not known; choose one of {', '.join(map(repr, KINDS))}."
            )
    return chosen


def _name(key: Any, names: Sequence[str]) -> str:
    """Of a column that is given by its name, or by its number, which may be a text, as in files."""
    text = str(key)
    if text not in names and text.isdecimal() and int(text) < len(names):
        return names[int(text)]
    return text


def _guess(values: ColumnValues) -> str:
    """By the rule of `latens.intake.kind_guess`; two values again and again, such as 1 and 2, are yes and no, too."""
    if not values.n:
        return "gaussian"
    if len(values.levels) <= 2 and set(values.levels.tolist()) <= {0.0, 1.0}:
        return "bernoulli"
    if len(values.levels) == 2 and _has_few_values(values):
        return "categorical"
    if values.levels[0] != 0 or not values.whole:
        return "gaussian"
    return count_kind(values.mean, values.variance, values.skew * values.variance**1.5) or "gaussian"


def _check_values(name: str, kind: str, x: Array, seen: Array | None) -> None:
    """Refuse values that a kind gives probability 0; where not all were seen, of those that were."""
    if kind not in CHECKED_KINDS:
        return
    xp = array_namespace(x)
    seen = xp.ones_like(x, dtype=xp.bool) if seen is None else seen
    if kind == "bernoulli":
        odd = seen & (x != 0) & (x != 1)
        if bool(xp.any(odd)):
            raise ValueError(
                f"column {name!r} is to be bernoulli but holds {_first(x, odd):g}; pass (x > cut).astype(float), or "
                "choose 'categorical'."
            )
    else:
        odd = seen & ((x < 0) | (x != xp.floor(x)))
        if bool(xp.any(odd)):
            raise ValueError(
                f"column {name!r} is to be {kind} but holds {_first(x, odd):g}; give counts from 0, or choose "
                "'gaussian' for it."
            )


def _first(x: Array, odd: Array) -> float:
    return float(host(x)[host(odd) > 0][0])
