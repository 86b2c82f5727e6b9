"""Dirichlet-categorical posteriors of clusters whose columns hold one of several levels.

    p_kd         ~ Dirichlet(counts_kd)          one chance for each of the C_d levels of column d
    x_d | k      ~ Categorical(p_kd)             levels are numbered 0 .. C_d - 1

The pseudo-counts of all columns stand side by side in one array. Clusters ask of a row an indicator for each level but
the first; that of level 1 takes the place of x itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import digamma, gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import positive, record
from latens.array.special import trigamma
from latens.array.transfer import like, take

__all__ = ["CategoricalColumns"]


@record
class CategoricalColumns:
    counts: Floats = positive("k levels")  # levels of all columns; chances where they are known
    levels: tuple[int, ...] = ()  # (D,), how many levels each column has
    ordered: bool = False  # whether levels are steps of a scale, so that their numbers have a mean
    known: bool = False  # whether all mass is at `counts`, which are then chances: what a draw gives
    joint: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if min(self.levels, default=2) < 2 or self.counts.shape[1] != sum(self.levels):
            raise ValueError(f"{self.counts.shape[1]} pseudo-counts cannot be those of levels {self.levels}.")

    @classmethod
    def prior(cls, levels: tuple[int, ...], worth: float = 1.0, ordered: bool = False) -> CategoricalColumns:
        """Equal chances worth that many rows in each column, however many levels it has."""
        each = [np.full(size, worth / size) for size in levels]
        return cls(np.concatenate(each or [np.zeros(0)])[None], levels, ordered)

    @cached_property
    def chance(self) -> Floats:
        """(K, L), E[p]."""
        return self.counts / self._over_levels(self._column_sums(self.counts))

    @cached_property
    def mean(self) -> Floats:
        """(K, D), expected number of the level."""
        return self._column_sums(self.chance * self._number)

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of the number of a new row's level."""
        return np.maximum(self._column_sums(self.chance * self._number**2) - self.mean**2, 0.0)

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log p_x] = theta' indicators + level, those of level 1 first; (K, L - D) and (K, D)."""
        return self._linear(self._mean_log)

    def _linear(self, log_chance: Floats) -> tuple[Floats, Floats]:
        level = log_chance[:, self._first]
        above = log_chance - self._over_levels(level)
        return above[:, self._above], level

    def indicators(self, x: Array, seen: Array | None) -> Array:
        """(n, L - D), 1 where a column shows a level: level 1 of each, then the levels above."""
        shown = take(x, self._column[self._above], axis=1) == like(self._number[self._above], x)
        if seen is not None:
            shown = shown & take(seen, self._column[self._above], axis=1)
        return array_namespace(x).astype(shown, x.dtype)

    def coordinates(self, x: Floats) -> Floats:
        """(n, D or L), numbers that are close for rows alike: steps of a scale, or an indicator for each level."""
        if self.ordered:
            return x
        return np.asarray(x[:, self._column] == self._number, dtype=np.float64)

    @property
    def coordinate_columns(self) -> Index:
        return np.arange(len(self.levels)) if self.ordered else self._column

    def tiled(self, k: int) -> CategoricalColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> CategoricalColumns:
        """Posterior after seen_kd entries, of which x show level 1 and xx each level above."""
        return replace(self, counts=self.counts + np.maximum(self._level_counts(seen, x, xx), 0.0))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: Any = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`."""
        after = self.counts + np.maximum(self._level_counts(seen, x, xx), 0.0)
        return np.asarray(np.sum(self._log_norm(after) - self._log_norm(self.counts), axis=1))

    def kl(self, other: CategoricalColumns) -> float:
        if self.known:
            return 0.0
        gap = (self.counts - other.counts) * self._mean_log
        return float(np.sum(gap) + np.sum(self._log_norm(other.counts)) - np.sum(self._log_norm(self.counts)))

    def slopes(self, prior: CategoricalColumns, seen: Floats, x: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrices times the way there."""
        gap = prior.counts + self._level_counts(seen, x, xx) - self.counts
        together = trigamma(self._column_sums(self.counts)) * self._column_sums(gap)
        return {"counts": trigamma(self.counts) * gap - self._over_levels(together)}

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: each chance occurs once, so at its mean."""
        log_chance = np.log(np.maximum(self.chance, np.finfo(float).tiny))
        theta, level = self._linear(log_chance)
        return self.indicators(x, seen > 0) @ like(theta.T, x) + seen @ like(level.T, x)

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`."""
        columns = []
        for start, size in zip(self._first, self.levels, strict=True):
            reached = np.cumsum(self.chance[label, start : start + size], axis=1)
            columns.append(np.sum(rng.random(len(label))[:, None] * reached[:, -1:] > reached, axis=1))
        return np.column_stack(columns).astype(np.float64)

    def fill(self, share: Array) -> tuple[Array, Array]:
        """(n, D) each, what memberships (n, K) say of entries that were not seen.

        Of steps of a scale the mean and variance of their number; else the most probable level, and the variance of
        whether it is right.
        """
        xp = array_namespace(share)
        chance = share @ like(self.chance, share)
        values, spreads = [], []
        for start, size in zip(self._first, self.levels, strict=True):
            each = chance[:, int(start) : int(start) + size]
            if self.ordered:
                number = like(np.arange(size), share)
                mean = each @ number
                values.append(mean)
                spreads.append(each @ number**2 - mean**2)
            else:
                top = xp.max(each, axis=1)
                values.append(xp.astype(xp.argmax(each, axis=1), share.dtype))
                spreads.append(top * (1 - top))
        return xp.stack(values, axis=1), xp.stack(spreads, axis=1)

    def sample(self, rng: np.random.Generator) -> CategoricalColumns:
        if self.known:
            return self
        drawn = np.maximum(rng.gamma(self.counts), np.finfo(float).tiny)
        return replace(self, counts=drawn / self._over_levels(self._column_sums(drawn)), known=True)

    def only(self, keep: Index) -> CategoricalColumns:
        return replace(self, counts=self.counts[keep])

    @property
    def _first(self) -> Index:
        """(D,), where the levels of each column begin."""
        return _places(self.levels)[0]

    @property
    def _column(self) -> Index:
        """(L,), whose level it is."""
        return _places(self.levels)[1]

    @property
    def _number(self) -> Index:
        """(L,), which level it is."""
        return _places(self.levels)[2]

    @property
    def _above(self) -> Index:
        """(L - D,), which of the levels have an indicator: level 1 of each column, then the levels above."""
        return _places(self.levels)[3]

    @cached_property
    def _mean_log(self) -> Floats:
        """(K, L), E[log p]."""
        if self.known:
            return np.log(self.counts)
        return np.asarray(digamma(self.counts) - self._over_levels(digamma(self._column_sums(self.counts))))

    def _level_counts(self, seen: Floats, x: Floats, xx: Floats) -> Floats:
        """(K, L), entries of each level; of level 0 what the others leave, which rounding may make negative."""
        counts = np.zeros((len(x), sum(self.levels)))
        counts[:, self._above] = np.concatenate([x, xx], axis=1)
        counts[:, self._first] = np.broadcast_to(seen, x.shape) - self._column_sums(counts)
        return counts

    def _log_norm(self, counts: Floats) -> Floats:
        """(K, D)."""
        return np.asarray(self._column_sums(gammaln(counts)) - gammaln(self._column_sums(counts)))

    def _column_sums(self, each: Floats) -> Floats:
        """(K, D), sums over the levels of a column."""
        return np.add.reduceat(each, self._first, axis=1)

    def _over_levels(self, each: Floats) -> Floats:
        """(K, L) from (K, D), a column's number at each of its levels."""
        return np.asarray(each)[:, self._column]


@lru_cache(maxsize=16)
def _places(levels: tuple[int, ...]) -> tuple[Index, Index, Index, Index]:
    """Where levels begin (D,), whose (L,) and which (L,) they are, and which have an indicator (L - D,).

    The posterior of every iteration asks for them.
    """
    first = np.concatenate([[0], np.cumsum(levels)[:-1]]).astype(np.intp)
    column = np.repeat(np.arange(len(levels)), levels)
    number = np.arange(sum(levels)) - first[column]
    above = np.concatenate([first + 1, np.flatnonzero(number > 1)]).astype(np.intp)
    for places in (first, column, number, above):
        places.setflags(write=False)
    return first, column, number, above
