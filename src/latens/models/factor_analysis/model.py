"""Factor analysis: many correlated columns driven by a few hidden factors, each column with its own noise.

    alpha_k          ~ Gamma(relevance)                        large: factor k is not needed
    tau_d            ~ Gamma(noise)                            precision of column d
    w_kd | tau_d     ~ Normal(0, 1 / (tau_d alpha_k))
    h_n              ~ Normal(0, I_K)
    x_nd | h_n       ~ Normal(c_d + w_d'h_n, 1 / tau_d)

Posterior family: q(w, tau) q(alpha) prod_n q(h_n), the mean c a point; with `points`, w and tau are points too
(EM) and the bound is the log-likelihood. q(h_n) is the exact Gaussian given the globals. Complete rows share one
map from x to q(h), so that a covariance matrix is as good a batch as the rows it was summed from: `ExactFactors`
compresses rows to it, once they are as many as their columns. Missing entries drop out of every sum.

Cost per iteration O(N D K) on rows, O(D^2 K) on a covariance, O(N D K^2) on rows with missing entries.

References: Rubin & Thayer (1982); Ghahramani & Beal (2000); Zhao & Yu (2009) on the prior in units of the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from latens.array import Array, Floats, Index
from latens.array.fields import part, positive_definite, real, record, sized
from latens.array.linalg import inverse, log_determinant
from latens.array.row_matrices import times_rows
from latens.array.transfer import column_sums, host, like, total
from latens.core import Rows, Statistics
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import LOG_2PI, PointNormalGamma
from latens.families.relevance import Relevance, drawn, learnt
from latens.models.factor_analysis.lost_information import code_weights, lost_information
from latens.models.factor_analysis.missing_patterns import HolePatterns
from latens.models.factor_analysis.newton import most_likely
from latens.models.factor_analysis.sums import Covariance, Scatter
from latens.models.factor_analysis.sums_wide import FewRows, rows_or_sums

__all__ = ["ExactFactors", "FactorAnalysisPosterior", "FactorCodes", "FactorStatistics", "Factors", "Projection"]

# nats of likelihood ratio per loading: factors that are off end near 0, those that are on well above 1
LEAST_NATS_PER_LOADING = 0.1


@record
class FactorAnalysisPosterior:
    loadings: PointNormalGamma | Relevance = part(noises="d")  # and the noise
    center: Floats = real("d")

    @property
    def n_components(self) -> int:
        return len(self.loadings.mean)

    def only(self, keep: Index) -> Self:
        return replace(self, loadings=self.loadings.only(keep))

    def sample(self, rng: np.random.Generator) -> Self:
        return replace(self, loadings=self.loadings.sample(rng))

    @cached_property
    def projection(self) -> Projection:
        """The map from complete rows to their factors."""
        return self.shown(None)

    @property
    def column_sizes(self) -> Floats:
        """(D,), standard deviations of the columns under the model, in the units that it is in."""
        return self.loadings.column_sizes()

    @property
    def coordinate_sizes(self) -> dict[str, Any]:
        """What coordinates of loadings and mean are in, so that units of columns do not matter (`Sized`)."""
        return {"loadings": self.loadings.coordinate_sizes(), "center": self.column_sizes}

    def turned(self, rotation: Floats) -> Self:
        """Points with their factors in other axes: h @ rotation (K, K) describes the rows as h did."""
        w = self.loadings
        return replace(self, loadings=PointNormalGamma(rotation.T @ w.mean, w.mean_noise))

    def shown(self, columns: NDArray[np.bool_] | None) -> Projection:
        """The map from rows that show some columns only, or all."""
        w = self.loadings
        gram = w.gram if columns is None else np.sum(w.grams[columns], axis=0)
        spread = inverse(np.eye(self.n_components) + gram)
        weights = (w.tau * w.mean).T if columns is None else (columns * w.tau * w.mean).T
        return Projection(weights @ spread, spread, self.center)

    @property
    def low_rank(self) -> tuple[Floats, Floats]:
        """Loadings (K, D) and the diagonal (D,) of the predictive covariance, uncertainty of the loadings included."""
        w = self.loadings
        uncertain = np.trace(w.spread, axis1=1, axis2=2)
        return w.mean, w.mean_noise * (1 + uncertain)


@dataclass(frozen=True)
class FactorCodes:
    """q(h) row by row."""

    mean: Array = real("n k")
    spread: Array = positive_definite("1|n k k")

    def reorder(self, order: Index) -> FactorCodes:
        """Codes of row order[n] for row n, of drawn codes."""
        return FactorCodes(self.mean[order], self.spread)


@dataclass(frozen=True)
class Projection:
    """q(h) of all rows at once: mean P'(x - center), covariance V."""

    weights: Floats  # (D, K)
    spread: Floats  # (K, K)
    center: Floats  # (D,)


@dataclass(frozen=True)
class Projections:
    """The same for each pattern of holes."""

    maps: tuple[Projection, ...]


@record
class FactorStatistics(Statistics):
    n: float
    seen: Floats = sized("1|d")  # rows in which column d was seen
    x: Floats = sized("d")  # sum x
    xx: Floats = sized("d")  # sum x^2
    z: Floats = sized("k 1|d")  # sum E[h] over the rows where column d was seen
    zx: Floats = sized("k d")  # sum E[h] x'
    zz: Floats = sized("1|d k k")  # sum E[hh'] likewise
    codes: float  # minus sum KL(q(h_n) || Normal(0, I))

    @property
    def entries(self) -> float:
        return float(np.broadcast_to(self.seen, self.x.shape).sum())

    def about(self, center: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums of the regression of x - center on h."""
        moved = self.xx - 2 * center * self.x + self.seen * center**2
        return self.seen, self.zz, self.zx - self.z * center, np.maximum(moved, 0.0)

    def only(self, keep: Index) -> FactorStatistics:
        """What remains when the other factors are taken out."""
        return replace(self, z=self.z[keep], zx=self.zx[keep], zz=self.zz[:, keep][:, :, keep])


@record(eq=False)
class Factors:
    n_features: int
    noise: tuple[float, float | Floats] = sized("d", default=(1e-3, 1e-3))  # rates in squared units
    relevance: tuple[float, float] = (1e-3, 1e-3)
    points: bool = True
    floor: float = 1e-6  # smallest noise of a point estimate that no start has set
    thorough: bool = True  # whether moves try each deletion, or only those of all factors and of the ones turned off

    def prior(self, k: int) -> FactorAnalysisPosterior:
        d = self.n_features
        if self.points:
            return FactorAnalysisPosterior(PointNormalGamma(np.zeros((k, d)), np.ones(d), self.floor), np.zeros(d))
        noise = Gamma(np.full(d, self.noise[0]), np.broadcast_to(np.asarray(self.noise[1], dtype=float), (d,)))
        return FactorAnalysisPosterior(Relevance.prior(k, d, noise, self.relevance), np.zeros(d))

    def local_step(
        self, q: FactorAnalysisPosterior, batch: Rows | Covariance, warm: object = None
    ) -> FactorCodes | Projection | Projections:
        """Of rows, of the rows behind a covariance, or of those behind each pattern of holes."""
        w, k = q.loadings, q.n_components
        if isinstance(batch, Scatter) and batch.patterns is not None:
            return Projections(tuple(q.shown(columns) for columns in batch.patterns.shown))
        if isinstance(batch, FewRows) and not batch.complete:
            batch = batch.rows
        if not isinstance(batch, Rows):
            return q.projection
        x, xp = batch.x, array_namespace(batch.x)
        gaps = (x - like(q.center, x)) * batch.mask
        if batch.seen is None:
            local = q.projection
            return FactorCodes(gaps @ like(local.weights, x), like(local.spread[None], x))
        grams = batch.mask @ like(w.grams.reshape(self.n_features, k * k), x)
        precision = xp.reshape(grams, (len(batch), k, k)) + like(np.eye(k), x)
        spread = xp.linalg.inv(precision)
        spread = 0.5 * (spread + xp.matrix_transpose(spread))
        drive = gaps @ like((w.tau * w.mean).T, x)
        return FactorCodes(times_rows(spread, drive), spread)

    def statistics(self, batch: Rows | Covariance, local: FactorCodes | Projection | Projections) -> FactorStatistics:
        if isinstance(local, Projections) and isinstance(batch, Scatter) and batch.patterns is not None:
            return _summed_by_pattern(batch.patterns, local.maps)
        if isinstance(local, Projection) and not isinstance(batch, Rows):
            return summed_over(batch, local)
        rows = batch.rows if isinstance(batch, FewRows) else batch
        if isinstance(local, FactorCodes) and isinstance(rows, Rows):
            return _row_sums(rows, local)
        raise TypeError(f"a {type(local).__name__} is no local posterior of a {type(batch).__name__}.")

    def global_step(self, q: FactorAnalysisPosterior, stats: FactorStatistics) -> FactorAnalysisPosterior:
        """The mean given the loadings, then the loadings and the noise given the mean."""
        seen = np.maximum(stats.seen, np.finfo(float).tiny)
        center = (stats.x - np.sum(q.loadings.mean * stats.z, axis=0)) / seen
        prior = self.prior(len(stats.zx)).loadings
        if isinstance(prior, PointNormalGamma) and isinstance(q.loadings, PointNormalGamma):
            prior = replace(prior, floor=q.loadings.floor)
        return FactorAnalysisPosterior(prior.observe(*stats.about(center), current=q.loadings), center)

    def expanded(self, q: FactorAnalysisPosterior, stats: FactorStatistics) -> FactorAnalysisPosterior:
        """The same model of the rows in other axes of its factors: those that relevances and codes agree with best.

        Codes h -> A h and loadings w -> A'^-1 w leave likelihoods alone. The bound is highest where sum E[hh'] = N 1
        and sum_d E[tau_d w_d w_d'] is diagonal (Luttinen & Ilin, 2010); plain ascent turns towards it by ever smaller
        steps. Of rows with missing entries the first sum is guessed from those of single columns.
        """
        w = q.loadings
        if not isinstance(w, Relevance) or not q.n_components or not stats.n > 0:
            return q
        second = stats.zz.sum(axis=0) / max(float(np.broadcast_to(stats.seen, stats.zz.shape[:1]).sum()), 1e-300)
        try:
            root = np.linalg.cholesky(second)
        except np.linalg.LinAlgError:  # rows that say nothing, or too few of them
            return q
        axes = _in_place(np.linalg.eigh(root.T @ w.gram @ root)[1].T)
        return replace(q, loadings=w.transformed(axes @ root.T, self.prior(q.n_components).loadings))

    def data_terms(self, q: FactorAnalysisPosterior, stats: FactorStatistics) -> dict[str, float]:
        return {"likelihood": q.loadings.log_likelihood(*stats.about(q.center)), "codes": float(stats.codes)}

    def global_terms(self, q: FactorAnalysisPosterior) -> dict[str, float]:
        return {"kl_loadings": -q.loadings.kl(self.prior(q.n_components).loadings)}

    def slopes(self, q: FactorAnalysisPosterior, stats: FactorStatistics) -> dict[str, Any]:
        w = q.loadings
        left = stats.x - stats.seen * q.center - np.sum(w.mean * stats.z, axis=0)
        return {
            "loadings": w.slopes(self.prior(q.n_components).loadings, *stats.about(q.center)),
            "center": w.tau * left,
        }

    def code_weights(self, q: FactorAnalysisPosterior) -> Floats:
        return code_weights(q)

    def lost_information(self, q: FactorAnalysisPosterior, batch: Rows | Covariance, slopes: Floats) -> Floats | None:
        return lost_information(q, batch, slopes)

    def codes(self, batch: Rows, local: FactorCodes) -> tuple[Array, Array]:
        xp = array_namespace(local.mean)
        return local.mean, xp.zeros_like(local.mean) + xp.linalg.diagonal(local.spread)

    def log_predictive(self, q: FactorAnalysisPosterior, batch: Rows, local: FactorCodes) -> Array:
        """log Normal(x | c, W'W + diag), the diagonal with the uncertainty of the loadings, in low-rank algebra."""
        mean, noise = q.low_rank
        at = replace(q, loadings=PointNormalGamma(mean, noise))
        return self.row_bounds(at, batch, self._row_codes(at, batch))

    def score_is_bound(self, q: FactorAnalysisPosterior) -> bool:
        return False

    def row_bounds(self, q: FactorAnalysisPosterior, batch: Rows, local: FactorCodes) -> Array:
        """(n,), each row's part of the bound; weighted, they add up to `data_terms`."""
        xp, x, w, k = array_namespace(batch.x), batch.x, q.loadings, q.n_components
        gaps = (x - like(q.center, x)) * batch.mask
        if batch.seen is None:
            gram = like(w.gram.reshape(1, k * k), x)
        else:
            gram = batch.mask @ like(w.grams.reshape(self.n_features, k * k), x)
        second = local.spread + local.mean[:, :, None] * local.mean[:, None, :]
        drive = xp.sum(local.mean * (gaps @ like((w.tau * w.mean).T, x)), axis=1)
        pairs = xp.sum(gram * xp.reshape(second, (len(batch), k * k)), axis=1)
        level = batch.mask @ like(w.log_tau - LOG_2PI, x) - gaps**2 @ like(w.tau, x)
        return 0.5 * (level - pairs) + drive + _minus_kl(local)

    def impute(self, q: FactorAnalysisPosterior, batch: Rows, local: FactorCodes) -> tuple[Array, Array]:
        xp, w, k = array_namespace(batch.x), q.loadings, q.n_components
        noise = w.mean_noise
        products = w.mean.T[:, :, None] * w.mean.T[:, None, :] + noise[:, None, None] * w.spread
        second = xp.reshape(local.spread + local.mean[:, :, None] * local.mean[:, None, :], (len(batch), k * k))
        square = second @ like(products.reshape(self.n_features, k * k).T, batch.x)
        shift = local.mean @ like(w.mean, batch.x)
        return self.reconstruct(q, local.mean), (square - shift**2) + like(noise, batch.x)

    def reconstruct(self, q: FactorAnalysisPosterior, codes: Array) -> Array:
        return codes @ like(q.loadings.mean, codes) + like(q.center, codes)

    def draw(self, q: FactorAnalysisPosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and factors under one draw of the globals."""
        point = q.sample(rng)
        codes = rng.standard_normal((n, q.n_components))
        rows = self.reconstruct(point, codes)
        return rows + rng.standard_normal(rows.shape) * np.sqrt(point.loadings.mean_noise), codes

    def cannot_sample(self, q: FactorAnalysisPosterior) -> str:
        return "maximum likelihood has no posterior to draw from; fit with prior='ard'" if self.points else ""

    def anneals_with_holes(self, q: FactorAnalysisPosterior) -> bool:
        return True

    def draw_codes(
        self, point: FactorAnalysisPosterior, batch: Rows, last: Any, rng: np.random.Generator
    ) -> FactorCodes:
        """Factors of each row given mean, loadings and noise."""
        local = self._row_codes(point, batch)
        root = np.linalg.cholesky(host(local.spread))
        mean = host(local.mean)
        noise = rng.standard_normal(mean.shape)
        return FactorCodes(
            mean + np.einsum("nij,nj->ni", np.broadcast_to(root, (len(mean), *root.shape[1:])), noise),
            np.zeros((1, *root.shape[1:])),
        )

    def draw_statistics(
        self, point: FactorAnalysisPosterior, batch: Rows, local: FactorCodes, rng: np.random.Generator
    ) -> FactorStatistics:
        """Sums over rows of drawn factors; points have no entropy, and it is not asked for."""
        with np.errstate(divide="ignore"):
            spread = np.zeros((1 if batch.seen is None else len(batch), *local.spread.shape[1:]))
            return replace(self.statistics(batch, replace(local, spread=spread)), codes=0.0)

    def draw_globals(
        self, point: FactorAnalysisPosterior, stats: FactorStatistics, rng: np.random.Generator
    ) -> FactorAnalysisPosterior:
        """The mean, of which nothing is known before, given the rest; relevances; then loadings and noise."""
        prior, w = self.prior(len(stats.zx)).loadings, point.loadings
        if not isinstance(prior, Relevance) or not isinstance(w, PointNormalGamma):
            raise TypeError("points have no posterior to draw from.")
        seen = np.maximum(stats.seen, np.finfo(float).tiny)
        center = (stats.x - np.sum(w.mean * stats.z, axis=0)) / seen
        center = center + rng.standard_normal(center.shape) / np.sqrt(w.tau * seen)
        return replace(point, loadings=prior.draw_given(stats.about(center), w, rng), center=center)

    def cannot_anneal(self, q: FactorAnalysisPosterior) -> str:
        return self.cannot_sample(q)

    def log_states(self, batch: Rows, q: FactorAnalysisPosterior) -> float:
        return 0.0  # p(codes) is there from the beginning

    def at_codes(self, q: FactorAnalysisPosterior, codes: Floats, rng: np.random.Generator) -> FactorCodes:
        return FactorCodes(codes, np.zeros((1, q.n_components, q.n_components)))

    def draw_at(
        self, t: float, point: FactorAnalysisPosterior, batch: Rows, last: Any, rng: np.random.Generator
    ) -> tuple[FactorCodes, FactorStatistics]:
        """The density of rows given factors goes to the power t."""
        flat = replace(point, loadings=drawn(point.loadings).to_power(t))
        local = self.draw_codes(flat, batch, last, rng)
        return local, self.draw_statistics(point, batch, local, rng)

    def proper(self, q: FactorAnalysisPosterior) -> Factors:
        noise, relevance = learnt(q.loadings).about()
        return replace(self, noise=noise, relevance=relevance)

    def draw_prior(self, q: FactorAnalysisPosterior, rng: np.random.Generator) -> FactorAnalysisPosterior:
        """About the mean of q, which is a point."""
        return replace(q, loadings=learnt(self.prior(q.n_components).loadings).draw(rng))

    def log_prior(self, point: FactorAnalysisPosterior) -> float:
        return learnt(self.prior(point.n_components).loadings).log_density_at(drawn(point.loadings))

    def redraw(
        self, point: FactorAnalysisPosterior, stats: FactorStatistics, rng: np.random.Generator
    ) -> FactorAnalysisPosterior:
        """Loadings and noise; the mean stays."""
        prior = learnt(self.prior(point.n_components).loadings)
        return replace(point, loadings=prior.draw_given(stats.about(point.center), drawn(point.loadings), rng))

    def log_tempered(self, point: FactorAnalysisPosterior, stats: FactorStatistics) -> float:
        return self.data_terms(point, stats)["likelihood"]

    def importance(self, q: FactorAnalysisPosterior, stats: Statistics) -> Floats:
        """(K,), share of the model's variance; 0 for a factor that relevance determination has turned off."""
        w = q.loadings
        each = np.sum(w.mean**2, axis=1)
        share: Floats = each / (each.sum() + np.sum(w.mean_noise))
        if self.points:
            return np.maximum(share, np.finfo(float).tiny)
        explained = stats.n * np.log1p(np.sum(w.tau * w.mean**2, axis=1))
        on = explained > LEAST_NATS_PER_LOADING * self.n_features
        if stats.n < self.n_features and isinstance(w, Relevance):  # too few rows: loadings above their error will do
            on |= w.alpha.mean < stats.n
        return np.where(on, share, 0.0)

    def looseness(self, q: FactorAnalysisPosterior, sample: Rows | Covariance, n: float) -> float:
        """Nats that the bound loses by taking factors and loadings as independent.

        Rows tell the loadings as much as E[h] does, sum E[h] E[h]'; given h they would tell sum E[hh'].
        """
        if not isinstance(q.loadings, Relevance) or not q.n_components:
            return 0.0
        if isinstance(sample, FewRows) and not sample.complete:
            sample = sample.rows
        if isinstance(sample, Rows):
            local = self._row_codes(q, sample)
            known = n / sample.n * host(sample.weigh(local.mean).T @ local.mean)
            spread = n * host(array_namespace(sample.x).mean(local.spread, axis=0))
        else:
            pairwise = replace(sample, patterns=None) if isinstance(sample, Scatter) else sample
            spread = sample.n_rows * q.projection.spread
            known = summed_over(pairwise, q.projection).zz[0] - spread
        known = known + np.diag(q.loadings.alpha.mean)
        return 0.5 * self.n_features * float(log_determinant(known + spread) - log_determinant(known))

    def _row_codes(self, q: FactorAnalysisPosterior, batch: Rows) -> FactorCodes:
        local = self.local_step(q, batch)
        if not isinstance(local, FactorCodes):
            raise TypeError(f"rows have codes each, not a {type(local).__name__}.")
        return local

    def exact_local(self, q: FactorAnalysisPosterior) -> bool:
        return True

    def floats_per_row(self, k: int) -> int:
        return 2 * (k + 1) ** 2

    def candidates(
        self, q: FactorAnalysisPosterior, stats: Statistics, sample: object, rng: np.random.Generator, limit: int
    ) -> Iterator[FactorAnalysisPosterior]:
        """Deletions: what is off, all, the weaker half, each alone; of points none, since a likelihood cannot judge."""
        k = q.n_components
        if self.points or k == 0:
            return
        order = np.argsort(np.sum(q.loadings.tau * q.loadings.mean**2, axis=1), kind="stable")
        living = np.flatnonzero(self.importance(q, stats))
        if len(living) < k:
            yield q.only(living)
        yield q.only(order[:0])
        if not self.thorough:
            return
        if k > 2:
            yield q.only(np.sort(order[k // 2 :]))
        for factor in order[: k if k > 1 else 0]:
            yield q.only(np.delete(np.arange(k), factor))


@record(eq=False)
class ExactFactors(Factors):
    """Rows are seen once, and summed; all iterations are on their covariance."""

    def compress(self, batch: Rows) -> FewRows | Scatter:
        return rows_or_sums(batch)

    def optimum(self, q: FactorAnalysisPosterior, k: int, batch: FewRows | Scatter) -> FactorAnalysisPosterior | None:
        """Of highest likelihood, where sums over all rows say what it is."""
        if not isinstance(q.loadings, PointNormalGamma) or not batch.complete:
            return None
        cov, floor = batch.root if isinstance(batch, FewRows) else batch.covariance, q.loadings.floor
        loadings, noise = most_likely(cov, k, np.broadcast_to(floor, (self.n_features,)), rough=True)
        return FactorAnalysisPosterior(PointNormalGamma(loadings.T, noise, floor), batch.mean)


def summed_over(batch: Covariance, local: Projection) -> FactorStatistics:
    """Sums over the rows behind a covariance, centred at its own mean but stated about the origin."""
    n, mean, p = float(batch.n_rows), batch.mean, local.weights
    shift = mean - local.center  # of the mean from the posterior's
    known = batch.times(p)  # (D, K), covariance times P
    z = n * (shift @ p)
    zx = n * known.T + np.outer(z, mean)
    zz = n * (p.T @ known + np.outer(shift @ p, shift @ p) + local.spread)
    zz = 0.5 * (zz + zz.T)
    codes = 0.5 * (n * (float(log_determinant(local.spread)) + len(zz)) - float(np.trace(zz)))
    seen = np.array([n])
    return FactorStatistics(n, seen, n * mean, n * (batch.variance + mean**2), z[:, None], zx, zz[None], codes)


def _summed_by_pattern(batch: HolePatterns, maps: tuple[Projection, ...]) -> FactorStatistics:
    """Sums over the rows behind each pattern; a column counts where it was shown."""
    d, k = batch.x.shape[1], maps[0].weights.shape[1]
    z, zx, zz, codes = np.zeros((k, d)), np.zeros((k, d)), np.zeros((d, k, k)), 0.0
    for shown, n, x, xx, at in zip(batch.shown, batch.rows, batch.x, batch.xx, maps, strict=True):
        p, c = at.weights, at.center * shown
        gap, known = x - n * c, xx @ p - np.outer(x, c @ p)  # sum (x - c), and sum x (x - c)'P
        second = p.T @ (known - np.outer(c, gap @ p)) + n * at.spread
        second = 0.5 * (second + second.T)
        z += np.outer(gap @ p, shown)
        zx += known.T * shown
        zz[shown] += second
        codes += 0.5 * (n * (float(log_determinant(at.spread)) + k) - float(np.trace(second)))
    own = np.einsum("pdd->d", batch.xx)
    return FactorStatistics(batch.n, batch.rows @ batch.shown, batch.x.sum(axis=0), own, z, zx, zz, float(codes))


def _row_sums(batch: Rows, local: FactorCodes) -> FactorStatistics:
    xp, k = array_namespace(batch.x), local.mean.shape[1]
    weighted = batch.weigh(local.mean)
    if batch.seen is None:
        seen, z = np.array([batch.n]), column_sums(weighted)[:, None]
        zz = (host(weighted.T @ local.mean) + batch.n * host(local.spread[0, ...]))[None]
    else:
        seen, z = batch.counts, host(weighted.T @ batch.mask)
        second = local.spread + local.mean[:, :, None] * local.mean[:, None, :]
        flat = xp.reshape(batch.weigh(second), (len(batch), k * k))
        zz = host(batch.mask.T @ flat).reshape(batch.x.shape[1], k, k)
    return FactorStatistics(
        n=batch.n,
        seen=seen,
        x=column_sums(batch.weigh(batch.x)),
        xx=batch.squares,
        z=z,
        zx=host(weighted.T @ batch.x),
        zz=zz,
        codes=total(batch.weigh(_minus_kl(local))),
    )


def _in_place(axes: Floats) -> Floats:
    """The rows of an orthogonal matrix, each where the old axis is that it is nearest to, and on its side.

    Factors keep their numbers and signs in an ascent that goes on from a fit, such as that of its intervals.
    """
    near, placed = np.abs(axes), np.empty_like(axes)
    for _ in range(len(axes)):
        new, old = np.unravel_index(np.argmax(near), near.shape)
        placed[old] = np.copysign(1.0, axes[new, old]) * axes[new]
        near[new], near[:, old] = -1.0, -1.0
    return placed


def _minus_kl(local: FactorCodes) -> Array:
    """(n,), minus KL(q(h) || Normal(0, I)) of each row."""
    xp, k = array_namespace(local.mean), local.mean.shape[1]
    sizes = xp.sum(local.mean**2, axis=1) + xp.linalg.trace(local.spread)
    return 0.5 * (xp.linalg.slogdet(local.spread)[1] + k - sizes)
