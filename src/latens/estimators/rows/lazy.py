"""Answers about rows that are read in blocks: made block by block when they are asked for, by the method itself.

Of a scan an answer is a `LazyRows`; of a Dask array or dataframe a lazy Dask array. Means and standard deviations are
two of them, as of rows in memory.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from latens.array.transfer import host
from latens.estimators.frames.roles import refuse_roles
from latens.estimators.rows.source_checks import check_columns
from latens.scale.dask_blocks import map_chunks
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask

__all__ = ["LazyRows", "answers_of_blocks", "batch_by_batch", "lazily", "mean_of", "to_be_sent"]

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

    part: Callable[[int], Any]  # the answer about the block of a number
    scan: Blocks

    def __iter__(self) -> Iterator[Any]:
        return (self.part(number) for number in range(len(self)))

    def __len__(self) -> int:
        """How many blocks there are."""
        return self.scan.n_blocks

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.concatenate([np.asarray(part, dtype=dtype) for part in self])

    def __repr__(self) -> str:
        return f"LazyRows({len(self)} blocks; iterate over them, or np.asarray puts them together)"


def answers_of_blocks(answer: Callable[..., Any], scan: Blocks, asked: Mapping[str, Any]) -> Any:
    """Lazy answers of a method, given the numbers of a block and what is known beside them; two with `return_std`."""

    def part(number: int) -> Any:
        return answer(scan.numbers(number), **scan.known(number))

    if not _are_two(asked):
        return LazyRows(part, scan)
    both = functools.lru_cache(maxsize=1)(part)  # whoever goes through the two side by side has blocks read once
    return tuple(LazyRows(functools.partial(_one_of, both, which), scan) for which in (0, 1))


def _one_of(answer: Callable[..., Any], which: int, *given: Any, **known: Any) -> Any:
    return answer(*given, **known)[which]


def _are_two(asked: Mapping[str, Any]) -> bool:
    """Whether a method was asked for standard deviations, too; covariances are not answered by block."""
    if asked.get("return_cov"):
        raise ValueError(
            "return_cov=True is answered for rows in memory, one covariance for all complete rows; of rows in blocks "
            "ask for return_std=True, or read the blocks and ask for each of them."
        )
    return bool(asked.get("return_std"))


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
        if not isinstance(X, Scan) and not is_dask(X):
            return method(self, X, *rest, **options)
        asked = _arguments(method, self, X, *rest, **options)
        if isinstance(X, Scan):
            refuse_roles(self, X)
            check_columns(self, X.feature_names, len(X.columns), reset=False)
            return answers_of_blocks(_OnNumbers(method, self, rest, options), X, asked)
        if hasattr(X, "columns"):
            check_columns(self, tuple(map(str, X.columns)), len(X.columns), reset=False)
        on_chunks = _OnNumbers(method, to_be_sent(self), rest, options)
        if _are_two(asked):
            return tuple(map_chunks(functools.partial(_one_of, on_chunks, which), X) for which in (0, 1))
        return map_chunks(on_chunks, X)

    return cast("Method", answer)


def _arguments(method: Callable[..., Any], self: Any, *given: Any, **options: Any) -> Mapping[str, Any]:
    """What a method is asked, by name; what it does not take is refused now, and not with the first block."""
    try:
        return signature(method).bind(self, *given, **options).arguments
    except TypeError as error:
        raise TypeError(f"{type(self).__name__}.{method.__name__}() {error}") from None


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
