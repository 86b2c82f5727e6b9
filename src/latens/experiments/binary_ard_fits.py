"""Fits with relevance determination for one upper bound K, and what they looked like on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.core import Iteration
from latens.estimators.fitted_parts import fitted_parts
from latens.experiments.against_print.binary_relevance import Printed
from latens.experiments.printed import binary_relevance as printed

__all__ = ["Course", "from_data", "from_document", "from_truth"]


@dataclass(frozen=True)
class Course:
    """One fit; causes keep the order in which they started, so that their relevance can be followed."""

    k: int
    bounds: np.ndarray  # (iterations,)
    without_divergences: float  # the bound's terms at the end, less the divergences from the priors
    alphas: tuple[np.ndarray, ...]  # each (K,): precision of the loadings in data units, by iteration
    components: np.ndarray  # (K, D)
    usage: np.ndarray  # (K,)
    in_use: np.ndarray  # (K,) boolean, by usage and by what a cause explains
    sums: np.ndarray | None = None  # (iterations,), what the document's listing calls its free energy

    @property
    def bound(self) -> float:
        return float(self.bounds[-1])

    @property
    def n_in_use(self) -> int:
        return int(self.in_use.sum())

    @property
    def found(self) -> np.ndarray:
        return np.asarray(self.components[self.in_use])

    def n_below(self, cut: float) -> np.ndarray:
        """(iterations,), the document's count of effective factors: those with alpha below a cut."""
        return np.array([np.sum(alpha < cut) for alpha in self.alphas])


class Relevances:
    """Callback that keeps each iteration's relevance, which traces leave out."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, np.ndarray]] = []

    def __call__(self, event: Iteration) -> None:
        loadings = event.posterior.loadings
        # the model's alpha is relative to the noise precision
        self.seen.append((event.restart, loadings.alpha.mean * float(loadings.tau[0])))

    def of(self, restart: int, scale: float) -> tuple[np.ndarray, ...]:
        return tuple(alpha / scale**2 for label, alpha in self.seen if label == restart)


def from_document(
    x: np.ndarray, k: int, rng: np.random.Generator, iterations: int, start: printed.Start | None = None
) -> Course:
    """The document's listing, from its random start or another; a factor is in use that at least one row has on."""
    printed_run = Printed(x, k, iterations, rng, start)
    return Course(
        k,
        printed_run.bounds,
        float(printed_run.sums[-1]),
        tuple(printed_run.learnt.alphas),
        printed_run.learnt.mu_ES.T,
        printed_run.usage,
        printed_run.in_use(len(x)),
        printed_run.sums,
    )


def from_truth(x: np.ndarray, truth: Any, k: int, rng: np.random.Generator, iterations: int) -> Course:
    """The listing with the true factors and codes among those it starts from; the spare ones start as printed."""
    codes, factors, usage, sigma = printed.init_params(len(x), x.shape[1], k, rng)
    true = len(truth.components)
    factors[:, :true], codes[:, :true] = truth.components.T, np.clip(truth.codes, 0.01, 0.99)
    return from_document(x, k, rng, iterations, (codes, factors, usage, sigma))


def from_data(x: np.ndarray, k: int, seed: int, *, moves: bool, **options: Any) -> Course:
    """Starts found in the data, no offset, as in print; with `moves`, causes are deleted where the bound rises."""
    relevances = Relevances()
    fitted = latens.BinaryFactorAnalysis(
        k, e_step="mean-field", fit_intercept=False, moves=moves, random_state=seed, callbacks=relevances, **options
    ).fit(x)
    last, parts = fitted.trace_[-1], fitted_parts(fitted)
    model, units, q, stats = parts.model, parts.units, parts.state.q, parts.state.stats
    return Course(
        k,
        fitted.elbo_history_,
        last.elbo - sum(value for name, value in last.terms.items() if name.startswith("kl_")),
        relevances.of(last.restart, units.scale),
        units.leave_direction(q.loadings.mean),
        q.usage.mean,
        model.importance(q, stats) > 0,
    )
