"""Which sets of features, such as pathways, the factors of a view move more than the rest of it.

The strength of a feature in a factor is its loading beside its noise. A set is compared with all other features of the
view by the t statistic of a pooled variance. Loadings have heavy tails: a set of five holds one of the few strongest
features by chance more often than Student's distribution has it. So p comes from strengths that are dealt out anew to
the features, for each size of a set, continued beyond the deals by Student's tail at the rate at which they thin out
(`associations.permutations`); or, if asked, from Student's distribution alone. Either takes features as exchangeable:
sets whose features go together for other reasons look enriched somewhat too often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import stdtr

from latens.array import Floats, Index
from latens.estimators.associations.permutations import log_arrangements, minus_log, permutation_p
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["enriched", "read_sets"]

MOST_DEALT = 4_000_000  # places of features that are held at once


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
        usable_sets = np.flatnonzero((sizes >= least) & (sizes < members.shape[1]))
        if not len(usable_sets):
            continue
        members, sizes, names = members[usable_sets], sizes[usable_sets], [list(sets)[i] for i in usable_sets]
        t = _t_statistics(members @ strength.T, sizes[:, None], strength)
        if n_permutations is None:
            p = stats.t.sf(t, strength.shape[1] - 2)
        else:
            p = _permuted(sizes, strength, t, n_permutations, rng)
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


def _t_statistics(sums: Floats, inside: Index, strength: Floats) -> Floats:
    """(..., K), of `inside` features whose strengths add up to `sums` (..., K) against the others."""
    d = strength.shape[1]
    outside = d - inside
    total, squares = strength.sum(axis=1), (strength**2).sum(axis=1)
    mean = sums / inside
    other = (total - sums) / outside
    pooled = (squares - inside * mean**2 - outside * other**2) / max(d - 2, 1)
    spread = np.sqrt(np.maximum(pooled, np.finfo(float).tiny) * (1 / inside + 1 / outside))
    return np.where(total == 0, 0.0, (mean - other) / spread)


def _permuted(sizes: Index, strength: Floats, t: Floats, n: int, rng: np.random.Generator) -> Floats:
    """(S, K), p of t among those of sets of the same size of features at random, n of each size."""
    d, p = strength.shape[1], np.empty_like(t)
    distinct = np.unique(sizes)
    surprises = np.empty((len(distinct), strength.shape[0], n), dtype=np.float32)
    at_once = max(1, MOST_DEALT // d)
    for start in range(0, n, at_once):
        stop = min(start + at_once, n)
        order = rng.permuted(np.tile(np.arange(d), (stop - start, 1)), axis=1)[:, : distinct[-1]]
        for k, own in enumerate(strength):
            sums = np.cumsum(own[order], axis=1)[:, distinct - 1]  # the first s features are a set of size s
            surprises[:, k, start:stop] = minus_log(stdtr(d - 2, -_t_statistics(sums, distinct, own[None]))).T
    u = minus_log(stdtr(d - 2, -t)).astype(np.float32)
    for i, size in enumerate(distinct):
        same, most = sizes == size, log_arrangements(np.array([size, d - size]))
        for k in range(strength.shape[0]):
            p[same, k] = permutation_p(u[same, k], surprises[i, k], most)
    return p
