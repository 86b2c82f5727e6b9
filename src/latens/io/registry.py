"""The classes a file may name. Nothing else is ever constructed, and nothing is imported by a name from a file.

A new model adds a row to ESTIMATORS, its records to RECORDS, and the shapes of its arrays to
`latens.io.checks.shape_checks`. What an estimator knows besides its posterior it names in a class attribute `kept`,
with annotations that say of what type.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from latens.errors import FileRefused

__all__ = ["ESTIMATORS", "RECORDS", "EstimatorRow", "estimator_class", "name_of", "record_class"]


@dataclass(frozen=True)
class EstimatorRow:
    home: str  # module:qualname
    models: tuple[str, ...]  # records its `model_` may be


ESTIMATORS = {
    "BayesianLinearRegression": EstimatorRow(
        "latens.estimators.regression:BayesianLinearRegression", ("LinearRegression",)
    ),
    "BernoulliMixture": EstimatorRow("latens.estimators.mixtures.bernoulli:BernoulliMixture", ("Mixture",)),
    "BinaryFactorAnalysis": EstimatorRow("latens.estimators.binary_factors:BinaryFactorAnalysis", ("BinaryFactors",)),
    "FactorAnalysis": EstimatorRow(
        "latens.estimators.factor_analysis.estimator:FactorAnalysis",
        ("ExactFactors", "Factors", "OnlineEM", "OnlineGradient", "TransportFactors"),
    ),
    "GaussianMixture": EstimatorRow("latens.estimators.mixtures.gaussian:GaussianMixture", ("Mixture",)),
    "LatentClassAnalysis": EstimatorRow("latens.estimators.mixtures.latent_classes:LatentClassAnalysis", ("Mixture",)),
    "MultiViewFactorAnalysis": EstimatorRow(
        "latens.estimators.multi_view.estimator:MultiViewFactorAnalysis", ("MultiView",)
    ),
    "NoisyICA": EstimatorRow("latens.estimators.noisy_ica.estimator:NoisyICA", ("NoisyIca",)),
    "NoisyOr": EstimatorRow("latens.estimators.noisy_or:NoisyOr", ("JensenNoisyOr", "NoisyOrCauses")),
}

RECORDS = {
    "Automatic": "latens.models.binary_factors.posteriors:Automatic",
    "Bernoulli": "latens.models.likelihoods.bernoulli:Bernoulli",
    "BernoulliColumns": "latens.families.bernoulli_columns:BernoulliColumns",
    "Beta": "latens.families.beta:Beta",
    "BinaryFactors": "latens.models.binary_factors.model:BinaryFactors",
    "BinaryPosterior": "latens.models.binary_factors.model:BinaryPosterior",
    "CategoricalColumns": "latens.families.categorical_columns:CategoricalColumns",
    "CausePosterior": "latens.models.noisy_or.model:CausePosterior",
    "CauseStatistics": "latens.models.noisy_or.model:CauseStatistics",
    "ClusterStatistics": "latens.models.mixture.model:ClusterStatistics",
    "CodeStatistics": "latens.models.binary_factors.model:CodeStatistics",
    "ColumnKinds": "latens.estimators.mixtures.column_kinds:ColumnKinds",
    "Deviances": "latens.models.multi_view.explained:Deviances",
    "Dirichlet": "latens.families.dirichlet:Dirichlet",
    "Exact": "latens.models.binary_factors.posteriors:Exact",
    "ExactFactors": "latens.models.factor_analysis.model:ExactFactors",
    "FactorPosterior": "latens.models.factor_analysis.model:FactorPosterior",
    "FactorStatistics": "latens.models.factor_analysis.model:FactorStatistics",
    "Factors": "latens.models.factor_analysis.model:Factors",
    "FewRows": "latens.models.factor_analysis.sums_wide:FewRows",
    "Fitted": "latens.io.estimator_state:Fitted",
    "Fractions": "latens.families.fractions:Fractions",
    "Frame": "latens.estimators.rows.units:Frame",
    "Gamma": "latens.families.gamma:Gamma",
    "Gaussian": "latens.models.likelihoods.gaussian:Gaussian",
    "HolePatterns": "latens.models.factor_analysis.missing_patterns:HolePatterns",
    "IcaPosterior": "latens.models.noisy_ica.model:IcaPosterior",
    "IcaStatistics": "latens.models.noisy_ica.model:IcaStatistics",
    "JensenNoisyOr": "latens.models.noisy_or.jensen:JensenNoisyOr",
    "Known": "latens.families.known:Known",
    "Layout": "latens.estimators.multi_view.wide_table:Layout",
    "LeastSquares": "latens.families.least_squares:LeastSquares",
    "LinearRegression": "latens.models.linear_regression:LinearRegression",
    "MeanField": "latens.models.binary_factors.posteriors:MeanField",
    "Measured": "latens.models.likelihoods.measured:Measured",
    "MixedColumns": "latens.families.mixed_columns:MixedColumns",
    "Mixture": "latens.models.mixture.model:Mixture",
    "MixturePosterior": "latens.models.mixture.model:MixturePosterior",
    "MultiView": "latens.models.multi_view.model:MultiView",
    "MultiViewPosterior": "latens.models.multi_view.model:MultiViewPosterior",
    "MultiViewStatistics": "latens.models.multi_view.model:MultiViewStatistics",
    "NegativeBinomialColumns": "latens.families.negative_binomial_columns:NegativeBinomialColumns",
    "NoisyIca": "latens.models.noisy_ica.model:NoisyIca",
    "NoisyOrCauses": "latens.models.noisy_or.model:NoisyOrCauses",
    "NormalColumns": "latens.families.normal_columns:NormalColumns",
    "NormalGamma": "latens.families.normal_gamma:NormalGamma",
    "NormalMeans": "latens.families.normal_means:NormalMeans",
    "NormalWishart": "latens.families.normal_wishart:NormalWishart",
    "Normals": "latens.families.normals:Normals",
    "Offsets": "latens.families.offsets:Offsets",
    "OnlineEM": "latens.models.factor_analysis.online:OnlineEM",
    "OnlineGradient": "latens.models.factor_analysis.online:OnlineGradient",
    "OnlinePosterior": "latens.models.factor_analysis.online:OnlinePosterior",
    "OnlineStatistics": "latens.models.factor_analysis.online:OnlineStatistics",
    "Poisson": "latens.models.likelihoods.poisson:Poisson",
    "PoissonColumns": "latens.families.poisson_columns:PoissonColumns",
    "Proportions": "latens.families.proportions:Proportions",
    "Rate": "latens.families.rate:Rate",
    "RatePosterior": "latens.models.noisy_or.jensen:RatePosterior",
    "RateStatistics": "latens.models.noisy_or.jensen:RateStatistics",
    "RegressionFrame": "latens.estimators.regression:RegressionFrame",
    "RegressionPosterior": "latens.models.linear_regression:RegressionPosterior",
    "RegressionSums": "latens.models.linear_regression:RegressionSums",
    "Relevance": "latens.families.relevance:Relevance",
    "Scatter": "latens.models.factor_analysis.sums:Scatter",
    "Shapes": "latens.models.noisy_ica.posteriors:Shapes",
    "Share": "latens.families.share:Share",
    "SpikeSlab": "latens.families.spike_slab:SpikeSlab",
    "State": "latens.core.fit:State",
    "Sticks": "latens.families.sticks:Sticks",
    "TransportFactors": "latens.models.factor_analysis.online:TransportFactors",
    "Truncated": "latens.models.binary_factors.posteriors:Truncated",
    "View": "latens.models.multi_view.view:View",
    "ViewPosterior": "latens.models.multi_view.coefficients:ViewPosterior",
    "ViewStatistics": "latens.models.multi_view.coefficients:ViewStatistics",
    "Waiting": "latens.estimators.multi_view.streams:Waiting",
}

_NAMES = {home: name for name, home in RECORDS.items()} | {row.home: name for name, row in ESTIMATORS.items()}


def name_of(cls: type) -> str | None:
    """The name under which a class is written, or None for one that files do not hold.

    Examples
    --------
    >>> name_of(dict) is None
    True
    """
    home = f"{cls.__module__}:{cls.__qualname__}"
    name = _NAMES.get(home)
    # a class may claim any module and name; only the one that lives there counts
    return name if name is not None and _at(home) is cls else None


def record_class(name: object) -> type:
    """The dataclass of that name in RECORDS."""
    if not isinstance(name, str) or name not in RECORDS:
        raise FileRefused(
            f"it names the class {name!r}, which this version does not know. If it was written by a newer latens, "
            "upgrade; otherwise do not trust it."
        )
    return _at(RECORDS[name])


def estimator_class(name: object) -> type:
    """The estimator of that name in ESTIMATORS."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise FileRefused(
            f"it holds a {name!r}; this version reads {', '.join(ESTIMATORS)}. If it was written by a newer latens, "
            "upgrade; otherwise do not trust it."
        )
    return _at(ESTIMATORS[name].home)


def _at(home: str) -> type:
    module, _, name = home.partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return found  # type: ignore[no-any-return]
