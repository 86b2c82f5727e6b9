"""Which of several fits a search goes on from, by the bounds that they reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latens.core import Fit

__all__ = ["distinct", "highest", "leading_at_glance", "records"]


def distinct(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that did not end where one before them did: as many components, and the same bound to `tol` per row."""
    kept: list[Fit] = []
    for fit in fits:
        margin, size = tol * max(fit.state.stats.n, 1.0), fit.state.q.n_components
        if not any(size == other.state.q.n_components and abs(fit.elbo - other.elbo) <= margin for other in kept):
            kept.append(fit)
    return kept


def records(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that are higher than all before them, by more than `tol` nats per row; the first always is.

    More fits at the end leave those that were chosen without them as they are: whatever goes on from records and keeps
    the highest never ends lower for having had more starts.
    """
    chosen = list(fits[:1])
    for fit in fits[1:]:
        if fit.elbo > chosen[-1].elbo + tol * max(fit.state.stats.n, 1.0):
            chosen.append(fit)
    return chosen


def leading_at_glance(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The same of fits that still rise: what is higher by less than an iteration gains is not ahead."""
    chosen = list(fits[:1])
    for fit in fits[1:]:
        gain = fit.elbo - fit.trace[-2].elbo if len(fit.trace) > 1 else 0.0
        if fit.elbo > chosen[-1].elbo + max(tol * max(fit.state.stats.n, 1.0), gain):
            chosen.append(fit)
    return chosen


def highest(fits: Sequence[Fit]) -> Fit:
    """The first of those with the highest bound; interrupted or stopped if any of them was."""
    best = max(fits, key=lambda fit: fit.elbo)  # the first of equals
    return replace(best, interrupted=any(fit.interrupted for fit in fits), stopped=any(fit.stopped for fit in fits))
