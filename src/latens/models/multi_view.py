"""Multi-view sparse factor analysis: several tables about the same samples, explained by shared and private factors.

    z_nk            ~ Normal(0, 1 / a_gk)            g the group of sample n; a = 1 where there are no groups
    a_gk            ~ Gamma(activity)
    w_dk            = s_dk v_dk                      in every view:
    s_dk            ~ Bernoulli(theta_k),            theta_k ~ Beta(inclusion)
    v_dk            ~ Normal(0, 1 / alpha_k),        alpha_k ~ Gamma(relevance)
    b_dg            ~ Normal(0, 1 / offset)
    eta_nd          = b_dg + w_d'z_n
    y_nd            ~ Normal(eta, 1 / tau_d)  or  Bernoulli(sigmoid(eta))  or  Poisson(softplus(eta))
    tau_d           ~ Gamma(noise)

Posterior family: prod_dk q(s, v) prod_dg q(b) q(theta) q(alpha) q(tau) q(a) prod_n q(z_n), z_n jointly normal over all
factors. Gaussian views are exact; the others are bounded by a parabola per entry (`models.likelihoods`). Missing
entries leave every sum.

A batch is one wide table: the columns of the first view, of the second, and so on; then, where samples are grouped,
one column with the number of the group. Group membership stands beside the codes as G more regressors that are
observed, so that offsets are coefficients like the others.

Cost per iteration: 4 N D K for views that a sample shows wholly or not at all, 2 N D K^2 more where precision varies by
entry (binary, counts), and K^2 per missing entry. Statistics take D K^2 / 2 numbers where columns differ.

References: Virtanen et al. (2012); Argelaguet et al. (2018, 2020); Titsias & Lazaro-Gredilla (2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.definite import inverse_rows, log_determinants
from latens.array.domains import positive_definite, real
from latens.array.quadratic import square
from latens.array.transfer import column_sums, cross_sums, like, total
from latens.core import Rows, Statistics, transient
from latens.families.gamma import Gamma
from latens.families.known import Known
from latens.models.likelihoods import Likelihood, Tangent
from latens.models.view_rows import Regressors, ViewPosterior, ViewStatistics, pull_and_gram

__all__ = ["MultiView", "MultiViewPosterior", "MultiViewStatistics", "View", "ViewCodes"]

PAYING = 10.0  # nats of signal per nat of divergence from which a factor is not worth trying to do without
NEGLIGIBLE = 1e-5  # share of a view's signal and noise below which a factor explains nothing


@dataclass(frozen=True, eq=False)
class View:
    """Which columns a view has, what they hold, and how strong its priors are in its units."""

    name: str
    start: int
    stop: int
    likelihood: Likelihood
    noise: tuple[float, float | Floats] = (1e-3, 1e-3)  # rates carry the square of the column's unit
    relevance: tuple[float, float] = (1e-3, 1e-3)
    inclusion: tuple[float, float] | None = (1.0, 1.0)  # None: every feature belongs to every factor
    offset: float = 1e-2  # prior precision of a column's level

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


@dataclass(frozen=True)
class MultiViewPosterior:
    views: Mapping[str, ViewPosterior]
    activity: Gamma | Known  # (G, K)

    @property
    def n_components(self) -> int:
        return int(self.activity.mean.shape[1])

    def only(self, keep: Index) -> MultiViewPosterior:
        views = {name: view.only(keep) for name, view in self.views.items()}
        a = self.activity
        return MultiViewPosterior(
            views, Known(a.mean[:, keep]) if isinstance(a, Known) else Gamma(a.shape[:, keep], a.rate[:, keep])
        )

    def sample(self, rng: np.random.Generator) -> MultiViewPosterior:
        return MultiViewPosterior(
            {name: view.sample(rng) for name, view in self.views.items()}, self.activity.sample(rng)
        )

    def at_mean(self) -> MultiViewPosterior:
        return MultiViewPosterior(
            {name: view.at_mean() for name, view in self.views.items()}, Known(self.activity.mean)
        )


@dataclass(frozen=True)
class ViewCodes:
    """q(z) sample by sample."""

    mean: Array = real()  # (n, K)
    spread: Array = positive_definite()  # (1 or n, K, K)
    tangents: Mapping[str, Tangent] = transient()


@dataclass(frozen=True)
class MultiViewStatistics(Statistics):
    n: float
    sizes: Floats  # (G,), samples of each group
    squares: Floats  # (G, K), sum E[z^2] likewise
    entropy: float  # sum of that of q(z_n), less K/2 log 2 pi
    views: Mapping[str, ViewStatistics]

    @property
    def entries(self) -> Floats:
        """(D,), observed entries of every column; that of the group is no measurement."""
        group = np.zeros(1 if len(self.sizes) > 1 else 0)
        return np.concatenate([*(view.count for view in self.views.values()), group])


@dataclass(frozen=True, eq=False)
class MultiView:
    views: tuple[View, ...]
    n_groups: int = 1  # with more than one, the last column holds the group
    activity: tuple[float, float] | None = None  # None: a = 1

    def prior(self, k: int) -> MultiViewPosterior:
        views = {
            view.name: ViewPosterior.prior(
                view.stop - view.start,
                k,
                self.n_groups,
                noise=None if view.likelihood.curved else view.noise,
                relevance=view.relevance,
                inclusion=view.inclusion,
                offset=view.offset,
            )
            for view in self.views
        }
        shape = (self.n_groups, k)
        if self.activity is None:
            return MultiViewPosterior(views, Known(np.ones(shape)))
        return MultiViewPosterior(views, Gamma(*(np.full(shape, value) for value in self.activity)))

    def local_step(self, q: MultiViewPosterior, batch: Rows, warm: ViewCodes | None = None) -> ViewCodes:
        members, k = self.members(batch), q.n_components
        tangents = self._tangents(q, batch, warm or _cold(q, batch, members), members)
        xp, x = array_namespace(batch.x), batch.x
        own = like(q.activity.mean, x)
        drive: Array = xp.zeros_like(x[:, :1])
        gram: Array = xp.zeros_like(x[:1, :1])
        for view in self.views:
            pull, part = pull_and_gram(q.views[view.name], batch.columns(view.columns), tangents[view.name])
            drive, gram = drive + pull, gram + part
        gram = square(gram, k + self.n_groups)
        drive = drive - _times(gram[:, :k, k:], members)
        precision = members @ own if self.n_groups > 1 else own
        spread = inverse_rows(gram[:, :k, :k], xp.broadcast_to(precision, (max(precision.shape[0], gram.shape[0]), k)))
        return ViewCodes(_times(spread, drive), spread, tangents)

    def statistics(self, batch: Rows, local: ViewCodes) -> MultiViewStatistics:
        members, k = self.members(batch), local.mean.shape[1]
        xp = array_namespace(batch.x)
        at = Regressors.of(local.mean, local.spread, members)
        views = {
            view.name: ViewStatistics.of(batch.columns(view.columns), view.likelihood, local.tangents[view.name], at)
            for view in self.views
        }
        squares = local.mean**2 + xp.linalg.diagonal(local.spread)
        entropy = 0.5 * log_determinants(local.spread) + 0.5 * k + xp.zeros_like(batch.x[:, 0])
        weighted = batch.weigh(members)
        return MultiViewStatistics(
            batch.n, column_sums(weighted), cross_sums(weighted, squares), total(batch.weigh(entropy)), views
        )

    def global_step(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> MultiViewPosterior:
        prior = self.prior(q.n_components)
        views = {name: q.views[name].observe(prior.views[name], view) for name, view in stats.views.items()}
        return MultiViewPosterior(views, prior.activity.observe(stats.sizes[:, None], stats.squares))

    def data_terms(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> dict[str, float]:
        a = q.activity
        codes = 0.5 * np.sum(stats.sizes[:, None] * a.mean_log - a.mean * stats.squares) + stats.entropy
        terms = {"codes": float(codes)}
        for view in self.views:
            p, sums = q.views[view.name], stats.views[view.name]
            level = view.likelihood.normaliser(p.noise)
            terms[f"likelihood_{view.name}"] = float(p.noise.mean @ sums.parabola(p) + level @ sums.count)
        return terms

    def global_terms(self, q: MultiViewPosterior) -> dict[str, float]:
        prior = self.prior(q.n_components)
        terms = {f"kl_{name}": -p.kl(prior.views[name]) for name, p in q.views.items()}
        return {**terms, "kl_activity": -q.activity.kl(prior.activity)}  # type: ignore[arg-type]

    def codes(self, batch: Rows, local: ViewCodes) -> tuple[Array, Array]:
        xp = array_namespace(local.mean)
        return local.mean, xp.zeros_like(local.mean) + xp.linalg.diagonal(local.spread)

    def row_bounds(self, q: MultiViewPosterior, batch: Rows, local: ViewCodes) -> Array:
        """(n,), each sample's share of the data terms."""
        xp, x, k = array_namespace(batch.x), batch.x, q.n_components
        members = self.members(batch)
        tangents = local.tangents or self._tangents(q, batch, local, members)
        at = Regressors.of(local.mean, local.spread, members)
        squares = local.mean**2 + xp.linalg.diagonal(local.spread)
        a, log_a = members @ like(q.activity.mean, x), members @ like(q.activity.mean_log, x)
        rows = 0.5 * (xp.sum(log_a - a * squares, axis=1) + log_determinants(local.spread) + k)
        for view in self.views:
            p, part, tangent = q.views[view.name], batch.columns(view.columns), tangents[view.name]
            eta, second = p.predictor(at)
            precision = part.mask if tangent.precision is None else tangent.precision
            inside = view.likelihood.level(part, tangent) + tangent.response * eta - 0.5 * precision * second
            rows = (
                rows
                + inside @ like(p.noise.mean, x)
                + _rowwise(part.mask @ like(view.likelihood.normaliser(p.noise), x), x)
            )
        return rows

    def log_predictive(self, q: MultiViewPosterior, batch: Rows, local: ViewCodes) -> Array:
        """(n,), log density at the expected coefficients where all views are Gaussian, else each sample's bound."""
        if self.score_is_bound(q):
            return self.row_bounds(q, batch, local)
        point = q.at_mean()
        return self.row_bounds(point, batch, self.local_step(point, batch))

    def score_is_bound(self, q: MultiViewPosterior) -> bool:
        return any(view.likelihood.curved for view in self.views)

    def impute(self, q: MultiViewPosterior, batch: Rows, local: ViewCodes) -> tuple[Array, Array]:
        xp = array_namespace(batch.x)
        means, variances = zip(*self.expectations(q, batch, local).values(), strict=True)
        if self.n_groups > 1:  # the group is what it is
            means, variances = (*means, batch.x[:, -1:]), (*variances, xp.zeros_like(batch.x[:, -1:]))
        return xp.concat(means, axis=1), xp.concat(variances, axis=1)

    def expectations(self, q: MultiViewPosterior, batch: Rows, local: ViewCodes) -> dict[str, tuple[Array, Array]]:
        """Mean and variance (n, D) of every entry of each view."""
        xp, told = array_namespace(batch.x), {}
        at = Regressors.of(local.mean, local.spread, self.members(batch))
        for view in self.views:
            p = q.views[view.name]
            eta, second = p.predictor(at)
            spread = xp.maximum(second - eta**2, xp.zeros_like(eta))
            told[view.name] = view.likelihood.expect(eta, spread, like(1 / p.noise.mean, batch.x))
        return told

    def reconstruct(self, q: MultiViewPosterior, codes: Array) -> Array:
        """(n, D), expected rows given codes alone; of an unknown group, whose column is left out."""
        xp = array_namespace(codes)
        ones = xp.full((codes.shape[0], self.n_groups), 1 / self.n_groups, dtype=codes.dtype)
        full = xp.concat([codes, ones], axis=1)
        parts = [view.likelihood.middle(full @ like(q.views[view.name].mean.T, codes)) for view in self.views]
        return xp.concat(parts, axis=1)

    def draw(self, q: MultiViewPosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        globals_ = q.sample(rng)
        group = rng.integers(self.n_groups, size=n)
        codes = rng.normal(size=(n, q.n_components)) / np.sqrt(globals_.activity.mean[group])
        full = np.concatenate([codes, np.eye(self.n_groups)[group]], axis=1)
        rows = []
        for view in self.views:
            p = globals_.views[view.name]
            rows.append(view.likelihood.draw(full @ p.mean.T, 1 / p.noise.mean, rng))
        if self.n_groups > 1:
            rows.append(group[:, None].astype(float))
        return np.concatenate(rows, axis=1), codes

    def importance(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> Floats:
        """(K,), share of each factor in what the views hold, in units of their noise, averaged over views."""
        shares = np.array([view_stats.shares(q.views[name]) for name, view_stats in stats.views.items()])
        return np.where(shares.max(axis=0) > NEGLIGIBLE, shares.mean(axis=0), 0.0)

    def exact_local(self, q: MultiViewPosterior) -> bool:
        return not self.score_is_bound(q)

    def floats_per_row(self, k: int) -> int:
        curved = sum(view.stop - view.start for view in self.views if view.likelihood.curved)
        return 6 * curved + 3 * (k + self.n_groups) ** 2

    def candidates(
        self, q: MultiViewPosterior, stats: MultiViewStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[MultiViewPosterior]:
        """Deletions of factors whose signal hardly pays for their loadings: all of these at once, then each alone."""
        signal = sum(view.signal(q.views[name]) for name, view in stats.views.items())
        cost = sum(view.weights.kl(view.alpha, view.theta) for view in q.views.values())
        order = np.argsort(signal / np.maximum(cost, np.finfo(float).tiny), kind="stable")
        weak = order[0.5 * signal[order] < PAYING * cost[order]]
        if 1 < len(weak):
            yield q.only(np.setdiff1d(order, weak[: len(order) - 1]))  # one is left in any case
        if q.n_components > 1:
            for k in weak:
                yield q.only(np.setdiff1d(order, [k]))

    def members(self, batch: Rows) -> Array:
        """(n, G), which group each sample belongs to; spread evenly where that is unknown."""
        xp, x = array_namespace(batch.x), batch.x
        if self.n_groups == 1:
            return xp.ones_like(x[:, :1])
        member = xp.astype(x[:, -1:] == like(np.arange(self.n_groups), x), x.dtype)
        if batch.seen is None:
            return member
        known = batch.seen[:, -1:]
        return xp.where(known, member, xp.full_like(member, 1 / self.n_groups))

    def _tangents(self, q: MultiViewPosterior, batch: Rows, at: ViewCodes, members: Array) -> dict[str, Tangent]:
        tangents, now = {}, Regressors.of(at.mean, at.spread, members)
        for view in self.views:
            part = batch.columns(view.columns)
            where = q.views[view.name].predictor(now) if view.likelihood.curved else (None, None)
            tangents[view.name] = view.likelihood.tangent(part, *where)
        return tangents


def _cold(q: MultiViewPosterior, batch: Rows, members: Array) -> ViewCodes:
    """The prior of the codes: a start that q and the rows fix."""
    xp, k = array_namespace(batch.x), q.n_components
    variance = 1 / (members @ like(q.activity.mean, batch.x))
    return ViewCodes(xp.zeros_like(variance), variance[:, :, None] * like(np.eye(k), batch.x))


def _times(matrices: Array, vectors: Array) -> Array:
    """(n, A), matrices (1 or n, A, B) times vectors (n, B)."""
    if matrices.shape[0] == 1:
        return vectors @ matrices[0, :, :].T
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _rowwise(values: Array, x: Array) -> Array:
    return values + array_namespace(x).zeros_like(x[:, 0])
