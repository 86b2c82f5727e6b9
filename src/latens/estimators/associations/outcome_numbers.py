"""Which means or shares of an outcome are given for each cluster: corrected ones, or those weighted by memberships.

Corrected ones (`class_means`), unless the outcome is a column of the fit, depends on the columns of the fit beyond the
clusters (`direct_effects`), or a corrected mean lies farther beyond all observed values than chance brings it. What is
beyond them by chance is published as the nearest value that was observed.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from latens.array import Floats, Index
from latens.estimators.associations.assigned import Assigned
from latens.estimators.associations.class_means import class_means, mean_ends, share_ends
from latens.estimators.associations.direct_effects import (
    direct_effect_p,
    is_of_the_fit,
    membership_means,
    membership_rows,
)

__all__ = ["OF_THE_FIT", "ON_THE_COLUMNS", "OUT_OF_RANGE", "outcome_numbers"]

OF_THE_FIT = "columns of the fit"
ON_THE_COLUMNS = "columns that depend on those of the fit beyond the clusters"
OUT_OF_RANGE = "columns whose corrected means or shares would lie beyond all values"
SIGNIFICANCE_LEVEL = 0.01  # p of a direct effect
LARGEST_EQUAL_GAP = 0.1  # of half an interval, up to which both means are the same


def outcome_numbers(
    assigned: Assigned, keep: Index, y: Floats, described: Index, level: float, *, shares: bool
) -> tuple[Floats, str]:
    """(3, J, K), means or shares of y (n', J) and ends of their intervals; why they are weighted, or nothing."""

    def with_ends(found: tuple[Floats, Floats, Floats], n: Floats) -> Floats:
        means, own, together = found
        if shares:
            return np.stack(share_ends(n, means, together, level))
        ends = mean_ends(assigned.labels[keep], n, y[:, 0], means[0], own[0], together[0], level)
        return np.stack([means, *(end[None] for end in ends)])

    raw = class_means(assigned, keep, y, described)
    corrected = with_ends(raw, assigned.rows_worth(keep))  # shares are cut at 0 and 1 already
    if not len(described):
        return corrected, ""
    plain = membership_means(assigned, keep, y, described)
    least, most = (0.0, 1.0) if shares else (float(y.min()), float(y.max()))
    half = 0.5 * (corrected[2] - corrected[0])
    why = ""
    if np.any(np.abs(raw[0] - plain[0]) > LARGEST_EQUAL_GAP * half):
        if is_of_the_fit(assigned, keep, y):
            why = OF_THE_FIT
        elif direct_effect_p(assigned, keep, y) < SIGNIFICANCE_LEVEL:
            why = ON_THE_COLUMNS
        elif np.any(np.maximum(least - raw[0], raw[0] - most) > _chance(raw, y, assigned.rows_worth(keep))):
            why = OUT_OF_RANGE
    if why:
        return with_ends(plain, membership_rows(assigned, keep)), why
    if not shares:
        corrected[0] = np.clip(corrected[0], least, most)
        corrected[1], corrected[2] = np.minimum(corrected[1], corrected[0]), np.maximum(corrected[2], corrected[0])
    return corrected, ""


def _chance(raw: tuple[Floats, Floats, Floats], y: Floats, n: Floats) -> Floats:
    """(J, K), how far corrected means may come by chance, Bonferroni's share of `SIGNIFICANCE_LEVEL` each.

    Rows of a cluster vary at least as all rows do.
    """
    pooled = y.var(axis=0)[:, None] / np.maximum(n, 1.0)
    far = float(stats.norm.isf(0.5 * SIGNIFICANCE_LEVEL / raw[0].size))
    return np.asarray(far * np.sqrt(np.maximum(raw[2], pooled)))
