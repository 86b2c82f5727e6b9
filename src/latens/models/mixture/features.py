"""Rows as clusters see them: expected log densities, and the sums that a global step needs.

Where everything a cluster asks of a row is linear in a few numbers made from it once,

    columns apart      [x, x^2] or less, and which entries were seen; of several kinds, also indicators of levels
    columns jointly    [x, vech(xx')]

both steps are one matrix product each with those numbers. Where columns depend on each other and
entries are missing, see `holes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from latens.array import Array, Floats
from latens.array.packed_symmetric import are_too_many_pairs, upper, with_pairs, with_squares
from latens.array.transfer import (
    cast,
    column_sums,
    cross_sums_begun,
    is_on_gpu,
    is_sparse,
    like,
    namespace,
    product_sums,
    total,
)
from latens.core import Rows
from latens.families.mixed_columns import MixedColumns
from latens.models.mixture.missing import fill

__all__ = ["EXPOSURE", "Features", "Sums", "View", "WideRows", "exposure_of", "look", "shown", "sums_begun"]

EXPOSURE = "exposure"  # what rows call the logarithms (n,) of the exposures of their counts

Sums = tuple[Floats, Floats, Floats, float]  # seen (K, 1 or D), x (K, D), xx, entropy of what was filled in
View = Any  # Features | WideRows | Filled: what a local posterior keeps of its rows for their sums
FEW_PAIRS = 2**20  # products of columns of a block up to which they are made once and kept
CANCELLATION = 2e-5  # error of a log density above which single precision is left
# the same elsewhere than on the host, where sums over rows are of chunks: memberships lose its square, in nats a row
DEVICE_CANCELLATION = 1e-3


@dataclass(frozen=True)
class Features:
    """Rows expanded into the numbers that all clusters share."""

    values: Array  # (n, Q)
    d: int
    tied: bool = False
    joint: bool = False
    clusters: MixedColumns | None = None  # those of the local step, where curved columns ask something else in each
    family: Any = None  # clusters that know which columns are counts

    def sums_begun(
        self, batch: Rows, weighted: Array, entropy: Array
    ) -> Callable[[], tuple[Floats, Sums, float]] | None:
        """The same as the function of this name, where each column counts alike; None: nothing to ask for ahead."""
        plain = self.clusters is None and not self.tied and (self.joint or not tells_entries(batch))
        if not plain or isinstance(weighted, np.ndarray):
            return None
        double = array_namespace(entropy).astype(entropy, array_namespace(entropy).float64)
        pair = cast(weighted, self.values), self.values
        asked, d = cross_sums_begun(pair, columns=(weighted, double[:, None])), self.d  # nothing of the rows is held

        def found() -> tuple[Floats, Sums, float]:
            moments, counts, spread = asked()
            return counts, (counts[:, None], moments[:, :d], moments[:, d:], 0.0), float(spread[0])

        return found

    def sums(self, batch: Rows, weighted: Array, counts: Floats) -> Sums:
        """Weighted by memberships (n, K), whose column sums are the counts."""
        weighted = cast(weighted, self.values)
        moments = product_sums(weighted, self.values)
        if self.clusters is not None:
            seen, x = shown(self.clusters, batch), cast(batch.x, self.values)
            levels = curved_levels(self.clusters, batch, x)
            moments = self.clusters.with_curved_sums(moments, x, seen, weighted, levels)
        x, rest = moments[:, : self.d], moments[:, self.d :]
        if self.tied:
            rest = upper(product_sums(cast(batch.weigh(self.values), self.values), self.values)[None])
        if self.joint or not tells_entries(batch):
            return counts[:, None], x, rest, 0.0
        return product_sums(weighted, cast(shown(self.family, batch), self.values)), x, rest, 0.0


@dataclass(frozen=True)
class WideRows:
    """Rows of so many columns that products of their pairs would fill the memory: clusters are asked one by one.

    This takes twice the multiplications, and no memory beyond a matrix of D x D.
    """

    values: Array  # (n, D)
    tied = False

    def density(self, precision: Floats) -> Array:
        """(n, K), -x' Lam_k x / 2."""
        return namespace(self.values).stack([-0.5 * _form(each, self.values) for each in precision], axis=1)

    def sums(self, batch: Rows, weighted: Array, counts: Floats) -> Sums:
        weighted, d = cast(weighted, self.values), int(self.values.shape[1])
        xx = np.empty((weighted.shape[1], d * (d + 1) // 2))
        for k, each in enumerate(xx):
            each[:] = upper(product_sums(weighted[:, k : k + 1] * self.values, self.values)[None])[0]
        return counts[:, None], product_sums(weighted, self.values), xx, 0.0


def sums_begun(view: View, batch: Rows, weighted: Array, entropy: Array) -> Callable[[], tuple[Floats, Sums, float]]:
    """What gives counts, sums weighted by memberships (n, K), and the total of entropies (n,) when it is called.

    Elsewhere than on the host all of them may come by one copy, and a GPU works on them meanwhile.
    """
    request = view.sums_begun(batch, weighted, entropy) if isinstance(view, Features) else None
    if request is not None:
        return request
    counts = column_sums(weighted)
    sums, spread = view.sums(batch, weighted, counts), total(entropy)
    return lambda: (counts, sums, spread)


def tells_entries(batch: Rows) -> bool:
    """Whether entries of a column count differently: some are missing, or of counts more was looked at."""
    return batch.seen is not None or EXPOSURE in batch.aux


def shown(clusters: Any, batch: Rows) -> Array:
    """(1 or n, D), 1 for entries that were seen, of counts their exposure, and 0 for missing ones."""
    if EXPOSURE not in batch.aux:
        return batch.mask

    def make() -> Array:
        counted, exposure = like(clusters.counted, batch.x), array_namespace(batch.x).exp(batch.aux[EXPOSURE])
        return batch.mask * (1 + (exposure[:, None] - 1) * counted)

    return batch.cached("shown", make)


def curved_levels(clusters: MixedColumns, batch: Rows, x: Array) -> tuple[Array, ...]:
    """What curved columns ask of the rows, which are x in a safe precision, whatever the clusters are."""
    if x is not batch.x:
        return clusters.curved_levels(x, cast(shown(clusters, batch), x))
    made: tuple[Array, ...] = batch.cached("curved levels", lambda: clusters.curved_levels(x, shown(clusters, batch)))
    return made


def exposure_of(batch: Rows) -> Array | None:
    """(n,), where rows have it."""
    return array_namespace(batch.x).exp(batch.aux[EXPOSURE]) if EXPOSURE in batch.aux else None


def look(clusters: Any, log_weights: Floats, batch: Rows) -> tuple[Array, View]:
    """E[log pi_k + log p(x_n | theta_k)], (n, K), and the view of the rows."""
    x = _in_safe_precision(clusters, batch.x)
    if clusters.joint and batch.seen is not None:
        return fill(clusters, log_weights, batch, x)
    if clusters.joint and not clusters.tied and are_too_many_pairs(x.shape[1]):
        wide, (theta, level) = WideRows(x), clusters.natural
        linear = _products(x, like(theta, x), like(log_weights + level, x))
        return cast(linear + wide.density(clusters.precision), batch.x), wide
    # indicators take longer to make than to multiply; squares do not, and would be twice the data
    if isinstance(clusters, MixedColumns) and x is batch.x and not clusters.plain:
        made = batch.cached("features", lambda: clusters.expand(x, batch.seen, exposure_of(batch)))
        view = Features(made, x.shape[1], family=clusters)
    elif clusters.joint and not clusters.tied and x is batch.x and x.shape[0] * x.shape[1] ** 2 <= FEW_PAIRS:
        view = Features(batch.cached("pairs", lambda: with_pairs(x)), x.shape[1], joint=True)
    else:
        view = _features(clusters, x, batch)
    curved = isinstance(clusters, MixedColumns) and bool(clusters.curved)
    theta, level = clusters.linear if curved else clusters.natural
    if not clusters.joint and tells_entries(batch):
        density = _products(view.values, like(theta, x))
        density += cast(shown(clusters, batch), x) @ like(level.T, x)
        density += like(log_weights, x)
    else:
        density = _products(view.values, like(theta, x), like(log_weights + _summed(clusters, level), x))
    if curved:
        seen, levels = cast(shown(clusters, batch), x), curved_levels(clusters, batch, x)
        density = density + clusters.curved_density(x, seen, levels)
        view = replace(view, clusters=clusters)
    if view.tied:
        density = density - 0.5 * _form(clusters.precision[0], x)[:, None]
    return cast(density, batch.x), view


def expand(clusters: Any, x: Array, batch: Rows | None = None) -> Features | WideRows:
    """The numbers that clusters of this family ask of a row; the family decides, not its parameters.

    `batch` tells what of x is missing, and exposures.
    """
    wide = clusters.joint and not clusters.tied and are_too_many_pairs(x.shape[1])
    return WideRows(x) if wide else _features(clusters, x, batch)


def _features(clusters: Any, x: Array, batch: Rows | None) -> Features:
    d = x.shape[1]
    if isinstance(clusters, MixedColumns):
        beside = (None,) if batch is None else (batch.seen, exposure_of(batch))
        return Features(clusters.expand(x, *beside), d, family=clusters)
    if clusters.joint:
        return Features(x if clusters.tied else with_pairs(x), d, clusters.tied, True)
    width = clusters.natural[0].shape[1] - d
    if width == 0:
        return Features(x, d)
    xp = array_namespace(x)
    if width == d and is_on_gpu(x):
        return Features(with_squares(x), d)
    if width == d:
        both = xp.empty((x.shape[0], 2 * d), dtype=x.dtype, device=device(x))
        both[:, :d] = x
        both[:, d:] = x**2
        return Features(both, d)
    return Features(xp.concat([x, xp.sum(x**2, axis=1, keepdims=True)], axis=1), d)


def _products(values: Array, theta: Array, level: Array | None = None) -> Array:
    """(n, K), in memory a row for each cluster: sums over clusters then run along rows of data; plus a level (K,)."""
    if is_on_gpu(values):  # there sums over clusters are taken of a row at once, and levels cost nothing
        return values @ theta.T if level is None else level.addmm(values, theta.T)
    # single precision, whose transposed product is the slower by half, and CSR rows
    if is_sparse(values) or (isinstance(values, np.ndarray) and values.dtype == np.float32):
        found = np.ascontiguousarray((values @ theta.T).T).T
    else:
        found = (theta @ values.T).T
    if level is not None:
        found += level
    return found


def _summed(clusters: Any, level: Floats) -> Floats:
    """(K,), levels over columns; those of columns apart are summed once for all blocks."""
    if level.ndim == 1:
        return level
    level_of_sum, summed = vars(clusters).get("summed_level", (None, None))
    if level_of_sum is not level:
        summed = np.asarray(level.sum(axis=1))
        vars(clusters)["summed_level"] = (level, summed)
    return np.asarray(summed)


def _form(matrix: Floats, x: Array) -> Array:
    """(n,), x'M x."""
    return array_namespace(x).sum((x @ like(matrix, x)) * x, axis=1)


def _in_safe_precision(clusters: Any, x: Array) -> Array:
    """The rows, in double precision where single would cancel: clusters far from the origin beside their width."""
    if is_sparse(x):  # binary: clusters lie within their width of the origin
        return x
    xp = namespace(x)
    if x.dtype != xp.float32:
        return x
    d = x.shape[1]
    largest = float(np.max(np.sum(np.abs(clusters.mean * clusters.natural[0][:, :d]), axis=1)))
    most = CANCELLATION if is_numpy_array(x) else DEVICE_CANCELLATION
    return xp.astype(x, xp.float64) if largest * float(xp.finfo(x.dtype).eps) > most else x
