"""Numbers that say how near a fit is to the truth."""

from __future__ import annotations

from latens.metrics.calibration import (
    best_temperature,
    brier,
    coverage,
    expected_calibration_error,
    reliability,
    tempered,
)
from latens.metrics.evidence import LogEvidence, log_evidence
from latens.metrics.gaussians import covariance_distance, gaussian_kl, wasserstein2
from latens.metrics.matching import Match, match_components
from latens.metrics.separation import amari_distance, source_correlation

__all__ = [
    "LogEvidence",
    "Match",
    "amari_distance",
    "best_temperature",
    "brier",
    "covariance_distance",
    "coverage",
    "expected_calibration_error",
    "gaussian_kl",
    "log_evidence",
    "match_components",
    "reliability",
    "source_correlation",
    "tempered",
    "wasserstein2",
]
