"""Covariates of samples, such as batch, sex or age: known regressors beside the factors.

A column of numbers is one regressor; a column of labels is one for each level but the first, which the others are
compared with. Rows of a wide table carry them centred, uncorrelated and of unit variance over the rows of the fit, so
that neither their units nor the level that is left out matter to the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.fields import record, sized
from latens.array.transfer import host, like
from latens.estimators.association import metadata_columns
from latens.estimators.multi_view.tables.wide import WideTable
from latens.estimators.rows.validation import is_foreign
from latens.models.multi_view.view import COVARIATES
from latens.system.wording import listed

__all__ = ["CovariateColumns", "Covariates", "learn_covariates", "learn_in_blocks", "with_covariates"]

MOST_NUMBERS = 1000  # distinct ones that are remembered of a column of numbers
LEAST_SHARE_LEFT = 1e-8  # share of a column's variance that others leave, below which it says nothing beside them

Labelled = dict[str, tuple[list[Any], tuple[Any, ...]]]  # values of each column, and its levels in order, where given


@record(eq=False)
class Covariates:
    """Columns of covariates as they were at the fit, and how they become regressors.

    Examples
    --------
    >>> age, sex = [20.0, 30.0, 40.0, 70.0], ["f", "m", "m", "f"]
    >>> known = Covariates.learnt({"age": (age, ()), "sex": (sex, ())}, np.ones(4))
    >>> known.names
    ('age', 'sex = m')
    >>> u = known.regressors({"age": (age, ()), "sex": (sex, ())})
    >>> np.round(u.T @ u / 4, 9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # of each column; () where it holds numbers
    mean: Floats = sized("encoded")  # of the columns as numbers, over the rows of the fit
    turn: Floats = sized("encoded n_covariates")  # makes centred numbers uncorrelated and of variance 1

    @classmethod
    def learnt(cls, values: Labelled, weight: Floats) -> Covariates:
        """Levels, means and the whitening `turn` of columns without holes; weight (n,) is how often each row counts."""
        levels = tuple(_levels(name, *column, len(weight)) for name, column in values.items())
        found = cls(tuple(values), levels, np.zeros(0), np.zeros((0, 0)))
        x = found._numbers(values)
        share = weight / max(float(weight.sum()), np.finfo(float).tiny)
        mean = share @ x
        sd = np.sqrt(share @ (x - mean) ** 2)
        found._refuse_constants(sd, np.abs(x).max(axis=0))
        z = (x - mean) / sd
        turn = _uncorrelating((z * share[:, None]).T @ z) / sd[:, None]
        return replace(found, mean=mean, turn=turn)

    @classmethod
    def learnt_in_blocks(cls, blocks: Callable[[], Iterator[tuple[Labelled, Floats]]]) -> Covariates:
        """The same of blocks of rows, in two passes: levels, then moments about the mean of the first block."""
        found = cls(*_levels_in_blocks(blocks()), np.zeros(0), np.zeros((0, 0)))
        c = len(found.names)
        total, about, sums, products, size = 0.0, np.zeros(0), np.zeros(c), np.zeros((c, c)), np.zeros(c)
        for values, weight in blocks():
            x = found._numbers(values)
            about = about if total else x.mean(axis=0)
            weighted = weight[:, None] * (x - about)
            total, sums = total + float(weight.sum()), sums + weighted.sum(axis=0)
            products, size = products + weighted.T @ (x - about), np.maximum(size, np.abs(x).max(axis=0))
        shift = sums / max(total, np.finfo(float).tiny)
        covariance = products / max(total, np.finfo(float).tiny) - np.outer(shift, shift)
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        found._refuse_constants(sd, size)
        turn = _uncorrelating(covariance / np.outer(sd, sd)) / sd[:, None]
        return replace(found, mean=about + shift, turn=turn)

    def _refuse_constants(self, sd: Floats, size: Floats) -> None:
        for name, own, largest in zip(self.names, sd, size, strict=True):
            if not own > 1e-12 * largest:
                raise ValueError(f"covariate {name!r} has one value in all samples that count; leave it out.")

    @property
    def names(self) -> tuple[str, ...]:
        """Of columns as numbers; of levels "column = level", without the first."""
        named = zip(self.columns, self.levels, strict=True)
        return tuple(
            name for column, own in named for name in ([f"{column} = {level}" for level in own[1:]] or [column])
        )

    @property
    def n_regressors(self) -> int:
        return int(self.turn.shape[1])

    def same_as(self, other: Covariates | None) -> bool:
        """Whether coefficients mean the same."""
        return other is not None and self.names == other.names and np.array_equal(self.turn, other.turn)

    def regressors(self, values: Labelled) -> Floats:
        """(n, C), of columns without holes."""
        return np.asarray((self._numbers(values) - self.mean) @ self.turn)

    def coefficients(self, of_regressors: Floats) -> Floats:
        """Of the columns as numbers, (encoded, D), from those of the regressors (D, C)."""
        return np.asarray(self.turn @ of_regressors.T)

    def _numbers(self, values: Labelled) -> Floats:
        """(n, encoded): numbers as they are, labels as a column of 0 and 1 for each level but the first."""
        parts: list[Any] = []
        for name, own in zip(self.columns, self.levels, strict=True):
            column = values[name][0]
            if own:
                labels = [_label(value) for value in column]
                _refuse_strangers(name, own, labels)
                parts += [[float(label == level) for label in labels] for level in own[1:]]
            else:
                parts.append(_as_numbers(name, column))
        return np.array(parts, dtype=float).T


def learn_covariates(table: WideTable, covariates: Any, views: Any) -> Covariates:
    """What is to be known of the covariates of a fit."""
    weight = table.rows.weight
    return Covariates.learnt(
        _columns(covariates, views, table), np.ones(len(table.rows)) if weight is None else np.asarray(host(weight))
    )


def learn_in_blocks(blocks: Callable[[], Iterator[tuple[dict[str, Any], Floats]]]) -> Covariates:
    """The same of blocks of rows: columns by name, and how often each row counts."""

    def labelled() -> Iterator[tuple[Labelled, Floats]]:
        for values, weight in blocks():
            if len(weight):  # partitions may be empty
                yield _without_holes(values, len(weight), None), weight

    return Covariates.learnt_in_blocks(labelled)


@dataclass(frozen=True)
class CovariateColumns:
    """How columns of a scan become regressors of the rows of a block."""

    known: Covariates

    def __call__(self, *columns: Any) -> Floats:
        *values, rows = columns
        named = dict(zip(self.known.columns, values, strict=True))
        return self.known.regressors(_without_holes(named, len(rows), None))


def with_covariates(table: WideTable, covariates: Any, views: Any, known: Covariates | None) -> WideTable:
    """The table with the covariates of its samples.

    Parameters
    ----------
    covariates : data frame, dict of columns, array (n,) or (n, C), names of columns of `.obs`, or None
        Numbers or labels, aligned by row name where both have names.
    views : as given to `fit`
        Where `.obs` is found.
    known : Covariates or None
        What the fit knows of them; None: it had none.
    """
    if known is None:
        if covariates is not None:
            raise ValueError("covariates were given, but the model was fitted without; leave them out.")
        return table
    if covariates is None:
        raise ValueError(
            f"the model was fitted with the covariates {listed(known.columns)}; pass covariates=... for these samples "
            "too."
        )
    values = _columns(covariates, views, table)
    absent = [name for name in known.columns if name not in values]
    if absent:
        raise ValueError(f"covariates lack the column(s) {listed(absent)}; the fit had {listed(known.columns)}.")
    u = known.regressors(values)
    return replace(table, rows=replace(table.rows, aux={**table.rows.aux, COVARIATES: like(u, table.rows.x)}))


def _columns(covariates: Any, views: Any, table: WideTable) -> Labelled:
    """Values of each column, one for each row of the table, and levels where their order is given."""
    covariates = host(covariates) if is_foreign(covariates) else covariates
    if isinstance(covariates, str) or (isinstance(covariates, list | tuple) and _are_names(covariates, table)):
        covariates = _from_notes([covariates] if isinstance(covariates, str) else list(covariates), views)
    if hasattr(covariates, "to_frame") and not hasattr(covariates, "columns"):  # a Series
        covariates = covariates.to_frame(covariates.name or "covariate0")
    if not hasattr(covariates, "columns") and not isinstance(covariates, Mapping):
        covariates = _from_array(covariates, len(table.rows))
    return _without_holes(covariates, len(table.rows), table.row_names)


def _without_holes(covariates: Any, n: int, row_names: Any) -> Labelled:
    """Columns of a frame or dict of n rows, none of them missing."""
    values = metadata_columns(covariates, n, row_names, what="covariates", may_lack=False, reads_text=False)
    if not values:
        raise ValueError("covariates have no columns; give at least one, or leave them out.")
    for name, column in values.items():
        holes = [i for i, value in enumerate(column) if value is None]
        if holes:
            first = holes[0] if row_names is None else repr(row_names[holes[0]])
            raise ValueError(
                f"covariate {name!r} is missing in {len(holes)} of {len(column)} samples, the first being {first}; "
                "fill it in, or leave those samples out."
            )
    return {name: (column, _given_levels(covariates, name)) for name, column in values.items()}


def _are_names(given: Sequence[Any], table: WideTable) -> bool:
    return len(given) > 0 and all(isinstance(name, str) for name in given) and len(given) != len(table.rows)


def _from_notes(names: list[str], views: Any) -> Any:
    """Columns of `.obs`, of all views together or of the first view that has them."""
    holders = [views, *(views.values() if isinstance(views, Mapping) else ())]
    for holder in holders:
        notes = getattr(holder, "obs", None)
        if notes is not None and all(name in notes.columns for name in names):
            return notes[names]
    raise ValueError(
        f"covariates={names!r} names columns of .obs, which no view has; give a data frame, a dict of columns or an "
        f"array. If they are columns of X: fit(X.drop(columns={names!r}), covariates=X[{names!r}])."
    )


def _from_array(values: Any, n: int) -> dict[str, Any]:
    array = np.asarray(values)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise ValueError(
            f"covariates have shape {np.shape(values)}; expected ({n},) or ({n}, number of covariates), a row for each "
            "sample."
        )
    return {f"covariate{j}": column for j, column in enumerate(array.T)}


def _given_levels(covariates: Any, name: str) -> tuple[Any, ...]:
    """Those of a categorical column of pandas, in its order."""
    if not hasattr(covariates, "iloc"):
        return ()
    column = covariates[next(label for label in covariates.columns if str(label) == name)]
    return tuple(getattr(column.dtype, "categories", ()))


def _levels(name: str, values: list[Any], given: tuple[Any, ...], n: int) -> tuple[str, ...]:
    """Levels of a column of labels in their order, () of numbers."""
    if not given and not any(isinstance(value, str | bytes) for value in values):
        return ()
    there = {_label(value) for value in values}
    found = tuple(level for level in map(_label, given) if level in there) if given else tuple(sorted(there))
    if len(found) == 1:
        raise ValueError(f"covariate {name!r} has one level, {found[0]!r}; leave it out.")
    if len(found) > max(2, n // 2):
        raise ValueError(
            f"covariate {name!r} has {len(found)} levels in {n} samples, which look like names of samples; leave it "
            "out, or give it as numbers."
        )
    return found


def _levels_in_blocks(blocks: Iterator[tuple[Labelled, Floats]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Names of columns, and their levels; numbers are remembered while few, as text may follow in a later block."""
    labels, texts, n_rows = dict[str, set[str]](), set[str](), 0
    for values, weight in blocks:
        n_rows += len(weight)
        for name, (column, _) in values.items():
            own = labels.setdefault(name, set())
            if any(isinstance(value, str | bytes) for value in column):
                texts.add(name)
            if name in texts or len(own) <= MOST_NUMBERS:
                own.update(map(_label, column))
    levels = [_levels(name, sorted(own), (), n_rows) if name in texts else () for name, own in labels.items()]
    return tuple(labels), tuple(levels)


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _refuse_strangers(name: str, levels: tuple[str, ...], labels: list[str]) -> None:
    strange = [label for label in labels if label not in levels]
    if strange:
        raise ValueError(
            f"covariate {name!r} is {strange[0]!r} in {strange.count(strange[0])} of {len(labels)} samples, which the "
            f"fit did not have ({listed(levels)}); leave those samples out, or fit with such samples."
        )


def _as_numbers(name: str, values: list[Any]) -> Floats:
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        kind = type(next(value for value in values if not isinstance(value, int | float))).__name__
        raise ValueError(f"covariate {name!r} holds a {kind}; expected numbers, or text in all samples.") from None
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"covariate {name!r} is {numbers[row]:g} in row {row}; give numbers.")
    return numbers


def _uncorrelating(correlation: Floats) -> Floats:
    """(c, C), from standardised columns to uncorrelated ones; those that the ones before determine are left out."""
    basis: list[int] = []
    for j in range(len(correlation)):
        others = correlation[np.ix_(basis, basis)]
        left = correlation[j, j] - correlation[j, basis] @ np.linalg.solve(others, correlation[basis, j])
        if left > LEAST_SHARE_LEFT:
            basis.append(j)
    turn = np.zeros((len(correlation), len(basis)))
    turn[basis] = np.linalg.inv(np.linalg.cholesky(correlation[np.ix_(basis, basis)])).T
    return turn
