"""Factor analysis of streams in O(D K) memory: one that keeps up with maximum likelihood, and two as first printed.

    TransportFactors    EM whose statistics are carried from each posterior to the next, so that no row grows stale
    OnlineEM            each row's factors inferred once, its sums kept for ever: F = A H^-1 with running averages
    OnlineGradient      a gradient step of log p(x_t) for every row, in F and log psi

`OnlineEM` and `OnlineGradient` start at orthonormal loadings and unit noise in the units of the data and leave both
alone for `warm_up` rows. When the data's variance is far above 1, the sums of that time are far too large, F = A H^-1
does not feel that both A and H decay as 1/t, and the loadings stay frozen until about warm_up times the mean
eigenvalue of the sum of m m' of those rows. They are for comparison. Cost O(D K^2) a row, one after another.

References: Cappe & Moulines (2009) on online EM.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from latens.array import Floats
from latens.array.fields import part, record, sized
from latens.array.linalg import log_determinant
from latens.array.transfer import host
from latens.core import Rows, Statistics
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.factor_analysis.model import FactorAnalysisPosterior, Factors, FactorStatistics
from latens.models.factor_analysis.sums import smallest_noise

__all__ = [
    "STEP_RULES",
    "GradientStatistics",
    "OnlineEM",
    "OnlineGradient",
    "OnlinePosterior",
    "OnlineStatistics",
    "TransportFactors",
]

Point = tuple[Floats, Floats, Floats]  # mean of the rows, loadings, noise
STEP_RULES = ("sgd", "momentum", "adagrad", "adam")  # how a gradient becomes a step; the first is the printed one

DIVERGED_BEYOND = 1e100  # beyond it squares overflow: a gradient ascent that comes here has diverged


@record(eq=False)
class TransportFactors(Factors):
    def global_step(self, q: FactorAnalysisPosterior, stats: FactorStatistics) -> FactorAnalysisPosterior:
        """Of complete rows mean and variance are known: the step is about the one, with a floor from the other."""
        center, second = stats.x / stats.n, stats.xx / stats.n
        floor = smallest_noise(np.maximum(second - center**2, 0.0), second)
        if not isinstance(q.loadings, PointNormalGamma):
            raise TypeError("a stream of point estimates cannot go on from a posterior of loadings.")
        there = replace(q, loadings=replace(q.loadings, floor=floor), center=center)
        return super().global_step(there, _recentred(stats, q, center))

    def carry(
        self, stats: FactorStatistics, old: FactorAnalysisPosterior, new: FactorAnalysisPosterior
    ) -> FactorStatistics:
        """Statistics as if every past row had been seen under `new`.

        What is known of the rows' covariance S is S P. The model's own covariance M is the control variate:
        S P' = M P' + (S - M) P', and the second part is regressed on what is known, (S - M) P.
        """
        stats, n = _recentred(stats, old, new.center), stats.n
        before, after = old.projection, new.projection
        known = stats.zx.T - np.outer(new.center, stats.z[:, 0])  # (D, K), sum (x - center) E[h]'
        model, target = _times(new, before.weights), _times(new, after.weights)
        regression = np.linalg.lstsq(before.weights.T @ model, before.weights.T @ target, rcond=1e-10)[0]
        zx = n * target + (known - n * model) @ regression  # (D, K), about the new centre
        z = (stats.x - n * new.center) @ after.weights
        zz = after.weights.T @ zx
        zz = 0.5 * (zz + zz.T) + n * after.spread
        codes = 0.5 * (n * (float(log_determinant(after.spread)) + len(zz)) - float(np.trace(zz)))
        return replace(stats, z=z[:, None], zx=zx.T + np.outer(z, new.center), zz=zz[None], codes=codes)


def _recentred(stats: FactorStatistics, q: FactorAnalysisPosterior, center: Floats) -> FactorStatistics:
    """As if every past row had been seen under q with another centre: all its E[h] move by the same."""
    step = (center - q.center) @ q.projection.weights
    cross = np.outer(stats.z[:, 0], step)
    zz = stats.zz[0] - cross - cross.T + stats.n * np.outer(step, step)
    codes = stats.codes + 0.5 * float(np.trace(stats.zz[0] - zz))
    return replace(
        stats, z=stats.z - stats.n * step[:, None], zx=stats.zx - np.outer(step, stats.x), zz=zz[None], codes=codes
    )


def _times(q: FactorAnalysisPosterior, columns: Floats) -> Floats:
    """The model's covariance times (D, K)."""
    w = q.loadings.mean
    return w.T @ (w @ columns) + columns / q.loadings.tau[:, None]


@record
class OnlinePosterior(FactorAnalysisPosterior):
    """Points, about the mean of the rows so far."""

    loadings: PointNormalGamma = part(noises="d")
    count: float = 0.0
    score: float = 0.0  # sum of the log densities of rows, each under the posterior before it
    diverged: bool = False


@record
class OnlineStatistics(Statistics):
    n: float
    entries: float
    x: Floats = sized("d")  # sum x
    zx: Floats = sized("k d")  # sum m d', where d is a row less the mean that includes it
    zz: Floats = sized("k k")  # sum m m'
    xx: Floats = sized("d")  # sum d^2
    score: float  # sum of log densities

    @property
    def walked(self) -> tuple[str, ...]:
        """What a walk over rows changes in place."""
        return ("zx", "zz", "xx")


@record
class GradientStatistics(OnlineStatistics):
    """With what a rule other than SGD remembers of earlier gradients, in F and, in the last row, in log psi."""

    pace: Floats = sized("k+1 d")
    squares: Floats = sized("k+1 d")

    @property
    def walked(self) -> tuple[str, ...]:
        return (*super().walked, "pace", "squares")


@record(eq=False)
class OnlineEM(Factors):
    """Algorithm 2 of the source.

    V = (I + F Psi^-1 F')^-1      m_t = V F Psi^-1 d_t      d_t = x_t - mean of x_1 .. x_t      (F is K x D)
    A = 1/t sum_s m_s d_s'        H = V + 1/t sum_s m_s m_s'
    F = H^-1 A                    psi = 1/t sum_s d_s^2 + diag(F'H F - 2 F'A)
    """

    warm_up: int = 100

    def prior(self, k: int) -> OnlinePosterior:
        d = self.n_features
        return OnlinePosterior(PointNormalGamma(np.zeros((k, d)), np.ones(d), self.floor), np.zeros(d))

    def walk(
        self, q: OnlinePosterior, stats: OnlineStatistics | None, batch: Rows
    ) -> tuple[OnlinePosterior, OnlineStatistics]:
        """Under its posterior a row enters the sums; then, after the warm-up, the next posterior is made."""
        if stats is None:
            q = replace(q, count=0.0, score=0.0, diverged=False)  # it may come from an earlier walk
        x, (k, d) = np.ascontiguousarray(host(batch.x)), q.loadings.mean.shape
        old = stats or self._nothing(k, d)
        point = np.array(q.center), np.array(q.loadings.mean, order="C"), np.array(q.loadings.noise)
        sums = {name: np.array(getattr(old, name), order="C") for name in old.walked}
        score, diverged = self._pass(x, q, point, sums)
        n, score = q.count + len(x), q.score + score
        center, mean, noise = point
        q = OnlinePosterior(PointNormalGamma(mean, noise, self.floor), center, n, score, diverged)
        return q, replace(old, n=n, entries=n * d, x=old.x + x.sum(axis=0), score=score, **sums)

    def _nothing(self, k: int, d: int) -> OnlineStatistics:
        """The sums of no rows."""
        return OnlineStatistics(0.0, 0.0, np.zeros(d), np.zeros((k, d)), np.zeros((k, k)), np.zeros(d), 0.0)

    def _pass(self, x: Floats, q: OnlinePosterior, point: Point, sums: dict[str, Floats]) -> tuple[float, bool]:
        """The sum of the rows' log densities and whether it diverged; `point` and `sums` are changed in place."""
        from latens.array.kernels.online_factors.rows_numba import em_rows

        return em_rows(x, q.count, self.warm_up, self.floor, *point, *sums.values()), False

    def data_terms(self, q: FactorAnalysisPosterior, stats: object) -> dict[str, float]:
        """Not a bound: the prequential log score, the sum of the log densities of rows before they were learnt from."""
        if not isinstance(q, OnlinePosterior):
            raise TypeError(f"a {type(q).__name__} does not know how well rows were predicted.")
        return {"prequential": q.score}

    def global_terms(self, q: FactorAnalysisPosterior) -> dict[str, float]:
        return {}


@record(eq=False)
class OnlineGradient(OnlineEM):
    """Algorithm 1 of the source, with V, m_t and d_t as above; of the sums it needs none.

    F       +  rate ((m_t d_t' - S F) Psi^-1)                                S = V + m_t m_t'
    log psi +  rate / 2 ((d_t^2 + diag(F'S F - 2 F'm_t d_t')) / psi - 1)

    `step_rule` makes another step of the same gradient, by momentum, AdaGrad or Adam.
    """

    learning_rate: float = 1e-3
    step_rule: str = "sgd"

    def _nothing(self, k: int, d: int) -> OnlineStatistics | GradientStatistics:
        sums = super()._nothing(k, d)
        if self.step_rule == "sgd":
            return sums
        own = {one.name: getattr(sums, one.name) for one in fields(sums)}
        return GradientStatistics(**own, pace=np.zeros((k + 1, d)), squares=np.zeros((k + 1, d)))

    def _pass(self, x: Floats, q: OnlinePosterior, point: Point, sums: dict[str, Floats]) -> tuple[float, bool]:
        from latens.array.kernels.online_factors.rows_numba import gradient_rows

        none = np.zeros((0, 0))
        known = {"pace": none, "squares": none, **sums}
        options = (self.warm_up, self.learning_rate, STEP_RULES.index(self.step_rule), DIVERGED_BEYOND, not q.diverged)
        ordered = (known[name] for name in ("zx", "zz", "xx", "pace", "squares"))
        score, sound = gradient_rows(x, q.count, *options, *point, *ordered)
        return score, not sound
