"""Noisy ICA for a Gibbs sampler: the sources of a row given their scales and signs, then these given the sources.

    z_n | u_n, s_n     Normal of precision G + diag(u or b), all sources of a row at once
    u_nk | z_nk        Gamma((a_k + 1) / 2, (a_k + z_nk^2) / 2)            heavy sources
    s_nk | z_nk        +1 with chance 1 / (1 + exp(-2 b_k m_k z_nk))       light ones

Tails a and levels m are points of the fit and stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Rows
from latens.models.gaussian_rows import evidence

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior
    from latens.models.noisy_ica.posteriors import Shapes

__all__ = ["DrawnSources", "draw_sources", "with_scales"]

FIRST_SWEEPS = 10  # of a row that was never drawn before


@dataclass(frozen=True)
class DrawnSources:
    mean: Floats  # (n, K), the sources themselves
    scale: Floats  # (n, K), u; that of light sources is not used
    sign: Floats  # (n, K), s; likewise that of heavy ones

    def dealt(self, order: Index) -> DrawnSources:
        """Sources of row order[n] for row n."""
        return DrawnSources(self.mean[order], self.scale[order], self.sign[order])


def draw_sources(point: IcaPosterior, batch: Rows, last: DrawnSources | None, rng: np.random.Generator) -> DrawnSources:
    """The next state of the rows' sources, scales and signs, given loadings and noise."""
    drive, gram = (host(part) for part in evidence(point.loadings, batch, point.n_components))
    sweeps = 1
    if last is None:
        sweeps, blank = FIRST_SWEEPS, np.zeros_like(drive)
        last = DrawnSources(blank, blank + 1, np.where(rng.random(drive.shape) < 0.5, -1.0, 1.0))
    for _ in range(sweeps):
        last = _swept(point.shapes, drive, gram, last, rng)
    return last


def _swept(shapes: Shapes, drive: Floats, gram: Floats, last: DrawnSources, rng: np.random.Generator) -> DrawnSources:
    light, sharp = shapes.split > 0, shapes.sharp
    own = np.where(light, sharp, last.scale)
    pull = drive + np.where(light, sharp * shapes.split, 0.0) * last.sign
    root = np.linalg.cholesky(gram + own[:, :, None] * np.eye(len(sharp)))  # of the precision
    white = np.linalg.solve(root, pull[:, :, None]) + rng.standard_normal((*pull.shape, 1))
    z: Floats = np.linalg.solve(np.swapaxes(root, 1, 2), white)[:, :, 0].astype(np.float64)
    return with_scales(shapes, z, rng)


def with_scales(shapes: Shapes, z: Floats, rng: np.random.Generator) -> DrawnSources:
    """Sources (n, K) with their scales and signs given them."""
    scale = rng.gamma(0.5 * (shapes.tails + 1), 2 / (shapes.tails + z * z))
    sign = np.where(rng.random(z.shape) < expit(2 * shapes.sharp * shapes.split * z), 1.0, -1.0)
    return DrawnSources(z, scale, sign)
