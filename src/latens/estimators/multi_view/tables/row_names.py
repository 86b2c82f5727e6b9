"""Rows of several views matched by name, and what is known of each row: its group, its weight."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.errors import FewSharedRows, GroupsOfOne, LooksTransposed, UnknownGroups, warn
from latens.estimators.frames.row_labels import is_labelled, places_of_rows
from latens.estimators.multi_view.tables.input import ViewTable
from latens.estimators.rows.validation import is_foreign
from latens.system.wording import listed

__all__ = ["align", "group_numbers", "groups_in_blocks", "row_positions"]

_log = logging.getLogger("latens")
SHARED_BY_SAMPLES, SHARED_BY_FEATURES = 0.1, 0.9  # shares of names in common that make rows look like features
LEAST_SHARE_OF_ROWS = 0.5  # share of a view's rows that another view should have, too


def row_positions(
    views: list[ViewTable], order: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...] | None, list[Index | None], int]:
    """Names of all rows, where each view's rows stand among them, and how many there are.

    They stand in order of first appearance, or in the given order of a container that has matched them already. The
    names are the counted ones of data frames where no view has its own, and None where there is no such frame; a
    position is None where a view has all rows in that order.
    """
    first = views[0].rows
    if order is None and first is not None and all(view.rows == first for view in views):
        return first, [None] * len(views), len(first)  # views of one frame may call several rows alike
    named = [view for view in views if view.rows is not None and not view.counted]
    arrays = [view for view in views if view.rows is None]
    if order is None:
        if not named or arrays:
            return _by_count(views, named)
        _check_shared(views)
    names = order or tuple(dict.fromkeys(name for view in views for name in view.rows or ()))
    lacking = [f"{view.name!r} lacks {len(names) - view.shape[0]:,}" for view in views if view.shape[0] < len(names)]
    if lacking:
        _log.info("of %d rows by name, %s: missing there.", len(names), ", ".join(lacking))
    at = {name: i for i, name in enumerate(names)}
    positions = [
        None if view.rows == names else np.array([at[name] for name in view.rows or ()], dtype=np.intp)
        for view in views
    ]
    return names, positions, len(names)


def _by_count(views: list[ViewTable], named: list[ViewTable]) -> tuple[tuple[str, ...] | None, list[Index | None], int]:
    """Rows matched by place, since some views have no names for them."""
    counts = [view.shape[0] for view in views]
    if len(set(counts)) > 1:
        widths = {view.shape[1] for view in views}
        heads = f"views have {_counted(counts)} rows"
        if len(widths) == 1:
            raise ValueError(
                f"{heads} but {widths.pop()} columns each: this looks like features x samples (as in R's MOFA2); "
                "pass v.T"
            )
        raise ValueError(
            f"{heads}; arrays must have equal row counts. Give a row of NaN where a sample is missing, or data frames "
            "with row names, which are aligned."
        )
    if not named:
        counted = next((view.rows for view in views if view.rows is not None), None)
        return counted, [None] * len(views), counts[0]
    for view in named[1:]:
        if view.rows != named[0].rows:
            nameless = next(view.name for view in views if view.rows is None)
            raise ValueError(
                f"views {named[0].name!r} and {view.name!r} have different row names, and {nameless!r} has none, so "
                "its rows cannot be matched; give it as a data frame with row names too."
            )
    return named[0].rows, [None] * len(views), counts[0]


def _check_shared(views: list[ViewTable]) -> None:
    """Refuse views that share no row name with the others; warn where columns agree and rows hardly do."""
    joined, rest = set(views[0].rows or ()), list(views[1:])
    while rest:
        linked = [view for view in rest if not joined.isdisjoint(view.rows or ())]
        if not linked:
            _refuse_strangers(views, rest[0], joined)
        joined.update(name for view in linked for name in view.rows or ())
        rest = [view for view in rest if view not in linked]
    if len(views) > 1 and all(view.columns for view in views):
        rows = _share_in_common([view.rows or () for view in views])
        columns = _share_in_common([view.columns or () for view in views])
        if rows < SHARED_BY_SAMPLES and columns > SHARED_BY_FEATURES and views[0].shape[1] > 1:
            warn(
                LooksTransposed(
                    f"the views share {100 * rows:.2g} % of their row names but {100 * columns:.3g} % of their column "
                    "names: this looks like features x samples (as in R's MOFA2);",
                    "if so, pass v.T",
                )
            )
            return
    _doubt_overlap(views)
    _doubt_shift(views)


def _doubt_shift(views: list[ViewTable]) -> None:
    """Warn of views of as many rows that count them from different numbers: rows may well be the same ones in turn."""
    first = _first_number(views[0])
    for view in views[1:]:
        own = _first_number(view)
        if first is None or own is None or own == first or view.shape[0] != views[0].shape[0]:
            continue
        n, shift = view.shape[0], min(abs(own - first), view.shape[0])
        warn(
            FewSharedRows(
                f"rows are numbered {first} to {first + n - 1} in view {views[0].name!r} and {own} to {own + n - 1} in "
                f"view {view.name!r}: matched by these numbers, {shift} row(s) of each are missing in the other.",
                "If rows are in the same order in all views, drop the numbers: view.reset_index(drop=True).",
            )
        )
        return


def _first_number(view: ViewTable) -> int | None:
    """What a view counts its rows from; None where they are not numbered one after another."""
    rows = view.rows or ()
    if not rows or not rows[0].isdecimal():
        return None
    first = int(rows[0])
    return first if all(name == str(first + i) for i, name in enumerate(rows)) else None


def _doubt_overlap(views: list[ViewTable]) -> None:
    """Warn of views most of whose rows stand in no other: their factors are tied to the others by few samples."""
    for view in views:  # the first such view says it for the others, too
        others = {name for other in views if other is not view for name in other.rows or ()}
        mine = view.rows or ()
        shared = sum(name in others for name in mine)
        if shared < LEAST_SHARE_OF_ROWS * len(mine) and shared < LEAST_SHARE_OF_ROWS * len(others):
            warn(
                FewSharedRows(
                    f"{shared} of the {len(mine)} row names of view {view.name!r} stand in another view, among "
                    f"{len(others)}: rows are matched by name, and a sample that a view lacks is missing there.",
                    f"Compare the spelling, such as {_first_apart(mine, others)}. If rows are in the same order in "
                    "all views, drop the names: view.reset_index(drop=True).",
                )
            )
            return


def _first_apart(mine: Sequence[str], others: set[str]) -> str:
    """One name of each side that the other lacks."""
    one = next(name for name in mine if name not in others)
    other = next(iter(sorted(others - set(mine))), "none")
    return f"{one!r} here and {other!r} there"


def _refuse_strangers(views: list[ViewTable], stranger: ViewTable, joined: set[str]) -> None:
    others = [view for view in views if view is not stranger]
    columns = [set(view.columns or ()) for view in views]
    if len(set.intersection(*columns)) > 1:
        counts = _counted([view.shape[0] for view in views])
        raise ValueError(
            f"views have {counts} rows with no name in common, but their columns share names: this looks like "
            "features x samples (as in R's MOFA2); pass v.T"
        )
    if not joined.isdisjoint(stranger.columns or ()):
        raise ValueError(
            f"the columns of view {stranger.name!r} carry row names of the other views: it looks transposed; pass v.T"
        )
    raise ValueError(
        f"view {stranger.name!r} has no row name in common with {listed([view.name for view in others])}: its rows are "
        f"called {listed(stranger.rows or (), 2)}, theirs {listed(others[0].rows or (), 2)}. Set the same row names "
        "(index) in all; if rows are in the same order, drop the names, view.reset_index(drop=True), or give arrays "
        "with equal row counts."
    )


def align(name: str, values: Any, names: tuple[str, ...] | None, n: int) -> Any:
    """Values for each row: a Series with row names is matched by them, anything else must have as many entries."""
    if names is not None and is_labelled(values):
        places = places_of_rows(name, tuple(map(str, values.index)), names)
        if places is not None:
            return values.iloc[places]
    if not hasattr(values, "__len__"):
        return values  # one for all, to be checked by whoever asked
    if len(values) != n:
        also = " Give a Series with row names to have them matched." if names is not None else ""
        raise ValueError(f"{name} has {len(values)} entries for {n} rows; give one for each row.{also}")
    return values


def group_numbers(
    groups: Any,
    tables: Sequence[Any],
    names: tuple[str, ...] | None,
    n: int,
    known: tuple[str, ...] | None,
    *,
    more: bool = False,
) -> tuple[Floats, tuple[str, ...]]:
    """(n,) number of each row's group, -1 where unknown, and the names of the groups; `known` are those of a fit.

    `tables` hold annotations of rows, among which a column may be named. With `more`, groups may join the known ones.
    """
    if groups is None:
        return np.full(n, -1.0), known or ()
    if known == ():
        raise ValueError(
            "groups were given, but the model was fitted without, or with one group alone, which is the same; leave "
            "them out, or fit it with several groups."
        )
    if isinstance(groups, str):
        labels = _from_obs(groups, tables, names)
    else:
        groups = align("groups", host(groups) if is_foreign(groups) else groups, names, n)
        if getattr(groups, "ndim", 1) != 1:
            raise ValueError(f"groups has {groups.ndim} dimensions; give one label for each row.")
        labels = list(groups)
    given = [_label(label) for label in labels]
    if known is None:
        if None in given:
            row = given.index(None)
            first = row if names is None else repr(names[row])
            raise ValueError(
                f"{given.count(None)} row(s) have no group, the first being {first}; give each row of a fit its group."
            )
        known = _ordered(labels)
        if not more:
            _doubt_groups(Counter(given))
    elif more:
        known = _joined(known, [label for label in given if label is not None])
    at = {group: float(i) for i, group in enumerate(known)}
    strange = list(dict.fromkeys(label for label in given if label is not None and label not in at))
    if strange:
        warn(
            UnknownGroups(
                f"group(s) {listed(strange)} were not there when the model was fitted; it has {listed(known)}. Their "
                "samples are assigned to the most probable group;",
                "fit all groups together to distinguish them.",
            )
        )
    return np.array([-1.0 if label is None else at.get(label, -1.0) for label in given]), known


def groups_in_blocks(column: Any, blocks: Iterable[Any]) -> tuple[str, ...]:
    """Names of the groups that a column of labels tells, block by block."""
    labels = Counter[Any]()
    for block in blocks:
        labels.update(np.asarray(block).tolist())
    missing = sum(size for label, size in labels.items() if _label(label) is None)
    if missing:
        raise ValueError(f"{missing} row(s) have no group in the column {column!r}; give each row of a fit its group.")
    _doubt_groups(Counter({str(_label(label)): size for label, size in labels.items()}))
    return _ordered(list(labels))


def _doubt_groups(sizes: Counter[Any]) -> None:
    """Warn of groups of one sample, whose levels and factors nothing can tell apart."""
    single = [str(name) for name, size in sizes.items() if size == 1]
    if single:
        whole = "every group" if len(single) == len(sizes) else f"{len(single)} of {len(sizes)} groups"
        warn(
            GroupsOfOne(
                f"{whole} of {sizes.total()} samples hold a single sample: {listed(single)}. Nothing can be learnt of "
                "the level of a feature in such a group.",
                "If the labels are names of rows or a measured number, leave groups out; else join small groups.",
            )
        )


def _from_obs(column: str, tables: Sequence[Any], names: tuple[str, ...] | None) -> list[Any]:
    """Labels from the annotations of the rows; the first table that has one for a row gives it."""
    if not tables or names is None:
        raise ValueError(f"groups={column!r} names a column of .obs, which only AnnData and MuData have; give labels.")
    having = [table for table in tables if column in table.columns]
    if not having:
        there = dict.fromkeys(str(name) for table in tables for name in table.columns)
        raise ValueError(f"groups={column!r} is no column of .obs; it has {listed(list(there)) or 'none'}.")
    labels: dict[str, Any] = {}
    for table in having:
        for row, label in zip(table.index, table[column], strict=True):
            if _label(label) is not None:
                labels.setdefault(str(row), label)
    return [labels.get(row) for row in names]


def _label(label: Any) -> str | None:
    if label is None or label != label or str(label) in ("<NA>", "NaT"):
        return None
    return str(int(label)) if isinstance(label, float) and float(label).is_integer() else str(label)


def _ordered(labels: list[Any]) -> tuple[str, ...]:
    """Group names, sorted as numbers where they are; the order of the rows must not matter."""
    try:
        return tuple(dict.fromkeys(str(_label(label)) for label in sorted(labels)))
    except TypeError:
        return tuple(sorted({str(_label(label)) for label in labels}))


def _joined(known: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
    """Names of all groups: as they were if none is new, else sorted, as numbers where all are."""
    names = {*known, *more}
    if len(names) == len(known):
        return known
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(sorted(names))


def _share_in_common(names: list[tuple[str, ...]]) -> float:
    sets = [set(each) for each in names]
    return len(set.intersection(*sets)) / len(set.union(*sets))


def _counted(counts: list[int]) -> str:
    """Numbers as words join them: 1000, 500 and 200."""
    parts = list(map(str, dict.fromkeys(counts)))
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
