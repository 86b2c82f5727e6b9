"""Mixtures: rows fall into clusters, each with its own centre and shape.

    pi            ~ Dirichlet, a Dirichlet process, or known            how large the clusters are
    theta_k       ~ conjugate prior                                     what the rows of cluster k are like
    c_n           ~ Categorical(pi)
    x_n | c_n = k ~ p(x | theta_k)                                      missing entries are latent, jointly with c_n

The family of theta is a parameter: Gaussian with full or tied covariance (Normal-Wishart), with independent
columns (Normal-Gamma, one variance each or one for all), with known variance (Normal), Bernoulli (Beta), or columns
of several kinds (`MixedColumns`: real, binary, levels, counts), which makes the mixture a latent class analysis.

Posterior family: q(pi) prod_k q(theta_k) prod_n q(c_n) q(x_n missing | c_n). All steps are conjugate and exact,
missing entries are marginalised exactly, and the predictive density, a mixture of Student t, Gaussians or
Bernoullis, is exact for q.

Cost per iteration O(N K D), with full covariances O(N K D^2) as two matrix products, and with h missing entries in a
row O(N K h^3) more.

References: Attias (2000); Bishop (2006), section 10.2; Blei & Jordan (2006) on the Dirichlet process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, simplex, sized
from latens.array.packed_symmetric import packed, upper_indices
from latens.array.special import logsumexp, softmax_entropy, xlogx
from latens.array.transfer import host, is_on_gpu, is_sparse, like, namespace
from latens.core import Rows, Statistics, transient
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.categorical_columns import CategoricalColumns
from latens.families.dirichlet import Dirichlet
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.mixed_columns import MixedColumns
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.normals import Normals
from latens.families.poisson_columns import PoissonColumns
from latens.families.sticks import Sticks
from latens.models.known_codes import KNOWN, for_components
from latens.models.mixture.features import Features, WideRows, expand, exposure_of, look, shown, sums_begun
from latens.models.mixture.missing import Filled
from latens.models.mixture.moves import Present, crossed, gather, rearrange
from latens.system.cached_value import cached_value

__all__ = ["ClusterStatistics", "Memberships", "Mixture", "MixturePosterior"]

KEPT_NUMBERS = 2**18  # of priors that are kept, of one number of clusters each

Weights = Dirichlet | Sticks | KnownDirichlet
Clusters = NormalWishart | NormalColumns | NormalMeans | BernoulliColumns | MixedColumns


@record
class MixturePosterior:
    weights: Weights  # (K,)
    clusters: Clusters | Normals = part(columns="1|d")

    @property
    def n_components(self) -> int:
        return len(self.clusters.mean)

    def only(self, keep: Index) -> MixturePosterior:
        return MixturePosterior(self.weights.only(keep), self.clusters.only(keep))

    def sample(self, rng: np.random.Generator) -> MixturePosterior:
        return MixturePosterior(self.weights.sample(rng), self.clusters.sample(rng))


@dataclass(frozen=True)
class Memberships:
    mean: Array = simplex("n k")  # q(c_n = k)
    view: Features | WideRows | Filled | None = transient()  # its rows, for their sums
    solved: tuple[Array, Array] | None = transient()  # the memberships of the local step, and their entropy (n,)

    def reorder(self, order: Index) -> Memberships:
        """Memberships of row order[n] for row n."""
        return Memberships(self.mean[order])

    @property
    def entropy(self) -> Array:
        """(n,)."""
        if self.solved is not None and self.solved[0] is self.mean:
            return self.solved[1]
        return -namespace(self.mean).sum(xlogx(self.mean), axis=1)


@record
class ClusterStatistics(Statistics):
    n: float
    entries: Floats = sized("d")  # rows in which each column was observed
    counts: Floats = sized("k")  # sum q(c)
    seen: Floats = sized("k 1|d")  # the same over the rows in which column d was seen, or filled in
    x: Floats = sized("k d")  # sum q(c) x
    xx: Floats = sized("1|k squares")  # sums of squares as the family asks for them
    entropy: float  # of memberships and of what was filled in
    # sums of which base measures of counts are made
    base: Floats = field(default_factory=lambda: np.zeros(0), metadata={"shape": "base"})

    @property
    def moments(self) -> tuple[Floats, Floats, Floats]:
        return self.seen, self.x, self.xx

    def regroup(self, groups: Floats, tied: bool = False) -> ClusterStatistics:
        """Clusters replaced by sums of clusters, groups (new, old); tied ones have one sum of squares for all."""
        xx = self.xx if tied else groups @ self.xx
        return replace(self, counts=groups @ self.counts, seen=groups @ self.seen, x=groups @ self.x, xx=xx)

    def pairs(self, first: Index, second: Index, tied: bool = False) -> ClusterStatistics:
        """Clusters replaced by pairs of them: `regroup` without products with what is mostly zeros."""
        return self._each(lambda sums: sums[first] + sums[second], tied)

    def with_joined(self, one: int, other: int, tied: bool = False) -> ClusterStatistics:
        """With the sums of two clusters in the place of the first of them."""
        return self._each(lambda sums: _with_row(sums, one, sums[one] + sums[other]), tied)

    def _each(self, change: Callable[[Floats], Floats], tied: bool) -> ClusterStatistics:
        xx = self.xx if tied else change(self.xx)
        return replace(self, counts=change(self.counts), seen=change(self.seen), x=change(self.x), xx=xx)


@record
class Mixture:
    weights: Weights = part(k="1")  # prior, for one component
    # prior of one cluster; point families of this union lack some methods, which is what `type: ignore` below is for
    clusters: Clusters = part(k="1", columns="1")
    # variance of what rounding took from each entry, of normal clusters; None: numbers are as they are
    rounding: Floats | None = sized("d", default=None)

    def prior(self, k: int) -> MixturePosterior:
        priors: dict[int, MixturePosterior] = self.__dict__.setdefault("_priors", {})  # asked for in every step
        if k not in priors:
            each = self.clusters
            width = each.n_natural if isinstance(each, NormalWishart) else each.natural[0].shape[1]
            if sum(priors, k) * width > KEPT_NUMBERS:
                priors.clear()  # one is enough: K covariances may be large
            priors[k] = MixturePosterior(self.weights.tiled(k), self.clusters.tiled(k))
        return priors[k]

    def local_step(self, q: MixturePosterior, batch: Rows, warm: Memberships | None = None) -> Memberships:
        joint, view = self._look(q, batch)
        if KNOWN in batch.aux:
            joint = for_components(joint, batch.aux[KNOWN])
        solved = self._shares(joint)
        return Memberships(solved[0], view, solved)

    def scored_step(self, q: MixturePosterior, batch: Rows) -> tuple[Memberships, Array]:
        """Memberships of rows whose labels are unknown, and what they are made of (n, K): parts of the bound."""
        joint, view = self._look(q, batch)
        scores = np.array(joint)
        solved = self._shares(joint)
        return Memberships(solved[0], view, solved), scores

    def pairs_step(self, q: MixturePosterior, batch: Rows) -> Memberships:
        """Memberships of rows in clusters 0 and 1 alone, in 2 and 3 alone, and so on: each pair's add up to 1."""
        joint, view = self._look(q, batch)
        xp = namespace(joint)
        pairs = xp.reshape(joint, (joint.shape[0], -1, 2))
        return Memberships(xp.reshape(softmax_entropy(pairs)[0], joint.shape), view)

    def statistics(self, batch: Rows, local: Memberships) -> ClusterStatistics:
        return self._statistics_begun(batch, local)()

    def _statistics_begun(self, batch: Rows, local: Memberships) -> Callable[[], ClusterStatistics]:
        view = local.view or self._complete(batch)
        asked = sums_begun(view, batch, batch.weigh(local.mean), batch.weigh(local.entropy))

        def found() -> ClusterStatistics:
            counts, (seen, x, xx, filled), entropy = asked()
            if (rounding := self._rounding_of(batch)) is not None:
                xx = self._spread(xx, seen.sum(axis=0, keepdims=True) if self.tied else seen, rounding)
            base = self._base_sums(batch) if isinstance(self.clusters, MixedColumns) else np.zeros(0)
            return ClusterStatistics(batch.n, batch.counts, counts, seen, x, xx, filled + entropy, base)

        return found

    def prepare(self, q: MixturePosterior) -> None:
        """Blocks of a pass share nothing but q."""

    def begin(self, q: MixturePosterior, batches: Sequence[Any]) -> None:
        """Ask a GPU that holds complete blocks for their sums under q: it makes them while the host has other work."""
        for batch in batches:
            if isinstance(batch, Rows) and is_on_gpu(batch.x) and batch.seen is None:  # and not a place in a file
                vars(batch)["begun"] = q, self._statistics_begun(batch, self.local_step(q, batch))

    def inferred(self, q: MixturePosterior, batch: Rows, warm: Any) -> tuple[None, ClusterStatistics] | None:
        """What was asked for before it was needed, of a step that is exact; None: nothing was, under q."""
        begun_for, asked = vars(batch).pop("begun", (None, None))
        return (None, asked()) if begun_for is q else None

    def _look(self, q: MixturePosterior, batch: Rows) -> tuple[Array, Any]:
        """E[log pi_k + log p(x_n | theta_k)], (n, K), over what each entry may have been before it was rounded."""
        joint, view = look(q.clusters, q.weights.mean_log, batch)
        rounding = self._rounding_of(batch)
        if rounding is None:
            return joint, view
        d = len(rounding)
        if self.tied:
            each = np.broadcast_to(-0.5 * np.diagonal(q.clusters.precision, axis1=1, axis2=2), (q.n_components, d))  # type: ignore[union-attr]
        else:
            clusters: Any = q.clusters
            each = clusters.natural[0][:, d:]
            if self.clusters.joint:  # rows are complete
                return joint + like(each @ self._rounded_squares, batch.x), view
            each = np.broadcast_to(each, (q.n_components, d))
        return joint + batch.mask @ like((each * rounding).T, batch.x), view

    def _shares(self, joint: Array) -> tuple[Array, Array]:
        """Memberships and their entropies, by compiled loops where clusters are."""
        return softmax_entropy(joint, 0) if isinstance(self.clusters, NormalWishart) else softmax_entropy(joint)

    def _rounding_of(self, batch: Rows) -> Floats | None:
        """Variances of rounding for these rows; None also where entries are filled in jointly, which leaves it out."""
        return None if self.clusters.joint and batch.seen is not None else self.rounding

    def _spread(self, xx: Floats, seen: Floats, rounding: Floats) -> Floats:
        """Sums of squares (K, Q) over `seen` (K, 1 or D) entries with what rounding adds, as the family asks for it."""
        if self.clusters.joint:
            return xx + seen * self._rounded_squares
        each = seen * rounding
        by_column = self.clusters.natural[0].shape[1] == 2 * len(rounding)
        return xx + (each if by_column else each.sum(axis=1, keepdims=True))

    @cached_value
    def _rounded_squares(self) -> Floats:
        """(D (D + 1) / 2,), what rounding adds to the products of pairs of columns of a row: to squares alone."""
        rounding = np.zeros(0) if self.rounding is None else self.rounding
        rows, columns = upper_indices(len(rounding))
        return np.where(rows == columns, rounding[rows], 0.0)

    def imagined(self, counts: Floats, mean: Floats, variance: Floats) -> ClusterStatistics:
        """Statistics of rows that were never seen: `counts` (K,) of them about each mean (K, D), variance (D,)."""
        n, d = float(counts.sum()), mean.shape[1]
        if self.clusters.joint:
            rows, columns = upper_indices(d)
            square = mean[:, rows] * mean[:, columns] + np.diag(variance)[rows, columns]
        elif (square := expand(self.clusters, mean).values[:, d:]).shape[1]:
            by_column = square.shape[1] == d  # else clusters are round, and have one sum over all columns
            square = square + (variance if by_column else variance.sum())
        xx = counts[:, None] * square
        xx = xx.sum(axis=0, keepdims=True) if self.tied else xx
        return ClusterStatistics(n, np.full(d, n), counts, counts[:, None], counts[:, None] * mean, xx, 0.0)

    def global_step(self, q: MixturePosterior, stats: ClusterStatistics) -> MixturePosterior:
        prior = self.prior(len(stats.counts))
        base = (stats.base,) if isinstance(self.clusters, MixedColumns) else ()
        return MixturePosterior(
            weights=prior.weights.observe(stats.counts, current=q.weights),
            clusters=prior.clusters.observe(*stats.moments, *base),  # type: ignore[union-attr]
        )

    def data_terms(self, q: MixturePosterior, stats: ClusterStatistics) -> dict[str, float]:
        base = q.clusters.base_total(stats.base) if isinstance(q.clusters, MixedColumns) else 0.0
        return {
            "likelihood": _log_likelihood(q.clusters, *stats.moments) + base,
            "memberships": q.weights.log_likelihood(stats.counts),
            "entropy": stats.entropy,
        }

    def global_terms(self, q: MixturePosterior) -> dict[str, float]:
        prior = self.prior(q.n_components)
        return {
            "kl_weights": -q.weights.kl(prior.weights),
            "kl_clusters": -q.clusters.kl(prior.clusters),  # type: ignore[arg-type, union-attr]
        }

    def slopes(self, q: MixturePosterior, stats: ClusterStatistics) -> dict[str, Any] | None:
        clusters, prior = q.clusters, self.prior(q.n_components)
        of_clusters = clusters.slopes(prior.clusters, *stats.moments)  # type: ignore[arg-type, union-attr]
        return of_clusters and {"weights": q.weights.slopes(prior.weights, stats.counts), "clusters": of_clusters}

    def codes(self, batch: Rows, local: Memberships) -> tuple[Array, Array]:
        return local.mean, local.mean * (1 - local.mean)

    def log_predictive(self, q: MixturePosterior, batch: Rows, local: Memberships) -> Array:
        """log sum_k E[pi_k] E_q[p(x_n | theta_k)], over the observed entries."""
        return logsumexp(self._log_joint(q, batch))[:, 0]

    def predicted_memberships(self, q: MixturePosterior, batch: Rows) -> Array:
        """(n, K), memberships of new rows under the density of `log_predictive`: parameters are integrated out.

        Local posteriors have exp E[log p] in place of E[p], as the bound asks for, which is surer than the rows allow.
        """
        return softmax_entropy(self._log_joint(q, batch))[0]

    def classified(self, q: MixturePosterior, batch: Rows) -> tuple[Array, Floats | None]:
        """Memberships as `predicted_memberships` gives them, and by how many rows less clusters are known, (2, K).

        These rows are of means and of covariances, of clusters with covariances of their own; None of other clusters.
        q counts every row of a cluster as a whole one: also a row with missing entries, which q fills in, and a row
        that it shares out between clusters. Its covariances are then too certain, and so are predictions from them.
        """
        clusters, weights = q.clusters, like(_log_weights(q), batch.x)
        if not isinstance(clusters, NormalWishart) or clusters.tied:
            return self.predicted_memberships(q, batch), None
        predicted = clusters.predict(batch.x, batch.holes, batch.observed)
        joint = predicted.density + weights
        share = softmax_entropy(joint)[0]
        certain = softmax_entropy(for_components(joint, batch.aux[KNOWN]))[0] if KNOWN in batch.aux else share
        return share, clusters.rows_lost(certain, batch.weigh(certain), predicted.form, batch.observed)

    def without_rows(self, q: MixturePosterior, lost: Floats) -> MixturePosterior:
        """q with means and covariances as uncertain as they are without so many rows, (2, K), of each cluster."""
        clusters: Any = q.clusters
        return replace(q, clusters=clusters.without_rows(lost, self.prior(q.n_components).clusters))

    def predicted_step(self, q: MixturePosterior, batch: Rows) -> Memberships:
        """Memberships under the predictive density, with the view of the rows that `statistics` needs.

        Candidates of a search are made from them. Of columns whose predictive density takes an integral for each entry,
        an approximation of that density is taken.
        """
        if isinstance(q.clusters, MixedColumns):
            near = q.clusters.near_density(batch.x, shown(q.clusters, batch)) + like(_log_weights(q), batch.x)
            return replace(self.local_step(q, batch), mean=softmax_entropy(near)[0])
        if not self.clusters.joint:
            return replace(self.local_step(q, batch), mean=self.predicted_memberships(q, batch))
        expected, view = look(q.clusters, np.zeros(q.n_components), batch)
        clusters: Any = q.clusters
        beside = (batch.observed, view.volume) if isinstance(view, Filled) else ()
        density = clusters.predicted_density(expected, *beside)
        return Memberships(self._shares(density + like(_log_weights(q), batch.x))[0], view)

    def _log_joint(self, q: MixturePosterior, batch: Rows) -> Array:
        """(n, K), log E[pi_k] + log E_q[p(x_n | theta_k)]."""
        clusters: Any = q.clusters
        if clusters.joint:
            density = clusters.predict(batch.x, batch.holes, batch.observed).density
        else:
            density = clusters.log_density(batch.x, shown(clusters, batch))
        return density + like(_log_weights(q), batch.x)

    def score_is_bound(self, q: MixturePosterior) -> bool:
        return False

    def row_bounds(self, q: MixturePosterior, batch: Rows, local: Memberships) -> Array:
        """(n,), each row's part of the bound, with the best filling for q; weighted, they add up to `data_terms`."""
        joint, _ = self._look(q, batch)
        bounds = array_namespace(joint).sum(local.mean * joint, axis=1) + local.entropy
        if isinstance(q.clusters, MixedColumns):
            bounds = bounds + q.clusters.base_measure(batch.x, shown(q.clusters, batch))
        return bounds

    def impute(self, q: MixturePosterior, batch: Rows, local: Memberships) -> tuple[Array, Array]:
        """Observed entries are certain; missing ones have the moments of the predictive density."""
        if is_sparse(batch.x):  # nothing is missing
            x = batch.x.toarray()
            return x, np.zeros_like(x)
        xp = array_namespace(batch.x)
        share = self.predicted_memberships(q, batch)
        clusters: Any = q.clusters
        if clusters.joint and batch.seen is not None:
            predicted = clusters.predict(batch.x, batch.holes, batch.observed)
            view = Filled(batch.x, batch.holes, clusters.mean, predicted.precision, predicted.volume, False)
            mean, variance = view.moments(share, predicted.stretch)
        elif isinstance(q.clusters, MixedColumns):
            mean, variance = q.clusters.fill(share, exposure_of(batch))
        else:
            mean = self.reconstruct(q, share)
            wider = share
            if isinstance(clusters, NormalColumns):
                wider = share * clusters.variance_ratios(batch.x, batch.mask)
            square = wider @ like(clusters.row_variance, batch.x) + share @ like(clusters.mean**2, batch.x)
            variance = square - mean**2
        hidden = 1 - batch.mask
        mean = batch.x + hidden * mean
        none = xp.zeros_like(mean)  # a variance may be infinite
        return mean, xp.maximum(xp.where(hidden > 0, variance, none), none)

    def reconstruct(self, q: MixturePosterior, codes: Array) -> Array:
        return codes @ like(q.clusters.mean, codes)

    def draw(
        self, q: MixturePosterior, n: int, rng: np.random.Generator, exposure: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Rows and memberships (one 1 in each) under one draw of the globals; exposures (n,) of mixed columns."""
        point = q.sample(rng)
        label = rng.choice(q.n_components, size=n, p=point.weights.mean)
        beside = () if exposure is None else (exposure,)
        rows = point.clusters.draw(label, rng, *beside)  # type: ignore[union-attr]
        return rows, np.eye(q.n_components)[label]

    def draw_entries(self, q: MixturePosterior, batch: Rows, n_draws: int, rng: np.random.Generator) -> Floats:
        """(draws, n, D), new entries of rows whose labels are drawn given what they show, each under one draw of q.

        For columns that are independent within a cluster.
        """
        chance = np.log(np.maximum(host(self.predicted_memberships(q, batch)), 1e-300))
        exposure, drawn = exposure_of(batch), np.empty((n_draws, *batch.x.shape))
        beside = () if exposure is None else (host(exposure),)
        for i in range(n_draws):
            label = np.argmax(chance + rng.gumbel(size=chance.shape), axis=1)
            drawn[i] = q.sample(rng).clusters.draw(label, rng, *beside)  # type: ignore[union-attr]
        return drawn

    def cannot_sample(self, q: MixturePosterior) -> str:
        if not isinstance(self.clusters, MixedColumns):
            drawn = (NormalWishart, NormalColumns, NormalMeans, BernoulliColumns)
            return "" if type(self.clusters) in drawn else "columns of this kind are not drawn yet"
        closed = (NormalColumns, BernoulliColumns, CategoricalColumns, PoissonColumns)
        others = [kind for kind, part in self.clusters.parts.items() if type(part) not in closed]
        return f"columns {', '.join(others)} have no closed posterior given the classes" if others else ""

    def anneals_with_holes(self, q: MixturePosterior) -> bool:
        return not self.clusters.joint  # powers of a density that has integrated entries out are no conjugate posterior

    def draw_codes(self, point: MixturePosterior, batch: Rows, last: Any, rng: np.random.Generator) -> Memberships:
        """One label of each row given weights and clusters."""
        joint = self.code_scores(point, batch)
        return self.with_codes(np.argmax(joint + rng.gumbel(size=joint.shape), axis=1), joint.shape[1])

    def with_codes(self, states: Index, n_states: int) -> Memberships:
        """Labels (n,) as memberships."""
        return Memberships(np.eye(n_states)[states])

    def code_scores(self, point: MixturePosterior, batch: Rows) -> Floats:
        """(n, K), log p(row, label) given weights and clusters."""
        clusters: Any = point.clusters
        if isinstance(clusters, Normals):
            density = clusters.log_density(batch.x, None if batch.seen is None else batch.holes)
        else:
            density = clusters.log_density(batch.x, shown(clusters, batch))
        return np.asarray(density) + point.weights.mean_log

    def draw_statistics(
        self, point: MixturePosterior, batch: Rows, local: Memberships, rng: np.random.Generator
    ) -> ClusterStatistics:
        """Sums over rows of drawn codes; missing entries are drawn where the others of their row tell of them."""
        if batch.seen is not None and isinstance(point.clusters, Normals):
            label = np.argmax(local.mean, axis=1)
            whole = point.clusters.completed(batch.x, batch.holes, label, rng)
            local = replace(local, view=expand(self.clusters, whole))
        return self.statistics(batch, local)

    def draw_globals(
        self, point: MixturePosterior, stats: ClusterStatistics, rng: np.random.Generator
    ) -> MixturePosterior:
        """Weights and clusters given the labels behind the sums."""
        drawn = self.global_step(self.prior(len(stats.counts)), stats).sample(rng)
        if isinstance(self.weights, Sticks):
            return replace(drawn, weights=self.weights.redrawn(point.weights.mean_log, stats.counts, rng))
        return drawn

    def cannot_anneal(self, q: MixturePosterior) -> str:
        of_weights = "weights of a Dirichlet process are not annealed" if isinstance(self.weights, Sticks) else ""
        return of_weights or self.cannot_sample(q)

    def log_states(self, batch: Rows, q: MixturePosterior) -> float:
        return len(batch) * float(np.log(q.n_components))

    def at_codes(self, q: MixturePosterior, codes: Index, rng: np.random.Generator) -> Memberships:
        return self.with_codes(codes, q.n_components)

    def draw_at(
        self, t: float, point: MixturePosterior, batch: Rows, last: Any, rng: np.random.Generator
    ) -> tuple[Memberships, ClusterStatistics]:
        """The joint density of rows and labels goes to the power t."""
        scores = t * self.code_scores(point, batch) if t > 0 else np.zeros((len(batch), point.n_components))
        local = self.with_codes(np.argmax(scores + rng.gumbel(size=scores.shape), axis=1), scores.shape[1])
        return local, self.statistics(batch, local)

    def importance(self, q: MixturePosterior, stats: ClusterStatistics) -> Floats:
        """(K,), share of the rows; 0 for a cluster of less than one row."""
        return np.where(stats.counts < min(1.0, 0.5 * stats.n), 0.0, stats.counts / stats.n)

    def exact_local(self, q: MixturePosterior) -> bool:
        return True

    def floats_per_row(self, k: int) -> int:
        width = int(self.clusters.natural[0].shape[1])
        curved = self.clusters.curved.values() if isinstance(self.clusters, MixedColumns) else ()
        each = 5 + 6 * max((part.n_grid for part in curved), default=0)
        return each * k + (width if width > self.clusters.mean.shape[1] else 0)

    @property
    def tied(self) -> bool:
        """Whether all clusters share one covariance."""
        return isinstance(self.clusters, NormalWishart) and self.clusters.tied

    def fewest(self, q: MixturePosterior, stats: ClusterStatistics) -> MixturePosterior:
        """All rows in one cluster."""
        one = np.ones((1, q.n_components))
        return self.global_step(q.only(np.zeros(1, dtype=np.intp)), stats.regroup(one, self.tied))

    def candidates(
        self, q: MixturePosterior, stats: ClusterStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        now = Present(self, q, stats, sample)
        yield from gather(now)
        yield from rearrange(now, limit)

    def candidates_again(
        self, q: MixturePosterior, stats: ClusterStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        now = Present(self, q, stats, sample)
        yield from rearrange(now, limit)
        yield from gather(now)

    def first_candidates(
        self, q: MixturePosterior, stats: ClusterStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        return gather(Present(self, q, stats, sample))

    def further_candidates(
        self, q: MixturePosterior, stats: ClusterStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        return rearrange(Present(self, q, stats, sample), limit)

    def crossed(self, one: Any, other: Any, sample: Rows, limit: int) -> Iterator[Any]:
        return crossed(self, one, other, sample, limit)

    def crosses_unmoved(self, sample: Rows) -> bool:
        """Those with covariances of their own, of complete rows, whose iterations take long."""
        return self.clusters.joint and not self.tied and sample.seen is None

    def _complete(self, batch: Rows) -> Features | WideRows:
        """Features of the rows, for memberships that came without them: from a start or a file."""
        if self.clusters.joint and batch.seen is not None:
            raise ValueError("memberships of rows with missing entries lack what was filled in; take a local step.")
        return expand(self.clusters, batch.x, batch)

    def coordinates(self, x: Array, exposure: Floats | None = None) -> Array:
        """Complete rows in coordinates in which distances tell clusters apart; x itself where columns are the axes."""
        if isinstance(self.clusters, MixedColumns):
            return self.clusters.coordinates(x, exposure)
        axes = self.axes
        return x if axes is None else x @ axes

    @property
    def axes(self) -> Floats | None:
        """(D, D), along which the prior expects clusters to be round; None for those of the columns."""
        return self.clusters.axes if isinstance(self.clusters, NormalWishart) else None

    def _base_sums(self, batch: Rows) -> Floats:
        """Sums of the base measures, which depend on the rows alone."""
        xp, mixed = array_namespace(batch.x), self.clusters

        def sums() -> Array:
            weight = xp.ones_like(batch.x[:, :1]) if batch.weight is None else batch.weight[:, None]
            return mixed.base_sums(batch.x, weight, shown(mixed, batch))  # type: ignore[union-attr]

        return np.asarray(batch.cached("base sums", sums))


def _with_row(sums: Floats, at: int, row: Any) -> Floats:
    changed = sums.copy()
    changed[at] = row
    return changed


def _log_weights(q: MixturePosterior) -> Floats:
    return np.asarray(np.log(np.maximum(q.weights.mean, 1e-300)))


def _log_likelihood(clusters: Any, seen: Floats, x: Floats, xx: Floats) -> float:
    """sum E[log p(x | theta_k)], linear in the sums."""
    theta, level = clusters.natural
    d = x.shape[1]
    if theta.shape[1] == d and clusters.joint:  # matrix by matrix: those of many columns fill the memory
        precisions = zip(clusters.precision, xx, strict=True)
        squares = sum(float((packed(-0.5 * each[None]) * sums).sum()) for each, sums in precisions)
    else:
        squares = (theta[:, d:] * xx).sum()
    levels = seen[:, 0] @ level if clusters.joint else np.sum(level * seen)
    return float((theta[:, :d] * x).sum() + squares + levels)
