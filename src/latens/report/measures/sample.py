"""The rows a page looks at: all of them, or as many as a page can show, as numbers and as hidden codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from latens.array.transfer import host
from latens.estimators.fitted_parts import entries_of
from latens.estimators.frames.row_labels import has_numbers

__all__ = ["RowSample", "beside", "n_rows_of", "row_labels", "row_names", "sample_rows", "take_rows"]

MOST_ROWS = 5000
MOST_ENTRIES = 2e7  # of the rows looked at, as numbers: each is asked for its density and its codes


@dataclass(frozen=True)
class RowSample:
    """Rows of X that a page looks at.

    Parameters
    ----------
    model : fitted estimator
    X : as given to `fit`
        Only the rows looked at.
    index : array of shape (n,)
        Their places among all rows.
    n_all : int
        How many rows there are in all.
    given : dict
        What the model takes besides rows, such as exposures, for the rows looked at.
    """

    model: Any
    X: Any
    index: np.ndarray
    n_all: int
    given: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def whole(self) -> bool:
        return len(self) == self.n_all

    @cached_property
    def values(self) -> np.ndarray:
        """(n, D), NaN where missing; of categories the number of their level."""
        if hasattr(self.model, "_rows_of_fit"):
            return np.asarray(_without_warnings(lambda X: entries_of(self.model, X, **self.given), self.X))
        dense = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        return np.asarray(host(dense) if hasattr(dense, "dtype") else dense, dtype=np.float64)

    @cached_property
    def codes(self) -> np.ndarray:
        """(n, K), posterior means of the hidden codes; probabilities for clusters."""
        ask = getattr(self.model, "predict_proba", self.model.transform)
        answer = _without_warnings(lambda X: ask(X, **self.given), self.X)
        return np.asarray(host(answer) if not hasattr(answer, "iloc") else answer, dtype=np.float64)

    @cached_property
    def means(self) -> np.ndarray:
        """(D,), mean of each column over its observed entries; NaN where no row shows it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column that no row shows
            return np.asarray(np.nanmean(self.values, axis=0))

    @cached_property
    def spread(self) -> np.ndarray:
        """(D,), standard deviation of each column over its observed entries; 0 where it does not vary."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column that no row shows
            return np.asarray(np.nan_to_num(np.nanstd(self.values, axis=0)))

    @cached_property
    def names(self) -> list[str] | None:
        """Names of the rows, or None where they are only numbered."""
        names = row_names(self.X)
        return None if names is None or len(names) != len(self) or names == [str(i) for i in self.index] else names

    def label(self, i: int) -> str:
        """What a row is called on the page."""
        return f"row {self.index[i]}" if self.names is None else self.names[i]


def sample_rows(model: Any, X: Any, given: Mapping[str, Any] | None = None) -> RowSample | None:
    """At most 5,000 rows of X, spread evenly; None where X cannot be looked at row by row.

    `given` is what the model takes besides rows.
    """
    n = n_rows_of(X)
    if not n or not (hasattr(model, "transform") or hasattr(model, "predict")):
        return None
    width = max(1, int(getattr(model, "n_features_in_", 1)))
    most = int(min(MOST_ROWS, max(MOST_ENTRIES // width, 1)))
    index = np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))
    rows = X if len(index) == n else take_rows(X, index)
    if rows is None:
        return None
    return RowSample(model, rows, index, n, beside(given or {}, index, n))


def beside(value: Any, index: np.ndarray, n: int) -> Any:
    """What belongs to rows, for some of them: arrays, dicts of them by view, or a name."""
    if isinstance(value, Mapping):
        return {view: beside(part, index, n) for view, part in value.items()}
    if isinstance(value, str) or value is None or len(index) == n:
        return value
    return value.iloc[index] if hasattr(value, "iloc") else np.asarray(value)[index]


def row_names(X: Any) -> list[str] | None:
    """Names of the rows of a data frame, a dict of them or annotated data; None where rows are only numbered."""
    return None if has_numbers(_index_of(X)) else row_labels(X)


def row_labels(X: Any) -> list[str] | None:
    """The same, numbers included: what metadata of the rows may be matched with."""
    labels = _index_of(X)
    return None if labels is None else [str(label) for label in labels]


def _index_of(X: Any) -> Any:
    if isinstance(X, Mapping):
        X = next((part for part in X.values() if hasattr(part, "iloc")), None)
    return getattr(X, "index", None) if hasattr(X, "iloc") else getattr(X, "obs_names", None)


def n_rows_of(X: Any) -> int:
    """How many rows; 0 where that is unknown, as of a stream.

    Examples
    --------
    >>> n_rows_of({"a": np.zeros((3, 2))}), n_rows_of(None)
    (3, 0)
    """
    if isinstance(X, Mapping):
        X = next(iter(X.values()), None)
    elif isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        X = X[0]
    if isinstance(X, list | tuple):
        return len(X)
    shape = getattr(X, "shape", None)
    if not shape or hasattr(X, "dask") or not isinstance(shape[0], int | np.integer):
        return 0
    return int(shape[0])


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Rows of X by place, in the container of X; None where it has no places."""
    if isinstance(X, Mapping):
        tables = list(X.values())
        named = any(hasattr(part, "iloc") for part in tables)
        if named and len({len(part) for part in tables}) > 1:
            return None  # aligned by name, not by place
        return {name: take_rows(part, index) for name, part in X.items()}
    if isinstance(X, list | tuple):
        return [take_rows(part, index) for part in X] if np.ndim(X[0]) == 2 else [X[i] for i in index]
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def _without_warnings(ask: Callable[[Any], Any], X: Any) -> Any:
    """An answer without what the model says of these rows, which were looked at before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(X)
