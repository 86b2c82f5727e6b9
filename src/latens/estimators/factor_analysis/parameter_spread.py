"""What estimated loadings and noise add to the uncertainty of codes: posteriors of rows take them for known.

    Var(z_n | rows) = V + sum_r (d E[z_n] / d eta_r)^2        eta_r: axes of the response covariance of parameters

With 30 rows of six columns, codes give or take 1.96 standard deviations hold 81 % of the truth by V alone
after maximum likelihood, and 89 % by relevance, whose posterior of loadings does not move codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latens.array import Array, Floats
from latens.array.transfer import host
from latens.core import Rows
from latens.core.coordinates import Chart
from latens.inference.uncertainty.response import STEP, respond

__all__ = ["MOST_ROWS", "parameter_spread"]

MOST_COORDINATES = 200  # up to which parameters are differentiated by
MOST_ROWS = 1000  # of a fit; with more, parameters add next to nothing
LONGEST = 1e-2  # step along an axis, in coordinates


def parameter_spread(model: Any, batches: Sequence[Any], q: Any) -> Callable[[Rows], Floats] | None:
    """Of rows, the variance (n, K) to add; None where there are too many parameters."""
    if Chart(q).size > MOST_COORDINATES:
        return None
    response = respond(model, batches, q)
    # axes of the correlations: a constant column is known to 1e-30, where rounding of the others would move it far
    sd = np.sqrt(np.maximum(np.diag(response.covariance), 0.0))
    unit = np.where(sd > 0, sd, np.inf)
    values, vectors = np.linalg.eigh(response.covariance / unit[:, None] / unit)
    real = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    axes = (sd[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))[:, real].T
    steps = [min(STEP, LONGEST / np.abs(axis).max()) for axis in axes]
    arms = [tuple(response.chart.at(side * h * axis) for side in (1, -1)) for axis, h in zip(axes, steps, strict=True)]

    def spread(rows: Rows) -> Floats:
        total = np.zeros((len(rows), q.n_components))
        for (up, down), h in zip(arms, steps, strict=True):
            codes: list[Array] = [model.local_step(end, rows).mean for end in (up, down)]
            total += ((host(codes[0]) - host(codes[1])) / (2 * h)) ** 2
        return total

    return spread
