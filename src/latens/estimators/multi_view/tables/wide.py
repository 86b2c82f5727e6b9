"""Several tables of the same rows as one wide table: columns of the first view, then of the next, and so on.

Where groups were given, rows carry the number of their group beside their values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from latens.array import Array, Floats, Index
from latens.array.fields import record
from latens.array.transfer import is_sparse, like
from latens.core import Rows
from latens.errors import AbsentColumns, warn
from latens.estimators.frames.raw_frames import refuse_lazy_frame
from latens.estimators.frames.roles import from_table
from latens.estimators.frames.row_labels import labels_of
from latens.estimators.frames.views_by_kind import views_of_frame
from latens.estimators.multi_view.tables.input import (
    ViewTable,
    are_read,
    is_plain,
    is_several,
    long_groups,
    numbered,
    one_table,
    read_views,
    single,
)
from latens.estimators.multi_view.tables.level_columns import LevelColumns, ScaleColumns, WordColumns
from latens.estimators.multi_view.tables.row_names import align, group_numbers, row_positions
from latens.estimators.multi_view.tables.split import split_like
from latens.estimators.rows.validation import check_rows, check_weight, is_foreign, refuse_name
from latens.intake import Encoding, Intake, join_views
from latens.models.multi_view.view import GROUP
from latens.system.wording import listed

__all__ = ["Layout", "WideTable", "encoded_views", "frame_encoding", "lay_out", "of_samples", "tables_of"]

ABSENT = -1  # in place of the position of a column
CHECKED_AT_ONCE = 2**20  # entries; masks of this size are the only temporaries


@record
class Layout:
    """Which columns of a wide table belong to which view.

    >>> layout = Layout(("rna", "mut"), (("a", "b"), ("c",)), groups=("old", "young"))
    >>> layout.bounds, layout.n_columns
    ([slice(0, 2, None), slice(2, 3, None)], 3)
    """

    views: tuple[str, ...]
    features: tuple[tuple[str, ...], ...]  # names of the columns of each view
    groups: tuple[str, ...] = ()  # names of the groups; () where none were given
    precise: tuple[str, ...] = ()  # views whose precisions are known, entry by entry
    exposed: tuple[str, ...] = ()  # views of counts whose exposures are known, sample by sample
    levels: dict[str, LevelColumns | ScaleColumns] = field(default_factory=dict)  # of views of levels
    words: dict[str, WordColumns] = field(default_factory=dict)  # of views of yes and no of a data frame
    wholes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # columns of views that are split by kind
    # what a usual sample counts in each column of views whose exposures are totals: other rows, the same layout
    usual_counts: dict[str, tuple[float, ...]] = field(default_factory=dict, compare=False)

    @property
    def as_read(self) -> Layout:
        """The layout of tables as they are given: columns of levels are one column each, and no name has a level."""
        own = {view: columns.names for view, columns in (*self.levels.items(), *self.words.items())}
        features = tuple(own.get(view, names) for view, names in zip(self.views, self.features, strict=True))
        return replace(self, features=features, levels={}, words={})

    @property
    def named_levels(self) -> dict[str, dict[str, list[str | float]]]:
        """Of views of levels, and of yes and no of a data frame, by column: levels in the order of their numbers."""
        named: dict[str, LevelColumns | ScaleColumns | WordColumns] = {**self.levels, **self.words}
        return {view: named[view].by_column for view in self.views if view in named}

    @property
    def bounds(self) -> list[slice]:
        """The columns of each view."""
        ends = accumulate((len(names) for names in self.features), initial=0)
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def n_columns(self) -> int:
        """Columns of all views together."""
        return sum(map(len, self.features))


@dataclass(frozen=True, eq=False)
class WideTable:
    """Rows of all views together, what their columns are, and what the rows are called."""

    rows: Rows
    layout: Layout
    row_names: tuple[str, ...] | None


def lay_out(
    views: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    layout: Layout | None = None,
    layer: Any = None,
    use_var: str | None = None,
    estimator: Any = None,
    in_stream: bool = False,
) -> WideTable:
    """Read views into one wide table.

    Parameters
    ----------
    views : dict or list of arrays or data frames, data frame with two-level columns, AnnData, MuData, or array
        Rows are samples. Frames are aligned by row name; a row that a view lacks is missing there. A plain 2-D array
        or frame is one view named "x".
    groups : array, Series or str, optional
        A label for each row, or the name of a column of `.obs`.
    sample_weight : array or Series of shape (n,), optional
    layout : Layout, optional
        That of a fit, to align to: any subset of its views, columns matched by name where both sides have names.
        None learns it from the views.
    layer : str or dict of str, optional
        The layer of AnnData to read instead of X, for all views or by view.
    use_var : str, optional
        A boolean column of `.var`: only features where it is True are read.
    estimator : object, optional
        Where a plain array comes from scikit-learn's side: it is checked as for any estimator, and
        `n_features_in_` and `feature_names_in_` are set there.
    in_stream : bool
        Whether more samples are to come before the layout is settled: one is enough, and new groups join it.

    Returns
    -------
    WideTable
    """
    if layout is None and estimator is not None:
        estimator.__dict__.pop("encodings_", None)  # that of other tables
    groups = long_groups(views, groups)
    if is_plain(views) and not _is_named_view(views, layout, estimator):
        return _plain(views, groups, sample_weight, layout, estimator, in_stream)
    given = read_views(views, layer, use_var, None if layout is None else layout.views)
    matched = tuple(map(str, views.obs_names)) if is_several(views) else None
    names, positions, n = row_positions(given, matched)
    if layout is None and n < 2 and not in_stream:
        raise ValueError(f"the views have {n} row; a fit needs at least 2.")
    notes = [views.obs] if is_several(views) else []
    notes += [view.obs for view in given if view.obs is not None]
    labels, known = group_numbers(groups, notes, names, n, None if layout is None else layout.groups, more=in_stream)
    if layout is None:
        features = tuple(view.columns or numbered(view.name, view.shape[1]) for view in given)
        layout = Layout(tuple(view.name for view in given), features, known)
        if estimator is not None:
            _note_columns(estimator, layout)
    layout = replace(layout, groups=known)
    picks = [_columns_of(view, layout) for view in given]
    if _on_device(given):
        x, seen = _join(given, layout)
    else:
        x, seen = _fill(given, positions, picks, n, layout)
    refuse_name("sample_weight", sample_weight)
    weight = None if sample_weight is None else check_weight(align("sample_weight", sample_weight, names, n), x)
    return WideTable(_occupying(_with_labels(Rows(x, seen, weight), labels, layout)), layout, names)


def tables_of(X: Any, model: Any = None) -> Any:
    """What `latens.read` found in a file as a frame, or as views where it has several tables; else X itself.

    Of new rows for a fitted `model`, with the columns of its fit, also those that are constant or empty there.
    """
    if hasattr(X, "collect_schema"):  # of polars
        refuse_lazy_frame(X)
    if not isinstance(X, Intake):
        return X
    X = X if model is None else X.like(model)
    return X.frame if len(X.parts) == 1 else X.views()


def of_samples(
    X: Any, groups: Any, sample_weight: Any, exposure: Any, covariates: Any, known: Any = True
) -> tuple[Any, ...]:
    """What is given beside the samples, in its order; what is None comes from the columns that a table was read with.

    Groups of a table are taken only where a fit has `known` any.
    """
    if not isinstance(X, Intake):
        return groups, sample_weight, exposure, covariates
    own = from_table(X, groups=groups)[0] if known else groups
    return own, *from_table(X, sample_weight=sample_weight, exposure=exposure, covariates=covariates)


def encoded_views(estimator: Any, X: Any) -> Any:
    """Views as the model was fitted to them: a raw data frame as it was encoded, views of several kinds by kind."""
    X = tables_of(X, estimator)
    layout = getattr(estimator, "layout_", None)
    if layout is not None and layout.wholes and not are_read(X):
        return split_like(X, layout.as_read, estimator.layer, estimator.use_var)
    if are_read(X) or not is_plain(X):
        return X  # views that were encoded already, such as those of `latens.read(path).views()`
    encoding = frame_encoding(estimator)
    if encoding is not None:
        layout = estimator.layout_.as_read
        return views_of_frame(X, encoding, dict(zip(layout.views, layout.features, strict=True)))
    encodings = getattr(estimator, "encodings_", None)
    if encodings is None or len(encodings) > 1 or not hasattr(X, "columns") or not is_plain(X):
        return X
    return join_views({view: encoding.encode(X) for view, encoding in encodings.items()})


def frame_encoding(estimator: Any) -> Encoding | None:
    """How a frame of mixed columns became numbers, where the model was fitted to one: each column is one of a view."""
    encodings = getattr(estimator, "encodings_", None)
    if encodings is None or len(encodings) > 1:
        return None
    (encoding,) = encodings.values()
    names = [name for own in estimator.layout_.as_read.features for name in own]
    return encoding if sorted(names) == sorted(column.name for column in encoding.columns) else None


def _plain(
    X: Any, groups: Any, sample_weight: Any, layout: Layout | None, estimator: Any, in_stream: bool
) -> WideTable:
    """One table, checked by scikit-learn's conventions."""
    if layout is not None and len(layout.views) > 1:
        raise one_table(layout.views)
    if estimator is None:
        estimator = _Anyone()
        if layout is not None:
            estimator.n_features_in_ = layout.n_columns
    fresh = layout is None
    rows = check_rows(estimator, X, sample_weight, reset=fresh, at_least=2 if fresh and not in_stream else 1)
    if is_sparse(rows.x):
        rows = Rows(rows.x.toarray(), None, rows.weight)
    names, n = labels_of(X), len(rows)
    labels, known = group_numbers(groups, [], names, n, None if layout is None else layout.groups, more=in_stream)
    if layout is None:
        columns = getattr(estimator, "feature_names_in_", None)
        features = numbered("x", rows.x.shape[1]) if columns is None else tuple(map(str, columns))
        layout = Layout(("x",), (features,))
    layout = replace(layout, groups=known)
    return WideTable(_with_labels(rows, labels, layout), layout, names)


def _with_labels(rows: Rows, labels: Floats, layout: Layout) -> Rows:
    """Rows that know their group, -1 in `labels` where it is unknown."""
    if not layout.groups:
        return rows
    return replace(rows, aux={**rows.aux, GROUP: like(np.where(labels < 0, np.nan, labels), rows.x)})


def _is_named_view(X: Any, layout: Layout | None, estimator: Any) -> bool:
    """Whether a table has column names to be matched with those of the only view of a fit to a container of one."""
    if layout is None or estimator is None or len(layout.views) > 1 or not hasattr(X, "columns"):
        return False
    return not hasattr(estimator, "feature_names_in_")  # else scikit-learn compares the names


class _Anyone(BaseEstimator):
    """Stands in where no estimator asks: a plain table is checked against nothing but itself."""

    binary, sparse = False, False


def _note_columns(estimator: Any, layout: Layout) -> None:
    estimator.n_features_in_ = layout.n_columns
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _columns_of(view: ViewTable, layout: Layout) -> Index | None:
    """Where the columns of the layout stand in a view, ABSENT where not at all; None if they are all, in order."""
    expected = layout.features[layout.views.index(view.name)]
    if view.columns == expected:
        return None
    n, d = view.shape
    view, expected = _by_label(view, expected)
    if view.columns is None or expected == numbered(view.name, len(expected)):
        if d == len(expected):
            return None
        turned = " This looks like features x samples; pass v.T." if n == len(expected) else ""
        raise ValueError(f"view {view.name!r} has {d} columns; the model was fitted with {len(expected)}.{turned}")
    at = {name: j for j, name in enumerate(view.columns)}
    absent = [name for name in expected if name not in at]
    strange = [] if view.chooses else [name for name in view.columns if name not in set(expected)]
    if (absent or strange) and view.rows is not None and set(view.rows) >= set(expected):
        raise ValueError(f"the rows of view {view.name!r} carry the names of its features; pass v.T.")
    if strange or len(absent) == len(expected):
        parts = [f"lacks the column(s) {listed(absent)}"] if absent else []
        parts += [f"has the unknown column(s) {listed(strange)}"] if strange else []
        raise ValueError(
            f"view {view.name!r} {' and '.join(parts)}; give columns of the {len(expected)} of the fit, in any order "
            "(one that was not measured may be left out, or hold NaN)."
        )
    if absent:
        warn(
            AbsentColumns(
                f"view {view.name!r} lacks {len(absent)} of the {len(expected)} columns of the fit: {listed(absent)}. "
                "They count as missing.",
                "Give them as columns of NaN to silence this.",
            )
        )
    return np.array([at.get(name, ABSENT) for name in expected], dtype=np.intp)


def _by_label(view: ViewTable, expected: tuple[str, ...]) -> tuple[ViewTable, tuple[str, ...]]:
    """A view and the columns of the fit, where labels that count columns are in another order on either side."""
    counted = tuple(map(str, range(len(expected))))
    if view.columns is None and hasattr(view.table, "columns") and sorted(expected) == sorted(counted):
        return replace(view, columns=tuple(map(str, range(view.shape[1])))), expected
    labelled = view.columns is not None and sorted(view.columns) == sorted(counted)
    if labelled and expected == numbered(view.name, len(expected)):
        return view, counted
    return view, expected


def _on_device(given: list[ViewTable]) -> bool:
    """Whether all views are arrays of one other library, which then stay where they are."""
    return all(is_foreign(view.table) for view in given) and len({type(view.table) for view in given}) == 1


def _fill(
    given: list[ViewTable],
    positions: list[Index | None],
    picks: list[Index | None],
    n: int,
    layout: Layout,
) -> tuple[Floats, Any]:
    """The wide array, written view by view, and its mask if anything is missing."""
    dtype = np.float32 if all(view.is_single for view in given) else np.float64
    x: Floats = np.zeros((n, layout.n_columns), dtype=dtype)
    bounds = dict(zip(layout.views, layout.bounds, strict=True))
    gaps: dict[str, Any] = {name: None for name in layout.views if name not in {view.name for view in given}}
    for view, at, pick in zip(given, positions, picks, strict=True):
        part = x[:, bounds[view.name]]
        if at is None:
            part[...] = _numbers(view, dtype, pick)
        else:
            part[...] = np.nan
            part[at] = _numbers(view, dtype, pick)
        if _check_finite(view, part, at):
            gaps[view.name] = part
    if not gaps:
        return x, None
    seen = np.ones(x.shape, dtype=np.bool_)
    for name, part in gaps.items():
        if part is None:  # the whole view is absent
            seen[:, bounds[name]] = False
            continue
        for piece in _pieces(part):
            hole = np.isnan(part[piece])
            seen[piece, bounds[name]] = ~hole
            part[piece][hole] = 0
    return x, seen


def _numbers(view: ViewTable, dtype: Any, pick: Index | None) -> Floats:
    """(n, D), the columns of a view in the order of the layout, NaN where it lacks one."""
    if pick is None or not np.any(pick == ABSENT):
        return view.numbers(dtype, pick)
    wide = np.full((view.shape[0], len(pick)), np.nan, dtype=dtype)
    wide[:, pick != ABSENT] = view.numbers(dtype, pick[pick != ABSENT])
    return wide


def _pieces(part: Floats) -> list[slice]:
    size = max(1, CHECKED_AT_ONCE // max(part.shape[1], 1))
    return [slice(start, start + size) for start in range(0, len(part), size)]


def _check_finite(view: ViewTable, part: Floats, at: Index | None) -> bool:
    """Whether anything is missing; infinities are refused."""
    missing = False
    for piece in _pieces(part):
        odd = ~np.isfinite(part[piece])
        if not odd.any():
            continue
        if np.isinf(part[piece]).any():
            i, j = np.argwhere(np.isinf(part[piece]))[0]
            row = piece.start + int(i) if at is None else int(np.flatnonzero(at == piece.start + i)[0])
            raise ValueError(
                f"view {view.name!r} contains infinity, first in its row {row}, column {int(j)}; "
                "replace it by a number, or by NaN if it is missing."
            )
        missing = True
    return missing


def _join(given: list[ViewTable], layout: Layout) -> tuple[Array, Array | None]:
    """The wide array of another library's arrays, on their device."""
    by_name, first = {view.name: view.table for view in given}, given[0].table
    xp, n = array_namespace(first), first.shape[0]
    dtype = xp.float32 if all(single(view.table.dtype) for view in given) else xp.float64
    parts = []
    for name, features in zip(layout.views, layout.features, strict=True):
        table = by_name.get(name)
        if table is None:
            parts.append(xp.full((n, len(features)), xp.nan, dtype=dtype, device=device(first)))
            continue
        if xp.isdtype(table.dtype, "complex floating"):
            raise ValueError(f"view {name!r} is complex; expected real numbers. Try its real part.")
        parts.append(xp.astype(table, dtype))
        if bool(xp.any(xp.isinf(parts[-1]))):
            raise ValueError(f"view {name!r} contains infinity; replace it by a number, or by NaN if it is missing.")
    x = xp.concat(parts, axis=1)
    hole = xp.isnan(x)
    return (xp.where(hole, xp.zeros_like(x), x), ~hole) if bool(xp.any(hole)) else (x, None)


def _occupying(rows: Rows) -> Rows:
    """Rows with nothing observed get weight 0: they must not move anything."""
    if rows.seen is None:
        return rows
    xp = array_namespace(rows.x)
    some = xp.any(rows.seen, axis=1)
    if bool(xp.all(some)):
        return rows
    known = xp.astype(some, rows.x.dtype)
    return replace(rows, weight=known if rows.weight is None else rows.weight * known)
