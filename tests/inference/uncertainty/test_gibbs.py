"""Chains whose distribution is the posterior: ranks of truths drawn from the prior are uniform, and errors show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import chisquare

from latens.array.fields import record
from latens.core import Rows
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.categorical_columns import CategoricalColumns
from latens.families.dirichlet import Dirichlet
from latens.families.gamma import Gamma
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.mixed_columns import MixedColumns
from latens.families.normal_columns import NormalColumns
from latens.families.normals import Normals
from latens.families.poisson_columns import PoissonColumns
from latens.families.relevance import Relevance
from latens.families.spike_slab import SpikeSlab
from latens.families.sticks import Sticks
from latens.inference.uncertainty.gibbs import effective_size, gibbs, r_hat
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Exact
from latens.models.factor_analysis.model import FactorAnalysisPosterior, Factors
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.mixture.model import Mixture, MixturePosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from latens.models.noisy_or.sampling import draw_firings
from tests.contract.models import mixture_cases

N_ROWS, K, N_SETS, N_DRAWS = 30, 2, 64, 15  # ranks run from 0 to N_DRAWS


def mixture_truth(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    point = model.prior(K).sample(rng)
    label = rng.choice(K, size=N_ROWS, p=point.weights.mean)
    return point, Rows(point.clusters.draw(label, rng))


def binary_truth(model: BinaryFactors, rng: np.random.Generator) -> tuple[Any, Rows]:
    prior = model.prior(K)
    alpha = prior.loadings.alpha.sample(rng).mean
    weights = replace(prior.loadings.weights, precision=np.diag(alpha)[None])
    point = BinaryPosterior(prior.usage.sample(rng), weights.sample(rng))
    codes = rng.random((N_ROWS, K)) < point.usage.mean
    x = codes @ point.loadings.mean + rng.normal(size=(N_ROWS, 2)) * np.sqrt(point.loadings.noise)
    return point, Rows(x)


def cause_truth(model: NoisyOrCauses, rng: np.random.Generator) -> tuple[Any, Rows]:
    point = model.prior(K).sample(rng)
    x = np.where(rng.random((N_ROWS, 3)) < 0.1, np.nan, model.draw(point, N_ROWS, rng)[0])
    return point, Rows(np.nan_to_num(x), ~np.isnan(x))


def factor_truth(model: Factors, rng: np.random.Generator) -> tuple[Any, Rows]:
    """About a mean that is anywhere: nothing is known of it before."""
    prior = model.prior(K)
    assert isinstance(prior.loadings, Relevance)
    alpha = prior.loadings.alpha.sample(rng).mean
    weights = replace(prior.loadings.weights, precision=np.diag(alpha)[None])
    point = FactorAnalysisPosterior(weights.sample(rng), 5 * rng.normal(size=3))
    return point, Rows(model.draw(point, N_ROWS, rng)[0])


def source_truth(model: NoisyIca, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in ten is missing."""
    prior = model.prior(K)
    assert isinstance(prior.loadings, Relevance)
    alpha = prior.loadings.alpha.sample(rng).mean
    point = replace(prior, loadings=replace(prior.loadings.weights, precision=np.diag(alpha)[None]).sample(rng))
    codes = point.shapes.draw(N_ROWS, rng)
    noise = rng.normal(size=(N_ROWS, 3)) * np.sqrt(point.loadings.mean_noise)
    return point, with_gaps(model.reconstruct(point, codes) + noise, rng)


def view_truth(model: MultiView, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in ten is missing."""
    prior, views, columns = model.prior(K), {}, []
    z = rng.normal(size=(N_ROWS, K))
    for view in model.views:
        p = prior.views[view.name]
        d, alpha = len(p.weights.on), p.alpha.sample(rng).mean
        assert p.theta is not None
        on = (rng.random((d, K)) < p.theta.sample(rng).mean).astype(float)
        slab = on * rng.normal(size=(d, K)) / np.sqrt(alpha)
        views[view.name] = replace(p.sample(rng), weights=SpikeSlab(on, slab, np.zeros((d, K)), 1 / alpha))
        eta = z @ slab.T + views[view.name].offsets.mean[:, 0]
        columns.append(view.likelihood.draw(eta, view.about(views[view.name]), rng))
    return MultiViewPosterior(views, prior.activity), with_gaps(np.concatenate(columns, axis=1), rng)


def with_gaps(x: np.ndarray, rng: np.random.Generator) -> Rows:
    seen = rng.random(x.shape) < 0.9
    return Rows(np.where(seen, x, 0.0), seen)


def label_free(point: Any) -> np.ndarray:
    """Numbers that do not change when components are named otherwise."""
    if isinstance(point, IcaPosterior):
        w, noise = point.loadings.mean[:K], point.loadings.mean_noise
        return np.array([np.log(noise).sum(), np.log(np.sum(w**2)), w[:, 0] @ w[:, 1], np.max(w**2)])
    if isinstance(point, MultiViewPosterior):
        w = np.concatenate([view.weights.mean for view in point.views.values()])
        first, last = next(iter(point.views.values())), list(point.views.values())[-1]
        levels = np.concatenate([view.offsets.mean for view in point.views.values()])
        sizes = [np.sum(w**2), w[0] @ w[1], np.sum(last.weights.mean**2)]
        return np.array([np.log(first.noise.mean).sum(), *sizes, levels.sum(), float(np.sum(w != 0))])
    if isinstance(point, BinaryPosterior):
        w = point.loadings
        return np.array([point.usage.mean.max(), np.log(w.noise[0]), np.log(np.sum(w.mean**2)), w.mean.sum()])
    if isinstance(point, CausePosterior):
        chance = point.causes.mean
        return np.array([point.usage.mean.max(), point.leak.mean.sum(), chance.sum(), np.sum(chance**2)])
    if isinstance(point, FactorAnalysisPosterior):
        w, noise = point.loadings.mean, point.loadings.mean_noise
        return np.array([np.log(noise).sum(), np.log(np.sum(w**2)), w[:, 0] @ w[:, 1], point.center.sum()])
    means = point.clusters.mean
    if isinstance(point.clusters, Normals):
        sizes = np.linalg.slogdet(point.clusters.covariance)[1]
        return np.array([point.weights.mean.max(), means.sum(), np.sum(means**2), sizes.sum(), sizes.max()])
    return np.array([point.weights.mean.max(), means.sum(), np.sum(means**2), np.abs(means[0] - means[1]).sum()])


def chances(model: Any, truth: Any, seed: int) -> np.ndarray:
    """p values of the uniformity of ranks, one for each number."""
    rng, ranks = np.random.default_rng(seed), []
    for _ in range(N_SETS):
        point, rows = truth(model, rng)
        chain = gibbs(model, [rows[:11], rows[11:]], model.prior(K), N_DRAWS, rng, burn_in=60, thinning=4)
        draws, own = np.array([label_free(draw) for draw in chain.points]), label_free(point)
        same = np.sum(draws == own, axis=0)  # of loadings that are off in both: any rank among them
        ranks.append(np.sum(draws < own, axis=0) + rng.integers(0, same + 1))
    counts = [np.bincount(column // 4, minlength=4) for column in np.array(ranks).T]
    return np.array([chisquare(count).pvalue for count in counts])


BINARY = BinaryFactors(2, usage=(2.0, 2.0), noise=(3.0, 2.0), relevance=(3.0, 3.0), e_step=Exact())


def mixture(kind: str) -> Mixture:
    return Mixture(Dirichlet(np.full(1, 2.0)), mixture_cases.clusters(kind, 2))


@pytest.mark.parametrize("kind", [pytest.param("full", marks=pytest.mark.slow), "diag"])
def test_ranks_of_a_mixtures_truth_are_uniform(kind: str) -> None:
    assert chances(mixture(kind), mixture_truth, 1).min() > 0.01 / 5


def gappy_truth(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    """Two entries in five are missing, and what is there tells of them."""
    point, rows = mixture_truth(model, rng)
    seen = rng.random(rows.x.shape) < 0.6
    return point, Rows(np.where(seen, rows.x, 0.0), seen)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_ranks_are_uniform_where_entries_are_missing_under_covariances(kind: str) -> None:
    assert chances(mixture(kind), gappy_truth, 8).min() > 0.01 / 5


@dataclass(frozen=True)
class ExpectedEntries(Mixture):
    """A planted error: what is missing is filled with its mean given the rest, not drawn."""

    def draw_statistics(self, point: Any, batch: Any, local: Any, rng: np.random.Generator) -> Any:
        return super().draw_statistics(point, batch, local, Still())


class Still:
    """Draws nothing but zeros."""

    def normal(self, size: tuple[int, ...]) -> np.ndarray:
        return np.zeros(size)


@pytest.mark.slow
def test_missing_entries_that_are_not_drawn_show() -> None:
    tied = mixture("tied")
    assert chances(ExpectedEntries(tied.weights, tied.clusters), gappy_truth, 8).min() < 1e-4


def test_entries_are_drawn_as_the_others_of_their_row_say() -> None:
    """Means and covariances of many draws are those of a normal given the entries that were seen."""
    rng, n = np.random.default_rng(0), 40_000
    root = rng.normal(size=(2, 3, 3))
    clusters = Normals(rng.normal(size=(2, 3)), root @ np.swapaxes(root, 1, 2) + np.eye(3))
    seen = np.tile([[True, False, False]], (n, 1))
    rows = Rows(np.where(seen, 0.7, 0.0), seen)
    drawn = clusters.completed(rows.x, rows.holes, np.ones(n, dtype=int), rng)
    mean, cov = clusters.mean[1], clusters.covariance[1]
    pull = cov[1:, 0] / cov[0, 0]
    assert np.all(drawn[:, 0] == 0.7)
    np.testing.assert_allclose(drawn[:, 1:].mean(axis=0), mean[1:] + pull * (0.7 - mean[0]), atol=0.06)
    np.testing.assert_allclose(np.cov(drawn[:, 1:].T), cov[1:, 1:] - np.outer(pull, cov[0, 1:]), rtol=0.05, atol=0.05)


def stick_truth(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    """Two pieces of a stick: how long the first one is depends on alpha, which is drawn, too."""
    first = rng.beta(1.0, model.weights.alpha.sample(rng).mean[0])
    clusters = model.prior(K).clusters.sample(rng)
    label = rng.choice(K, size=N_ROWS, p=[first, 1 - first])
    return MixturePosterior(KnownDirichlet(np.array([first, 1 - first])), clusters), Rows(clusters.draw(label, rng))


STICKS = Sticks.prior(2.0, 1.0)


@pytest.mark.slow
def test_ranks_are_uniform_under_a_dirichlet_process() -> None:
    assert chances(Mixture(STICKS, mixture_cases.clusters("diag", 2)), stick_truth, 9).min() > 0.01 / 4


def test_pieces_of_a_stick_are_drawn_as_a_grid_over_alpha_says() -> None:
    """Counts are given, so that weights and alpha alone are a chain: its means are those of two integrals."""
    rng, counts, last = np.random.default_rng(0), np.array([3.0, 1.0, 6.0]), np.log(np.full(3, 1 / 3))
    drawn = []
    for _ in range(20_000):
        weights = STICKS.redrawn(last, counts, rng)
        last = weights.mean_log
        drawn.append(weights.mean)
    alpha = np.linspace(0.005, 40, 8_000)
    later = np.array([counts[k + 1 :].sum() for k in range(2)])
    log_weight = np.log(alpha) - alpha  # Gamma(2, 1)
    for k in range(2):
        log_weight += np.log(alpha) + betaln(1 + counts[k], alpha + later[k])
    weight = np.exp(log_weight - log_weight.max())
    first = np.sum(weight * (1 + counts[0]) / (1 + counts[0] + alpha + later[0])) / weight.sum()
    np.testing.assert_allclose(np.mean(drawn, axis=0)[0], first, atol=0.006)


MIXED = Mixture(
    Dirichlet(np.full(1, 2.0)),
    MixedColumns(
        {
            "gaussian": NormalColumns(np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), 3.0), np.full((1, 1), 2.0)),
            "bernoulli": BernoulliColumns(Beta(np.ones((1, 1)), np.ones((1, 1)))),
            "categorical": CategoricalColumns.prior((3,), 3.0, False),
            "poisson": PoissonColumns(Gamma(np.full((1, 1), 2.0), np.full((1, 1), 1.0))),
        },
        {"gaussian": (1,), "bernoulli": (0,), "categorical": (3,), "poisson": (2,)},
    ),
)


def class_truth(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in ten is missing."""
    point, rows = mixture_truth(model, rng)
    return point, with_gaps(rows.x, rng)


@pytest.mark.slow
def test_ranks_of_the_truth_of_classes_of_mixed_columns_are_uniform() -> None:
    assert chances(MIXED, class_truth, 3).min() > 0.01 / 4


@pytest.mark.slow
def test_ranks_of_the_truth_of_binary_factors_are_uniform() -> None:
    assert chances(BINARY, binary_truth, 2).min() > 0.01 / 4


CAUSES = NoisyOrCauses(3, usage=(2.0, 2.0), strength=(2.0, 2.0), leak=(1.0, 4.0))


@pytest.mark.slow
def test_ranks_of_the_truth_of_noisy_or_are_uniform() -> None:
    assert chances(CAUSES, cause_truth, 4).min() > 0.01 / 4


@pytest.mark.slow
@pytest.mark.parametrize("rate", [3.0, 0.3], ids=["strong factors", "weak factors"])
def test_ranks_of_the_truth_of_factor_analysis_are_uniform(rate: float) -> None:
    model = Factors(3, noise=(3.0, 2.0), relevance=(3.0, rate), points=False)
    assert chances(model, factor_truth, 5).min() > 0.01 / 4


SOURCES = NoisyIca(3, noise=(3.0, 2.0), relevance=(3.0, 3.0), n_turns=0)
MEASURED = View("a", 0, 3, Gaussian(), noise=(3.0, 2.0), relevance=(3.0, 3.0), inclusion=(2.0, 2.0), offset=1.0)
SAID = View("b", 3, 7, Bernoulli(), relevance=(3.0, 3.0), inclusion=(2.0, 2.0), offset=1.0)


@pytest.mark.slow
def test_ranks_of_the_truth_of_sources_are_uniform() -> None:
    assert chances(SOURCES, source_truth, 6).min() > 0.01 / 4


@pytest.mark.slow
@pytest.mark.parametrize("views", [(MEASURED,), (MEASURED, SAID)], ids=["measured", "with yes and no"])
def test_ranks_of_the_truth_of_views_are_uniform(views: tuple[View, ...]) -> None:
    assert chances(MultiView(views), view_truth, 7).min() > 0.01 / 6


@record(eq=False)
class NormalSources(NoisyIca):
    """A planted error: the scales of heavy sources are never drawn, but stay at 1."""

    def draw_codes(self, point: Any, batch: Any, last: Any, rng: np.random.Generator) -> Any:
        drawn = super().draw_codes(point, batch, last, rng)
        return replace(drawn, scale=np.ones_like(drawn.scale))


@pytest.mark.slow
def test_scales_that_are_never_drawn_show() -> None:
    wrong = NormalSources(3, noise=(3.0, 2.0), relevance=(3.0, 3.0), n_turns=0)
    assert chances(wrong, source_truth, 6).min() < 1e-4


@record(eq=False)
class OverconfidentViews(MultiView):
    """A planted error: coefficients and noise are drawn as if every row had been seen four times."""

    def draw_globals(self, point: Any, stats: Any, rng: np.random.Generator) -> Any:
        return super().draw_globals(point, 4.0 * stats, rng)


@pytest.mark.slow
def test_wrong_conditionals_of_views_are_caught() -> None:
    assert chances(OverconfidentViews((MEASURED,)), view_truth, 7).min() < 1e-4


@dataclass(frozen=True)
class KnownMean(Factors):
    """A planted error: the mean is taken at its best given the rest, never drawn."""

    def draw_globals(self, point: Any, stats: Any, rng: np.random.Generator) -> Any:
        drawn = super().draw_globals(point, stats, rng)
        return replace(drawn, center=(stats.x - np.sum(point.loadings.mean * stats.z, axis=0)) / stats.seen)


@pytest.mark.slow
def test_a_mean_that_is_never_drawn_shows() -> None:
    wrong = KnownMean(3, noise=(3.0, 2.0), relevance=(3.0, 0.3), points=False)
    assert chances(wrong, factor_truth, 5).min() < 1e-4


@dataclass(frozen=True)
class OneCauseFires(NoisyOrCauses):
    """A planted error: only one of the causes that are on fires at a one, though several may."""

    def draw_statistics(self, point: Any, batch: Any, local: Any, rng: np.random.Generator) -> Any:
        stats = super().draw_statistics(point, batch, local, rng)
        ones = np.sum((batch.x > 0) & (batch.mask > 0), axis=0)
        share = ones / np.maximum(stats.caused.sum(axis=0) + stats.leaked, 1e-9)
        return replace(stats, caused=stats.caused * share, leaked=stats.leaked * share)


@pytest.mark.slow
def test_a_wrong_draw_of_firings_shows() -> None:
    wrong = OneCauseFires(3, usage=(2.0, 2.0), strength=(2.0, 2.0), leak=(1.0, 4.0))
    assert chances(wrong, cause_truth, 4).min() < 1e-4


def test_what_fires_explains_every_one_and_only_those() -> None:
    rng = np.random.default_rng(0)
    point = CAUSES.prior(K).sample(rng)
    x, codes = CAUSES.draw(point, 4000, rng)
    batch, wrong = Rows(x), np.zeros((4000, K))
    caused, leaked = draw_firings(point, batch, codes, rng)
    ones = x.sum(axis=0)
    assert np.all(caused.sum(axis=0) + leaked >= ones)
    # what was drawn given the rows must agree with how often each fires by itself
    assert leaked / 4000 == pytest.approx(point.leak.mean, abs=0.03)
    assert caused / codes.sum(axis=0)[:, None] == pytest.approx(point.causes.mean, abs=0.05)
    # where no cause is on, the leak alone has lit every one
    assert draw_firings(point, batch, wrong, rng)[1].tolist() == ones.tolist()


@dataclass(frozen=True)
class Overconfident(Mixture):
    """A planted error: globals are drawn as if every row had been seen four times."""

    def draw_globals(self, point: Any, stats: Any, rng: np.random.Generator) -> Any:
        return super().draw_globals(point, 4.0 * stats, rng)


@dataclass(frozen=True)
class WithoutRelevance(BinaryFactors):
    """A planted error: relevances are never drawn anew, but stay at their prior mean."""

    def draw_globals(self, point: Any, stats: Any, rng: np.random.Generator) -> Any:
        prior = self.prior(len(stats.on))
        current = replace(prior.loadings, alpha=Gamma(np.full(K, 30.0), np.ones(K)))
        usage = prior.usage.observe(stats.on, np.maximum(stats.n - stats.on, 0.0))
        return BinaryPosterior(
            usage.sample(rng), prior.loadings.observe(*stats.regression, current=current).sample(rng)
        )


def test_wrong_conditionals_are_caught() -> None:
    diag = mixture("diag")
    assert chances(Overconfident(diag.weights, diag.clusters), mixture_truth, 1).min() < 1e-4


@pytest.mark.slow
def test_wrong_conditionals_of_binary_factors_are_caught() -> None:
    wrong = WithoutRelevance(2, BINARY.usage, BINARY.noise, BINARY.relevance, e_step=Exact())
    assert chances(wrong, binary_truth, 2).min() < 1e-4


def test_chains_that_disagree_have_a_large_r_hat_and_few_effective_draws() -> None:
    rng = np.random.default_rng(3)
    same, shifted = rng.normal(size=(4, 200)), rng.normal(size=(4, 200)) + np.arange(4)[:, None]
    assert r_hat(same) < 1.03
    assert r_hat(shifted) > 1.3
    assert effective_size(same) > 500
    walk = np.cumsum(rng.normal(size=(4, 200)), axis=1)
    assert effective_size(walk) < 100
    assert r_hat(np.ones((4, 10))) == 1
