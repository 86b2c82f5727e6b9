"""What every family answers: the one interface through which models see posteriors and priors.

    after = prior.observe(*sums, current=q)      conjugate update by sums over rows; `current` is where a coordinate
                                                 step starts that has no closed form; most families need none
    after.kl(prior)                              what the update costs in the bound

A family has a point twin where maximum likelihood estimates what the other integrates out (`PointBeta` of `Beta`), and
a known twin where it is given and stays (`KnownGamma` of `Gamma`): same interface, all mass at one value, divergence 0.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from latens.array import Floats, Index

__all__ = ["Family"]


@runtime_checkable
class Family(Protocol):
    @property
    def mean(self) -> Floats: ...

    def observe(self, *sums: Any, **current: Any) -> Self: ...  # from the prior `self`

    def kl(self, other: Any) -> float: ...  # KL(self || other), summed; `other` is of the same family

    def sample(self, rng: np.random.Generator) -> Any: ...  # one draw, as a family of points

    def only(self, keep: Index) -> Self: ...  # these entries, in this order
