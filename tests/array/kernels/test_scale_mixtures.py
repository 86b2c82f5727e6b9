"""Distances from clusters at many degrees of freedom: compiled and plain forms agree, whatever was seen."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.kernels.row_posteriors.scale_mixtures import (
    distance_logs,
    distance_logs_plain,
    distance_sums,
    distance_sums_plain,
)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_compiled_and_plain_forms_agree(holes: bool, precision: type) -> None:
    rng, (n, k, d, g) = np.random.default_rng(0), (101, 3, 4, 5)
    x = (rng.standard_t(1.0, (n, d)) * 10).astype(precision)
    seen = (rng.random((n, d)) < 0.7 if holes else np.ones((1, d))).astype(precision)
    weighted = rng.dirichlet(np.ones(k), size=n).astype(precision)
    clusters = rng.normal(size=(k, d, g)), rng.gamma(1.0, size=(k, d, g)), rng.gamma(2.0, size=(k, d, g))
    times = np.where(rng.random((k, d, g)) < 0.5, rng.normal(size=(k, d, g)), 0.0)
    close = 1e-12 if precision is np.float64 else 2e-4
    found, plain = (form(x, seen, *clusters, times) for form in (distance_logs, distance_logs_plain))
    assert found.dtype == plain.dtype == precision
    assert found == pytest.approx(plain, rel=close, abs=10 * close)
    sums, by_hand = (form(x, seen, weighted, *clusters) for form in (distance_sums, distance_sums_plain))
    assert sums == pytest.approx(by_hand, rel=close, abs=10 * close)
