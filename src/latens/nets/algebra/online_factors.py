"""Factor analysis of weights along a path by the algorithms that see each snapshot once, in tensors.

    w ~ Normal(mean, F'F + diag(psi))                                     F: (K, D)
    V = (I + F Psi^-1 F')^-1,   P = V F Psi^-1,   m = P d                 a snapshot's factors
    d = sqrt(1 - 1/t) (w_t - mean_{t-1}),   S_t = (1 - 1/t) S_{t-1} + d d' / t       Welford, exact

    EM          A <- average of m d',  B <- average of m m',  H = V + B;   F = H^-1 A,   psi = diag S - diag F'A
    transport   the same, but A is carried to each new F and psi, as if they had seen all snapshots; B = P A'
    gradient    F + rate (m d' - (V + m m') F) Psi^-1,   and log psi likewise; in units of each weight's deviation

A snapshot is taken to be d and not, as printed, its distance from the mean that includes it: so the variance is exact.
Costs O(D K^2) a snapshot. What snapshots as few as those of a training cannot prove is not taken off again, which
`low_rank_update` does.
"""

from __future__ import annotations

import math

from latens.nets.algebra.low_rank_update import LEAST_NOISE
from latens.nets.selection import Tensor
from latens.system.optional_imports import require

__all__ = ["carried", "first_factors", "gradient_step", "left_over", "maximised", "projection"]


def first_factors(rows: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Loadings and noise to start from, of rows (K, D) that hold the covariance of the first snapshots: half of it."""
    return math.sqrt(0.5) * rows, _floored(0.5 * variance, variance)


def left_over(rows: Tensor, variance: Tensor) -> Tensor:
    """The noise beside loadings (K, D) that are given."""
    return _floored(variance - (rows**2).sum(0), variance)


def projection(loadings: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """P (K, D) and V (K, K), by which the factors of a snapshot are inferred."""
    torch = require("torch", "torch")
    scaled = loadings / _positive(noise)
    precision = torch.eye(len(loadings), dtype=torch.float64, device=noise.device) + (scaled @ loadings.T).double()
    spread = torch.linalg.inv(0.5 * (precision + precision.T)).to(noise.dtype)
    return spread @ scaled, spread


def maximised(sums: Tensor, second: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Loadings and noise of the M step: F = H^-1 A, psi = diag S - diag F'A."""
    torch = require("torch", "torch")
    loadings = torch.linalg.solve(second.double(), sums.double()).to(sums.dtype)
    return loadings, _floored(variance - (loadings * sums).sum(0), variance)


def carried(sums: Tensor, project: Tensor, loadings: Tensor, noise: Tensor) -> Tensor:
    """Averages of m d' as loadings and noise infer m, where those of an earlier projection P (K, D) were known.

    With S the covariance of the snapshots and M = F'F + diag psi that of the model, P S is known and P' S wanted, P'
    being the projection of the model itself. M is the control variate: P'S = P'M + P'(S - M), where P'M = F, and the
    second part is regressed on what is known of it, P (S - M).
    """
    torch = require("torch", "torch")
    expected = (project @ loadings.T) @ loadings + project * noise
    inner, cross = (expected @ project.T).double(), (loadings @ project.T).double()
    regression = cross @ torch.linalg.pinv(0.5 * (inner + inner.T), rtol=1e-10, hermitian=True)
    return loadings + regression.to(sums.dtype) @ (sums - expected)


def gradient_step(gap: Tensor, loadings: Tensor, noise: Tensor, unit: Tensor, rate: float) -> tuple[Tensor, Tensor]:
    """Loadings and noise after one step up the gradient of the log density of a snapshot, `gap` from the mean."""
    gap, loadings, noise = gap / unit, loadings / unit, _positive(noise / unit**2)
    project, spread = projection(loadings, noise)
    code = project @ gap
    left = gap - code @ loadings
    turned = spread @ loadings
    squares = left**2 + (loadings * turned).sum(0)  # E[(d - F'h)^2]
    steeper = loadings + rate * (code[:, None] * left - turned) / noise
    return steeper * unit, noise * (0.5 * rate * (squares / noise - 1)).exp() * unit**2


def _floored(noise: Tensor, variance: Tensor) -> Tensor:
    return require("torch", "torch").maximum(noise, LEAST_NOISE * variance)


def _positive(noise: Tensor) -> Tensor:
    """A weight that never moved has no noise and no loading; it must not become NaN."""
    return noise.clamp_min(require("torch", "torch").finfo(noise.dtype).tiny)
