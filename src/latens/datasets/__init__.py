"""Data with a known truth: every generator returns the rows and what they were made from."""

from __future__ import annotations

from latens.datasets.images import make_images
from latens.datasets.shapes import make_shapes
from latens.datasets.truth import ImageTruth

__all__ = ["ImageTruth", "make_images", "make_shapes"]
