"""The bound, term by term."""

from __future__ import annotations

import math
import time

import numpy as np

from latens.array import Floats
from latens.core import B, Iteration, L, Q, S, Steps
from latens.errors import BoundNotFinite

__all__ = ["measure"]


def measure(model: Steps[B, Q, L, S], q: Q, stats: S, step: int, clock: float, log_scale: float | Floats) -> Iteration:
    """Evaluate the bound in the caller's units: rows are exp(log_scale) times the model's, in all columns or in each.

    Raises
    ------
    BoundNotFinite
        If a term is NaN or infinite; the message names it.
    """
    scale = -float(np.sum(log_scale * stats.entries))
    terms = {**model.data_terms(q, stats), **model.global_terms(q), "scale": scale}
    broken = [name for name, value in terms.items() if not math.isfinite(value)]
    if broken:
        raise BoundNotFinite(
            f"{type(model).__name__}: the term {', '.join(broken)} of the bound became non-finite at iteration "
            f"{step}. Look for extreme values in the data, use float64, or rescale single columns."
        )
    seconds = time.perf_counter() - clock
    return Iteration(step, 0, math.fsum(terms.values()), terms, q.n_components, seconds, q)
