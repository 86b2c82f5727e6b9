"""Learnt features as pictures, each beside the true one it was matched with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from latens.metrics import Match, match_components
from latens.report import Figure
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.sheets import tile_sheet
from latens.report.charts.images.tiles import Tile, tile_grid

__all__ = ["LEAST_COSINE", "Learnt", "compared", "picture", "thresholded", "unscrolled"]

LEAST_COSINE = 0.9  # cosine from which a feature counts as found


@dataclass(frozen=True)
class Learnt:
    """Features of one fit in the order of the true ones, zero where one has no partner."""

    label: str
    components: np.ndarray  # (K_true, D)
    cosine: np.ndarray  # (K_true,)

    @classmethod
    def of(cls, label: str, components: np.ndarray, true: np.ndarray) -> Learnt:
        match: Match = match_components(components, true)
        paired = match.index >= 0
        ordered = np.zeros_like(true)
        ordered[paired] = components[match.index[paired]]
        return cls(label, ordered, match.similarity)

    @property
    def n_found(self) -> int:
        return int(np.sum(self.cosine >= LEAST_COSINE))


def compared(name: str, true: np.ndarray, fits: list[Learnt], shape: tuple[int, int], caption: str) -> Figure:
    """One tile for each true feature: what it is, and what each fit made of it, with its cosine."""
    tiles = []
    for k, image in enumerate(true):
        learnt = tuple((f"{fit.label} {fit.cosine[k]:.2f}", fit.components[k]) for fit in fits)
        missed = [fit.label for fit in fits if fit.cosine[k] < LEAST_COSINE]
        note = f", missed by {' and '.join(missed)}" if missed else ""
        tiles.append(Tile(f"feature {k}{note}", (("true", image), *learnt)))
    return picture(name, tiles, shape, Scale.of(true, *(fit.components for fit in fits)), caption)


def thresholded(
    name: str, true: np.ndarray, fits: list[Learnt], threshold: float, shape: tuple[int, int], caption: str
) -> Figure:
    """The same with pixels that are on or off, and the number of those on the wrong side."""
    masks = (true > 0).astype(float)
    tiles = []
    for k, image in enumerate(masks):
        cut = [(fit.components[k] > threshold).astype(float) for fit in fits]
        learnt = tuple(
            (f"{fit.label}, {int(np.sum(mask != image))} wrong", mask) for fit, mask in zip(fits, cut, strict=True)
        )
        tiles.append(Tile(f"feature {k}", (("true", image), *learnt)))
    return picture(name, tiles, shape, Scale.of(masks), caption)


def picture(name: str, tiles: list[Tile], shape: tuple[int, int], scale: Scale, caption: str) -> Figure:
    """Tiles for a page, and the same as a drawing for a file."""
    return Figure(
        tile_grid(tiles, shape, scale), caption, wide=True, name=name, drawing=tile_sheet(tiles, shape, scale)
    )


def unscrolled(chart: Markup) -> Markup:
    """A heat map without the scroll bar that it has on a page, for a file of its own."""
    return Markup(chart[chart.index("<svg") : chart.rindex("</svg>") + len("</svg>")])
