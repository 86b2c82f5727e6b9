"""One update of a factor posterior over many weights, against the time that its reads and writes must take."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.clocks import fastest
from benchmarks.setting import FULL, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]


def run(setting: Setting) -> list[Table]:
    """On a GPU by its own events, 25 million weights; else CPU time, without a goal."""
    if find_spec("torch") is None:
        return [Table("Update of a factor posterior", [], ["needs torch: pip install 'latens[torch]'"])]
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = 25_000_000 if device == "cuda" else 1_000_000 if setting is FULL else 20_000
    clock = _events if device == "cuda" else _cpu
    rate = _copied(10 * size, device, clock)
    rows = [_row(size, k, device, clock, rate) for k in (10, 20)]
    return [Table(f"Update of a factor posterior, {size} weights, {device}", rows)]


def _copied(size: int, device: str, clock: Callable[[Callable[[], Any]], float]) -> float:
    """Words read and written by a copy in a millisecond."""
    import torch

    source = torch.randn(size, device=device)
    target = torch.empty_like(source)
    return 2 * size / clock(lambda: target.copy_(source))


def _row(size: int, k: int, device: str, clock: Callable[[Callable[[], Any]], float], rate: float) -> Row:
    import torch

    from latens.weights import kernels, sketch

    torch.manual_seed(50_000 + k)
    snapshot, mean = torch.randn(2, size, device=device)
    variance, rows = 1 + torch.rand(size, device=device), 0.2 * torch.randn(k, size, device=device)
    floor = (8 + 3 * k) * size / rate
    taken = clock(lambda: sketch.update(snapshot, mean, variance, rows, 10**6))
    cells = {"rank": k, "floor ms": floor, "ms": taken, "over the floor": taken / floor}
    return Row(cells, {"over the floor": at_most(1.5)} if kernels.are_served(rows) else {})


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
