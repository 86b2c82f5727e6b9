"""One fitted model on a page, and what its sections read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.metrics import Match, match_components
from latens.plots.fitted import component_names, feature_names, image_shape, loadings

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """A fitted model, and what is known about it.

    Parameters
    ----------
    model : fitted estimator
    X : array-like of shape (N, D), optional
        The rows it was fitted to, or others of their kind.
    truth : object, optional
        What made the rows, as returned by the generators of `latens.datasets`: at least `components` of
        shape (K_true, D), and where known `usage`, `noise_variance` and `shape`.
    title : str, optional
        Heading; the name of the model's class otherwise.
    shape : (int, int), optional
        Height and width of a row that is an image; read from the truth otherwise, or guessed where D is a square.
    seconds : float, optional
        How long the fit took; the time of the iterations in its trace otherwise, which leaves out starts and
        restarts that were not kept.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> Entry(SimpleNamespace(components_=[[1.0, 0.0]])).names
    ['0']
    """

    model: Any
    X: Any = None
    truth: Any = None
    title: str | None = None
    shape: Sequence[int] | None = None
    seconds: float | None = None

    @property
    def heading(self) -> str:
        return self.title or type(self.model).__name__

    @property
    def duration(self) -> float:
        return self.seconds if self.seconds is not None else float(sum(step.seconds for step in self.model.trace_))

    @property
    def loadings(self) -> np.ndarray | None:
        """Components of shape (K, D), or None for a model that has no single table of them."""
        if not hasattr(self.model, "mixing_") and not hasattr(self.model, "components_"):
            return None
        values = loadings(self.model)
        return None if isinstance(values, dict) else np.asarray(values, dtype=np.float64)

    @property
    def names(self) -> list[str]:
        """The names of the components, in the model's order."""
        values = self.loadings
        return component_names(
            self.model, int(getattr(self.model, "n_components_", 0)) if values is None else len(values)
        )

    @property
    def labels(self) -> list[str]:
        """The names as they stand alone, where a bare number would say too little."""
        return [f"component {name}" if name.isdecimal() else name for name in self.names]

    @property
    def columns(self) -> list[str] | None:
        return feature_names(self.model, self.X)

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Height and width of a row, or None where rows are not images."""
        if self.loadings is None:
            return None
        known = self.shape if self.shape is not None else getattr(self.truth, "shape", None)
        return image_shape(self.loadings.shape[1], known, named=self.columns is not None)

    @property
    def match(self) -> Match | None:
        """Which component is which true one, or None without a truth."""
        true = getattr(self.truth, "components", None)
        if true is None or isinstance(true, dict) or self.loadings is None:
            return None
        return match_components(self.loadings, true)
