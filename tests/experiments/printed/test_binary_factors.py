"""Document 000, sections 1 and 3: the listings against their equations written out entry by entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from latens.datasets import make_shapes
from latens.experiments.printed import binary_factors as em
from latens.experiments.printed import binary_relevance as vb

CLOSE = {"rel": 1e-10, "abs": 1e-10}
N, D, K = 12, 16, 3


def rows() -> np.ndarray:
    return make_shapes(N, random_state=3)[0]


def clipped(Lambda: np.ndarray) -> np.ndarray:
    """Entries within 1e-8 of 0, or within 1e-5 + 1e-8 of 1, are moved to 1e-15 from it."""
    out = Lambda.copy()
    for place in np.ndindex(*out.shape):
        if abs(out[place]) <= 1e-8:
            out[place] = 1e-15
        elif abs(out[place] - 1) <= 1e-8 + 1e-5:
            out[place] = 1 - 1e-15
    return out


def energy(X, mu, squares, sigma, pie, Lambda, *, text: bool = False) -> float:
    """Equation 8 term by term; `text` takes the printed ratio of logarithms."""
    total = -N * D * math.log(sigma) - N * D / 2 * math.log(2 * math.pi)
    for n in range(N):
        for i in range(K):
            one, p = Lambda[n, i], pie[0, i]
            total += one * math.log(p / one)
            if text:
                total += (1 - one) * math.log(1 - p) / math.log(1 - one)
            else:
                total += (1 - one) * math.log((1 - p) / (1 - one))
            total -= (one - one**2) * squares[i] / (2 * sigma**2)
        left = [X[n, d] - sum(Lambda[n, i] * mu[d, i] for i in range(K)) for d in range(D)]
        total -= sum(value**2 for value in left) / (2 * sigma**2)
    return total


def e_step(X, mu, squares, sigma, pie, Lambda, n_sweeps) -> tuple[np.ndarray, list[float]]:
    energies: list[float] = []
    for _ in range(n_sweeps):
        Lambda = clipped(Lambda)
        energies.append(energy(X, mu, squares, sigma, pie, Lambda))
        for i in range(K):
            for n in range(N):
                field = math.log(pie[0, i] / (1 - pie[0, i])) - squares[i] / (2 * sigma**2)
                for d in range(D):
                    others = sum(Lambda[n, j] * mu[d, j] for j in range(K) if j != i)
                    field += (X[n, d] - others) * mu[d, i] / sigma**2
                Lambda[n, i] = 1 / (1 + math.exp(-field))
    return Lambda, energies


def second(Lambda: np.ndarray) -> np.ndarray:
    return np.array(
        [[sum(Lambda[n, i] * (Lambda[n, j] if i != j else 1.0) for n in range(N)) for j in range(K)] for i in range(K)]
    )


def counted_sweeps(listing: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each call of `mean_field`, once the listing has run: energies that differ by less than 1e-15 are equal ones.

    Rounding says when they are, so that equations take as many sweeps as the listing does.
    """
    sweeps: list[int] = []
    sweep, mean_field = listing.sweep, listing.mean_field
    monkeypatch.setattr(listing, "sweep", lambda *args: (sweeps.append(sweeps.pop() + 1), sweep(*args)))
    monkeypatch.setattr(listing, "mean_field", lambda *args: (sweeps.append(0), mean_field(*args))[1])
    return sweeps


def has_settled(energies: list[float]) -> bool:
    return len(energies) == 31 or abs(energies[-1] - energies[-2]) < 1e-12


def test_mean_field_em_has_the_numbers_of_the_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    X, sweeps = rows(), counted_sweeps(em, monkeypatch)
    start = em.init_params(N, D, K, np.random.default_rng(0))
    learnt = em.learn_bin_factors(X, K, 3, np.random.default_rng(1), start=start)
    Lambda, mu, pie, sigma = start
    for iteration in range(3):
        Lambda, energies = e_step(X, mu, (mu**2).sum(axis=0), sigma, pie, Lambda, sweeps[iteration])
        assert has_settled(energies)
        assert learnt.free_energies[iteration] == pytest.approx(energies[-1], **CLOSE)
        ESS, cross = second(Lambda), Lambda.T @ X
        mu = np.array([np.linalg.solve(ESS, cross[:, d]) for d in range(D)])
        fit = sum(mu[:, i] @ mu[:, j] * ESS[i, j] for i in range(K) for j in range(K))
        sigma = math.sqrt(((X**2).sum() + fit - 2 * sum(cross[i] @ mu[:, i] for i in range(K))) / (N * D))
        pie = Lambda.mean(axis=0)[None]
    assert learnt.mu == pytest.approx(mu, **CLOSE)
    assert learnt.sigma == pytest.approx(sigma, **CLOSE)
    assert learnt.pie == pytest.approx(pie, **CLOSE)
    assert learnt.Lambda == pytest.approx(Lambda, **CLOSE)


def test_equation_8_of_the_text_has_a_ratio_of_logarithms() -> None:
    X = rows()
    Lambda, mu, pie, _ = em.init_params(N, D, K, np.random.default_rng(0))
    squares = (mu**2).sum(axis=0)
    assert em.equation_8(X, mu, 0.7, pie, Lambda) == pytest.approx(
        energy(X, mu, squares, 0.7, pie, Lambda, text=True), **CLOSE
    )
    assert em.free_energy(X, mu, squares, 0.7, pie, Lambda) == pytest.approx(
        energy(X, mu, squares, 0.7, pie, Lambda), **CLOSE
    )


def test_second_moments_have_the_codes_on_their_diagonal() -> None:
    ESS = em.compute_ESS(np.array([[0.25, 0.5]]))
    assert ESS == pytest.approx(np.array([[[0.25, 0.125], [0.125, 0.5]]]))


def test_codes_are_cut_at_different_distances_from_0_and_1() -> None:
    Lambda = np.array([[1e-7, 1e-9, 1 - 9e-6, 1 - 2e-5]])
    em.clip(Lambda)
    assert Lambda.tolist() == [[1e-7, 1e-15, 1 - 1e-15, 1 - 2e-5]]


def moments(X, mu, sigma, Lambda, alpha) -> tuple[np.ndarray, np.ndarray]:
    mu = mu.copy()
    C = [1 / (Lambda[:, i].sum() / sigma**2 + alpha[i]) for i in range(K)]
    for _ in range(5):
        for i in range(K):
            for d in range(D):
                drive = sum(Lambda[n, i] * X[n, d] for n in range(N))
                others = sum(Lambda[n, i] * Lambda[n, k] * mu[d, k] for n in range(N) for k in range(K) if k != i)
                mu[d, i] = C[i] / sigma**2 * (drive - others)
    return mu, np.array([D * C[i] + (mu[:, i] ** 2).sum() for i in range(K)])


def test_relevance_determination_has_the_numbers_of_the_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    X, sweeps = rows(), counted_sweeps(vb, monkeypatch)
    start = vb.init_params(N, D, K, np.random.default_rng(4))
    learnt = vb.learn_bin_factors(X, K, 3, np.random.default_rng(1), start=start)
    Lambda, mu, pie, sigma = start
    alpha = np.full(K, 120.0)
    mu, squares = moments(X, mu, sigma, Lambda, alpha)
    for iteration in range(3):
        Lambda, energies = e_step(X, mu, squares, sigma, pie, Lambda, sweeps[iteration])
        assert has_settled(energies)
        assert learnt.free_energies[iteration] == pytest.approx(energies[-1], **CLOSE)
        mu, squares = moments(X, mu, sigma, Lambda, alpha)
        left = (X**2).sum() - 2 * sum(Lambda[n, i] * mu[:, i] @ X[n] for n in range(N) for i in range(K))
        for i in range(K):
            left += squares[i] * Lambda[:, i].sum()
            left += sum(mu[:, i] @ mu[:, j] * (Lambda[:, i] @ Lambda[:, j]) for j in range(K) if j != i)
        sigma, pie = math.sqrt(left / (N * D)), Lambda.mean(axis=0)[None]
        alpha = D / squares
        assert learnt.alphas[iteration] == pytest.approx(alpha, **CLOSE)
        assert learnt.nfactors[iteration] == sum(a < 1200 for a in alpha)
    assert learnt.mu_ES == pytest.approx(mu, **CLOSE)
    assert learnt.sigma == pytest.approx(sigma, **CLOSE)


def test_starts_lie_where_the_print_puts_them() -> None:
    Lambda, mu, pie, sigma = em.init_params(200, 16, 8, np.random.default_rng(0))
    assert sigma == 1
    for values in (Lambda, mu, pie):
        assert 0.25 <= values.min()
        assert values.max() <= 0.75
    Lambda, mu, pie, sigma = vb.init_params(200, 16, 8, np.random.default_rng(0))
    assert 0.2 <= min(Lambda.min(), mu.min(), pie.min())
    assert max(Lambda.max(), mu.max()) <= 0.8
    assert pie.max() <= 0.7
    assert 0 < sigma < 1
