"""Large data at the parameters that made them: the model, its posterior, and row blocks like those of `fit`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.data import Sums
from latens.core import Rows
from latens.estimators.sampling import blocks
from latens.families.least_squares import LeastSquares
from latens.families.share import Share
from latens.models.binary_factors import BinaryFactors, BinaryPosterior
from latens.models.switches import MeanField

__all__ = ["Problem", "problem_of"]

BLOCK_FLOATS = 2**20  # rows and scratch of a block


@dataclass(frozen=True)
class Problem:
    model: BinaryFactors
    q: BinaryPosterior
    blocks: list[Rows]


def problem_of(sums: Sums, n_sweeps: int) -> Problem:
    k, d = sums.components.shape
    model = BinaryFactors(n_features=d, points=True, e_step=MeanField(n_sweeps=n_sweeps))
    q = BinaryPosterior(Share.of(sums.usage), LeastSquares(sums.components, np.full(1, sums.noise_variance)))
    return Problem(model, q, blocks(Rows(sums.x), model.floats_per_row(k)))
