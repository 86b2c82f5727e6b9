"""Binary rows made by hidden causes: small pictures laid over each other, and market baskets.

s_nk ~ Bernoulli(usage_k)
x_nj ~ Bernoulli(1 - (1 - leak_j) prod_k (1 - p_kj)^s_nk)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from latens.datasets.switching import probabilities, whole
from latens.datasets.truth import CauseTruth
from latens.system.seeds import Seed, generator

__all__ = ["make_baskets", "make_noisy_or"]

PICTURES = {  # 8 x 8 pixels, rows from the top; each overlaps several others
    "top bar": "11111111 11111111 00000000 00000000 00000000 00000000 00000000 00000000",
    "left bar": "11000000 11000000 11000000 11000000 11000000 11000000 11000000 11000000",
    "diagonal": "11000000 11100000 01110000 00111000 00011100 00001110 00000111 00000011",
    "frame": "11111111 10000001 10000001 10000001 10000001 10000001 10000001 11111111",
    "centre box": "00000000 00000000 00111100 00111100 00111100 00111100 00000000 00000000",
    "cross": "00011000 00011000 00011000 11111111 11111111 00011000 00011000 00011000",
    "corner": "00000000 00000000 00000000 00000000 00001111 00001111 00001111 00001111",
    "steps": "00000011 00000011 00001100 00001100 00110000 00110000 11000000 11000000",
}

OCCASIONS = {  # what is bought together, and how often each occasion comes up for each kind of customer
    "breakfast": ("bread", "butter", "jam", "milk", "eggs", "coffee", "yoghurt", "orange juice"),
    "pasta dinner": ("spaghetti", "tomatoes", "garlic", "parmesan", "basil", "olive oil", "red wine"),
    "barbecue": ("sausages", "buns", "mustard", "charcoal", "beer", "salad", "tomatoes"),
    "baking": ("flour", "sugar", "butter", "eggs", "baking powder", "chocolate", "vanilla"),
    "baby": ("nappies", "wipes", "baby food", "milk", "bananas"),
    "cleaning": ("detergent", "sponges", "bin bags", "toilet paper", "soap"),
    "film night": ("crisps", "popcorn", "cola", "chocolate", "beer", "frozen pizza"),
    "salad lunch": ("salad", "cucumber", "tomatoes", "feta", "olive oil", "bread"),
    "pets": ("cat food", "cat litter", "bin bags"),
    "stock-up": ("rice", "beans", "toilet paper", "coffee", "sugar", "olive oil"),
}
CUSTOMERS = np.array(  # rows: family, student, pensioner; columns: occasions
    [
        [0.50, 0.15, 0.15, 0.20, 0.45, 0.35, 0.10, 0.10, 0.10, 0.30],
        [0.10, 0.35, 0.20, 0.05, 0.01, 0.05, 0.45, 0.10, 0.05, 0.05],
        [0.40, 0.05, 0.05, 0.25, 0.01, 0.15, 0.02, 0.30, 0.40, 0.15],
    ]
)


def make_noisy_or(
    n_samples: int = 1000,
    *,
    activity: ArrayLike = 0.25,
    failure: float = 0.1,
    leak: float = 0.001,
    random_state: Seed = None,
) -> tuple[np.ndarray, CauseTruth]:
    """Draw 8 x 8 binary images, each the union of some of eight overlapping pictures.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images, N.
    activity : float or array-like of shape (8,), default=0.25
        Probability with which a picture is on, independently in each image.
    failure : float, default=0.1
        Probability with which a pixel of a picture that is on stays dark.
    leak : float, default=0.001
        Probability with which a pixel is 1 without any cause.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, 64)
        One flattened image a row, 0.0 and 1.0.
    truth : CauseTruth
        The pictures as activation probabilities, which of them are on in which row, and the settings.

    Examples
    --------
    >>> from latens.datasets import make_noisy_or
    >>> X, truth = make_noisy_or(100, random_state=0)
    >>> X.shape, truth.components.shape, float(truth.components.max())
    ((100, 64), (8, 64), 0.9)
    """
    masks = np.array([[float(pixel) for pixel in rows.replace(" ", "")] for rows in PICTURES.values()])
    n, rng = whole("n_samples", n_samples, smallest=1), generator(random_state)
    usage = probabilities("activity", activity, len(masks))
    probability = 1 - probabilities("failure", failure, 1)[0]
    leaks = np.full(masks.shape[1], probabilities("leak", leak, 1)[0])
    codes = (rng.random((n, len(masks))) < usage).astype(np.float64)
    names = tuple(f"pixel {j // 8},{j % 8}" for j in range(64))
    return _lit(codes, CauseTruth(probability * masks, codes, usage, leaks, names, tuple(PICTURES), (8, 8)), rng)


def make_baskets(
    n_samples: int = 2000, *, strength: float = 0.6, leak: float = 0.01, random_state: Seed = None
) -> tuple[np.ndarray, CauseTruth]:
    """Draw market baskets: products bought on ten occasions, by three kinds of customers.

    The kinds differ in which occasions come up together, so causes are dependent, as they are in real baskets.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of baskets, N.
    strength : float, default=0.6
        Probability with which an occasion brings each of its products into the basket.
    leak : float, default=0.01
        Probability with which a product is bought for no occasion at all.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, D)
        1.0 where a basket holds a product; `truth.features` names the products.
    truth : CauseTruth

    Examples
    --------
    >>> from latens.datasets import make_baskets
    >>> X, truth = make_baskets(100, random_state=0)
    >>> X.shape, truth.names[1], truth.features[:3]
    ((100, 45), 'pasta dinner', ('bread', 'butter', 'jam'))
    """
    n, rng = whole("n_samples", n_samples, smallest=1), generator(random_state)
    products = tuple(dict.fromkeys(product for basket in OCCASIONS.values() for product in basket))
    probability = probabilities("strength", strength, 1)[0]
    components = np.array(
        [[probability * (product in basket) for product in products] for basket in OCCASIONS.values()]
    )
    leaks = np.full(len(products), probabilities("leak", leak, 1)[0])
    customer = rng.integers(len(CUSTOMERS), size=n)
    codes = (rng.random((n, len(OCCASIONS))) < CUSTOMERS[customer]).astype(np.float64)
    truth = CauseTruth(components, codes, CUSTOMERS.mean(axis=0), leaks, products, tuple(OCCASIONS), None)
    return _lit(codes, truth, rng)


def _lit(codes: np.ndarray, truth: CauseTruth, rng: np.random.Generator) -> tuple[np.ndarray, CauseTruth]:
    dark = (1 - truth.leak) * np.exp(codes @ np.log1p(-np.minimum(truth.components, 1 - 1e-16)))
    return (rng.random(dark.shape) >= dark).astype(np.float64), truth
