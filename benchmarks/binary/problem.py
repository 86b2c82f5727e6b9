"""Large data at the parameters that made them: the model, its posterior, and row blocks like those of `fit`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.data import Sums, draw_sums
from benchmarks.setting import FIRST_SEED
from latens.core import Rows, blocks
from latens.families.point_beta import PointBeta
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import MeanField

__all__ = ["Problem", "draw_undecided", "problem_of"]

BLOCK_FLOATS = 2**20  # rows and scratch of a block


@dataclass(frozen=True)
class Problem:
    model: BinaryFactors
    q: BinaryPosterior
    blocks: list[Rows]


def draw_undecided(n: int, d: int, k: int) -> Sums:
    """Causes whose length is four times the noise along them, so that many codes stay between 0 and 1."""
    return draw_sums(n, d, k, FIRST_SEED, noise=d**0.5 / 8)


def problem_of(sums: Sums, n_sweeps: int) -> Problem:
    k, d = sums.components.shape
    model = BinaryFactors(n_features=d, points=True, e_step=MeanField(n_sweeps=n_sweeps))
    q = BinaryPosterior(PointBeta.of(sums.usage), PointNormalGamma(sums.components, np.full(1, sums.noise_variance)))
    return Problem(model, q, blocks(Rows(sums.x), model.floats_per_row(k)))
