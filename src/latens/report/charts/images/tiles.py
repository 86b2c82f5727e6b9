"""Small images in a grid that wraps with the width of the page."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from latens.report.charts.images.pixels import Scale, data_uri
from latens.report.charts.numbers import number

__all__ = ["Tile", "tile_grid"]

MOST_PIXELS = 128  # along one side; larger images are thinned, which a tile does not show

GRID = Markup('<div class="tiles" style="--images: {}">{}</div>{}')
CARD = Markup('<div class="tile"><div class="images">{}</div><div class="name">{}</div></div>')
IMAGE = Markup('<figure><img class="pixels" alt="{}" src="{}"><figcaption>{}</figcaption></figure>')
ABSENT_TILE = Markup(
    '<figure><div class="absent" style="aspect-ratio: {} / {}"></div><figcaption>{}</figcaption></figure>'
)
LEGEND = Markup(
    '<div class="legend"><span>{}</span><img class="pixels" alt="colour scale" src="{}"><span>{}</span></div>'
)


@dataclass(frozen=True)
class Tile:
    """Images that belong together, as (label, pixels of shape (D,)); None for pixels leaves a gap."""

    name: str
    images: tuple[tuple[str, np.ndarray | None], ...]


def tile_grid(tiles: list[Tile], shape: tuple[int, int], scale: Scale) -> Markup:
    """All tiles on one colour scale, and that scale below them."""
    cards = Markup().join(
        CARD.format(
            Markup().join(_image(tile.name, label, pixels, shape, scale) for label, pixels in tile.images), tile.name
        )
        for tile in tiles
    )
    across = max((len(tile.images) for tile in tiles), default=1)
    return GRID.format(across, cards, legend(scale))


def legend(scale: Scale) -> Markup:
    """The colour scale as a strip between its ends."""
    strip = scale.paint(np.linspace(scale.smallest, scale.largest, 64)[None, :])
    return LEGEND.format(number(scale.smallest), data_uri(strip), number(scale.largest))


def _image(name: str, label: str, pixels: np.ndarray | None, shape: tuple[int, int], scale: Scale) -> Markup:
    if pixels is None:
        return ABSENT_TILE.format(shape[1], shape[0], label)
    step = math.ceil(max(shape) / MOST_PIXELS)
    image = pixels.reshape(shape)[::step, ::step]
    return IMAGE.format(f"{label} {name}".strip(), data_uri(scale.paint(image)), label)
