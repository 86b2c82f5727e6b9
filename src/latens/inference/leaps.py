"""Iterations from where the last ones lead to, for models whose ascent takes long ways by small steps.

An iteration leads from x to g(x), each in free coordinates. From the last pairs of both it is seen how steps g(x) - x
change along the directions that were gone: where they shrink by a share r from one to the next, 1/r of them lead to
their end; where they grow, the ascent is leaving a saddle, and goes on. A leap takes those steps at once, and the bound
judges it.

References: Anderson (1965) and Henderson & Varadhan (2019) on the first; Dauphin et al. (2014) on saddles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.core import Iteration, Leaping, State

__all__ = ["leap"]

MOST_PAIRS = 7
MOST_STEPS = 10.0  # at once, along a direction in which they shrink, and of all together in lengths of the last
MOST_GROWING_STEPS = 8.0  # the same where they grow
# of the largest: size of a direction, of moves of unit length, below which they do not tell it
LEAST_RELATIVE_SIZE = 0.1


def leap(
    model: Leaping,
    state: State,
    trace: Sequence[Iteration],
    iterate: Callable[[State], tuple[State, Iteration]],
    tol: float,
) -> tuple[State, Iteration]:
    """An iteration from a leap where that gains enough, else a plain one; its end knows the way there.

    Enough is `tol` per row, or what the last iteration gained if that was less. Where iterations gain no more than the
    model trusts the bound to tell, only scales leap.
    """
    gain = trace[-1].elbo - trace[-2].elbo if len(trace) > 1 else 0.0
    if len(state.path) > 1:
        free = None if gain > model.trusted(state.q) * max(state.stats.n, 1.0) else model.scales(state.q)
        enough = min(max(gain, 0.0), tol * max(state.stats.n, 1.0))
        further = _leapt_from(model, state, free, trace[-1].elbo + enough, iterate)
        if further is not None:
            return further
        state = replace(state, path=())
    found, event = iterate(state)
    return _remembering(model, state.path, state.q, found), event


def _leapt_from(
    model: Leaping,
    state: State,
    free: NDArray[np.bool_] | None,
    height: float,
    iterate: Callable[[State], tuple[State, Iteration]],
) -> tuple[State, Iteration] | None:
    """An iteration from a leap that ends above a height; None where it does not."""
    q = model.at(state.q, _leap(model, state, free))
    found, event = iterate(replace(state, q=q))
    return (_remembering(model, state.path, q, found), event) if event.elbo > height else None


def _remembering(model: Leaping, path: tuple[Floats, ...], start: object, found: State) -> State:
    pair = np.stack([model.coordinates(start), model.coordinates(found.q)])
    return replace(found, path=(*path, pair)[-MOST_PAIRS:])


def _leap(model: Leaping, state: State, free: NDArray[np.bool_] | None) -> Floats:
    """(P,), coordinates that steps like the last ones lead to; others than the `free` ones stay."""
    pairs = np.stack(state.path)
    steps, n = pairs[:, 1] - pairs[:, 0], len(pairs) - 1
    moves = np.concatenate([np.diff(pairs[:, 0], axis=0), np.diff(steps, axis=0), steps[-1:]])
    if free is not None:
        moves[:, ~free] = 0.0
    products = model.products(state.q, state.stats, moves)  # of moves, of changes of steps, and of the last step
    size = np.sqrt(np.diagonal(products)[:n]) + np.finfo(float).tiny
    squares, turned = np.linalg.eigh(products[:n, :n] / size / size[:, None])
    clear = squares > LEAST_RELATIVE_SIZE**2 * squares[-1]
    shares = (turned[:, clear] / np.sqrt(squares[clear])).T / size  # of the moves, in directions of unit length
    change = shares @ products[n:-1, :n] @ shares.T
    rate, axes = np.linalg.eigh(0.5 * (change + change.T))
    most = np.where(rate < 0, MOST_STEPS, MOST_GROWING_STEPS)
    further = (1 / np.maximum(np.abs(rate), 1 / most) - 1) * (axes.T @ (shares @ products[:n, -1]))
    whole = float(np.linalg.norm(further)) / max(float(np.sqrt(products[-1, -1])), np.finfo(float).tiny)
    return np.asarray(pairs[-1, 1] + min(1.0, MOST_STEPS / max(whole, 1.0)) * (axes @ further) @ shares @ moves[:n])
