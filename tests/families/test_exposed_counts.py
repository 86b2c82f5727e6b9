"""Counts with exposures within clusters: bounds below the evidence, predictive chances that are exact for q."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax
from scipy.stats import gamma, nbinom, poisson

from latens.core import Rows
from latens.families.dirichlet import Dirichlet
from latens.families.exposed_counts import EXPOSED_SIZES, ExposedCounts
from latens.families.gamma import Gamma
from latens.families.mixed_columns import MixedColumns
from latens.families.poisson_columns import PoissonColumns
from latens.inference.ascent import measure
from latens.models.mixture.features import EXPOSURE
from latens.models.mixture.model import Memberships, Mixture

KINDS = ("poisson", "negative-binomial")
LEVEL, K = 1.3, 2
LOG_RATES = np.linspace(-14, 8, 2001)
RATES = np.exp(LOG_RATES)


def built(kind: str) -> Mixture:
    part: Any = PoissonColumns(Gamma(np.array([[0.8, 1.2]]), np.array([[0.7, 0.3]])))
    if kind == "negative-binomial":
        part = ExposedCounts.prior(np.array([1.2, 3.0]), np.array([0.8, 1.1]))
    return Mixture(Dirichlet(np.array([LEVEL])), MixedColumns({kind: part}, {kind: (0, 1)}))


def rows(n: int = 5) -> Rows:
    """With a missing entry."""
    rng = np.random.default_rng(0)
    s, seen = np.exp(rng.uniform(-1, 1.5, n)), np.ones((n, 2), bool)
    y = rng.poisson(s[:, None] * np.array([[1.0, 4.0]])).astype(float)
    seen[1, 0], y[1, 0] = False, 0.0
    return Rows(y, seen, None, {EXPOSURE: np.log(s)})


def bound(model: Mixture, q: Any, stats: Any) -> float:
    return float(measure(model, q, stats, 0, 0.0, 0.0).elbo)


def ascended(model: Mixture, batch: Rows, n_steps: int = 60) -> tuple[Any, list[float]]:
    local: Any = Memberships(np.random.default_rng(1).dirichlet(np.ones(K), len(batch)))
    q = model.global_step(model.prior(K), model.statistics(batch, local))
    history = []
    for _ in range(n_steps):
        stats = model.statistics(batch, model.local_step(q, batch))
        history.append(bound(model, q, stats))
        q = model.global_step(q, stats)
        history.append(bound(model, q, stats))
    return q, history


def column_evidence(kind: str, part: Any, d: int, batch: Rows, groups: list[Any]) -> float:
    """Rates integrated on a grid, sizes summed over theirs; none of it is the library's."""
    y, s, seen = batch.x[:, d], np.exp(batch.aux[EXPOSURE]), batch.seen[:, d]  # type: ignore[index]
    of_sizes = []
    for i, size in enumerate(EXPOSED_SIZES if kind == "negative-binomial" else [np.inf]):
        a = part.shape[0, d] if np.isfinite(size) else part.rate.shape[0, d]
        b = part.rate[0, d * len(EXPOSED_SIZES) + i] if np.isfinite(size) else part.rate.rate[0, d]
        level = 0.0
        for own in groups:
            each = gamma.logpdf(RATES, a, scale=1 / b) + LOG_RATES
            for n in own[seen[own]]:
                mean = s[n] * RATES
                each = each + (
                    nbinom.logpmf(y[n], size, size / (size + mean)) if np.isfinite(size) else poisson.logpmf(y[n], mean)
                )
            level += logsumexp(each) + np.log(LOG_RATES[1] - LOG_RATES[0])
        of_sizes.append(level)
    return float(logsumexp(of_sizes) - np.log(len(of_sizes)))


def log_evidence(model: Mixture, kind: str, batch: Rows) -> float:
    total = []
    for labels in itertools.product(range(K), repeat=len(batch)):
        label = np.array(labels)
        counts = np.bincount(label, minlength=K)
        level = gammaln(K * LEVEL) - gammaln(K * LEVEL + len(batch)) + np.sum(gammaln(LEVEL + counts) - gammaln(LEVEL))
        groups = [np.flatnonzero(label == k) for k in range(K)]
        part = model.clusters.parts[kind]  # type: ignore[union-attr]
        total.append(level + sum(column_evidence(kind, part, d, batch, groups) for d in range(2)))
    return float(logsumexp(total))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls_and_stays_below_the_sum_over_all_labels(kind: str) -> None:
    model, batch = built(kind), rows(4)
    q, history = ascended(model, batch)
    assert np.diff(history).min() > -1e-9
    evidence = log_evidence(model, kind, batch)
    assert evidence - 3 < history[-1] < evidence
    local = model.local_step(q, batch)
    parts = float(model.row_bounds(q, batch, local).sum()) + sum(model.global_terms(q).values())
    assert parts == pytest.approx(bound(model, q, model.statistics(batch, local)), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exposure", [0.3, 5.0])
def test_predictive_chances_add_up_to_one_and_have_the_moments_of_what_is_filled_in(kind: str, exposure: float) -> None:
    model, n = built(kind), 1500
    q, _ = ascended(model, rows())
    every, aux = np.column_stack([np.arange(n), np.zeros(n)]).astype(float), {EXPOSURE: np.full(n, np.log(exposure))}
    shown = Rows(every, np.column_stack([np.ones(n), np.zeros(n)]) > 0, None, aux)
    chance = np.exp(model.log_predictive(q, shown, None))  # type: ignore[arg-type]
    assert chance.sum() == pytest.approx(1, abs=1e-6)
    hole = Rows(np.zeros((1, 2)), np.zeros((1, 2)) > 0, None, {EXPOSURE: np.full(1, np.log(exposure))})
    mean, variance = model.impute(q, hole, None)  # type: ignore[arg-type]
    assert mean[0, 0] == pytest.approx(chance @ every[:, 0], rel=1e-4)
    assert variance[0, 0] == pytest.approx(chance @ every[:, 0] ** 2 - mean[0, 0] ** 2, rel=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_go_with_exposures(kind: str) -> None:
    model, n = built(kind), 400
    q, _ = ascended(model, rows(40))
    hole = Rows(np.zeros((n, 2)), np.zeros((n, 2)) > 0, None, {EXPOSURE: np.full(n, np.log(7.0))})
    drawn = model.draw_entries(q, hole, 100, np.random.default_rng(0))[:, :, 1]
    mean, variance = (each[0, 1] for each in model.impute(q, hole, None))  # type: ignore[arg-type]
    assert drawn.mean() == pytest.approx(mean, rel=0.1)
    assert drawn.var() == pytest.approx(variance, rel=0.25)


def test_rough_densities_are_near_the_exact_ones() -> None:
    """Candidates of a search are dealt by them, where the exact ones take an integral of every entry."""
    rng = np.random.default_rng(3)
    weight = np.array([[0.0] * 4 + [0.3, 0.7] + [0.0] * 7])
    shape = np.array([[4.0], [30.0]])
    part = ExposedCounts(shape, np.repeat(shape / np.array([[1.0], [5.0]]), len(EXPOSED_SIZES), axis=1), weight)
    s = np.exp(rng.normal(size=(60, 1)))
    s[0] = 0.0
    x = rng.poisson(3 * s).astype(float)
    near, exact = part.near_density(x, s), part.log_density(x, s)
    assert np.abs(near - exact).max() < 0.3
    assert np.abs(softmax(near, axis=1) - softmax(exact, axis=1)).max() < 0.05
    assert near[0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(part.near_density(x + 1e-9, s), near, atol=1e-6)  # counts that are not whole


def test_what_no_cluster_changes_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log gammas of every entry at every size took most of an iteration."""
    made: list[int] = []
    levels = ExposedCounts.levels

    def counted(part: ExposedCounts, x: Any, seen: Any) -> Any:
        made.append(len(x))
        return levels(part, x, seen)

    monkeypatch.setattr(ExposedCounts, "levels", counted)
    model, batch = built("negative-binomial"), rows()
    q = model.global_step(model.prior(2), model.statistics(batch, Memberships(np.full((len(batch), 2), 0.5))))
    for _ in range(3):
        q = model.global_step(q, model.statistics(batch, model.local_step(q, batch)))
    assert made == [len(batch)]
