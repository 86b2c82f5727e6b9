"""Where fits of factor analysis begin, and the forms in which their factors are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latens.array import Array, Floats
from latens.core import Rows, State
from latens.estimators.rows.sampling import column_places, filled
from latens.estimators.rows.units import Units
from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance
from latens.inference.ascent import ascend
from latens.models.factor_analysis.model import FactorAnalysisPosterior, Factors
from latens.models.factor_analysis.newton import best_rank, leading, most_likely
from latens.models.factor_analysis.newton_wide import Root
from latens.models.factor_analysis.online import OnlineEM, OnlinePosterior
from latens.models.factor_analysis.sums import LowRank, Scatter, smallest_noise
from latens.models.factor_analysis.sums_wide import FewRows

__all__ = [
    "canonical",
    "canonical_axes",
    "column_variances",
    "fewer_factors",
    "given_start",
    "guessed",
    "most_likely_start",
    "off_the_floor",
    "orthonormal_start",
    "principal_start",
    "relevant_starts",
    "signed",
    "turned",
]

N_CONTEST_STEPS = 40  # after which one of two starts is ahead
UNKNOWN = 0.1  # of a column's variance: its noise where sums over pairs leave none
N_STREAM_STEPS = 10  # of EM on the first rows, before a stream begins


def column_variances(rows: Rows) -> tuple[Floats, Floats]:
    """(D,) twice: variance of each column, and the smallest noise it can have; nothing of size D x D."""
    counts = np.maximum(rows.counts, np.finfo(float).tiny)
    mean, second = np.sum(rows.x, axis=0, dtype=float) / counts, rows.squares / counts
    variance = np.maximum(second - mean**2, 0.0)
    floor = smallest_noise(variance, second)
    return np.maximum(variance, floor), floor


def most_likely_start(
    total: FewRows | Scatter, k: int | None, most: int, rng: np.random.Generator | None, near: Array | None = None
) -> FactorAnalysisPosterior:
    """The maximum of the likelihood itself, from a fixed start or, for restarts, a random one.

    `near`: rows, on whose device products are made if that is a GPU.
    """
    cov, floor = total.root if isinstance(total, FewRows) else total.covariance, total.floor
    k = max(1, best_rank(cov, total.n_rows, floor, most, near=near)) if k is None else k
    share = 0.5 if rng is None else rng.uniform(0.1, 0.9, len(cov))
    loadings, noise = most_likely(cov, k, floor, share, near=near)
    return FactorAnalysisPosterior(PointNormalGamma(loadings.T, noise, floor), total.mean)


def off_the_floor(model: Factors, q: FactorAnalysisPosterior, rows: Rows) -> FactorAnalysisPosterior:
    """The start, or the same with some noise in every column, whichever is ahead after a few iterations over the rows.

    Sums over pairs of columns that rows show together may be no covariance of any rows. Their factors then follow
    single columns, far from where the rows themselves have their maximum, and an ascent hardly leaves columns that
    have no noise.
    """
    w, (variance, floor) = q.loadings, column_variances(rows)
    if not isinstance(w, PointNormalGamma):
        return q
    noise = np.maximum(w.noise, np.maximum(UNKNOWN * variance, floor))
    raised = replace(q, loadings=replace(w, noise=noise))
    if np.array_equal(noise, w.noise):
        return q
    ends = [ascend(model, [rows], State(start), max_iter=N_CONTEST_STEPS, tol=0).elbo for start in (raised, q)]
    return raised if ends[0] >= ends[1] else q


def relevant_starts(
    model: Factors, total: FewRows | Scatter, k: int, most: int, *, fixed: bool = False, near: Array | None = None
) -> list[FactorAnalysisPosterior]:
    """Maxima of the likelihood, and leading directions; the one that is ahead after a few iterations first.

    Starts of fewer than k factors are left out where the number of factors is `fixed`.

    Of columns that several factors share, directions alone lead to mixed factors that relevance determination then
    closes, hundreds of nats below; with few rows the likelihood has its maximum where noise is at the floor.
    """
    few = int((total.n_rows - 1) // 2)
    if few < 1:
        return [_leading_start(total, k)]
    size, variance = min(k, most, few), np.maximum(total.variance, total.floor)
    likely = [most_likely_start(total, rank, size, None, near).loadings.mean for rank in (None, size)]
    starts = [given_start(model, at, total.mean, variance, total.floor, total.n_rows) for at in likely]
    starts.append(_leading_start(total, k))
    if fixed:
        starts = [start for start in starts if start.n_components == k] or starts[-1:]
    fits = [ascend(model, [total], State(start), max_iter=N_CONTEST_STEPS, tol=0) for start in starts]
    return [starts[which] for which in np.argsort([-fit.elbo for fit in fits], kind="stable")]


def _leading_start(total: FewRows | Scatter, k: int) -> FactorAnalysisPosterior:
    """Half of what leading directions explain: little enough for relevance determination to judge.

    Of at most half as many factors as rows: two rows lie on a line, whatever they are.
    """
    variance, k = np.maximum(total.variance, total.floor), min(k, int((total.n_rows - 1) // 2))
    if k < 1:
        return _relevant(np.zeros((0, len(variance))), variance, total.mean, total.n_rows)
    root = np.sqrt(0.7 * variance)
    if isinstance(total, FewRows):
        values, vectors = Root(total.root.rows / root).leading(k)
    else:
        values, vectors = leading(total.covariance / root / root[:, None], k)
    loadings = (0.5 * root[:, None] * vectors * np.sqrt(np.maximum(values - 1, 0.0))).T[::-1]
    return _relevant(loadings, 0.7 * variance, total.mean, total.n_rows)


def given_start(
    model: Factors, loadings: Floats, mean: Floats, variance: Floats, floor: Floats, n: float
) -> FactorAnalysisPosterior:
    """From loadings (K, D), the noise being what they leave of each variance."""
    noise = np.maximum(variance - np.sum(loadings**2, axis=0), np.maximum(0.1 * variance, floor))
    if model.points:
        return FactorAnalysisPosterior(PointNormalGamma(loadings, noise, floor), mean)
    return _relevant(loadings, noise, mean, n)


def principal_start(sample: Rows, k: int, rng: np.random.Generator) -> FactorAnalysisPosterior:
    """Leading directions of the rows and a few steps of EM, in memory for k x D numbers beside the rows."""
    x = filled(sample)
    n, d = x.shape
    variance, floor = column_variances(sample)
    mean = x.mean(axis=0)
    z = (x - mean) / np.sqrt(variance)
    usable = min(k, d, n - 1)
    drawn = rng.standard_normal((k, d))[:, column_places(sample)]
    loadings = 0.05 * drawn * np.sqrt(variance)  # a factor at 0 would stay there
    if usable:
        values, vectors = leading(z @ z.T if n < d else z.T @ z, usable)  # of the smaller of the two
        found = vectors.T @ z if n < d else np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        loadings[:usable] = found[::-1] / np.sqrt(n) * np.sqrt(variance)
    del z  # as large as the sample, and so is what each step takes
    young = max(0.1 * min(1.0, 3 * k / n) ** 2, 1e-6)  # few rows know no small noise, and it grows back slowly
    q = FactorAnalysisPosterior(
        PointNormalGamma(0.7 * loadings, 0.5 * variance, np.maximum(young * variance, floor)), mean
    )
    fit = ascend(Factors(d), [Rows(x)], State(q), max_iter=N_STREAM_STEPS, tol=0)
    return FactorAnalysisPosterior(replace(fit.state.q.loadings, floor=floor), fit.state.q.center)


def orthonormal_start(model: OnlineEM, k: int, rng: np.random.Generator) -> OnlinePosterior:
    """Orthonormal loadings and unit noise, in the units of the data."""
    q, _ = np.linalg.qr(rng.standard_normal((model.n_features, k)))
    start = model.prior(k)
    return replace(start, loadings=replace(start.loadings, mean=np.ascontiguousarray(q.T)))


def fewer_factors(q: FactorAnalysisPosterior, k: int, n: float) -> FactorAnalysisPosterior:
    """The K-factor model nearest in likelihood to one of more factors: EM on its covariance, never formed."""
    if q.n_components <= k:
        return q
    whole = canonical(q).loadings
    noise = whole.mean_noise + np.sum(whole.mean[k:] ** 2, axis=0)
    floor = q.loadings.floor if isinstance(q.loadings, PointNormalGamma) else 0.0
    start = FactorAnalysisPosterior(PointNormalGamma(whole.mean[:k], noise, floor), q.center)
    batch = LowRank(n, q.center, whole.mean, whole.mean_noise)
    fit = ascend(Factors(len(q.center)), [batch], State(start), max_iter=200, tol=1e-7)
    nearest: FactorAnalysisPosterior = fit.state.q
    return nearest


def canonical(q: FactorAnalysisPosterior) -> FactorAnalysisPosterior:
    """Point loadings turned so that they are orthogonal in units of the noise, the strongest first."""
    is_point = isinstance(q.loadings, PointNormalGamma) and q.n_components
    return turned(q, canonical_axes(q)) if is_point else q


def canonical_axes(q: FactorAnalysisPosterior) -> Floats:
    """(K, K), the rotation that does so; none where relevances hold the axes."""
    if not isinstance(q.loadings, PointNormalGamma):
        return np.eye(q.n_components)
    return np.asarray(np.linalg.eigh(q.loadings.gram)[1][:, ::-1].T)


def turned(q: FactorAnalysisPosterior, rotation: Floats) -> FactorAnalysisPosterior:
    """The same distribution of rows with factors rotation @ h."""
    w = q.loadings
    if isinstance(w, PointNormalGamma):
        return replace(q, loadings=replace(w, mean=np.asarray(rotation @ w.mean)))
    inner = replace(w.weights, mean=rotation @ w.mean, precision=rotation @ w.weights.precision @ rotation.T)
    return replace(q, loadings=Relevance(inner, w.alpha))


def signed(q: FactorAnalysisPosterior) -> FactorAnalysisPosterior:
    """The same distribution, with the largest loading of each factor positive."""
    w = q.loadings.mean
    largest = np.take_along_axis(w, np.argmax(np.abs(w), axis=1)[:, None], axis=1)
    return turned(q, np.diag(np.where(largest[:, 0] < 0, -1.0, 1.0)))


def guessed(q: FactorAnalysisPosterior, units: Units) -> FactorAnalysisPosterior:
    """With a guess for each column that no row has shown: like one of the other columns, whichever."""
    unseen = np.isin(np.arange(len(q.center)), units.unseen)
    if not unseen.any() or unseen.all():
        return q
    w, (loadings, noise) = q.loadings, q.low_rank
    middles = (q.center + units.enter_direction(units.origin))[~unseen]  # model units about 0 of the data
    variance = np.mean((np.sum(loadings**2, axis=0) + noise)[~unseen]) + np.var(middles)
    center = np.where(unseen, np.mean(middles), q.center)
    mean = np.where(unseen, 0.0, w.mean)
    if isinstance(w, PointNormalGamma):
        return FactorAnalysisPosterior(replace(w, mean=mean, noise=np.where(unseen, variance, w.noise)), center)
    uncertain = np.trace(w.spread, axis1=1, axis2=2)  # of its loadings, which only the prior knows
    shape = np.where(unseen, 2.0, w.weights.shape)  # the smallest whole number for which the noise has a mean
    rate = np.where(unseen, variance / (1 + uncertain), w.weights.rate)
    return FactorAnalysisPosterior(replace(w, weights=replace(w.weights, mean=mean, shape=shape, rate=rate)), center)


def _relevant(loadings: Floats, noise: Floats, mean: Floats, n: float) -> FactorAnalysisPosterior:
    k, d = loadings.shape
    shape = np.full(d, 0.5 * n + 1.0)
    weights = NormalGamma(loadings, n * np.eye(k)[None], shape, shape * noise)
    return FactorAnalysisPosterior(Relevance(weights, Gamma(np.full(k, 0.5 * d), np.full(k, 0.5 * d))), mean)
