"""Whether components come back: fits to halves of the rows, compared with the fit to all and with each other.

Rows are dealt into pairs of halves, without replacement, since repeated rows would make clusters of their own. A
component returns in a pair if it has a counterpart in both halves and the two counterparts agree: halves share no row,
so that what noise suggests in one is not in the other. Components agree by the correlation of draws of their codes, in
the rows of either half, which needs no sign, scale or order:

    Cov(E[a], E[b]) / sqrt(Var(a) Var(b)),   Var(a) = Var(E[a]) + E[Var(a | row)]

Posterior means alone would not do: a component that is left empty says of every row that it is as good as absent, and
how good that is goes by the row's distance from the centre, in every half alike. Over all rows it would not do either:
a cluster of one extreme row is found again by a half without it, in the component that it left empty. A factor that
is a single column with next to no noise is that column in every half, without being the cause of anything: codes of
factors are told without such columns, and without the one that goes most with the factor. How well chance
agrees is found from rows whose columns were shuffled one by one: by the component that agrees best there. Columns that
have humps of their own keep them when they are shuffled, and clusters at these humps return by right, not by chance:
hence what is asked for has a most, and chance is never taken for more than it may be. That most is a share of what
draws from the fit to all rows would agree by with each other: of a weak component no half can say more than all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtri
from scipy.stats import binomtest

from latens.array import Floats, Index
from latens.array.transfer import host, is_sparse
from latens.diagnose.budget import Budget, refuse_unseeded
from latens.diagnose.hidden_entries import mixed_frame
from latens.diagnose.result import Result
from latens.estimators.comparisons.copies import like
from latens.estimators.factor_analysis.estimator import FactorAnalysis
from latens.estimators.fitting.context import keeping_journals
from latens.estimators.frames.roles import refuse_roles
from latens.estimators.frames.row_labels import beside_rows, joined_by_name
from latens.estimators.multi_view.exposure import exposure_aside
from latens.estimators.multi_view.tables.wide import of_samples, tables_of
from latens.intake import Intake
from latens.system.seeds import generator
from latens.system.summary_table import Table

__all__ = ["Stability", "stability"]

N_SHUFFLED = 8  # pairs of shuffled halves that show what chance does
CHANCE = 0.1  # of shuffled tables whose best component agrees better than is asked for
LEAST_AGREEMENT = 0.3  # correlation of draws that is always asked for
MOST_AGREEMENT = 0.7  # the most that is asked for, as a share of how well a component agrees with itself
MOST_COVERED = 5000  # rows of a half of which cells are hidden
N_COVERED = 4  # pairs in which intervals of hidden cells are looked at
HIDDEN_SHARE = 0.1  # share of the cells that are hidden there
LEVEL, TAILS = 0.9, (0.05, 0.95)  # of intervals of hidden cells
FEWEST_CELLS = 50  # hidden ones below which a coverage of .9 is known no better than to about .08
FEWEST_ROWS = 8
LITTLE_NOISE = 0.1  # share of a column's variance below which its noise is next to nothing


@dataclass(frozen=True, repr=False)
class Stability(Result):
    """What `latens.stability` found.

    Attributes
    ----------
    table : Table
        One row for each component: its name, the rate at which it returned, and this rate above chance.
    return_rate : array (K,)
        Share of the pairs of halves in which each component returned, above chance: 0 is chance, 1 is always.
    coverage : float
        Share of hidden cells inside the 90 % interval of the fit to the other half, for measurements only (not for
        yes/no, levels and counts). NaN if there are none, and the verdict says so.
    n_hidden : int
        Number of these cells, summed over pairs of halves.
    coverage_interval : tuple of float
        The 95 % interval (Wilson's) of the coverage, as for this number of independent cells. NaN if there are none.
    n_pairs : int
        Number of pairs of halves that were fitted.
    verdict : str
        The same in a sentence.
    """

    return_rate: Floats
    coverage: float
    n_pairs: int
    names: tuple[str, ...]
    n_hidden: int = 0
    coverage_interval: tuple[float, float] = (float("nan"), float("nan"))

    title: ClassVar[str] = "Do the components come back"
    picture: ClassVar[str] = "return_rates"


def stability(
    model: Any,
    X: Any,
    n_samples: int = 50,
    *,
    max_time: float | None = None,
    random_state: Any = 0,
    checkpoint: Any = None,
    **fit_params: Any,
) -> Stability:
    """Fit a model to random halves of the rows, and measure how often each of its components returns.

    Parameters
    ----------
    model : estimator
        Fitted to X; if it is not, it is cloned and fitted first.
    X : rows
        As its `fit` accepts them: arrays, data frames, or a dict of them by view.
    n_samples : int
        Number of half-samples, in pairs that share no row.
    max_time : float, optional
        Seconds for everything; with a limit there may be fewer pairs (see `n_pairs`).
    random_state : int, RandomState or Generator
        Seed of the halves.
    checkpoint : path, optional
        A folder to which every fit saves its state: an interrupted job continues when it is called again with the same
        `random_state`, with the same result. The files are removed at the end.
    **fit_params
        Other arguments of `fit` that belong to its rows, such as `sample_weight`.

    Returns
    -------
    Stability
        With `.return_rate`, `.coverage`, `.table`, `.plot()` and `.report(path)`.

    Examples
    --------
    >>> import latens
    >>> X, _ = latens.datasets.make_mixture(200, n_components=3, spread=9.0, random_state=0)
    >>> model = latens.GaussianMixture(random_state=0).fit(X)
    >>> bool(latens.stability(model, X, n_samples=4).return_rate.min() > 0.9)
    True
    """
    if int(n_samples) < 2:
        raise ValueError(f"n_samples={n_samples!r} are no pair of halves; give 2 or more, 50 by default.")
    refuse_unseeded(checkpoint, random_state)
    X, fit_params = _columns_aside(model, X, fit_params)
    n, rng, budget = _n_rows(X), generator(random_state), Budget(max_time)
    if n < FEWEST_ROWS:
        raise ValueError(f"X has {n} rows; halves need at least {FEWEST_ROWS} rows each.")
    with keeping_journals(checkpoint):
        return _compared(model, X, int(n_samples) // 2, rng, budget, beside_rows(X, fit_params))


def _columns_aside(model: Any, X: Any, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Rows without columns that are no features, which would be shuffled with them, and what goes with rows."""
    names, known = ("groups", "sample_weight", "exposure", "covariates"), signature(model.fit).parameters
    if isinstance(X, Intake) and "groups" not in known:
        refuse_roles(model, X)
    of_table = zip(names, of_samples(X, *(fit_params.get(name) for name in names)), strict=True)
    given = fit_params | {name: value for name, value in of_table if value is not None}
    if isinstance(X, Intake) and "exposure" not in known:
        return X.encoded().frame(), given  # of models that take numbers alone
    X, exposure = exposure_aside(tables_of(X), given.get("exposure"))
    X = joined_by_name(X)  # halves are by place
    return X, given if exposure is None else given | {"exposure": exposure}


def _compared(
    model: Any, X: Any, pairs: int, rng: np.random.Generator, budget: Budget, fit_params: dict[str, Any]
) -> Stability:
    """Fits to so many pairs of halves, and what comes back in them."""
    n = _n_rows(X)
    whole = model if hasattr(model, "n_components_") else _fitted(model, X, None, fit_params)
    # halves have as many components as all rows: one that the bound of half the rows just does not pay for is there
    alike = like(whole, n_components=int(whole.n_components_), prune=False) if whole.n_components_ else whole
    shuffled, covered = list[Floats](), list[tuple[int, int]]()
    agreement = list[Floats]()
    for at in range(pairs):
        if budget.over and agreement:
            break
        halves = np.array_split(rng.permutation(n), 2)
        fits = [_fitted(alike, X, np.sort(half), fit_params) for half in halves]
        agreement.append(_agreement(whole, fits, X, halves, fit_params))
        if at < N_COVERED:
            other = np.sort(halves[1][:MOST_COVERED])
            beside = {name: _rows_of(value, other) for name, value in fit_params.items()}
            covered.append(_covered(fits[0], _rows_of(X, other), rng, beside))
        if at < N_SHUFFLED and whole.n_components_:
            shuffled.append(_by_chance(alike, X, halves, rng, fit_params))
    reliability = _codes(whole, X, fit_params).reliability()
    late = f" Time was over after {len(agreement)} of {pairs} pairs." if len(agreement) < pairs else ""
    found = _result(whole, np.array(agreement), reliability, shuffled, covered)
    return replace(found, verdict=f"{found.verdict}{late}")


def _fitted(model: Any, X: Any, rows: Index | None, fit_params: dict[str, Any]) -> Any:
    part = X if rows is None else _rows_of(X, rows)
    given = fit_params if rows is None else {name: _rows_of(value, rows) for name, value in fit_params.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about halves of the rows
        return like(model, warm_start=False).fit(part, **given)


@dataclass(frozen=True, eq=False)
class _Codes:
    """What a fit says of every row's codes."""

    mean: Floats  # (n, K)
    covariance: Floats  # (n or 1, K, K), given the parameters

    def of(self, rows: Index) -> _Codes:
        return _Codes(self.mean[rows], self.covariance if len(self.covariance) == 1 else self.covariance[rows])

    def turned(self, axes: Floats) -> _Codes:
        """Of the sums that each column of `axes` (K, L) makes of the codes."""
        return _Codes(self.mean @ axes, axes.T @ self.covariance @ axes)

    def correlations(self, other: _Codes) -> Floats:
        """(K, L), of draws from two fits, without their signs; 0 for what never varies."""
        a, b = (codes.mean - codes.mean.mean(axis=0) for codes in (self, other))
        return np.asarray(np.abs(a.T @ b) / np.outer(self._length(a), other._length(b)))

    def reliability(self) -> Floats:
        """(K,), the correlation of two draws of the same codes: 1 where every row is sure of them."""
        centred = self.mean - self.mean.mean(axis=0)
        return np.asarray(np.sum(centred**2, axis=0) / self._length(centred) ** 2)

    def _length(self, centred: Floats) -> Floats:
        """(K,), root sums of squares of draws about their mean."""
        doubt = np.diagonal(self.covariance.mean(axis=0))
        total = np.sum(centred**2, axis=0) + len(centred) * doubt
        return np.asarray(np.sqrt(np.maximum(total, np.finfo(float).tiny)))


def _agreement(whole: Any, fits: Sequence[Any], X: Any, halves: Sequence[Index], fit_params: dict[str, Any]) -> Floats:
    """(K,), of each component the least correlation among it and its counterparts in two fits, in either half."""
    if not isinstance(whole, FactorAnalysis):
        return _least_agreement([_codes(fit, X, fit_params) for fit in (whole, *fits)], halves, _matched)
    w, noise = whole.components_, whole.noise_variance_
    lone, total = _lone_columns(w, noise), np.sum(w**2, axis=0) + noise
    values = np.array(X.toarray() if is_sparse(X) else X, dtype=float)
    values[:, lone] = np.nan
    agreed, strongest = np.zeros(len(w)), np.argmax(w**2 / total, axis=1)
    for column in np.unique(strongest):
        rest = values.copy()
        rest[:, column] = np.nan
        codes = [_codes(fit, rest, fit_params) for fit in (whole, *fits)]
        agreed = np.where(strongest == column, _least_agreement(codes, halves, _projected), agreed)
    return agreed


def _lone_columns(w: Floats, noise: Floats) -> NDArray[np.bool_]:
    """(D,), which columns have next to no noise though the others tell less than half of them.

    `w` are loadings (K, D). One factor is that column, or several turned together are several of them.
    """
    total, information = np.sum(w**2, axis=0) + noise, w / np.maximum(noise, np.finfo(float).tiny)
    lone = np.zeros(len(noise), dtype=bool)
    for column in np.flatnonzero(noise < LITTLE_NOISE * total):
        others = np.eye(len(w)) + np.delete(w, column, axis=1) @ np.delete(information, column, axis=1).T
        left = noise[column] + w[:, column] @ np.linalg.solve(others, w[:, column])  # of its variance
        lone[column] = left > 0.5 * total[column]
    return lone


def _least_agreement(
    codes: Sequence[_Codes], halves: Sequence[Index], find: Callable[[_Codes, _Codes], _Codes]
) -> Floats:
    """(K,), of three fits, the first of which says what there is to be found in the others."""
    every, one, other = codes[0], *(find(codes[0], theirs) for theirs in codes[1:])
    pairs = ((every, one), (every, other), (one, other))
    agreed = [np.diagonal(a.of(half).correlations(b.of(half))) for a, b in pairs for half in halves]
    return np.asarray(np.min(agreed, axis=0))


def _codes(model: Any, X: Any, fit_params: dict[str, Any]) -> _Codes:
    # standard deviations of factors hold what is not known of their axes, too; covariances do not
    more = {"return_cov": True} if isinstance(model, FactorAnalysis) else {"return_std": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, spread = model.transform(X, **more, **_wanted(model.transform, fit_params))
    mean, spread = (np.asarray(host(each), dtype=float) for each in (mean, spread))
    if isinstance(model, FactorAnalysis):
        return _Codes(mean, spread if spread.ndim == 3 else spread[None])
    return _Codes(mean, spread[:, :, None] ** 2 * np.eye(mean.shape[1]))


def _wanted(answer: Callable[..., Any], fit_params: dict[str, Any]) -> dict[str, Any]:
    """What an answer takes of what the fit took, such as exposures; weights are of the fit alone."""
    known = signature(answer).parameters
    return {name: value for name, value in fit_params.items() if name in known}


def _matched(every: _Codes, other: _Codes) -> _Codes:
    """The codes of another fit that belong to each component; those that never vary where they are too few."""
    axes = np.zeros((other.mean.shape[1], every.mean.shape[1]))
    axes[linear_sum_assignment(-other.correlations(every))] = 1.0
    return other.turned(axes)


def _projected(every: _Codes, other: _Codes) -> _Codes:
    """What the codes of another fit say of each component together: factors that may be turned."""
    own, theirs = (codes.mean - codes.mean.mean(axis=0) for codes in (every, other))
    return other.turned(np.linalg.lstsq(theirs, own, rcond=None)[0])


def _by_chance(
    alike: Any, X: Any, halves: Sequence[Index], rng: np.random.Generator, fit_params: dict[str, Any]
) -> Floats:
    """Agreement of as many components where columns have nothing to do with each other."""
    noise = _shuffled(X, rng)
    every = _fitted(alike, noise, None, fit_params)
    fits = [_fitted(alike, noise, np.sort(half), fit_params) for half in halves]
    return _agreement(every, fits, noise, halves, fit_params)


def _covered(fit: Any, X: Any, rng: np.random.Generator, beside: dict[str, Any]) -> tuple[int, int]:
    """How many hidden cells lie in their interval, and how many there are; of measurements only.

    Intervals are quantiles where a model has them: a class that a half leaves empty is as wide as its prior, so that a
    chance of one in a hundred of it is most of a variance, and hardly any of a quantile.
    """
    if getattr(fit, "binary", False) or not hasattr(fit, "impute") or is_sparse(X):
        return 0, 0
    frame, given = mixed_frame(fit, X), _wanted(fit.impute, beside)
    if frame is not None:
        numbers = np.asarray(frame.numbers(X), dtype=float)
        hide = _some_cells(numbers, rng)
        return _inside(numbers, *frame.limits(fit, X, hide, given, TAILS), hide & frame.measured)
    views = X if isinstance(X, dict) else {"": X}
    try:
        values = {name: np.array(view, dtype=float) for name, view in views.items()}
    except (TypeError, ValueError):  # levels
        return 0, 0
    likelihoods = getattr(fit, "likelihoods_", {})
    hidden = {name: _some_cells(view, rng) for name, view in values.items()}
    blank = {name: np.where(hidden[name], np.nan, view) for name, view in values.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = _limits(fit, blank if isinstance(X, dict) else blank[""], given)
    inside = total = 0
    for name, view in values.items():
        own = hidden[name] & _numeric(view, name, likelihoods, getattr(fit, "columns_", None))
        start, end = (np.asarray(host(each[name] if isinstance(X, dict) else each)) for each in (low, high))
        more = _inside(view, start, end, own)
        inside, total = inside + more[0], total + more[1]
    return inside, total


def _limits(fit: Any, rows: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Ends of the intervals of missing entries, in the containers of the rows."""
    if "quantiles" in signature(fit.impute).parameters:
        _, found = fit.impute(rows, quantiles=TAILS, **given)
        return found[TAILS[0]], found[TAILS[1]]
    mean, sd = fit.impute(rows, return_std=True, **given)
    return tuple(host(mean) + ndtri(tail) * host(sd) for tail in TAILS)  # type: ignore[return-value]


def _inside(values: Floats, low: Floats, high: Floats, hidden: Any) -> tuple[int, int]:
    """How many of the hidden cells lie in their interval, and how many there are."""
    near = (low <= values) & (values <= high)
    return int(near[hidden].sum()), int(hidden.sum())


def _some_cells(view: Floats, rng: np.random.Generator) -> Any:
    hidden = (rng.random(view.shape) < HIDDEN_SHARE) & ~np.isnan(view)
    hidden[(~np.isnan(view) & ~hidden).sum(axis=1) == 0] = False
    return hidden


def _numeric(view: Floats, name: str, likelihoods: Any, columns: Any) -> Any:
    """(D,), the columns of real numbers."""
    if columns is not None:
        return np.array([kind == "gaussian" for kind in columns.kinds])
    if name and isinstance(likelihoods, dict) and name in likelihoods:
        return np.full(view.shape[1], likelihoods[name] == "gaussian")
    return np.array([len(np.unique(column[~np.isnan(column)])) > 2 for column in view.T])


def _result(
    whole: Any,
    agreement: Floats,
    reliability: Floats,
    shuffled: Sequence[Floats],
    covered: Sequence[tuple[int, int]],
) -> Stability:
    names = tuple(map(str, whole.get_feature_names_out()))
    by_chance = np.array([*(each.max(initial=0.0) for each in shuffled), 0.0])
    asked = np.minimum(np.quantile(by_chance, 1 - CHANCE), MOST_AGREEMENT * reliability).clip(LEAST_AGREEMENT)
    chance = np.minimum(np.mean(by_chance[:, None] >= asked, axis=0), CHANCE) if len(shuffled) else 0.0
    returned = (agreement >= asked).mean(axis=0) if len(agreement) and len(names) else np.zeros(len(names))
    rate = np.clip((returned - chance) / (1 - chance), 0.0, 1.0)
    middle = np.median(agreement, axis=0) if len(names) else np.zeros(0)
    rows = tuple(zip(names, returned.tolist(), rate.tolist(), middle.tolist(), strict=True))
    table = Table(("component", "returned", "above chance", "agreement"), rows)
    inside, total = (sum(each) for each in zip(*covered, strict=True)) if covered else (0, 0)
    words = f"{_words(names, rate, len(agreement))} {_words_on_intervals(inside, total)}"
    coverage = inside / total if total else float("nan")
    limits = _share_limits(inside, total)
    return Stability(table, words, rate, coverage, len(agreement), names, total, limits)


def _share_limits(inside: int, total: int) -> tuple[float, float]:
    """Ends of Wilson's 95 % interval of a share."""
    if not total:
        return float("nan"), float("nan")
    ends = binomtest(inside, total).proportion_ci(method="wilson")
    return float(ends.low), float(ends.high)


def _words_on_intervals(inside: int, total: int) -> str:
    if not total:
        return "Intervals were not checked: the model fills no cells of measurements."
    low, high = (100 * end for end in _share_limits(inside, total))
    words = (
        f"{100 * inside / total:.0f} % of {total:,} hidden {'number' if total == 1 else 'numbers'} lie in their "
        f"{100 * LEVEL:.0f} % interval ({low:.0f} to {high:.0f} % at this number)"
    )
    return f"{words}: too few to tell." if total < FEWEST_CELLS else f"{words}."


def _words(names: Sequence[str], rate: Floats, n_pairs: int) -> str:
    if not names:
        words = "Nothing was found in all rows, so that nothing can return."
    else:
        weak = [name for name, own in zip(names, rate, strict=True) if own < 0.5]
        pairs = "one pair" if n_pairs == 1 else f"most of {n_pairs} pairs"
        words = f"{len(names) - len(weak)} of {len(names)} components return in {pairs} of halves"
        words += f"; not {', '.join(weak[:5])}." if weak else "."
    return words


def _n_rows(X: Any) -> int:
    if isinstance(X, dict):
        return _n_rows(next(iter(X.values())))
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows_of(X: Any, rows: Index) -> Any:
    """These rows, in the container of X."""
    if isinstance(X, dict):
        return {name: _rows_of(view, rows) for name, view in X.items()}
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, str):  # a name, such as "total"
        return X
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def _shuffled(X: Any, rng: np.random.Generator) -> Any:
    """Each column in an order of its own."""
    if isinstance(X, dict):
        return {name: _shuffled(view, rng) for name, view in X.items()}
    n = _n_rows(X)
    if hasattr(X, "iloc"):
        columns = {name: X[name].iloc[rng.permutation(n)].array for name in X.columns}
        return type(X)(columns, index=X.index)
    if hasattr(X, "with_columns"):
        return X.with_columns([X[name].gather(rng.permutation(n)) for name in X.columns])
    dense = X.toarray() if is_sparse(X) else np.asarray(X)
    mixed = np.column_stack([column[rng.permutation(n)] for column in dense.T])
    return type(X)(mixed) if is_sparse(X) else mixed
