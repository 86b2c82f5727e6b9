"""Document 001: the program against its formulas written out entry by entry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latens.experiments.printed import mixture

CLOSE = {"rel": 1e-10, "abs": 1e-10}
n, k, p = 15, 3, 2


def elbo(data, phi, m, s2, sigma2, mu0) -> float:
    total = -0.5 * k * p * math.log(2 * math.pi * sigma2)
    for j in range(k):
        total += (p * s2[j] + m[j] @ m[j] - 2 * m[j] @ mu0 + mu0 @ mu0) / (2 * sigma2)
        total += p / 2 * (math.log(2 * math.pi) + math.log(s2[j]) + 1)
    for i in range(n):
        total -= math.log(k)
        for j in range(k):
            distance = data[i] @ data[i] - 2 * data[i] @ m[j] + p * s2[j] + m[j] @ m[j]
            total += phi[i, j] * (-p / 2 * math.log(2 * math.pi) - distance / 2 - math.log(phi[i, j]))
    return total


def test_three_rounds_have_the_numbers_of_the_formulas() -> None:
    rng = np.random.default_rng(0)
    data = mixture.generate_data(2.0, k, n, p, rng)[0]
    start = m, s2, phi = mixture.random_start(data, k, rng)
    m0, sigma2 = np.array([0.3, -0.2]), 5.0
    found = mixture.cavi(data, k, sigma2, m0, start=start)
    m, s2, phi = m.copy(), s2.copy(), phi.copy()
    assert found.elbo[0] == pytest.approx(elbo(data, phi, m, s2, sigma2, m0), **CLOSE)
    for step in range(1, 4):
        for i in range(n):
            raw = [math.exp(data[i] @ m[j] - (p * s2[j] + m[j] @ m[j]) / 2) for j in range(k)]
            phi[i] = np.array(raw) / sum(raw)
        for j in range(k):
            s2[j] = 1 / (1 / sigma2 + sum(phi[i, j] for i in range(n)))
            m[j] = s2[j] * (m0 / sigma2 + sum(phi[i, j] * data[i] for i in range(n)))
        assert found.elbo[step] == pytest.approx(elbo(data, phi, m, s2, sigma2, m0), **CLOSE)


def test_the_loop_ends_where_the_sum_gains_nothing() -> None:
    rng = np.random.default_rng(1)
    data = mixture.generate_data(5.0, 2, 30, 2, rng)[0]
    found = mixture.cavi(data, 2, 5.0, np.zeros(2), rng=rng)
    gains = np.diff(found.elbo)
    assert np.all(gains[:-1] > 1e-15)
    assert not gains[-1] > 1e-15


def test_rows_far_from_the_origin_overflow() -> None:
    """Ten of ten runs of the print end in NaN when the data are moved by 30."""
    rng = np.random.default_rng(2)
    data = mixture.generate_data(5.0, 5, 100, 2, rng)[0] + 30
    for seed in range(10):
        found = mixture.cavi(data, 5, 5.0, np.zeros(2), rng=np.random.default_rng(seed))
        assert np.isnan(found.elbo[-1])


def test_the_program_keeps_the_run_with_the_largest_sum() -> None:
    runs = mixture.main(np.random.default_rng(3), n=60, restarts=4)
    assert runs.found[runs.best_i].elbo[-1] == max(one.elbo[-1] for one in runs.found)
    assert runs.data.shape == (60, 2)
    assert runs.means.shape == (5, 2)
