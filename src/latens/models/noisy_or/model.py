"""Noisy-OR: binary rows in which every one was brought about by a hidden cause that is on, or by the leak.

    w              ~ Dirichlet(profiles)               how common a profile is: which causes go together
    pi_ck          ~ Beta(usage)                       how often cause k is on under profile c
    p_kj           ~ Beta(strength)                    how often cause k, when on, makes column j 1
    p_0j           ~ Beta(leak)                        how often a column is 1 without any cause
    c_n            ~ Categorical(w)
    s_nk | c_n     ~ Bernoulli(pi_{c_n k})
    y_nkj | s_nk   ~ Bernoulli(s_nk p_kj),   y_n0j ~ Bernoulli(p_0j)
    x_nj           = max(y_n0j, y_n1j, ..., y_nKj)

Posterior family: q(w) q(pi) q(p) q(p_0) prod_n q(s_n, c_n, y_n), each row's joint over the states s_n it lists: all
2^K for few causes, else C that are kept, improved by flips and never exchanged for worse ones. Given s, the profile
and the attributions y are summed out in closed form, so within the listed states every update is exact; a truncated
list loosens the bound and keeps it one. With one profile the causes are independent. With `points` all globals are
point estimates (EM) and the bound is below the likelihood at those points. Missing entries drop out of every sum.

E step, with theta = log(1 + e^(<log p> - <log(1-p)>)), <.> being E_q: -log(1 - p) where p is a point.

    a_j(s)                 = theta_0j + sum_k s_k theta_kj
    score(s)               = log sum_c exp(<log w_c> + sum_k s_k <log pi_ck> + (1 - s_k) <log(1-pi_ck)>)
                             + sum_{j seen} [<log(1-p_0j)> + sum_k s_k <log(1-p_kj)>] + sum_{j: x_j=1} log(e^a_j(s) - 1)
    q(s)                   in proportion to e^score(s); a row adds log sum_s e^score(s) to the bound
    E[y_kj | s, x_j = 1]   = s_k (1 - e^-theta_kj) / (1 - e^-a_j(s)),   the leak likewise

M step: p_kj gains as many successes as ones that cause k brought about, and as failures all other rows that show
column j while the cause is on; the leak likewise over all rows that show column j, pi and w by expected counts.

Cost per iteration: O(ones 2^K), or O(ones C K) when truncated; with P profiles O(N C P K) more.

References: Saul, Jaakkola & Jordan (1996) and Singliar & Hauskrecht (2006) on noisy-OR component analysis;
Luecke & Eggert (2010) on truncated posteriors; Heckerman (1993) on causal independence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, sized
from latens.array.kernels.noisy_or.states import (
    Effects,
    Ones,
    OnesOnGpu,
    improve,
    meets_gpu,
    meets_kernels,
    score_all,
    score_kept,
    share_all,
    share_kept,
    sum_states,
)
from latens.array.special import logsumexp, softplus
from latens.array.states import all_states, unpack
from latens.array.transfer import host, like, total
from latens.core import Proposal, Rows, Statistics, transient
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.models.binary_factors.posteriors import States
from latens.models.known_codes import KNOWN, for_states
from latens.models.noisy_or.moves import propose
from latens.models.noisy_or.sampling import (
    DrawnCauses,
    draw_firings,
    draw_profiles,
    draw_states,
    log_ways,
    to_power,
)

__all__ = ["CausePosterior", "CauseStatistics", "ListedStates", "NoisyOrCauses"]

MOST_ENUMERATED = 12  # causes up to which the predictive probability sums over all states
FIRST_ROUNDS = 8  # more rounds of single flips of rows that begin with all causes off; each turns on one at most
FIRST_WIDTH = 3  # times as many states are flipped after these rounds: fewer miss some of the best for good
TIMES_AS_MANY_STATES = 4  # times as many states are kept where the predictive probability cannot sum over all
WORK_OF_HOLE = 2**18  # additions for which a missing entry is weighed by all states: a fraction of a millisecond
HOLES_AT_ONCE = 2**12
GAP_OF_LISTS = 1e-4  # of the bound, by which rows whose best states are looked for anew may differ
KEPT_NUMBERS = 2**18  # of priors that are kept, of one number of causes each


@record
class CausePosterior:
    profiles: Dirichlet | PointDirichlet = part(k="profiles")
    usage: Beta | PointBeta = part("profiles k")
    causes: Beta | PointBeta = part("k d")
    leak: Beta | PointBeta = part("d")

    @property
    def n_components(self) -> int:
        return int(self.usage.mean.shape[1])

    @property
    def n_profiles(self) -> int:
        return len(self.profiles.mean)

    @property
    def mean_usage(self) -> Floats:
        """(K,), how often each cause is on."""
        return self.profiles.mean @ self.usage.mean

    def only(self, keep: Index) -> CausePosterior:
        within = self.usage.only((slice(None), keep))  # type: ignore[arg-type]  # causes are its second axis
        return replace(self, usage=within, causes=self.causes.only(keep))

    def with_cause(self, k: int, strength: Floats) -> CausePosterior:
        """Cause k exchanged for one that makes columns 1 with these chances (D,), as sure of itself as it was."""
        if isinstance(self.causes, PointBeta):
            mean = self.causes.mean.copy()
            mean[k] = strength
            return replace(self, causes=PointBeta.of(mean))
        size = self.causes.on[k].sum() / max(float(strength.sum()), 1e-12) + 1.0
        on, off = self.causes.on.copy(), self.causes.off.copy()
        on[k], off[k] = size * strength, size * (1 - strength)
        return replace(self, causes=Beta(on, off))

    def sample(self, rng: np.random.Generator) -> CausePosterior:
        parts = (self.profiles, self.usage, self.causes, self.leak)
        profiles, usage, causes, leak = (part.sample(rng) for part in parts)
        # each is a point of its own family, which the loop over all four does not tell
        return CausePosterior(PointDirichlet(profiles.mean), usage, causes, leak)  # type: ignore[arg-type]

    @cached_property
    def expected(self) -> Effects:
        """By expected logarithms of the chances, as they enter the bound."""
        return _effects(self.profiles.mean_log, self.usage.mean_log, self.causes.mean_log, self.leak.mean_log)

    @cached_property
    def at_means(self) -> Effects:
        """At posterior means: each probability occurs once in a row, so these give its expected probability."""
        points = (PointBeta.of(part.mean).mean_log for part in (self.usage, self.causes, self.leak))
        return _effects(PointDirichlet(self.profiles.mean).mean_log, *points)


@record
class ListedStates(States):
    """Chances of a row's listed states; q(c, y | s) has the parameters `given`, those of the local step's posterior."""

    score: Array = transient()  # (n, C), log joint under `given`
    given: CausePosterior = transient()
    solved: tuple[Array, Array] | None = transient()  # the chances that are optimal under `given`, and their bound (n,)

    @property
    def row_bound(self) -> Array:
        """(n,), each row's bound under `given`: expected log joint plus entropy."""
        if self.solved is not None and self.solved[0] is self.chance:
            return self.solved[1]
        xp = array_namespace(self.chance)
        listed = self.chance > 0  # a slot without a state has score -inf
        return xp.sum(self.chance * xp.where(listed, self.score, xp.zeros_like(self.score)), axis=1) + self.entropy


@record
class CauseStatistics(Statistics):
    n: float
    seen: Floats = sized("d")  # rows in which column j was seen
    used: Floats = sized("profiles")  # rows per profile
    on: Floats = sized("profiles k")  # rows per profile and cause that is on
    caused: Floats = sized("k d")  # ones that a cause brought about
    exposed: Floats = sized("k 1|d")  # rows with a cause on where column j was seen; (K, 1) where no entry is missing
    leaked: Floats = sized("d")  # ones that the leak brought about
    entropy: float  # sum H[q(s, c, y)]

    @property
    def entries(self) -> float:
        return float(self.seen.sum())

    def only(self, keep: Index) -> CauseStatistics:
        """What remains when the other causes are taken out."""
        return replace(self, on=self.on[:, keep], caused=self.caused[keep], exposed=self.exposed[keep])


@record
class NoisyOrCauses:
    """The model above; what methods without a text of their own answer is said in `latens.core.model`."""

    n_features: int
    profiles: float = 1.0  # concentration of each profile
    usage: tuple[float, float] = (0.05, 1.0)  # causes are rare
    strength: tuple[float, float] = (0.5, 1.0)  # one that favours 0 more traps columns that other causes make 1, too
    leak: tuple[float, float] = (0.5, 5.0)
    points: bool = False
    most_profiles: int = 1  # to which moves may grow
    n_profiles: int = 1  # of a prior
    most_exact: int = 8  # causes up to which every state is listed
    n_states: int = 20  # listed for each row where there are more causes
    n_parents: int = 3  # of them, the likeliest: single causes are flipped there to find better states
    n_rounds: int = 1  # of such flips in a local step

    def fewest(self, q: CausePosterior, stats: Statistics) -> CausePosterior | None:
        return None if self.points else q.only(np.arange(0))

    def prior(self, k: int, n_profiles: int | None = None) -> CausePosterior:
        key = k, self.n_profiles if n_profiles is None else n_profiles
        priors: dict[tuple[int, int], CausePosterior] = self.__dict__.setdefault("_priors", {})  # asked for often
        if key not in priors:
            if sum(each for each, _ in priors) * self.n_features > KEPT_NUMBERS:
                priors.clear()
            priors[key] = self._prior(*key)
        return priors[key]

    def _prior(self, k: int, p: int) -> CausePosterior:
        if self.points:
            halves = (PointBeta.of(np.full(shape, 0.5)) for shape in ((p, k), (k, self.n_features), (self.n_features,)))
            return CausePosterior(PointDirichlet(np.full(p, 1 / p)), *halves)
        return CausePosterior(
            profiles=Dirichlet(np.full(p, self.profiles)),
            usage=Beta.alike(*self.usage, p, k),
            causes=Beta.alike(*self.strength, k, self.n_features),
            leak=Beta.alike(*self.leak, self.n_features),
        )

    def local_step(self, q: CausePosterior, batch: Rows, warm: ListedStates | None = None) -> ListedStates:
        """E step: score every state, or improve the listed ones; chances are proportional to exp(score)."""
        k, words = q.n_components, None
        if self.exact_local(q):
            score = score_all(q.expected, batch.x, batch.mask)
            if KNOWN in batch.aux:
                score = for_states(score, batch.aux[KNOWN], k)
        else:
            words, n_parents = warm and warm.words, self.n_parents
            improved = partial(improve, q.expected, batch.x, batch.mask, self._ones(batch))
            if words is None:
                words, _ = improved(_first_words(batch, self.n_states), n_parents, FIRST_ROUNDS)
                n_parents = FIRST_WIDTH * n_parents
            words, score = improved(words, n_parents, self.n_rounds)
        xp = array_namespace(score)
        top = xp.max(score, axis=1, keepdims=True)
        weight = xp.exp(score - top)
        total_weight = xp.sum(weight, axis=1, keepdims=True)
        chance = weight / total_weight
        return ListedStates(words, k, chance, score, q, (chance, (top + xp.log(total_weight))[:, 0]))

    def statistics(self, batch: Rows, local: ListedStates) -> CauseStatistics:
        """Each one is shared out among the causes that are on, and the leak, given the state."""
        mass, effects = batch.weigh(local.chance), local.given.expected
        if local.words is None:
            shares = share_all(effects, batch.x, mass)
        else:
            shares = share_kept(effects, batch.x, self._ones(batch), local.words, mass)
        on = shares.on.sum(axis=0)[:, None] if batch.seen is None else host(batch.weigh(local.mean).T @ batch.mask)
        sums = CauseStatistics(
            n=batch.n,
            seen=batch.counts,
            used=shares.used,
            on=shares.on,
            caused=shares.caused,
            exposed=on,
            leaked=shares.leaked,
            entropy=0.0,
        )
        # bound = expected log joint + entropy, and c, y are at their optimum given s: what is left is the entropy
        rest = total(batch.weigh(local.row_bound)) - sum(self.data_terms(local.given, sums).values())
        return replace(sums, entropy=rest)

    def global_step(self, q: CausePosterior, stats: CauseStatistics) -> CausePosterior:
        n_profiles, k = stats.on.shape
        prior = self.prior(k, n_profiles)
        return CausePosterior(
            profiles=prior.profiles.observe(stats.used),
            usage=prior.usage.observe(stats.on, np.maximum(stats.used[:, None] - stats.on, 0.0)),
            causes=prior.causes.observe(stats.caused, np.maximum(stats.exposed - stats.caused, 0.0)),
            leak=prior.leak.observe(stats.leaked, np.maximum(stats.seen - stats.leaked, 0.0)),
        )

    def beyond(self, old: CausePosterior, new: CausePosterior, times: float) -> CausePosterior:
        """`times` the step from `old` to `new`, in logarithms of pseudo-counts.

        Who caused a one is learnt slowly where causes share columns: each step moves a part of the way.
        """
        if self.points:
            return new
        return CausePosterior(
            *(getattr(new, name).beyond(getattr(old, name), times) for name in ("profiles", "usage", "causes", "leak"))
        )

    def data_terms(self, q: CausePosterior, stats: CauseStatistics) -> dict[str, float]:
        return {
            "profiles": q.profiles.log_likelihood(stats.used),
            "codes": q.usage.log_likelihood(stats.on, stats.used[:, None] - stats.on),
            "causes": q.causes.log_likelihood(stats.caused, stats.exposed - stats.caused),
            "leak": q.leak.log_likelihood(stats.leaked, stats.seen - stats.leaked),
            "entropy": stats.entropy,
        }

    def global_terms(self, q: CausePosterior) -> dict[str, float]:
        prior = self.prior(q.n_components, q.n_profiles)
        return {
            "kl_profiles": -q.profiles.kl(prior.profiles),
            "kl_usage": -q.usage.kl(prior.usage),
            "kl_causes": -q.causes.kl(prior.causes),
            "kl_leak": -q.leak.kl(prior.leak),
        }

    def slopes(self, q: CausePosterior, stats: CauseStatistics) -> dict[str, Any]:
        prior = self.prior(q.n_components, q.n_profiles)
        return {
            "profiles": q.profiles.slopes(prior.profiles, stats.used),
            "usage": q.usage.slopes(prior.usage, stats.on, stats.used[:, None] - stats.on),
            "causes": q.causes.slopes(prior.causes, stats.caused, stats.exposed - stats.caused),
            "leak": q.leak.slopes(prior.leak, stats.leaked, stats.seen - stats.leaked),
        }

    def codes(self, batch: Rows, local: ListedStates) -> tuple[Array, Array]:
        return local.mean, local.variance

    def log_predictive(self, q: CausePosterior, batch: Rows, local: ListedStates) -> Array:
        """log E_q[p(row)] over all states where causes or ones are few, else over the best states: a lower bound."""
        if not self.score_is_bound(q):
            return logsumexp(score_all(q.at_means, batch.x, batch.mask))[:, 0]
        ones = self._ones(batch)
        if ones is None or isinstance(ones, OnesOnGpu):
            return logsumexp(self._at_means(q, batch, local.words)[1])[:, 0]
        answer = sum_states(q.at_means, batch.x, batch.mask, ones)
        rest = np.flatnonzero(np.isneginf(answer))  # rows with too many ones to sum over all states
        if len(rest):
            answer[rest] = logsumexp(self._at_means(q, batch.take(rest), np.asarray(local.words)[rest])[1])[:, 0]
        return answer.astype(batch.x.dtype, copy=False)

    def score_is_bound(self, q: CausePosterior) -> bool:
        """Whether that of some rows may be: with this many causes the others are those of few ones."""
        return q.n_components > max(MOST_ENUMERATED, self.most_exact)

    def row_bounds(self, q: CausePosterior, batch: Rows, local: ListedStates) -> Array:
        """(n,), each row's part of the bound; weighted, they add up to `data_terms`."""
        return replace(local, score=self._scores(q.expected, batch, local), given=q, solved=None).row_bound

    def impute(self, q: CausePosterior, batch: Rows, local: ListedStates) -> tuple[Array, Array]:
        """Chance of a one in each column, and its variance.

        States are weighed at posterior means, as in `log_predictive`. Of many causes these are the best ones; a missing
        entry of a row with few ones is weighed by all of them all the same.
        """
        log_zero, log_leak = (np.log1p(-np.minimum(part.mean, 1 - 1e-16)) for part in (q.causes, q.leak))
        if not self.score_is_bound(q):
            chance = States.at(None, q.n_components, score_all(q.at_means, batch.x, batch.mask)).chance
            one = chance @ like(-np.expm1(log_leak + all_states(q.n_components) @ log_zero), chance)
            return one, one * (1 - one)
        words, score = self._at_means(q, batch, local.words)
        xp = array_namespace(score)
        chance = xp.exp(score - logsumexp(score))
        each, zero = like(log_zero, chance), like(np.zeros(1), chance)
        for c in range(chance.shape[1]):
            bits = unpack(words[:, c : c + 1], q.n_components, chance)[:, 0, :]
            zero = zero + chance[:, c : c + 1] * xp.exp(bits @ each + like(log_leak, chance))
        if batch.seen is not None and meets_kernels(batch.x):
            self._sum_holes(q, batch, zero)
        return 1 - zero, zero * (1 - zero)

    def _sum_holes(self, q: CausePosterior, batch: Rows, zero: Array) -> None:
        """Chances that missing entries are 0, by all states, into `zero`: how much less likely a row is with a 0 there.

        Those of rows with many ones stay as they are.
        """
        with_holes = np.flatnonzero(~np.all(batch.seen, axis=1))
        rows = batch.take(with_holes)
        whole = sum_states(q.at_means, rows.x, rows.mask, rows.ones, WORK_OF_HOLE)
        at, column = np.nonzero(~np.asarray(rows.seen) & np.isfinite(whole)[:, None])
        for start in range(0, len(at), HOLES_AT_ONCE):
            own, j = at[start : start + HOLES_AT_ONCE], column[start : start + HOLES_AT_ONCE]
            seen = np.array(rows.seen)[own]
            seen[np.arange(len(own)), j] = True
            dark = replace(rows.take(own), seen=seen)
            log_chance = sum_states(q.at_means, dark.x, dark.mask, dark.ones, WORK_OF_HOLE)
            zero[with_holes[own], j] = np.exp(np.minimum(log_chance - whole[own], 0.0))

    def _at_means(self, q: CausePosterior, batch: Rows, words: Array) -> tuple[Array, Array]:
        """The best states of rows, found from those listed, and their scores at posterior means."""
        ones = self._ones(batch)
        if ones is None or isinstance(ones, OnesOnGpu):
            return words, score_kept(q.at_means, batch.x, batch.mask, ones, words)
        words, n_parents = np.tile(words, TIMES_AS_MANY_STATES), TIMES_AS_MANY_STATES * self.n_parents
        # repeated states are slots to be filled
        words, _ = improve(q.at_means, batch.x, batch.mask, ones, words, n_parents, 2 * self.n_rounds)
        return words, score_kept(q.at_means, batch.x, batch.mask, ones, words)

    def reconstruct(self, q: CausePosterior, codes: Array) -> Array:
        """Chance of a one when each cause is on with the given chance, independently."""
        zero = 1 - like(q.leak.mean, codes)
        for k in range(q.n_components):
            zero = zero * (1 - codes[:, k][:, None] * like(q.causes.mean[k], codes))
        return 1 - zero

    def draw(self, q: CausePosterior, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and codes under one draw of the globals."""
        point = q.sample(rng)
        profile = rng.choice(q.n_profiles, size=n, p=point.profiles.mean)
        codes = (rng.random((n, q.n_components)) < point.usage.mean[profile]).astype(float)
        return (rng.random((n, self.n_features)) < self.reconstruct(point, codes)).astype(float), codes

    def cannot_sample(self, q: CausePosterior) -> str:
        if self.points:
            return "maximum likelihood has no posterior to draw from; fit with prior='ard'"
        return "" if self.exact_local(q) else "codes are drawn only where e_step is exact"

    def anneals_with_holes(self, q: CausePosterior) -> bool:
        return True

    def draw_codes(self, point: CausePosterior, batch: Rows, last: Any, rng: np.random.Generator) -> DrawnCauses:
        """One state of each row given all chances."""
        return draw_states(point, batch, rng)

    def draw_statistics(
        self, point: CausePosterior, batch: Rows, local: DrawnCauses, rng: np.random.Generator
    ) -> CauseStatistics:
        """Sums over the rows, with the profile of each and what fired in it drawn."""
        codes = local.mean
        profile = draw_profiles(point, codes, rng)
        caused, leaked = draw_firings(point, batch, codes, rng)
        exposed = codes.sum(axis=0)[:, None] if batch.seen is None else codes.T @ host(batch.mask)
        return CauseStatistics(
            n=batch.n,
            seen=batch.counts,
            used=profile.sum(axis=0),
            on=profile.T @ codes,
            caused=caused,
            exposed=exposed,
            leaked=leaked,
            entropy=0.0,
        )

    def draw_globals(self, point: CausePosterior, stats: CauseStatistics, rng: np.random.Generator) -> CausePosterior:
        """All chances given the states and firings behind the sums."""
        return self.global_step(point, stats).sample(rng)

    def cannot_anneal(self, q: CausePosterior) -> str:
        return self.cannot_sample(q)

    def log_states(self, batch: Rows, q: CausePosterior) -> float:
        """As many as there are states, profiles and firings that make the rows."""
        return log_ways(batch, q.n_components) + len(batch) * float(np.log(q.n_profiles))

    def at_codes(self, q: CausePosterior, codes: Floats, rng: np.random.Generator) -> DrawnCauses:
        return DrawnCauses(codes)

    def draw_at(
        self, t: float, point: CausePosterior, batch: Rows, last: Any, rng: np.random.Generator
    ) -> tuple[DrawnCauses, CauseStatistics]:
        """The joint density of rows, states, profiles and firings goes to the power t."""
        flat = to_power(point, t)
        local = draw_states(flat.point, batch, rng, flat.log_ways)
        return local, self.draw_statistics(flat.point, batch, local, rng)

    def importance(self, q: CausePosterior, stats: CauseStatistics) -> Floats:
        """(K,), share of the ones that each cause brought about; 0 for one that is on in less than a row."""
        caused = stats.caused.sum(axis=1)
        share: Floats = caused / max(float(caused.sum() + stats.leaked.sum()), np.finfo(float).tiny)
        if self.points:
            return np.maximum(share, np.finfo(float).tiny)
        share[(stats.on.sum(axis=0) < 1.0) | (caused < 1.0)] = 0.0
        return share

    def exact_local(self, q: CausePosterior) -> bool:
        return q.n_components <= self.most_exact

    def biased_local(self, q: CausePosterior) -> bool:
        return not self.exact_local(q)

    def gap_of_optima(self, q: CausePosterior, n: float, bound: float) -> float:
        return 0.0 if self.exact_local(q) else GAP_OF_LISTS * abs(bound)

    def rows_alone(self, stats: CauseStatistics) -> Floats:
        return np.asarray(stats.seen)

    def floats_per_row(self, k: int) -> int:
        return int(3 * 2**k if k <= max(MOST_ENUMERATED, self.most_exact) else 4 * self.n_states) + k

    def candidates(
        self, q: CausePosterior, stats: CauseStatistics, sample: Rows, rng: np.random.Generator, limit: int
    ) -> Iterator[Proposal]:
        return propose(self, q, stats, sample, rng, limit)

    def _ones(self, batch: Rows) -> Ones | OnesOnGpu | None:
        """Where the ones of the rows are, for compiled kernels; None for rows that these do not take."""
        if meets_gpu(batch.x, self.n_states):
            ones: OnesOnGpu = batch.cached("ones on a GPU", lambda: OnesOnGpu.of(batch.x))
            return ones
        return batch.ones if meets_kernels(batch.x) else None

    def _scores(self, effects: Effects, batch: Rows, local: ListedStates) -> Array:
        if local.words is None:
            return score_all(effects, batch.x, batch.mask)
        return score_kept(effects, batch.x, batch.mask, self._ones(batch), local.words)


def _effects(
    log_weight: Floats, usage: tuple[Floats, Floats], causes: tuple[Floats, Floats], leak: tuple[Floats, Floats]
) -> Effects:
    """From E[log p] and E[log(1 - p)] of all chances; theta = log(1 + e^(their difference)), -log(1 - p) of a point."""

    def theta(log_on: Floats, log_off: Floats) -> Floats:
        return np.asarray(softplus(log_on - log_off))

    return Effects(
        profile=log_weight + usage[1].sum(axis=1),
        odds=usage[0] - usage[1],
        theta=theta(*causes),
        leak=theta(*leak),
        dark=causes[1],
        dark_leak=leak[1],
    )


def _first_words(batch: Rows, n_states: int) -> Array:
    """(n, C), states to begin with, as bits of integers: no cause is on in any, and flips find better ones."""
    if meets_kernels(batch.x):
        return np.zeros((len(batch), n_states), np.int64)
    xp = array_namespace(batch.x)
    return xp.zeros((len(batch), n_states), dtype=xp.int64, device=batch.x.device)
