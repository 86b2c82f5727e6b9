"""Loadings of two factors, in or out: beside sums over a grid, and turned with their codes."""

from __future__ import annotations

import numpy as np
import pytest

from latens.models.multi_view.inclusion.two_loadings import TwoLoadings

Z = np.random.default_rng(0).normal(size=(30, 2))
Y = Z @ [[0.5, 0.0, 0.3], [0.0, 0.2, 0.4]] + np.random.default_rng(1).normal(size=(30, 3))


def known(z: np.ndarray, odds: tuple[float, float] = (0.3, -0.4), alpha: float = 1.5, n: int = 1) -> TwoLoadings:
    """Of the three columns, n times over."""
    gram, pull = z.T @ z, np.tile(Y.T @ z, (n, 1))
    ones = np.ones(3 * n)
    return TwoLoadings(
        pull[:, 0], pull[:, 1], gram[0, 0] * ones, gram[1, 1] * ones, gram[0, 1] * ones, alpha, np.array(odds)
    )


def test_weights_of_states_are_those_of_a_sum_over_loadings() -> None:
    grid = np.linspace(-4, 4, 801)
    step, alpha = grid[1] - grid[0], 1.5
    slab = np.sqrt(alpha / (2 * np.pi)) * np.exp(-0.5 * alpha * grid**2)
    gram, pull = Z.T @ Z, Y.T @ Z
    logs = known(Z).log_weights
    for d in range(3):
        alone = [np.sum(slab * np.exp(pull[d, k] * grid - 0.5 * gram[k, k] * grid**2)) * step for k in (0, 1)]
        u, v = np.meshgrid(grid, grid)
        energy = (
            pull[d, 0] * u + pull[d, 1] * v - 0.5 * (gram[0, 0] * u**2 + 2 * gram[0, 1] * u * v + gram[1, 1] * v**2)
        )
        both = np.sum(np.outer(slab, slab) * np.exp(energy)) * step**2
        exact = [0.0, 0.3 + np.log(alone[0]), -0.4 + np.log(alone[1]), -0.1 + np.log(both)]
        assert logs[:, d] == pytest.approx(exact, abs=1e-6)


def test_turned_codes_have_turned_sums() -> None:
    angle = 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one, two = known(Z).turned(np.array([0.0, angle])), known(Z @ turn.T)
    assert one.log_evidence[1] == pytest.approx(float(two.log_evidence), rel=1e-12)
    assert one.log_evidence[0] == pytest.approx(float(known(Z).log_evidence), rel=1e-12)


@pytest.mark.parametrize("odds", [(0.3, -0.4), (np.inf, 0.5), (np.inf, np.inf)])
def test_draws_have_the_moments_of_the_states(odds: tuple[float, float]) -> None:
    many, rng = known(Z, odds, n=20_000), np.random.default_rng(2)
    drawn = many.draw(rng).reshape(-1, 3, 2)  # (n, D, 2)
    logs = known(Z, odds).log_weights
    shares = np.exp(logs - logs.max(axis=0))
    shares /= shares.sum(axis=0)
    on = drawn != 0
    assert on[:, :, 0].mean(axis=0) == pytest.approx(shares[1] + shares[3], abs=0.015)
    assert on.all(axis=2).mean(axis=0) == pytest.approx(shares[3], abs=0.015)
    for d in range(3):
        both = drawn[on[:, d].all(axis=1), d]
        matrix = np.linalg.inv(Z.T @ Z + 1.5 * np.eye(2))
        assert both.mean(axis=0) == pytest.approx(matrix @ (Y.T @ Z)[d], abs=0.02)
        assert np.cov(both.T) == pytest.approx(matrix, rel=0.15, abs=0.003)
