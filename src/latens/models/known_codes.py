"""What is known of some rows: codes that a local step must not change.

A batch carries them as `aux["known"]`, (n, K): 0, 1, or NaN where nothing is known; of a cluster, 1 for a row that is
in it and 0 for one that is not. They enter as evidence that outweighs all else. Sums, and so the bound, are then those
of rows whose codes were observed as well: log p(x, known codes) from below.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.states import all_states
from latens.array.transfer import cast, like

__all__ = ["KNOWN", "for_components", "for_states", "for_switches"]

KNOWN = "known"
RULED_OUT = -1e30  # log weight of what is known to be otherwise: finite, so that 0 times it is 0


def for_components(joint: Array, known: Array) -> Array:
    """Log weights of clusters (n, K), those a row is known not to be in ruled out."""
    xp = array_namespace(joint)
    return xp.where(cast(known, joint) == 0, xp.full_like(joint, RULED_OUT), joint)


def for_states(score: Array, known: Array, k: int) -> Array:
    """Log weights of all 2^K states (n, 2^K), those that contradict what is known ruled out."""
    xp, states = array_namespace(score), all_states(k)
    off, on = (cast(xp.astype(known == value, score.dtype), score) for value in (0, 1))
    contradictions = off @ like(states.T, score) + on @ like(1 - states.T, score)
    return xp.where(contradictions > 0, xp.full_like(score, RULED_OUT), score)


def for_switches(drive: Array, known: Array, gram: Array) -> Array:
    """What speaks for each code (n, K), of known ones more than all the rest together could speak against.

    Enough for chances of 0 and 1 in the precision of the rows, and no more: larger numbers round the others.
    """
    xp = array_namespace(drive)
    none = -1.1 * float(np.log(xp.finfo(drive.dtype).tiny))  # nats beyond which a chance is 0
    known = cast(known, drive)
    strongest = xp.max(xp.abs(drive), axis=1, keepdims=True) + xp.max(xp.sum(xp.abs(gram), axis=2), axis=1)[:, None]
    settled = xp.where(known == 1, strongest + none, -(strongest + none))
    return xp.where(xp.isnan(known), drive, settled)
