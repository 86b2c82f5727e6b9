"""Gibbs sampling on the same steps: codes given globals, globals given codes, one pass over the rows a sweep.

    codes    ~ p(codes | globals, rows)          one draw of each row's exact posterior, or one step of a chain that
                                                 has it for its distribution, from the codes before
    globals  ~ p(globals | codes, rows)          one draw of the conjugate posterior that a global step gives

The chain's distribution is the posterior itself, also where one optimum does not stand for it. Chains start from
codes that were exchanged among half of the rows, so that they begin in different places.

References: Diebolt & Robert (1994); Gelman & Rubin (1992) for R-hat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from latens.array import Floats
from latens.inference.sweep import tree_sum

__all__ = ["BURN_IN", "THINNING", "Chain", "Sampled", "effective_size", "gibbs", "r_hat"]

BURN_IN = 200  # sweeps of each chain that are thrown away
THINNING = 3  # sweeps from one kept draw to the next


@runtime_checkable
class Sampled(Protocol):
    """A model whose conditionals can be drawn from; a draw of the globals is a posterior of points."""

    def cannot_sample(self, q: Any) -> str: ...  # why not, or ""

    def draw_codes(
        self, point: Any, batch: Any, last: Any, rng: np.random.Generator
    ) -> Any: ...  # a local posterior of points; `last` are those before, None at the start

    def draw_statistics(
        self, point: Any, batch: Any, local: Any, rng: np.random.Generator
    ) -> Any: ...  # sums over them

    def draw_globals(self, point: Any, stats: Any, rng: np.random.Generator) -> Any: ...  # given sums over drawn codes


@dataclass(frozen=True)
class Chain:
    points: list[Any]  # draws of the globals
    codes: list[Floats]  # (n, K) each, those they were drawn with


def gibbs(
    model: Any,
    batches: Sequence[Any],
    q: Any,
    n_draws: int,
    rng: np.random.Generator,
    *,
    burn_in: int = BURN_IN,
    thinning: int = THINNING,
) -> Chain:
    """One chain, from a draw of q whose codes were exchanged among half of the rows."""
    point, chain = q.sample(rng), Chain([], [])
    locals_ = [_exchanged(model.draw_codes(point, batch, None, rng), rng) for batch in batches]
    for sweep in range(burn_in + n_draws * thinning):
        stats = tree_sum(
            [model.draw_statistics(point, batch, local, rng) for batch, local in zip(batches, locals_, strict=True)]
        )
        point = model.draw_globals(point, stats, rng)
        if sweep >= burn_in and (sweep - burn_in) % thinning == thinning - 1:
            chain.points.append(point)
            chain.codes.append(np.concatenate([np.asarray(local.mean) for local in locals_]))
        locals_ = [model.draw_codes(point, batch, local, rng) for batch, local in zip(batches, locals_, strict=True)]
    return chain


def _exchanged(local: Any, rng: np.random.Generator) -> Any:
    """The same codes, those of half of the rows dealt out among them anew."""
    return local.reorder(_order(local.mean.shape[0], rng))


def _order(n: int, rng: np.random.Generator) -> Any:
    order, half = np.arange(n), rng.permutation(n)[: n // 2]
    order[np.sort(half)] = half
    return order


def r_hat(chains: Floats) -> float:
    """Of a number along chains (C, n): 1 where all say the same, above 1.1 where they do not."""
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(), chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((n - 1) / n + between / within)) if within > 0 else 1.0


def effective_size(chains: Floats) -> float:
    """Independent draws that chains (C, n) of a number are worth, by Geyer's initial positive sequence."""
    c, n = chains.shape
    gaps = chains - chains.mean()
    variance = float(np.mean(gaps**2))
    if variance == 0:
        return float(c * n)
    total = 1.0
    for lag in range(1, n - 1, 2):
        pair = sum(float(np.mean(gaps[:, : n - at] * gaps[:, at:])) for at in (lag, lag + 1)) / variance
        if pair < 0:
            break
        total += 2 * pair
    return float(min(c * n / total, c * n))
