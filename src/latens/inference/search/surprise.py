"""Which rows a posterior explains badly: where a component may hide that is rare in a small sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Model, Rows
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["badly_explained"]


def badly_explained(
    model: Model, q: Any, batches: Sequence[Rows], size: int, sweep: Sweep = serial_sweep
) -> tuple[Index, Floats]:
    """Numbers of about `size` rows and how many each stands for: half have the lowest bounds, others the rest.

    One pass over all rows, by what each adds to the bound: its density may be a sum over 2^K states. The same rows are
    chosen in whatever order they come.
    """

    def score(batch: Rows, _: Any) -> tuple[Any, int]:
        return host(model.row_bounds(q, batch, model.local_step(q, batch))), 0

    scores = np.concatenate(sweep(score, batches, (None,) * len(batches))[0])
    order = np.argsort(scores, kind="stable")
    worst, rest = order[: size // 2], order[size // 2 :]
    spread = rest[:: max(1, -(-len(rest) // max(size - len(worst), 1)))]
    weight = np.repeat([1.0, len(rest) / max(len(spread), 1)], [len(worst), len(spread)])
    return np.concatenate([worst, spread]), weight
