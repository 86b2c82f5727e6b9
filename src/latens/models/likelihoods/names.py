"""The names of likelihoods, one table for all estimators.

`NAMES` says what each means; `LIKELIHOODS` has the class behind it for views. Latent classes have families of their own
for the same names (`latens.families`).
"""

from __future__ import annotations

from latens.models.likelihoods.bernoulli import Bernoulli, Categorical, Ordinal
from latens.models.likelihoods.counts import NegativeBinomial, PoissonCounts
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Likelihood
from latens.models.likelihoods.student import Student

__all__ = ["LIKELIHOODS", "NAMES"]

NAMES: dict[str, str] = {
    "gaussian": "measurements with normal noise",
    "student": "measurements with outliers",
    "bernoulli": "yes or no, as 1 and 0",
    "categorical": "levels without order",
    "ordinal": "levels in order",
    "poisson": "counts",
    "negative-binomial": "overdispersed counts",
}

LIKELIHOODS: dict[str, type[Likelihood]] = {
    kind.name: kind for kind in (Gaussian, Student, Bernoulli, Categorical, Ordinal, PoissonCounts, NegativeBinomial)
}
