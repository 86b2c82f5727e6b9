"""Image separation: pictures laid over each other, each of them either projected or not.

The pictures are drawn from formulas on the square from -1 to 1 (x to the right, y downwards), so that they
exist at every size. They differ in texture and outline, and all overlap, since a separation that
needs no explaining away would test nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latens.datasets.switching import switched, whole
from latens.datasets.truth import ImageTruth
from latens.system.seeds import Seed, generator

__all__ = ["make_images"]

SMALLEST_SIZE = 16  # below it the thinner pictures blur into each other
FINENESS = 4  # sub-pixels along each side of a pixel, averaged for smooth edges

Plane = NDArray[np.float64]
Picture = Callable[[Plane, Plane], NDArray[Any]]  # x, y -> brightness from 0 to 1, or inside the outline or not


def _ball(x: Plane, y: Plane) -> NDArray[Any]:
    """A sphere lit from the upper left."""
    radius = np.hypot(x + 0.2, y + 0.2)
    shade = 1 - 0.65 * np.hypot(x + 0.42, y + 0.42)
    return np.where(radius < 0.62, np.clip(shade, 0.2, 1.0), 0.0)


def _ring(x: Plane, y: Plane) -> NDArray[Any]:
    radius = np.hypot(x, y)
    return (radius > 0.66) & (radius < 0.92)


def _cross(x: Plane, y: Plane) -> NDArray[Any]:
    return (np.abs(x) < 0.125) | (np.abs(y) < 0.125)


def _stripes(x: Plane, y: Plane) -> NDArray[Any]:
    return 0.5 + 0.5 * np.sin(2 * np.pi * (x + y) * 1.1)


def _checker(x: Plane, y: Plane) -> NDArray[Any]:
    cells: Plane = np.floor(2 * (x + 1)) + np.floor(2 * (y + 1))
    return cells % 2 < 1


def _ramp(x: Plane, y: Plane) -> NDArray[Any]:
    """A bar that brightens from left to right."""
    return np.where(np.abs(y - 0.55) < 0.27, (x + 1) / 2, 0.0)


def _triangle(x: Plane, y: Plane) -> NDArray[Any]:
    return (y < 0.85) & (np.abs(x) < 0.52 * (y + 0.85))


def _letter(x: Plane, y: Plane) -> NDArray[Any]:
    """A capital R: stem, bowl and leg."""
    stem = (x > -0.65) & (x < -0.33) & (np.abs(y) < 0.85)
    depth = np.abs(y + 0.38)
    reach = np.hypot(np.maximum(x - 0.1, 0.0), y + 0.38)
    bowl = (x > -0.5) & (depth < 0.47) & (reach < 0.47) & ~((x < 0.1) & (depth < 0.2)) & ~(reach < 0.2)
    leg = (y > 0.0) & (y < 0.85) & (np.abs(x - 0.02 - 0.62 * y) < 0.19)
    return stem | bowl | leg


def _heart(x: Plane, y: Plane) -> NDArray[Any]:
    u, v = 1.25 * x, 0.12 - 1.2 * y
    return (u**2 + v**2 - 0.75) ** 3 < 1.2 * u**2 * v**3


def _spiral(x: Plane, y: Plane) -> NDArray[Any]:
    turn = np.arctan2(y, x) - 2 * np.pi * 1.5 * np.hypot(x, y)
    return np.where(np.hypot(x, y) < 0.95, np.sin(turn) > 0, False)


def _star(x: Plane, y: Plane) -> NDArray[Any]:
    """Five points: the distance to the centre swings between two radii with the angle."""
    angle = (np.arctan2(x, -y) * 5 / (2 * np.pi)) % 1.0
    return np.hypot(x, y) < 0.36 + 0.58 * np.abs(2 * angle - 1) ** 1.5


def _crescent(x: Plane, y: Plane) -> NDArray[Any]:
    return (np.hypot(x, y) < 0.9) & (np.hypot(x - 0.4, y + 0.15) > 0.72)


PICTURES: dict[str, Picture] = {
    "ball": _ball,
    "ring": _ring,
    "cross": _cross,
    "stripes": _stripes,
    "checker": _checker,
    "ramp": _ramp,
    "triangle": _triangle,
    "letter": _letter,
    "star": _star,
    "heart": _heart,
    "spiral": _spiral,
    "crescent": _crescent,
}


def draw(picture: Picture, size: int) -> Plane:
    """A picture of size x size pixels, each the mean of its sub-pixels."""
    steps = (np.arange(size * FINENESS) + 0.5) * 2 / (size * FINENESS) - 1
    fine = picture(steps[None, :], steps[:, None]).astype(np.float64)
    return np.asarray(fine.reshape(size, FINENESS, size, FINENESS).mean(axis=(1, 3)))


def make_images(
    n_samples: int = 600,
    *,
    size: int = 16,
    n_sources: int = 8,
    activity: ArrayLike = 0.3,
    noise: float = 0.2,
    random_state: Seed = None,
) -> tuple[np.ndarray, ImageTruth]:
    """Draw mixed images: source pictures laid over each other, each switched on or off, plus noise.

    Parameters
    ----------
    n_samples : int, default=600
        Number of mixed images, N.
    size : int, default=16
        Pixels along each side of a picture, at least 16; D is its square.
    n_sources : int, default=8
        Number of source pictures, K, at most 12: ball, ring, cross, stripes, checkerboard, ramp, triangle, letter,
        and then star, heart, spiral and crescent.
    activity : float or array-like of shape (K,), default=0.3
        Probability with which a picture is switched on, independently in each mixed image.
    noise : float, default=0.2
        Standard deviation of the Gaussian noise of every pixel; the pictures reach from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, D)
        One flattened mixed image a row.
    truth : ImageTruth
        The pictures, which of them are on in which row, and the settings.

    Examples
    --------
    >>> from latens.datasets import make_images
    >>> X, truth = make_images(100, random_state=0)
    >>> X.shape, truth.components.shape, truth.shape
    ((100, 256), (8, 256), (16, 16))
    """
    size = whole("size", size, smallest=SMALLEST_SIZE)
    k = whole("n_sources", n_sources, smallest=1, largest=len(PICTURES))
    components = np.stack([draw(picture, size).ravel() for picture in list(PICTURES.values())[:k]])
    return switched(components, n_samples, activity, noise, (size, size), generator(random_state))
