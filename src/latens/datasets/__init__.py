"""Data with a known truth: every generator returns the rows and what they were made from."""

from __future__ import annotations

from latens.datasets.citations import make_citations
from latens.datasets.clusters import MixtureTruth, make_mixture
from latens.datasets.factor_model import FactorTruth, make_factor_model
from latens.datasets.images import make_images
from latens.datasets.noisy_or import make_baskets, make_noisy_or
from latens.datasets.shapes import make_shapes
from latens.datasets.sources import SourceTruth, make_ica
from latens.datasets.tables import TableTruth, make_table
from latens.datasets.truth import CauseTruth, ImageTruth
from latens.datasets.views import ViewTruth, make_multiview

__all__ = [
    "CauseTruth",
    "FactorTruth",
    "ImageTruth",
    "MixtureTruth",
    "SourceTruth",
    "TableTruth",
    "ViewTruth",
    "make_baskets",
    "make_citations",
    "make_factor_model",
    "make_ica",
    "make_images",
    "make_mixture",
    "make_multiview",
    "make_noisy_or",
    "make_shapes",
    "make_table",
]
