"""Iterations from where the last ones lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from latens.core import Iteration, Rows, State
from latens.estimators.noisy_ica.starts import posterior_at
from latens.inference.ascent import ascend
from latens.inference.leaps import leap
from latens.models.noisy_ica.model import NoisyIca
from tests.contract.models.ica_cases import start


@dataclass(frozen=True)
class Sums:
    n: float = 1.0


class Vectors:
    """A model whose posterior is its own coordinates, the last of them scales; gains above `trust` tell of all."""

    def __init__(self, n_scales: int = 0, trust: float = 0.0) -> None:
        self.n_scales, self.trust = n_scales, trust

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        return q

    def scales(self, q: np.ndarray) -> np.ndarray:
        return np.arange(len(q)) >= len(q) - self.n_scales

    def trusted(self, q: np.ndarray) -> float:
        return self.trust

    def at(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x

    def products(self, q: np.ndarray, stats: Sums, moves: np.ndarray) -> np.ndarray:
        return moves @ moves.T


def walked(
    height: Callable[[Any], float], step: Callable[[Any], Any], q: Any, n: int, model: Any = None
) -> tuple[State, list[float]]:
    """The state after n iterations, and the heights on the way."""
    trace: list[Iteration] = []

    def iterate(state: State) -> tuple[State, Iteration]:
        new = state.q + step(state.q)
        return State(new, Sums()), Iteration(len(trace), 0, height(new), {}, 1, 0.0)

    state = State(q, Sums())
    for _ in range(n):
        state, event = leap(model or Vectors(), state, trace, iterate, 1e-9)
        trace.append(event)
    return state, [event.elbo for event in trace]


def test_steps_that_shrink_slowly_are_taken_at_once() -> None:
    rate = np.array([0.9, 0.5, 0.05])
    state, heights = walked(lambda q: -float(np.sum(rate * q**2)), lambda q: -rate * q, np.array([1.0, -2.0, 10.0]), 12)
    assert np.all(np.diff(heights) > 0)
    assert heights[-1] > -1e-3
    plain = 10.0 * 0.95**12
    assert np.abs(state.q[2]) < 0.01 * plain


def test_where_gains_are_not_trusted_only_scales_leap() -> None:
    """Two directions alike, of which one is a scale."""
    rate, begin = np.array([0.05, 0.05]), np.array([10.0, 10.0])
    state, heights = walked(
        lambda q: -float(np.sum(rate * q**2)), lambda q: -rate * q, begin, 12, Vectors(n_scales=1, trust=1e9)
    )
    assert np.all(np.diff(heights) > 0)
    assert float(state.q[0]) == pytest.approx(10.0 * 0.95**12)
    assert np.abs(state.q[1]) < 0.01 * state.q[0]


def test_steps_that_grow_are_gone_on_with() -> None:
    """From beside a saddle: the point where steps would cancel lies behind."""

    def slope(q: np.ndarray) -> np.ndarray:
        return np.array([-0.5 * q[0], 0.05 * q[1] - 0.05 * q[1] ** 3])

    def height(q: np.ndarray) -> float:
        return float(-0.25 * q[0] ** 2 + 0.025 * q[1] ** 2 - 0.0125 * q[1] ** 4)

    state, heights = walked(height, slope, np.array([1.0, 0.05]), 25)
    plain = np.array([1.0, 0.05])
    for _ in range(25):
        plain = plain + slope(plain)
    assert plain[1] < 0.2
    assert state.q[1] == pytest.approx(1.0, abs=0.1)
    assert np.all(np.diff(heights) > 0)


def test_a_leap_that_falls_is_not_taken() -> None:
    """Steps of one length lead on and on, but the ground falls away beyond 3, before which plain iterations end."""
    seen: list[float] = []

    def height(q: np.ndarray) -> float:
        seen.append(float(q[0]))
        return float(q[0]) if q[0] < 3 else -100.0

    state, heights = walked(height, lambda q: np.minimum(0.2, 0.5 * (2.9 - q)), np.zeros(1), 30)
    assert max(seen) > 3
    assert np.all(np.diff(heights) >= 0)
    assert float(state.q[0]) == pytest.approx(2.9, abs=1e-3)


def test_coordinates_come_back_and_a_turn_costs_no_more_where_noise_is_small() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_t(3, size=(80, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(80, 6))
    model = NoisyIca(6, intercept=True)
    state = ascend(model, [Rows(x)], State(start("mixed", model, 3, x, rng)), max_iter=5, tol=0).state
    q, stats = state.q, state.stats
    at = model.coordinates(q)
    assert model.coordinates(model.at(q, at)) == pytest.approx(at, rel=1e-12, abs=1e-12)
    mixed, single = np.zeros_like(at), np.zeros_like(at)
    mixed[: 3 * 6] = (1e-3 * q.loadings.mean[[1, 0, 2]]).ravel()
    single[: 3 * 6] = np.linalg.norm(mixed) * rng.normal(size=18) / np.sqrt(18)
    products = model.products(q, stats, np.stack([mixed, single]))
    assert products == pytest.approx(products.T)
    assert products[0, 0] < 0.2 * products[1, 1]
    assert np.all(np.linalg.eigvalsh(products) > 0)


def test_gains_are_trusted_the_more_the_less_noise_hides_the_sources() -> None:
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(2, 6))
    x = rng.standard_t(3, size=(80, 2)) @ mixing
    model = NoisyIca(6, intercept=True)
    least = []
    for size in (0.05, 0.5, 5.0):
        rows = Rows(x + size * rng.normal(size=x.shape))
        begin = posterior_at(model, mixing, np.zeros(6), np.full(6, size**2), np.zeros(2, dtype=bool), 80.0)
        least.append(model.trusted(ascend(model, [rows], State(begin), max_iter=20, tol=0).state.q))
    assert 0 < least[0] < 0.1 * least[1] < 0.1 * least[2]
    assert model.trusted(begin.only(np.arange(0))) == 0


def test_an_ascent_that_is_broken_off_leaps_as_it_would_have() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_t(3, size=(120, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(120, 6))
    model, states = NoisyIca(6, intercept=True), []
    begin = State(start("heavy", model, 3, x, rng))
    whole = ascend(model, [Rows(x)], begin, max_iter=14, tol=0, on_state=lambda *seen: states.append(seen))
    state, so_far = next(seen for seen in states[5:-2] if len(seen[0].path) > 1)
    rest = ascend(model, [Rows(x)], state, max_iter=14, tol=0, so_far=so_far)
    assert [event.elbo for event in rest.trace] == [event.elbo for event in whole.trace]
    assert np.array_equal(rest.state.q.loadings.mean, whole.state.q.loadings.mean)
    assert whole.state.path == ()
