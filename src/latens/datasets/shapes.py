"""Small images of overlapping shapes: the classic test of finding causes that are either on or off."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from latens.datasets.switching import switched
from latens.datasets.truth import ImageTruth
from latens.system.seeds import Seed, generator

__all__ = ["make_shapes"]

SHAPES = {  # 4 x 4 pixels, rows from the top
    "second column": "0100 0100 0100 0100",
    "fourth column": "0001 0001 0001 0001",
    "top row": "1111 0000 0000 0000",
    "cross": "0010 0111 0010 0000",
    "centre box": "0000 0110 0110 0000",
    "corner box": "0000 0000 1100 1100",
    "frame": "1111 1001 1001 1111",
    "diagonal": "1000 0100 0010 0001",
}
MASKS = np.array([[float(pixel) for pixel in rows.replace(" ", "")] for rows in SHAPES.values()])  # (8, 16)


def make_shapes(
    n_samples: int = 400,
    *,
    activity: ArrayLike = 0.3,
    noise: float = 0.1,
    signed: bool = False,
    random_state: Seed = None,
) -> tuple[np.ndarray, ImageTruth]:
    """Draw 4 x 4 images, each a sum of some of eight overlapping shapes, plus noise.

    The shapes are two vertical lines, the top row, a cross, the box in the centre, the box in the lower
    left corner, the frame and the main diagonal. Each is multiplied by a strength drawn once from U(0.5, 1).

    Parameters
    ----------
    n_samples : int, default=400
        Number of images, N.
    activity : float or array-like of shape (8,), default=0.3
        Probability with which a shape is switched on, independently in each image.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise of every pixel.
    signed : bool, default=False
        Give every pixel of every shape a random sign, so that methods for nonnegative data do not apply.
        The same seed switches on the same shapes either way.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, 16)
        One flattened image a row.
    truth : ImageTruth
        The shapes, which of them are on in which row, and the settings.

    Examples
    --------
    >>> from latens.datasets import make_shapes
    >>> X, truth = make_shapes(100, random_state=0)
    >>> X.shape, truth.components.shape, truth.codes.shape
    ((100, 16), (8, 16), (100, 8))
    >>> truth.components[6].reshape(truth.shape).round(1)
    array([[0.8, 0.8, 0.8, 0.8],
           [0.8, 0. , 0. , 0.8],
           [0.8, 0. , 0. , 0.8],
           [0.8, 0.8, 0.8, 0.8]])
    """
    rng = generator(random_state)
    strength = rng.uniform(0.5, 1.0, size=(len(MASKS), 1))
    signs = rng.choice([-1.0, 1.0], size=MASKS.shape)  # drawn even when unused: the draws that follow stay the same
    components = strength * MASKS * (np.where(MASKS > 0, signs, 1.0) if signed else 1.0)
    return switched(components, n_samples, activity, noise, (4, 4), rng)
