"""Factor analysis of streams in O(D K) memory: one that keeps up with maximum likelihood, and two as first printed.

    TransportFactors    EM whose statistics are carried from each posterior to the next, so that no row grows stale
    OnlineEM            each row's factors inferred once, its sums kept for ever: F = A H^-1 with running averages
    OnlineGradient      a gradient step of log p(x_t) for every row, in F and log psi

`OnlineEM` and `OnlineGradient` start at orthonormal loadings and unit noise in the units of the data and leave both
alone for `warm_up` rows. When the data's variance is far above 1, the sums of that time are far too large, F = A H^-1
does not feel that both A and H decay as 1/t, and the loadings stay frozen until about warm_up times the mean
eigenvalue of the sum of m m' of those rows. They are for comparison. Cost O(D K^2) a row.

References: Cappe & Moulines (2009) on online EM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latens.array import Array, Floats, Index
from latens.array.domains import real
from latens.array.linalg import log_determinant
from latens.array.transfer import host, total
from latens.core import Rows, Statistics
from latens.families.least_squares import LeastSquares
from latens.models.factor_analysis import FactorPosterior, Factors, FactorStatistics, Projection

__all__ = ["OnlineCodes", "OnlineEM", "OnlineGradient", "OnlinePosterior", "OnlineStatistics", "TransportFactors"]

FAR = 1e100  # beyond it squares overflow: a gradient ascent that comes here has diverged


@dataclass(frozen=True, eq=False)
class TransportFactors(Factors):
    def global_step(self, q: FactorPosterior, stats: FactorStatistics) -> FactorPosterior:
        """Of complete rows the mean is known: the step is taken about it."""
        there = replace(q, center=stats.x / stats.n)
        return super().global_step(there, self.carry(stats, q, there))

    def carry(self, stats: FactorStatistics, old: FactorPosterior, new: FactorPosterior) -> FactorStatistics:
        """Statistics as if every past row had been seen under `new`.

        What is known of the rows' covariance S is S P. The model's own covariance M is the control variate:
        S P' = M P' + (S - M) P', and the second part is regressed on what is known, (S - M) P.
        """
        before, after, n = self.project(old), self.project(new), stats.n
        shift, moved = new.center - old.center, stats.x - n * old.center
        # sum (x - new) E[h]' under the old map of x - new: only a part of rank two changes
        known = stats.zx.T - np.outer(new.center, stats.z[:, 0]) - np.outer(moved - n * shift, shift @ before.weights)
        model, target = _times(new, before.weights), _times(new, after.weights)
        regression = np.linalg.lstsq(before.weights.T @ model, before.weights.T @ target, rcond=1e-10)[0]
        zx = n * target + (known - n * model) @ regression  # (D, K), about the new centre
        z = (stats.x - n * new.center) @ after.weights
        zz = after.weights.T @ zx
        zz = 0.5 * (zz + zz.T) + n * after.spread
        codes = 0.5 * (n * (float(log_determinant(after.spread)) + len(zz)) - float(np.trace(zz)))
        return replace(stats, z=z[:, None], zx=zx.T + np.outer(z, new.center), zz=zz[None], codes=codes)


def _times(q: FactorPosterior, columns: Floats) -> Floats:
    """The model's covariance times (D, K)."""
    w = q.loadings.mean
    return w.T @ (w @ columns) + columns / q.loadings.tau[:, None]


@dataclass(frozen=True)
class OnlinePosterior:
    loadings: LeastSquares
    center: Floats = real()  # (D,), mean of the rows so far
    count: float = 0.0
    score: float = 0.0  # sum of the log densities of rows, each under the posterior before it
    diverged: bool = False

    @property
    def n_components(self) -> int:
        return len(self.loadings.mean)

    @property
    def low_rank(self) -> tuple[Floats, Floats]:
        return self.loadings.mean, self.loadings.noise

    def only(self, keep: Index) -> OnlinePosterior:
        return replace(self, loadings=self.loadings.only(keep))

    def sample(self, rng: np.random.Generator) -> OnlinePosterior:
        return self


@dataclass(frozen=True)
class OnlineCodes:
    """q(h) of rows, with what the running mean needs to include them."""

    mean: Array  # (n, K)
    spread: Array  # (1, K, K)
    projection: Projection
    count: float
    score: float  # log density of all rows under the posterior they met


@dataclass(frozen=True)
class OnlineStatistics(Statistics):
    n: float
    entries: float
    x: Floats  # (D,), sum x
    zx: Floats  # (K, D), sum m d', where d is a row less the mean that includes it
    zz: Floats  # (K, K), sum m m'
    xx: Floats  # (D,), sum d^2
    score: float  # sum of log densities


@dataclass(frozen=True, eq=False)
class OnlineEM(Factors):
    """Algorithm 2 of the source; its batches hold one row each."""

    warm_up: int = 100

    def prior(self, k: int) -> OnlinePosterior:  # type: ignore[override]
        d = self.n_features
        return OnlinePosterior(LeastSquares(np.zeros((k, d)), np.ones(d), self.floor), np.zeros(d))

    def local_step(self, q: OnlinePosterior, batch: Rows, warm: object = None) -> OnlineCodes:  # type: ignore[override]
        at = FactorPosterior(q.loadings, q.center)
        codes = super().local_step(at, batch)
        score = total(self.row_bounds(at, batch, codes))  # type: ignore[arg-type]
        return OnlineCodes(codes.mean, codes.spread, self.project(at), q.count, score)  # type: ignore[union-attr]

    def statistics(self, batch: Rows, local: OnlineCodes) -> OnlineStatistics:  # type: ignore[override]
        x, at = host(batch.x), local.projection
        ages = local.count + np.arange(1, len(x) + 1)[:, None]
        gaps = x - (local.count * at.center + np.cumsum(x, axis=0)) / ages
        codes = gaps @ at.weights
        return OnlineStatistics(
            n=float(len(x)),
            entries=float(x.size),
            x=x.sum(axis=0),
            zx=codes.T @ gaps,
            zz=codes.T @ codes,
            xx=np.sum(gaps**2, axis=0),
            score=local.score,
        )

    def global_step(self, q: OnlinePosterior, stats: OnlineStatistics) -> OnlinePosterior:  # type: ignore[override]
        n = stats.n
        q = replace(q, center=stats.x / n, count=n, score=stats.score)
        if n <= self.warm_up:
            return q
        spread = self.project(FactorPosterior(q.loadings, q.center)).spread
        a, h = stats.zx / n, spread + stats.zz / n
        mean = np.asarray(np.linalg.solve(h, a), dtype=float)
        noise = stats.xx / n + np.sum((h @ mean) * mean - 2 * mean * a, axis=0)
        return replace(q, loadings=LeastSquares(mean, np.maximum(noise, self.floor), self.floor))

    def data_terms(self, q: OnlinePosterior, stats: OnlineStatistics) -> dict[str, float]:  # type: ignore[override]
        """Not a bound: how well each row was foretold when it came."""
        return {"prequential": q.score}

    def global_terms(self, q: OnlinePosterior) -> dict[str, float]:  # type: ignore[override]
        return {}


@dataclass(frozen=True, eq=False)
class OnlineGradient(OnlineEM):
    """Algorithm 1 of the source; its statistics are those of the latest row alone, its posterior remembers the rest."""

    learning_rate: float = 1e-3

    def global_step(self, q: OnlinePosterior, stats: OnlineStatistics) -> OnlinePosterior:  # type: ignore[override]
        count = q.count + stats.n
        center = q.center + (stats.x - stats.n * q.center) / count
        q = replace(q, center=center, count=count, score=q.score + stats.score)
        if count <= self.warm_up or q.diverged:
            return q
        mean, noise, rate = q.loadings.mean, q.loadings.noise, self.learning_rate
        spread = self.project(FactorPosterior(q.loadings, q.center)).spread
        second = (stats.n * spread + stats.zz) @ mean  # (K, D)
        with np.errstate(over="ignore", invalid="ignore"):
            uphill = (stats.zx - second) / noise
            louder = 0.5 * ((stats.xx + np.sum(mean * (second - 2 * stats.zx), axis=0)) / noise - stats.n)
            mean = mean + rate * uphill
            noise = noise * np.exp(rate * louder)
            sound = np.all(np.abs(mean) < FAR) and np.all((noise > 1 / FAR) & (noise < FAR))
        if not sound:
            return replace(q, diverged=True)
        return replace(q, loadings=LeastSquares(mean, noise, self.floor))
