"""One update of a factor posterior over many weights, against the time that its reads and writes must take.

The floor is that of two passes: the Gram matrix has to be known before the rows can be turned, so that weights, mean,
variance and K rows are read twice and all but the weights are written once, (8 + 3 K) words for each weight; a word
takes what it takes a copy of ten times as many.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

from benchmarks.clocks import fastest
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

N_TENSORS = 25


def run(setting: Setting) -> list[Table]:
    """On a GPU by its own events, 25 million weights; else CPU time, without a goal."""
    if find_spec("torch") is None:
        return [Table("Update of a factor posterior", [], ["needs torch: pip install 'latens[torch]'"])]
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = 25_000_000 if device == "cuda" else 1_000_000 if setting.name == "full" else 20_000
    clock = _events if device == "cuda" else _cpu
    rate = _copied(10 * size, device, clock)
    rows = [row for k in (10, 20) for row in _rows(size, k, device, clock, rate)]
    notes = [f"a copy moves {4 * rate / 1e6:,.0f} GB/s"]
    return [Table(f"Update of a factor posterior, {size} weights in {N_TENSORS} tensors, {device}", rows, notes)]


def _copied(size: int, device: str, clock: Callable[[Callable[[], Any]], float]) -> float:
    """Words read and written by a copy in a millisecond."""
    import torch

    source = torch.randn(size, device=device)
    target = torch.empty_like(source)
    return 2 * size / clock(lambda: target.copy_(source))


def _rows(size: int, k: int, device: str, clock: Callable[[Callable[[], Any]], float], rate: float) -> list[Row]:
    import torch

    from latens.nets import FactorPosterior
    from latens.nets.algebra import low_rank_update, low_rank_update_triton

    torch.manual_seed(50_000 + k)
    module = torch.nn.Module()
    for i in range(N_TENSORS):
        tensor = torch.nn.Parameter(torch.randn(size // N_TENSORS, device=device))
        module.register_parameter(f"layer{i}", tensor)
    posterior = FactorPosterior(module, rank=k)
    posterior._mean.normal_()
    posterior._variance.uniform_(1, 2)
    posterior._rows.normal_(std=0.2)
    posterior.n = 10**6
    snapshot = posterior.selection.gather()
    state = (snapshot, posterior._mean, posterior._variance, posterior._rows, posterior.n)

    def passes() -> None:
        measure = low_rank_update.measured(*state)
        if not low_rank_update.update_on_device(*state, measure):
            low_rank_update.update(*state, measure.cpu().numpy())

    served = low_rank_update_triton.are_served(posterior._rows)
    timed = {"two passes": clock(passes)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the weights stand still here
        timed["update()"] = clock(posterior.update)
    with patch.object(low_rank_update_triton, "are_served", lambda rows: False):
        timed["two passes, plain form"] = clock(passes)
    floor = (8 + 3 * k) * size / rate
    made = []
    for what, milliseconds in timed.items():
        goals = {"over the floor": at_most(1.5)} if served and what != "two passes, plain form" else {}
        made.append(
            Row(
                {
                    "rank": k,
                    "what": what,
                    "floor ms": floor,
                    "ms": milliseconds,
                    "over the floor": milliseconds / floor,
                },
                goals,
            )
        )
    return made


def _events(call: Callable[[], Any]) -> float:
    """Milliseconds, the median of 40."""
    import torch

    for _ in range(6):
        call()
    pairs = [(torch.cuda.Event(True), torch.cuda.Event(True)) for _ in range(40)]
    for begin, end in pairs:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs)


def _cpu(call: Callable[[], Any]) -> float:
    return 1e3 * fastest(call, 3)
