"""What a table shows, before it is fitted, that should be looked at: each cause one warning, with what to type.

Codes for missing values, counters of rows, columns that are equal or copies in other units or words, columns of few
values, rows that are copies of others. Of columns up to 4,096 rows, evenly spaced, are looked at (fewer where columns
are many); what is found there is confirmed on all rows where that costs one column at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from latens.array import Array, Floats
from latens.array.transfer import host, host_columns, is_sparse
from latens.core import Rows, Survey
from latens.errors import CountsRows, EmptyRows, EqualColumns, FewValues, MissingCodes, RepeatedRows, warn
from latens.intake.kind_guess import EQUAL_STEPS, how_rows_are_numbered
from latens.intake.missing_codes import column_ends, may_hold_codes, missing_codes
from latens.system.wording import listed

__all__ = ["doubt_columns", "doubt_empty", "doubt_sample", "how_copied"]

MOST_ROWS = 4096  # looked at
MOST_ENTRIES = 2**21  # looked at, where columns are many
MOST_COLUMNS = 2000  # looked at one by one
NUMBERS_AT_HAND = 2**15  # whose keys a core takes at once
LEAST_ROWS = 20  # that make a pattern of a coincidence
MOST_LEVELS = 8  # distinct values of a column that a normal distribution describes badly
LEAST_REPEATS = 10  # rows for each of these values, on average
MOST_COMPARED = 500  # columns that are compared in pairs
MOST_PAIRED = 1024  # rows in which they are; all rows have the last word
LARGEST_CHANCE = 1e-3  # of two equal columns, if values stood in any order, from which they are no copies
MOST_COPIES = 0.1  # of distinct rows: so many copies may be chance, or a few rows that were entered twice
HARDLY_FEWER = 0.9  # of distinct rows that are left without their finest column, where they are copies and no ties
LEAST_SHARE_OF_VALUES = 0.5  # of rows that have a value of their own in a column that tells rows apart
EQUAL, EQUAL_BUT_FOR_ROUNDING, IN_OTHER_UNITS = (
    "equal in every row",
    "equal but for rounding",
    "the same in other units",
)
ROUNDING = 2.0**-23  # of the largest number of a column: what single precision leaves
CORRELATION_OF_COPIES = 1 - 1e-6  # correlation from which two columns are the same in other units, rounding allowed for
CORRELATION_OF_MOST = 0.999  # the same of most rows: a few that are far out correlate any two columns
MOST_OF_A_COLUMN = (0.05, 0.95)  # between these quantiles


def doubt_columns(rows: Rows, names: Sequence[str], *, levels: bool = False, container: str = "frame") -> None:
    """Warn of what columns of real rows show; with `levels`, of columns of few values too.

    `container` is what rows came in, for what to type: "frame", "array" or "views".
    """
    if is_sparse(rows.x) or len(rows) < LEAST_ROWS:
        return
    d = min(int(rows.x.shape[1]), MOST_COLUMNS)
    step = -(-len(rows) // _most_rows(d))
    part = host_columns(rows.x[::step, :d])  # columns are looked at one by one
    if rows.seen is not None:
        part = np.where(host(rows.seen[::step, :d]) > 0, part, np.nan)
    ends = column_ends(part)
    _doubt_codes(rows, part, names, container, ends)
    _doubt_counters(rows, part, names, step, container)
    _doubt_equal(rows, part, names, container, ends)
    _doubt_repeated(rows, part, container)
    if levels:
        _doubt_levels(part, names)


def doubt_empty(
    rows: Rows, row_names: Sequence[str] | None, answer: str, remedy: str, *, rows_are: str = "rows"
) -> None:
    """Warn of rows that show nothing; `answer` is what a fit says of them all the same."""
    if rows.seen is None:
        return
    empty = np.flatnonzero(~(host(rows.seen) > 0).any(axis=1)).tolist()
    if len(empty):
        names = [str(row) if row_names is None else row_names[row] for row in empty]
        warn(
            EmptyRows(
                f"{len(empty)} of {len(rows)} {rows_are} have no observed value: {listed(names)}. "
                f"The fit ignores them, and {answer}.",
                remedy,
            )
        )


def _most_rows(d: int) -> int:
    return min(MOST_ROWS, MOST_ENTRIES // max(d, 1))


def doubt_sample(sample: Rows, survey: Survey, names: Sequence[str], *, levels: bool = False) -> None:
    """The same of rows that are read in blocks, by a sample and a survey of all; copies of rows are not told."""
    if is_sparse(sample.x) or len(sample) < LEAST_ROWS:
        return
    part = np.asfortranarray(host(sample.x[:MOST_ROWS, :MOST_COLUMNS]))
    if sample.seen is not None:
        part = np.where(host(sample.seen[:MOST_ROWS, :MOST_COLUMNS]) > 0, part, np.nan)
    ends = column_ends(part)
    _doubt_codes(sample, part, names, "scan", ends)
    counters = [names[j] for j in range(part.shape[1]) if _counts_rows(part[:, j], survey, j)]
    _tell_counters(counters, "scan", EQUAL_STEPS)
    _doubt_equal(sample, part, names, "scan", ends)
    if levels:
        _doubt_levels(part, names)


def _counts_rows(column: Floats, survey: Survey, j: int) -> bool:
    """Whether as many values as rows, at equal steps, fill the range of a column, none of them twice in the sample."""
    if not survey.whole[j] or np.isnan(column).any() or survey.n_rows < 2:
        return False
    step, rest = divmod(float(survey.high[j] - survey.low[j]), survey.n_rows - 1)
    on_steps = step >= 1 and rest == 0 and bool(np.all((column - survey.low[j]) % step == 0))
    return on_steps and len(np.unique(column)) == len(column)


def _column(rows: Rows, j: int) -> Floats:
    """All values of a column, NaN where missing."""
    x = host(rows.x[:, j])
    return x if rows.seen is None else np.where(host(rows.seen[:, j]) > 0, x, np.nan)


def _doubt_codes(rows: Rows, part: Floats, names: Sequence[str], container: str, ends: tuple[Floats, Floats]) -> None:
    at = np.flatnonzero(may_hold_codes(part, ends)).tolist()
    full = [j for j in at if np.count_nonzero(~np.isnan(part[:, j])) >= LEAST_ROWS]
    found = {j: counts for j in full if (counts := missing_codes(part[:, j], may_hold=True))}
    if not found:
        return
    j = next(iter(found))
    codes, column = list(found[j]), _column(rows, j)
    seen = " and ".join(f"{code:g} {int(np.sum(column == code))} times" for code in codes)
    typed = f"{codes[0]:g}" if len(codes) == 1 else f"[{', '.join(f'{code:g}' for code in codes)}]"
    of_rows = f" in {len(rows)} rows looked at" if container == "scan" else ""
    others = [names[other] for other in found if other != j]
    also = f"; so do {listed(map(str, others))}" if others else ""
    replaced = f"np.where({f'X == {typed}' if len(codes) == 1 else f'np.isin(X, {typed})'}, np.nan, X)"
    if container == "frame":  # which keeps its names
        replaced = f"X.replace({{{str(names[j])!r}: {typed}}}, np.nan)"
    warn(
        MissingCodes(
            f"column {str(names[j])!r} holds {seen}{of_rows}, far from its other values{also}: "
            + (
                "this looks like a code for missing values, and is taken as a number."
                if len(codes) == 1
                else "these look like codes for missing values, and are taken as numbers."
            ),
            "If so, store NaN, or nothing, in its place."
            if container == "scan"
            else f"If so, pass X with NaN in its place{'' if container == 'views' else f': X = {replaced}'}.",
        )
    )


def _doubt_counters(rows: Rows, part: Floats, names: Sequence[str], step: int, container: str) -> None:
    found: dict[str, list[str]] = {}
    head = part[:LEAST_ROWS]  # of most columns these few rows tell that they hold no counter
    for j in np.flatnonzero((head == np.round(head)).all(axis=0)).tolist():
        column = part[:, j]
        if not np.isfinite(column).all() or np.any(column != np.round(column)):
            continue
        if how := how_rows_are_numbered(column if step == 1 else _column(rows, j)):
            found.setdefault(how, []).append(names[j])
    for how, numbering in found.items():
        _tell_counters(numbering, container, how)


def _tell_counters(found: Sequence[str], container: str, how: str) -> None:
    if not found:
        return
    remedy = (
        f"Make them names of rows, X.set_index({str(found[0])!r}), or leave them out: "
        f"X.drop(columns={[str(name) for name in found[:5]]}), np.delete for arrays."
    )
    if container == "views":  # names here are of views and columns, and not what a table calls them
        remedy = "Make them names of rows, or leave them out."
    if container == "scan":
        remedy = (
            f"Make one the names of rows, latens.scan(..., row_names={str(found[0])!r}), or leave them out: columns=."
        )
    verb = "number" if how == EQUAL_STEPS else "may number"
    warn(CountsRows(f"column(s) {listed(map(str, found))} {verb} the rows: {how}.", remedy))


def _doubt_equal(rows: Rows, part: Floats, names: Sequence[str], container: str, ends: tuple[Floats, Floats]) -> None:
    first: dict[bytes, int] = {}
    pairs = []
    lowest, highest = ends
    ranges = list(zip(lowest.tolist(), highest.tolist(), strict=True))
    n_alike = Counter(ranges)
    for j in np.flatnonzero(lowest < highest).tolist():  # constant columns are another matter
        if n_alike[ranges[j]] == 1:
            continue  # equal columns have the same range
        column = np.ascontiguousarray(part[:, j]) + 0.0  # no negative zeros
        i = first.setdefault(column.tobytes(), j)
        if i != j and np.array_equal(_column(rows, i), _column(rows, j), equal_nan=True):
            pairs.append((i, j))
    _tell_pairs(_beyond_chance(pairs, part), f"are {EQUAL}", names, container)
    _doubt_copies(rows, part, {b for _, b in pairs}, names, container)


def _doubt_copies(rows: Rows, part: Floats, equal: set[int], names: Sequence[str], container: str) -> None:
    """Columns such as inches beside centimetres: a straight line through all rows."""
    at = [j for j in range(min(part.shape[1], MOST_COMPARED)) if j not in equal]
    z = _standardised(part[:: -(-len(part) // MOST_PAIRED), at])
    pairs = []
    for i, j in np.argwhere(np.triu(np.abs(z.T @ z) > CORRELATION_OF_COPIES, 1)).tolist():
        a, b = _column(rows, at[i]), _column(rows, at[j])
        same_holes = np.array_equal(np.isnan(a), np.isnan(b))
        first, second = _standardised(np.stack([a, b], axis=1)).T
        if same_holes and abs(float(first @ second)) > CORRELATION_OF_COPIES and _agree_in_most(a, b):
            pairs.append((at[i], at[j]))
    copied = {b: a for a, b in reversed(pairs)}  # each with the first that it is a copy of
    for how in (EQUAL_BUT_FOR_ROUNDING, IN_OTHER_UNITS):
        alike = [(a, b) for b, a in sorted(copied.items()) if how_copied(_column(rows, a), _column(rows, b)) == how]
        _tell_pairs(_beyond_chance(alike, part), f"are {how}", names, container)
    _doubt_renamed(rows, part, equal | set(copied), names, container)


def _beyond_chance(pairs: list[tuple[int, int]], part: Floats) -> list[tuple[int, int]]:
    """Those of equal columns whose values could stand in so many orders that chance makes no two columns agree.

    Of a hundred genes that are mutated in one patient each, many are so in the same one; they are no copies.
    """
    n_pairs = part.shape[1] * (part.shape[1] - 1) / 2
    found = []
    for i, j in pairs:
        counts = np.unique(part[:, i], return_counts=True)[1]
        orders = gammaln(1 + counts.sum()) - gammaln(1 + counts).sum()
        if np.log(n_pairs) - orders < np.log(LARGEST_CHANCE):
            found.append((i, j))
    return found


def _agree_in_most(one: Floats, other: Floats) -> bool:
    """Whether columns on a straight line are on it without their ends: sensors that share a shock need not be.

    Ends are all that there is of columns that do not vary elsewhere.
    """
    low, high = np.nanquantile(one, MOST_OF_A_COLUMN)
    most = (one >= low) & (one <= high)
    z = _standardised(np.stack([one[most], other[most]], axis=1))
    return not z.any() or abs(float(z[:, 0] @ z[:, 1])) > CORRELATION_OF_MOST


def how_copied(one: Floats, other: Floats) -> str:
    """What a column is to another whose values lie on a straight line with its own.

    >>> thirds = np.arange(5) / 3
    >>> how_copied(thirds, thirds.copy()), how_copied(thirds, thirds.astype(np.float32)), how_copied(thirds, 2 * thirds)
    ('equal in every row', 'equal but for rounding', 'the same in other units')
    """
    if np.array_equal(one, other, equal_nan=True):
        return EQUAL
    gap, size = np.abs(one - other), np.abs(one)
    is_rounded = np.nanmax(gap, initial=0.0) <= ROUNDING * np.nanmax(size, initial=0.0)
    return EQUAL_BUT_FOR_ROUNDING if is_rounded else IN_OTHER_UNITS


def _doubt_renamed(rows: Rows, part: Floats, known: set[int], names: Sequence[str], container: str) -> None:
    """Columns such as a country beside its code: each level of one goes with one of the other, in whatever order."""
    part = part[:: -(-len(part) // MOST_PAIRED)]
    head = part[:LEAST_ROWS]
    at = [j for j in np.flatnonzero((np.isnan(head) | (head == np.round(head))).all(axis=0)).tolist() if j not in known]
    # of most columns it is enough to see which of the first rows have the values of the first three
    looks = np.packbits(
        np.concatenate([np.isnan(head[:, at]), *(head[:, at] == head[i, at] for i in range(3))]), axis=0
    )
    n_alike = Counter(looks[:, i].tobytes() for i in range(len(at)))
    first: dict[bytes, int] = {}
    pairs = []
    for look, j in zip(looks.T, at, strict=True):
        numbered = None if n_alike[look.tobytes()] == 1 else _by_appearance(part[:, j])
        if numbered is None:
            continue
        i = first.setdefault(numbered.tobytes(), j)
        both = [None, None] if i == j else [_by_appearance(_column(rows, each)) for each in (i, j)]
        if both[0] is not None and both[1] is not None and np.array_equal(both[0], both[1]):
            pairs.append((i, j))
    _tell_pairs(pairs, "have the same levels under other names", names, container)


def _by_appearance(column: Floats) -> NDArray[np.int64] | None:
    """Levels numbered in the order in which they appear, 0 where missing; None where values are no levels."""
    hole = np.isnan(column)
    seen = column[~hole]
    levels, at, place = np.unique(seen, return_index=True, return_inverse=True)
    if not 2 < len(levels) <= len(seen) / LEAST_REPEATS or np.any(levels != np.round(levels)):
        return None  # of two values, those that go together are told as copies in other units
    found = np.zeros(len(column), dtype=np.int64)
    found[~hole] = 1 + np.argsort(np.argsort(at))[place]
    return found


def _standardised(x: Floats) -> Floats:
    """Columns (n, D) about their means, and of length 1; 0 where missing, and in all rows of a constant column."""
    hole = np.isnan(x)
    shown = np.maximum(len(x) - np.count_nonzero(hole, axis=0), 1)
    z = np.where(hole, 0.0, x) if hole.any() else x.astype(np.float64)
    largest = np.maximum(z.max(axis=0, initial=0.0), -z.min(axis=0, initial=0.0))
    z /= np.where(largest > 0, largest, 1.0)  # squares of huge numbers overflow
    z -= z.sum(axis=0) / shown
    if hole.any():
        z[hole] = 0.0
    length = np.sqrt(np.einsum("nd,nd->d", z, z))
    varies = length > 1e-12 * np.sqrt(shown)
    z *= varies / np.where(varies, length, 1.0)
    return z


def _tell_pairs(pairs: list[tuple[int, int]], how: str, names: Sequence[str], container: str) -> None:
    if not pairs:
        return
    named = ", ".join(f"{str(names[a])!r} and {str(names[b])!r}" for a, b in pairs[:3])
    rest = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    warn(
        EqualColumns(
            f"columns {named}{rest} {how}: what they share counts twice, and may appear as a separate component.",
            f"Keep one of each: {_without([b for _, b in pairs[:5]], names, container)}.",
        )
    )


def _without(columns: list[int], names: Sequence[str], container: str) -> str:
    """What to type to leave columns out."""
    if container == "array":
        return f"np.delete(X, {columns}, axis=1)"
    named = [str(names[j]) for j in columns]
    if container == "scan":
        return f"latens.scan(..., columns=[...]) without {listed(named)}"
    return f"leave out {listed(named)}" if container == "views" else f"X.drop(columns={named})"


def _doubt_repeated(rows: Rows, part: Floats, container: str) -> None:
    """Rows that are copies of others: as they count, each is another proof of what the others say.

    Rows of few values agree by chance. They are then nearly as often equal in all columns but one, and copies are not.
    """
    d = part.shape[1]
    if d < 2:
        return
    finest, is_fine = _finest_column(part)
    rows, share = _sharing_values(rows, finest) if is_fine else (rows, 1.0)
    one_column, others = _row_keys(rows, [finest]), _row_keys(rows, [j for j in range(d) if j != finest])
    n_distinct = len(np.unique(one_column + others))
    # weights below 1 may say that copies count as one
    n_copies = min(len(rows), rows.n) - n_distinct
    if n_copies <= MOST_COPIES * n_distinct or len(np.unique(others)) < HARDLY_FEWER * n_distinct:
        return
    once = {"frame": ": X.drop_duplicates()", "array": ": np.unique(X, axis=0)"}.get(container, "")
    how_many = f"{round(n_copies)} of {len(rows)}" if share == 1 else f"about {100 * n_copies / len(rows):.0f} % of the"
    warn(
        RepeatedRows(
            f"{how_many} rows are copies of others: every copy counts as another observation, so that "
            "there may be too many components, and standard deviations are too small.",
            f"If they are the same observations, keep one of each{once}; or give each a sample_weight of 1 over "
            "their number.",
        )
    )


def _finest_column(part: Floats) -> tuple[int, bool]:
    """The column of most distinct values, and whether nearly every row has one of its own."""
    finest, most = 0, 0
    n_missing = np.count_nonzero(np.isnan(part), axis=0)
    n_possible = (len(part) - n_missing + (n_missing > 0)).tolist()  # missing is one value
    for j, possible in enumerate(n_possible):
        if possible > most and (n_values := len(np.unique(part[:, j]))) > most:
            finest, most = j, n_values
    return finest, most > LEAST_SHARE_OF_VALUES * len(part)


def _sharing_values(rows: Rows, column: int) -> tuple[Rows, float]:
    """Of many rows those whose value in a column is among a few, on the host, and which share of the values these are.

    Copies are all among them or all left out, so that they are as common as among all rows. Rows without such a value
    are left out: those that lack a whole table have few values, and agree by chance.
    """
    share, shown = _most_rows(int(rows.x.shape[1])) / len(rows), ~np.isnan(_column(rows, column))
    if share >= 0.5:
        return (rows if shown.all() else rows.take(np.flatnonzero(shown))), 1.0
    keys = _row_keys(rows, [column])
    keys ^= keys >> np.uint64(32)
    keys *= np.uint64(0x9E3779B97F4A7C15)  # an odd number: values that are close lie apart
    few = rows.take(np.flatnonzero(shown & (keys < np.uint64(int(share * 2**64)))))
    seen = None if few.seen is None else host(few.seen)
    return Rows(host_columns(few.x), seen, None if few.weight is None else host(few.weight)), share


def _row_keys(rows: Rows, columns: Sequence[int]) -> NDArray[np.uint64]:
    """(n,), a number for what rows hold in these columns: equal for equal rows, and for others hardly ever.

    Bits of the entries times odd numbers, one column after the other: no copy of the table is made. Each column has a
    number of its own, so that keys of some columns and of the others may be added.
    """
    keys, drawn = np.zeros(len(rows), np.uint64), np.random.default_rng(0).integers(2**62, size=(rows.x.shape[1], 2))
    drawn = drawn[list(columns)]
    odd, at_once = drawn.astype(np.uint64) * np.uint64(2) + np.uint64(1), max(1, NUMBERS_AT_HAND // max(len(rows), 1))
    for start in range(0, len(columns), at_once):  # sums of whole numbers, whatever their order
        some = slice(start, start + at_once)
        bits = (_listed_columns(rows.x, columns[some]) + 0.0).view(np.uint64)  # no negative zeros
        bits ^= bits >> np.uint64(29)
        bits *= odd[some, :1]
        keys += bits.sum(axis=0, dtype=np.uint64)
        if rows.seen is not None:
            keys += odd[some, 1] @ (_listed_columns(rows.seen, columns[some]) > 0).astype(np.uint64)
    return keys


def _listed_columns(x: Array, columns: Sequence[int]) -> Floats:
    """(m, n), columns of (n, D) as rows on the host; one after the other where they come from elsewhere."""
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x.T[columns], dtype=np.float64)
    return np.stack([host(x[:, j]) for j in columns])


def _doubt_levels(part: Floats, names: Sequence[str]) -> None:
    found = []
    for j in range(part.shape[1]):
        seen = part[~np.isnan(part[:, j]), j]
        n_levels = len(np.unique(seen))
        if 1 < n_levels <= MOST_LEVELS and len(seen) >= LEAST_REPEATS * n_levels:
            found.append((names[j], n_levels))
    if found:
        name, n_levels = found[0]
        others = [each for each, _ in found[1:]]
        also = f"; so have {listed(map(str, others))}" if others else ""
        warn(
            FewValues(
                f"column {str(name)!r} has only {n_levels} distinct values{also}: a normal cluster fits each of them "
                "closely, so that each value may become a cluster.",
                "Leave such columns out, give binary ones to latens.BernoulliMixture, or use a model for columns of "
                "any kind, latens.LatentClassAnalysis.",
            )
        )
