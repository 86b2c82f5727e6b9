"""What one component more than was found would cost: the bound that an ascent reaches with it."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latens.core import Compressing, State
from latens.errors import LatensWarning, collect_warnings
from latens.estimators.fitting.context import FitContext
from latens.estimators.rows.data import InMemory
from latens.inference.ascent import ascend
from latens.inference.search.moves import starts_with_one_more

__all__ = ["FEW_ASKED", "height_with_one_more"]

NATS_TOLD = 0.05  # gain of an iteration that a bound which is only told need not wait for, however few the rows
FEW_ASKED = 4  # components; who asks for so few may have meant exactly that number


def height_with_one_more(estimator: Any, context: FitContext) -> float:
    """The bound of one component more, where a reader may ask for it and all rows are at hand; NaN elsewhere."""
    model, state = estimator._model, estimator._state
    k, sums = state.q.n_components, isinstance(model, Compressing)
    wanted = k == 0 or (estimator.n_components is not None and k < estimator.n_components <= FEW_ASKED)
    whole = sums or (isinstance(context.data, InMemory) and len(context.sample) == len(context.data.rows))
    exact = estimator._keeps_all or getattr(estimator, "prior", "ard") == "ml"
    if not wanted or not whole or exact or not (estimator.converged_ or estimator.n_iter_ >= estimator.max_iter):
        return math.nan
    context = replace(context, sample=state.data if sums else context.sample, rng=np.random.default_rng(0))
    slack = float(np.finfo(np.float32).eps ** 0.5) if context.data.is_single else 1e-9
    tol = max(estimator.tol, NATS_TOLD / max(context.data.n, 1.0))
    ascent = partial(ascend, model, [context.sample], max_iter=estimator.max_iter, tol=tol, slack=slack,
                     log_scale=context.units.log_scale)  # fmt: skip
    with collect_warnings(owner=ascent), warnings.catch_warnings():  # they are not of the fit
        warnings.simplefilter("ignore", LatensWarning)
        larger = list(starts_with_one_more(model, state, context.sample, context.rng))
        fits = [ascent(start) for start in larger or _starts_with(k + 1, estimator, context)]
    if any(fit.interrupted for fit in fits):
        raise KeyboardInterrupt
    return max((fit.elbo for fit in fits), default=math.nan)


def _starts_with(k: int, estimator: Any, context: FitContext) -> list[State]:
    """Starts with exactly k components, whatever was asked for."""
    other = copy(estimator)
    other.n_components, other.prune, other.init = k, False, "auto"
    starts = other._starts(other._model, replace(context, smaller=None))
    return [start for start in starts if start.q.n_components == k]
