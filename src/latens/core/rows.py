"""One batch of data, as models see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.sparse import csr_array

from latens.array import Array, Floats, Index
from latens.array.missing_normals import Holes, holes_of
from latens.array.special import gammaln
from latens.array.transfer import column_sums, host, is_on_gpu, is_sparse, take
from latens.system.cached_value import cached_value

__all__ = ["Rows", "blocks", "rows_of_block"]

BLOCK_FLOATS = 2**20  # a block's rows and scratch on the host: a few megabytes, near the caches
MANY_BLOCKS = 16  # of all rows, from which blocks are twice as large: threads wait for each other once a block
SHARED_BY = 16  # threads among which blocks are shared out evenly, if they are not much fewer
DEVICE_FLOATS = 2**27  # elsewhere a block must be large enough to keep the device busy
MOST_MISSING_BY_COMPLEMENT = 0.4  # share of missing entries up to which sums are taken by complement
BLOCKS_IN_MEMORY = 16  # that a GPU could hold; the fewer the blocks, the less it waits for the host


@dataclass(frozen=True, eq=False)
class Rows:
    """Values, which of them were seen, how often each row counts, and what else is known of the rows.

    Sums that no posterior changes are taken once and cached here.
    """

    x: Array  # (n, D); a missing entry is stored as 0, so that products skip it by themselves; or CSR
    seen: Array | None = None  # (n, D) boolean; None: everything was observed
    weight: Array | None = None  # (n,); a weight w is w copies of the row; None: every row counts once
    # by name, (n,) or (n, m) each: what is given and not modelled, such as groups or known precisions; NaN: not known
    aux: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(
            self.x[rows, :],
            None if self.seen is None else self.seen[rows, :],
            None if self.weight is None else self.weight[rows],
            {name: values[rows, ...] for name, values in self.aux.items()},
        )

    def take(self, which: Index) -> Rows:
        """The rows of these numbers, in this order."""
        return Rows(
            self.x[which] if is_sparse(self.x) else take(self.x, which),
            None if self.seen is None else take(self.seen, which),
            None if self.weight is None else take(self.weight, which),
            {name: take(values, which) for name, values in self.aux.items()},
        )

    def repeated(self) -> Rows:
        """Each row as often as it counts, without weights; the same rows where weights are no whole numbers."""
        if self.weight is None:
            return self
        weight = host(self.weight)
        if np.any(weight != np.rint(weight)):
            return self
        return replace(self.take(np.repeat(np.arange(len(self)), weight.astype(int))), weight=None)

    def columns(self, which: slice) -> Rows:
        """These columns alone, with a mask only if they have holes; kept, so that their sums too are taken once.

        What else is known of the rows stays with them whole.
        """
        parts: dict[tuple[int, int], Rows] = self.__dict__.setdefault("_columns", {})
        key = (which.start, which.stop)
        if key not in parts:
            seen = None if self.seen is None else self.seen[:, which]
            complete = seen is None or bool(array_namespace(seen).all(seen))
            parts[key] = Rows(self.x[:, which], None if complete else seen, self.weight, self.aux)
        return parts[key]

    def cached(self, name: str, make: Callable[[], Array]) -> Array:
        """What the rows alone determine, made when it is first asked for by that name, and kept."""
        made: dict[str, Array] = self.__dict__.setdefault("_made", {})
        if name not in made:
            made[name] = make()
        return made[name]

    def weigh(self, values: Array) -> Array:
        """Rows of `values` (n, ...) times their weights."""
        if self.weight is None:
            return values
        xp = array_namespace(values)
        return values * xp.reshape(self.weight, (-1, *(1,) * (values.ndim - 1)))

    @cached_value
    def mask(self) -> Array:
        """(1 or n, D), 1.0 where an entry was seen: one row of ones if all were."""
        if is_sparse(self.x):
            return np.ones((1, self.x.shape[1]), self.x.dtype)
        xp = array_namespace(self.x)
        return xp.ones_like(self.x[:1, :]) if self.seen is None else xp.astype(self.seen, self.x.dtype)

    @cached_value
    def observed(self) -> Array:
        """(n,), how many entries of each row were seen."""
        if is_sparse(self.x):
            return np.full(len(self), self.x.shape[1], self.x.dtype)
        xp = array_namespace(self.x)
        return xp.zeros_like(self.x[:, 0]) + xp.sum(self.mask, axis=1)

    @cached_value
    def present(self) -> Array:
        """(n,), 1.0 for the rows that show anything."""
        xp = array_namespace(self.x)
        return xp.ones_like(self.x[:, 0]) if self.seen is None else xp.astype(xp.any(self.seen, axis=1), self.x.dtype)

    @cached_value
    def whole(self) -> bool:
        """Whether every row shows all of its columns or none."""
        if self.seen is None:
            return True
        xp = array_namespace(self.seen)
        return bool(xp.all(xp.all(self.seen, axis=1) == xp.any(self.seen, axis=1)))

    @cached_value
    def gaps(self) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
        """What the rows that show anything lack: columns row by row, then rows column by column, as CSR lists."""
        lacking = csr_array(~np.asarray(self.seen) & (np.asarray(self.present) > 0)[:, None])
        down = lacking.tocsc()
        # SciPy's indices may be of 32 bits, which all that reads them takes
        return (lacking.indptr, lacking.indices), (down.indptr, down.indices)  # type: ignore[return-value]

    @cached_value
    def few_gaps(self) -> bool:
        """Whether sums over what was seen are quicker as sums over all less those over `gaps`."""
        return is_numpy_array(self.x) and len(self.gaps[0][1]) <= MOST_MISSING_BY_COMPLEMENT * self.x.size

    @cached_value
    def holes(self) -> Holes:
        """The same as normals with missing entries ask for it, of all rows and wherever they are."""
        return holes_of(self.mask > 0)

    @cached_value
    def log_factorials(self) -> Floats:
        """(D,), weighted sum of log x! of the counts in each column."""
        return column_sums(self.weigh(gammaln(self.x + 1)))

    @cached_value
    def counts_above(self) -> Floats:
        """(Y, D), how many rows, by their weights, have a count above 0, above 1, and so on, in each column."""
        y = host(self.x).astype(np.intp)
        d, most = y.shape[1], int(y.max(initial=0)) + 1
        weight = None if self.weight is None else np.repeat(host(self.weight).astype(float), d)
        times = np.bincount((y + most * np.arange(d)).ravel(), weight, minlength=most * d).reshape(d, most)
        return np.ascontiguousarray(np.cumsum(times[:, :0:-1], axis=1)[:, ::-1].T)

    @cached_value
    def patterns(self) -> list[tuple[Index, Index, Index]]:
        """Rows with the same holes together: their numbers, the columns they show, the columns they lack."""
        seen = host(self.mask) > 0
        if self.seen is None:
            return [(np.arange(len(self)), np.arange(seen.shape[1]), np.arange(0))]
        kinds, which = np.unique(seen, axis=0, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(which.reshape(-1)))[:-1])
        return [(rows, np.flatnonzero(kind), np.flatnonzero(~kind)) for rows, kind in zip(groups, kinds, strict=True)]

    @cached_value
    def n(self) -> float:
        """Sum of weights."""
        return float(len(self)) if self.weight is None else float(host(self.weight).sum())

    @cached_value
    def counts(self) -> Floats:
        """(D,), sum of weights over the rows in which each column was seen."""
        if self.seen is None:
            return np.full(self.x.shape[1], self.n)
        xp = array_namespace(self.x)
        return column_sums(self.weigh(xp.astype(self.seen, self.x.dtype)))  # not the mask, which would be kept

    @cached_value
    def ones(self) -> tuple[Index, Index]:
        """Where NumPy or CSR rows are not 0: CSR bounds (n + 1,) and columns."""
        x = self.x if is_sparse(self.x) else csr_array(self.x)
        return x.indptr.astype(np.intp), x.indices.astype(np.intp)

    @cached_value
    def sums(self) -> Floats:
        """(D,), weighted sum of x in each column."""
        return column_sums(self.weigh(self.x))

    @cached_value
    def squares(self) -> Floats:
        """(D,), weighted sum of x^2 in each column."""
        return column_sums(self.weigh(self.x**2))


def blocks(rows: Rows, floats_per_row: int) -> list[Rows]:
    """Consecutive blocks of rows that each need about as much memory, scratch included.

    Their size is fixed by the shape of the problem, and on a GPU by its memory: sums are added in the same order on
    any machine of the kind.
    """
    sparse = is_sparse(rows.x)
    stored = -(-rows.x.nnz // max(len(rows), 1)) if sparse else int(rows.x.shape[1])
    stored += sum(math.prod(values.shape[1:]) for values in rows.aux.values())
    if sparse or is_numpy_array(rows.x):
        size = rows_of_block(len(rows), stored + floats_per_row, BLOCK_FLOATS)
    else:
        size = max(64, _device_floats(rows.x) // max(stored + floats_per_row, 1))
    return [rows[slice(at, min(at + size, len(rows)))] for at in range(0, len(rows), size)]


def rows_of_block(n: int, floats_per_row: int, budget: int) -> int:
    """How many of n rows are a block of about `budget` numbers on the host, or twice that where blocks are many.

    More than half as many as there may be threads are as many as these, or a multiple: else some wait for the last.
    """
    size = max(64, budget // max(floats_per_row, 1))
    size = size if n <= MANY_BLOCKS * size else 2 * size
    if 2 * n <= SHARED_BY * size:
        return size
    rounds = -(-n // (SHARED_BY * size))
    return max(64, -(-n // (SHARED_BY * rounds)))


def _device_floats(x: Array) -> int:
    """A power of two: kinds of GPUs differ in it, GPUs of a kind do not."""
    if not is_on_gpu(x):
        return DEVICE_FLOATS
    memory: int = import_module("torch.cuda").get_device_properties(x.device).total_memory
    return max(DEVICE_FLOATS, 1 << ((memory // 4 // BLOCKS_IN_MEMORY).bit_length() - 1))
