"""Single precision where the noise is tiny: codes are found in double, so that the bound does not fall."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from latens.array.transfer import host
from latens.core import Rows, State
from latens.families.point_beta import PointBeta
from latens.families.point_normal_gamma import PointNormalGamma
from latens.inference.ascent import ascend
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Automatic, Exact, MeanField, Truncated
from latens.models.gaussian_rows import sharp

LIBRARIES = ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]
FLOOR = 1e-6


def low_noise(seed: int, n: int = 8, d: int = 4, k: int = 12) -> tuple[Any, BinaryFactors, BinaryPosterior]:
    """More causes than columns explain a few rows all but exactly: the noise falls to its floor."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n, d)) + rng.choice([0.0, 3.0])).astype(np.float32)
    model = BinaryFactors(d, points=True, intercept=True, floor=FLOOR, e_step=Truncated())
    q = BinaryPosterior(PointBeta.of(np.full(k, 0.3)), PointNormalGamma(rng.normal(size=(k + 1, d)), np.ones(1), FLOOR))
    return x, model, q


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_does_not_fall_at_the_noise_floor(seed: int) -> None:
    x, model, q = low_noise(seed)
    fit = ascend(model, [Rows(x)], State(q), max_iter=100, tol=0, slack=1.0)
    assert fit.state.q.loadings.noise == pytest.approx(FLOOR)
    heights = np.array([event.elbo for event in fit.trace])
    size = sum(map(abs, fit.trace[-1].terms.values()))
    assert np.diff(heights).min() > -1e-6 * size


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("e_step", [Automatic(), Exact(), MeanField(), Truncated(6)], ids=lambda e: type(e).__name__)
def test_codes_of_single_rows_are_those_of_double_rows(library: str, e_step: Any) -> None:
    xp = importlib.import_module(library)
    rng = np.random.default_rng(3)
    codes, parts = (rng.random((40, 5)) < 0.4).astype(float), rng.normal(size=(5, 6))
    x = (codes @ parts + 1e-3 * rng.normal(size=(40, 6))).astype(np.float32)
    model = BinaryFactors(6, points=True, e_step=e_step)
    q = BinaryPosterior(PointBeta.of(np.full(5, 0.4)), PointNormalGamma(parts, np.full(1, 1e-6)))
    batch = Rows(xp.asarray(x))
    local = model.local_step(q, batch)
    local = model.local_step(q, batch, local)
    again = model.local_step(q, Rows(x.astype(float)))
    again = model.local_step(q, Rows(x.astype(float)), again)
    mean, variance = model.codes(batch, local)
    filled, spread = model.impute(q, batch, local)
    for answer in (mean, variance, filled, spread, model.row_bounds(q, batch, local)):
        assert answer.dtype == batch.x.dtype
    assert host(mean) == pytest.approx(model.codes(Rows(x.astype(float)), again)[0], abs=1e-6)
    stats, sure = model.statistics(batch, local), model.statistics(Rows(x.astype(float)), again)
    assert stats.zz == pytest.approx(sure.zz, rel=1e-9)
    assert stats.zx == pytest.approx(sure.zx, rel=1e-9, abs=1e-9)


def test_only_rows_with_little_noise_are_sharpened() -> None:
    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    plain = Rows(x)
    assert sharp(plain, np.array([10.0])) is plain
    assert sharp(plain, np.array([1e5])).x.dtype == np.float64
    double = Rows(x.astype(float))
    assert sharp(double, np.array([1e12])) is double
