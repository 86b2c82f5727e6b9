"""Numbers as pixels: two colour scales and a PNG encoder, so that a page needs no drawing library.

Zero is white in both scales. A page in its dark scheme inverts lightness and keeps hue, so zero is always the paper.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass

import numpy as np

from latens.plots.fitted import is_signed

__all__ = ["Scale", "data_uri", "encode_png"]

STOPS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
DIVERGING_COLOURS = np.array([(33, 102, 172), (133, 182, 215), (255, 255, 255), (240, 150, 115), (178, 24, 43)])
GREY = np.array([(255, 255, 255), (255, 255, 255), (255, 255, 255), (140, 140, 140), (20, 20, 20)])
COLOUR_OF_MISSING = (226, 214, 178)


@dataclass(frozen=True)
class Scale:
    """How values become colours: grey from 0 to `largest`, or blue, white, red from -largest to largest."""

    largest: float
    signed: bool

    @classmethod
    def of(cls, *arrays: np.ndarray) -> Scale:
        """One scale for all arrays, so that their colours can be compared."""
        values = np.concatenate([np.ravel(array) for array in arrays]) if arrays else np.zeros(1)
        finite = values[np.isfinite(values)]
        return cls(float(np.max(np.abs(finite), initial=0.0)) or 1.0, is_signed(finite))

    @property
    def smallest(self) -> float:
        return -self.largest if self.signed else 0.0

    def paint(self, values: np.ndarray) -> np.ndarray:
        """Colours of shape (h, w, 3) for values of shape (h, w); missing entries get a tint of their own."""
        missing = ~np.isfinite(values)
        place = np.clip(np.where(missing, 0.0, values) / self.largest, -1.0, 1.0)
        stops = DIVERGING_COLOURS if self.signed else GREY
        colours = np.stack([np.interp(place, STOPS, stops[:, channel]) for channel in range(3)], axis=-1)
        colours[missing] = COLOUR_OF_MISSING
        return np.round(colours).astype(np.uint8)


def encode_png(colours: np.ndarray) -> bytes:
    r"""An 8-bit RGB picture of shape (h, w, 3) as a PNG file.

    Examples
    --------
    >>> encode_png(np.zeros((2, 3, 3), dtype=np.uint8))[:4]
    b'\x89PNG'
    """
    height, width, _ = colours.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # depth 8, colour type 2: RGB; no interlacing
    unfiltered = np.zeros((height, 1), dtype=np.uint8)  # each line begins with its filter's number; 0 is none
    lines = np.hstack([unfiltered, colours.reshape(height, 3 * width)]).tobytes()
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    )


def data_uri(colours: np.ndarray) -> str:
    """A picture as an address that holds its own bytes."""
    return "data:image/png;base64," + b64encode(encode_png(colours)).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
