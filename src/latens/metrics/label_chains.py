"""Chains of labels that set out from a fit: the evidence of clusters and classes that chains do not come upon.

    f_t = q(labels)^(1 - t)  times  int p(globals) p(rows, labels | globals)^t dglobals,      labels in R

q are the memberships of the fit, and R the labels of which no renaming of clusters agrees better with them. All K!
names of a labelling have the same probability, and one of them is in R: the evidence is K! times what R holds of it.
From labels that are drawn at random chains end in whichever clusters they meet first, tens of nats low where clusters
are far apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.inference.uncertainty.annealing import CodePath
from latens.models.mixture.model import Memberships

__all__ = ["LabelChains"]

LEAST_CHANCE = 1e-4  # of all labels together: chains may come upon any
UNLIKE = 1e-9  # by which clusters of equal memberships differ, so that one name is the best


@dataclass(frozen=True)
class LabelChains(CodePath):
    """The way from the memberships of a fit to the labels of its posterior."""

    drawn: list[bool] = field(default_factory=list, repr=False)  # whether draws of q were in R

    @cached_property
    def memberships(self) -> Floats:
        """(n, K), those of the fit."""
        return host(self.model.local_step(self.q, self.batch).mean)

    @cached_property
    def log_chance(self) -> Floats:
        """(n, K), log q."""
        return np.asarray(np.log((1 - LEAST_CHANCE) * self.memberships + LEAST_CHANCE / self.q.n_components))

    @cached_property
    def names(self) -> Floats:
        """(n, K), by which clusters are named."""
        return self.memberships + UNLIKE * np.random.default_rng(0).random(self.memberships.shape)

    @property
    def log_states(self) -> float:
        """Log of the sum of f_0, as far as draws tell it, times the number of names."""
        return float(gammaln(self.q.n_components + 1) + np.log(np.mean(self.drawn)))

    def first(self, rng: np.random.Generator) -> tuple[Any, Any]:
        while True:
            label = _drawn(self.log_chance, rng)
            self.drawn.append(self._is_named(label))
            if self.drawn[-1]:
                return self._with_sums(label)

    def at(self, codes: Index, rng: np.random.Generator) -> tuple[Any, Any]:
        return self._with_sums(self._names_of(codes)[codes])

    def level(self, t: float, state: tuple[Memberships, Any]) -> float:
        return (1 - t) * float(np.sum(state[0].mean * self.log_chance)) + super().level(t, state)

    def step(self, t: float, state: tuple[Memberships, Any], rng: np.random.Generator) -> tuple[Any, Any]:
        """Globals given labels, then labels given them; those outside of R are not taken."""
        point = self.collapsed(t, state[1])[1].sample(rng)
        label = _drawn(t * self.model.code_scores(point, self.batch) + (1 - t) * self.log_chance, rng)
        return self._with_sums(label) if self._is_named(label) else state

    def _is_named(self, label: Index) -> bool:
        """Whether labels are in R."""
        return bool(np.array_equal(self._names_of(label), np.arange(self.q.n_components)))

    def _names_of(self, label: Index) -> Index:
        """(K,), for each label the cluster of the fit that it agrees with, one for each."""
        agrees = np.eye(self.q.n_components)[label].T @ self.names
        return np.asarray(linear_sum_assignment(agrees, maximize=True)[1])

    def _with_sums(self, label: Index) -> tuple[Memberships, Any]:
        local = self.model.with_codes(label, self.q.n_components)
        return local, self.model.statistics(self.batch, local)


def _drawn(scores: Floats, rng: np.random.Generator) -> Index:
    return np.asarray(np.argmax(scores + rng.gumbel(size=scores.shape), axis=1))
