"""Binary rows whose ones are brought about by hidden causes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.states import MOST_SWITCHES
from latens.array.transfer import is_sparse
from latens.core import Fit, Rows, State, Statistics
from latens.estimators.base import MOST_COMPONENTS, VariationalTransformer
from latens.estimators.display.strongest import standard_errors
from latens.estimators.fitting.context import FitContext
from latens.estimators.fitting.independent_columns import binary_evidence
from latens.estimators.fitting.known_codes import KnownCodes
from latens.estimators.fitting.search import all_or_sample
from latens.estimators.fitting.starts import positive_parts
from latens.estimators.parameters import given_array, one_of, whole_number
from latens.estimators.priors import beta_prior, no_prior
from latens.estimators.rows.sampling import column_places, filled
from latens.estimators.rows.units import Units
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.gamma import Gamma
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.families.point_gamma import PointGamma
from latens.inference.ascent import ascend
from latens.models.noisy_or.jensen import JensenNoisyOr, RatePosterior
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from latens.models.noisy_or.moves import grouped, with_profiles
from latens.models.noisy_or.new_causes import count_pairs

__all__ = ["NoisyOr"]

MOST_EXACT = 14  # causes beyond which 2^K states of every row are out of reach
FEW_EXACT = 8  # up to which "auto" lists them all
FEW_CAUSES, FEW_HALVES = 8, 12  # that a search begins with at least, and where no more than so many are likely
MOST_PROFILES = 64  # to which "auto" grows
N_STARTING_ROWS = 20.0  # how sure a start is of itself, in rows
N_PROFILES_BESIDE = 8  # of a start that all rows judge beside what a sample of them leaves
N_COUNTED = 8192  # rows of a block in which pairs of columns are counted
N_PART_STEPS = 100  # of the factorisation that parts of rows come from: more of them took as long as ten iterations
N_RACE = 20  # iterations that tell where causes begin best
# of the bound, that whole rows must be ahead by: on documents both are alike, and parts end higher
LEAST_RELATIVE_LEAD = 0.01
E_STEPS = {"auto": FEW_EXACT, "exact": MOST_EXACT, "truncated": 0}  # causes up to which every state is listed


class NoisyOr(KnownCodes, VariationalTransformer):
    """Find hidden on/off causes that explain the ones of binary rows, and their number.

    A cause that is on makes each column 1 with its own probability; a column is 1 if at least one cause, or the leak,
    makes it 1. Causes may be correlated through profiles: kinds of rows, each with its own usage of the causes.

    Parameters
    ----------
    n_components : int, optional
        Number of causes; with ``prior="ard"`` an upper limit, and None chooses this limit from the data.
    prior : {"ard", "ml"}
        Variational Bayes with Beta priors, under which unneeded causes vanish; or point estimates (EM), for which you
        give the number.
    e_step : {"auto", "exact", "truncated", "jensen"}
        Posterior of the causes of a row: over all 2^K combinations, or over the most probable few. "auto" is
        exact for at most 8 causes and truncated beyond; ``e_step_`` says which. "jensen" is the looser bound of
        the literature, with independent causes and attributions, without profiles.
    n_profiles : int or "auto"
        Number of kinds of rows, each with its own usage of the causes; 1 makes the causes independent. "auto" increases
        it while the bound rises (it is 1 with ``prior="ml"``, whose bound cannot decide, and with
        ``e_step="jensen"``).
    n_states : int or "auto"
        Number of combinations of causes for each row with truncated steps; more of them tighten the bound, and time is
        proportional to them. "auto" is 20, and 40 with several profiles, under which more combinations are probable.
    binarize : float or None
        Values above it count as 1, the others as 0, with a warning that counts the values that were neither. None
        refuses such values.
    usage_prior : (float, float), optional
        Prior of the share of rows in which a cause is on: usage ~ Beta(a, b). None: (0.05, 1), causes are rare; (1, 1)
        with ``e_step="jensen"``.
    activation_prior : (float, float), optional
        Prior of the probability that a cause makes a column 1: components ~ Beta(a, b); with ``e_step="jensen"`` of the
        rate -log(1 - p) ~ Gamma(a, b). None: (0.5, 1), and (0.5, 0.5) with "jensen".
    leak_prior : (float, float), optional
        Prior of the probability that a column is 1 without any cause, in the same form. None: (0.5, 5).
        Priors are for ``prior="ard"``: point estimates have none.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept. With many rows, starts are compared on a sample.
    init : {"auto", "random"} or array of shape (K, D)
        Starts from non-negative parts of the data, from random probabilities, or from given ones.
    moves : bool
        Whether to try other numbers of profiles, fewer, more and exchanged causes; accepted only if the bound rises.
    prune : bool
        Whether unneeded components are left out; False fits and publishes exactly `n_components`.
    random_state : int, RandomState, Generator or None
    warm_start : bool
        Whether `fit` continues from the last fit.
    verbose : int
        1 shows a progress bar.
    callbacks : callable or list of callables
        Called with an `Iteration` each; returning True stops the fit.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    learning_method : {"batch", "online"}
        Whether every iteration uses all rows, or parameters are updated after each batch of rows (Robbins-Monro). An
        online fit begins with a search on a sample; `max_iter` is then the largest number of passes, and two are often
        enough. The bounds of single passes are estimates; `elbo_` is the bound for all rows.
    batch_size, learning_decay, learning_offset : int, float, float
        Rows of a batch, and the weight of batch t, (learning_offset + t) ** -learning_decay.
    forget : float
        For streams (`partial_fit`) whose distribution changes: only the last 1/forget rows count, and the
        model is that of a `fit` to these rows. 0: all rows count. `fit` gives every row the same weight.
    row_posteriors : {"auto", "keep", "recompute"}
        For rows that are read in blocks: whether the posterior of each row is stored from pass to pass (in memory, and
        beyond 32 MB in a scratch file), or computed again, which needs no storage but more time. "auto" stores it,
        except on a cluster. For rows in memory it is always stored.

    Attributes
    ----------
    components_ : array (K, D)
        Probability that each cause, when on, makes each column 1; the cause of most ones first.
    leak_ : array (D,)
        Probability that a column is 1 if no cause is on.
    usage_ : array (K,)
        How often each cause is on.
    share_ : array (K,)
        Share of the ones that come from each cause.
    profiles_ : array (P, K)
        Usage of the causes in each profile (kind of rows).
    profile_weights_ : array (P,)
        Share of each profile.
    n_profiles_ : int
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_, e_step_, score_is_bound_
        As in every estimator; the reference describes them.

    Notes
    -----
    X may be a SciPy sparse matrix, which stays sparse; time grows with the number of ones. `score_samples` is the log
    probability of each row averaged over the posterior, exact up to 12 causes and, with more, for rows of few ones. For
    other rows it sums over the most probable combinations only, a lower bound: ``score_is_bound_`` says that there may
    be such rows. `impute` fills missing entries with the probabilities from the same sums.

    Examples
    --------
    >>> import latens
    >>> X, truth = latens.datasets.make_noisy_or(500, random_state=0)
    >>> model = latens.NoisyOr(12, random_state=0).fit(X)
    >>> model.n_components_
    8
    """

    _component_noun: ClassVar[str] = "cause"

    scaled: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    sample_size: ClassVar[int] = 2048
    glance: ClassVar[int] = 20
    settled_by: ClassVar[float] = 500.0
    seeks_rare: ClassVar[bool] = False  # pairs of columns are counted in all rows

    def __init__(
        self,
        n_components: int | None = None,
        *,
        prior: str = "ard",
        e_step: str = "auto",
        n_profiles: int | str = "auto",
        n_states: int | str = "auto",
        binarize: float | None = 0.5,
        usage_prior: tuple[float, float] | None = None,
        activation_prior: tuple[float, float] | None = None,
        leak_prior: tuple[float, float] | None = None,
        max_iter: int = 500,
        max_time: float | None = None,
        tol: float = 1e-4,
        n_init: int = 5,
        init: Any = "auto",
        moves: bool = True,
        prune: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
        learning_method: str = "batch",
        batch_size: int = 1024,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        forget: float = 0.0,
        row_posteriors: str = "auto",
    ) -> None:
        super().__init__(
            n_components,
            max_iter=max_iter,
            max_time=max_time,
            tol=tol,
            n_init=n_init,
            init=init,
            moves=moves,
            prune=prune,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callbacks=callbacks,
            n_jobs=n_jobs,
        )
        self.learning_method = learning_method
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.forget = forget
        self.row_posteriors = row_posteriors
        self.prior = prior
        self.usage_prior = usage_prior
        self.activation_prior = activation_prior
        self.leak_prior = leak_prior
        self.e_step = e_step
        self.n_profiles = n_profiles
        self.n_states = n_states
        self.binarize = binarize

    @property
    def e_step_(self) -> str:
        """The posterior of codes in use: what "auto" chose for the causes that were found."""
        check_is_fitted(self)
        if self.e_step != "auto":
            return str(self.e_step)
        return "exact" if self._model.exact_local(self.posterior_) else "truncated"

    def _build(self, context: FitContext) -> NoisyOrCauses | JensenNoisyOr:
        prior = one_of("prior", self.prior, ["ard", "ml"])
        e_step = one_of("e_step", self.e_step, [*E_STEPS, "jensen"])
        k, n_features = self._starting_size(context), context.sample.x.shape[1]
        if prior == "ml" and self.n_components is None and not self._n_named:
            raise ValueError("n_components=None needs prior='ard', which can find the number; or give n_components.")
        if e_step != "jensen":
            most = MOST_EXACT if e_step == "exact" else MOST_SWITCHES
            whole_number("n_components", k, 1, most, f"e_step={e_step!r} goes no further")
        if self._n_named and (e_step == "jensen" or k > E_STEPS[e_step]):
            raise ValueError(
                f"known= needs all 2^K combinations of causes, which e_step={e_step!r} does not list for {k} causes; "
                f"choose e_step='exact' (up to {MOST_EXACT} causes)."
            )
        if prior == "ml":
            no_prior(
                "prior='ard'",
                usage_prior=self.usage_prior,
                activation_prior=self.activation_prior,
                leak_prior=self.leak_prior,
            )
        if e_step == "jensen":
            if self.n_profiles not in (1, "auto"):
                raise ValueError(f"n_profiles={self.n_profiles!r} needs another e_step than 'jensen'; choose 1.")
            return JensenNoisyOr(
                n_features,
                usage=beta_prior("usage_prior", self.usage_prior, JensenNoisyOr.usage),
                rate=beta_prior("activation_prior", self.activation_prior, JensenNoisyOr.rate),
                leak=beta_prior("leak_prior", self.leak_prior, JensenNoisyOr.leak),
                points=prior == "ml",
            )
        grows = prior == "ard" and self.n_profiles == "auto"
        n_profiles = 1 if self.n_profiles == "auto" else whole_number("n_profiles", self.n_profiles)
        n_states = 40 if n_profiles > 1 else 20
        if self.n_states != "auto":
            n_states = whole_number("n_states", self.n_states, 2)
        return NoisyOrCauses(
            n_features=n_features,
            n_states=n_states,
            n_parents=max(3, n_states // 10),
            usage=beta_prior("usage_prior", self.usage_prior, NoisyOrCauses.usage),
            strength=beta_prior("activation_prior", self.activation_prior, NoisyOrCauses.strength),
            leak=beta_prior("leak_prior", self.leak_prior, NoisyOrCauses.leak),
            points=prior == "ml",
            n_profiles=n_profiles,
            most_profiles=MOST_PROFILES if grows else n_profiles,
            most_exact=E_STEPS[e_step],
        )

    def _alone(self, context: FitContext, fewest: float) -> float:
        """Independent columns of any frequency: leaks alone are thought to be rare, which must not make a cause."""
        return max(fewest, binary_evidence(all_or_sample(context.data, context.sample)))

    def _default_size(self, context: FitContext) -> int:
        """Half as many as columns at first: causes with two columns of their own are not more, and fewer are faster.

        Of few columns as many as all states are listed for: a few more would take twice as long.
        """
        most = {"exact": MOST_EXACT, "jensen": MOST_COMPONENTS}.get(self.e_step, MOST_SWITCHES)
        half = int(context.sample.x.shape[1]) // 2
        likely = context.growth * (half if half > FEW_HALVES else FEW_CAUSES)
        return min(super()._default_size(context), likely, most)

    def _start(
        self, model: NoisyOrCauses | JensenNoisyOr, context: FitContext, restart: int
    ) -> CausePosterior | RatePosterior:
        sample, rng = context.sample, context.rng
        q = self._start_at(model, context, self._strengths(model, context))
        if isinstance(q, RatePosterior) or isinstance(model, JensenNoisyOr) or model.n_profiles == 1:
            return q
        codes = np.asarray(model.local_step(q, sample).mean, dtype=np.float64)
        return with_profiles(q, codes, grouped(codes, model.n_profiles, rng), model.n_profiles)

    def _search_from(
        self, model: Any, context: FitContext, starts: list[State], moves: bool, from_scratch: bool = True
    ) -> Fit:
        if moves and context.data.may_be_threaded:  # rows of other libraries, and those elsewhere, are not all counted
            count_pairs(context.sample, context.data.stream(N_COUNTED))
        return super()._search_from(model, context, starts, moves, from_scratch)

    def _starts_beside(
        self, model: NoisyOrCauses | JensenNoisyOr, context: FitContext, first: State, found: State
    ) -> Sequence[State]:
        """Where causes go together, the first as it is, and with profiles: these need several causes to tell apart.

        A single profile on a sample says that causes are independent, and moves add those that are too weak there.
        """
        if isinstance(model, JensenNoisyOr) or model.points or found.q.n_profiles == 1:
            return []
        if first.q.n_profiles >= model.most_profiles:
            return [first]
        codes = np.asarray(model.local_step(first.q, context.sample).mean, dtype=np.float64)
        labels = grouped(codes, N_PROFILES_BESIDE, np.random.default_rng(0))
        return [first, State(with_profiles(first.q, codes, labels, N_PROFILES_BESIDE))]

    def _start_at(
        self, model: NoisyOrCauses | JensenNoisyOr, context: FitContext, strength: Floats
    ) -> CausePosterior | RatePosterior:
        """Causes of these probabilities (K, D), one profile."""
        rates = _column_means(context.sample)
        expected = max(float(strength.sum()), 1e-12)  # ones per row if every cause were on
        usage = np.full(len(strength), np.clip(0.8 * rates.sum() / expected, 0.02, 0.5))
        leak = np.clip(0.2 * rates, 1e-3, 0.5)
        if isinstance(model, JensenNoisyOr):
            return _rates_at(model, usage, -np.log1p(-strength), -np.log1p(-leak))
        return _posterior_at(model, usage[None], strength, leak)

    def _strengths(self, model: NoisyOrCauses | JensenNoisyOr, context: FitContext) -> Floats:
        """(K, D), probabilities that causes may have."""
        sample, rng = context.sample, context.rng
        d = sample.x.shape[1]
        if not isinstance(self.init, str):
            given = given_array("init", self.init)
            k = given.shape[0] if self.n_components is None else self._starting_size(context)
            if given.shape != (k, d) or not ((given >= 0) & (given <= 1)).all():
                raise ValueError(f"init has shape {given.shape}; expected probabilities of shape ({k}, {d}).")
            return np.asarray(np.clip(given, 0.01, 0.99))
        k = self._starting_size(context)
        if one_of("init", self.init, ["auto", "random"]) == "random":
            return rng.uniform(0.05, 0.6, size=(k, d))[:, column_places(sample)]
        if isinstance(model, JensenNoisyOr) or k <= model.most_exact:
            return _parts(sample, k, rng)
        whole = sample.cached(f"whole rows for {k} causes", lambda: np.array(self._prefers_rows(model, context, k)))
        return _whole_rows(sample, k, rng) if whole else _parts(sample, k, rng)

    def _prefers_rows(self, model: NoisyOrCauses, context: FitContext, k: int) -> bool:
        """Whether causes that begin as whole rows lead far beyond parts of rows, also if these go on as they do.

        Parts are where rows have several causes each; where most have one, as pictures of digits, it takes parts
        hundreds of iterations to grow together.
        """
        sample, rng = context.sample, np.random.default_rng(0)  # all starts of a fit begin alike
        race = partial(ascend, model, [sample], max_iter=N_RACE, tol=self.tol)
        parts, rows = (
            State(self._start_at(model, context, strength))
            for strength in (_parts(sample, k, rng), _whole_rows(sample, k, rng))
        )
        trace = race(parts).trace
        last = trace[-1].elbo - trace[-2].elbo if len(trace) > 1 else 0.0
        least = trace[-1].elbo + N_RACE * max(last, 0.0) + LEAST_RELATIVE_LEAD * abs(trace[-1].elbo)
        # a bound that is above does not fall again: more iterations tell nothing
        return bool(race(rows, on_iteration=lambda event: event.elbo > least).elbo > least)

    @property
    def _usual(self) -> Floats:
        """(D,), the chance of a 1 in each column of any row."""
        return np.asarray(1 - (1 - self.leak_) * np.prod(1 - self.usage_[:, None] * self.components_, axis=0))

    def _column_spread(self) -> Floats:
        return np.asarray(np.sqrt(self._usual * (1 - self._usual)))

    def _strength_errors(self) -> Floats:
        """(K, D), of shares of ones in the rows with a cause on that show a column."""
        p, spread = self._loadings, np.maximum(self._column_spread(), np.finfo(float).tiny)
        return np.asarray(standard_errors(p * (1 - p), self._rows_shown()) / spread)

    def _rows_shown(self) -> Floats:
        """(K, D), rows with a cause on where a column was seen."""
        return np.broadcast_to(self._state.stats.exposed[self._living()[0]], np.shape(self._loadings))

    def _component_shares(self) -> Floats:
        """(K,), of the ones that each cause brought about."""
        return self.share_

    def _share_parts(self, q: CausePosterior | RatePosterior) -> Floats:
        """(K + 1, D), the ones expected of each cause and of the leak, where rows are not asked."""
        published = self._publish(q, self._state.stats, self._units)
        return np.vstack([published["usage"][:, None] * published["components"], published["leak"]])

    def _shares_of(self, sums: Floats) -> Floats:
        return np.asarray(sums[:-1] / np.maximum(sums.sum(), np.finfo(float).tiny))

    def _publish(self, q: CausePosterior | RatePosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        q = q.points if isinstance(q, RatePosterior) else q
        return {
            "components": q.causes.mean,
            "leak": q.leak.mean,
            "usage": q.mean_usage,
            "profiles": q.usage.mean,
            "profile_weights": q.profiles.mean,
            "n_profiles": q.n_profiles,
        }


def _column_means(sample: Rows) -> Floats:
    """(D,), share of ones among the entries that were seen."""
    return np.asarray(sample.x.sum(axis=0), dtype=np.float64) / np.maximum(sample.counts, 1.0)


def _parts(sample: Rows, k: int, rng: np.random.Generator) -> Floats:
    """(K, D), chances of ones under causes that are non-negative parts of the rows."""
    x: Array = sample.x if is_sparse(sample.x) else filled(sample)
    parts = positive_parts(x, k, rng, N_PART_STEPS)
    largest = parts.max(axis=1, keepdims=True)
    return np.asarray(np.clip(0.8 * parts / np.where(largest > 0, largest, 1.0), 0.02, 0.9))


def _whole_rows(sample: Rows, k: int, rng: np.random.Generator) -> Floats:
    """(K, D), chances of ones under causes that each begin as a row of the data."""
    which = rng.choice(len(sample), size=k, replace=len(sample) < k)
    x = np.zeros((k, sample.x.shape[1])) if is_sparse(sample.x) else np.asarray(filled(sample)[which], dtype=np.float64)
    if is_sparse(sample.x):
        bounds, columns = sample.ones
        for cause, row in enumerate(which):
            x[cause, columns[bounds[row] : bounds[row + 1]]] = 1.0
    return np.asarray(np.clip(0.8 * x, 0.02, 0.9))


def _posterior_at(model: NoisyOrCauses, usage: Floats, strength: Floats, leak: Floats) -> CausePosterior:
    """A posterior about given probabilities, unsure enough to move."""
    if model.points:
        return CausePosterior(
            PointDirichlet(np.ones(1)), PointBeta.of(usage), PointBeta.of(strength), PointBeta.of(leak)
        )
    betas = (Beta(N_STARTING_ROWS * mean, N_STARTING_ROWS * (1 - mean)) for mean in (usage, strength, leak))
    return CausePosterior(Dirichlet(np.full(1, N_STARTING_ROWS)), *betas)


def _rates_at(model: JensenNoisyOr, usage: Floats, causes: Floats, leak: Floats) -> RatePosterior:
    if model.points:
        return RatePosterior(PointBeta.of(usage), PointGamma(causes), PointGamma(leak))
    n = N_STARTING_ROWS
    gammas = (Gamma(n * rate, np.full_like(rate, n)) for rate in (causes, leak))
    return RatePosterior(Beta(n * usage, n * (1 - usage)), *gammas)
