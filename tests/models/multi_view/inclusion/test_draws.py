"""Whether loadings are in, by draws: beside sums over all sets of them, and what is asked column by column instead."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, expit, gammaln

import latens
from latens.models.multi_view.inclusion import draws
from latens.models.multi_view.inclusion.draws import LOADINGS_OF_PRIOR, can_draw_inclusion


def fitted(x: np.ndarray, kind: str = "gaussian", **options: Any) -> latens.MultiViewFactorAnalysis:
    options = {"moves": False, "prune": False, "random_state": 0, **options}
    return latens.MultiViewFactorAnalysis(1, likelihoods={"x": kind}, **options).fit({"x": x})


def drawn(seed: int, n: int, w: list[float]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) * w + rng.normal(size=(n, len(w)))


def by_enumeration(x: np.ndarray, tau: np.ndarray, size: float) -> np.ndarray:
    """(D,), of one factor whose codes are integrated out, loadings on a grid; levels have flat priors."""
    n, d = x.shape
    scatter = np.cov(x.T, bias=True) * n
    grid = np.linspace(-3, 3, 41) * size
    heights, states = [], list(product([0, 1], repeat=d))
    for state in states:
        m = sum(state)
        w = np.array(list(product(*(grid if on else [0.0] for on in state))))  # (G, D)
        scaled = w * tau
        explained = 1 + np.sum(w * scaled, axis=1)
        energy = -np.einsum("gi,ij,gj->g", scaled, scatter, scaled) / explained
        likelihood = -0.5 * (n - 1) * np.log(explained) - 0.5 * energy
        shape, rate = 0.5 * (LOADINGS_OF_PRIOR + m), 0.5 * (LOADINGS_OF_PRIOR + np.sum(w**2, axis=1))
        slab = gammaln(shape) - shape * np.log(rate) - 0.5 * m * np.log(2 * np.pi) + m * np.log(grid[1] - grid[0])
        heights.append(np.logaddexp.reduce(likelihood + slab) + betaln(m + 1, d - m + 1))
    mass = np.exp(np.array(heights) - max(heights))
    return np.asarray(mass @ np.array(states) / mass.sum())


@pytest.mark.slow
def test_draws_are_those_of_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "SWEEPS", (12_000, 12_000))
    x = drawn(3, 60, [1.2, 0.9, 0.35, 0.0])
    model = fitted(x)
    y = model._rows_in_blocks({"x": x}, {})[0].x
    exact = by_enumeration(y, model.posterior_.views["x"].noise.mean, float(np.std(y)))
    assert 0.1 < exact.min() < 0.9 < exact.max()
    assert model.inclusion_probabilities({"x": x})["x"][0] == pytest.approx(exact, abs=0.03)


def test_the_same_question_has_the_same_answer() -> None:
    x = (np.random.default_rng(0).random((50, 6)) < expit(drawn(1, 50, [2.0, 2.0, 2.0, 2.0, 0.0, 0.0]))).astype(float)
    model = fitted(x, "bernoulli")
    one, two = (model.inclusion_probabilities({"x": x})["x"] for _ in range(2))
    assert np.array_equal(one, two)
    assert np.all((one > 0) & (one < 1))


def test_several_views_with_missing_entries_and_dense_ones() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=(120, 1))
    g = z * [1.5, 1.5, 1.5, 0.0, 0.0] + rng.normal(size=(120, 5))
    c = rng.poisson(np.exp(0.6 * z * [1.0, 1.0, 0.0, 0.0] + 1)).astype(float)
    g[rng.random(g.shape) < 0.1] = np.nan
    views, kinds = {"g": g, "c": c}, {"g": "gaussian", "c": "poisson"}
    model = latens.MultiViewFactorAnalysis(1, likelihoods=kinds, random_state=0).fit(views)
    found = model.inclusion_probabilities(views)
    assert found["g"][0, :3].min() > 0.95 > 0.5 > found["g"][0, 3:].max()
    assert found["c"][0, :2].min() > 0.95 > 0.5 > found["c"][0, 2:].max()


def test_weighted_samples_and_large_tables_are_asked_column_by_column() -> None:
    x = drawn(4, 40, [1.0] * 5)
    model = fitted(x)
    inner, q, (rows,) = model._model, model.posterior_, model._rows_in_blocks({"x": x}, {})
    assert can_draw_inclusion(inner, q, [(rows, inner.local_step(q, rows))])
    twice = type(rows)(rows.x, rows.seen, np.full(len(rows), 2.0))
    assert not can_draw_inclusion(inner, q, [(twice, inner.local_step(q, twice))])
    many = [(rows, inner.local_step(q, rows))] * 20_000
    assert not can_draw_inclusion(inner, q, many)


def two_factors(on: Any, seed: int) -> tuple[np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    w = np.asarray(on) * rng.normal(size=(2, 12))
    x = rng.normal(size=(150, 2)) @ w + rng.normal(size=(150, 12))
    options = {"prune": False, "random_state": 0}
    return x, latens.MultiViewFactorAnalysis(2, likelihoods={"x": "gaussian"}, **options).fit({"x": x})


@pytest.mark.slow
def test_turns_of_axes_leave_what_is_known_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors that share no feature have one pair of axes: with turns and without, it is the same posterior."""
    x, model = two_factors([[1] * 6 + [0] * 6, [0] * 6 + [1] * 6], seed=0)
    monkeypatch.setattr(draws, "SWEEPS", (3000, 3000))
    turned = model.inclusion_probabilities({"x": x})["x"]
    monkeypatch.setattr(draws, "SWEEPS_OF_TURN", 10**9)
    still = model.inclusion_probabilities({"x": x})["x"]
    assert turned == pytest.approx(still, abs=0.06)


@pytest.mark.slow
def test_dense_factors_whose_axes_are_open_are_not_called_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimum has the axes with most zeros that chance allows; turned, loadings are as often not 0."""
    said = []
    for seed in range(4):
        x, model = two_factors(np.ones((2, 12)), seed)
        with monkeypatch.context() as patch:
            turned = model.inclusion_probabilities({"x": x})["x"].mean()
            patch.setattr(draws, "SWEEPS_OF_TURN", 10**9)
            said.append((turned, model.inclusion_probabilities({"x": x})["x"].mean()))
    turned, still = np.mean(said, axis=0)
    assert turned > still
