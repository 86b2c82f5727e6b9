"""Which of several fitted models to prefer, where that can be said.

Two things can be compared: bounds on the log evidence of the same rows, where every parameter has a prior, and log
densities of rows that no fit has seen. A bound at estimated parameters grows with their number and says nothing, nor
does a density beside a probability mass, which have different units.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import PointEstimating
from latens.diagnose.budget import Budget
from latens.diagnose.result import Ranked, Result
from latens.errors import RowsOfFit, warn
from latens.estimators.fitted_parts import entries_of, fitted_parts, has_fitted_parts
from latens.estimators.fitting.checkpoints import checkpoint_folder
from latens.estimators.information_criteria import row_weights
from latens.estimators.rows.units import Units
from latens.models.likelihoods.names import MEASUREMENTS
from latens.scale.scan import Scan
from latens.system.atomic_write import replacing
from latens.system.fingerprint import fingerprint
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["CLEAR_ERRORS", "CLEAR_NATS", "Comparison", "compare", "paired_error"]

CLEAR_NATS = 3.0  # of a bound above the next: its model is then twenty times as probable
CLEAR_ERRORS = 2.0  # paired standard errors of a difference of held-out densities
ORIGIN_GRID = 2.0**-9  # of a column's sd: origins are means, rounded more finely than this
SAME_ORIGIN = 1e-6  # of a column's unit, up to which two fits moved their rows to the same place


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What `latens.compare` found.

    Attributes
    ----------
    table : Table
        One row for each model, the best first.
    best : str or None
        The model that is clearly ahead, or None.
    by : "bound" or "density"
        What was compared: bounds on the log evidence of the rows of the fits, or log densities of `X_test`.
    verdict : str
        The same in a sentence.
    """

    best: str | None
    by: str
    ranked: Ranked

    title: ClassVar[str] = "Models compared"
    picture: ClassVar[str] = "ranking"


def compare(
    models: Mapping[str, Any],
    X_test: Any = None,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    covariates: Any = None,
    groups: Any = None,
    max_time: float | None = None,
    checkpoint: Any = None,
) -> Comparison:
    """Rank fitted models by their bounds, or by the log density of new rows.

    Without `X_test`, bounds of the log evidence are compared: only among models of the same rows in which every
    parameter has a prior. With `X_test`, log densities of these rows, which should be new to all models, are compared,
    with paired standard errors.

    Parameters
    ----------
    models : dict of str to fitted estimator
        Two or more, by the names that the result uses.
    X_test : rows, optional
        As `score_samples` of the models accepts them; if the models need different forms, a dict of the same rows by
        the names of the models.
    sample_weight : array of shape (n,), optional
        Weight of each row of `X_test` in the mean density; by default those of a table that was read with `weights=`.
    exposure, covariates, groups : array, dict or data frame, optional
        Of `X_test`, for the models that were fitted with them; a dict by the names of the models if they differ. By
        default those of the table that was read.
    max_time : float, optional
        Seconds for the densities of `X_test`; the verdict names models for which no time was left. Two models are
        always compared.
    checkpoint : path, optional
        A folder that stores the densities of each model until all are computed: an interrupted comparison continues.

    Returns
    -------
    Comparison
        Its `best` is None if no model is clearly ahead: the lead is below 3 nats of the bound or two standard errors of
        the mean density, or a model that seems behind has only a lower bound of its density,
        or has not converged, so that its bound may still rise.

    Examples
    --------
    >>> import latens
    >>> X, _ = latens.datasets.make_mixture(300, n_components=3, random_state=0)
    >>> fits = {f"K={k}": latens.GaussianMixture(k, prune=False, random_state=0).fit(X) for k in (1, 3)}
    >>> latens.compare(fits).best
    'K=3'
    """
    models = _checked(models)
    _refuse_other_units(models)
    if X_test is None:
        if sample_weight is not None:
            raise ValueError("sample_weight is of X_test, which is not given: bounds have the weights of their fits.")
        return _by_bound(models)
    beside = {"exposure": exposure, "covariates": covariates, "groups": groups}
    scores = _densities(models, X_test, beside, Budget(max_time), checkpoint)
    left_out = [name for name in models if name not in scores]
    first = next(iter(scores))
    weight = row_weights(_of_model(X_test, first, models), _of_model(sample_weight, first, models), len(scores[first]))
    found = _by_density({name: models[name] for name in scores}, X_test, scores, weight)
    return replace(found, verdict=f"{found.verdict} No time was left for {listed(left_out)}.") if left_out else found


def paired_error(differences: Floats, share: Floats | None = None) -> float:
    """Standard error of the mean of paired differences (n,), where each counts for a share of 1 on average.

    >>> differences = np.array([1.0, 2.0, 6.0])
    >>> paired_error(differences) == paired_error(differences, np.ones(3))
    True
    """
    n = len(differences)
    if n < 2:
        return float("nan")
    if share is None:
        return float(np.std(differences, ddof=1) / np.sqrt(n))
    return float(np.sqrt(np.sum((share * (differences - np.mean(share * differences))) ** 2) / (n - 1) / n))


def _checked(models: Any) -> dict[str, Any]:
    if not isinstance(models, Mapping) or len(models) < 2:
        given = f"{len(models)} model(s)" if isinstance(models, Mapping) else f"a {type(models).__name__}"
        raise ValueError(f"compare was given {given}; give two or more by name, such as {{'K=4': m4, 'K=8': m8}}.")
    for name, model in models.items():
        if not hasattr(model, "elbo_"):
            raise ValueError(f"{name!r} is a {type(model).__name__} that is not fitted; call its fit(X) first.")
    return {str(name): model for name, model in models.items()}


def _refuse_other_units(models: dict[str, Any]) -> None:
    """Columns must be described alike by all: by densities, or by probability masses."""
    (first, one), *others = ((name, _masses(model)) for name, model in models.items())
    for name, other in others:
        if len(one) != len(other):
            raise ValueError(
                f"{first!r} describes {len(one)} columns and {name!r} {len(other)}: numbers about different columns "
                "cannot be compared. Fit both to the same columns."
            )
        by_name = set(one) == set(other)  # views have their columns in an order of their own
        for at, (column, is_mass) in enumerate(one.items()):
            if is_mass == (other[column] if by_name else list(other.values())[at]):
                continue
            mass, density = (first, name) if is_mass else (name, first)
            which = at if column == f"x{at}" else repr(column)
            raise ValueError(
                f"{mass!r} gives column {which} a probability mass and {density!r} a density, "
                "which have different units and cannot be compared. Fit both with the same kinds of columns "
                "(likelihoods=...), or ask latens.suggest(X), which scores all candidates in one unit."
            )


def _masses(model: Any) -> dict[str, bool]:
    """Of each column that a model describes, whether it gives probability masses rather than densities."""
    if hasattr(model, "coef_"):  # a regression describes its target alone
        return {"y": False}
    names, views = _column_names(model._features_as_read())
    if hasattr(model, "layout_"):
        kinds = [model.likelihoods_[view] for view in views]
    elif hasattr(model, "columns_"):
        kinds = list(model.columns_.kinds)
    else:
        kinds = ["bernoulli" if getattr(model, "binary", False) else "gaussian"] * len(names)
    return {name: kind not in MEASUREMENTS for name, kind in zip(names, kinds, strict=True)}


def _column_names(features: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Names of all columns, with that of their view where two views share one; and the view of each."""
    each = [(view, str(name)) for view, names in features.items() for name in names]
    alone = len({name for _, name in each}) == len(each)
    return [name if alone else f"{view}: {name}" for view, name in each], [view for view, _ in each]


def _by_bound(models: dict[str, Any]) -> Comparison:
    for name, model in models.items():
        _refuse_points(name, model)
    for (first, one), (second, other) in pairwise(models.items()):
        _refuse_other_rows(first, one, second, other)
    bounds = {name: float(model.elbo_) for name, model in models.items()}
    order = sorted(bounds, key=lambda name: -bounds[name])
    top = bounds[order[0]]
    chance = np.exp([bounds[name] - top for name in order])
    chance /= chance.sum()
    rows = tuple(
        (name, *_about(models[name]), bounds[name], bounds[name] - top, float(p))
        for name, p in zip(order, chance, strict=True)
    )
    best, verdict = _bound_verdict(order, bounds, models)
    table = Table(("model", "estimator", "components", "converged", "bound", "difference", "probability"), rows)
    ranked = Ranked(tuple(order), tuple(bounds[name] - top for name in order), (float("nan"),) * len(order), "bound")
    return Comparison(table, verdict, best, "bound", ranked)


def _bound_verdict(order: list[str], bounds: dict[str, float], models: dict[str, Any]) -> tuple[str | None, str]:
    """The model that is ahead of all others, and why it is or is not clearly so."""
    leader, rivals = order[0], order[1:]
    lead = bounds[leader] - bounds[rivals[0]]
    words = f"{lead:.1f} nats above {rivals[0]!r}"
    if lead < CLEAR_NATS:
        clear = f"{CLEAR_NATS:g} would be clear"
        return None, f"No clear winner: {leader!r} has the highest bound, but only {words}; {clear}."
    rising = [name for name in rivals if not _has_converged(models[name])]
    if rising:
        return None, (
            f"No clear winner: {leader!r} has the highest bound, {words}, but that of {listed(rising)} may still rise: "
            "the fit ended before it had converged. Give it more time or a larger max_iter."
        )
    return leader, f"{leader!r} has the highest bound, {words}."


def _refuse_points(name: str, model: Any) -> None:
    inner = fitted_parts(model).model if has_fitted_parts(model) else None
    points = isinstance(inner, PointEstimating) and inner.points
    if points or (inner is not None and "prequential" in model.trace_[-1].terms):
        raise ValueError(
            f"{name!r} is a {type(model).__name__} of point estimates, whose bound grows with the number of "
            "parameters and cannot be compared. Pass X_test=rows that no fit has seen, or fit with prior='ard'."
        )


def _refuse_other_rows(first: str, one: Any, second: str, other: Any) -> None:
    """Bounds are of the rows of the fit; what fits keep of their rows must agree."""
    facts = [_rows_of_fit(model) for model in (one, other)]
    for what in ("rows", "column names"):
        a, b = facts[0][what], facts[1][what]
        if a is not None and b is not None and a != b:
            shown = f" ({a:g} and {b:g})" if what == "rows" else ""
            raise ValueError(
                f"{first!r} and {second!r} were fitted to different {what}{shown}: their bounds cannot be compared. "
                "Fit both to the same rows, or pass X_test=rows that neither has seen."
            )
    a, b = facts[0]["origin"], facts[1]["origin"]
    if a is not None and b is not None and (len(a) == len(b) or set(a) & set(b)):
        both = [name for name in a if name in b]  # words and levels have other names in other models
        if both:
            a, b = ({name: each[name] for name in both} for each in (a, b))
        if _close(np.array(list(a.values())), np.array(list(b.values()))):
            return
        raise ValueError(
            f"{first!r} and {second!r} were fitted to rows with different means: their bounds cannot be compared. "
            "Fit both to the same rows, or pass X_test=rows that neither has seen."
        )


def _rows_of_fit(model: Any) -> dict[str, Any]:
    parts = fitted_parts(model) if has_fitted_parts(model) else None
    names = getattr(model, "feature_names_in_", None)
    centred = parts is not None and not hasattr(model, "coef_") and np.any(parts.units.origin != 0)
    return {
        "rows": None if parts is None else float(round(parts.state.stats.n, 6)),
        "column names": None if names is None or hasattr(model, "coef_") else tuple(map(str, names)),
        "origin": _origins(model, parts.units) if centred and parts is not None else None,
    }


def _origins(model: Any, units: Units) -> dict[str, tuple[float, float]]:
    """By column: where its origin lies, and how far from the mean of its rows that may be, since it is rounded."""
    names, _ = _column_names(model._features_by_view())
    origin = np.asarray(units.origin, dtype=float)
    rounded = ORIGIN_GRID * np.exp2(np.broadcast_to(units.exponent, origin.shape).astype(float))
    return dict(zip(names, zip(origin.tolist(), rounded.tolist(), strict=True), strict=True))


def _close(a: Floats, b: Floats) -> bool:
    """Whether origins (D, 2), and how far they are rounded, may be of the same rows."""
    size = np.maximum(np.abs(a[:, 0]), np.abs(b[:, 0]))
    may_differ = np.minimum(a[:, 1], b[:, 1]) + SAME_ORIGIN * size + np.finfo(float).tiny
    return bool(np.all(np.abs(a[:, 0] - b[:, 0]) <= may_differ))


def _densities(
    models: dict[str, Any], X_test: Any, beside: dict[str, Any], budget: Budget, checkpoint: Any
) -> dict[str, Floats]:
    """(n,) of each model for which there is time; with a checkpoint, those that were found before."""
    scores, paths = dict[str, Floats](), list[Path]()
    for name, model in models.items():
        if len(scores) >= 2 and budget.over:
            return scores
        rows = _of_model(X_test, name, models)
        given = {what: _of_model(value, name, models) for what, value in beside.items() if _has(model, what)}
        if checkpoint is None:
            scores[name] = _row_densities(name, model, rows, given)
            continue
        shown = rows if isinstance(rows, Scan) else entries_of(model, rows)
        question = [type(model).__name__, model.posterior_, shown, *given.values()]
        paths.append(checkpoint_folder(checkpoint) / f"density-{fingerprint(question)[:16]}.npy")
        if not paths[-1].exists():
            with replacing(paths[-1]) as file:
                np.save(file, _row_densities(name, model, rows, given))
        scores[name] = np.load(paths[-1])
    for path in paths:
        path.unlink()
    return scores


def _of_model(value: Any, name: str, models: Mapping[str, Any]) -> Any:
    """What is given for a model, where each has its own; else what is given for all."""
    return value[name] if isinstance(value, Mapping) and set(value) == set(models) else value


def _has(model: Any, what: str) -> bool:
    """Whether a model was fitted with exposures, covariates or groups."""
    if what == "exposure":
        return bool(getattr(model, "_is_exposed", False))
    if what == "groups":
        return bool(getattr(getattr(model, "layout_", None), "groups", ()))
    return getattr(model, "_covariates", None) is not None


def _by_density(models: dict[str, Any], X_test: Any, scores: dict[str, Floats], weight: Floats) -> Comparison:
    sizes = {len(score) for score in scores.values()}
    if len(sizes) > 1 or 0 in sizes:
        raise ValueError(f"X_test gives the models {sorted(sizes)} rows; give all of them the same ones.")
    n = sizes.pop()
    _doubt_rows(models, X_test, n)
    share = None if np.all(weight == 1) else weight / weight.mean()
    means = {name: float(np.mean(score if share is None else share * score)) for name, score in scores.items()}
    order = sorted(means, key=lambda name: -means[name])
    leader = order[0]
    gaps = {name: scores[name] - scores[leader] for name in order}
    errors = {name: paired_error(gaps[name], share) if name != leader else 0.0 for name in order}
    bound = {name: bool(getattr(models[name], "score_is_bound_", False)) for name in order}
    rows = tuple(
        (
            name,
            *_about(models[name]),
            means[name],
            means[name] - means[leader],
            errors[name],
            "lower bound" if bound[name] else "density",
        )
        for name in order
    )
    columns = ("model", "estimator", "components", "converged", "mean log density", "difference", "error", "is a")
    best, verdict = _density_verdict(order, means, errors, bound, models, n)
    ranked = Ranked(
        tuple(order),
        tuple(means[name] - means[leader] for name in order),
        tuple(errors[name] if name != leader else float("nan") for name in order),
        "mean log density of a row",
    )
    return Comparison(Table(columns, rows), verdict, best, "density", ranked)


def _doubt_rows(models: dict[str, Any], X_test: Any, n: int) -> None:
    """Warn where rows have the number and the means of those of a fit: it has seen them."""
    for name, model in models.items():
        try:
            x = np.asarray(_of_model(X_test, name, models), dtype=float)
        except (TypeError, ValueError):  # views, or columns that are no numbers
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column that nothing is seen of has no mean
            means, spread = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
        facts = _rows_of_fit(model)
        if facts["rows"] != n or facts["origin"] is None or means.shape != (len(facts["origin"]),):
            continue
        origin = np.array([place for place, _ in facts["origin"].values()])
        if np.all(np.abs(origin - means) <= ORIGIN_GRID * spread):
            warn(
                RowsOfFit(
                    f"X_test looks like the {n} rows that {name!r} was fitted to: their density favours the model with "
                    "more freedom.",
                    "Pass rows that no fit has seen, or leave X_test out to compare bounds.",
                )
            )
            return


def _row_densities(name: str, model: Any, X_test: Any, given: dict[str, Any]) -> Floats:
    if not hasattr(model, "score_samples"):
        raise ValueError(
            f"{name!r} is a {type(model).__name__}, which has no density of rows; compare such fits by their bounds: "
            "compare(models) without X_test."
        )
    return np.asarray(host(model.score_samples(X_test, **given)), dtype=float)


def _density_verdict(
    order: list[str],
    means: dict[str, float],
    errors: dict[str, float],
    bound: dict[str, bool],
    models: dict[str, Any],
    n: int,
) -> tuple[str | None, str]:
    """The model that is ahead of all others, and why it is or is not clearly so."""
    leader, rivals = order[0], order[1:]
    near = [name for name in rivals if not means[leader] - means[name] > CLEAR_ERRORS * errors[name]]
    # a bound may be far below its density; bounds of one kind of model are about as far
    unknown = [name for name in rivals if bound[name] and not (bound[leader] and _alike(models, leader, name))]
    if near:
        words = f"{means[leader] - means[near[0]]:.3g} nats a row, standard error {errors[near[0]]:.2g}"
        return None, f"No clear winner: {leader!r} is ahead of {near[0]!r} by {words} ({n:,} rows)."
    if unknown:
        return None, (
            f"No clear winner: {leader!r} has the highest log density, but of {unknown[0]!r} only a lower bound is "
            "known; latens.suggest(X) scores hidden cells, where all are exact."
        )
    lead = means[leader] - means[rivals[0]]
    note = "bound on the log density" if bound[leader] else "log density"
    return leader, (
        f"{leader!r} has the highest {note} of {n:,} rows, {lead:.3g} nats a row above {rivals[0]!r} "
        f"(standard error {errors[rivals[0]]:.2g})."
    )


def _alike(models: dict[str, Any], one: str, other: str) -> bool:
    return type(models[one]) is type(models[other])


def _about(model: Any) -> tuple[str, int, str]:
    k = int(getattr(model, "n_components_", 0))
    return type(model).__name__, k, "yes" if _has_converged(model) else "no"


def _has_converged(model: Any) -> bool:
    return bool(getattr(model, "converged_", True))
