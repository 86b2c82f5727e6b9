"""The compiled logarithms of Beta distributions equal SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, digamma

from latens.families.beta import FEWEST_TO_COMPILE, Beta


@pytest.mark.parametrize("first", ["mean_log", "_betaln"])
def test_many_distributions_have_the_logarithms_of_few(first: str) -> None:
    rng = np.random.default_rng(0)
    on, off = np.exp(rng.uniform(-12, 14, size=(2, 2, FEWEST_TO_COMPILE // 2 + 1)))
    many = Beta(on, off)
    getattr(many, first)  # each finds both
    both = digamma(on + off)
    np.testing.assert_allclose(many.mean_log[0], digamma(on) - both, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(many.mean_log[1], digamma(off) - both, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(many._betaln, betaln(on, off), rtol=1e-12, atol=4e-9)
