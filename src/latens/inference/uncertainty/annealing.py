"""Annealed importance sampling of the evidence, with the global unknowns integrated out.

    f_t(codes) = integral of p(globals) prod_n p(row n, code n | globals)^t        f_0 = 1,  sum of f_1 = evidence

Where globals are conjugate given the codes, f_t is the bound at their exact posterior for sums of codes times t, so
that weights never see a draw of a vague prior. From uniform codes at t = 0, a chain takes Gibbs steps at rising t:
globals given codes, codes given globals. The mean of its weights is the evidence; that of the reciprocal weights of
chains which go backwards from codes that made the rows is one over the evidence. The two bracket it.

References: Neal (2001); Grosse, Ghahramani & Adams (2015) for the two directions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from latens.array import Floats, Index

__all__ = ["Conjugate", "anneal", "collapsed", "log_mean_with_error", "temperatures"]

COLDEST = 1e-6  # the first temperature above 0


class Conjugate(Protocol):
    """A model whose globals have a closed posterior once every row has one of finitely many codes."""

    def code_scores(self, point: Any, batch: Any) -> Any: ...  # (n, S), log p(row, code | globals)

    def with_codes(self, states: Index, n_states: int) -> Any: ...  # local posterior of points, (n,) states


def temperatures(n_steps: int) -> Floats:
    """From 0 to 1: half of the steps by ratios, which the vague beginning needs, half even."""
    ratios = np.geomspace(COLDEST, 1.0, n_steps // 2)
    return np.unique(np.concatenate([[0.0], ratios, np.linspace(0.0, 1.0, n_steps - n_steps // 2)]))


def collapsed(model: Any, batch: Any, states: Index, k: int, t: float = 1.0) -> float:
    """log f_t of codes (n,): exact, since the globals' posterior given codes is."""
    return _collapsed(model, t * model.statistics(batch, model.with_codes(states, k)), k)[0]


def _collapsed(model: Any, stats: Any, k: int) -> tuple[float, Any]:
    """log f_t for sums that were multiplied by t, and the posterior of the globals."""
    q = model.global_step(model.prior(k), stats)
    return float(sum((model.data_terms(q, stats) | model.global_terms(q)).values())), q


def anneal(model: Any, batch: Any, k: int, at: Floats, rng: np.random.Generator, states: Index | None = None) -> float:
    """Log weight of one chain through the temperatures; backwards from `states` at 1 where they are given."""
    backwards = states is not None
    steps = at[::-1] if backwards else at
    codes = states if states is not None else rng.integers(k, size=len(batch))
    log_weight = 0.0
    for before, now in pairwise(steps.tolist()):
        stats = model.statistics(batch, model.with_codes(codes, k))
        log_weight += _level(model, now, stats, k) - _level(model, before, stats, k)
        point = _collapsed(model, now * stats, k)[1].sample(rng) if now > 0 else None
        scores = np.zeros((len(batch), k)) if point is None else now * np.asarray(model.code_scores(point, batch))
        codes = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return -log_weight if backwards else log_weight


def _level(model: Any, t: float, stats: Any, k: int) -> float:
    return 0.0 if t == 0 else _collapsed(model, t * stats, k)[0]


def log_mean_with_error(log_weights: Floats) -> tuple[float, float]:
    """Log of the mean of weights, and its standard error."""
    n = len(log_weights)
    value = float(logsumexp(log_weights) - np.log(n))
    relative = np.exp(log_weights - value)
    return value, float(np.std(relative, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
