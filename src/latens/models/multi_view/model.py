"""Multi-view sparse factor analysis: several tables about the same samples, explained by shared and private factors.

    z_nk            = t_nk u_nk                      g the group of sample n
    t_nk            ~ Bernoulli(rho_gk)              an option; otherwise t = 1
    u_nk            ~ Normal(0, 1 / a_gk)            a = 1 where there are no groups
    a_gk            ~ Gamma(activity),               rho_gk ~ Beta(usage)
    w_dk            = s_dk v_dk                      in every view:
    s_dk            ~ Bernoulli(theta_k),            theta_k ~ Beta(inclusion)
    v_dk            ~ Normal(0, 1 / alpha_k),        alpha_k ~ Gamma(relevance)
    b_dg            ~ Normal(0, 1 / offset)
    c_d             ~ Normal(0, 1 / slope_d)         coefficients of covariates u_n, an option
    eta_nd          = b_dg + c_d'u_n + w_d'z_n
    y_nd            ~ a likelihood of eta, such as Normal(eta, 1 / tau_d)  or  Bernoulli(sigmoid(eta))
    tau_d           ~ Gamma(noise)                   or tau_nd given, entry by entry

Posterior family: prod_dk q(s, v) prod_dg q(b) q(c) q(theta) q(alpha) q(tau) q(a) q(rho) prod_n q(z_n), z_n jointly
normal over all factors, or prod_k q(t, u) where factors are sparse. Gaussian views are exact; the others are bounded by
a parabola per entry (`models.likelihoods`). Missing entries leave every sum.

A batch is one wide table: the columns of the first view, of the second, and so on. Known precisions, the group and the
covariates of each sample come with the rows (`Rows.aux`). Group membership and covariates stand beside the codes as
regressors that are given, so that levels and coefficients of covariates are coefficients like the others. Covariates
are uncorrelated over the rows of a fit, where the product of q(c) is then as good as a joint one.

Cost per iteration: 4 N D K for views that a sample shows wholly or not at all, 2 N D K^2 more where precision varies by
entry (binary, counts), and K^2 per missing entry. Samples that show the same views share one K x K inverse.
Statistics take D K^2 / 2 numbers where columns differ.

References: Virtanen et al. (2012); Argelaguet et al. (2018, 2020); Titsias & Lazaro-Gredilla (2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.fields import each, part, record, sized
from latens.array.packed_symmetric import diagonal_places, of_pairs
from latens.array.transfer import column_sums, host, like, take
from latens.core import Proposal, Rows, Statistics
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods import Columns, Predictor, Tangent
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.coefficients import (
    Regressors,
    ViewPosterior,
    ViewStatistics,
    code_blocks,
    pull_and_gram,
)
from latens.models.multi_view.lost_information import code_weights, lost_information
from latens.models.multi_view.measured_blocks import begin_on_gpu, measured_sums, shared_by_samples
from latens.models.multi_view.moves import propose
from latens.models.multi_view.sampling import (
    DrawnFactors,
    FactorGuide,
    draw_factors,
    draw_tangents,
    draw_view,
    draw_view_prior,
    log_view_prior,
)
from latens.models.multi_view.strides import further
from latens.models.multi_view.view import COVARIATES, GROUP, View

__all__ = ["MultiView", "MultiViewPosterior", "MultiViewStatistics", "View"]

Codes = JointCodes | SparseCodes

FEW_ROWS = 8  # of a kind, on average, below which kinds of samples are not worth keeping apart
SAMPLED_KINDS = ("Gaussian", "Measured", "Bernoulli")  # likelihoods that are normal, or are given Polya-Gamma draws
FIRST_STEPS = 2  # of codes that begin anew, before others learn from them: parabolas touch where they lead
LEAST_SHARE = 1e-5  # share of a view's signal and noise below which a factor explains nothing


@record
class MultiViewPosterior:
    views: Mapping[str, ViewPosterior] = each("d", "gaps")
    activity: Gamma | KnownGamma = part("n_groups k")
    usage: Beta | None = part("n_groups k", default=None)  # None: every sample has every factor

    @property
    def n_components(self) -> int:
        return int(self.activity.mean.shape[1])

    @property
    def coordinate_sizes(self) -> dict[str, Any]:
        return {"views": {name: view.coordinate_sizes for name, view in self.views.items()}}

    def only(self, keep: Index) -> MultiViewPosterior:
        columns: Any = (slice(None), keep)  # factors are the second axis
        return MultiViewPosterior(
            {name: view.only(keep) for name, view in self.views.items()},
            self.activity.only(columns),
            self.usage and self.usage.only(columns),
        )

    def sample(self, rng: np.random.Generator) -> MultiViewPosterior:
        views = {name: view.sample(rng) for name, view in self.views.items()}
        return MultiViewPosterior(views, self.activity.sample(rng), self.usage)

    def signed(self, signs: Floats) -> MultiViewPosterior:
        """The same with the sign of some factors turned; signs (K,) are 1 or -1."""
        turned = {
            name: replace(view, weights=replace(view.weights, slab=view.weights.slab * signs))
            for name, view in self.views.items()
        }
        return replace(self, views=turned)

    def at_mean(self) -> MultiViewPosterior:
        views = {name: view.at_mean() for name, view in self.views.items()}
        return MultiViewPosterior(views, KnownGamma(self.activity.mean), self.usage)


@record
class MultiViewStatistics(Statistics):
    n: float
    sizes: Floats = sized("n_groups")  # samples of each group
    squares: Floats = sized("n_groups k")  # sum E[u^2] likewise
    used: Floats = sized("n_groups k")  # sum E[t]
    entropy: float  # sum of that of q(z_n), less K/2 log 2 pi
    views: Mapping[str, ViewStatistics] = each("d", "own")

    @property
    def entries(self) -> Floats:
        """(D,), observed entries of every column."""
        return np.concatenate([view.count for view in self.views.values()])


@record(eq=False)
class MultiView:
    views: tuple[View, ...] = each("d", "levels", "columns")
    n_groups: int = 1  # with more than one, rows say which is theirs
    activity: tuple[float, float] | None = None  # None: a = 1
    usage: tuple[float, float] | None = None  # None: t = 1
    n_covariates: int = 0  # that rows bring

    def fewest(self, q: MultiViewPosterior, stats: Statistics) -> MultiViewPosterior:
        return q.only(np.arange(0))

    def prior(self, k: int) -> MultiViewPosterior:
        priors: dict[int, MultiViewPosterior] = self.__dict__.setdefault("_priors", {})  # asked for in every step
        if k not in priors:
            priors[k] = self._prior(k)
        return priors[k]

    def _prior(self, k: int) -> MultiViewPosterior:
        views = {
            view.name: ViewPosterior.prior(
                view.stop - view.start,
                k,
                self.n_groups,
                noise=view.noise if view.likelihood.learns_noise else None,
                relevance=view.relevance,
                inclusion=view.inclusion,
                offset=view.offset,
                slopes=view.slopes(self.n_covariates),
                parameters=view.likelihood.parameters(view.stop - view.start),
            )
            for view in self.views
        }
        ones = np.ones((self.n_groups, k))
        activity = KnownGamma(ones) if self.activity is None else Gamma(*(value * ones for value in self.activity))
        return MultiViewPosterior(views, activity, self.usage and Beta(*(value * ones for value in self.usage)))

    def local_step(self, q: MultiViewPosterior, batch: Rows, warm: Codes | None = None) -> Codes:
        if warm is None:
            precision, log_odds = self._code_prior(q, self.members(batch))
            xp, n = array_namespace(batch.x), len(batch)
            each = xp.broadcast_to(precision, (n, precision.shape[1]))
            warm = JointCodes.neutral(n, precision) if log_odds is None else SparseCodes.neutral(each)
            for _ in range(FIRST_STEPS if self.score_is_bound(q) else 0):
                warm = self.codes_given(q, batch, self.tangents(q, batch, warm), warm)
        return self.codes_given(q, batch, self.tangents(q, batch, warm), warm)

    def codes_given(
        self, q: MultiViewPosterior, batch: Rows, tangents: Mapping[str, Tangent], warm: Codes | None = None
    ) -> Codes:
        """The best codes for these parabolas; sparse ones are improved from those before."""
        given, k = self.given(batch), q.n_components
        precision, log_odds = self._code_prior(q, self.members(batch))
        rows, kind = self.kinds(batch) if log_odds is None else (None, None)
        parts = [
            pull_and_gram(q.views[view.name], batch.columns(view.columns), tangents[view.name], rows)
            for view in self.views
        ]
        drive, gram = (reduce(add, sums) for sums in zip(*parts, strict=True))
        inner, cross = code_blocks(gram, k, self.n_given)
        for j, pull in enumerate(cross):
            pull = pull if kind is None or pull.shape[0] == 1 else take(pull, kind)
            drive = drive - (pull if j < self.n_groups == 1 else pull * given[:, j : j + 1])  # all are of one group
        if log_odds is None:
            prior = precision if rows is None or self.n_groups == 1 else precision[rows]
            return JointCodes.best(drive, inner, prior, tangents, kind)
        # codes with a usage are improved from a start, which `local_step` makes where there is none
        return warm.improved(drive, inner, precision, log_odds, tangents)  # type: ignore[union-attr]

    def statistics(self, batch: Rows, local: Codes) -> MultiViewStatistics:
        members = self.members(batch)
        at = Regressors.of(local, self.given(batch))
        views = {
            view.name: ViewStatistics.of(batch.columns(view.columns), view.likelihood, local.tangents[view.name], at)
            for view in self.views
        }
        sizes = batch.cached("sizes", lambda: column_sums(batch.weigh(members)))
        squares, used, entropy = local.prior_sums(batch, members, sizes)
        if squares is None:  # one spread for all samples, and one group
            squares = of_pairs(at.summed(batch), diagonal_places(at.mean.shape[1])[: at.codes.shape[1]])
        return MultiViewStatistics(batch.n, sizes, squares, used, entropy, views)

    prepare = shared_by_samples
    begin = begin_on_gpu

    def inferred(self, q: MultiViewPosterior, batch: Rows, warm: Codes | None) -> tuple[None, Statistics] | None:
        found = measured_sums(self, q, batch)
        return None if found is None else (None, found)

    def global_step(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> MultiViewPosterior:
        prior = self.prior(q.n_components)
        views = {name: q.views[name].observe(prior.views[name], view) for name, view in stats.views.items()}
        sizes = stats.sizes[:, None]
        usage = prior.usage and prior.usage.observe(stats.used, sizes - stats.used)
        return MultiViewPosterior(views, prior.activity.observe(sizes, stats.squares), usage)

    def expanded(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> MultiViewPosterior:
        return further(self, q, stats)

    def data_terms(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> dict[str, float]:
        a, sizes = q.activity, stats.sizes[:, None]
        codes = 0.5 * np.sum(sizes * a.mean_log - a.mean * stats.squares) + stats.entropy
        codes += q.usage.log_likelihood(stats.used, sizes - stats.used) if q.usage else 0.0
        terms = {"codes": float(codes)}
        for view in self.views:
            p = q.views[view.name]
            sums = stats.views[view.name].at(p)
            level = view.likelihood.normaliser(p.noise)
            terms[f"likelihood_{view.name}"] = float(
                p.noise.mean @ sums.parabola(p) + level @ sums.count + sums.free_part(p)
            )
        return terms

    def global_terms(self, q: MultiViewPosterior) -> dict[str, float]:
        prior = self.prior(q.n_components)
        terms = {f"kl_{name}": -p.kl(prior.views[name]) for name, p in q.views.items()}
        usage = q.usage.kl(prior.usage) if q.usage and prior.usage else 0.0
        return {**terms, "kl_activity": -q.activity.kl(prior.activity) - usage}

    def code_weights(self, q: MultiViewPosterior) -> Floats:
        return code_weights(q)

    def lost_information(self, q: MultiViewPosterior, batch: Rows, slopes: Floats) -> Floats | None:
        return lost_information(self, q, batch, slopes)

    def slopes(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> dict[str, Any] | None:
        prior, sizes = self.prior(q.n_components), stats.sizes[:, None]
        views = {name: p.slopes(prior.views[name], stats.views[name]) for name, p in q.views.items()}
        if None in views.values():
            return None
        found = {"views": views, "activity": q.activity.slopes(prior.activity, sizes, stats.squares)}
        if q.usage and prior.usage:
            found["usage"] = q.usage.slopes(prior.usage, stats.used, sizes - stats.used)
        return found

    def cannot_sample(self, q: MultiViewPosterior) -> str:
        others = [view.name for view in self.views if type(view.likelihood).__name__ not in SAMPLED_KINDS]
        if others:
            return f"views {', '.join(others)} are neither measurements nor yes/no: no draw makes their entries normal"
        if any(view.exposed for view in self.views):
            return "views with exposures are not drawn"
        return "factors that are on in some samples only are not drawn yet" if q.usage else ""

    def anneals_with_holes(self, q: MultiViewPosterior) -> bool:
        return True

    def draw_codes(
        self, point: MultiViewPosterior, batch: Rows, last: DrawnFactors | None, rng: np.random.Generator
    ) -> DrawnFactors:
        """Factor values of each row given all else."""
        return draw_factors(self, point, batch, last, rng)

    def draw_statistics(
        self, point: MultiViewPosterior, batch: Rows, local: DrawnFactors, rng: np.random.Generator
    ) -> MultiViewStatistics:
        """Sums over rows of drawn factors, yes/no entries made normal; points have no entropy."""
        codes = local.codes(draw_tangents(self, point, batch, local, rng))
        vars(codes).update(volume=np.zeros(1))
        return self.statistics(batch, codes)

    def draw_globals(
        self, point: MultiViewPosterior, stats: MultiViewStatistics, rng: np.random.Generator
    ) -> MultiViewPosterior:
        """Coefficients, noise and what their priors are, view by view; then the activity of factors in groups."""
        prior = self.prior(point.n_components)
        views = {name: draw_view(prior.views[name], point.views[name], sums, rng) for name, sums in stats.views.items()}
        activity = prior.activity.observe(stats.sizes[:, None], stats.squares).sample(rng)
        return MultiViewPosterior(views, activity, None)

    def cannot_anneal(self, q: MultiViewPosterior) -> str:
        others = [view.name for view in self.views if type(view.likelihood).__name__ != "Gaussian"]
        if others:
            return f"views {', '.join(others)} are no measurements: a power of their likelihood has no draws"
        if self.activity is not None:
            return "factors whose strength differs from group to group are not annealed"
        return self.cannot_sample(q)

    def log_states(self, batch: Rows, q: MultiViewPosterior) -> float:
        return 0.0  # p(factors) is there from the beginning

    def at_codes(self, q: MultiViewPosterior, codes: Floats, rng: np.random.Generator) -> DrawnFactors:
        return DrawnFactors(codes)

    def guide(self, q: MultiViewPosterior, batch: Rows) -> FactorGuide:
        return FactorGuide(self.local_step(q, batch))  # type: ignore[arg-type]

    def draw_at(
        self, t: float, point: MultiViewPosterior, batch: Rows, last: DrawnFactors | None, rng: Any, guide: Any = None
    ) -> tuple[DrawnFactors, MultiViewStatistics]:
        """The density of rows given factors goes to the power t, that of factors from the guide's to the prior's."""
        local = draw_factors(self, point, batch, last, rng, t, guide)
        return local, self.draw_statistics(point, batch, local, rng)

    def proper(self, q: MultiViewPosterior) -> MultiView:
        return replace(self, views=tuple(view.proper(q.views[view.name]) for view in self.views))

    def draw_prior(self, q: MultiViewPosterior, rng: np.random.Generator) -> MultiViewPosterior:
        prior = self.prior(q.n_components)
        return replace(prior, views={name: draw_view_prior(view, rng) for name, view in prior.views.items()})

    def log_prior(self, point: MultiViewPosterior) -> float:
        prior = self.prior(point.n_components)
        return sum(log_view_prior(prior.views[name], view) for name, view in point.views.items())

    redraw = draw_globals

    def log_tempered(self, point: MultiViewPosterior, stats: MultiViewStatistics) -> float:
        terms = self.data_terms(point, stats)
        return sum(terms.values()) - terms["codes"]

    def codes(self, batch: Rows, local: Codes) -> tuple[Array, Array]:
        return local.mean, local.variance + array_namespace(local.mean).zeros_like(local.mean)

    def curved(self, q: MultiViewPosterior, batch: Rows, local: Codes) -> Codes:
        """The same means, as uncertain as the likelihoods themselves leave them: parabolas below them are narrower.

        For answers alone; the bound, and what is learnt, are those of the parabolas.
        """
        if not any(view.likelihood.curved for view in self.views):
            return local
        tangents = local.tangents or self.tangents(q, batch, local)
        now, gram = Regressors.of(local, self.given(batch)), None
        for view in self.views:
            p, part, tangent = q.views[view.name], batch.columns(view.columns), tangents[view.name]
            own = view.likelihood.curvature(part, tangent, self._place(view, p, batch, now))
            _, more = pull_and_gram(p, part, replace(tangent, precision=own, free=None))
            gram = more if gram is None else gram + more
        prior = self._code_prior(q, self.members(batch))[0]
        return local.spread_by(code_blocks(gram, q.n_components, self.n_given)[0], prior)

    def row_bounds(self, q: MultiViewPosterior, batch: Rows, local: Codes) -> Array:
        """(n,), each sample's share of the data terms."""
        xp, x, members = array_namespace(batch.x), batch.x, self.members(batch)
        tangents = local.tangents or self.tangents(q, batch, local)
        at = Regressors.of(local, self.given(batch))
        a, log_a = members @ like(q.activity.mean, x), members @ like(q.activity.mean_log, x)
        rows = 0.5 * xp.sum(log_a - a * local.squares, axis=1) + local.entropy
        if q.usage:
            on, off = (members @ like(part, x) for part in q.usage.mean_log)
            rows = rows + xp.sum(local.used * on + (1 - local.used) * off, axis=1)
        for view in self.views:
            p, part, tangent = q.views[view.name], batch.columns(view.columns), tangents[view.name]
            eta, second = p.predictor(at), p.second(at)
            precision = part.mask if tangent.precision is None else tangent.precision
            inside = view.likelihood.level(part, tangent) + tangent.response * eta - 0.5 * precision * second
            rows = rows + inside @ like(p.noise.mean, x)
            rows = rows + _rowwise(part.mask @ like(view.likelihood.normaliser(p.noise), x), x)
            if tangent.free is not None:
                rows = rows + xp.sum(tangent.free.entries(eta, second), axis=1)
            if tangent.powers is not None:
                rows = rows + tangent.powers() @ like(p.noise.mean_log, x)
        return rows

    def log_predictive(self, q: MultiViewPosterior, batch: Rows, local: Codes) -> Array:
        """(n,), log density at the expected coefficients where all views are Gaussian, else each sample's bound."""
        if self.score_is_bound(q):
            return self.row_bounds(q, batch, local)
        point = q.at_mean()
        return self.row_bounds(point, batch, self.local_step(point, batch))

    def score_is_bound(self, q: MultiViewPosterior) -> bool:
        return q.usage is not None or any(view.likelihood.curved for view in self.views)

    def impute(self, q: MultiViewPosterior, batch: Rows, local: Codes) -> tuple[Array, Array]:
        xp = array_namespace(batch.x)
        means, variances = zip(*self.expectations(q, batch, local).values(), strict=True)
        return xp.concat(means, axis=1), xp.concat(variances, axis=1)

    def expectations(self, q: MultiViewPosterior, batch: Rows, local: Codes) -> dict[str, tuple[Array, Array]]:
        """Mean and variance (n, D) of every entry of each view."""
        return {view.name: view.likelihood.expect(*where) for view, where in self.predictors(q, batch, local)}

    def limits(self, q: MultiViewPosterior, batch: Rows, local: Codes, tail: float) -> tuple[Array, Array]:
        """(n, D) each: between which a new value of every entry falls but for `tail` at either end."""
        pairs = [view.likelihood.between(*where, tail) for view, where in self.predictors(q, batch, local)]
        low, high = (array_namespace(batch.x).concat(side, axis=1) for side in zip(*pairs, strict=True))
        return low, high

    def predictors(
        self, q: MultiViewPosterior, batch: Rows, local: Codes, views: Sequence[View] | None = None
    ) -> Iterator[tuple[View, tuple[Array, Array, Columns]]]:
        """Of each view, or of these: mean and variance (n, D) of eta, and what is known of the columns."""
        xp, local = array_namespace(batch.x), self.curved(q, batch, local)
        at = Regressors.of(local, self.given(batch))
        for view in self.views if views is None else views:
            p = q.views[view.name]
            eta, second = p.predictor(at), p.second(at)
            spread = xp.maximum(second - eta**2, xp.zeros_like(eta))
            offset = view.log_exposure(batch)
            yield view, (eta if offset is None else eta + offset, spread, view.about(p, batch, at))

    def draw_entries(self, q: MultiViewPosterior, batch: Rows, local: Codes, rng: np.random.Generator) -> Floats:
        """(n, D), new entries of the same samples, whose codes are drawn given what they show, under one draw of q."""
        point, local = q.sample(rng), self.curved(q, batch, local)
        codes, at = local.draw(rng), Regressors.of(local, self.given(batch))
        full, parts = np.concatenate([codes, host(at.given)], axis=1), []
        for view in self.views:
            p, offset = point.views[view.name], view.log_exposure(batch)
            eta = full @ p.mean.T + (0.0 if offset is None else host(offset))
            parts.append(view.likelihood.draw(eta, view.about(p, batch, at, codes), rng))
        return np.concatenate(parts, axis=1)

    def reconstruct(self, q: MultiViewPosterior, codes: Array, group: Floats | None = None) -> Array:
        """(n, D), expected rows given codes, and perhaps groups (n,), -1 where unknown; covariates at their means."""
        xp, every = array_namespace(codes), np.full((codes.shape[0], self.n_groups), 1 / self.n_groups)
        known = (
            every if group is None else np.where(group[:, None] < 0, every, group[:, None] == np.arange(self.n_groups))
        )
        known = np.concatenate([known, np.zeros((codes.shape[0], self.n_covariates))], axis=1)
        full = xp.concat([codes, like(known, codes)], axis=1)
        parts = []
        for view in self.views:
            p = q.views[view.name]
            parts.append(view.likelihood.middle(full @ like(p.mean.T, codes) + view.log_of_one, view.about(p)))
        return xp.concat(parts, axis=1)

    def draw(self, q: MultiViewPosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        globals_ = q.sample(rng)
        group = rng.choice(self.n_groups, size=n, p=self._shares(q))
        codes = rng.normal(size=(n, q.n_components)) / np.sqrt(globals_.activity.mean[group])
        if q.usage:
            codes *= rng.random(codes.shape) < q.usage.sample(rng).mean[group]
        given = np.eye(self.n_groups, self.n_given)[group]  # covariates are at their means
        full = np.concatenate([codes, given], axis=1)
        rows = []
        for view in self.views:
            p = globals_.views[view.name]
            known = replace(p, noise=KnownGamma(1 / view.usual_noise)) if view.knows_precision else p
            rows.append(view.likelihood.draw(full @ p.mean.T + view.log_of_one, view.about(known), rng))
        return np.concatenate(rows, axis=1), codes

    def _shares(self, q: MultiViewPosterior) -> Floats:
        """(G,), how common groups are: the shape of their activities counts samples, two for one.

        Without a factor, the more samples a group has the surer its levels are.
        """
        sizes = np.zeros(self.n_groups)
        if not q.n_components:
            known = [1 / p.offsets.variance[:, : self.n_groups] / p.noise.mean[:, None] for p in q.views.values()]
            sizes += sum(np.sum(each, axis=0) for each in known)
        elif isinstance(q.activity, Gamma) and self.activity:
            sizes += np.maximum(q.activity.shape[:, 0] - self.activity[0], 0.0)
        return sizes / sizes.sum() if sizes.any() else np.full(self.n_groups, 1 / self.n_groups)

    def importance(self, q: MultiViewPosterior, stats: MultiViewStatistics) -> Floats:
        """(K,), share of each factor in the variance of the views, averaged over them.

        0 where it adds next to nothing in units of the noise: a small variance alone does not make a factor useless.
        """
        pairs = [view_stats.shares(q.views[name]) for name, view_stats in stats.views.items()]
        beside_noise, variance = (np.array(part) for part in zip(*pairs, strict=True))
        return np.where(beside_noise.max(axis=0) > LEAST_SHARE, variance.mean(axis=0), 0.0)

    def exact_local(self, q: MultiViewPosterior) -> bool:
        return not self.score_is_bound(q)

    def floats_per_row(self, k: int) -> int:
        # parabolas are not counted: smaller blocks would save their memory, some tens of megabytes, and cost time
        return 2 * (k + self.n_given) ** 2

    def candidates(
        self, q: MultiViewPosterior, stats: MultiViewStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[MultiViewPosterior | Proposal]:
        return propose(self, q, stats, sample, rng, limit)

    def residuals(self, q: MultiViewPosterior, batch: Rows) -> list[tuple[Floats, Floats, Floats]]:
        """Of each view: the slope of its parabolas where codes lead (n, D), the noise precisions (D,), the curvatures.

        Of a Gaussian view the slope is what is left of the rows; curvatures are (1 or n, D).
        """
        local = self.local_step(q, batch)
        at, answers = Regressors.of(local, self.given(batch)), []
        for view in self.views:
            p, tangent = q.views[view.name], local.tangents[view.name]
            precision, response = tangent.precision, tangent.response
            precision = batch.columns(view.columns).mask if precision is None else precision
            if tangent.free is not None and tangent.free.response is not None:
                tau = like(p.noise.mean, response)
                response, precision = response + tangent.free.response / tau, precision + tangent.free.precision / tau
            gap = response - precision * p.predictor(at)
            answers.append((host(gap), p.noise.mean, host(precision)))
        return answers

    @property
    def n_given(self) -> int:
        """How many regressors stand beside the codes."""
        return self.n_groups + self.n_covariates

    def given(self, batch: Rows) -> Array:
        """(n, G + C), the regressors that are no codes: membership in groups, and covariates."""
        if not self.n_covariates:
            return self.members(batch)
        xp = array_namespace(batch.x)
        return batch.cached("given", lambda: xp.concat([self.members(batch), batch.aux[COVARIATES]], axis=1))

    def members(self, batch: Rows) -> Array:
        """(n, G), which group each sample belongs to; spread evenly where that is unknown. Several sums ask for it."""
        return batch.cached("members", lambda: self._members(batch))

    def _members(self, batch: Rows) -> Array:
        xp, x = array_namespace(batch.x), batch.x
        if self.n_groups == 1:
            return xp.ones_like(x[:, :1])
        group = batch.aux[GROUP][:, None]
        member = xp.astype(group == like(np.arange(self.n_groups), x), x.dtype)
        return xp.where(xp.isnan(group), xp.full_like(member, 1 / self.n_groups), member)

    def kinds(self, batch: Rows) -> tuple[Index, Index] | tuple[None, None]:
        """Samples that show the same views, of the same group: one of each kind, and the kind of each; None if many.

        Their codes have the same covariance where views are Gaussian and a sample shows them wholly or not at all.
        """
        parts = [batch.columns(view.columns) for view in self.views]
        alike = self.n_groups == 1 and all(part.seen is None for part in parts)  # one spread for all
        uneven = not all(view.likelihood.even for view in self.views)
        if not is_numpy_array(batch.x) or alike or uneven or not all(part.whole for part in parts):
            return None, None

        def find() -> tuple[Index, Index]:
            shown = np.column_stack([*(part.present for part in parts), self.members(batch)])
            _, rows, kind = np.unique(shown, axis=0, return_index=True, return_inverse=True)
            return rows, kind.reshape(-1)

        rows, kind = batch.cached("kinds", find)
        return (rows, kind) if len(rows) * FEW_ROWS <= len(batch) else (None, None)

    def code_precision(self, q: MultiViewPosterior, batch: Rows) -> Array:
        """(1 or n, K), of the factor values where they are on."""
        return self._code_prior(q, self.members(batch))[0]

    def _code_prior(self, q: MultiViewPosterior, members: Array) -> tuple[Array, Array | None]:
        """(1 or n, K) each: precision of the factor values, and log odds that one is on, or None where all are."""
        precision = like(q.activity.mean, members)
        odds = None
        if q.usage:
            log_on, log_off = q.usage.mean_log
            odds = like(log_on - log_off, members)
        if self.n_groups == 1:
            return precision, odds
        return members @ precision, None if odds is None else members @ odds

    def tangents(self, q: MultiViewPosterior, batch: Rows, codes: Codes) -> dict[str, Tangent]:
        """The parabola of each view where codes lead."""
        now = Regressors.of(codes, self.given(batch))
        found = {}
        for view in self.views:
            part, offset = batch.columns(view.columns), view.log_exposure(batch)
            tangent = view.likelihood.tangent(part, self._place(view, q.views[view.name], batch, now))
            if offset is not None:
                tangent = tangent.shifted(offset, part.mask, view.likelihood.level(part, tangent))
            found[view.name] = tangent
        return found

    def _place(self, view: View, p: ViewPosterior, batch: Rows, now: Regressors) -> Predictor:
        mean, square, about = partial(p.predictor, now), partial(p.second, now), view.about(p, batch)
        offset = view.log_exposure(batch)
        if offset is None:
            return Predictor(mean, square, about)
        return Predictor(lambda: mean() + offset, lambda: square() + offset * (2 * mean() + offset), about)


def _rowwise(values: Array, x: Array) -> Array:
    return values + array_namespace(x).zeros_like(x[:, 0])
