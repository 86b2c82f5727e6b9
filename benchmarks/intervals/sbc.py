"""Simulation-based calibration of the Gibbs sampler: truths drawn from priors given as numbers, ranked among draws.

Where the sampler is right, the rank of a truth among draws of its posterior is uniform, and central intervals hold it
as often as they claim. Numbers are label-free. 200 data sets of 30 rows, 3 columns, 2 components; ranks in eight bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chisquare

from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most
from latens.core import Rows
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_wishart import NormalWishart
from latens.inference.uncertainty.gibbs import gibbs
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Exact
from latens.models.mixture.model import Mixture

__all__ = ["run"]

N_ROWS, D, K, N_DRAWS, BINS = 30, 3, 2, 79, 8
Truth = Callable[[Any, np.random.Generator], tuple[Any, Rows]]


def _mixture(model: Mixture, rng: np.random.Generator) -> tuple[Any, Rows]:
    point: Any = model.prior(K).sample(rng)
    label = rng.choice(K, size=N_ROWS, p=point.weights.mean)
    return point, Rows(point.clusters.draw(label, rng))


def _binary(model: BinaryFactors, rng: np.random.Generator) -> tuple[Any, Rows]:
    prior: Any = model.prior(K)
    alpha = prior.loadings.alpha.sample(rng).mean
    weights = replace(prior.loadings.weights, precision=np.diag(alpha)[None])
    point = BinaryPosterior(prior.usage.sample(rng), weights.sample(rng))
    codes = rng.random((N_ROWS, K)) < point.usage.mean
    x = codes @ point.loadings.mean + rng.normal(size=(N_ROWS, D)) * np.sqrt(point.loadings.noise)
    return point, Rows(x)


def _numbers(point: Any) -> dict[str, float]:
    if isinstance(point, BinaryPosterior):
        w = point.loadings
        sizes = {"noise": float(w.noise[0]), "square of loadings": float(np.sum(w.mean**2))}
        return {"largest usage": float(point.usage.mean.max()), **sizes, "sum of loadings": float(w.mean.sum())}
    means = point.clusters.mean
    return {
        "largest weight": float(point.weights.mean.max()),
        "sum of means": float(means.sum()),
        "distance of means": float(np.abs(means[0] - means[1]).sum()),
    }


PRIOR = Dirichlet(np.array([2.0]))
MODELS: dict[str, tuple[Any, Truth]] = {
    "mixture, full": (
        Mixture(PRIOR, NormalWishart(np.zeros((1, D)), np.array([0.5]), np.array([D + 2.0]), 2 * np.eye(D)[None])),
        _mixture,
    ),
    "mixture, diag": (
        Mixture(PRIOR, NormalColumns(np.zeros((1, D)), np.array([[0.5]]), np.array([[2.0]]), np.full((1, D), 2.0))),
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
}


def run(setting: Setting) -> list[Table]:
    """Ranks and coverage of all numbers."""
    n_sets = 200 if setting.name == "full" else 8
    rows = [row for name, (model, truth) in MODELS.items() for row in _rows(name, model, truth, n_sets)]
    least = 0.01 / len(rows)
    judged = [
        Row(cells, {"p": at_least(least), "held": at_least(0.90), "held at most": at_most(0.99)}) for cells in rows
    ]
    return [Table("Simulation-based calibration of Gibbs, nominal 95 %", judged)]


def _rows(name: str, model: Any, truth: Truth, n_sets: int) -> list[dict[str, Any]]:
    ranks: dict[str, list[int]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
        rng = np.random.default_rng(seed)
        point, rows = truth(model, rng)
        chain = gibbs(model, [rows], model.prior(K), N_DRAWS, rng, burn_in=100, thinning=4)
        draws = [_numbers(draw) for draw in chain.points]
        for number, value in _numbers(point).items():
            ranks.setdefault(number, []).append(sum(draw[number] < value for draw in draws))
    edge = 0.025 * (N_DRAWS + 1)
    cells = []
    for number, found in ranks.items():
        counts = np.bincount(np.array(found) * BINS // (N_DRAWS + 1), minlength=BINS)
        held = float(np.mean([edge <= rank + 0.5 <= N_DRAWS + 1 - edge for rank in found]))
        chance = float(chisquare(counts).pvalue)
        cells.append({"model": name, "number": number, "p": chance, "held": held, "held at most": held})
    return cells
