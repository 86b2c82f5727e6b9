"""The one place where what a caller gives as `random_state` becomes a source of random numbers."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

__all__ = ["Seed", "generator", "seed_beside"]

Seed = int | np.random.RandomState | np.random.Generator | None


def generator(random_state: Seed) -> np.random.Generator:
    """Turn any accepted `random_state` into a NumPy generator.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        An integer gives the same stream every time. A Generator is used as it is and a RandomState
        gives up one draw, so both move on from call to call. None asks the operating system.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> int(generator(0).integers(100)) == int(generator(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    if random_state is None:
        return np.random.default_rng()
    if not _is_seed(random_state):
        raise ValueError(
            f"random_state={random_state!r} is no seed; give a whole number of at least 0, None, "
            "a numpy.random.Generator or a numpy.random.RandomState."
        )
    return np.random.default_rng(int(random_state))


def seed_beside(rng: np.random.Generator) -> int:
    """A seed that does not depend on what was drawn from the generator so far, and leaves what it will draw alone."""
    try:
        return int(rng.spawn(1)[0].integers(2**62))
    except TypeError:  # a generator that was made without a seed sequence has no children
        return int(rng.integers(2**62))


def _is_seed(value: object) -> bool:
    """Whole numbers from 0 on; 10.0 counts, since other languages send integers that way."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, Integral):
        return int(value) >= 0
    return isinstance(value, Real) and float(value).is_integer() and float(value) >= 0
