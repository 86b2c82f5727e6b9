"""Logarithms of many Beta distributions in one compiled pass: what they are on average, and the norm."""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, log_normal

__all__ = ["beta_logs"]

STIRLING_FROM = 8.0  # from which Stirling's series is right to the last place
HALF_LOG_2_PI = 0.5 * float(np.log(2 * np.pi))
# of Stirling's series: Bernoulli's numbers over 2k (2k - 1), and over 2k for its slope
S1, S2, S3, S4 = 1 / 12, -1 / 360, 1 / 1260, -1 / 1680
S5, S6, S7, S8 = 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400
T1, T2, T3, T4 = 1 / 12, -1 / 120, 1 / 252, -1 / 240
T5, T6, T7, T8 = 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160


@nb.njit(**COMPILED, inline="always")
def _log_gamma(x):
    """log Gamma(x) and its derivative for x > 0, without a branch: small x by x (x + 1) ... (x + 7)."""
    small = x < STIRLING_FROM
    u = x * (x + 7.0)  # the product pairs its factors from both ends: u (u + 6) (u + 10) (u + 12)
    inner, outer = (u + 10.0) * (u + 12.0), u * (u + 6.0)
    product = outer * inner
    slope = (2.0 * x + 7.0) * ((2.0 * u + 6.0) * inner + (2.0 * u + 22.0) * outer) / product
    log_product = log_normal(product)  # found in any case: what is only selected is done for several x at once
    y = x + (STIRLING_FROM if small else 0.0)
    log_y, r = log_normal(y), 1.0 / y
    z = r * r
    series = r * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * (S6 + z * (S7 + z * S8)))))))
    tail = z * (T1 + z * (T2 + z * (T3 + z * (T4 + z * (T5 + z * (T6 + z * (T7 + z * T8)))))))
    value = (y - 0.5) * log_y - y + HALF_LOG_2_PI + series
    return value - (log_product if small else 0.0), log_y - 0.5 * r - tail - (slope if small else 0.0)


@nb.njit(**COMPILED)
def beta_logs(on, off, log_on, log_off, log_norm):
    """E[log p], E[log(1 - p)] and the logarithm of the Beta function, of flat arrays, into the last three."""
    for i in range(len(on)):
        of_on, slope_on = _log_gamma(on[i])
        of_off, slope_off = _log_gamma(off[i])
        of_both, slope_both = _log_gamma(on[i] + off[i])
        log_on[i], log_off[i] = slope_on - slope_both, slope_off - slope_both
        log_norm[i] = of_on + of_off - of_both
