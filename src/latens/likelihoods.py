"""The classes behind the names of likelihoods, and what one's own is made of.

An instance of one's own goes where a name goes: ``MultiViewFactorAnalysis(likelihoods={"rna": MyCounts()})``. It
derives from `Likelihood`, is marked by `record`, and writes the methods that have no body there; docs/own_likelihood.md
shows one. Provisional for two releases.
"""

from __future__ import annotations

from latens.array.fields import record, sized
from latens.array.kernels.quadratic_bounds import masked
from latens.models.likelihoods.bernoulli import Bernoulli, Categorical
from latens.models.likelihoods.counts import NegativeBinomial, PoissonCounts
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import (
    Columns,
    Free,
    Likelihood,
    Look,
    Parameters,
    Predictor,
    Tangent,
    averages,
)
from latens.models.likelihoods.ordered_logit import OrderedLogit
from latens.models.likelihoods.student import Student

__all__ = [
    "Bernoulli",
    "Categorical",
    "Columns",
    "Free",
    "Gaussian",
    "Likelihood",
    "Look",
    "NegativeBinomial",
    "OrderedLogit",
    "Parameters",
    "PoissonCounts",
    "Predictor",
    "Student",
    "Tangent",
    "averages",
    "masked",
    "record",
    "sized",
]
