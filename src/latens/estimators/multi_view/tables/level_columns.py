"""Columns of levels: categories as yes/no columns, one for each level but the last, and back; scales as they are.

The levels of a category stand in an order, the most common first. The yes/no column of a level says whether an entry
has it, and is seen where the row has none of the levels before it:

    p(y = c) = chance_c prod_{j < c} (1 - chance_j),      p(last) = prod_j (1 - chance_j)

So a column of C levels is C - 1 columns of a binary view with missing entries, and its likelihood is exactly theirs.
A scale, whose levels rise, is one column (`latens.models.likelihoods.ordered_logit`). Files of earlier fits have scales
as yes/no columns, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.fields import record
from latens.array.transfer import host, like
from latens.core import Rows
from latens.errors import UnseenLevels, warn
from latens.intake.kind_guess import refuse_levels
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.estimators.multi_view.tables.wide import Layout, WideTable

__all__ = [
    "LEVEL_KINDS",
    "LevelColumns",
    "ScaleColumns",
    "WordColumns",
    "contracted",
    "levels_of",
    "nearest_levels",
    "with_levels",
]

LEVEL_KINDS = ("categorical", "ordinal")


@record
class LevelColumns:
    """The columns of one view of levels.

    >>> colours = LevelColumns(("colour",), ((2.0, 0.0, 1.0),))
    >>> colours.features
    ('colour = 2', 'colour = 0')
    >>> x, seen = colours.expanded(Rows(np.array([[2.0], [1.0]])))
    >>> x.tolist(), seen.tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [[True, False], [True, True]])
    >>> colours.contracted(np.array([[0.1, 0.2]])).tolist()
    [[1.0]]
    """

    names: tuple[str, ...]
    levels: tuple[tuple[float, ...], ...]  # values of each column, in its order
    texts: tuple[tuple[str, ...], ...] = ()  # what they are called, where the values are but numbers of levels

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the yes/no columns."""
        return tuple(
            f"{name} = {self.text_of(d, i)}" for d, name in enumerate(self.names) for i in range(self.sizes[d])
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Yes/no columns of each column."""
        return tuple(len(levels) - 1 for levels in self.levels)

    def text_of(self, d: int, i: int) -> str:
        """The name of a level of a column."""
        return self.texts[d][i] if self.texts and self.texts[d] else f"{self.levels[d][i]:g}"

    @property
    def by_column(self) -> dict[str, list[str | float]]:
        """The levels of each column by its name: what they are called, or their values."""
        return {
            name: list(self.texts[d]) if self.texts and self.texts[d] else list(self.levels[d])
            for d, name in enumerate(self.names)
        }

    def expanded(self, rows: Rows) -> tuple[Array, Array]:
        """(n, E) each: yes/no columns, and where they are seen; what is no level of the fit is missing."""
        xp, columns, seen = array_namespace(rows.x), [], []
        for d, levels in enumerate(self.levels):
            y = rows.x[:, d]
            left = xp.ones_like(y, dtype=xp.bool) if rows.seen is None else rows.seen[:, d]
            known = xp.zeros_like(left)
            for level in levels:
                known = known | (y == like(level, y))
            left = left & known
            for level in levels[:-1]:
                here = left & (y == like(level, y))
                columns.append(xp.astype(here, y.dtype))
                seen.append(left)
                left = left & ~here
        return xp.stack(columns, axis=1), xp.stack(seen, axis=1)

    def unseen(self, rows: Rows) -> dict[str, int]:
        """How many observed entries of each column are no level of the fit; columns without any are left out."""
        found = {}
        there = np.ones(rows.x.shape, bool) if rows.seen is None else host(rows.seen) > 0
        for d, name in enumerate(self.names):
            strange = int(np.sum(there[:, d] & ~np.isin(host(rows.x[:, d]), self.levels[d])))
            if strange:
                found[name] = strange
        return found

    def probabilities(self, chances: Array) -> dict[str, Array]:
        """(n, C) of each column by its name, in the order of its levels, from the chances of yes (n, E)."""
        xp, found, start = array_namespace(chances), {}, 0
        for name, size in zip(self.names, self.sizes, strict=True):
            left, parts = xp.ones_like(chances[:, 0]), []
            for j in range(start, start + size):
                parts.append(left * chances[:, j])
                left = left * (1 - chances[:, j])
            found[name], start = xp.stack([*parts, left], axis=1), start + size
        return found

    def reached(self, chances: Array, level: float) -> Array:
        """(n, D), the first level of each column at which chances add up to so much."""
        xp, columns = array_namespace(chances), []
        for levels, chance in zip(self.levels, self.probabilities(chances).values(), strict=True):
            below = xp.astype(xp.cumulative_sum(chance, axis=1) < level, xp.int64)
            at = xp.clip(xp.sum(below, axis=1), 0, len(levels) - 1)
            columns.append(xp.take(like(np.array(levels), chance), at))
        return xp.stack(columns, axis=1)

    def contracted(self, chances: Array, *, spread: bool = False) -> Array:
        """(n, D), the most probable level of each column; or the deviation of whether it is right."""
        xp, columns = array_namespace(chances), []
        for levels, chance in zip(self.levels, self.probabilities(chances).values(), strict=True):
            best = xp.max(chance, axis=1)
            if spread:
                columns.append(xp.sqrt(best * (1 - best)))
            else:
                columns.append(xp.take(like(np.array(levels), chance), xp.argmax(chance, axis=1)))
        return xp.stack(columns, axis=1)


@record
class ScaleColumns(LevelColumns):
    """The columns of one view of levels in order: each is one column of the model, in the values of its levels.

    >>> answers = ScaleColumns(("agrees",), ((1.0, 2.0, 5.0),))
    >>> answers.features
    ('agrees',)
    >>> x, seen = answers.expanded(Rows(np.array([[2.0], [3.0]])))
    >>> x.tolist(), seen.tolist()
    ([[2.0], [0.0]], [[True], [False]])
    >>> answers.nearest(np.array([[1.4], [4.0]])).tolist()
    [[1.0], [5.0]]
    """

    @property
    def features(self) -> tuple[str, ...]:
        return self.names

    def expanded(self, rows: Rows) -> tuple[Array, Array]:
        """(n, D) each: values, and where they are seen; what is no level of the fit is missing."""
        xp, seen = array_namespace(rows.x), []
        for d, levels in enumerate(self.levels):
            y = rows.x[:, d]
            known = xp.zeros_like(y, dtype=xp.bool)
            for level in levels:
                known = known | (y == like(level, y))
            seen.append(known if rows.seen is None else known & rows.seen[:, d])
        there = xp.stack(seen, axis=1)
        return xp.where(there, rows.x, xp.zeros_like(rows.x)), there

    def contracted(self, chances: Array, *, spread: bool = False) -> Array:
        """Values, or their deviations, as they are."""
        return chances

    def nearest(self, values: Array) -> Array:
        """(n, D), the level of each column that is nearest to a value, such as an expected one."""
        xp, columns = array_namespace(values), []
        for d, levels in enumerate(self.levels):
            at = xp.zeros_like(values[:, d], dtype=xp.int64)
            for low, high in pairwise(levels):
                at = at + xp.astype(values[:, d] > 0.5 * (low + high), xp.int64)
            columns.append(xp.take(like(np.array(levels), values), at))
        return xp.stack(columns, axis=1)

    def by_name(self, chances: Array) -> dict[str, Array]:
        """(n, C) of each column by its name, from the chances (n, D, C) of all, of which the last may be of none."""
        return {
            name: chances[:, d, : len(own)] for d, (name, own) in enumerate(zip(self.names, self.levels, strict=True))
        }


@record
class WordColumns:
    """The columns of one view of yes and no, called after the word that is 1 where a frame has words for both.

    >>> WordColumns(("sex", "ill"), (("female", "male"), ("0", "1"))).features
    ('sex = male', 'ill')
    """

    names: tuple[str, ...]
    words: tuple[tuple[str, str], ...]  # what 0 and 1 of each are called

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of the model."""
        return tuple(
            name if words == ("0", "1") else f"{name} = {words[1]}"
            for name, words in zip(self.names, self.words, strict=True)
        )

    @property
    def by_column(self) -> dict[str, list[str | float]]:
        """What 0 and 1 are called, or these numbers, of each column by its name."""
        return {
            name: [0.0, 1.0] if words == ("0", "1") else list(words)
            for name, words in zip(self.names, self.words, strict=True)
        }


def nearest_levels(wide: Array, layout: Layout) -> Array:
    """A table (n, D) as read in which numbers of scales are levels."""
    parts = []
    for view, bounds in zip(layout.views, layout.as_read.bounds, strict=True):
        own = layout.levels.get(view)
        parts.append(own.nearest(wide[:, bounds]) if isinstance(own, ScaleColumns) else wide[:, bounds])
    return array_namespace(wide).concat(parts, axis=1) if layout.levels else wide


def _learn(view: str, kind: str, names: Sequence[str], rows: Rows) -> LevelColumns:
    """The levels that the columns of a view show in rows that count.

    Raises
    ------
    ValueError
        If a column cannot be levels.
    """
    levels = []
    counted = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    there = np.ones(rows.x.shape, bool) if rows.seen is None else host(rows.seen) > 0
    for d, name in enumerate(names):
        shown = there[:, d] & (counted > 0)
        values, place = np.unique(host(rows.x[:, d])[shown], return_inverse=True)
        refuse_levels(f"column {name!r} of view {view!r}", kind, values, len(place))
        if kind == "categorical":
            times = np.bincount(place, counted[shown], len(values))
            values = values[np.lexsort((values, -times))]  # the most common first
        levels.append(tuple(values.tolist()))
    return (ScaleColumns if kind == "ordinal" else LevelColumns)(tuple(names), tuple(levels))


def levels_of(table: WideTable, kinds: Mapping[str, str]) -> dict[str, LevelColumns]:
    """The levels of every view that is to be of levels."""
    layout, found = table.layout, {}
    for view, bounds, names in zip(layout.views, layout.bounds, layout.features, strict=True):
        if kinds[view] in LEVEL_KINDS:
            found[view] = _learn(view, kinds[view], names, table.rows.columns(bounds))
    return found


def with_levels(table: WideTable, levels: Mapping[str, LevelColumns]) -> WideTable:
    """The table with categories as yes/no columns; levels that the fit did not see are counted in a warning."""
    if not levels:
        return table
    layout, rows, xp = table.layout, table.rows, array_namespace(table.rows.x)
    columns, seen, features, strange = [], [], [], list[str]()
    for view, bounds, names in zip(layout.views, layout.bounds, layout.features, strict=True):
        part = Rows(rows.x[:, bounds], None if rows.seen is None else rows.seen[:, bounds], rows.weight)
        if view in levels:
            x, there = levels[view].expanded(part)
            strange += [f"{name} ({n})" for name, n in levels[view].unseen(part).items()]
            names = levels[view].features
        else:
            x, there = part.x, xp.ones_like(part.x, dtype=xp.bool) if part.seen is None else part.seen
        columns.append(x)
        seen.append(there)
        features.append(names)
    if strange:
        warn(
            UnseenLevels(
                f"values the fit did not see are taken as missing, in the column(s) {listed(strange, form=str)}.",
                "Fit again with rows that have them, or correct them.",
            )
        )
    made = replace(rows, x=xp.concat(columns, axis=1), seen=xp.concat(seen, axis=1))
    return replace(table, rows=made, layout=replace(layout, features=tuple(features), levels=dict(levels)))


def contracted(wide: Array, layout: Layout, *, spread: bool = False) -> Array:
    """A wide table (n, E) of answers with the most probable level, or how sure it is, in columns of levels."""
    if not layout.levels:
        return wide
    parts = []
    for view, bounds in zip(layout.views, layout.bounds, strict=True):
        part = wide[:, bounds]
        parts.append(layout.levels[view].contracted(part, spread=spread) if view in layout.levels else part)
    return array_namespace(wide).concat(parts, axis=1)
