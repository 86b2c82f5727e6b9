"""Simulation-based calibration of the Gibbs sampler: truths drawn from priors given as numbers, ranked among draws.

Where the sampler is right, the rank of a truth among draws of its posterior is uniform, and central intervals hold it
as often as they claim. Numbers are label-free. 200 data sets of 30 rows, 3 columns, 2 components; ranks in eight bins.

The rule: every chi-square p above .01 / number of tests, and intervals hold 93 to 97 % after two standard errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import chisquare

from benchmarks.records import answers, slug
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_least, at_most
from latens.core import Rows
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_wishart import NormalWishart
from latens.families.spike_slab import SpikeSlab
from latens.families.sticks import Sticks
from latens.inference.uncertainty.gibbs import gibbs
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Exact
from latens.models.factor_analysis.model import FactorAnalysisPosterior, Factors
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.mixture.model import Mixture, MixturePosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses

__all__ = ["run"]

N_SETS, N_ROWS, D, K, N_DRAWS, BINS = 200, 30, 3, 2, 79, 8
FIRST_DATA_SET = 90_000
Truth = Callable[[Any, np.random.Generator], tuple[Any, Rows]]


def _mixture(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    point: Any = model.prior(K).sample(rng)
    label = rng.choice(K, size=N_ROWS, p=point.weights.mean)
    return point, Rows(point.clusters.draw(label, rng))


def _gappy_mixture(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in five is missing."""
    point, rows = _mixture(model, rng)
    return point, _with_gaps(rows.x, rng, 0.2)


def _pieces(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    """Of a stick; how long they are depends on alpha, which is drawn, too."""
    weights: Any = model.weights
    first = rng.beta(1.0, weights.alpha.sample(rng).mean[0])
    clusters: Any = model.prior(K).clusters.sample(rng)
    pieces = np.array([first, 1 - first])
    return MixturePosterior(KnownDirichlet(pieces), clusters), Rows(
        clusters.draw(rng.choice(K, size=N_ROWS, p=pieces), rng)
    )


def _binary(model: BinaryFactors, rng: np.random.Generator) -> tuple[Any, Rows]:
    prior: Any = model.prior(K)
    alpha = prior.loadings.alpha.sample(rng).mean
    weights = replace(prior.loadings.weights, precision=np.diag(alpha)[None])
    point = BinaryPosterior(prior.usage.sample(rng), weights.sample(rng))
    codes = rng.random((N_ROWS, K)) < point.usage.mean
    x = codes @ point.loadings.mean + rng.normal(size=(N_ROWS, D)) * np.sqrt(point.loadings.noise)
    return point, Rows(x)


def _causes(model: NoisyOrCauses, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in ten is missing."""
    point = model.prior(K).sample(rng)
    return point, _with_gaps(model.draw(point, N_ROWS, rng)[0], rng)


def _factors(model: Factors, rng: np.random.Generator) -> tuple[Any, Rows]:
    """About a mean that is anywhere: nothing is known of it before."""
    prior: Any = model.prior(K)
    alpha = prior.loadings.alpha.sample(rng).mean
    weights = replace(prior.loadings.weights, precision=np.diag(alpha)[None])
    point = FactorAnalysisPosterior(weights.sample(rng), 5 * rng.normal(size=D))
    return point, Rows(model.draw(point, N_ROWS, rng)[0])


def _sources(model: NoisyIca, rng: np.random.Generator) -> tuple[Any, Rows]:
    """Tails are points: they are known. One entry in ten is missing."""
    prior: Any = model.prior(K)
    alpha = prior.loadings.alpha.sample(rng).mean
    point = replace(prior, loadings=replace(prior.loadings.weights, precision=np.diag(alpha)[None]).sample(rng))
    codes = point.shapes.draw(N_ROWS, rng)
    noise = rng.normal(size=(N_ROWS, D)) * np.sqrt(point.loadings.mean_noise)
    return point, _with_gaps(model.reconstruct(point, codes) + noise, rng)


def _views(model: MultiView, rng: np.random.Generator) -> tuple[Any, Rows]:
    """One entry in ten is missing."""
    prior: Any = model.prior(K)
    z, views, columns = rng.normal(size=(N_ROWS, K)), {}, []
    for view in model.views:
        p = prior.views[view.name]
        d, alpha = len(p.weights.on), p.alpha.sample(rng).mean
        on = (rng.random((d, K)) < p.theta.sample(rng).mean).astype(float)
        slab = on * rng.normal(size=(d, K)) / np.sqrt(alpha)
        drawn = replace(p.sample(rng), weights=SpikeSlab(on, slab, np.zeros((d, K)), 1 / alpha))
        views[view.name] = drawn
        eta = z @ slab.T + drawn.offsets.mean[:, 0]
        columns.append(view.likelihood.draw(eta, view.about(drawn), rng))
    return MultiViewPosterior(views, prior.activity), _with_gaps(np.concatenate(columns, axis=1), rng)


def _with_gaps(x: np.ndarray, rng: np.random.Generator, share: float = 0.1) -> Rows:
    seen = rng.random(x.shape) < 1 - share
    return Rows(np.where(seen, x, 0.0), seen)


def _label_free(point: Any) -> dict[str, float]:
    """Numbers that do not change when components are named otherwise."""
    if isinstance(point, IcaPosterior):
        w, noise = point.loadings.mean[:K], point.loadings.mean_noise
        sizes = {"noise": float(np.log(noise).sum()), "square of mixing": float(np.sum(w**2))}
        return {**sizes, "product of mixing": float(w[:, 0] @ w[:, 1]), "largest mixing": float(np.max(w**2))}
    if isinstance(point, MultiViewPosterior):
        w = np.concatenate([view.weights.mean for view in point.views.values()])
        levels = np.concatenate([view.offsets.mean for view in point.views.values()])
        first, last = next(iter(point.views.values())), list(point.views.values())[-1]
        sizes = {"noise": float(np.log(first.noise.mean).sum()), "square of loadings": float(np.sum(w**2))}
        sizes |= {"levels": float(levels.sum()), "square in the last view": float(np.sum(last.weights.mean**2))}
        return {**sizes, "product of loadings": float(w[0] @ w[1]), "loadings that are on": float(np.sum(w != 0))}
    if isinstance(point, BinaryPosterior):
        w = point.loadings
        sizes = {"noise": float(w.noise[0]), "square of loadings": float(np.sum(w.mean**2))}
        return {"largest usage": float(point.usage.mean.max()), **sizes, "sum of loadings": float(w.mean.sum())}
    if isinstance(point, CausePosterior):
        chance = point.causes.mean
        sums = {"sum of strengths": float(chance.sum()), "square of strengths": float(np.sum(chance**2))}
        return {"largest usage": float(point.usage.mean.max()), "leak": float(point.leak.mean.sum()), **sums}
    if isinstance(point, FactorAnalysisPosterior):
        w, noise = point.loadings.mean, point.loadings.mean_noise
        sizes = {"noise": float(np.log(noise).sum()), "square of loadings": float(np.sum(w**2))}
        return {**sizes, "product of loadings": float(w[:, 0] @ w[:, 1]), "mean": float(point.center.sum())}
    means = point.clusters.mean
    return {
        "largest weight": float(point.weights.mean.max()),
        "sum of means": float(means.sum()),
        "distance of means": float(np.abs(means[0] - means[1]).sum()),
    }


PRIOR = Dirichlet(np.array([2.0]))
FULL = NormalWishart(np.zeros((1, D)), np.array([0.5]), np.array([D + 2.0]), 2 * np.eye(D)[None])
DIAGONAL = NormalColumns(np.zeros((1, D)), np.array([[0.5]]), np.array([[2.0]]), np.full((1, D), 2.0))
MEASURED = View("a", 0, D, Gaussian(), noise=(3.0, 2.0), relevance=(3.0, 3.0), inclusion=(2.0, 2.0), offset=1.0)
SAID = View("b", D, D + 4, Bernoulli(), relevance=(3.0, 3.0), inclusion=(2.0, 2.0), offset=1.0)
MODELS: dict[str, tuple[Any, Truth]] = {
    "mixture, full": (
        Mixture(PRIOR, FULL),
        _mixture,
    ),
    "mixture, diag": (
        Mixture(PRIOR, DIAGONAL),
        _mixture,
    ),
    "mixture, Bernoulli": (
        Mixture(PRIOR, BernoulliColumns(Beta(np.full((1, D), 1.5), np.full((1, D), 1.5)))),
        _mixture,
    ),
    "binary factors": (
        BinaryFactors(D, usage=(2.0, 2.0), noise=(3.0, 2.0), relevance=(3.0, 3.0), e_step=Exact()),
        _binary,
    ),
    "noisy-OR": (NoisyOrCauses(D, usage=(2.0, 2.0), strength=(2.0, 2.0), leak=(1.0, 4.0)), _causes),
    "factor analysis": (Factors(D, noise=(3.0, 2.0), relevance=(3.0, 3.0), points=False), _factors),
    "noisy ICA": (NoisyIca(D, noise=(3.0, 2.0), relevance=(3.0, 3.0), n_turns=0), _sources),
    "views, measured": (MultiView((MEASURED,)), _views),
    "views, measured and yes/no": (MultiView((MEASURED, SAID)), _views),
    "mixture, full, with holes": (Mixture(PRIOR, FULL), _gappy_mixture),
    "mixture of a Dirichlet process": (Mixture(Sticks.prior(2.0, 1.0), DIAGONAL), _pieces),
}


def run(setting: Setting) -> list[Table]:
    """Ranks and coverage of all numbers."""
    n_sets = N_SETS if setting.name == "full" else 8
    n_tests = sum(len(_label_free(truth(model, np.random.default_rng(0))[0])) for model, truth in MODELS.values())
    rows = []
    for name in filter(setting.asks_for, MODELS):
        results = setting.results / "intervals" / f"sbc-{slug(name)}.jsonl"
        rows += _rows(name, answers(results, partial(ranked, name), n_sets, setting.jobs), n_tests)
    return [Table("Simulation-based calibration of Gibbs, nominal 95 %", rows)]


def ranked(name: str, number: int) -> dict[str, Any]:
    """Of one truth and its rows: the rank of each number among the draws, and the CPU seconds."""
    began, (model, truth) = time.process_time(), MODELS[name]
    rng = np.random.default_rng([FIRST_DATA_SET + number, list(MODELS).index(name)])
    point, rows = truth(model, rng)
    chain = gibbs(model, [rows], model.prior(K), N_DRAWS, rng, burn_in=150, thinning=6)
    draws = [_label_free(draw) for draw in chain.points]
    ranks = {}
    for label, value in _label_free(point).items():
        among = np.array([draw[label] for draw in draws])
        same = int(np.sum(among == value))  # where nothing is on: any rank among them
        ranks[label] = int(np.sum(among < value) + rng.integers(0, same + 1))
    return {"ranks": ranks, "seconds": time.process_time() - began}


def _rows(name: str, sets: list[dict[str, Any]], n_tests: int) -> list[Row]:
    edge, rows = 0.025 * (N_DRAWS + 1), []
    for label in sets[0]["ranks"]:
        found = np.array([one["ranks"][label] for one in sets])
        chance = float(chisquare(np.bincount(found * BINS // (N_DRAWS + 1), minlength=BINS)).pvalue)
        held = float(np.mean((edge <= found + 0.5) & (found + 0.5 <= N_DRAWS + 1 - edge)))
        error = 2 * float(np.sqrt(held * (1 - held) / len(found)))
        cells = {"model": name, "number": label, "p": chance, "held": held, "two s.e.": error}
        cells |= {"upper": held + error, "lower": held - error, "CPU s": sum(one["seconds"] for one in sets)}
        goals = {"p": at_least(0.01 / n_tests), "upper": at_least(0.93), "lower": at_most(0.97)}
        rows.append(Row(cells, goals))
    return rows
