"""The eight shapes, their number to be found."""

from __future__ import annotations

from functools import partial

from benchmarks.binary.contest import Method, compare, ours
from benchmarks.peers import source
from benchmarks.setting import Setting
from benchmarks.tables import Table, at_least, at_most

__all__ = ["run"]


def run(setting: Setting) -> list[Table]:
    return [_from(k, setting) for k in (16, 24, 32)]


def _from(k: int, setting: Setting) -> Table:
    goals = {"exactly 8": at_least(0.95), "CPU s": at_most(3.0)}
    methods = [
        Method("latens ard", partial(ours, k=k, prior="ard"), setting.n_seeds, goals),
        Method("as printed, either count", lambda x, seed: source.learn_number(x, k, seed), setting.n_dear),
    ]
    table = compare(f"Shapes, from K = {k}", methods, exact_match=True)
    table.notes.append("as printed: causes alive by alpha < 1200 or by use, whichever count is the better one")
    return table
