"""Which sets of features, such as pathways, the factors of a view move more than the rest of it.

The strength of a feature in a factor is its loading beside its noise. A set is compared with all other features of the
view by the t statistic of a pooled variance; its p comes from Student's distribution, or from strengths dealt out anew
to the features. Either takes features as exchangeable: sets whose features go together for other reasons look enriched
somewhat too often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from latens.array import Floats
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["enriched", "read_sets"]


def read_sets(sets: Any) -> dict[str, tuple[str, ...]]:
    """Sets of features by name: a dict, or a GMT file of lines "name, description, feature, feature, ..." by tabs.

    Raises
    ------
    ValueError
        If there are none.
    """
    if isinstance(sets, str | PathLike):
        path = Path(sets).expanduser()
        if not path.exists():
            raise ValueError(f"there is no file {path}; give a GMT file, or a dict such as {{'cell cycle': ['CDK1']}}.")
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        short = next((i for i, cells in enumerate(lines, 1) if len(cells) < 3), None)
        if short is not None:
            raise ValueError(
                f"line {short} of {path.name} has no features; a GMT file has name, description and features in each "
                "line, separated by tabs."
            )
        found = {cells[0].strip(): tuple(filter(None, map(str.strip, cells[2:]))) for cells in lines}
    elif isinstance(sets, Mapping):
        wrong = next(
            (name for name, own in sets.items() if isinstance(own, str) or not isinstance(own, Iterable)), None
        )
        if wrong is not None:
            raise ValueError(f"set {str(wrong)!r} is no list of features; give one such as ['CDK1', 'CCNB1'].")
        found = {str(name): tuple(map(str, own)) for name, own in sets.items()}
    else:
        raise ValueError(
            f"sets is a {type(sets).__name__}; give a dict such as {{'cell cycle': ['CDK1', 'CCNB1']}}, or a GMT file."
        )
    if not found:
        raise ValueError("there are no sets of features; give at least one.")
    return found


def enriched(
    strengths: Mapping[str, Floats],
    features: Mapping[str, tuple[str, ...]],
    factors: list[str],
    sets: Mapping[str, tuple[str, ...]],
    *,
    least: int,
    n_permutations: int | None,
    rng: np.random.Generator,
) -> Table:
    """Test every set of at least so many features in every factor of every view.

    Parameters
    ----------
    strengths : dict of arrays (K, D_m)
        By view, how strong features are in each factor.
    n_permutations : int, optional
        None: p by Student's distribution.
    """
    rows = list[tuple[Any, ...]]()
    for view, strength in strengths.items():
        members = _members(features[view], sets)
        sizes = members.sum(axis=1).astype(int)
        kept = np.flatnonzero((sizes >= least) & (sizes < members.shape[1]))
        if not len(kept):
            continue
        members, sizes, names = members[kept], sizes[kept], [list(sets)[i] for i in kept]
        t = _t_statistics(members, strength)
        if n_permutations is None:
            p = stats.t.sf(t, strength.shape[1] - 2)
        else:
            p = _permuted(members, strength, t, n_permutations, rng)
        for i, name in enumerate(names):
            rows += [(factor, view, name, int(sizes[i]), float(t[i, k]), float(p[i, k]))
                     for k, factor in enumerate(factors)]  # fmt: skip
    if not rows:
        known, named = next(iter(features.values())), max(sets.values(), key=len)
        raise ValueError(
            f"no set has {least} features or more of a view; features are called {listed(known, 3)}, those of the sets "
            f"{listed(named, 3) or 'are none'}. Name them alike, or choose a smaller min_size."
        )
    adjusted = stats.false_discovery_control([row[5] for row in rows])
    order = sorted(range(len(rows)), key=lambda i: (adjusted[i], rows[i][5], -rows[i][4]))
    columns = ("factor", "view", "set", "features", "t", "p", "adjusted p")
    return Table(columns, tuple((*rows[i], float(adjusted[i])) for i in order))


def _members(features: tuple[str, ...], sets: Mapping[str, tuple[str, ...]]) -> Floats:
    """(S, D), 1 where a feature belongs to a set; names are compared whatever their case."""
    at = {name.casefold(): d for d, name in enumerate(features)}
    members = np.zeros((len(sets), len(features)))
    for i, own in enumerate(sets.values()):
        members[i, [at[name.casefold()] for name in own if name.casefold() in at]] = 1
    return members


def _t_statistics(members: Floats, strength: Floats) -> Floats:
    """(S, K), of the features inside a set against those outside."""
    d = strength.shape[1]
    inside = members.sum(axis=1)[:, None]
    outside = d - inside
    total, squares = strength.sum(axis=1), (strength**2).sum(axis=1)
    mean = members @ strength.T / inside
    other = (total - mean * inside) / outside
    pooled = (squares - inside * mean**2 - outside * other**2) / max(d - 2, 1)
    spread = np.sqrt(np.maximum(pooled, np.finfo(float).tiny) * (1 / inside + 1 / outside))
    return np.where(total == 0, 0.0, (mean - other) / spread)


def _permuted(members: Floats, strength: Floats, t: Floats, n: int, rng: np.random.Generator) -> Floats:
    """(S, K), how often strengths that are dealt out anew give as much, the given deal counted as one."""
    above = np.ones(t.shape)
    for _ in range(n):
        above += _t_statistics(members, strength[:, rng.permutation(strength.shape[1])]) >= t
    return above / (n + 1)
