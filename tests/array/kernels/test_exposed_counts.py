"""Counts with exposures in many clusters: the compiled form and the plain one, and by hand."""

from __future__ import annotations

import numpy as np

from latens.array.kernels.row_posteriors.exposed_counts import (
    count_logs,
    count_logs_plain,
    count_sums,
    count_sums_plain,
)

SIZES = np.array([0.25, 1.0, 4.0, 64.0])


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, exposures, of which some are 0, and rates."""
    rng = np.random.default_rng(0)
    exposure = np.exp(rng.normal(size=(37, 3))) * (rng.random((37, 3)) > 0.2)
    return rng.poisson(3 * exposure).astype(float), exposure, rng.gamma(2.0, size=(5, 3, 4))


def test_logarithms_are_those_of_the_plain_form_and_by_hand() -> None:
    (x, s, rate), times = problem(), np.random.default_rng(1).random((3, 4))
    times[1, 2] = 0.0
    found = count_logs(x, s, rate, SIZES, times)
    np.testing.assert_allclose(found, count_logs_plain(x, s, rate, SIZES, times), rtol=1e-12)
    c = SIZES + s[:, None, :, None] * rate
    each = times * (x[:, None, :, None] + SIZES) * np.log(c) * (s > 0)[:, None, :, None]
    np.testing.assert_allclose(found, each.sum(axis=(2, 3)), rtol=1e-12)


def test_sums_are_those_of_the_plain_form_and_by_hand() -> None:
    (x, s, rate), share = problem(), np.random.default_rng(1).dirichlet(np.ones(5), 37)
    found = count_sums(x, s, share, rate, SIZES)
    np.testing.assert_allclose(found, count_sums_plain(x, s, share, rate, SIZES), rtol=1e-12)
    c, whole = SIZES + s[:, None, :, None] * rate, x[:, None, :, None] + SIZES
    counted = (share[:, :, None] * (s > 0)[:, None, :])[..., None]
    np.testing.assert_allclose(found[0], (counted * s[:, None, :, None] * whole / c).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found[1], (counted * whole * np.log(c)).sum(axis=0), rtol=1e-12)
