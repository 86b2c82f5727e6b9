"""Posteriors of on/off codes under a quadratic log density, and how to find them.

    log p(z | row) = drive'z - 1/2 sum_{j != k} gram_jk z_j z_k + const          z in {0, 1}^K

    MeanField    prod_k q(z_k)                      coordinate ascent, row by row
    Exact        q(z) over all 2^K states           one shared table of states, a matrix product
    Truncated    q(z) over C states kept per row    improved by flips; a better state is never dropped
    Automatic    Exact for few causes, else MeanField

Each answers with a posterior that offers the same moments, so a model is written once for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import record, simplex, unit
from latens.array.kernels.on_off.enumeration import second_moments, state_chances
from latens.array.kernels.on_off.sweeps import flips, pair_costs, switches
from latens.array.special import softmax_entropy, switch_entropy, xlogx
from latens.array.states import all_states, chosen, pack, repacked, unpack
from latens.array.transfer import cast, column_sums, cross_sums, like
from latens.core import Rows, without_transients
from latens.system.cached_value import cached_value
from latens.system.scratch import mapped

__all__ = ["Automatic", "CodeMoments", "Exact", "MeanField", "States", "Switches", "Truncated"]

SCORE_OF_EMPTY_SLOT = -1e30  # score of a slot that holds no state: finite, so that 0 times it is 0


@record
class Switches:
    """Independent q(z_nk = 1)."""

    mean: Array = unit("n k")

    def follow(self, of: Index) -> Switches:
        return Switches(chosen(self.mean, of))

    def in_single(self) -> Switches:
        """As precise as the next local step needs to know where to begin."""
        mean = mapped(self.mean.shape, np.float32)
        mean[:] = self.mean
        return Switches(mean)

    def rounded(self, x: Array) -> Switches:
        """In the precision of the rows, where a sharper one was needed to find them."""
        return self if self.mean.dtype == x.dtype else Switches(cast(self.mean, x))

    @property
    def variance(self) -> Array:
        return self.mean * (1 - self.mean)

    @property
    def entropy(self) -> Array:  # (n,)
        return switch_entropy(self.mean)

    def energy(self, gram: Array) -> Array:
        """(n,), E[sum_{j != k} gram_jk z_j z_k]."""
        xp, on = array_namespace(self.mean), self.mean
        field_ = on @ gram[0, ...] if gram.shape[0] == 1 else xp.sum(on[:, :, None] * gram, axis=1)
        return xp.sum(field_ * on - xp.linalg.diagonal(gram) * on**2, axis=1)

    def second(self) -> Array:
        """(n, K, K), E[z z'] of each row."""
        on = self.mean
        return on[:, :, None] * on[:, None, :] + self.variance[:, :, None] * like(np.eye(on.shape[1]), on)

    def summed_second(self, rows: Rows) -> Floats:
        """(K, K), the weighted sum of `second` over rows, without forming it."""
        weighted = rows.weigh(self.mean)
        second = cross_sums(weighted, self.mean)
        np.fill_diagonal(second, column_sums(weighted))  # a switch is its own square
        return second


@record
class States:
    """A distribution over listed states of each row: all of them (`words` is None), or C that are kept."""

    words: Array | None  # (n, C) integers, bit k on when cause k is on
    k: int
    chance: Array = simplex("n states", transient=True)

    @property
    def bits(self) -> Array:
        """(1 or n, C, K)."""
        if self.words is None:
            return like(all_states(self.k)[None], self.chance)
        return unpack(self.words, self.k, self.chance)

    @classmethod
    def at(cls, words: Array | None, k: int, score: Array) -> States:
        """Chances in proportion to exp(score), whose entropy is then known as well; spoils the scores."""
        return cls.known(words, k, *softmax_entropy(score))

    @classmethod
    def known(cls, words: Array | None, k: int, chance: Array, entropy: Array) -> States:
        """With an entropy that is known already."""
        states = cls(words, k, chance)
        vars(states)["entropy"] = entropy  # as the property would cache it, at many times the cost
        return states

    def follow(self, of: Index) -> Self:
        """Kept states with these bits; a list of all states is made anew."""
        words = self.words if self.words is None else repacked(self.words, of)
        posterior: Self = without_transients(self)
        return replace(posterior, words=words, k=len(of))

    def reorder(self, order: Index) -> States:
        """Codes of row order[n] for row n, of a list of all states."""
        return States(None, self.k, self.chance[order])

    def rounded(self, x: Array) -> States:
        """As for `Switches`; sums over rows must not: chances that add up to a hair off 1 make squares negative."""
        return self if self.chance.dtype == x.dtype else replace(self, chance=cast(self.chance, x))

    @cached_value
    def mean(self) -> Array:
        bits = self.bits
        if self.words is None:
            return self.chance @ bits[0, ...]
        return array_namespace(bits).sum(self.chance[:, :, None] * bits, axis=1)

    @property
    def variance(self) -> Array:
        mean, xp = self.mean, array_namespace(self.chance)
        return xp.maximum(mean * (1 - mean), xp.zeros_like(mean))  # chances may add up to a hair above 1

    @cached_value
    def entropy(self) -> Array:
        return -array_namespace(self.chance).sum(xlogx(self.chance), axis=1)

    def energy(self, gram: Array) -> Array:
        return array_namespace(self.chance).sum(self.chance * pair_costs(self.bits, gram), axis=1)

    def second(self) -> Array:
        if self.words is None:
            return second_moments(self.chance, self.k)
        bits, xp = self.bits, array_namespace(self.chance)
        return xp.matrix_transpose(bits * self.chance[:, :, None]) @ bits

    def summed_second(self, rows: Rows) -> Floats:
        weighted, bits = rows.weigh(self.chance), self.bits
        if self.words is None:  # states are shared by all rows: so is their sum of chances
            table = all_states(self.k)
            return (table.T * column_sums(weighted)) @ table
        xp = array_namespace(bits)
        flat = xp.reshape(bits, (-1, self.k))
        return cross_sums(flat * xp.reshape(weighted, (-1, 1)), flat)


@dataclass(frozen=True)
class CodeMoments:
    """What `statistics` need of a distribution over all states, where its chances are not needed."""

    mean: Array  # (n, K)
    each: Array  # (n, K, K), E[z z']
    entropy: Array  # (n,)

    def second(self) -> Array:
        return self.each

    def summed_second(self, rows: Rows) -> Floats:
        n, k = self.mean.shape
        weight = np.ones(n, self.mean.dtype) if rows.weight is None else rows.weight
        return cross_sums(weight[:, None], self.each.reshape(n, k * k)).reshape(k, k)


@record
class MeanField:
    n_sweeps: int = 20
    tol: float = 1e-5  # a row whose codes move less has settled
    n_levels: int = 5  # of cooling, at a neutral start
    n_sweeps_cooling: int = 3

    def infer(self, drive: Array, gram: Array, usage: Floats, warm: Switches | None) -> Switches:
        if not drive.shape[1]:  # no cause, nothing that could be on
            return Switches(drive)
        on = self.cool(drive, gram, usage) if warm is None else cast(warm.mean, drive)
        return Switches(switches(drive, gram, on, self.n_sweeps, self.tol))

    def cool(self, drive: Array, gram: Array, usage: Floats) -> Array:
        """From usage alone, through flattened versions of the problem: a direct start ends in poor optima.

        The first level is so flat that no cause outweighs the rest; levels are evenly spaced in the logarithm.
        """
        xp = array_namespace(drive)
        on = xp.zeros_like(drive) + like(usage, drive)
        steepest = xp.max(xp.linalg.diagonal(gram), axis=1)  # (1 or n,)
        first = xp.log(xp.maximum(0.5 * steepest, xp.ones_like(steepest)))
        for level in range(self.n_levels):
            flat = xp.exp(first * (level / self.n_levels - 1))
            on = switches(flat[:, None] * drive, flat[:, None, None] * gram, on, self.n_sweeps_cooling, 1e-2)
        return on

    def is_exact(self, k: int) -> bool:
        return False

    def floats_per_row(self, k: int) -> int:
        return 4 * k


@record
class Exact:
    def infer(self, drive: Array, gram: Array, usage: Floats, warm: States | None) -> States:
        return States.known(None, drive.shape[1], *state_chances(drive, gram))

    def is_exact(self, k: int) -> bool:
        return True

    def floats_per_row(self, k: int) -> int:
        return int(3 * 2**k)


@record
class Truncated:
    n_states: int = 24
    n_parents: int = 4
    n_rounds: int = 2  # of flips per local step: the first reaches one flip far

    def infer(self, drive: Array, gram: Array, usage: Floats, warm: States | None) -> States:
        xp, k = array_namespace(drive), drive.shape[1]
        if self.is_exact(k):
            return Exact().infer(drive, gram, usage, None)
        if warm is None:
            near = xp.round(MeanField().infer(drive, gram, usage, None).mean)
            words = xp.concat([pack(near[:, None, :])] * self.n_states, axis=1)
        else:
            words = warm.words
        for _ in range(self.n_rounds):
            words, score = flips(words, drive, gram, self.n_parents)
        return States.at(words, k, xp.maximum(score, xp.full_like(score, SCORE_OF_EMPTY_SLOT)))

    def is_exact(self, k: int) -> bool:
        """Whether every state can be kept."""
        return bool(2**k <= self.n_states)

    def floats_per_row(self, k: int) -> int:
        return 3 * self.n_states * k


@record
class Automatic:
    """Exact while all states can be listed at little cost, mean field beyond."""

    most_exact: int = 10

    def infer(self, drive: Array, gram: Array, usage: Floats, warm: Any) -> Switches | States:
        return self.choice(drive.shape[1]).infer(drive, gram, usage, warm)

    def choice(self, k: int) -> MeanField | Exact:
        return Exact() if k <= self.most_exact else MeanField()

    def is_exact(self, k: int) -> bool:
        return self.choice(k).is_exact(k)

    def floats_per_row(self, k: int) -> int:
        return self.choice(k).floats_per_row(k)
