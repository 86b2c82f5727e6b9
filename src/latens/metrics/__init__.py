"""Numbers that say how near a fit is to the truth."""

from __future__ import annotations

from latens.metrics.gaussians import covariance_distance, gaussian_kl, wasserstein2
from latens.metrics.matching import Match, match_components

__all__ = ["Match", "covariance_distance", "gaussian_kl", "match_components", "wasserstein2"]
