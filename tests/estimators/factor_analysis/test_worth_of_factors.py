"""The likelihood of a factor fewer, which says what a factor is worth, is found in few steps."""

from __future__ import annotations

import numpy as np
import pytest

from latens.models.factor_analysis import newton


@pytest.mark.parametrize("seed", range(6))
def test_a_rough_optimum_is_as_high_as_an_exact_one_in_fewer_decompositions(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    cov = np.cov(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 12)) + rng.normal(size=(300, 12)), rowvar=False)
    floor, plain = np.full(12, 1e-6), newton.eigh
    calls = []
    monkeypatch.setattr(newton, "eigh", lambda *args, **options: calls.append(1) or plain(*args, **options))

    def height(*, rough: bool) -> tuple[float, int]:
        calls.clear()
        loadings, noise = newton.most_likely(cov, 2, floor, rough=rough)
        whole = loadings @ loadings.T + np.diag(noise)
        return -150 * float(np.linalg.slogdet(whole)[1] + np.trace(np.linalg.solve(whole, cov))), len(calls)

    (rough, few), (exact, many) = height(rough=True), height(rough=False)
    assert rough == pytest.approx(exact, abs=0.01)  # nats of 300 rows
    assert few < many
