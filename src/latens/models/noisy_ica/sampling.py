"""Noisy ICA for a Gibbs sampler: signs, then the sources of a row given scales and signs, then these given the sources.

    s_nk | u_n, s_nj   light sources in turn, all sources integrated out: levels may be too narrow to leave otherwise
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
from latens.families.relevance import drawn
from latens.models.gaussian_rows import evidence

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior
    from latens.models.noisy_ica.posteriors import Shapes

__all__ = ["DrawnSources", "SourceGuide", "draw_sources", "with_scales"]

POWER_OF_LEAVING = 4.0  # power of 1 - t by which a guide is left
FIRST_SWEEPS = 10  # of a row that was never drawn before


@dataclass(frozen=True)
class DrawnSources:
    mean: Floats  # (n, K), the sources themselves
    scale: Floats  # (n, K), u; that of light sources is not used
    sign: Floats  # (n, K), s; likewise that of heavy ones

    def reorder(self, order: Index) -> DrawnSources:
        """Sources of row order[n] for row n."""
        return DrawnSources(self.mean[order], self.scale[order], self.sign[order])


@dataclass(frozen=True)
class SourceGuide:
    """Sources of each row about where a fit has them, r(z): a chain that starts there need not come upon them.

    From draws of their prior it does so all at once or not at all: sources of two levels, of which each row has either,
    say nothing while loadings are small, and loadings nothing while they are any. On the way the density of sources,
    scales and signs is p(u, s) p(z | u, s)^(1 - g) r(z)^g, all of whose conditionals stay of the same kind; g goes to 0
    ever more slowly, since r may be a thousand times as narrow as what the end leaves open.
    """

    shapes: Shapes
    mean: Floats  # (n, K)
    precision: Floats  # (n, K, K)

    @classmethod
    def about(cls, shapes: Shapes, mean: Floats, second: Floats) -> SourceGuide:
        """With means and second moments of the sources."""
        return cls(shapes, mean, np.asarray(np.linalg.inv(second - mean[:, :, None] * mean[:, None, :])))

    def share(self, t: float) -> float:
        """g, how much of the guide is left."""
        return float((1 - t) ** POWER_OF_LEAVING)

    def excess(self, drawn: DrawnSources) -> float:
        """log r(z) - log p(z | u, s), summed over rows."""
        own, levels = _narrowed(self.shapes, drawn.scale, 1.0)
        gap, from_level = drawn.mean - self.mean, drawn.mean - levels / own * drawn.sign
        form = np.sum(gap * (self.precision @ gap[:, :, None])[:, :, 0]) - np.sum(own * from_level**2)
        return float(0.5 * (np.sum(np.linalg.slogdet(self.precision)[1]) - np.sum(np.log(own)) - form))


def draw_sources(
    point: IcaPosterior,
    batch: Rows,
    last: DrawnSources | None,
    rng: np.random.Generator,
    power: float = 1.0,
    guide: SourceGuide | None = None,
) -> DrawnSources:
    """The next state of the rows' sources, scales and signs, given loadings and noise.

    The density of rows given sources may go to a power, that of sources be between the prior's and a guide's.
    """
    loadings = point.loadings if power == 1 else drawn(point.loadings).to_power(power)
    drive, gram = (host(part) for part in evidence(loadings, batch, point.n_components))
    guided = 0.0 if guide is None else guide.share(power)
    if guide is not None and guided > 0:
        drive = drive + guided * (guide.precision @ guide.mean[:, :, None])[:, :, 0]
        gram = gram + guided * guide.precision
    sweeps = 1
    if last is None:
        sweeps, blank = FIRST_SWEEPS, np.zeros_like(drive)
        last = DrawnSources(blank, blank + 1, np.where(rng.random(drive.shape) < 0.5, -1.0, 1.0))
    for _ in range(sweeps):
        last = _swept(point.shapes, drive, gram, last, rng, 1 - guided)
    return last


def _swept(
    shapes: Shapes, drive: Floats, gram: Floats, last: DrawnSources, rng: np.random.Generator, share: float
) -> DrawnSources:
    own, levels = _narrowed(shapes, last.scale, share)
    precision = gram + own[:, :, None] * np.eye(own.shape[1])
    sign = _signs(shapes.light, levels, drive, precision, last.sign, rng) if len(shapes.light) else last.sign
    root = np.linalg.cholesky(precision)
    white = np.linalg.solve(root, (drive + levels * sign)[:, :, None]) + rng.standard_normal((*drive.shape, 1))
    z: Floats = np.linalg.solve(np.swapaxes(root, 1, 2), white)[:, :, 0].astype(np.float64)
    return with_scales(shapes, z, rng, share)


def _narrowed(shapes: Shapes, scale: Floats, share: float) -> tuple[Floats, Floats]:
    """(n, K) and (K,), precisions of sources given scales, and how far signs pull them, for p(z | u, s)^share."""
    light, sharp = shapes.split > 0, share * shapes.sharp
    return np.where(light, sharp, share * scale), np.where(light, sharp * shapes.split, 0.0)


def _signs(
    light: Index, levels: Floats, drive: Floats, precision: Floats, sign: Floats, rng: np.random.Generator
) -> Floats:
    """(n, K), signs one source after another, the sources integrated out: log p(s) = (h + b m s)'C(h + b m s) / 2.

    Given the sources they would stay for ever what they are where levels are narrow.
    """
    spread, sign = np.linalg.inv(precision), sign.copy()
    for k in light:
        towards = spread[:, k] * levels[k]  # (n, K), what a pull of each source does to this one
        others = np.sum(towards * (drive + levels * sign), axis=1) - towards[:, k] * levels[k] * sign[:, k]
        sign[:, k] = np.where(rng.random(len(sign)) < expit(2 * others), 1.0, -1.0)
    return sign


def with_scales(shapes: Shapes, z: Floats, rng: np.random.Generator, share: float = 1.0) -> DrawnSources:
    """Sources (n, K) with their scales and signs given them, of a density p(u, s) p(z | u, s)^share."""
    scale = rng.gamma(0.5 * (shapes.tails + share), 2 / (shapes.tails + share * z * z))
    sign = np.where(rng.random(z.shape) < expit(2 * share * shapes.sharp * shapes.split * z), 1.0, -1.0)
    return DrawnSources(z, scale, sign)
