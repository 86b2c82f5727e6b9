"""The rows of a fit, wherever they are: what a search asks of them, and nothing of how they are stored.

InMemory    an array of the caller, and its blocks as slices of it
InBlocks    a source: files, iterators, chunks on a cluster; only one block of it is in memory at a time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from array_api_compat import is_numpy_array

from latens.array import Floats, Index
from latens.array.transfer import host, is_sparse
from latens.core import Forgetful, Model, Roundable, Rows, Source, SumOnly, Sweep, Unkept, blocks
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.rows.sampling import badly_explained_rows, chosen_rows, sample_rows, sample_source
from latens.estimators.rows.source_checks import check_source
from latens.estimators.rows.units import Units, column_sizes, exponents_of
from latens.estimators.rows.validation import check_rows, doubt_weights, occupied, with_known
from latens.inference.search.surprise import badly_explained
from latens.inference.sweep import ThreadedSweep, serial_sweep, tree_sum
from latens.models.factor_analysis.missing_patterns import MOST_NUMBERS, has_few_patterns
from latens.models.known_codes import KNOWN
from latens.scale.dask_blocks import gathered
from latens.scale.scan import Scan
from latens.system.fingerprint import fingerprint
from latens.system.optional_imports import is_dask
from latens.system.scratch import PutAside, Scratch

__all__ = ["Data", "ForgetfulSweep", "InBlocks", "InMemory", "KeepingSweep", "ThriftySweep", "check_data"]

MANY_ROWS = 2**15  # in memory, whose codes are as large as the rows are


class Data(Protocol):
    """What a fit needs to know of its rows."""

    @property
    def n(self) -> float: ...  # sum of weights

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def is_single(self) -> bool: ...  # whether rows are in single precision

    @property
    def may_be_threaded(self) -> bool: ...  # whether several blocks may be worked on at once

    @property
    def has_few_patterns(self) -> bool: ...  # whether rows lack the same few sets of columns

    @property
    def is_weighted(self) -> bool: ...

    @property
    def n_named(self) -> int: ...  # components that codes of some rows were given for

    def stream(self, size: int) -> Iterator[Rows]: ...  # consecutive rows, so many at a time

    def shuffled(self, size: int, rng: np.random.Generator) -> Iterator[Rows]: ...  # the same in another order

    def sample(self, limit: int, exponents: Index | None = None) -> Rows: ...  # chosen in these units, powers of two

    def column_exponents(self) -> Index: ...  # (D,), powers of two below the largest entries of the columns

    def units(
        self,
        columns: slice | None = None,
        *,
        centred: bool,
        scaled: bool,
        by_column: bool = False,
        standardized: bool = False,
    ) -> Units: ...  # of all columns or of some; one for all of them, one for each, or their standard deviations

    def entered(self, units: Units, *, spare: bool = False) -> Data: ...  # with `spare` rows may be written over

    def fingerprint(self, sample: Rows) -> str: ...  # tells these rows from others; `sample` is of them

    def batches(self, floats_per_row: int) -> Sequence[Any]: ...

    def sweep(
        self, floats_per_row: int, pool: ThreadPoolExecutor | None, n_threads: int, posteriors: str = "recompute"
    ) -> Sweep: ...  # `posteriors` of rows that are read in blocks: "auto", "keep" or "recompute"

    def badly_explained(self, model: Model, q: Any, size: int) -> Rows: ...


@dataclass(frozen=True)
class InMemory:
    rows: Rows

    @property
    def n(self) -> float:
        return self.rows.n

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        return int(self.rows.x.shape[1])

    @property
    def is_single(self) -> bool:
        return not str(self.rows.x.dtype).endswith("float64")

    @property
    def may_be_threaded(self) -> bool:
        return is_numpy_array(self.rows.x) or is_sparse(self.rows.x)

    @property
    def has_few_patterns(self) -> bool:
        return has_few_patterns(self.rows)

    @property
    def is_weighted(self) -> bool:
        return self.rows.weight is not None

    @property
    def n_named(self) -> int:
        return int(self.rows.aux[KNOWN].shape[1]) if KNOWN in self.rows.aux else 0

    def stream(self, size: int) -> Iterator[Rows]:
        return (self.rows[slice(at, at + size)] for at in range(0, len(self.rows), size))

    def shuffled(self, size: int, rng: np.random.Generator) -> Iterator[Rows]:
        order = rng.permutation(len(self.rows))
        return (self.rows.take(np.sort(order[at : at + size])) for at in range(0, len(order), size))

    def sample(self, limit: int, exponents: Index | None = None) -> Rows:
        return sample_rows(self.rows, limit, exponents)

    def column_exponents(self) -> Index:
        return exponents_of(column_sizes(self.rows))

    def units(self, columns: slice | None = None, **how: bool) -> Units:
        return Units.of(self.rows if columns is None else self.rows.columns(columns), **how)

    def entered(self, units: Units, *, spare: bool = False) -> InMemory:
        return InMemory(units.enter(self.rows, spare=spare))

    def fingerprint(self, sample: Rows) -> str:
        return fingerprint(self.rows)

    def batches(self, floats_per_row: int) -> list[Rows]:
        return blocks(self.rows, floats_per_row)

    def sweep(
        self, floats_per_row: int, pool: ThreadPoolExecutor | None, n_threads: int, posteriors: str = "recompute"
    ) -> Sweep:
        sweep = serial_sweep if pool is None else ThreadedSweep(pool)
        return ThriftySweep(sweep) if len(self.rows) >= MANY_ROWS and is_numpy_array(self.rows.x) else sweep

    def badly_explained(self, model: Model, q: Any, size: int) -> Rows:
        parts = self.batches(model.floats_per_row(q.n_components))
        which, weight = badly_explained(model, q, parts, size)
        return replace(chosen_rows(self.rows, which), weight=weight)


@dataclass(frozen=True)
class InBlocks:
    source: Source

    @property
    def n(self) -> float:
        return self.source.survey.n

    @property
    def n_rows(self) -> int:
        return self.source.survey.n_rows

    @property
    def n_columns(self) -> int:
        return self.source.n_columns

    @property
    def is_single(self) -> bool:
        return self.source.dtype == np.float32

    @property
    def may_be_threaded(self) -> bool:
        return self.source.concurrent and not self.source.remote

    @property
    def has_few_patterns(self) -> bool:
        survey = self.source.survey
        return survey.has_few_patterns and len(survey.patterns) * self.n_columns**2 <= MOST_NUMBERS

    @property
    def is_weighted(self) -> bool:
        survey = self.source.survey
        return survey.n != survey.n_rows

    @property
    def n_named(self) -> int:
        return 0

    def stream(self, size: int) -> Iterator[Rows]:
        for handle in self.source.handles:
            yield from InMemory(self.source.load(handle)).stream(size)

    def shuffled(self, size: int, rng: np.random.Generator) -> Iterator[Rows]:
        """Blocks in another order, and the rows of each: no block is read twice."""
        if self.source.remote:
            raise ValueError(
                "learning_method='online' sees batches one after another, for which a cluster has no use; choose "
                "learning_method='batch', or give latens.scan of the files."
            )
        numbers = rng.permutation(len(self.source.handles)) if self.source.concurrent else range(self.n_blocks)
        for number in numbers:
            yield from InMemory(occupied(self.source.load(self.source.handles[number]))).shuffled(size, rng)

    @property
    def n_blocks(self) -> int:
        return len(self.source.handles)

    def sample(self, limit: int, exponents: Index | None = None) -> Rows:
        return sample_source(self.source, limit, exponents)

    def column_exponents(self) -> Index:
        return exponents_of(self.source.survey.sizes)

    def units(self, columns: slice | None = None, **how: bool) -> Units:
        survey = self.source.survey if columns is None else self.source.survey.columns(columns)
        return Units.of_survey(survey, self.source.dtype, **how)

    def entered(self, units: Units, *, spare: bool = False) -> InBlocks:
        return self.changed(units.enter, by_row=True)

    def changed(self, change: Callable[[Rows], Rows], *, by_row: bool = False) -> InBlocks:
        """Rows written in another way when they are read; the survey stays that of the rows as they are stored."""
        return replace(self, source=replace(self.source.then(change, by_row=by_row), surveyed=self.source.survey))

    def fingerprint(self, sample: Rows) -> str:
        """By what a pass tells of all columns, the sample, and how the rows are cut: their sums depend on it."""
        return fingerprint([self.source.survey, sample, len(self.source.handles)])

    def batches(self, floats_per_row: int) -> Sequence[Any]:
        return self.source.handles

    def sweep(
        self, floats_per_row: int, pool: ThreadPoolExecutor | None, n_threads: int, posteriors: str = "recompute"
    ) -> Sweep:
        source = self.source
        if pool is not None:
            source = replace(source, sweep=ThreadedSweep(pool, n_threads))
        if posteriors == "keep" and source.remote:
            raise ValueError(
                "row_posteriors='keep' keeps posteriors of rows from pass to pass; chunks on a cluster have no place "
                "for them; choose 'auto' or 'recompute'."
            )
        if posteriors == "recompute" or source.remote:
            return ForgetfulSweep(source, floats_per_row)
        return KeepingSweep(source, floats_per_row, Scratch())

    def badly_explained(self, model: Model, q: Any, size: int) -> Rows:
        return badly_explained_rows(self.source, partial(_bounds, model, q), size)


@dataclass(frozen=True)
class ThriftySweep:
    """The sweep of many rows in memory: their codes are kept from pass to pass in single precision, where that does.

    And as what is put aside: a trial without some components takes the others when a block is asked for, and not a
    copy of all. Codes are where the next local step begins, and no part of any sum.
    """

    sweep: Sweep

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], batches: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]:
        def with_carried_local(batch: Any, carried_local: Any) -> tuple[Any, Any]:
            local, stats = step(batch, carried_local.get() if isinstance(carried_local, PutAside) else carried_local)
            return PutAside(local.in_single()) if isinstance(local, Roundable) else local, stats

        return self.sweep(with_carried_local, batches, carried)


@dataclass(frozen=True)
class KeepingSweep:
    """The sweep of a source as `ascend` wants it: blocks are read and cut to parts that fit the caches.

    Local posteriors are put aside from pass to pass.
    """

    source: Source
    floats_per_row: int
    scratch: Scratch

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], handles: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]:
        on_block = self.source.on_parts(step, tree_sum, self.floats_per_row, self.source.n_rows)

        def with_carried_local(handle: Any, carried_local: Any) -> tuple[Any, Any]:
            local, stats = on_block(
                handle, carried_local.get() if isinstance(carried_local, PutAside) else carried_local
            )
            return None if local is None else self.scratch.put(local), stats

        return self.source.sweep(with_carried_local, handles, carried)


@dataclass(frozen=True)
class ForgetfulSweep(Forgetful):
    """The same where local posteriors are found anew in each pass: nothing but sums comes back from the blocks."""

    source: Source
    floats_per_row: int

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], handles: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]:
        on_block = self.source.on_parts(step, tree_sum, self.floats_per_row, self.source.n_rows)
        return self.source.sweep(SumOnly(on_block), handles, (Unkept(),) * len(handles))


def check_data(estimator: Any, X: Any, sample_weight: Any = None, known: Any = None) -> InMemory | InBlocks:
    """The rows of a fit, validated, with what is known of their codes; what was checked already is left as it is."""
    if isinstance(X, InMemory | InBlocks):
        return X
    here = gathered(X) if is_dask(X) else None
    X = X if here is None else here
    if isinstance(X, Scan) or is_dask(X):
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given beside a scan; name the column: latens.scan(weights=...).")
        if known is not None:
            raise ValueError("known= goes with rows in memory; load those whose codes are known, and fit them first.")
        return InBlocks(check_source(estimator, X, reset=True))
    rows = check_rows(estimator, X, sample_weight, reset=True, at_least=2)
    if known is not None:
        rows = with_known(estimator, rows, in_row_order("known", known, X))
    rows = occupied(rows)
    if not len(rows):
        raise ValueError("every row that shows a value has sample_weight 0; give one of them a positive weight.")
    doubt_weights(rows)
    return InMemory(rows)


def _bounds(model: Model, q: Any, rows: Rows) -> Floats:
    return host(model.row_bounds(q, rows, model.local_step(q, rows)))
