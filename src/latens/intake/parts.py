"""One table of a file as it was read, with its columns and how they become numbers; also of new rows of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from latens.errors import TableRefused
from latens.intake.columns import AS_ASKED, COVARIATE, KINDS, Column
from latens.intake.encoding import Encoded, Encoding, texts_of_numbers
from latens.intake.layouts import SparseTable
from latens.intake.raw_table import RawTable, Values, as_read, level_text
from latens.intake.treatment import Choices, treat

__all__ = ["Part", "encodings_of"]


@dataclass(frozen=True, eq=False)
class Part:
    """One table of a file: its columns, their treatment and their values."""

    columns: tuple[Column, ...]
    table: RawTable | SparseTable  # with codes for missing taken out and numbers read
    encoding: Encoding
    texts: Mapping[str, Values] = field(default_factory=dict)  # cells of columns whose numbers are written as text

    def encoded(self) -> Encoded:
        return replace(self.encoding.encode(self.table), texts=self.texts)

    def aside(self, role: str) -> Values | None:
        """Values of the column with a role, such as the target; None where there is none."""
        at = next((j for j, column in enumerate(self.columns) if column.role == role), None)
        return None if at is None or isinstance(self.table, SparseTable) else self.table.values[at]

    def covariates(self) -> dict[str, Values]:
        """Values of the columns that were named as covariates."""
        if isinstance(self.table, SparseTable):
            return {}
        return {c.name: self.table.values[j] for j, c in enumerate(self.columns) if c.role == COVARIATE}

    def known(self) -> dict[str, Values]:
        """Values of the columns that were left out by name, and of what else the file says of its rows."""
        if isinstance(self.table, SparseTable):
            return dict(self.table.known)
        named = [j for j, c in enumerate(self.columns) if (c.role, c.note) == ("dropped", AS_ASKED) and c.kind in KINDS]
        return {**self.table.known, **{self.columns[j].name: self.table.values[j] for j in named}}

    def frame(self, pandas: Any) -> Any:
        """The columns that were kept, with the names of the rows."""
        if isinstance(self.table, SparseTable):
            places = [j for j, column in enumerate(self.columns) if column.is_kept]
            return pandas.DataFrame.sparse.from_spmatrix(
                self.table.matrix[:, places], self.table.row_names, [self.columns[j].name for j in places]
            )
        series: dict[str, Any] = {}
        for column, values in zip(self.columns, self.table.values, strict=True):
            if not column.is_kept:
                continue
            if column.kind == "category" or (column.kind == "binary" and values.dtype == object):
                folded = {level.casefold(): level for level in column.levels}
                texts = [None if value is None or value != value else level_text(value) for value in values]
                cells = [text if text is None or text in column.levels else folded.get(text.casefold(), text)
                         for text in texts]  # fmt: skip
                levels = dict.fromkeys(
                    [*column.levels, *(cell for cell in cells if cell is not None)]
                )  # those of the fit first
                series[column.name] = pandas.Categorical(cells, categories=list(levels))
            else:
                series[column.name] = values
        rows = range(self.table.n_rows) if self.table.row_names is None else list(self.table.row_names)
        logged = [column.name for column in self.columns if column.is_kept and column.log1p]
        return as_read(pandas.DataFrame(series, index=rows), logged)

    @classmethod
    def like(cls, table: RawTable | SparseTable, encoding: Encoding, choices: Choices) -> Part:
        """A table with the columns of a fit, read as they were there; of choices the roles of other columns count."""
        if choices.index_col is not None:
            encoding = replace(encoding, row_name_column=choices.index_col)
        if isinstance(table, SparseTable):
            plain = replace(encoding, columns=tuple(replace(column, log1p=False) for column in encoding.columns))
            names = tuple(column.name for column in encoding.columns)
            return cls(encoding.columns, replace(table, matrix=plain.encode(table).matrix, names=names), encoding)
        choices.check(table.names)
        columns, values, rows = encoding.cleaned(table)
        names_with_roles = [name for name in table.names if choices.role_of(name) is not None]
        if both := [name for name in names_with_roles if name in values]:
            raise TableRefused(
                f"the column {both[0]!r} was one of the fit's own and cannot be {choices.role_of(both[0])} as well; "
                f"leave that out, or fit without it."
            )
        at = [table.names.index(name) for name in names_with_roles]
        others, given = treat(
            replace(
                table, names=tuple(names_with_roles), values=tuple(table.values[j] for j in at), row_name_column=None
            ),
            replace(choices, index_col=None, missing=choices.missing or ()),
        )
        known = {*values, *names_with_roles, encoding.row_name_column}
        rest = [name for name in table.names if name not in known]
        more = tuple(Column(name, "text", "dropped", "not among the columns of the fit") for name in rest)
        values |= dict(zip(names_with_roles, given, strict=True)) | {
            name: table.values[table.names.index(name)] for name in rest
        }
        made = replace(table, names=tuple(values), values=tuple(values.values()), row_names=rows, levels={})
        texts = texts_of_numbers(encoding.columns, dict(zip(table.names, table.values, strict=True)))
        return cls((*columns, *others, *more), made, encoding, texts)


def encodings_of(like: Any) -> dict[str, Encoding]:
    """How the rows of a fitted model, or of a table that was read, became numbers: by table.

    A model that was given numbers with names of columns takes those columns as numbers.

    Raises
    ------
    TableRefused
        If it does not say what its columns are called.
    """
    found = getattr(like, "encodings", None) or getattr(like, "encodings_", None)
    if found is not None:
        return dict(found)
    table, layout = getattr(getattr(like, "columns_", None), "table", None), getattr(like, "layout_", None)
    if table is not None:
        return {"x": table}
    named = getattr(like, "feature_names_in_", None)
    if named is not None:
        return {"x": Encoding(tuple(Column(str(name), "number") for name in named))}
    if layout is not None:
        features = zip(layout.as_read.views, layout.as_read.features, strict=True)
        return {view: Encoding(tuple(Column(name, "number") for name in own)) for view, own in features}
    if hasattr(like, "n_features_in_"):
        raise TableRefused(
            f"like= is a {type(like).__name__} that was fitted to an array, whose columns have no names; fit it to a "
            "data frame, or to what latens.read makes of a file."
        )
    raise TableRefused(
        f"like= is a {type(like).__name__}; give a fitted model, or what latens.read made of the rows of its fit."
    )
