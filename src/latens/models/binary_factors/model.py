"""Binary factors: real-valued rows explained by a few causes that are each on or off.

    pi_k           ~ Beta(usage)                               how often cause k is on
    tau            ~ Gamma(noise)                              noise precision, one or one per column
    alpha_k        ~ Gamma(relevance)                          large: cause k is not needed
    w_k | tau      ~ Normal(0, (alpha_k tau)^-1 I)             what cause k adds to a row
    z_nk           ~ Bernoulli(pi_k)
    x_n | z_n      ~ Normal(b + W'z_n, tau^-1 I)               b: an optional intercept, a cause that is always on

Posterior family: q(pi) q(W, tau) q(alpha) prod_n q(z_n), with a full K x K covariance of the
loadings and q(z_n) as `e_step` says. All global blocks are conjugate, so each update is exact;
no local step lowers the bound. With `points`, pi, W and tau are point estimates (variational EM)
and the bound is below the likelihood at those points. Missing entries drop out of every sum.

Cost per iteration O(N D K + N K^2), with missing entries O(N D K^2).

References: Hinton & Zemel (1994) on cooperative vector quantizers; Ghahramani (1995) on factorial
learning; Bishop (1999) on relevance determination; Luecke & Eggert (2010) on truncated posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.special import expit

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, sized
from latens.array.kernels.on_off.enumeration import switch_moments
from latens.array.row_matrices import with_ones
from latens.array.special import logsumexp
from latens.array.states import all_states
from latens.array.transfer import column_sums, cross_sums, cross_sums_together, like, total
from latens.core import Rows, Statistics
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.point_beta import PointBeta
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance, drawn, learnt
from latens.models.binary_factors.moves import gather, rearrange
from latens.models.binary_factors.posteriors import (
    Automatic,
    CodeMoments,
    Exact,
    MeanField,
    States,
    Switches,
    Truncated,
)
from latens.models.gaussian_rows import (
    beside_ones,
    evidence,
    level,
    predicted_variance,
    products,
    second_with_ones,
    sharp,
)
from latens.models.known_codes import KNOWN, for_switches

__all__ = ["BinaryFactors", "BinaryPosterior", "CodeStatistics"]

MANY_ROWS = 1024.0  # from which on all moves of every start take too long
MOST_ENUMERATED = 12  # causes up to which the predictive density sums over all states
GAP_OF_OPTIMA = 1.0  # nats a row by which approximate codes that settle anew may end elsewhere than in the fit


@record
class BinaryPosterior:
    usage: Beta | PointBeta = part("k")
    loadings: Relevance | PointNormalGamma = part(k="k+intercept", noises="1|d")  # and the noise

    @property
    def n_components(self) -> int:
        return len(self.usage.mean)

    def only(self, keep: Index) -> BinaryPosterior:
        return BinaryPosterior(self.usage.only(keep), self.loadings.only(_with_rest(keep, self)))

    def sample(self, rng: np.random.Generator) -> BinaryPosterior:
        return BinaryPosterior(self.usage.sample(rng), self.loadings.sample(rng))


@record
class CodeStatistics(Statistics):
    n: float
    seen: Floats = sized("d")  # rows in which column d was seen
    on: Floats = sized("k")  # sum E[z]
    zz: Floats = sized("1|d k+intercept k+intercept")  # sum E[z z'] over the rows where d was seen
    zx: Floats = sized("k+intercept d")  # sum E[z] x'
    xx: Floats = sized("d")  # sum x^2
    entropy: float  # sum H[q(z_n)]

    @property
    def entries(self) -> Floats:
        return self.seen

    @property
    def regression(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.seen, self.zz, self.zx, self.xx

    def only(self, keep: Index) -> CodeStatistics:
        """What remains when the other causes are taken out."""
        rest = np.concatenate([keep, np.arange(len(self.on), len(self.zx))])
        zz = self.zz[:, rest][:, :, rest]
        return CodeStatistics(self.n, self.seen, self.on[keep], zz, self.zx[rest], self.xx, self.entropy)


@record
class BinaryFactors:
    n_features: int
    usage: tuple[float, float] = (1.0, 1.0)
    noise: tuple[float, float] = (1e-3, 1e-3)  # the rate carries the square of the data's unit
    relevance: tuple[float, float] = (1e-3, 1e-3)
    points: bool = False
    intercept: bool = False
    diagonal: bool = False  # whether every column has its own noise
    floor: float = 1e-9  # smallest noise variance of a point estimate
    n_empty: int = 0  # of the columns, that rows in their own space do not have (`row_space`)
    e_step: MeanField | Exact | Truncated | Automatic = field(default_factory=Automatic)

    def fewest(self, q: BinaryPosterior, stats: Statistics) -> BinaryPosterior | None:
        return None if self.points else q.only(np.arange(0))

    def prior(self, k: int) -> BinaryPosterior:
        """That of the last number of causes is kept: every iteration asks for it, for the step and for the bound."""
        last = vars(self).get("_last_prior")
        if last is None or last.n_components != k:
            last = vars(self)["_last_prior"] = self._new_prior(k)
        return last

    def _new_prior(self, k: int) -> BinaryPosterior:
        rows, noises = k + self.intercept, self.n_features if self.diagonal else 1
        if self.points:
            loadings = PointNormalGamma(np.zeros((rows, self.n_features)), np.ones(noises), self.floor)
            return BinaryPosterior(PointBeta.of(np.full(k, 0.5)), loadings)
        noise = Gamma(np.full(noises, self.noise[0]), np.full(noises, self.noise[1]))
        usage = Beta(np.full(k, self.usage[0]), np.full(k, self.usage[1]))
        width = self.n_features - self.n_empty
        return BinaryPosterior(usage, Relevance.prior(rows, width, noise, self.relevance, self.n_empty))

    def local_step(self, q: BinaryPosterior, batch: Rows, warm: Any = None) -> Switches | States:
        return self.e_step.infer(*self._drive_and_gram(q, batch), q.usage.mean, warm)

    def code_moments(self, q: BinaryPosterior, batch: Rows) -> Switches | States | CodeMoments:
        """Of local steps that are exact."""
        if not is_numpy_array(batch.x) or not self.exact_local(q):
            return self.local_step(q, batch)
        return CodeMoments(*switch_moments(*self._drive_and_gram(q, batch)))

    def statistics(self, batch: Rows, local: Switches | States | CodeMoments) -> CodeStatistics:
        # elsewhere than in NumPy the host waits for each answer
        if isinstance(local, Switches) and batch.seen is None and not isinstance(batch.x, np.ndarray):
            on, zz, zx, entropy = self._sums_at_once(batch, local)
        else:
            on, zz, zx, entropy = self._sums(batch, local)
        # entries of columns that rows do not have count among those of the others
        seen = batch.counts * (self.n_features / batch.x.shape[1]) if self.n_empty else batch.counts
        return CodeStatistics(batch.n, seen, on, zz, zx, batch.squares, entropy)

    def _sums(self, batch: Rows, local: Any) -> tuple[Floats, Floats, Floats, float]:
        """Sums of E[z], E[z z'], E[z] x' and entropies."""
        weighted = batch.weigh(with_ones(local.mean, self.intercept))
        zz = products(
            batch,
            local.mean,
            local.second,
            lambda: local.summed_second(batch),
            self.intercept,
            local.variance if isinstance(local, Switches) else None,
        )
        on, zx = column_sums(weighted)[: local.mean.shape[1]], cross_sums(weighted, batch.x)
        return on, zz, zx, total(batch.weigh(local.entropy))

    def _sums_at_once(self, batch: Rows, local: Switches) -> tuple[Floats, Floats, Floats, float]:
        """The same of switches of complete rows, brought to the host by one copy.

        An intercept takes no part in products: a GPU takes twice as long for 65 columns as for 64.
        """
        weighted, double = batch.weigh(local.mean), array_namespace(batch.x).float64
        entropy = array_namespace(batch.x).astype(batch.weigh(local.entropy), double)
        zx, zz, on, spread = cross_sums_together(
            (weighted, batch.x), (weighted, local.mean), columns=(weighted, entropy[:, None])
        )
        np.fill_diagonal(zz, on)  # a switch is its own square
        if self.intercept:
            zz, zx = beside_ones(zz, on, batch.n), np.concatenate([zx, batch.sums[None]])
        return on, zz[None], zx, float(spread[0])

    def global_step(self, q: BinaryPosterior, stats: CodeStatistics) -> BinaryPosterior:
        prior = self.prior(len(stats.on))
        return BinaryPosterior(
            usage=prior.usage.observe(stats.on, np.maximum(stats.n - stats.on, 0.0)),
            loadings=prior.loadings.observe(*stats.regression, current=q.loadings),
        )

    def beyond(self, old: BinaryPosterior, new: BinaryPosterior, times: float) -> BinaryPosterior:
        """Causes that overlap learn slowly which of them a row is due to: each step moves a part of the way.

        Only where rows settle exactly: else they would follow longer steps by codes that they do not find again.
        """
        if not self.exact_local(new) or not isinstance(new.usage, Beta) or not isinstance(old.usage, Beta):
            return new  # points take long steps by themselves
        loadings = learnt(new.loadings).beyond(learnt(old.loadings), times)
        return BinaryPosterior(new.usage.beyond(old.usage, times), loadings)

    def data_terms(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, float]:
        return {
            "likelihood": q.loadings.log_likelihood(*stats.regression),
            "codes": q.usage.log_likelihood(stats.on, stats.n - stats.on),
            "entropy": stats.entropy,
        }

    def global_terms(self, q: BinaryPosterior) -> dict[str, float]:
        prior = self.prior(q.n_components)
        return {
            "kl_usage": -q.usage.kl(prior.usage),
            "kl_loadings": -q.loadings.kl(prior.loadings),
        }

    def slopes(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, Any]:
        prior = self.prior(q.n_components)
        return {
            "usage": q.usage.slopes(prior.usage, stats.on, stats.n - stats.on),
            "loadings": q.loadings.slopes(prior.loadings, *stats.regression),
        }

    def cannot_sample(self, q: BinaryPosterior) -> str:
        if self.points:
            return "maximum likelihood has no posterior to draw from; fit with prior='ard'"
        exact = self.exact_local(q) and q.n_components <= MOST_ENUMERATED
        return "" if exact else "codes are drawn only where e_step is exact"

    def anneals_with_holes(self, q: BinaryPosterior) -> bool:
        return True

    def draw_codes(self, point: BinaryPosterior, batch: Rows, last: Any, rng: np.random.Generator) -> States:
        """One code of each row given usage, loadings and noise."""
        local = replace(self, e_step=Exact()).local_step(point, batch)
        if not isinstance(local, States) or local.words is not None:
            raise TypeError("codes are drawn from a list of all states.")
        with np.errstate(divide="ignore"):
            scores = np.log(np.asarray(local.chance))
        pick = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        return States(None, local.k, np.eye(scores.shape[1])[pick])

    def draw_statistics(
        self, point: BinaryPosterior, batch: Rows, local: States, rng: np.random.Generator
    ) -> CodeStatistics:
        """Sums over rows of drawn codes: nothing else is hidden."""
        return self.statistics(batch, local)

    def draw_globals(self, point: BinaryPosterior, stats: CodeStatistics, rng: np.random.Generator) -> BinaryPosterior:
        """Relevances given loadings, then loadings and noise given them and the codes behind the sums; usage."""
        prior, w = self.prior(len(stats.on)), point.loadings
        if not isinstance(prior.loadings, Relevance) or not isinstance(w, PointNormalGamma):
            raise TypeError("points have no posterior to draw from.")
        usage = prior.usage.observe(stats.on, np.maximum(stats.n - stats.on, 0.0))
        return BinaryPosterior(usage.sample(rng), prior.loadings.draw_given(stats.regression, w, rng))

    def cannot_anneal(self, q: BinaryPosterior) -> str:
        return self.cannot_sample(q)

    def log_states(self, batch: Rows, q: BinaryPosterior) -> float:
        return len(batch) * q.n_components * float(np.log(2))

    def at_codes(self, q: BinaryPosterior, codes: Floats, rng: np.random.Generator) -> States:
        """Codes (n, K) of 0 and 1."""
        k = q.n_components
        return States(None, k, np.eye(2**k)[(codes > 0.5) @ 2 ** np.arange(k)])

    def draw_at(
        self, t: float, point: BinaryPosterior, batch: Rows, last: Any, rng: np.random.Generator
    ) -> tuple[States, CodeStatistics]:
        """The joint density of rows and codes goes to the power t: noise is larger, usage nearer a half."""
        log_on, log_off = point.usage.mean_log
        usage = PointBeta.of(np.asarray(expit(t * (log_on - log_off))))
        local = self.draw_codes(BinaryPosterior(usage, drawn(point.loadings).to_power(t)), batch, last, rng)
        return local, self.statistics(batch, local)

    def proper(self, q: BinaryPosterior) -> BinaryFactors:
        (shape, rate), relevance = learnt(q.loadings).about()
        return replace(self, noise=(shape, float(np.exp(np.mean(np.log(rate))))), relevance=relevance)

    def draw_prior(self, q: BinaryPosterior, rng: np.random.Generator) -> BinaryPosterior:
        prior = self.prior(q.n_components)
        return BinaryPosterior(prior.usage.sample(rng), learnt(prior.loadings).draw(rng))

    def log_prior(self, point: BinaryPosterior) -> float:
        """Of loadings and noise; that of usage is the same at every t."""
        return learnt(self.prior(point.n_components).loadings).log_density_at(drawn(point.loadings))

    def redraw(self, point: BinaryPosterior, stats: CodeStatistics, rng: np.random.Generator) -> BinaryPosterior:
        return self.draw_globals(point, stats, rng)

    def log_tempered(self, point: BinaryPosterior, stats: CodeStatistics) -> float:
        return sum(self.data_terms(point, stats).values())

    def codes(self, batch: Rows, local: Switches | States) -> tuple[Array, Array]:
        local = local.rounded(batch.x)
        return local.mean, local.variance

    def log_predictive(self, q: BinaryPosterior, batch: Rows, local: Switches | States) -> Array:
        """log E_q[p(row)] by enumeration while that is feasible, else the row's own bound."""
        if self.score_is_bound(q):
            return self.row_bounds(q, batch, local)
        return logsumexp(self._predictive_scores(q, batch))[:, 0]

    def _predictive_scores(self, q: BinaryPosterior, batch: Rows) -> Array:
        """(n, 2^K), log E_q[p(row, state)]."""
        states = all_states(q.n_components)
        log_on, log_off = np.log(q.usage.mean), np.log1p(-q.usage.mean)
        joint = q.loadings.log_density(with_ones(states, self.intercept), batch.x, batch.mask)
        return joint + like(states @ log_on + (1 - states) @ log_off, batch.x)

    def score_is_bound(self, q: BinaryPosterior) -> bool:
        return q.n_components > MOST_ENUMERATED

    def row_bounds(self, q: BinaryPosterior, batch: Rows, local: Switches | States) -> Array:
        """(n,), each row's part of the bound; weighted, they add up to `data_terms`."""
        xp, local = array_namespace(batch.x), local.rounded(batch.x)
        drive, gram = self._evidence(q, batch)
        flat = level(q.loadings, batch, q.n_components) + float(q.usage.mean_log[1].sum())
        return flat + xp.sum(local.mean * drive, axis=1) - 0.5 * local.energy(gram) + local.entropy

    def impute(self, q: BinaryPosterior, batch: Rows, local: Switches | States) -> tuple[Array, Array]:
        """Under the predictive density of `log_predictive`, where that sums over all states."""
        if not self.score_is_bound(q):
            local = States.at(None, q.n_components, self._predictive_scores(q, batch))
        local = local.rounded(batch.x)
        mean = self.reconstruct(q, local.mean)
        second = second_with_ones(local.second(), local.mean, self.intercept)
        return mean, predicted_variance(q.loadings, second, mean, batch.x)

    def reconstruct(self, q: BinaryPosterior, codes: Array) -> Array:
        return with_ones(codes, self.intercept) @ like(q.loadings.mean, codes)

    def draw(self, q: BinaryPosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and codes under one draw of the globals."""
        point = q.sample(rng)
        codes = (rng.random((n, q.n_components)) < point.usage.mean).astype(float)
        noise = rng.normal(size=(n, self.n_features)) * np.sqrt(point.loadings.mean_noise)
        return self.reconstruct(point, codes) + noise, codes

    def importance(self, q: BinaryPosterior, stats: CodeStatistics) -> Floats:
        """(K,), share of the model's variance; 0 for a cause that is dead.

        Dead is what is on in less than one row, or explains less than its loadings cost, half a nat each.
        """
        k, usage, w = q.n_components, q.usage.mean, q.loadings
        each = usage * (1 - usage) * np.sum(w.mean[:k] ** 2, axis=1)
        noise = np.sum(np.broadcast_to(w.mean_noise, (self.n_features,)))
        share: Floats = np.maximum(each / (each.sum() + noise), np.finfo(float).tiny)
        if self.points:
            return share
        explained = 0.5 * stats.n * usage * (1 - usage) * np.sum(w.tau * w.mean[:k] ** 2, axis=1)
        share[(stats.on < 1.0) | (explained < 0.5 * self.n_features)] = 0.0
        return share

    def exact_local(self, q: BinaryPosterior) -> bool:
        return self.e_step.is_exact(q.n_components)

    def biased_local(self, q: BinaryPosterior) -> bool:
        return not self.exact_local(q)

    def gap_of_optima(self, q: BinaryPosterior, n: float, bound: float) -> float:
        return 0.0 if self.exact_local(q) else GAP_OF_OPTIMA * n

    def rows_alone(self, stats: CodeStatistics) -> Floats:
        return np.concatenate([stats.seen, stats.xx])

    def floats_per_row(self, k: int) -> int:
        # products of codes, which only rows with holes need, for a quarter: small blocks keep threads waiting
        return self.e_step.floats_per_row(k) + (k + 1) ** 2 // 4

    def candidates(
        self, q: BinaryPosterior, stats: CodeStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        yield from self.first_candidates(q, stats, sample, rng, limit)
        yield from self.further_candidates(q, stats, sample, rng, limit)

    def first_candidates(
        self, q: BinaryPosterior, stats: CodeStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        """Of few rows, and of point estimates, all of them: nothing short of all moves tells which start is better."""
        yield from gather(self, q, stats)
        if self.points or stats.n < MANY_ROWS:
            yield from rearrange(self, q, stats, sample, rng, limit)

    def further_candidates(
        self, q: BinaryPosterior, stats: CodeStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Any]:
        few = self.points or stats.n < MANY_ROWS
        return iter(()) if few else rearrange(self, q, stats, sample, rng, limit)

    def _drive_and_gram(self, q: BinaryPosterior, batch: Rows) -> tuple[Array, Array]:
        """The same as precisely as codes need it, and with what is known of them."""
        batch = sharp(batch, q.loadings.tau)
        drive, gram = self._evidence(q, batch, _pull(q, batch))
        if KNOWN in batch.aux:
            drive = for_switches(drive, batch.aux[KNOWN], gram)
        return drive, gram

    def _evidence(self, q: BinaryPosterior, batch: Rows, pull: Array | None = None) -> tuple[Array, Array]:
        """What a row says for each cause alone (n, K), and what pairs cost (1 or n, K, K)."""
        log_on, log_off = q.usage.mean_log
        drive, gram = evidence(q.loadings, batch, q.n_components, pull)
        own = array_namespace(batch.x).linalg.diagonal(gram)
        return drive + (like(log_on - log_off, batch.x) - 0.5 * own), gram


def _pull(q: BinaryPosterior, batch: Rows) -> Array:
    """(n, K or more), rows times weighted loadings."""
    if isinstance(batch.x, np.ndarray):
        return batch.x @ like(q.loadings.scaled.T, batch.x)
    # on a GPU numbers of many rows lie together, as sweeps want them, and products of an odd width take twice as long
    return (like(q.loadings.scaled[: q.n_components], batch.x) @ batch.x.T).T


def _with_rest(keep: Index, q: BinaryPosterior) -> Index:
    """The rows of the loadings that belong to the kept causes, and the intercept's."""
    return np.concatenate([keep, np.arange(q.n_components, len(q.loadings.mean))])
