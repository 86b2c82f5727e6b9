"""Local posteriors of rows under a fixed global posterior: what `transform` asks for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.transfer import like
from latens.core import B, Coded, L, Q, S, Steps
from latens.errors import NotSettled, warn

__all__ = ["MovedCodes", "local_fixed_point", "newton_factors"]

SLOWEST_RATE = 0.9999  # what steps are taken to shrink by at the most, where they do not shrink yet
MOST_STEPS_OF_LEAP = 5  # steps, besides one, that a leap is made from
STEP, STEPS_AT_REST = 1e-4, 8  # of a code, in differences; and local steps in which its spread follows it
MOST_NEWTON_STEPS = 30
ROUNDING = 32  # times the machine's precision: steps that small are none
AMPLIFIED_ROUNDING = 1e4  # the same of steps that do not get shorter, where little noise makes rounding larger


@runtime_checkable
class MovedCodes(Protocol):
    """A local posterior that may be carried on to other codes, from which local steps are taken again."""

    def moved_to(self, mean: Array) -> Self: ...  # (n, K)

    def mirrored(self, other: Self) -> Self: ...  # as far the other way as to another, nearby


def local_fixed_point(
    model: Steps[B, Q, L, S],
    q: Q,
    batch: B,
    warm: L | None = None,
    *,
    tol: float = 4e-7,
    max_iter: int = 1000,
    say: bool = True,
    factors: Array | None = None,
) -> L:
    """Repeat the local step, from its neutral start if no other is given, until each code is within `tol` of its end.

    How far that is, is given by how fast steps shrink. Every few steps a row leaps to where they seem to lead, if its
    posterior can, and comes back if steps from there are longer. With the `newton_factors` of a posterior nearby, steps
    from a warm start are Newton's as long as these get shorter.
    """
    if factors is not None and warm is not None:
        warm, ended = _newton(model, q, batch, warm, factors, tol)
        if ended:
            return warm
    local = model.local_step(q, batch, warm)
    if model.exact_local(q):
        return local
    if not isinstance(model, Coded):
        raise TypeError(f"{type(model).__name__} repeats local steps, but has no codes to say when they have settled.")
    mean, _ = model.codes(batch, local)
    if not mean.shape[1]:  # no component, nothing that could move
        return local
    xp, trail, rate, last, origin = array_namespace(mean), [mean], 0.0, None, None
    left = xp.full_like(mean[:, 0], xp.inf)
    rested = left < 0
    for used in range(1, max_iter + 1):
        before, local = mean, model.local_step(q, batch, local)
        mean, _ = model.codes(batch, local)
        size = xp.max(xp.abs(mean - before), axis=1)
        if origin is not None and isinstance(local, MovedCodes):  # some have leapt
            mean = xp.where((size <= last)[:, None], mean, origin)
            local, trail, last, origin = local.moved_to(mean), [mean], None, None
            continue
        left, rate = _left(mean, size, last, rate)
        if last is not None:
            rested = rested | ((size >= last) & (size <= _rounding(mean, AMPLIFIED_ROUNDING)))
        left = xp.where(rested, xp.zeros_like(left), left)
        if not bool(xp.any(left >= tol)):
            return local
        trail, last = [*trail, mean], size
        if len(trail) > min(mean.shape[1], MOST_STEPS_OF_LEAP) + 2:
            if isinstance(local, MovedCodes) and used < max_iter:
                origin, mean = mean, xp.where((left < tol)[:, None], mean, _leap(trail))
                local = local.moved_to(mean)
            trail = [mean]
    far = int(xp.sum(xp.astype(left >= tol, mean.dtype)))
    if far and tol > 0 and say:
        warn(
            NotSettled(
                f"the codes of {far} of {mean.shape[0]} rows have not converged after {max_iter} local steps: they may "
                f"be further than {tol:g} from their limits.",
                "Large counts are slow: try their square root or np.log1p.",
            )
        )
    return local


def newton_factors(model: Steps[B, Q, L, S], q: Q, batch: B, local: L) -> Array | None:
    """(n, K, K), what local steps near this end are multiplied by to lead to it; None where codes cannot be moved.

    (I - M)^-1 where M is how a step's codes change with those that it starts from, their spread following.
    """
    if model.exact_local(q) or not isinstance(model, Coded) or not isinstance(local, MovedCodes):
        return None
    mean, _ = model.codes(batch, local)
    xp, k = array_namespace(mean), mean.shape[1]
    changes = []
    for axis in like(np.eye(k), mean):
        ends = []
        for step in (STEP, -STEP):
            held: Any = local
            for _ in range(STEPS_AT_REST):
                held = model.local_step(q, batch, held.moved_to(mean + step * axis))
            ends.append(model.codes(batch, held)[0])
        changes.append((ends[0] - ends[1]) / (2 * STEP))
    return xp.linalg.inv(like(np.eye(k), mean) - xp.stack(changes, axis=2)) if k else None


def _newton(model: Any, q: Any, batch: Any, warm: Any, factors: Array, tol: float) -> tuple[Any, bool]:
    """A local posterior nearer to its end, and whether it is there."""
    mean, last, local = model.codes(batch, warm)[0], None, warm
    xp = array_namespace(mean)
    for _ in range(MOST_NEWTON_STEPS):
        local = model.local_step(q, batch, local.moved_to(mean))
        move = (factors @ (model.codes(batch, local)[0] - mean)[:, :, None])[:, :, 0]
        size = float(xp.max(xp.abs(move))) if move.shape[0] else 0.0
        if size < tol:
            return local, True
        if last is not None and not size < last:  # NaN, too
            return warm, False
        mean, last, warm = mean + move, size, local
    return warm, False


def _left(mean: Array, size: Array, last: Array | None, slowest: Any) -> tuple[Array, Any]:
    """(n,) each: how far rows still have to go, steps having shrunk from `last` to `size`, and their slowest rate."""
    xp = array_namespace(mean)
    still = size <= _rounding(mean, ROUNDING)
    if last is None:
        return xp.where(still, xp.zeros_like(size), xp.full_like(size, xp.inf)), slowest
    ratio = size / xp.where(last > 0, last, xp.ones_like(last))
    shrunk = xp.where(ratio < SLOWEST_RATE, ratio, xp.zeros_like(ratio))
    slowest = xp.maximum(shrunk, slowest + xp.zeros_like(ratio))
    now = xp.where(ratio < SLOWEST_RATE, slowest, xp.full_like(ratio, SLOWEST_RATE))
    return xp.where(still, xp.zeros_like(size), size * now / (1 - now)), slowest


def _rounding(mean: Array, times: float) -> Array:
    """(n,), so many times the precision of each row's codes."""
    xp = array_namespace(mean)
    return times * float(xp.finfo(mean.dtype).eps) * (1 + xp.max(xp.abs(mean), axis=1))


def _leap(trail: list[Array]) -> Array:
    """(n, K), where the steps between codes lead, row by row: the mixture of steps that is shortest, of their ends.

    Reduced rank extrapolation: exact where steps shrink linearly, in no more directions than there are steps but one.
    """
    xp = array_namespace(trail[0])
    steps = xp.stack([after - before for before, after in pairwise(trail)], axis=2)
    size = xp.max(xp.max(xp.abs(steps), axis=2), axis=1)[:, None, None]
    steps = steps / xp.where(size > 0, size, xp.ones_like(size))
    m, ridge = steps.shape[2], ROUNDING * float(xp.finfo(steps.dtype).eps)
    products = xp.matrix_transpose(steps) @ steps + ridge * like(np.eye(m), steps)
    shares = xp.linalg.solve(products, xp.ones_like(products[:, :, :1]))
    found = (xp.stack(trail[1:], axis=2) @ (shares / xp.sum(shares, axis=1, keepdims=True)))[:, :, 0]
    return xp.where(xp.isfinite(found), found, trail[-1])
