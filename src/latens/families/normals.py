"""Gaussian clusters whose means and covariances are known: what one draw from a Normal-Wishart is.

x | k ~ Normal(mean_k, covariance_k)          one covariance for each cluster, or one tied for all
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import positive_definite, real, record
from latens.array.linalg import cholesky, inverse, log_determinant
from latens.array.missing_normals import Holes, conditioned, drawn_entries
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["Normals"]


@record
class Normals:
    mean: Floats = real("k d")
    covariance: Floats = positive_definite("1|k d d")  # one where tied
    tied: bool = False
    joint: ClassVar[bool] = True

    def log_density(self, x: Floats, holes: Holes | None = None) -> Floats:
        """(n, K), of what rows show."""
        k, d = self.mean.shape
        if holes is not None:
            form, volume = conditioned(x, holes, self.mean, self._precision)
            level = log_determinant(self._precision) - LOG_2PI * np.sum(holes.seen, axis=1)[:, None]
            return np.asarray(0.5 * (level - volume - form))
        roots = np.broadcast_to(cholesky(self.covariance), (k, d, d))
        columns = []
        for mean, root in zip(self.mean, roots, strict=True):
            white = np.linalg.solve(root, (x - mean).T)
            columns.append(-0.5 * np.sum(white**2, axis=0) - np.sum(np.log(np.diagonal(root))))
        return np.asarray(np.stack(columns, axis=1) - 0.5 * d * LOG_2PI)

    def completed(self, x: Floats, holes: Holes, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), rows whose missing entries are one draw given the others, each in its cluster in `label`."""
        return drawn_entries(x, holes, self.mean, self._precision, label, rng.normal(size=x.shape))

    @cached_property
    def _precision(self) -> Floats:
        return inverse(self.covariance)

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`."""
        roots = np.broadcast_to(cholesky(self.covariance), (len(self.mean), *self.covariance.shape[1:]))
        noise = rng.normal(size=(len(label), self.mean.shape[1], 1))
        return np.asarray(self.mean[label] + (roots[label] @ noise)[:, :, 0])

    def sample(self, rng: np.random.Generator) -> Normals:
        return self

    def only(self, keep: Index) -> Normals:
        return Normals(self.mean[keep], self.covariance if self.tied else self.covariance[keep], self.tied)
