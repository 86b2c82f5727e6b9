"""Rows in blocks that are read when a pass over the data needs them: from memory, from files, on a cluster.

    handles    what each block is called: a slice, a part of a file, a lazy chunk
    load       handle -> Rows; runs wherever the block is read
    sweep      takes one step on every block and adds their statistics, here, in threads or on a cluster

Every pass over the data is `over`: the survey, the sample, the local steps of a fit, the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from latens.core.rows import Rows, rows_of_block
from latens.core.survey import Survey, survey_rows

__all__ = ["Forgetful", "OnBlock", "Source", "Step", "SumOnly", "Sweep", "Unkept", "in_parts"]

Step = Callable[[Rows, Any], tuple[Any, Any]]  # (rows, what was carried over) -> (what to carry over, statistics)

PART_FLOATS = 2**20  # numbers of a part of a block, scratch included: a few megabytes, near the caches


class Sweep(Protocol):
    """One pass: answers come back in the order of the blocks, statistics are added in an order that never changes."""

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], handles: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]: ...


class Unkept:
    """Stands for a local posterior that is not kept from one pass to the next: it is found anew each time."""


class Forgetful:
    """Marks a sweep that keeps no local posteriors: its bound rises but for how far rows are settled in a pass."""


@dataclass(frozen=True, eq=False)
class Source:
    """Rows that are seen block by block and never all at once."""

    handles: tuple[Any, ...]
    load: Callable[[Any], Rows]
    n_columns: int
    dtype: np.dtype[Any]
    sweep: Sweep
    feature_names: tuple[str, ...] | None = None
    concurrent: bool = True  # whether several blocks may be read at once
    remote: bool = False  # whether blocks are read by other processes, so that nothing is carried from pass to pass
    surveyed: Survey | None = field(default=None, kw_only=True)

    def over(self, step: Step, carried: Sequence[Any] | None = None) -> tuple[tuple[Any, ...], Any]:
        """Take the step on every block as it was stored."""
        carried = (None,) * len(self.handles) if carried is None else carried
        return self.sweep(OnBlock(self.load, step), self.handles, carried)

    def total(self, step: Step) -> Any:
        """The sum of the statistics alone; nothing else comes back from the blocks."""
        return self.total_with(step, (None,) * len(self.handles))

    def total_with(self, step: Step, given: Sequence[Any]) -> Any:
        """The same where each block is given something of its own, such as its number."""
        return self.sweep(SumOnly(OnBlock(self.load, step)), self.handles, tuple(given))[1]

    def then(self, change: Callable[[Rows], Rows], *, by_row: bool = False) -> Source:
        """The same rows after a change that is made wherever they are read; what was surveyed is of the rows before.

        `by_row` says that the change alters each row alone and drops none, so that it may be made part by part.
        """
        return replace(self, load=Then(self.load, change, by_row))

    def on_parts(
        self, step: Step, add: Callable[[Sequence[Any]], Any], floats_per_row: int, n_rows: int = 0
    ) -> OnBlock:
        """The step on parts of a block that fit the caches, and there the last change, which costs next to nothing.

        A changed copy of a whole block would have to be fetched from memory twice. Parts are cut as blocks of `n_rows`
        in memory are.
        """
        if isinstance(self.load, Then) and self.load.by_row:
            return OnBlock(self.load.first, in_parts(Changed(self.load.second, step), add, floats_per_row, n_rows))
        return OnBlock(self.load, in_parts(step, add, floats_per_row, n_rows))

    @cached_property
    def survey(self) -> Survey:
        """Counts, moments and ranges of the columns, by one pass that is made when they are first asked for."""
        if self.surveyed is not None:
            return self.surveyed
        total: Survey = self.total(_survey_step)
        return total

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows


@dataclass(frozen=True)
class OnBlock:
    """Read a block where it is and take the step there."""

    load: Callable[[Any], Rows]
    step: Step

    def __call__(self, handle: Any, carried: Any) -> tuple[Any, Any]:
        return self.step(self.load(handle), carried)


@dataclass(frozen=True)
class SumOnly:
    """A step of which only the statistics are wanted."""

    step: Callable[[Any, Any], tuple[Any, Any]]

    def __call__(self, handle: Any, carried: Any) -> tuple[None, Any]:
        return None, self.step(handle, carried)[1]


@dataclass(frozen=True)
class Then:
    """One change of the rows after another."""

    first: Callable[[Any], Any]
    second: Callable[[Any], Any]
    by_row: bool = False  # whether the second may be made part by part

    def __call__(self, handle: Any) -> Any:
        return self.second(self.first(handle))


@dataclass(frozen=True)
class Changed:
    """A step on rows after a change of them."""

    change: Callable[[Rows], Rows]
    step: Step

    def __call__(self, rows: Rows, carried: Any) -> tuple[Any, Any]:
        return self.step(self.change(rows), carried)


@dataclass(frozen=True)
class in_parts:  # noqa: N801 (used as a function: a step made of a step)
    """The step on parts of a block that fit the caches; what is carried over is a tuple, one item a part."""

    step: Step
    add: Callable[[Sequence[Any]], Any]  # sums in a fixed order
    floats_per_row: int
    n_rows: int  # of all blocks

    def __call__(self, rows: Rows, carried: Any) -> tuple[Any, Any]:
        size = rows_of_block(self.n_rows, int(rows.x.shape[1]) + self.floats_per_row, PART_FLOATS)
        parts = [rows[slice(at, min(at + size, len(rows)))] for at in range(0, len(rows), size)] or [rows]
        carried = (carried,) * len(parts) if carried is None or isinstance(carried, Unkept) else carried
        pairs = [self.step(part, locals_) for part, locals_ in zip(parts, carried, strict=True)]
        locals_ = tuple(one for one, _ in pairs)
        return (None if all(one is None for one in locals_) else locals_), self.add([stats for _, stats in pairs])


def _survey_step(rows: Rows, _: Any) -> tuple[None, Survey]:
    return None, survey_rows(rows)
