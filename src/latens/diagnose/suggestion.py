"""Which hidden structure a table has: candidates ranked by how well they fill cells that were hidden from them.

Rows are dealt into three folds. A candidate is fitted to two of them; in the rows of the third, the columns are dealt
into groups, each group is hidden in turn, and every hidden cell is scored alone given what its row still shows. Cells,
scaling and kinds of columns are the same for all candidates, and differences are paired by rows.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

import latens
from latens.array import Floats, Index
from latens.diagnose.budget import LEAST_SECONDS, Budget, refuse_unseeded
from latens.diagnose.candidates import COUNT_LIKELIHOOD, VIEW_LIKELIHOODS, Candidate, baselines, candidates
from latens.diagnose.cells import CellTable
from latens.diagnose.comparison import CLEAR_ERRORS
from latens.diagnose.result import Ranked, Result
from latens.estimators.fitting.context import keeping_journals
from latens.estimators.frames.roles import from_table
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.information_criteria import row_weights
from latens.estimators.rows.exposures import TOTAL, column_aside, exposure_numbers, log_exposures
from latens.intake import Intake, read
from latens.intake.columns import COVARIATE
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask, require
from latens.system.seeds import generator, seed_beside
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["Suggestion", "suggest"]

FOLDS = 3
N_GROUPS = 3  # of columns that are hidden together
FEWEST_CELLS = 300  # that must be scored for a word about structure
ENOUGH_CELLS = 6000  # with so many in one fold, one is enough
REFIT_SHARE = 0.25  # of the time, for the fit of the winner to all rows

COLUMNS = (
    *("structure", "estimator", "components", "score", "above independent", "error above"),
    *("from other cells", "error from cells", "behind first", "error"),
)
NOTE_ON_ERRORS = (
    "from other cells: what the shown cells of a row add to the score; the rest is the shapes of single columns\n"
    "error above, error from cells: standard errors of the column before\n"
    "error: standard error of how far a structure is behind the first, which is not behind itself"
)
QUESTION = (
    "covariance_type",
    "fit_intercept",
    "noise",
    "prior",
)  # settings of a candidate that its fit to all rows has too


@dataclass(frozen=True, repr=False)
class Suggestion(Result):
    """What `latens.suggest` found.

    Attributes
    ----------
    table : Table
        One row for each candidate and baseline, the best first: its score in nats a cell, the difference to independent
        columns, what the shown cells of a row add to the score of a hidden one, and the difference to the first, each
        with its paired standard error.
    best : str or None
        The structure that predicts hidden cells clearly better than every other; None if there is none.
    leader : str or None
        The simplest of those that are not clearly behind the first; None if nothing was found.
    nothing : bool
        Whether no candidate predicts hidden cells clearly better than independent columns, or only by the shapes of
        single columns: the shown cells of a row then add nothing clear.
    model : fitted estimator or None
        The leader, fitted to all rows with its usual settings; None with `refit=False`.
    n_cells : int
        Number of hidden cells that were scored.
    verdict : str
        The same in a sentence.
    """

    best: str | None
    leader: str | None
    nothing: bool
    model: Any
    n_cells: int
    ranked: Ranked

    title: ClassVar[str] = "What fills hidden cells best"
    picture: ClassVar[str] = "ranking"


@dataclass(frozen=True, eq=False)
class _Scored:
    """A candidate with the scores of its cells."""

    candidate: Candidate
    scores: Floats  # (n, C), NaN where a cell was not scored
    alone: Floats  # (n, C), scores of the same cells where nothing of their rows is shown
    model: Any  # fitted to the rows of the last fold
    is_baseline: bool
    was_cut: bool = False  # whether a fit ended with its time

    @property
    def estimator(self) -> str:
        return type(self.model).__name__

    @property
    def is_structure(self) -> bool:
        """Whether it found any: one cluster or class is what a baseline has too."""
        return not self.is_baseline and int(self.model.n_components_) > int(hasattr(self.model, "predict_proba"))


def suggest(
    X: Any,
    max_time: float | None = 60,
    path: str | os.PathLike[str] | None = None,
    *,
    random_state: Any = 0,
    sample_weight: Any = None,
    exposure: Any = None,
    refit: bool = True,
    checkpoint: Any = None,
    progress: Callable[[str], None] | None = None,
) -> Suggestion:
    """Rank clusters, classes, factors, switches and sources by the log probability of hidden cells of a table.

    Parameters
    ----------
    X : array, data frame, path of a file, or what `latens.read` made of it
        Rows are samples; columns of any kind. At most 2,000 rows are used.
    max_time : float, optional
        Seconds for everything; None: only iterations are limited, by the size of the table, so that the result does
        not depend on the machine. The verdict names candidates that ran out of time.
    path : path-like, optional
        File to which the result is written as a page.
    random_state : int, RandomState or Generator
        Seed of the folds and groups.
    sample_weight : array of shape (n,), optional
        How often each row counts, in fits and in scores. By default those of `latens.read(..., weights=)`. The rows of
        a table of counts (whole weights, rows without fractions) are repeated, so that a row may be fitted and scored.
    exposure : array of shape (n,) or str, optional
        Exposure of the counts of each row: positive numbers, or the name of a column of a data frame. By default those
        of `latens.read(..., exposure=)`. Only structures that support exposures are then tried: classes, and
        factors over views.
    refit : bool
        Whether to fit the leader to all rows, as `.model`.
    checkpoint : path, optional
        A folder to which every fit saves its state: an interrupted job continues when it is called again with the same
        `random_state`, with the same result. The files are removed at the end.
    progress : callable, optional
        Called with a short text before each structure is tried.

    Returns
    -------
    Suggestion
        With `.best`, `.leader`, `.model`, `.table`, `.plot()` and `.report(path)`. The best
        structure need not be the true one: clusters with full covariances do well wherever tails are heavy.

    Examples
    --------
    >>> import latens
    >>> X, _ = latens.datasets.make_shapes(20, random_state=0)
    >>> latens.suggest(X[:, :5]).verdict
    'Too few to tell: 100 cells could be hidden and scored; 300 would be needed.'
    >>> X, _ = latens.datasets.make_shapes(300, random_state=0)
    >>> latens.suggest(X, max_time=None).best  # doctest: +SKIP
    'switches'
    """
    refuse_unseeded(checkpoint, random_state)
    rng, budget = generator(random_state), Budget(max_time)
    if isinstance(X, Scan) or is_dask(X):
        raise TypeError(
            f"suggest compares models on rows in memory, and X is a {type(X).__name__} of blocks; give it some of the "
            "rows, such as the first block of a scan, latens.suggest(scan[0]), or the head of a Dask dataframe."
        )
    X, beside = _beside_rows(X, sample_weight, exposure)
    table = CellTable.of(X, rng, *beside)
    if table.exposure is not None and "count" not in table.kinds:
        raise ValueError(
            f"exposure is for counts, and no column that is used holds counts, whole numbers from 0 "
            f"({listed(table.names)}); leave exposure out."
        )
    if table.n_columns < 2:
        raise ValueError(f"X has {table.n_columns} column that can be used; a hidden cell needs others beside it.")
    possible = int(np.sum(~np.isnan(table.exact)))
    if possible < FEWEST_CELLS:
        found = _too_few(possible)
    else:
        with keeping_journals(checkpoint):
            scored = _score_all(table, budget, rng, progress)
            found = _ranked(table, scored)
            if refit and found.leader is not None:
                found = replace(found, model=_refit(found.leader, X, table, scored, budget, beside))
    if path is not None:
        found.report(path)
    return found


def _beside_rows(X: Any, sample_weight: Any, exposure: Any) -> tuple[Any, tuple[Floats | None, Floats | None]]:
    """X without the column of exposures that is named; how often rows count and their exposures, None where not given.

    What a table was read with is taken; groups and covariates are refused.
    """
    if isinstance(X, Intake):
        for role, name in (("groups", X.name_of_role("groups")), ("covariates", X.name_of_role(COVARIATE))):
            if name is not None:
                raise ValueError(
                    f"suggest knows no {role}; read the table without {role}={name!r} and name the columns to use, or "
                    "fit latens.MultiViewFactorAnalysis, which does."
                )
    if isinstance(exposure, str) and exposure == TOTAL:
        raise ValueError(
            "exposure='total' is made of the cells that suggest hides; give numbers that are known beside them, or "
            "leave it out."
        )
    if isinstance(exposure, str) and not isinstance(X, Intake):
        X, exposure = column_aside(X, exposure)
    weight, numbers = from_table(X, sample_weight=sample_weight, exposure=exposure)
    if weight is None and numbers is None:
        return X, (None, None)
    n = X.n_rows if isinstance(X, Intake) else X.shape[0] if hasattr(X, "shape") else len(X)
    if weight is not None:
        weight = row_weights(X, sample_weight, n)
    if numbers is not None:
        numbers = exposure_numbers(in_row_order("exposure", numbers, X))
        if numbers.shape != (n,):
            raise ValueError(f"exposure has shape {numbers.shape}; expected ({n},), one for each row.")
        log_exposures(numbers, np.ones(n, dtype=bool), "give positive numbers, or leave the row out")
    return X, (weight, numbers)


def _too_few(n_cells: int) -> Suggestion:
    words = f"Too few to tell: {n_cells} cells could be hidden and scored; {FEWEST_CELLS} would be needed."
    return Suggestion(Table(COLUMNS, ()), words, None, None, False, None, n_cells, Ranked((), (), (), ""))


def _score_all(
    table: CellTable, budget: Budget, rng: np.random.Generator, progress: Callable[[str], None] | None
) -> list[_Scored]:
    folds = list(_folds(table, rng))
    n_train = min(len(train) for train, _, _ in folds)
    first = baselines(table, n_train)
    every = [*first, *candidates(table, n_train)]
    seed, scored = seed_beside(rng), []
    fits = len(every) * len(folds)
    for done, candidate in enumerate(every):
        if progress is not None:
            progress(f"{candidate.name}, {done + 1} of {len(every)}")
        scores, model = np.full(table.exact.shape, np.nan), None
        alone, cut = scores.copy(), False
        for train, test, groups in folds:
            share = budget.share(fits)
            if share is not None:
                share = max(share * (1 - REFIT_SHARE), LEAST_SECONDS)
            fits -= 1
            began = time.monotonic()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of short fits to a part of the rows
                model = candidate.fit(table, train, share, seed)
                cut = cut or (share is not None and not model.converged_ and time.monotonic() - began >= share)
                seen = table.seen_in(train)[test]
                alone[test] = candidate.score(model, table, test, seen)
                for group in groups:
                    hidden = np.zeros_like(seen)
                    hidden[:, group] = seen[:, group]
                    hidden &= (seen & ~hidden).any(axis=1, keepdims=True)  # a row that shows nothing says nothing
                    at = candidate.score(model, table, test, hidden)
                    scores[test] = np.where(hidden, at, scores[test])
        scored.append(_Scored(candidate, scores, alone, model, candidate in first, cut))
    return scored


def _folds(table: CellTable, rng: np.random.Generator) -> Iterator[tuple[Index, Index, list[Index]]]:
    """Training rows, test rows, and the groups of columns that are hidden in these."""
    n, c = len(table), table.n_columns
    order, groups = rng.permutation(n), min(N_GROUPS, c)
    enough = n * c >= FOLDS * ENOUGH_CELLS
    for fold in range(1 if enough else FOLDS):
        test = np.sort(order[fold::FOLDS])
        train = np.setdiff1d(np.arange(n), test)
        columns = rng.permutation(c)
        yield train, test, [np.sort(columns[group::groups]) for group in range(groups)]


def _ranked(table: CellTable, scored: list[_Scored]) -> Suggestion:
    cells = np.all([~np.isnan(one.scores) for one in scored], axis=0)
    n_cells = int(cells.sum())
    share = np.ones(len(table))
    if table.weight is not None:  # by it rows count in means; cells are as many as there are
        share = table.weight * (n_cells / max(float(table.weight @ cells.sum(axis=1)), np.finfo(float).tiny))
    sums = [share * np.where(cells, one.scores, 0.0).sum(axis=1) for one in scored]
    gained = [share * np.where(cells, one.scores - one.alone, 0.0).sum(axis=1) for one in scored]
    means = [float(total.sum()) / max(n_cells, 1) for total in sums]
    order = sorted(range(len(scored)), key=lambda i: -means[i])
    top, base = order[0], next(i for i, one in enumerate(scored) if one.candidate.name == "independent columns")
    rows, errors = [], []
    for i in order:
        error = _error(sums[i] - sums[top], n_cells) if i != top else float("nan")
        one = scored[i]
        errors.append(error)
        is_other = i != base
        rows.append(
            (
                *(one.candidate.name, one.estimator, int(one.model.n_components_), means[i], means[i] - means[base]),
                _error(sums[i] - sums[base], n_cells) if is_other else float("nan"),
                float(gained[i].sum()) / max(n_cells, 1) if is_other else 0.0,
                _error(gained[i], n_cells) if is_other else float("nan"),
                *(means[i] - means[top], error),
            )
        )
    ranked = Ranked(
        tuple(scored[i].candidate.name for i in order),
        tuple(means[i] - means[top] for i in order),
        tuple(errors),
        "log probability of a hidden cell",
    )
    verdict = _verdict(scored, sums, means, gained, n_cells)
    words = verdict.words + (f" ({'; '.join(table.notes)}.)" if table.notes else "")
    short = [one.candidate.name for one in scored if one.was_cut]
    words += f" Time was over before {listed(short, form=str)} had ended: more of it may change the answer." * bool(
        short
    )
    found = Table(COLUMNS, tuple(rows), note=NOTE_ON_ERRORS)
    return Suggestion(found, words, verdict.best, verdict.leader, verdict.nothing, None, n_cells, ranked)


def _error(differences: Floats, n_cells: int) -> float:
    """Standard error of a mean over cells, those of a row together."""
    n = len(differences)
    return float(np.sqrt(n * np.var(differences, ddof=1)) / max(n_cells, 1))


class _Verdict(NamedTuple):
    words: str
    best: str | None = None
    leader: str | None = None
    nothing: bool = False


def _verdict(
    scored: list[_Scored], sums: list[Floats], means: list[float], gained: list[Floats], n_cells: int
) -> _Verdict:
    """What sums over the cells of rows say; `gained` (n,) is what the seen cells of rows added to them."""
    if n_cells < FEWEST_CELLS:
        return _Verdict(_too_few(n_cells).verdict)
    names = [one.candidate.name for one in scored]
    base = names.index("independent columns")
    structures = [i for i, one in enumerate(scored) if one.is_structure]
    top = max(structures, key=lambda i: means[i], default=base)

    def clearly_above(i: int, j: int) -> bool:
        return means[i] - means[j] > CLEAR_ERRORS * _error(sums[i] - sums[j], n_cells)

    # a model may beat normal columns by their shapes alone: what matters is what cells say about each other
    from_cells, its_error = [float(g.sum()) / n_cells for g in gained], [_error(g, n_cells) for g in gained]
    informed = [
        i for i in structures if from_cells[i] > CLEAR_ERRORS * its_error[i] and clearly_above(i, base)
    ]  # the simplest first
    if informed and top not in informed:
        others = " and ".join(names[i] for i in informed)
        return _Verdict(
            f"No clear winner: {names[top]} fill hidden cells best, but by the shapes of single columns; the shown "
            f"cells of a row clearly add to the scores of {others} ({n_cells:,} cells).",
            leader=names[informed[0]],
        )
    if not informed:
        correlated = [i for i, one in enumerate(scored) if one.is_baseline and clearly_above(i, base)]
        near = [i for i in structures if means[i] > means[base] and correlated and not clearly_above(correlated[0], i)]
        if near:
            gain = f"{means[correlated[0]] - means[base]:.2f} nats a cell above independent columns"
            words = (
                f"{names[correlated[0]]} fills hidden cells best, {gain}, and {' and '.join(names[i] for i in near)}"
            )
            errors = f"come within {CLEAR_ERRORS:g} standard errors of it ({n_cells:,} cells)"
            return _Verdict(f"No clear winner: {words} {errors}.", leader=names[near[0]])
        why = "no structure fills hidden cells clearly better than independent columns"
        if clearly_above(top, base):
            why = (
                f"{names[top]} fill hidden cells {means[top] - means[base]:.2g} nats a cell better than independent "
                "columns, but by the shapes of single columns; what the shown cells of a row add is not clear, "
                f"{from_cells[top]:.2g} nats a cell with a standard error of {its_error[top]:.2g}"
            )
        return _Verdict(f"Nothing: {why} ({n_cells:,} cells).", nothing=True)
    rivals = [i for i, one in enumerate(scored) if i != top and (one.is_baseline or one.is_structure)]
    near = [i for i in rivals if not clearly_above(top, i)]
    gain = f"{means[top] - means[base]:.2f} nats a cell above independent columns"
    if not near:
        name, finds = names[top], scored[top].candidate.finds
        return _Verdict(
            f"{name.capitalize()} ({finds}) fill hidden cells best: {gain} ({n_cells:,} cells).", name, name
        )
    leader = min([top, *(i for i in near if i in structures)], key=structures.index)
    words = f"{names[top]} fill hidden cells best, {gain}, but {' and '.join(names[i] for i in near)} come within"
    errors = f"{CLEAR_ERRORS:g} standard errors ({n_cells:,} cells)"
    simplest = f"; {names[leader]} are the simplest structure of these" if leader != top else ""
    return _Verdict(f"No clear winner: {words} {errors}{simplest}.", leader=names[leader])


def _refit(
    leader: str,
    X: Any,
    cells: CellTable,
    scored: list[_Scored],
    budget: Budget,
    beside: tuple[Floats | None, Floats | None],
) -> Any:
    """The winner with its usual settings on all rows, in what is left of the time."""
    chosen = next(one for one in scored if one.candidate.name == leader)
    estimator, asked = chosen.estimator, chosen.model.get_params(deep=False)
    seconds = None if budget.seconds is None else max(budget.left, REFIT_SHARE * budget.seconds)
    settings = {name: asked[name] for name in QUESTION if name in asked} | {"random_state": 0, "max_time": seconds}
    rows: Any = X
    if estimator == "LatentClassAnalysis":  # counts are what they were where it won
        counts = [name for name, kind in zip(cells.names, cells.kinds, strict=True) if kind == "count"]
        settings["likelihoods"] = dict.fromkeys(counts, COUNT_LIKELIHOOD) or None
    if beside[1] is not None and not isinstance(X, Intake) and not hasattr(X, "columns"):
        X = require("pandas", "table").DataFrame(X)  # models that know exposures are told which columns are counts
    if isinstance(X, str | os.PathLike | Intake) or hasattr(X, "columns"):
        table = X if isinstance(X, Intake) else read(X)
        if estimator == "LatentClassAnalysis":
            rows = table.frame
        elif estimator == "MultiViewFactorAnalysis" and beside[1] is not None:
            rows = table.frame  # its kinds of columns are those of the cells
        elif estimator == "MultiViewFactorAnalysis":
            rows = table.views()
            settings["likelihoods"] = {view: VIEW_LIKELIHOODS[view] for view in rows}
        else:
            rows = table.encoded().frame()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*used all max_")
        given = {
            name: each for name, each in zip(("sample_weight", "exposure"), beside, strict=True) if each is not None
        }
        began = time.monotonic()
        model = getattr(latens, estimator)(**settings).fit(rows, **given)
    if seconds is not None and (model.converged_ or time.monotonic() - began < seconds):
        model.set_params(max_time=None)  # time bounded this search, and is no setting of the model that it found
    return model
