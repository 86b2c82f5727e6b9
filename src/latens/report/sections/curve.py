"""What the numbers by iteration are, as the model says itself: not every one of them is a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latens.core import EvidenceBound, PointEstimating
from latens.estimators.fitted_parts import fitted_parts, has_fitted_parts

__all__ = ["Curve", "curve_of"]


@dataclass(frozen=True)
class Curve:
    """The name of a curve, what it is in a sentence, and whether a fit maximises it until it converges."""

    name: str
    meaning: str
    is_maximised: bool = True


BOUND = Curve("bound", "A lower bound of the log evidence, all constants in.")
LIKELIHOOD = Curve(
    "log-likelihood",
    "The log-likelihood at the estimated parameters, all constants in. It grows with their number, so that it cannot "
    "choose that.",
)
BELOW_LIKELIHOOD = Curve(
    "bound",
    "A lower bound of the log-likelihood at the estimated parameters, all constants in. It grows with their number, "
    "so that it cannot choose that.",
)
EVIDENCE = Curve("log evidence", "The log evidence, all constants in, at precisions that were given or maximise it.")
PREQUENTIAL = Curve(
    "log score",
    "The prequential log score: the sum of the rows' log densities, each under the parameters that the rows before it "
    "had led to. It is no bound, and later rows say more about the fit than earlier ones.",
    is_maximised=False,
)


def curve_of(estimator: Any) -> Curve:
    """From the model's own words: point estimates, exact rows, precisions without a posterior, scores before steps.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> curve_of(SimpleNamespace()).name
    'bound'
    """
    if not has_fitted_parts(estimator):
        return BOUND
    model, trace = fitted_parts(estimator).model, estimator.trace_
    if "prequential" in trace[-1].terms:
        return PREQUENTIAL
    exact = model.exact_local(estimator.posterior_)
    if isinstance(model, PointEstimating) and model.points:
        return LIKELIHOOD if exact else BELOW_LIKELIHOOD
    return EVIDENCE if isinstance(model, EvidenceBound) and model.bound_is_evidence else BOUND
