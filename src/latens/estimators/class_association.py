"""Clusters and classes against what is known about the rows, corrected for rows that are assigned to the wrong one.

Rows are assigned to the cluster that is most probable, s_n, though they may be of another, c_n. How often that happens
is known from the memberships p_nk, and is divided out instead of counting rows by their assignment:

    H_ks = P(assigned to s | of k) = sum_n p_nk [s_n = s] / sum_n p_nk

    outcomes     the mean of y in cluster k, with weights w_nk = (H^-1)_{s_n k} in place of [s_n = k], some of them
                 negative: sum_n w_nk y_n / sum_n w_nk, with a robust variance       (Bolck, Croon & Hagenaars 2004)
                 unless y depends on the columns of the fit beyond the clusters (`associations.outcome_numbers`)
    covariates   log P(c_n = k) / P(c_n = 0) = x_n'b_k, fitted to the assignments by maximum likelihood of
                 sum_n log sum_k P(c_n = k) H_{k s_n}                                               (Vermunt 2010)

Variances, intervals and tests are those of `associations.class_means` and `associations.class_odds`. Shares may be 0 or
1 in a cluster, whose rows then do not vary: whether clusters are alike is judged by how all rows vary, and intervals
reach at least as far as those of Agresti and Coull for as many rows.

Clusters are estimated, and so is H (`ErrorRates`): its error comes in parts, each of which adds (dt / dH) dH to the
error of an estimate t, together with that of the row it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from latens.array import Floats, Index
from latens.errors import CollinearColumns, DirectEffects, EndlessOdds, LatensWarning, NotMeasured, UnusedColumns, warn
from latens.estimators.association import as_date, as_numbers, holds_dates, metadata_columns
from latens.estimators.associations.assigned import Assigned
from latens.estimators.associations.class_means import alike_numbers, alike_shares
from latens.estimators.associations.class_odds import class_odds, entangled
from latens.estimators.associations.outcome_numbers import OF_THE_FIT, ON_THE_COLUMNS, OUT_OF_RANGE, outcome_numbers
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["Assigned", "covariates_table", "outcomes_table"]

MOST_LEVELS = 50  # of a column of labels
INTERCEPT = "(intercept)"
SECONDS_OF_A_DAY = 86_400


def outcomes_table(assigned: Assigned, metadata: Any, row_names: Sequence[str] | None, level: float) -> Table:
    """What each cluster is like in each column of metadata.

    Returns
    -------
    Table
        column, of ("mean", or the level whose share it is), cluster, estimate, low, high, uncorrected (by assignment
        alone), p and adjusted p (that all clusters described are alike), n. Means of dates are dates, in UTC. Clusters
        none of whose rows have a value are NaN.
    """
    rows, p_of, lacking = list[tuple[Any, ...]](), dict[str, float](), dict[tuple[str, ...], list[str]]()
    weighted = dict[str, list[str]]()  # by what numbers are weighted by memberships
    for column, values in _usable(metadata_columns(metadata, len(assigned.labels), row_names)).items():
        parts, keep = _indicators(values)
        y, described = np.column_stack(list(parts.values()))[keep], assigned.described(keep)
        numbers, why = outcome_numbers(assigned, keep, y, described, level, shares="mean" not in parts)
        if why:
            weighted.setdefault(why, []).append(column)
        if list(parts) == ["mean"]:
            among = np.isin(assigned.labels[keep], described)
            p_of[column] = alike_numbers(assigned.labels[keep][among], y[among, 0])
        else:
            p_of[column] = alike_shares(assigned, keep, y, described)
        absent = np.setdiff1d(np.arange(len(assigned.names)), described)
        if len(absent):
            lacking.setdefault(tuple(assigned.names[k] for k in absent), []).append(column)
        shown = np.eye(len(assigned.names))[assigned.labels[keep]]
        count = shown.sum(axis=0)[:, None]
        naive = np.where(count > 0, shown.T @ y / np.maximum(count, 1.0), np.nan).T
        write = as_date if holds_dates(values) and "mean" in parts else float
        for j, of in enumerate(parts):
            for k, name in enumerate(assigned.names):
                rows.append((column, of, name, *map(write, (*numbers[:, j, k], naive[j, k])), p_of[column], len(keep)))
    adjusted = dict(zip(p_of, _adjusted(list(p_of.values())), strict=True))
    columns = ("column", "of", "cluster", "estimate", "low", "high", "uncorrected", "p", "adjusted p", "n")
    doubts: list[LatensWarning] = [
        NotMeasured(
            f"in {listed(names, 3, form=str)} no row, or fewer than two effective rows, have a value of "
            f"{listed(of, 3)}: there is no result for these clusters.",
            "Give rows in which these columns are known, or leave the columns out.",
        )
        for names, of in lacking.items()
    ]
    notes = []
    if OF_THE_FIT in weighted:
        notes = [f"{OF_THE_FIT}: {listed(weighted[OF_THE_FIT], 6)}; their rows are weighted by memberships"]
    doubts += [
        DirectEffects(
            f"{why}: {listed(weighted[why], 6)}. Correction for misclassified rows goes too far for them; their means "
            "and shares are weighted by memberships instead.",
            "If they depend on the clusters themselves as well, clusters differ more than these numbers say.",
        )
        for why in (ON_THE_COLUMNS, OUT_OF_RANGE)
        if why in weighted
    ]
    cells = tuple((*row[:8], adjusted[row[0]], row[8]) for row in rows)
    return Table(columns, cells, note="; ".join([_note(assigned, doubts), *notes]))


def covariates_table(assigned: Assigned, metadata: Any, row_names: Sequence[str] | None, level: float) -> Table:
    """How the odds of each cluster, against the first, go with all columns of metadata together.

    Returns
    -------
    Table
        cluster, against, covariate, log odds for one unit more (of dates, for a day; of levels, against the first),
        low, high, odds ratio, p, adjusted p, n. NaN of clusters none of whose rows have all values, and of columns
        that are sums of others.
    """
    if len(assigned.names) < 2:
        raise ValueError("there is only one cluster, which has no odds; use role='outcomes'.")
    design, names, keep = _design(_usable(metadata_columns(metadata, len(assigned.labels), row_names)))
    described, doubts = assigned.described(keep), list[LatensWarning]()
    against = int(described[0]) if len(described) else 0
    slopes, variances = np.full((2, len(assigned.names), len(names)), np.nan)
    absent = [name for k, name in enumerate(assigned.names) if k not in described]
    if absent:
        doubts.append(
            NotMeasured(
                f"in {listed(absent, 3, form=str)} no row, or fewer than two effective rows, have a value of all "
                "columns of metadata: there are no odds of these clusters.",
                "Give columns that are known in rows of all clusters.",
            )
        )
    if len(described) > 1:
        independent_columns, tied = entangled(design)
        found = class_odds(assigned, keep, design[:, independent_columns], described)
        slopes[np.ix_(described[1:], independent_columns)], variances[np.ix_(described[1:], independent_columns)] = (
            found.slopes,
            found.variances,
        )
        slopes[:, tied], variances[:, tied] = np.nan, np.nan
        endless = [names[j] for j in independent_columns[found.endless]]
        if tied.any():
            doubts.append(
                CollinearColumns(
                    f"covariates {listed([names[j] for j in np.flatnonzero(tied)], 6)} are constant, or linear "
                    "combinations of each other: their separate odds are not identified.",
                    "Leave all but one of them out.",
                )
            )
        if endless:
            endless = [name for name in endless if name != INTERCEPT] or endless
            doubts.append(
                EndlessOdds(
                    f"covariates {listed(endless, 6)} separate some clusters without error, for example if a level "
                    "never occurs in a cluster: maximum likelihood has infinite odds, so that those under Jeffreys' "
                    "prior (Firth) are given.",
                    "Join levels, or use role='outcomes'.",
                )
            )
    wide, rows = float(stats.norm.isf(0.5 * (1 - level))), list[tuple[Any, ...]]()
    for k, cluster in enumerate(assigned.names):
        for j, name in enumerate(names) if k != against else ():
            b, s = float(slopes[k, j]), float(np.sqrt(variances[k, j]))
            p = float(2 * stats.norm.sf(abs(b) / s)) if s != 0 else 1.0
            rows.append((cluster, assigned.names[against], name, b, b - wide * s, b + wide * s, float(np.exp(b)), p))
    # of an intercept nothing is asked
    adjusted = _adjusted([np.nan if row[2] == INTERCEPT else row[7] for row in rows])
    columns = ("cluster", "against", "covariate", "log odds", "low", "high", "odds ratio", "p", "adjusted p", "n")
    cells = tuple((*row, adjusted[i], len(keep)) for i, row in enumerate(rows))
    return Table(columns, cells, note=_note(assigned, doubts))


def _adjusted(p: list[float]) -> list[float]:
    """p adjusted by Benjamini and Hochberg over those that were tested; NaN of the others."""
    found = np.array(p)
    tested = np.isfinite(found)
    found[tested] = stats.false_discovery_control(found[tested]) if tested.any() else found[tested]
    return [float(each) for each in found]


def _note(assigned: Assigned, doubts: Sequence[LatensWarning]) -> str:
    """What the table says below, of which doubts are warned too."""
    for doubt in doubts:
        warn(doubt)
    return "; ".join([assigned.note, *(doubt.message.rstrip(".") for doubt in doubts)])


def _usable(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns of metadata that say something of clusters; one warning names the others.

    Clinical tables hold columns of names and columns that nobody filled in beside what is asked for.
    """
    if not columns:
        raise ValueError("metadata has no columns; give at least one.")
    why = {column: _reason(values) for column, values in columns.items()}
    out = [f"{column} ({reason})" for column, reason in why.items() if reason]
    if len(out) == len(columns):
        raise ValueError(
            f"no column of metadata can be used: {listed(out, 8, str)}. Give numbers, or labels of which some rows "
            "have the same: join rare levels."
        )
    if out:
        warn(
            UnusedColumns(
                f"{len(out)} column(s) of metadata are not used: {listed(out, 8, str)}.",
                "Drop them, or join rare levels.",
            )
        )
    return {column: values for column, values in columns.items() if not why[column]}


def _reason(values: list[Any]) -> str:
    """Why a column cannot be used; nothing where it can."""
    shown = [value for value in values if value is not None]
    if not shown:
        return "no value in any row of the model"
    n_levels = 0 if as_numbers(values) is not None else len(set(map(str, shown)))
    return f"{n_levels:,} levels; at most {MOST_LEVELS} can be compared" if n_levels > MOST_LEVELS else ""


def _indicators(values: list[Any]) -> tuple[dict[str, Floats], Index]:
    """The numbers (n,) of a column, or one 0/1 column for each of its levels, and the rows in which it is known."""
    keep = np.flatnonzero([value is not None for value in values])
    numbers = as_numbers(values)
    if numbers is not None:
        return {"mean": numbers}, np.flatnonzero(np.isfinite(numbers))
    texts = [str(value) for value in values]
    levels = sorted({texts[i] for i in keep})
    return {level: np.array([float(text == level) for text in texts]) for level in levels}, keep


def _design(columns: dict[str, list[Any]]) -> tuple[Floats, list[str], Index]:
    """(n, P), an intercept, numbers, and levels but the first; names; the rows in which everything is known."""
    parts, names = list[Floats](), [INTERCEPT]
    known = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for column, values in columns.items():
        own, keep = _indicators(values)
        known &= np.isin(np.arange(len(values)), keep)
        numeric = list(own) == ["mean"]
        dated = numeric and holds_dates(values)
        for level in list(own) if numeric else list(own)[1:]:
            parts.append(own[level] / (SECONDS_OF_A_DAY if dated else 1))
            names.append(f"{column} = {level}" if not numeric else f"{column} (days)" if dated else column)
    keep = np.flatnonzero(known)
    if len(keep) <= len(names):
        raise ValueError(f"{len(keep)} row(s) have all columns of metadata; {len(names)} numbers cannot be learnt.")
    return np.column_stack([np.ones(len(known)), *parts])[keep], names, keep
