"""Answers about rows that are read in blocks: made block by block when they are asked for, by the method itself.

Of a scan an answer is a `LazyRows`; of a Dask array or dataframe a lazy Dask array.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from latens.array.transfer import host
from latens.estimators.frames.roles import refuse_roles
from latens.estimators.rows.source_checks import check_columns
from latens.scale.dask_blocks import map_chunks
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask

__all__ = ["LazyRows", "batch_by_batch", "lazily", "mean_of", "to_be_sent"]

Method = TypeVar("Method", bound=Callable[..., Any])


class Blocks(Protocol):
    """Rows in blocks, as often as they are asked for."""

    @property
    def n_blocks(self) -> int: ...

    def numbers(self, number: int) -> Any: ...  # of one block, as methods take them

    def known(self, number: int) -> dict[str, Any]: ...  # what methods take beside them, by name

    def names_of_rows(self, number: int) -> Any: ...  # (n,), None where they have none

    def identity(self, number: int) -> Any: ...  # tells a block from others that may stand in its place


@dataclass(frozen=True, eq=False)
class LazyRows:
    """What a method answers about a scan, block after block; `np.asarray` puts the blocks together."""

    answer: Callable[..., Any]  # of the numbers of a block, and what is known beside them
    scan: Blocks

    def __iter__(self) -> Iterator[Any]:
        return (self.part(number) for number in range(len(self)))

    def part(self, number: int) -> Any:
        """The answer about one block."""
        return self.answer(self.scan.numbers(number), **self.scan.known(number))

    def __len__(self) -> int:
        """How many blocks there are."""
        return self.scan.n_blocks

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        parts = list(self)
        if isinstance(parts[0], tuple):
            raise TypeError("each block has several answers; iterate over the blocks.")
        return np.concatenate([np.asarray(part, dtype=dtype) for part in parts])

    def __repr__(self) -> str:
        return f"LazyRows({len(self)} blocks; iterate over them, or np.asarray puts them together)"


def mean_of(scores: Any) -> float:
    """The mean of one number per row, wherever they come from; of a scan by one pass that keeps nothing."""
    if isinstance(scores, LazyRows):
        parts = [(len(part), float(np.sum(part))) for part in scores]
        return sum(total for _, total in parts) / sum(n for n, _ in parts)
    return float(np.mean(host(scores.compute() if is_dask(scores) else scores)))


def batch_by_batch(partial_fit: Method) -> Method:
    """A `partial_fit` that also takes a scan: each of its blocks is a batch."""

    @functools.wraps(partial_fit)
    def fit_batches(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
        if not isinstance(X, Scan):
            return partial_fit(self, X, *rest, **options)
        refuse_roles(self, X)
        if self.__sklearn_is_fitted__():
            check_columns(self, X.feature_names, len(X.columns), reset=False)
        for number in range(X.n_blocks):
            block = X.block(number, *(() if X.weights is None else (X.weights,)))
            weight = {} if X.weights is None else {"sample_weight": block.others[str(X.weights)]}
            _OnNumbers(partial_fit, self, rest, options)(block.numbers, **weight, **X.known(number))
        return self

    return cast("Method", fit_batches)


def lazily(method: Method) -> Method:
    """A method of an estimator about rows X that also takes scans and Dask collections, and then waits to be asked."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(X, Scan):
            refuse_roles(self, X)
            check_columns(self, X.feature_names, len(X.columns), reset=False)
            return LazyRows(_OnNumbers(method, self, rest, options), X)
        if is_dask(X):
            if hasattr(X, "columns"):
                check_columns(self, tuple(map(str, X.columns)), len(X.columns), reset=False)
            return map_chunks(_OnNumbers(method, to_be_sent(self), rest, options), X)
        return method(self, X, *rest, **options)

    return cast("Method", answer)


def to_be_sent(estimator: Any) -> Any:
    """What answers about rows in other processes: callbacks stay, and may hold what cannot be sent."""
    sent = object.__new__(type(estimator))
    vars(sent).update(vars(estimator))
    sent.callbacks = None
    return sent


@dataclass(frozen=True)
class _OnNumbers:
    """The method on an array without column names, which were compared before."""

    method: Callable[..., Any]
    estimator: Any
    rest: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self, numbers: Any, **known: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return self.method(self.estimator, numbers, *self.rest, **{**self.options, **known})
