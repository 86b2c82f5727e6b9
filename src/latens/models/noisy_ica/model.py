"""Noisy ICA: sensors that hear a few independent sources, each sensor under noise of its own.

    gamma_k          ~ Gamma(relevance)                        large: source k is not needed
    tau_d            ~ Gamma(noise)                            precision of sensor d
    w_kd | tau_d     ~ Normal(0, 1 / (tau_d gamma_k))          how sensor d hears source k
    z_nk             ~ Student-t(tails_k), or 1/2 Normal(-m_k, 1 - m_k^2) + 1/2 Normal(m_k, 1 - m_k^2)
    x_nd | z_n       ~ Normal(b_d + w_d'z_n, 1 / tau_d)        b: an intercept, a source that is always 1

Posterior family: q(w, tau) q(gamma) prod_n q(z_n, s_n) q(u_n), where a Student-t is a normal of precision u and a
source of two levels has a sign s (`sources`); q(z_n | s_n) has a full K x K covariance, or a diagonal one. Tails and
levels are points; with `points`, w, b and tau are too. Every update is exact.

Plain ascent freezes when noise is low, since w can move only as far as q(z) is wide. So the global step also turns
the sources and, with an intercept, shifts them, z -> T z + c, and loadings, intercept and relevances with them
(`turns`), as far as the bound rises. Statistics follow (`carry`). Mean field is not invariant under turns, and only
rescales and shifts.

Cost per iteration O(N (D K + K^3)), with missing entries O(N D K^2).

References: Attias (1999) on independent factors; Lappalainen & Miskin (2000) on ensemble learning for ICA; Liu &
Rubin (1995) on the Student-t by scale mixtures; Liu, Rubin & Wu (1998) on parameter expansion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, sized
from latens.array.linalg import log_determinant
from latens.array.packed_symmetric import unpacked
from latens.array.row_matrices import with_ones
from latens.array.transfer import column_sums, cross_sums, host, like, product_sums
from latens.core import Rows, Statistics
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance, drawn, learnt
from latens.models.gaussian_rows import (
    evidence,
    level,
    predicted_variance,
    products,
    second_with_ones,
    squares_before_rounding,
)
from latens.models.noisy_ica import coordinates
from latens.models.noisy_ica.heavy_blocks import heavy_sums, source_terms
from latens.models.noisy_ica.lost_information import code_weights, lost_information
from latens.models.noisy_ica.moves import propose, united
from latens.models.noisy_ica.posteriors import Shapes, Sources, infer
from latens.models.noisy_ica.priors import FEWEST_DEGREES, GAUSSIAN, best_split, most_of_covariance, scale_slack
from latens.models.noisy_ica.sampling import DrawnSources, SourceGuide, draw_sources, with_scales
from latens.models.noisy_ica.turns import Turning, best_turn, square
from latens.models.student_tails import best_tail

__all__ = ["IcaPosterior", "IcaStatistics", "NoisyIca"]

LEAST_TIMES_THE_NOISE = 2.0  # times the noise of one sensor: variance at all sensors of a source that may well vanish
N_WEAKEST = 2  # of so many sources that not all can be shown: which may vanish
# nats per row from which a gain tells of the turn of sources that are all but hidden in noise
LEAST_GAIN_PER_ROW = 1e-2


@record
class IcaPosterior:
    shapes: Shapes
    loadings: Relevance | PointNormalGamma = part(k="k+intercept", noises="d")  # and the noise
    turn: Floats = sized("k k;k k+intercept")  # from sources of the last statistics, and 1, to those of `loadings`
    size: Floats = sized("k")  # root mean square of each source in the rows seen

    @property
    def n_components(self) -> int:
        return len(self.size)

    @property
    def coordinate_sizes(self) -> dict[str, Any]:
        """Mixing and mean of each sensor are in its own unit (`Sized`)."""
        return {"loadings": self.loadings.coordinate_sizes(self.n_components)}

    def only(self, keep: Index) -> IcaPosterior:
        rest = np.concatenate([keep, np.arange(self.n_components, len(self.loadings.mean))])
        return IcaPosterior(self.shapes.only(keep), self.loadings.only(rest), np.eye(len(keep)), self.size[keep])

    def sample(self, rng: np.random.Generator) -> IcaPosterior:
        return replace(self, loadings=self.loadings.sample(rng))

    def signed(self, signs: Floats) -> IcaPosterior:
        """The same draw with the sign of some sources turned; signs (K,) are 1 or -1."""
        w = self.loadings
        if not isinstance(w, PointNormalGamma):
            raise TypeError("only a draw is signed.")
        rest = np.ones(len(w.mean) - self.n_components)
        return replace(self, loadings=replace(w, mean=w.mean * np.concatenate([signs, rest])[:, None]))


@record
class IcaStatistics(Statistics):
    n: float
    seen: Floats = sized("d")  # rows in which sensor d was seen
    zz: Floats = sized("1|d k+intercept k+intercept")  # sum E[z z'] over them
    zx: Floats = sized("k+intercept d")  # sum E[z] x'
    xx: Floats = sized("d")  # sum x^2
    second: Floats = sized("k k")  # sum E[z z'] over all rows
    uzz: Floats = sized("k k k")  # sum E[u_k] E[z z']: what a turn needs to be judged without rows
    zs: Floats = sized("k k")  # sum E[s_k z], row k; 0 for heavy sources
    u: Floats = sized("k")
    log_u: Floats = sized("k")
    entropy: float  # of z, s and u
    # for a shift, which an intercept allows: sums of E[z], E[u_k] E[z] and E[s_k] over all rows
    z: Floats | None = sized("k", default=None)
    uz: Floats | None = sized("k k", default=None)
    s: Floats | None = sized("k", default=None)

    @property
    def entries(self) -> Floats:
        return self.seen

    @property
    def regression(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.seen, self.zz, self.zx, self.xx

    @property
    def moments(self) -> Floats:
        """(5, K), sums that the distributions of the sources are priced by."""
        own = np.einsum("kkk->k", self.uzz)
        return np.array([np.full(len(own), self.n), self.log_u, self.u, own, np.diagonal(self.zs)])

    @property
    def affine(self) -> tuple[Floats, Floats, Floats]:
        """`second`, `uzz` and `zs` of z followed by 1, where sums for it were taken, else of z."""
        if self.z is None or self.uz is None or self.s is None:
            return self.second, self.uzz, self.zs
        k = len(self.u)
        second, uzz = np.empty((k + 1, k + 1)), np.empty((k, k + 1, k + 1))
        second[:k, :k], second[k, :k], second[:k, k], second[k, k] = self.second, self.z, self.z, self.n
        uzz[:, :k, :k], uzz[:, k, :k], uzz[:, :k, k], uzz[:, k, k] = self.uzz, self.uz, self.uz, self.u
        return second, uzz, np.concatenate([self.zs, self.s[:, None]], axis=1)

    def turned(self, turn: Floats) -> IcaStatistics:
        """Statistics of T z + c where those of z were given, `turn` being T or T and c side by side.

        u and s are left alone, so this is exact and linear. The last turn is remembered: a global step takes it, and
        is followed by `carry`.
        """
        last = self.__dict__.get("_last_turned")
        if last is None or last[0] is not turn:
            last = self.__dict__["_last_turned"] = turn, self._turned(turn)
        return last[1]

    def _turned(self, turn: Floats) -> IcaStatistics:
        k, whole = len(turn), square(turn, len(self.zx))
        second, uzz, zs = self.affine
        to = square(turn, len(second))
        second, uzz, zs = to @ second @ to.T, to @ uzz @ to.T, zs @ to.T
        known = len(second) > k
        return replace(
            self,
            zz=whole @ self.zz @ whole.T,
            zx=whole @ self.zx,
            second=second[:k, :k],
            uzz=uzz[:, :k, :k],
            zs=zs[:, :k],
            entropy=self.entropy + self.n * float(log_determinant(turn[:, :k])),
            z=second[:k, k] if known else None,
            uz=uzz[:, :k, k] if known else None,
            s=self.s,
        )

    def only(self, keep: Index) -> IcaStatistics:
        """What remains when the other sources are taken out; their entropy stays, as moves judge by an ascent."""
        rest = np.concatenate([keep, np.arange(len(self.u), len(self.zx))])
        pairs = np.ix_(keep, keep)
        return replace(
            self,
            zz=self.zz[:, rest][:, :, rest],
            zx=self.zx[rest],
            second=self.second[pairs],
            uzz=self.uzz[np.ix_(keep, keep, keep)],
            zs=self.zs[pairs],
            u=self.u[keep],
            log_u=self.log_u[keep],
            z=None if self.z is None else self.z[keep],
            uz=None if self.uz is None else self.uz[pairs],
            s=None if self.s is None else self.s[keep],
        )


@record(eq=False)
class NoisyIca:
    n_features: int
    noise: tuple[float, float | Floats] = sized("d", default=(1e-3, 1e-3))  # rates in squared units
    relevance: tuple[float, float] = (1e-3, 1e-3)
    points: bool = False
    intercept: bool = False
    diagonal: bool = False  # mean field: a diagonal covariance of each row's sources
    floor: float | Floats = sized("d", default=1e-9)  # smallest noise variance of a point estimate
    n_turns: int = 2  # steps of a turn at most, in one iteration; 0: never turn
    n_sweeps: int = 1
    both: bool = True  # whether moves may exchange the two kinds of sources
    least: int = 1  # sources that moves leave: a loose bound must not give up what the covariance shows
    rounding: Floats | None = sized("d", default=None)  # h^2 / 12 of columns in steps of h; None: there are none

    def fewest(self, q: IcaPosterior, stats: Statistics) -> IcaPosterior | None:
        return None if self.points else q.only(np.arange(0))

    def prior(self, k: int) -> IcaPosterior:
        priors: dict[int, IcaPosterior] = self.__dict__.setdefault("_priors", {})  # asked for five times in every step
        if k not in priors:
            priors[k] = self._prior(k)
        return priors[k]

    def _prior(self, k: int) -> IcaPosterior:
        d, rows = self.n_features, k + self.intercept
        shapes = Shapes(np.full(k, 4.0), np.zeros(k))
        if self.points:
            loadings: Relevance | PointNormalGamma = PointNormalGamma(np.zeros((rows, d)), np.ones(d), self.floor)
        else:
            noise = Gamma(np.full(d, self.noise[0]), np.array(np.broadcast_to(self.noise[1], (d,)), dtype=float))
            loadings = Relevance.prior(rows, d, noise, self.relevance)
        return IcaPosterior(shapes, loadings, np.eye(k), np.ones(k))

    def local_step(self, q: IcaPosterior, batch: Rows, warm: Sources | None = None) -> Sources:
        drive, gram = evidence(q.loadings, batch, q.n_components)
        return infer(q.shapes, drive, gram, warm, self.n_sweeps, self.diagonal)

    def seen_by_rows(self, q: IcaPosterior, complete: bool) -> Floats:
        """Shapes of sources, tau w, and tau w w', of complete rows only its sum over columns."""
        w, shapes = q.loadings, q.shapes
        parts = (shapes.tails, shapes.split, w.scaled[: q.n_components], w.gram if complete else w.grams)
        return np.concatenate([np.ravel(part) for part in parts])

    def code_weights(self, q: IcaPosterior) -> Floats:
        return code_weights(q)

    def lost_at_rest(self, q: IcaPosterior, batch: Rows, local: Sources, slopes: Floats) -> Floats | None:
        return lost_information(q, batch, local, slopes)

    def statistics(self, batch: Rows, local: Sources) -> IcaStatistics:
        xp, mean = array_namespace(batch.x), local.mean
        n, k = mean.shape
        full = with_ones(mean, True)
        # 1 beside z and beside u: one product has all sums of both, alone and together
        pairs = batch.weigh(local.pairs(full))
        sums = unpacked(cross_sums(with_ones(local.u, True), pairs), k + 1)
        everything = sums[k]
        zs = np.zeros((k, k))
        if local.signs is not None:
            zs[local.light] = column_sums(batch.weigh(xp.reshape(local.signed(), (n, -1)))).reshape(k, -1).T
        log_u, entropy = local.scale_sums(batch)
        zx = product_sums(batch.weigh(full if self.intercept else mean), batch.x)
        found = self._summed(batch, sums, zx, zs, log_u, entropy)
        if batch.seen is not None:
            found = replace(found, zz=products(batch, mean, local.second, lambda: everything, self.intercept))
        return replace(found, s=self._signs(batch, local)) if self.intercept and len(local.light) else found

    def _summed(
        self, batch: Rows, sums: Floats, zx: Floats, zs: Floats, log_u: Floats, entropy: float
    ) -> IcaStatistics:
        """Of sums (K + 1, K + 1, K + 1) of (u, 1) times products of (z, 1); signs are those of no light source."""
        k, size = len(zs), len(zs) + self.intercept
        everything, each = sums[k], sums[:k]
        return IcaStatistics(
            n=batch.n,
            seen=batch.counts,
            zz=everything[None, :size, :size],
            zx=zx,
            xx=squares_before_rounding(batch, self.rounding),
            second=everything[:k, :k],
            uzz=each[:, :k, :k],
            zs=zs,
            u=each[:, k, k],
            log_u=log_u,
            entropy=entropy,
            **({"z": everything[:k, k], "uz": each[:, :k, k], "s": np.zeros(k)} if self.intercept else {}),
        )

    def prepare(self, q: IcaPosterior) -> None:
        source_terms(q)

    def inferred(self, q: IcaPosterior, batch: Rows, warm: Sources | None) -> tuple[Sources, IcaStatistics] | None:
        found = None if self.diagonal or self.n_sweeps != 1 else heavy_sums(q, batch, warm)
        if found is None:
            return None
        local, sums, zx, log_u, entropy = found
        k = q.n_components
        return local, self._summed(batch, sums, zx[: k + self.intercept], np.zeros((k, k)), log_u, entropy)

    def _signs(self, batch: Rows, local: Sources) -> Floats:
        """(K,), sums of E[s] of light sources."""
        s = np.zeros(local.mean.shape[1])
        if local.signs is not None:
            s[local.light] = column_sums(batch.weigh(local.sign))
        return s

    def global_step(self, q: IcaPosterior, stats: IcaStatistics) -> IcaPosterior:
        """Tails, loadings and noise, then the turn and levels: each where the bound is highest given the others."""
        k, n = q.n_components, max(stats.n, np.finfo(float).tiny)
        turn = np.eye(k, k + self.intercept)
        prior, shapes, light = self.prior(k).loadings, q.shapes, q.shapes.light
        tails = best_tail((stats.log_u - stats.u) / n, FEWEST_DEGREES, GAUSSIAN)
        shapes = replace(shapes, tails=np.where(shapes.split > 0, shapes.tails, tails))
        loadings = prior.observe(*stats.regression, current=q.loadings)
        if self.n_turns and stats.n > 0 and k:
            turn = self._turn(shapes, loadings, stats, self.trusted(q))
            stats = stats.turned(turn)
            axes = np.asarray(np.linalg.inv(square(turn, len(loadings.mean))).T, dtype=float)
            loadings = prior.observe(*stats.regression, current=loadings.with_relevances_at(axes, prior))
        own = np.diagonal(stats.second) / n
        if len(light):
            split = shapes.split.copy()
            split[light] = best_split(stats.zs[light, light] / n, own[light])
            shapes = replace(shapes, split=split)
        return IcaPosterior(shapes, loadings, turn, np.sqrt(np.maximum(own, 1e-300)))

    def carry(self, stats: IcaStatistics, old: IcaPosterior, new: IcaPosterior) -> IcaStatistics:
        return stats.turned(new.turn)

    def coordinates(self, q: IcaPosterior) -> Floats:
        return coordinates.coordinates(q)

    def trusted(self, q: IcaPosterior) -> float:
        """Next to nothing where noise is small: what the bound misses, a turn may change, is what noise hides."""
        return LEAST_GAIN_PER_ROW * float(np.mean(1 / (1 + self.strength(q)) ** 2)) if q.n_components else 0.0

    def scales(self, q: IcaPosterior) -> NDArray[np.bool_]:
        return coordinates.scales(q)

    def at(self, q: IcaPosterior, x: Floats) -> IcaPosterior:
        return coordinates.at(q, x)

    def products(self, q: IcaPosterior, stats: IcaStatistics, moves: Floats) -> Floats:
        return coordinates.products(q, stats.n, moves)

    def data_terms(self, q: IcaPosterior, stats: IcaStatistics) -> dict[str, float]:
        return {
            "likelihood": q.loadings.log_likelihood(*stats.regression),
            "sources": float(np.sum(q.shapes.prices() * stats.moments)),
            "entropy": stats.entropy,
        }

    def global_terms(self, q: IcaPosterior) -> dict[str, float]:
        return {"kl_loadings": -q.loadings.kl(self.prior(q.n_components).loadings)}

    def slopes(self, q: IcaPosterior, stats: IcaStatistics) -> dict[str, Any]:
        prior = self.prior(q.n_components)
        return {
            "shapes": q.shapes.slopes(stats.n, *stats.moments[1:]),
            "loadings": q.loadings.slopes(prior.loadings, *stats.regression),
        }

    def cannot_sample(self, q: IcaPosterior) -> str:
        return "maximum likelihood has no posterior to draw from; fit with prior='ard'" if self.points else ""

    def anneals_with_holes(self, q: IcaPosterior) -> bool:
        return True

    def draw_codes(
        self, point: IcaPosterior, batch: Rows, last: DrawnSources | None, rng: np.random.Generator
    ) -> DrawnSources:
        """Sources of each row given loadings and noise, from their last scales and signs."""
        return draw_sources(point, batch, last, rng)

    def draw_statistics(
        self, point: IcaPosterior, batch: Rows, local: DrawnSources, rng: np.random.Generator
    ) -> IcaStatistics:
        """Sums over rows of drawn sources; what only a bound or a turn asks for is 0."""
        z, k = local.mean, local.mean.shape[1]
        second = z.T @ z
        zz = products(batch, z, lambda: z[:, :, None] * z[:, None, :], lambda: second, self.intercept)
        zx, none = host(with_ones(z, self.intercept).T @ batch.x), np.zeros(k)
        uzz, zs = np.zeros((k, k, k)), np.zeros((k, k))
        xx = squares_before_rounding(batch, self.rounding)
        return IcaStatistics(batch.n, batch.counts, zz, zx, xx, second, uzz, zs, none, none, 0.0)

    def draw_globals(self, point: IcaPosterior, stats: IcaStatistics, rng: np.random.Generator) -> IcaPosterior:
        """Relevances given loadings, then loadings and noise; tails and levels are points and stay."""
        prior, k = self.prior(point.n_components).loadings, point.n_components
        if not isinstance(prior, Relevance) or not isinstance(point.loadings, PointNormalGamma):
            raise TypeError("points have no posterior to draw from.")
        root_mean_square = np.sqrt(np.maximum(np.diagonal(stats.second) / max(stats.n, 1.0), 1e-300))  # of the sources
        loadings = prior.draw_given(stats.regression, point.loadings, rng)
        return IcaPosterior(point.shapes, loadings, np.eye(k), root_mean_square)

    def cannot_anneal(self, q: IcaPosterior) -> str:
        return self.cannot_sample(q)

    def log_states(self, batch: Rows, q: IcaPosterior) -> float:
        return 0.0  # p(sources) is there from the beginning

    def at_codes(self, q: IcaPosterior, codes: Floats, rng: np.random.Generator) -> DrawnSources:
        """With a draw of their scales and signs."""
        return with_scales(q.shapes, codes, rng)

    def guide(self, q: IcaPosterior, batch: Rows) -> SourceGuide:
        local = self._settled(q, batch)
        return SourceGuide.about(q.shapes, host(local.mean), host(local.second()))

    def draw_at(
        self, t: float, point: IcaPosterior, batch: Rows, last: Any, rng: np.random.Generator, guide: Any = None
    ) -> tuple[DrawnSources, IcaStatistics]:
        """The density of rows given sources goes to the power t, that of sources from the guide's to the prior's."""
        local = draw_sources(point, batch, last, rng, t, guide)
        return local, self.draw_statistics(point, batch, local, rng)

    def proper(self, q: IcaPosterior) -> Self:
        noise, relevance = learnt(q.loadings).about()
        return replace(self, noise=noise, relevance=relevance)

    def draw_prior(self, q: IcaPosterior, rng: np.random.Generator) -> IcaPosterior:
        """With the tails and levels of q, which are points."""
        return replace(q, loadings=learnt(self.prior(q.n_components).loadings).draw(rng))

    def log_prior(self, point: IcaPosterior) -> float:
        return learnt(self.prior(point.n_components).loadings).log_density_at(drawn(point.loadings))

    def redraw(self, point: IcaPosterior, stats: IcaStatistics, rng: np.random.Generator) -> IcaPosterior:
        return self.draw_globals(point, stats, rng)

    def log_tempered(self, point: IcaPosterior, stats: IcaStatistics) -> float:
        return self.data_terms(point, stats)["likelihood"]

    def codes(self, batch: Rows, local: Sources) -> tuple[Array, Array]:
        return local.mean, local.variance

    def log_predictive(self, q: IcaPosterior, batch: Rows, local: Sources) -> Array:
        """The row's own bound: the integral over Student-t sources has no closed form."""
        return self.row_bounds(q, batch, local)

    def score_is_bound(self, q: IcaPosterior) -> bool:
        return True

    def row_bounds(self, q: IcaPosterior, batch: Rows, local: Sources) -> Array:
        """(n,), each row's part of the bound; weighted, they add up to `data_terms`."""
        xp, mean, u = array_namespace(batch.x), local.mean, local.u
        drive, gram = evidence(q.loadings, batch, q.n_components)
        second = local.second()
        one, log_u, alone, square, signed = (like(price, batch.x) for price in q.shapes.prices())
        priced = one + log_u * local.log_u + alone * u + square * u * xp.linalg.diagonal(second)
        each = xp.sum(mean * drive + priced + signed * local.own_signed, axis=1)
        flat = level(q.loadings, batch, q.n_components, self.rounding)
        return flat + each - 0.5 * xp.sum(gram * second, axis=(1, 2)) + local.entropy

    def impute(self, q: IcaPosterior, batch: Rows, local: Sources) -> tuple[Array, Array]:
        mean = local.mean
        second = local.second()
        filled = self.reconstruct(q, mean)
        full = second_with_ones(second, mean, self.intercept)
        return filled, predicted_variance(q.loadings, full, filled, batch.x)

    def reconstruct(self, q: IcaPosterior, codes: Array) -> Array:
        return with_ones(codes, self.intercept) @ like(q.loadings.mean, codes)

    def draw(self, q: IcaPosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and sources under one draw of the globals."""
        point = q.sample(rng)
        codes = point.shapes.draw(n, rng)
        noise = rng.normal(size=(n, self.n_features)) * np.sqrt(point.loadings.mean_noise)
        return self.reconstruct(point, codes) + noise, codes

    def importance(self, q: IcaPosterior, stats: IcaStatistics) -> Floats:
        """(K,), share of the model's variance; 0 for a source that explains less than its loadings cost."""
        k, w = q.n_components, q.loadings
        each = q.size**2 * np.sum(w.mean[:k] ** 2, axis=1)
        share: Floats = np.maximum(each / (each.sum() + np.sum(w.mean_noise)), np.finfo(float).tiny)
        if self.points:
            return share
        explained = stats.n * np.log1p(self.strength(q))
        return np.where(explained > self.n_features, share, 0.0)

    def strength(self, q: IcaPosterior) -> Floats:
        """(K,), variance that each source makes at all sensors, in units of their noise."""
        power: Floats = q.size**2 * np.sum(q.loadings.tau * q.loadings.mean[: q.n_components] ** 2, axis=1)
        return power

    def fading(self, q: IcaPosterior, stats: IcaStatistics) -> NDArray[np.bool_]:
        """And the weakest of more sources than any covariance can show, most of which are seldom there."""
        strength = self.strength(q)
        faint = (strength < LEAST_TIMES_THE_NOISE) | (self.importance(q, stats) == 0)
        if q.n_components > most_of_covariance(self.n_features):
            faint[np.argsort(strength, kind="stable")[:N_WEAKEST]] = True
        return np.asarray(faint)

    def exact_local(self, q: IcaPosterior) -> bool:
        return False

    def floats_per_row(self, k: int) -> int:
        # of three K x K numbers of a row half: arrays (n, K) of fewer rows are done before another thread is awake
        return 3 * (k + 1) ** 2 // 2

    def candidates(
        self, q: IcaPosterior, stats: IcaStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[IcaPosterior]:
        return propose(self, q, stats, sample)

    def united(self, one: IcaPosterior, other: IcaPosterior) -> IcaPosterior:
        return united(one, other)

    def looseness(self, q: IcaPosterior, sample: Rows, n: float) -> float:
        """Nats that the bound loses by taking heavy sources and their scales as independent."""
        local = self._settled(q, sample)
        heavy = np.flatnonzero(q.shapes.split == 0)
        return n * float(scale_slack(q.shapes.tails[heavy], local.mean[:, heavy], local.variance[:, heavy]).sum())

    def _settled(self, q: IcaPosterior, batch: Rows) -> Sources:
        local = self.local_step(q, batch)
        for _ in range(2):  # scales settle
            local = self.local_step(q, batch, local)
        return local

    def _turn(
        self, shapes: Shapes, loadings: Relevance | PointNormalGamma, stats: IcaStatistics, least: float
    ) -> Floats:
        prices, (_, uzz, zs) = shapes.prices(), stats.affine
        rows = zs.shape[1]
        turning = Turning(
            n=stats.n,
            quadratic=-2 * prices[3][:, None, None] * uzz,
            linear=prices[4][:, None] * zs,
            gram=loadings.gram[:rows, :rows],
        )
        if not self.points:
            turning = replace(turning, columns=self.n_features, relevance=self.relevance)
        return best_turn(turning, self.n_turns, least, sizes_only=self.diagonal)
