"""Small images as one SVG drawing: the grid of a page for those who take the picture elsewhere."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from latens.report.charts.images.pixels import Scale, data_uri
from latens.report.charts.images.tiles import Tile
from latens.report.charts.numbers import number
from latens.report.charts.svg import IMAGE, PICTURE, TEXT

__all__ = ["tile_sheet"]

SIDE = 84.0  # of an image, along its longer side, in user units
IMAGE_GAP, TILE_GAP = 7.0, 26.0  # between the images of a tile, and between tiles
LABEL, NAME = 16.0, 18.0  # heights of the line under an image and of the line under a tile
LARGEST_WIDTH = 900.0
LEAST_PIXELS = 96  # pixels: small images are enlarged, since some viewers would blur them

EDGE = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')


def tile_sheet(tiles: list[Tile], shape: tuple[int, int], scale: Scale) -> Markup:
    """All tiles in rows, on one colour scale, with that scale below them."""
    images = max((len(tile.images) for tile in tiles), default=1)
    width, height = (SIDE * side / max(shape) for side in (shape[1], shape[0]))
    pitch = images * (width + IMAGE_GAP) - IMAGE_GAP + TILE_GAP
    across = max(1, min(len(tiles), int((LARGEST_WIDTH + TILE_GAP) // pitch)))
    labelled = any(label for tile in tiles for label, _ in tile.images)
    rise = height + LABEL * labelled + NAME + 14
    parts = [
        _tile(tile, (i % across) * pitch, (i // across) * rise, (width, height), shape, scale)
        for i, tile in enumerate(tiles)
    ]
    bottom = math.ceil(len(tiles) / across) * rise
    parts.append(_legend(scale, bottom))
    return PICTURE.format(max(across * pitch - TILE_GAP, 240), bottom + 16, "images", Markup().join(parts))


def _tile(tile: Tile, x: float, y: float, size: tuple[float, float], shape: tuple[int, int], scale: Scale) -> Markup:
    width, height = size
    parts = []
    for i, (label, pixels) in enumerate(tile.images):
        left = x + i * (width + IMAGE_GAP)
        if pixels is not None:
            parts.append(IMAGE.format(left, y, width, height, _enlarged(pixels.reshape(shape), scale)))
        parts.append(EDGE.format("absent" if pixels is None else "edge", left, y, width, height))
        parts.append(TEXT.format("tick", left, y + height + 13, "start", label))
    labelled = any(label for label, _ in tile.images)
    parts.append(TEXT.format("value", x, y + height + LABEL * labelled + 14, "start", tile.name))
    return Markup().join(parts)


def _legend(scale: Scale, y: float) -> Markup:
    low = number(scale.smallest)
    left = 7.0 * len(low) + 6
    strip = data_uri(scale.paint(np.linspace(scale.smallest, scale.largest, LEAST_PIXELS)[None, :]))
    return Markup().join(
        [
            TEXT.format("tick", 0, y + 10, "start", low),
            IMAGE.format(left, y, 120, 10, strip),
            EDGE.format("edge", left, y, 120, 10),
            TEXT.format("tick", left + 126, y + 10, "start", number(scale.largest)),
        ]
    )


def _enlarged(image: np.ndarray, scale: Scale) -> str:
    times = math.ceil(LEAST_PIXELS / max(image.shape))
    return data_uri(scale.paint(image).repeat(times, axis=0).repeat(times, axis=1))
