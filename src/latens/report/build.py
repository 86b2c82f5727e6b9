"""The page about one fitted model, or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from latens.diagnose.result import Result
from latens.plots.fitted import fitted
from latens.report.content import Section, Table
from latens.report.measures.recovered import known_truth
from latens.report.page import write_page
from latens.report.results import write_result
from latens.report.sections import calculator, data, doubts, fit, head, trust
from latens.report.sections.findings import classes, components, covariates, overview, regression, sources, views
from latens.report.sections.rows import extremes, known, plane
from latens.report.subject import Entry
from latens.report.weights import is_weight_posterior, write_weights

__all__ = ["BUILDERS", "Builder", "report", "report_many"]

Builder = Callable[[Entry], Section | None]

BUILDERS: tuple[Builder, ...] = (  # in the order of the page; a builder returns None where it has nothing to show
    doubts.warned,
    components.listing,
    overview.components,
    regression.weights,
    components.columns,
    classes.profiles,
    overview.usage,
    overview.rows,
    sources.courses,
    sources.maps,
    regression.predictions,
    plane.rows_in_the_plane,
    known.against_known,
    extremes.typical_and_odd,
    views.explained,
    views.overview,
    views.top_entries,
    covariates.covariates,
    trust.trust,
    data.sweep,
    data.by_column,
    data.reproduce,
    calculator.calculator,
    fit.details,
)

ROLES_BESIDE_ROWS = ("groups", "exposure", "covariates", "precision")  # what `fit` may take besides rows

FACTS_COMPARED = (  # facts in the table of several models
    *("true found", "components", "causes", "clusters", "classes", "factors", "sources"),
    *("bound (nats)", "log-likelihood (nats)", "log evidence (nats)", "log score (nats)"),
    "seconds",
)


def report(
    model: Any,
    X: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    truth: Any = None,
    title: str | None = None,
    shape: Sequence[int] | None = None,
    metadata: Any = None,
    y: Any = None,
    **about: Any,
) -> Path:
    """Write a page about a fitted model: one HTML file that opens anywhere, offline.

    Parameters
    ----------
    model : fitted estimator, or result
        Any estimator of this library after `fit`; what `compare`, `sweep`, `suggest` or `stability` returned; a
        posterior of `latens.nets`; or a `latens.report.Entry`, which holds all other arguments.
    X : array-like of shape (N, D), optional
        Rows to show beside what the model makes of them; for a posterior of weights, what its `predict` answered.
    path : path-like, default="report.html"
        Where to write; an older page there is replaced.
    truth : object, optional
        What made the rows, as returned by the generators of `latens.datasets`; the learnt components are then
        shown beside the true ones. Or true labels of the rows (N,), for clusters and classes, or components (K, D).
    title : str, optional
        Heading of the page; the name of the model's class otherwise.
    shape : (int, int), optional
        Height and width of a row that is an image; taken from the truth otherwise, or guessed where D is a square.
    metadata : data frame, Series or dict of columns, optional
        What else is known about the rows: it colours them, and components are tested against it. Frames are aligned by
        row name where both have names.
    y : array of shape (N,), optional
        Targets of a regression, to be set against its predictions.
    **about
        `source`, the name of the data; `data_notes`, sentences about how they were read; `treatment`, a table of what
        was done with each column; `sweep`, the numbers of components that were tried; `seconds`, how long the fit took;
        `groups`, `exposure`, `covariates`, `precision` and `sample_weight`, as `fit` was given them; `stability`, what
        `latens.stability` found; `command`, `recipe`, `model_file` and `rows_options`, how to get all of this again;
        `warned`, what the fit warned of in other words; `why`, the reason to take this model.

    Returns
    -------
    Path
        The absolute path of the page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> model = SimpleNamespace(components_=np.eye(4), n_components_=4, elbo_=-7.0, elbo_history_=[-9.0, -7.0],
    ...                         n_iter_=2, converged_=True, trace_=())
    >>> with TemporaryDirectory() as folder:
    ...     report(model, path=f"{folder}/page.html", title="Four causes").name
    'page.html'
    """
    if isinstance(X, str | os.PathLike):
        where = os.fspath(X)
        raise TypeError(
            f"X is the path {where!r}; the page is the third argument: latens.report(model, X, {where!r}), or without "
            f"rows path={where!r}."
        )
    if isinstance(model, Entry):
        return report_many([model], path, title or model.heading)
    if isinstance(model, Result):
        return write_result(model, path, title)
    if is_weight_posterior(model):
        return write_weights(model, X, path, title, y)
    beside = {name: about.pop(name) for name in ROLES_BESIDE_ROWS if name in about}
    given = {**(about.pop("given", None) or {}), **beside}
    entry = Entry(model, X, truth, title, shape, metadata=metadata, y=y, given=given, **about)
    entry = replace(entry, truth=known_truth(entry))
    return report_many([entry], path, title or type(model).__name__)


def report_many(
    entries: Sequence[Entry], path: str | os.PathLike[str] = "report.html", title: str = "Report", text: str = ""
) -> Path:
    """Write one page about several fitted models, with a table of their main numbers on top.

    Parameters
    ----------
    entries : sequence of Entry
        Each a model with its rows, truth and title.
    path : path-like, default="report.html"
        Where to write; an older page there is replaced.
    title : str, default="Report"
        Heading of the page.
    text : str, default=""
        What a reader should know first; it stands above that table.

    Returns
    -------
    Path
        The absolute path of the page.

    Examples
    --------
    >>> report_many([], "page.html")
    Traceback (most recent call last):
    ValueError: a page needs at least one model; entries is empty.
    """
    if len(entries) == 0:
        raise ValueError("a page needs at least one model; entries is empty.")
    first = 2 if len(entries) > 1 or text else 1  # an overview is the first chapter of several
    chapters = [_chapter(entry, first + i) for i, entry in enumerate(entries)]
    overview = [_overview(chapters, text)] if first == 2 else []
    return write_page([*overview, *chapters], path, title)


def _chapter(entry: Entry, number: int) -> Section:
    fitted(entry.model, "elbo_")
    parts = (build(entry) for build in BUILDERS)
    return Section(
        entry.heading,
        head.about(entry),
        lead=head.sentence(entry),
        body=head.verdicts(entry, f"s{number}"),
        facts=overview.facts(entry),
        parts=tuple(part for part in parts if part is not None),
    )


def _overview(chapters: Sequence[Section], text: str) -> Section:
    """The main facts of all models in one table."""
    known = {label for chapter in chapters for label, _ in chapter.facts}
    labels = [label for label in FACTS_COMPARED if label in known]
    rows = tuple((chapter.title, *(dict(chapter.facts).get(label, "") for label in labels)) for chapter in chapters)
    return Section("Overview", text, table=Table(("", *labels), rows))
