"""Tables of many libraries as views: each has a name, perhaps names of rows and columns, and numbers.

pandas, polars, AnnData and MuData are known by their attributes and never imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Floats, Index
from latens.array.transfer import host, is_sparse
from latens.estimators.frames.raw_frames import refuse_lazy_frame
from latens.estimators.rows.validation import check_sparse, is_foreign
from latens.intake.marks import plain_number
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask
from latens.system.wording import listed

__all__ = [
    "ViewTable",
    "are_read",
    "columns_at",
    "from_long",
    "is_in_blocks",
    "is_long",
    "is_plain",
    "is_several",
    "long_groups",
    "numbered",
    "one_table",
    "read_views",
    "single",
]

LONG_COLUMNS = {"sample", "feature", "value"}  # columns of a table with one entry a line, as MOFA2 reads it
LONG_TOO = {"view", "group"}  # those that it may have besides
FEWEST_NAMES = 5  # rows from which text that differs in every one of them names samples


@dataclass(frozen=True)
class ViewTable:
    """One table, before its numbers are read."""

    name: str
    table: Any  # array, sparse matrix or data frame
    shape: tuple[int, int]
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    counted: bool = False  # the row names are only 0, 1, 2, ...
    obs: Any = None  # the table of annotations of its rows, where it has one
    chooses: bool = False  # other columns than those wanted may be there

    @property
    def is_single(self) -> bool:
        """Whether it holds single precision or less."""
        kinds = getattr(self.table, "dtypes", None)
        if kinds is None:
            return single(getattr(self.table, "dtype", None))
        return all(map(single, kinds))

    def numbers(self, dtype: Any, columns: Index | None) -> Floats:
        """(n, D), the values of some columns, NaN where missing."""
        table = self.table if columns is None else columns_at(self.table, columns)
        if is_sparse(table):
            check_sparse(table, f"view {self.name!r}")
            table = table.toarray()
        if is_foreign(table):
            table = host(table)
        values: Floats = self._values(table, dtype)
        if values.dtype.kind == "c":
            raise ValueError(f"view {self.name!r} is complex; expected real numbers. Try its real part.")
        if values.dtype.kind not in "fiub":
            raise ValueError(self._not_numbers(table))
        return values

    def _values(self, table: Any, dtype: Any) -> Any:
        """The values as an array; where they are complex or dates, an array of that kind, which `numbers` refuses."""
        if hasattr(table, "iloc"):
            kinds = {getattr(kind, "kind", "O") for kind in table.dtypes}
            if "c" in kinds or kinds & set("mM"):
                return table.to_numpy(dtype=complex) if "c" in kinds else np.empty(0, dtype="M8[s]")
            try:
                # a plain frame may lend its memory; one with missing values of its own kind must be copied
                plain = kinds <= set("fiub") and all(isinstance(kind, np.dtype) for kind in table.dtypes)
                return table.to_numpy(dtype=dtype) if plain else table.to_numpy(dtype=dtype, na_value=np.nan)
            except (TypeError, ValueError) as error:
                raise ValueError(self._not_numbers(table)) from error
        values = table.to_numpy() if _is_polars(table) else table
        values = np.ma.filled(values.astype(dtype), np.nan) if isinstance(values, np.ma.MaskedArray) else values
        values = np.asarray(values)
        if values.dtype.kind != "O":
            return values
        try:
            return values.astype(dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(self._not_numbers(table)) from error

    def _not_numbers(self, table: Any) -> str:
        where = ""
        if hasattr(table, "iloc"):
            for j, name in enumerate(table.columns):
                try:
                    table.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
                except (TypeError, ValueError):
                    where = f" in column {name!r}, such as {table.iloc[0, j]!r}"
                    break
        return (
            f"view {self.name!r} holds values that are no numbers{where}; "
            "drop such columns, or give them as numbers (0 and 1 for two levels)."
        )


def single(dtype: Any) -> bool:
    """Whether a dtype of NumPy or another library is a float of at most 32 bits."""
    name = str(dtype).rpartition(".")[2].lower()
    return name in ("float16", "bfloat16", "float32")


def is_plain(views: Any) -> bool:
    """Whether this is one table, rather than a container of several."""
    if is_sparse(views):  # some of SciPy's are mappings as well
        return True
    if isinstance(views, Mapping) or _is_annotated(views) or is_several(views) or _has_two_levels(views):
        return False
    if is_long(views):
        return False
    if isinstance(views, list | tuple):
        return not any(_is_annotated(view) or len(getattr(view, "shape", ())) == 2 for view in views)
    return True


def is_in_blocks(views: Any) -> bool:
    """Whether views are scans or Dask collections, one or a dict of them.

    Raises
    ------
    TypeError
        If some are and others are not: rows in memory cannot be matched with blocks.
    """
    if isinstance(views, Scan) or is_dask(views):
        return True
    if is_sparse(views) or not isinstance(views, Mapping) or not views:  # some of SciPy's are mappings as well
        return False
    lazy = [isinstance(view, Scan) or is_dask(view) for view in views.values()]
    if any(lazy) and not all(lazy):
        here = [str(name) for name, one in zip(views, lazy, strict=True) if not one]
        raise TypeError(
            f"view {here[0]!r} is in memory and others are read in blocks; give latens.scan of it with the "
            "same block_rows."
        )
    return all(lazy)


def are_read(views: Any) -> bool:
    """Whether views were read already, from one frame."""
    return isinstance(views, tuple) and len(views) > 0 and all(isinstance(view, ViewTable) for view in views)


def is_several(views: Any) -> bool:
    """Whether this is MuData: annotated tables in one, whose rows it has matched."""
    return hasattr(views, "mod") and hasattr(views, "obs_names")


def from_long(views: Any) -> Any:
    """A frame of pandas with one entry a line as a dict of frames, samples x features; all else as it is.

    Its columns are sample, feature and value, with view where there are several, and group.
    """
    if not is_long(views):
        return views
    keys = ["sample", "feature", *(["view"] if "view" in views.columns else [])]
    twice = views.duplicated(keys)
    if twice.any():
        line = views[twice].iloc[0]
        raise ValueError(
            f"{int(twice.sum())} line(s) of the long table repeat an entry, the first that of sample "
            f"{line['sample']!r} and feature {line['feature']!r}; keep one value for each."
        )
    parts = views.groupby("view", sort=False) if "view" in views.columns else [("x", views)]
    samples, wide = list(dict.fromkeys(views["sample"])), {}
    for name, part in parts:
        table = part.pivot(index="sample", columns="feature", values="value")
        rows = [sample for sample in samples if sample in table.index]
        wide[str(name)] = table.loc[rows, list(dict.fromkeys(part["feature"]))]
    return wide


def long_groups(views: Any, groups: Any) -> Any:
    """The groups that a frame with one entry a line has itself, by sample, unless others are given."""
    if groups is not None or not is_long(views) or "group" not in views.columns:
        return groups
    group_of_sample = views[["sample", "group"]].drop_duplicates()
    several = group_of_sample["sample"].duplicated()
    if several.any():
        raise ValueError(
            f"sample {group_of_sample['sample'][several].iloc[0]!r} is of several groups; give each sample one."
        )
    return group_of_sample.set_index("sample")["group"]


def is_long(views: Any) -> bool:
    """Whether a frame has one entry a line: sample, feature, value, perhaps view and group."""
    if not hasattr(views, "iloc") or getattr(getattr(views, "columns", None), "nlevels", 2) != 1:
        return False
    names = set(map(str, views.columns))
    return LONG_COLUMNS <= names <= LONG_COLUMNS | LONG_TOO


def read_views(views: Any, layer: Any, use_var: str | None, known: Sequence[str] | None = None) -> list[ViewTable]:
    """Every view of a container, by name. `known` are the names of a fit, which views without names take in turn."""
    if are_read(views):
        return list(views)
    given = list(_named(from_long(views), known))
    columns = _with_column(given, use_var)
    found = [view for name, table in given for view in _read(name, table, layer, columns.get(name), bool(known))]
    if given and not found:
        raise ValueError(f"the view(s) {listed([name for name, _ in given])} have no rows; give at least one sample.")
    if not found:
        raise ValueError("no views were given; pass a dict such as {'rna': X_rna, 'mutations': X_mut}.")
    names = [view.name for view in found]
    if len(set(names)) < len(names):
        raise ValueError(f"the names of the views are not unique: {listed(names)}; give each its own.")
    if known and (strange := [name for name in names if name not in known]):
        raise ValueError(f"view(s) {listed(strange)} were not there when the model was fitted; it has {listed(known)}.")
    return found


def one_table(known: Sequence[str]) -> ValueError:
    """What to say to one table without a name, given to a model of several views."""
    return ValueError(
        f"one table was given, but the model was fitted to the views {listed(known)}; "
        f"pass a dict such as {{{known[0]!r}: X}} with those at hand."
    )


def _named(views: Any, known: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """Names and tables, whichever container holds them; an absent view may be None where the model is known."""
    if is_several(views):
        pairs = list(views.mod.items())
    elif isinstance(views, Mapping):
        pairs = list(views.items())
    elif _has_two_levels(views):
        top = views.columns.get_level_values(0)
        pairs = [(name, columns_at(views, np.flatnonzero(top == name))) for name in dict.fromkeys(top)]
    elif isinstance(views, list | tuple):
        if known and len(known) != len(views):
            raise ValueError(
                f"{len(views)} views were given as a list, and the model has {len(known)}: {listed(known)}. "
                "Give a dict with the names of those at hand, or None in place of the others."
            )
        pairs = list(zip(known or [f"view{i}" for i in range(len(views))], views, strict=True))
    elif known and len(known) > 1:
        raise one_table(known)
    else:
        pairs = [(known[0] if known else "x", views)]
    for name, table in pairs:
        if table is None and not known:
            raise ValueError(f"view {str(name)!r} is None; leave it out.")
        if table is not None:
            yield str(name), table


def _read(name: str, table: Any, layer: Any, use_var: str | None, known: bool) -> Iterator[ViewTable]:
    if hasattr(table, "collect_schema"):  # of polars
        refuse_lazy_frame(table, f"views[{name!r}]")
    rows, columns, obs, counted, chooses = None, None, None, False, False
    if _is_annotated(table):
        rows, columns, obs = _strings(table.obs_names), _strings(table.var_names), table.obs
        values, chooses = _layer(name, table, layer), known and use_var is not None
        if use_var is not None and not known:
            chosen = _chosen(name, table.var, use_var)
            values, columns = values[:, chosen], tuple(columns[j] for j in chosen)
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        _refuse_column_of_names(name, table)
        values, counted = table, _is_counted(table.index)
        rows = _strings(table.index)
        labels = table.columns.get_level_values(-1)
        columns = None if _is_counted(labels) else _strings(labels)
    elif _is_polars(table):
        _refuse_column_of_names(name, table)
        values, columns = table, _strings(table.columns)
    else:
        values = table if is_sparse(table) or is_foreign(table) else np.asanyarray(table)
    shape = tuple(int(size) for size in values.shape)
    if len(shape) != 2:
        raise ValueError(f"view {name!r} has {len(shape)} dimension(s); expected 2, rows x columns. Try v[:, None].")
    if known and shape[1] and not shape[0]:
        return  # none of these samples has the view
    if not shape[0] or not shape[1]:
        raise ValueError(f"view {name!r} is empty, of shape {shape}; leave it out.")
    for kind, names in (("row", rows), ("column", columns)):
        if names is not None and len(set(names)) < len(names):
            raise ValueError(
                f"view {name!r} has duplicated {kind} names: {listed(_repeated(names))}; make them unique "
                f"{'so that rows can be matched across views' if kind == 'row' else 'or drop the copies'}."
            )
    yield ViewTable(name, values, (shape[0], shape[1]), rows, columns, counted, obs, chooses)


def _refuse_column_of_names(name: str, table: Any) -> None:
    """A first column of text that differs in every row names samples, as read from a file without an index."""
    if len(table) < FEWEST_NAMES or not len(table.columns):
        return
    first = table.iloc[:, 0] if hasattr(table, "iloc") else table[:, 0]
    texts = first.to_list()
    if not all(isinstance(each, str) for each in texts) or len(set(texts)) < len(texts):
        return
    if any(plain_number(each) is not None for each in texts):
        return
    label, as_pandas = table.columns[0], "" if hasattr(table, "iloc") else ".to_pandas()"
    raise ValueError(
        f"column {label!r} of view {name!r} is text that differs in every row, such as {texts[0]!r}. If it names the "
        f"samples, by which views are matched: view{as_pandas}.set_index({label!r}); else drop it."
    )


def _layer(name: str, table: Any, layer: Any) -> Any:
    wanted = layer.get(name) if isinstance(layer, Mapping) else layer
    if wanted is None:
        values = table.X
        if values is None:
            raise ValueError(f"view {name!r} has no X; choose one of its layers: {listed(list(table.layers))}.")
    elif wanted in table.layers:
        values = table.layers[wanted]
    else:
        raise ValueError(f"view {name!r} has no layer {wanted!r}; it has {listed(list(table.layers)) or 'none'}.")
    return values.to_memory() if hasattr(values, "to_memory") else values  # kept in a file so far


def _with_column(given: Sequence[tuple[str, Any]], use_var: str | None) -> dict[str, str]:
    """`use_var` by view: a view of several that lacks the column keeps all its features."""
    annotated = [(name, table) for name, table in given if _is_annotated(table)]
    having = [name for name, table in annotated if use_var is not None and use_var in table.var.columns]
    if use_var is None or (len(annotated) > 1 and having):
        return dict.fromkeys(having, use_var) if use_var is not None else {}
    return {name: use_var for name, _ in annotated}


def _chosen(name: str, var: Any, use_var: str) -> Index:
    if use_var not in var.columns:
        raise ValueError(
            f"use_var={use_var!r} is no column of .var of view {name!r}; it has {listed(list(var.columns)) or 'none'}."
        )
    chosen = np.asarray(var[use_var])
    if chosen.dtype.kind not in "biu" or not np.isin(chosen, (0, 1)).all():
        raise ValueError(f"use_var={use_var!r} of view {name!r} is not boolean; give a column of True and False.")
    if not chosen.any():
        raise ValueError(f"use_var={use_var!r} keeps no column of view {name!r}; leave the view out.")
    return np.flatnonzero(chosen)


def columns_at(table: Any, columns: Index) -> Any:
    """Some columns of a table of any kind."""
    if hasattr(table, "iloc"):
        return table.iloc[:, columns]
    if is_foreign(table):
        xp = array_namespace(table)
        return xp.take(table, xp.asarray(columns), axis=1)
    return table[:, columns.tolist()] if _is_polars(table) else table[:, columns]


def _is_annotated(table: Any) -> bool:
    return all(hasattr(table, part) for part in ("X", "obs", "var", "obs_names", "layers"))


def _is_polars(table: Any) -> bool:
    return hasattr(table, "schema") and hasattr(table, "columns") and hasattr(table, "to_numpy")


def _has_two_levels(table: Any) -> bool:
    return hasattr(table, "iloc") and getattr(getattr(table, "columns", None), "nlevels", 1) == 2


def _is_counted(index: Any) -> bool:
    """Whether an index of pandas is the one that frames get when none is given."""
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1


def _strings(names: Any) -> tuple[str, ...]:
    return tuple(map(str, names))


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def numbered(view: str, d: int) -> tuple[str, ...]:
    """Names for the columns of a table that has none."""
    stem = "x" if view == "x" else f"{view}_"
    return tuple(f"{stem}{j}" for j in range(d))
