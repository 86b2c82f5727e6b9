"""Sums over the entries that were seen, taken as all less what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.linalg import LARGEST_COMPILED, definite_volume, inverse_with_volume
from latens.core import Rows
from latens.models.binary_factors.posteriors import Switches
from latens.models.gaussian_rows import products


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_products_of_independent_codes_by_complement(intercept: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    seen = rng.random((40, 7)) > 0.1
    seen[3], seen[:, 5] = False, False  # a row and a column that show nothing
    batch = Rows(np.where(seen, rng.normal(size=seen.shape), 0.0), seen, rng.random(40) if weighted else None)
    codes = Switches(rng.random((40, 4)))
    assert batch.few_gaps
    plain = products(batch, codes.mean, codes.second, lambda: codes.summed_second(batch), intercept)
    quick = products(batch, codes.mean, codes.second, lambda: codes.summed_second(batch), intercept, codes.variance)
    assert quick == pytest.approx(plain, rel=1e-12, abs=1e-12)
    assert np.array_equal(quick, np.swapaxes(quick, 1, 2))


def test_large_matrices_are_inverted_by_their_factors() -> None:
    rng, k = np.random.default_rng(1), LARGEST_COMPILED + 5
    rows = rng.normal(size=(3, 2 * k, k))
    matrices = np.swapaxes(rows, 1, 2) @ rows
    inverted, volume = inverse_with_volume(matrices)
    assert inverted == pytest.approx(np.linalg.inv(matrices), rel=1e-9)
    assert np.array_equal(inverted, np.swapaxes(inverted, 1, 2))
    assert volume == pytest.approx(np.linalg.slogdet(matrices)[1], rel=1e-12)
    assert np.array_equal(volume, definite_volume(matrices))
    matrices[1] *= -1  # not definite: by plain elimination
    assert inverse_with_volume(matrices)[0] == pytest.approx(np.linalg.inv(matrices), rel=1e-9)
