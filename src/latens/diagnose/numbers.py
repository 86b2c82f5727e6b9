"""How many components: the same model with each of several numbers, beside each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from latens.diagnose.budget import Budget
from latens.diagnose.comparison import compare
from latens.diagnose.result import Result
from latens.errors import LatensWarning
from latens.estimators.comparisons.copies import fit_beside, like, takes
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.fitting.context import keeping_journals
from latens.system.summary_table import Table

__all__ = ["Sweep", "sweep"]


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """What `latens.sweep` found.

    Attributes
    ----------
    table : Table
        One row for each number of components, from the smallest on.
    models : dict of int to fitted estimator
        The fits, each with exactly that many components.
    best : int or None
        The number that is clearly ahead of all others, or None.
    leader : int or None
        The number that is ahead, clearly or not; None if nothing can be compared.
    verdict : str
        The same in a sentence.
    """

    models: dict[int, Any]
    best: int | None
    leader: int | None
    label: str  # of what is drawn
    heights: tuple[float, ...]
    errors: tuple[float, ...]  # paired standard errors of the differences to the leader; NaN where there are none

    title: ClassVar[str] = "How many components"
    picture: ClassVar[str] = "sweep"


def sweep(
    model: Any,
    X: Any,
    n_components: Iterable[int] = range(2, 13),
    *,
    X_test: Any = None,
    max_time: float | None = None,
    checkpoint: Any = None,
    **fit_params: Any,
) -> Sweep:
    """Fit a model with each number of components, exactly, and compare.

    From the second number on, a fit also starts from the fit with one component fewer, with one component split or a
    new one added, as moves propose; the fit with the higher bound is kept.

    Parameters
    ----------
    model : estimator
        All its settings are used except `n_components` and `prune`; it is not changed.
    X : rows
        As its `fit` accepts them.
    n_components : iterable of int
        Numbers to try.
    X_test : rows, optional
        Rows that are not in X, to compare fits by their log density. Without them bounds are compared, if all
        parameters have priors.
    max_time : float, optional
        Seconds for all fits together. A fit that uses up its share of them keeps its best state; numbers for which no
        time was left are not in the table.
    checkpoint : path, optional
        A folder to which every fit saves its state: an interrupted job continues when it is called again, with the same
        result. The files are removed at the end.
    **fit_params
        Other arguments of `fit`, such as `sample_weight`.

    Returns
    -------
    Sweep
        With `.models`, `.best`, `.table`, `.plot()` and `.report(path)`.

    Examples
    --------
    >>> import latens
    >>> X, _ = latens.datasets.make_mixture(300, n_components=3, spread=8.0, random_state=0)
    >>> found = latens.sweep(latens.GaussianMixture(random_state=0), X, range(1, 5))
    >>> found.best, found.models[4].n_components_
    (3, 4)
    """
    numbers = _numbers(model, n_components)
    budget, fits = Budget(max_time), dict[int, Any]()
    with keeping_journals(checkpoint):
        for at, k in enumerate(numbers):
            if budget.over and fits:
                break
            fits[k] = _fit(model, k, fits.get(k - 1), budget.share(len(numbers) - at, model.max_time), X, fit_params)
    left_out = numbers[len(fits) :]
    return _result(fits, X_test, left_out)


def _numbers(model: Any, given: Iterable[int]) -> list[int]:
    if not hasattr(model, "get_params") or not takes(model, "n_components") or not takes(model, "prune"):
        raise ValueError(f"{type(model).__name__} has no number of components to try.")
    numbers = sorted({int(k) for k in given if float(k) == int(k)})
    if not numbers or numbers[0] < 1:
        raise ValueError(f"n_components={given!r} holds no whole number from 1 on; give a range such as range(2, 13).")
    return numbers


def _fit(model: Any, k: int, smaller: Any, seconds: float | None, X: Any, fit_params: dict[str, Any]) -> Any:
    one = like(model, n_components=k, prune=False, warm_start=False, max_time=seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatensWarning)  # each fit keeps its own, and the table says what matters
        warnings.filterwarnings("ignore", message=".*used all max_")
        return fit_beside(one, smaller, X, fit_params)


def _result(fits: dict[int, Any], X_test: Any, left_out: list[int]) -> Sweep:
    note = f" No time was left for {', '.join(map(str, left_out))}." if left_out else ""
    bounds = np.array([fit.elbo_ for fit in fits.values()])
    points = X_test is None and any(getattr(fitted_parts(fit).model, "points", False) for fit in fits.values())
    if len(fits) < 2 or points:
        why = (
            "These are point estimates, whose bound grows with the number of components: pass X_test=rows that are "
            "not in X, or set prior='ard'."
            if points
            else "One number of components cannot be compared."
        )
        rows = tuple((k, float(fit.elbo_), _yes(fit)) for k, fit in fits.items())
        table = Table(("components", "bound", "converged"), rows)
        blank = (float("nan"),) * len(fits)
        return Sweep(table, why + note, dict(fits), None, None, "bound (nats)", tuple(bounds.tolist()), blank)
    found = compare({f"K={k}": fit for k, fit in fits.items()}, X_test)
    place = {_number(name): i for i, name in enumerate(found.table["model"])}
    by_bound = found.by == "bound"
    columns = ("bound", "difference", "probability") if by_bound else ("mean log density", "difference", "error")
    chosen_columns = [found.table[name] for name in columns]
    rows = tuple((k, *(column[place[k]] for column in chosen_columns), _yes(fit)) for k, fit in fits.items())
    leader = _number(found.table["model"][0])
    more = leader == max(fits) and not left_out
    edge = " It is the largest number that was tried: try more." if more else ""
    return Sweep(
        Table(("components", *columns, "converged"), rows),
        found.verdict.replace("'", "") + edge + note,
        dict(fits),
        None if found.best is None else _number(found.best),
        leader,
        "bound (nats)" if by_bound else "mean log density of a row (nats)",
        tuple(float(chosen_columns[0][place[k]]) for k in fits),
        tuple(float("nan") if by_bound else float(chosen_columns[2][place[k]]) for k in fits),
    )


def _yes(fit: Any) -> str:
    return "yes" if fit.converged_ else "no"


def _number(name: str) -> int:
    return int(name.removeprefix("K="))
