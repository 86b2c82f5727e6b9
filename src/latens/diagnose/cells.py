"""A table of any kinds of columns as numbers whose cells can be hidden and scored, alike for every model.

Numbers are in units of their column's standard deviation. A column of whole or rounded numbers has a resolution h; its
cells are scored by their probability mass between y - h/2 and y + h/2, and models of densities see it spread evenly
over that width, so that none can gain without end by standing on a repeated value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats, Index
from latens.array.transfer import host, is_sparse
from latens.estimators.rows.doubts import how_copied
from latens.intake import Encoding, Intake, RawTable, read
from latens.intake.encoding import Encoded
from latens.intake.kind_guess import guess_kind
from latens.intake.treatment import Choices, treat
from latens.system.wording import listed

__all__ = ["NUMBERS", "CellTable", "Mask"]

NUMBERS = ("number", "scale", "count")  # kinds of columns

Mask = NDArray[np.bool_]

MOST_ROWS = 2000
MOST_COLUMNS = 300  # kept of a wider table: those that vary most
FINEST_STEP = 1e-3  # of a standard deviation: a resolution below it is none
LUMPY_SHARE = 0.02  # share of the rows with one value that makes a column of numbers lumpy
LUMP_WIDTH = 0.02  # of a standard deviation: its resolution then
MOST_REPEATED = 10_000_000  # rows that frequencies may stand for
LEAST_OF_POSSIBLE = 0.25  # share of the combinations of values that a table of counts lists, or
LEAST_SINGLE = 0.25  # share of the listed combinations that occur once
RARE_LEVEL = 8  # rows of a level below which it is "other"
MOST_DECIMALS = 4
CORRELATION_OF_EQUALS = 1 - 1e-9  # correlation of columns of which one gives the other away


@dataclass(frozen=True, eq=False)
class CellTable:
    """Rows (n, C), a column for each column of the table.

    Parameters
    ----------
    names, kinds : tuple of str
        number, scale, count, binary or category.
    values : array (n, C)
        As models of kinds take them, NaN where missing: numbers and scales in units of their standard deviation, counts
        as they are, levels by their number.
    spread : array (n, C)
        The same, with counts too in units of their standard deviation and spread.
    exact, spread_exact : array (n, C)
        The same as `values` and `spread`, but rounded numbers where they are, not spread over their width.
    width : array (C,)
        Resolution of numbers, scales and counts in those units; 0: none.
    levels : tuple of int
        Of categories.
    notes : tuple of str
        What was left out.
    weight, exposure : array (n,) or None
        How often rows count, and of how much their counts are made. Rows of a table of counts are repeated instead.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Floats
    spread: Floats
    exact: Floats
    spread_exact: Floats
    width: Floats
    levels: tuple[int, ...]
    notes: tuple[str, ...] = ()
    weight: Floats | None = None
    exposure: Floats | None = None

    @classmethod
    def of(
        cls, X: Any, rng: np.random.Generator, weight: Floats | None = None, exposure: Floats | None = None
    ) -> CellTable:
        """From an array, a data frame, the path of a file or what `latens.read` made of it; a sample of many rows."""
        encoded, notes = _encoded(X)
        matrix, names, kinds, levels = _by_column(encoded)
        if exposure is not None:  # of which dispersed counts are counts, too, as models that know exposures guess them
            kinds = [
                "count" if kind in NUMBERS and _are_counts(x) else kind for kind, x in zip(kinds, matrix.T, strict=True)
            ]
        keep, more = _useful(matrix, names, kinds)
        notes += more
        times = np.ones(len(matrix), dtype=np.int64) if weight is None else (weight > 0).astype(np.int64)
        if weight is not None and _are_frequencies(weight, matrix[:, keep], [kinds[j] for j in keep]):
            times, weight = weight.astype(np.int64), None
            notes.append("each row repeated as often as it counts")
        ends = np.cumsum(times)  # repeated rows are drawn before they are made
        drawn = np.arange(ends[-1])
        if len(drawn) > MOST_ROWS:
            notes.append(f"{MOST_ROWS:,} of {len(drawn):,} rows, drawn at random")
            drawn = np.sort(rng.choice(drawn, MOST_ROWS, replace=False))
        rows = np.searchsorted(ends, drawn, side="right")
        matrix = matrix[rows][:, keep]
        names, kinds = [names[j] for j in keep], [kinds[j] for j in keep]
        levels = [levels[j] for j in keep]
        table = cls._in_units(matrix, names, kinds, levels, notes, rng)
        own = [None if each is None else each[rows] for each in (weight, exposure)]
        return replace(table, weight=own[0], exposure=own[1])

    @classmethod
    def _in_units(
        cls,
        matrix: Floats,
        names: Sequence[str],
        kinds: Sequence[str],
        levels: Sequence[int],
        notes: Sequence[str],
        rng: np.random.Generator,
    ) -> CellTable:
        n, c = matrix.shape
        values, exact, spread, plain = (matrix.copy() for _ in range(4))
        width, sizes = np.zeros(c), list(levels)
        for j, kind in enumerate(kinds):
            if kind == "category":
                merged, sizes[j] = _without_rare(matrix[:, j], levels[j])
                for table in (values, exact, spread, plain):
                    table[:, j] = merged
            elif kind != "binary":
                unit, width[j] = _unit_and_width(matrix[:, j], kind)
                plain[:, j] = unit
                spread[:, j] = unit + width[j] * (rng.random(n) - 0.5)
                if kind != "count":
                    values[:, j], exact[:, j] = spread[:, j], unit
        return cls(tuple(names), tuple(kinds), values, spread, exact, plain, width, tuple(sizes), tuple(notes))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def only(self, *kinds: str) -> bool:
        """Whether all columns are of these kinds."""
        return set(self.kinds) <= set(kinds)

    def seen_in(self, train: Index) -> Mask:
        """(n, C), whether a cell is observed, and of a category whether its level occurs in the training rows."""
        seen: Mask = ~np.isnan(self.exact)
        for j, kind in enumerate(self.kinds):
            if kind == "category":
                seen[:, j] &= np.isin(self.exact[:, j], self.exact[train, j])
        return seen


def _encoded(X: Any) -> tuple[Encoded, list[str]]:
    if isinstance(X, str | os.PathLike):
        X = read(X)
    if isinstance(X, Intake):
        return X.encoded(), []
    if isinstance(X, dict):
        raise ValueError(
            "suggest takes one table, and X is a dict of several: latens.MultiViewFactorAnalysis is the model of "
            "several tables of the same rows."
        )
    if hasattr(X, "columns"):
        table = read(X)
        dropped = [name for name, role in zip(table.columns["column"], table.columns["treatment"], strict=True)
                   if role != "kept"]  # fmt: skip
        return table.encoded(), [f"not used: {', '.join(dropped)}"] if dropped else []
    return _encoded_array(X)


def _encoded_array(X: Any) -> tuple[Encoded, list[str]]:
    dense = X.toarray() if is_sparse(X) else X
    try:
        matrix: Floats = np.ma.filled(np.ma.asarray(host(dense), dtype=float), np.nan)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds something that is no number; give a data frame to have text read as levels."
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] < 2:
        raise ValueError(f"X has shape {matrix.shape}; expected rows by columns, two rows at least.")
    if np.isinf(matrix).any():
        raise ValueError("X holds an infinite value; replace it by a number, or by NaN if it is missing.")
    raw = RawTable(tuple(f"x{j}" for j in range(matrix.shape[1])), tuple(matrix.T.copy()))
    columns, values = treat(raw, Choices(missing=()))
    used_columns = tuple(column for column in columns if column.is_kept)
    dropped = [f"{column.name} ({column.note})" for column in columns if not column.is_kept]
    encoded = Encoding(used_columns).encode(RawTable(raw.names, values))
    return encoded, [f"not used: {', '.join(dropped)}"] if dropped else []


def _by_column(encoded: Encoded) -> tuple[Floats, list[str], list[str], list[int]]:
    """(n, C) with the number of the level for a category, and names, kinds and numbers of levels."""
    matrix = encoded.matrix.toarray() if is_sparse(encoded.matrix) else np.asarray(encoded.matrix, dtype=float)
    columns, at = [], 0
    for column in encoded.columns:
        block = matrix[:, at : at + len(column.encoded_names)]
        at += block.shape[1]
        if column.kind == "category":
            number = np.argmax(block, axis=1).astype(float)
            number[~(np.nan_to_num(block).max(axis=1) > 0)] = np.nan
            block = number[:, None]
        columns.append(block[:, 0])
    if not columns:
        raise ValueError("no column of X can be used; give numbers, yes/no columns or categories.")
    kinds = [column.kind for column in encoded.columns]
    levels = [len(column.levels) if column.kind == "category" else 0 for column in encoded.columns]
    return np.column_stack(columns), [column.name for column in encoded.columns], kinds, levels


def _are_counts(column: Floats) -> bool:
    return guess_kind(column[~np.isnan(column)]) in ("poisson", "negative-binomial")


def _useful(matrix: Floats, names: Sequence[str], kinds: Sequence[str]) -> tuple[list[int], list[str]]:
    """Columns that say something: not those that another equals, and of a wide table those that vary most."""
    notes, keep = [], list(range(matrix.shape[1]))
    twins = _copies_of_columns(matrix)
    for how in dict.fromkeys(how for _, how in twins.values()):
        pairs = [f"{names[i]!r} and {names[j]!r}" for j, (i, own) in twins.items() if own == how]
        notes.append(f"columns {listed(pairs, form=str)} are {how}: the first of each is taken")
    keep = [j for j in keep if j not in twins]
    if len(keep) > MOST_COLUMNS:
        notes.append(f"{MOST_COLUMNS} of {len(keep):,} columns, those that vary most")
        part = matrix[:, keep]
        binary = np.array([kinds[j] in ("binary", "category") for j in keep])
        share = np.nan_to_num(np.nanmean(part, axis=0))
        worth = np.where(binary, share * (1 - share), np.nanvar(part, axis=0))
        keep = sorted(np.array(keep)[np.argsort(-worth, kind="stable")[:MOST_COLUMNS]].tolist())
    return keep, notes


def _are_frequencies(weight: Floats, matrix: Floats, kinds: Sequence[str]) -> bool:
    """Whether weights are frequencies of a table of counts: a weight of 2 is then two rows that are alike in all cells.

    That takes whole weights, and rows without fractions that are all different. Expansion weights of a survey may be
    whole numbers, too: its rows repeat each other where few combinations of values are possible, and where many are,
    they leave most of them out and seldom count one once, as independent rows would.
    """
    if not (np.all(weight == np.floor(weight)) and weight.max() > 1 and weight.sum() <= MOST_REPEATED):
        return False
    shown, frequency = matrix[weight > 0], weight[weight > 0]
    if any(kind == "number" for kind in kinds) and not np.all(np.isnan(shown) | (shown == np.floor(shown))):
        return False
    levels = np.nan_to_num(shown, nan=np.inf)
    if len(np.unique(levels, axis=0)) < len(levels):
        return False
    log_possible = sum(np.log(len(np.unique(column))) for column in levels.T)
    crossed = np.log(LEAST_OF_POSSIBLE) + log_possible <= np.log(len(levels))
    return bool(crossed or np.mean(frequency == 1) >= LEAST_SINGLE)


def _copies_of_columns(matrix: Floats) -> dict[int, tuple[int, str]]:
    """Columns that are a linear function of an earlier one: by which, and what they are to it."""
    shown = matrix[:MOST_ROWS]
    centre = np.nanmean(shown, axis=0)
    gaps = np.nan_to_num(shown - centre)
    size = np.sqrt(np.sum(gaps**2, axis=0))
    unit = gaps / np.where(size > 0, size, 1.0)
    alike = np.abs(unit.T @ unit) > CORRELATION_OF_EQUALS
    first = {j: int(np.argmax(alike[:j, j])) for j in range(matrix.shape[1]) if alike[:j, j].any()}
    return {j: (i, how_copied(matrix[:, i], matrix[:, j])) for j, i in first.items()}


def _without_rare(numbers: Floats, n_levels: int) -> tuple[Floats, int]:
    """Levels renumbered, the rare ones as one."""
    counts = np.array([np.sum(numbers == level) for level in range(n_levels)])
    order = [level for level in range(n_levels) if counts[level] >= RARE_LEVEL]
    place = {level: at for at, level in enumerate(order)}
    rest = len(order)
    merged = np.array([np.nan if x != x else float(place.get(int(x), rest)) for x in numbers])
    return merged, rest + int(len(order) < n_levels)


def _unit_and_width(column: Floats, kind: str) -> tuple[Floats, float]:
    """A column about its mean in units of its standard deviation, and the width of its steps in that unit.

    The width is 0 where steps are too fine to matter; `LUMP_WIDTH` where single values still repeat too often for 0.
    """
    seen = column[~np.isnan(column)]
    centre, scale = seen.mean(), seen.std()
    scale = scale if scale > 0 else 1.0
    width = 1.0 if kind in ("count", "scale") else _resolution(seen)
    width /= scale
    if width < FINEST_STEP:
        width = 0.0
        _, counts = np.unique(seen, return_counts=True)
        if counts.max() > max(LUMPY_SHARE * len(seen), 2):
            width = LUMP_WIDTH
    return (column - centre) / scale, float(width)


def _resolution(values: Floats) -> float:
    """The power of ten to which all values are rounded; 0 where they are not."""
    for decimals in range(MOST_DECIMALS):
        scaled = values * 10.0**decimals
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)):
            return 10.0**-decimals
    return 0.0
