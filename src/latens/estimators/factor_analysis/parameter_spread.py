"""What estimated loadings and noise add to the uncertainty of rows: their posteriors take parameters for known.

    Var(z_n | rows) = V + sum_r (d E[z_n] / d eta_r)^2        eta_r: axes of the response covariance of parameters

With 30 rows of six columns, codes give or take 1.96 standard deviations hold 81 % of the truth by V alone
after maximum likelihood, and 89 % by relevance, whose posterior of loadings does not move codes. Entries that are
filled in move alike, and maximum likelihood, which has fitted its own rows, says too little of the noise:

    Var(x_nd | rows) = (V n / v + sum_r (d E[x_nd] / d eta_r)^2) v / (v - 2),      v = n - K - 1

as of Student's t with v degrees of freedom; V alone holds 89 to 90 % of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latens.array import Array, Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.core.coordinates import Chart
from latens.inference.uncertainty.response import STEP, respond

__all__ = ["MOST_ROWS", "parameter_spread", "widened"]

MOST_COORDINATES = 200  # up to which parameters are differentiated by
MOST_ROWS = 1000  # of a fit; with more, parameters add next to nothing
LONGEST_STEP = 1e-2  # step along an axis, in coordinates
FEWEST_FREE = 3.0  # degrees of freedom: with fewer there is no variance

Expected = Callable[[Any, Rows], Array]  # parameters, rows -> (n, m)


def parameter_spread(model: Any, batches: Sequence[Any], q: Any, of: Expected) -> Callable[[Rows], Floats] | None:
    """Of rows, the variance (n, m) to add to that of what is expected `of` them; None: too many parameters."""
    if Chart(q).size > MOST_COORDINATES:
        return None
    response = respond(model, batches, q)
    # axes of the correlations: a constant column is known to 1e-30, where rounding of the others would move it far
    sd = np.sqrt(np.maximum(np.diag(response.covariance), 0.0))
    unit = np.where(sd > 0, sd, np.inf)
    values, vectors = np.linalg.eigh(response.covariance / unit[:, None] / unit)
    real = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    axes = (sd[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))[:, real].T
    steps = [min(STEP, LONGEST_STEP / np.abs(axis).max()) for axis in axes]
    arms = [tuple(response.chart.at(side * h * axis) for side in (1, -1)) for axis, h in zip(axes, steps, strict=True)]

    def spread(rows: Rows) -> Floats:
        ends = ((host(of(up, rows)), host(of(down, rows)), h) for (up, down), h in zip(arms, steps, strict=True))
        return sum((((up - down) / (2 * h)) ** 2 for up, down, h in ends), np.zeros(()))

    return spread


def widened(variance: Array, n: float, k: int, more: Floats | None) -> Array:
    """(n, D), of entries after maximum likelihood on so many rows; `more` is what parameters add, where it is known.

    Where it is not, each row is taken for a typical one.
    """
    free = max(n - k - 1, FEWEST_FREE)
    if more is None:
        return variance * ((n + 1) / (free - 2))
    return (variance * (n / free) + like(more, variance)) * (free / (free - 2))
