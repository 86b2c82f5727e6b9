"""Clusters of rows whose columns are of several kinds, independent within a cluster.

Each kind is a family of its own over its columns. All that clusters ask of a row is linear in

    [x, squares of real columns, indicators of levels but the first]      and which entries were seen

so that an iteration is a matrix product each way, missing entries being zeros. Base measures of counts, which
clusters do not change, are summed apart. Columns with outliers, and overdispersed counts with exposures, ask something
else in every cluster (`curved`); their part of an iteration is their own.

What says which entries were seen also says how much of each: 1, 0 where one is missing, and of counts the exposure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import each, record
from latens.array.transfer import like, take
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.categorical_columns import CategoricalColumns
from latens.families.exposed_counts import ExposedCounts
from latens.families.negative_binomial_columns import NegativeBinomialColumns, NegativeBinomialPoints
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.poisson_columns import PoissonColumns
from latens.families.student_columns import StudentColumns, StudentPoints

__all__ = ["Column", "Counts", "MixedColumns"]

Counts = PoissonColumns | NegativeBinomialColumns
Curved = StudentColumns | ExposedCounts
Column = (
    NormalColumns
    | NormalMeans
    | StudentColumns
    | StudentPoints
    | BernoulliColumns
    | CategoricalColumns
    | Counts
    | ExposedCounts
    | NegativeBinomialPoints
)


@record
class MixedColumns:
    parts: dict[str, Column] = each("d", "levels", columns="1|d")  # by kind of column
    columns: dict[str, tuple[int, ...]]  # which columns are of that kind
    joint: ClassVar[bool] = False

    def __post_init__(self) -> None:
        widths = {kind: _width(part) for kind, part in self.parts.items()}
        if _order_of(tuple(self.columns.values())) is None or widths != {
            kind: len(at) for kind, at in self.columns.items()
        }:
            n = sum(map(len, self.columns.values()))
            raise ValueError(f"kinds {widths} do not give each of {n} columns to one of them.")

    @cached_property
    def mean(self) -> Floats:
        """(K, D), expected entries; of levels, their expected number."""
        return self._wide([part.mean for part in self._each.values()])

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries."""
        return self._wide([part.row_variance for part in self._each.values()])

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log p(x)] = theta'[x, extra] + sum_d level, but for the base measure; (K, D + Q) and (K, D)."""
        terms = [part.natural for part in self._each.values()]
        widths = [len(self.columns[kind]) for kind in self._each]
        of_x = self._wide([theta[:, :d] for (theta, _), d in zip(terms, widths, strict=True)])
        rest = [theta[:, d:] for (theta, _), d in zip(terms, widths, strict=True)]
        level = [np.broadcast_to(level, (len(of_x), d)) for (_, level), d in zip(terms, widths, strict=True)]
        return np.concatenate([of_x, *rest], axis=1), self._wide(level)

    @cached_property
    def linear(self) -> tuple[Floats, Floats]:
        """The same with zeros for curved columns."""
        theta, level = self.natural
        if not self.curved:
            return theta, level
        theta, level = theta.copy(), level.copy()
        for _, own, at in self._curved_places():
            theta[:, own], level[:, at] = 0.0, 0.0
        return theta, level

    @property
    def curved(self) -> dict[str, Curved]:
        """Kinds whose numbers differ from cluster to cluster."""
        return {kind: part for kind, part in self.parts.items() if isinstance(part, Curved)}

    @property
    def counted(self) -> Floats:
        """(D,), 1 for columns of counts, whose entries have exposures."""
        counted = np.zeros(sum(map(len, self.columns.values())))
        for kind, part in self.parts.items():
            if isinstance(part, Counts | ExposedCounts | NegativeBinomialPoints):
                counted[list(self.columns[kind])] = 1.0
        return counted

    def curved_levels(self, x: Array, seen: Array) -> tuple[Array, ...]:
        """What curved columns ask of rows whatever the clusters are: made once for all iterations."""
        return tuple(part.levels(take(x, at, axis=1), take(seen, at, axis=1)) for part, _, at in self._curved_places())

    def curved_density(self, x: Array, seen: Array, levels: tuple[Array, ...]) -> Array:
        """(n, K), the part of curved columns in E[log p(x)]; `seen` are numbers (1 or n, D)."""
        each = zip(self._curved_places(), levels, strict=True)
        return sum(part.expected(take(x, at, axis=1), take(seen, at, axis=1), own) for (part, _, at), own in each)

    def with_curved_sums(
        self, sums: Floats, x: Array, seen: Array, weighted: Array, levels: tuple[Array, ...]
    ) -> Floats:
        """Sums (K, D + Q) of what clusters ask of rows with those of curved columns, whose q(u) is where `self` is."""
        sums = sums.copy()
        for (part, own, at), level in zip(self._curved_places(), levels, strict=True):
            sums[:, own] = part.own_sums(take(x, at, axis=1), take(seen, at, axis=1), weighted, level)
        return sums

    def expand(self, x: Array, seen: Array | None, exposure: Array | None = None) -> Array:
        """(n, D + Q), all that clusters ask of rows; of curved columns as if nothing were known of clusters.

        `exposure` (n,) is that of counts, where rows have it.
        """
        if self.plain and len(self.parts) == 1:
            return _features(next(iter(self._each.values())), x, seen)
        xp, values, extra = array_namespace(x), [], []
        for _, part, part_x, part_seen in self._split(x, seen):
            if exposure is not None and isinstance(part, ExposedCounts):
                shown = xp.ones_like(part_x) if part_seen is None else xp.astype(part_seen, x.dtype)
                part_seen = shown * exposure[:, None]
            own = _features(part, part_x, part_seen)
            values.append(own[:, : part_x.shape[1]])
            extra.append(own[:, part_x.shape[1] :])
        first = take(xp.concat(values, axis=1), self._order, axis=1)
        return xp.concat([first, *(part for part in extra if part.shape[1])], axis=1)

    @property
    def plain(self) -> bool:
        """Whether what clusters ask of a row is its entries and their squares, which take no time to make."""
        return all(isinstance(part, NormalColumns | NormalMeans | BernoulliColumns) for part in self.parts.values())

    def coordinates(self, x: Floats, exposure: Floats | None = None) -> Floats:
        """(n, P), complete rows as points that are close where rows are alike: each column has variance 1, or 0."""
        if exposure is not None:
            x = x / np.where(self.counted > 0, exposure[:, None], 1.0)
        return np.concatenate([_coordinates(part, part_x) for _, part, part_x, _ in self._split(x, None)], axis=1)

    def base_sums(self, x: Array, weight: Array, seen: Array) -> Floats:
        """(B,), sums of what base measures are made of; weights (n, 1), `seen` numbers (1 or n, D)."""
        counted = [part for part in self._split(x, seen) if isinstance(part[1], Counts)]
        return np.concatenate([np.zeros(0), *(part.base_sums(own, weight, shown) for _, part, own, shown in counted)])

    def base_total(self, base: Floats) -> float:
        """The base measure of all rows, linear in the sums."""
        each = zip(self._each.values(), self._base_parts(base), strict=True)
        return sum(part.base_total(sums) for part, sums in each if isinstance(part, Counts))

    def base_measure(self, x: Array, seen: Array) -> Array:
        """(n,), its logarithm for each row; `seen` are numbers (1 or n, D)."""
        measure = array_namespace(x).zeros_like(x[:, 0])
        for _, part, part_x, part_seen in self._split(x, seen):
            if isinstance(part, Counts):
                measure = measure + part.base_measure(part_x, part_seen)
        return measure

    def tiled(self, k: int) -> MixedColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats, base: Floats) -> MixedColumns:
        """Posterior after seen_kd entries with sums x, sums xx of all else, and those of base measures."""
        parts: dict[str, Column] = {}
        sums = self._sums(seen, x, xx)
        for (kind, part), moments, own in zip(self._each.items(), sums, self._base_parts(base), strict=True):
            parts[kind] = part.observe(*moments, own) if isinstance(part, Counts) else part.observe(*moments)
        return MixedColumns(parts, self.columns)

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: MixedColumns | None = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`, but for the base measure."""
        each = zip(self._each.items(), self._sums(seen, x, xx), strict=True)
        parts = {} if current is None else current.parts
        return np.asarray(sum(part.evidence(*moments, parts.get(kind)) for (kind, part), moments in each))

    def kl(self, other: MixedColumns) -> float:
        return float(sum(part.kl(other.parts[kind]) for kind, part in self._each.items()))

    def slopes(self, prior: MixedColumns, seen: Floats, x: Floats, xx: Floats) -> dict[str, Any] | None:
        """Derivatives of the objective that `observe` from the prior maximises; None where a kind has none."""
        without = NegativeBinomialColumns | NegativeBinomialPoints | StudentPoints | Curved
        if any(isinstance(part, without) for part in self._each.values()):
            return None
        each = zip(self._each.items(), self._sums(seen, x, xx), strict=True)
        return {"parts": {kind: part.slopes(prior.parts[kind], *sums) for (kind, part), sums in each}}

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries; `seen` are numbers (1 or n, D)."""
        parts = self._split(x, seen)
        return sum(part.log_density(part_x, part_seen) for _, part, part_x, part_seen in parts)

    def near_density(self, x: Array, seen: Array) -> Array:
        """(n, K), roughly the same but for what all clusters share, where that takes an integral of each entry."""
        parts = self._split(x, seen)
        return sum(
            part.near_density(part_x, part_seen) if isinstance(part, Curved) else part.log_density(part_x, part_seen)
            for _, part, part_x, part_seen in parts
        )

    def fill(self, share: Array, exposure: Array | None = None) -> tuple[Array, Array]:
        """(n, D) each: values and variances that memberships (n, K) give entries that were not seen.

        `exposure` (n,) is that of counts; 1, if not given.
        """
        xp, d = array_namespace(share), self.mean.shape[1]
        values: list[Any] = [None] * d
        spreads: list[Any] = [None] * d
        for kind, part in self._each.items():
            if isinstance(part, CategoricalColumns | StudentColumns):
                mean, variance = part.fill(share)
            elif exposure is not None and isinstance(part, Counts | ExposedCounts):
                s, square = exposure[:, None], part.row_variance - part.mean + part.mean**2  # of the rate
                mean = s * (share @ like(part.mean, share))
                variance = mean + s**2 * (share @ like(square, share)) - mean**2
            else:
                mean = share @ like(part.mean, share)
                variance = share @ like(part.row_variance + part.mean**2, share) - mean**2
            for i, place in enumerate(self.columns[kind]):
                values[place], spreads[place] = mean[:, i], variance[:, i]
        return xp.stack(values, axis=1), xp.stack(spreads, axis=1)

    def draw(self, label: Index, rng: np.random.Generator, exposure: Floats | None = None) -> Floats:
        """(n, D), one row of each cluster in `label`; `exposure` (n,) is that of counts, 1 if not given."""
        counts = Counts | ExposedCounts | NegativeBinomialPoints
        beside = {} if exposure is None else {"exposure": exposure[:, None]}
        each = self._each.values()
        return self._wide([part.draw(label, rng, **(beside if isinstance(part, counts) else {})) for part in each])

    def sample(self, rng: np.random.Generator) -> MixedColumns:
        return MixedColumns({kind: part.sample(rng) for kind, part in self._each.items()}, self.columns)

    def only(self, keep: Index) -> MixedColumns:
        return MixedColumns({kind: part.only(keep) for kind, part in self._each.items()}, self.columns)

    @property
    def _each(self) -> dict[str, Any]:
        """The families, which answer the same questions in the same words."""
        return self.parts

    def _wide(self, values: list[Floats]) -> Floats:
        """Columns of the kinds side by side, (n, D_kind) each, back where they belong."""
        return np.concatenate(values, axis=1)[:, self._order]

    @property
    def _order(self) -> Index:
        """(D,), where among the columns of all kinds, one kind after another, each column of the data is."""
        order = _order_of(tuple(self.columns.values()))
        assert order is not None  # as was checked when it was made
        return order

    def _split(self, x: Array, seen: Array | None) -> Iterator[tuple[str, Any, Array, Any]]:
        for kind, part in self._each.items():
            at = np.array(self.columns[kind])
            yield kind, part, take(x, at, axis=1), None if seen is None else take(seen, at, axis=1)

    def _curved_places(self) -> Iterator[tuple[Curved, Index, Index]]:
        """Each curved kind, where its numbers stand among D + Q, and which columns it has."""
        start = sum(len(at) for at in self.columns.values())
        for kind, part in self._each.items():
            at = np.array(self.columns[kind])
            stop = start + part.natural[0].shape[1] - len(at)
            if isinstance(part, Curved):
                yield part, np.concatenate([at, np.arange(start, stop)]), at
            start = stop

    def _sums(self, seen: Floats, x: Floats, xx: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
        """The sums of each kind."""
        start, shown = 0, np.broadcast_to(seen, x.shape)
        for kind, part in self._each.items():
            at = list(self.columns[kind])
            stop = start + part.natural[0].shape[1] - len(at)
            yield shown[:, at], x[:, at], xx[:, start:stop]
            start = stop

    def _base_parts(self, base: Floats) -> Iterator[Floats]:
        start = 0
        for part in self._each.values():
            stop = start + (part.n_base if isinstance(part, Counts) else 0)
            yield base[start:stop]
            start = stop


def _width(part: Any) -> int:
    """How many columns a kind has, without means that take time to make."""
    if isinstance(part, CategoricalColumns):
        return len(part.levels)
    return len(part.weight) if isinstance(part, Curved | NegativeBinomialColumns) else int(part.mean.shape[1])


@lru_cache(maxsize=16)
def _order_of(places: tuple[tuple[int, ...], ...]) -> Index | None:
    """(D,), where each column is among those of all kinds; None where a column is of no kind, or of two.

    Posteriors of every iteration ask for it.
    """
    order = np.argsort(np.asarray([at for kind in places for at in kind], dtype=np.intp), kind="stable")
    every = sorted(at for kind in places for at in kind) == list(range(len(order)))
    order.setflags(write=False)
    return order if every else None


def _features(part: Any, x: Array, seen: Array | None) -> Array:
    """(n, D + Q), what a kind asks of rows: a number for each column, and what else it needs."""
    if isinstance(part, NormalColumns | NormalMeans):
        return array_namespace(x).concat([x, x**2], axis=1)
    if isinstance(part, Curved):
        return part.neutral(x, seen)
    return part.indicators(x, seen) if isinstance(part, CategoricalColumns) else x


def _coordinates(part: Any, x: Floats) -> Floats:
    """(n, P): a scale for each column, on which levels share theirs."""
    if isinstance(part, CategoricalColumns):
        z, columns = part.coordinates(x), part.coordinate_columns
    elif isinstance(part, StudentColumns):
        z, columns = part.coordinates(x), np.arange(x.shape[1])
    else:
        z, columns = np.log1p(x) if isinstance(part, Counts | ExposedCounts) else x, np.arange(x.shape[1])
    variance = np.bincount(columns, z.var(axis=0), x.shape[1])[columns]
    return np.asarray(z / np.sqrt(np.where(variance > 0, variance, 1.0)))
