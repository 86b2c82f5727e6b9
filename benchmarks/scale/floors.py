"""What an iteration on a device cannot avoid, written down before anything is measured.

Matrix products at the speed of a large product in the dtype of the rows, and each array of the rows read or written
once at the speed of a copy. Counts are of one row; sweeps of a local step are counted as the products they amount to.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FLOORS", "Ceilings", "Floor", "Shape"]


@dataclass(frozen=True)
class Shape:
    n: int  # rows
    d: int  # columns
    k: int  # components


@dataclass(frozen=True)
class Ceilings:
    """Of the device, measured."""

    multiplications: float  # with their additions, a second
    numbers: float  # read or written, a second


@dataclass(frozen=True)
class Floor:
    multiplications: float  # with their additions, for each row
    numbers: float  # read or written, for each row
    why: str

    def seconds(self, n: int, ceilings: Ceilings) -> float:
        return n * (self.multiplications / ceilings.multiplications + self.numbers / ceilings.numbers)


def binary(d: int, k: int) -> Floor:
    """Mean field: evidence and sums are products with the rows; a row rests after a sweep that moves nothing."""
    why = "X W', Z'X, Z'Z, 2 sweeps of K^2; X twice, evidence written and read, codes read, written, read"
    return Floor(2 * d * k + k * k + 2 * k * k, 2 * d + 5 * k, why)


def mixture_full(d: int, k: int) -> Floor:
    features = d + d * (d + 1) // 2
    why = "features (x, x x') times naturals, memberships'features; features written, read twice; X; (n, K) x 4"
    return Floor(2 * features * k, d + 3 * features + 4 * k, why)


def mixture_diag(d: int, k: int) -> Floor:
    why = "(x, x^2) times natural parameters, memberships'(x, x^2); X twice, squares written, read twice; (n, K) x 4"
    return Floor(4 * d * k, 5 * d + 4 * k, why)


def mixture_bernoulli(d: int, k: int) -> Floor:
    return Floor(2 * d * k, 2 * d + 4 * k, "X times logits, memberships'X; X twice; (n, K) x 4")


def ica(d: int, k: int) -> Floor:
    """One sweep: a K x K inverse of each row is about K^3 multiplications."""
    why = "X W', Z'X, U'(z z'), one inverse K^3; X twice, (n, K, K) written, read twice; (n, K) x 8"
    return Floor(2 * d * k + k**3 + k**3, 2 * d + 3 * k * k + 8 * k, why)


def views(d: int, k: int) -> Floor:
    return Floor(2 * d * k + k * k, 2 * d + 4 * k, "X W', Z'X, Z'Z; X twice; (n, K) x 4")


def views_with_holes(d: int, k: int) -> Floor:
    """Each row has a precision of its own, and each column second moments of its own."""
    pairs = k * (k + 1) // 2
    why = "X W', Z'X, mask times pairs, pairs'mask, one inverse K^3; X and mask twice; pairs x 4; (n, K) x 4"
    return Floor(2 * d * k + 2 * d * pairs + k**3, 4 * d + 4 * pairs + 4 * k, why)


def noisy_or(d: int, k: int, n_states: int = 20, n_parents: int = 3) -> Floor:
    """Kept states, and all single flips of the best few: a flip changes each level by one addition."""
    why = "levels of 20 states (K D each), of 3 K flips (D each), shares of 20 states; X twice; words and chances x 4"
    return Floor(2 * n_states * k * d + n_parents * k * d, 2 * d + 4 * n_states, why)


FLOORS = {
    "binary": binary,
    "mixture full": mixture_full,
    "mixture diag": mixture_diag,
    "mixture Bernoulli": mixture_bernoulli,
    "noisy ICA": ica,
    "views": views,
    "views, 10 % missing": views_with_holes,
    "noisy-OR": noisy_or,
}
