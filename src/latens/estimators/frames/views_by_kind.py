"""A data frame of mixed columns as views by kind of column, one for each likelihood, and answers back as such a frame.

The frame's `Encoding` says how its columns become numbers; the layout of the fit says which view has which column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Array, Floats
from latens.array.transfer import host
from latens.estimators.frames.drawn_frames import drawn_frame
from latens.estimators.frames.raw_frames import is_frame, learn_encoding, level_numbers
from latens.estimators.multi_view.tables.input import ViewTable
from latens.estimators.multi_view.tables.level_columns import LevelColumns, WordColumns
from latens.intake import Encoding
from latens.intake.kind_guess import guess_kind
from latens.models.likelihoods import Likelihood, Look
from latens.models.likelihoods.names import LIKELIHOODS, Kind, refuse_unknown
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.estimators.multi_view.tables.wide import Layout

__all__ = [
    "KindsOfFrame",
    "are_kinds",
    "chooses_columns",
    "drawn_as_frame",
    "in_frame_order",
    "learn_views",
    "level_names",
    "views_of_frame",
    "with_level_names",
    "with_words",
]

# what a view is called that holds the columns of a likelihood; others are called after it
VIEW_NAMES = {
    "gaussian": "numbers",
    "poisson": "counts",
    "negative-binomial": "dispersed_counts",
    "bernoulli": "yes_no",
    "categorical": "categories",
    "ordinal": "scales",
}


@dataclass(frozen=True)
class KindsOfFrame:
    """What was found out about a frame at a fit."""

    encoding: Encoding
    columns: dict[str, tuple[str, ...]]  # names of the columns of each view
    likelihoods: dict[str, Any]  # of each view

    def views(self, X: Any) -> tuple[ViewTable, ...]:
        return views_of_frame(X, self.encoding, self.columns)


def chooses_columns(X: Any, given: Any) -> bool:
    """Whether likelihoods are given by column of a frame of numbers, which is then one of several kinds."""
    if not is_frame(X) or not isinstance(given, Mapping):
        return False
    return not set(map(str, given)) <= {"x"} and not any(isinstance(kind, Mapping) for kind in given.values())


def learn_views(X: Any, given: Any, *, in_stream: bool = False) -> KindsOfFrame:
    """Views by kind of column: the caller's choice, what the types of the frame say, or a guess from the values.

    Parameters
    ----------
    X : DataFrame
    given : dict, str or None
        Likelihoods by column; or by view, under the names that views get. One word is for all columns.
    in_stream : bool
        Whether X is the first batch of a stream, whose columns have all levels of their types.
    """
    encoding, stated = learn_encoding(X, given, in_stream=in_stream)
    names = [column.name for column in encoding.columns]
    chosen, by_view = _choices(given, names)
    likelihoods: dict[str, Any] = {}
    columns: dict[str, list[str]] = {}
    for name, values in zip(names, level_numbers(encoding, X).T, strict=True):
        shown = values[~np.isnan(values)]
        if name in chosen:
            _check_choice(name, chosen[name], stated.get(name), shown)
        kind = chosen.get(name) or stated.get(name) or guess_kind(shown)
        view = VIEW_NAMES.get(_name_of(kind), _name_of(kind))
        columns.setdefault(view, []).append(name)
        likelihoods[view] = by_view.get(view, kind)
    order = [view for view in VIEW_NAMES.values() if view in columns] + [v for v in columns if v not in _KNOWN_VIEWS]
    unknown = [view for view in by_view if view not in columns]
    if unknown:
        raise ValueError(f"likelihoods names {listed(unknown)}; there are the columns {listed(names)}.")
    return KindsOfFrame(
        encoding, {view: tuple(columns[view]) for view in order}, {view: likelihoods[view] for view in order}
    )


_KNOWN_VIEWS = frozenset(VIEW_NAMES.values())


def are_kinds(views: Sequence[str]) -> bool:
    """Whether views are called as those are into which a table is divided by kind of column.

    Examples
    --------
    >>> are_kinds(("numbers", "yes_no")), are_kinds(("rna", "numbers")), are_kinds(("x",))
    (True, False, False)
    """
    return set(views) <= _KNOWN_VIEWS


def views_of_frame(X: Any, encoding: Encoding, columns: Mapping[str, Sequence[str]]) -> tuple[ViewTable, ...]:
    """The columns of a frame as numbers, view by view; of levels, their number."""
    if not is_frame(X):
        raise ValueError(
            f"X is a {type(X).__name__}, and the model was fitted to a data frame of mixed columns; give a frame with "
            f"the columns {listed([column.name for column in encoding.columns])}."
        )
    numbers = level_numbers(encoding, X)
    at = {column.name: j for j, column in enumerate(encoding.columns)}
    rows = tuple(map(str, X.index)) if hasattr(X, "iloc") else None
    counted = rows is not None and getattr(X.index, "start", None) == 0 and getattr(X.index, "step", None) == 1
    return tuple(
        ViewTable(view, numbers[:, [at[name] for name in own]], (len(numbers), len(own)), rows, tuple(own), counted)
        for view, own in columns.items()
    )


def with_level_names(
    levels: Mapping[str, LevelColumns], encoding: Encoding | None, kinds: Mapping[str, Any], *, in_stream: bool = False
) -> dict[str, LevelColumns]:
    """The same levels, called as the frame calls them; in a stream also those that no row has shown yet."""
    if encoding is None:  # no levels of a frame
        return dict(levels)
    of = {column.name: column.levels for column in encoding.columns}
    if in_stream:
        levels = {view: _with_all(own, of, sort=kinds[view] == "ordinal") for view, own in levels.items()}
    return {
        view: replace(
            own,
            texts=tuple(
                tuple(of[name][int(value)] for value in values) if of[name] else ()
                for name, values in zip(own.names, own.levels, strict=True)
            ),
        )
        for view, own in levels.items()
    }


def with_words(layout: Layout, encoding: Encoding | None, kinds: Mapping[str, Any]) -> Layout:
    """The same layout, with columns of yes and no of a frame called after the word that is 1."""
    if encoding is None:
        return layout
    of = {
        column.name: (column.levels[0], column.levels[1]) if column.levels else ("0", "1")
        for column in encoding.columns
    }
    named = dict(zip(layout.views, layout.features, strict=True))
    words = {
        view: WordColumns(names, tuple(of[name] for name in names))
        for view, names in named.items()
        if kinds[view] == "bernoulli"
    }
    features = tuple(words[view].features if view in words else names for view, names in named.items())
    return replace(layout, features=features, words=words)


def _with_all(own: LevelColumns, of: Mapping[str, tuple[str, ...]], *, sort: bool) -> LevelColumns:
    """Levels of which rows show some, and those that they do not show after them, or all from low to high."""
    every = []
    for name, shown in zip(own.names, own.levels, strict=True):
        found = [*shown, *(float(i) for i in range(len(of[name])) if float(i) not in shown)]
        every.append(tuple(sorted(found) if sort else found))
    return replace(own, levels=tuple(every))


def in_frame_order(wide: Floats, layout: Layout, encoding: Encoding) -> Floats:
    """Columns (n, D) of a layout as read, in the order of the frame."""
    names = [name for own in layout.features for name in own]
    return wide[:, [names.index(column.name) for column in encoding.columns]]


def drawn_as_frame(encoding: Encoding | None, wide: Array, layout: Layout) -> Any:
    """Rows (n, D) of a layout as read as a frame like that of the fit; None where the fit was to none."""
    if encoding is None:
        return None
    return drawn_frame(encoding, in_frame_order(host(wide), layout, encoding), level_names(encoding))


def level_names(encoding: Encoding) -> list[tuple[str, ...]]:
    """Of each column of a frame the names of its levels by number; () where it has none."""
    return [column.levels if column.kind in ("binary", "category") else () for column in encoding.columns]


def _choices(given: Any, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The caller's likelihoods by column, and by view."""
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping | str | Likelihood):
        raise ValueError(
            f"likelihoods={given!r} is no dict; give one such as {{{names[0]!r}: 'gaussian'}}, or one word for all."
        )
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given), {}
    by_name = {str(key): kind for key, kind in given.items()}
    return (
        {key: kind for key, kind in by_name.items() if key in names},
        {key: kind for key, kind in by_name.items() if key not in names},
    )


def _check_choice(name: str, kind: Any, stated: str | None, shown: Floats) -> None:
    """Refuse a kind that does not suit what a column shows."""
    refuse_unknown(name, kind)
    if stated in ("categorical", "ordinal") and _name_of(kind) not in ("categorical", "ordinal"):
        raise ValueError(
            f"column {name!r} holds categories and cannot be {_name_of(kind)}; choose 'categorical' or 'ordinal', or "
            "turn it into numbers."
        )
    low, high = np.array([shown.min(initial=np.inf)]), np.array([shown.max(initial=-np.inf)])
    whole, binary = bool((shown == np.floor(shown)).all()), bool(np.isin(shown, (0.0, 1.0)).all())
    likelihood: Kind = LIKELIHOODS[kind] if isinstance(kind, str) else kind
    wrong = likelihood.refusal(Look(low, high, whole, binary, skewed=False))
    if wrong is not None:
        raise ValueError(f"column {name!r} is to be {_name_of(kind)} but {wrong}")


def _name_of(kind: Any) -> str:
    """Of a likelihood that is given by its name or as an instance."""
    return kind if isinstance(kind, str) else str(getattr(kind, "name", kind))
