"""A fit of the command line: what it was asked for, what came of it, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import latens
from latens.cli.terminal.console import aligned, printable
from latens.cli.terminal.failures import one_line
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.cli.model_names import Choice
    from latens.intake import Intake
    from latens.report.subject import Entry

__all__ = [
    "ROLES_BESIDE_ROWS",
    "Job",
    "about_choice",
    "about_data",
    "about_fit",
    "as_typed",
    "recipe",
    "record",
    "rows_options",
]

MOST_LINES = 12  # of treated columns, and of components
MOST_HOLES = 6  # columns with missing cells that are named
N_STRONGEST = 5  # columns named of each
ROLES_BESIDE_ROWS = ("groups", "exposure", "covariates")  # what a fit and its answers take besides rows


@dataclass
class Job:
    """What a fit was asked for, and what came of it."""

    table: Intake
    choice: Choice
    rows: Any = None  # as the model takes them
    model: Any = None
    target: Any = None  # of a regression
    given: dict[str, Any] = field(default_factory=dict)  # what `fit` took besides rows
    command: str = ""  # as it was typed
    call: str = ""  # of latens.read, that takes the file in the same way
    rows_code: list[str] = field(default_factory=list)  # lines of Python that make the rows of the table that was read
    code: dict[str, str] = field(default_factory=dict)  # expressions for what `fit` takes besides rows
    known_by: str = ""  # the expression that gives what else is known of the rows
    asked_with: str = ""  # options by which other commands read such rows
    weighed_by: str = ""  # the option of weights, as it was typed
    views: str = ""  # the files by view, as options
    file: Path | None = None
    seconds: float = 0.0
    interrupted: bool = False
    warnings: list[str] = field(default_factory=list)
    sweep: list[tuple[int, int, float]] = field(default_factory=list)  # asked for, found, bound
    on_page: Entry | None = None  # what the page says of the fit, with intervals, where one was written


def about_data(table: Intake, *, everything: bool) -> str:
    """What was made of the file, and of its columns."""
    lines = [f"{table.source}: {table.sentence()}"]
    lines += [f"  {words}" for words in table.notes]
    if everything:
        lines += ["", str(table.columns), ""]
    else:
        if holes := [f"{name} {count:,}" for name, count in table.n_missing().items() if count]:
            lines.append(f"  missing cells, marks such as NA included: {listed(holes, MOST_HOLES, str)}")
        treated = table.treated()
        width = max((len(name) for name, _ in treated[:MOST_LINES]), default=0)
        lines += [f"  {name:{min(width, 30)}}  {words}" for name, words in treated[:MOST_LINES]]
        if len(treated) > MOST_LINES:
            lines.append(f"  ... and {len(treated) - MOST_LINES:,} more (--dry-run shows all)")
    return printable("\n".join(lines))


def about_choice(choice: Choice, note: str) -> str:
    """Which model it is, and why."""
    return printable("\n".join([f"model: {choice.name} ({choice.why})", *([f"  {note}"] if note else [])]))


def about_fit(job: Job, paths: dict[str, Path]) -> str:
    lines = [""]
    if len(job.sweep) > 1:
        rows = [(str(asked), str(found), f"{bound:,.1f}") for asked, found, bound in job.sweep]
        lines += [aligned(("K at most", "K found", "bound (nats)"), rows), ""]
    lines += [_sentence(job)]
    lines += [f"Warning: {words}" for words in job.warnings]
    lines += ["", *_components(job), ""] if getattr(job.model, "n_components_", 1) else [""]
    lines += [f"{name}: {path}" for name, path in paths.items()]
    lines.append(_next(job, paths))
    return printable("\n".join(lines))


def _sentence(job: Job) -> str:
    from latens.cli.model_names import MODELS
    from latens.report.sections.head import sentence
    from latens.report.subject import Entry

    model, part = job.model, MODELS[job.choice.name].part
    steps = "1 iteration" if model.n_iter_ == 1 else f"{model.n_iter_} iterations"
    words = f"bound {model.elbo_:,.1f} nats, {steps}, {job.seconds:.1f} s"
    if job.choice.name == "linear-regression":
        used = f"{len(job.rows):,} of {job.table.n_rows:,} rows used: " if len(job.rows) < job.table.n_rows else ""
        words = f"{used}{sentence(Entry(model, job.rows, y=job.target))}\n{words}"
    else:
        count = model.n_components_
        words = f"{count} {part if count == 1 else _several(part)} found; {words}"
    if job.interrupted:
        return f"interrupted: the best state so far is kept. {words}"
    if model.converged_:
        return words
    if any("--max-time" in each for each in job.warnings):
        return f"{words}; not converged when time was over: --max-time {2 * model.max_time:g}"
    return f"{words}; not converged: --max-iter {2 * getattr(model, 'max_iter', 100)}"


def _several(part: str) -> str:
    return {"class": "classes"}.get(part, f"{part}s")


def _components(job: Job) -> list[str]:
    model = job.model
    rows, notes = ([], []) if job.choice.name == "linear-regression" else _with_columns(job)
    if rows:
        more = [f"... and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else []
        return [_lines_of_words(rows[:MOST_LINES]), *more, *(f"({note})" for note in notes)]
    table = model.summary()
    lines = str(table).splitlines()
    if len(table) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES + 1], f"... and {len(table) - MOST_LINES} more", *lines[len(table) + 1 :]]


def _with_columns(job: Job) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Name, share and strongest columns of each component, as the page has them, what these are, and the order."""
    from latens.estimators.display.order_note import order_note
    from latens.report.subject import Entry

    given = {name: value for name, value in job.given.items() if name in ROLES_BESIDE_ROWS}
    entry = job.on_page or Entry(job.model, job.rows, given=given)
    sizes, profile = entry.sizes, entry.profile
    if sizes is None or profile is None or entry.image_shape is not None or entry.n_components != len(sizes.share):
        return [], []
    rows = [
        (
            name,
            f"{100 * sizes.share[k]:.1f} %",
            ", ".join(
                f"{'+' if profile.strength[d, k] > 0 else '-'}{one_line(profile.columns[d])}"
                for d in (profile if job.on_page is None else entry).notable(k, N_STRONGEST)
            ),
        )
        for k, name in enumerate(entry.labels)
    ]
    signs = "+ more and - less than in all rows" if entry.grouped else "+ rises and - falls with it"
    signs = "+ made by it" if entry.family == "causes" else signs
    sure = "surely show it" if job.on_page is not None else "show it by two standard errors"  # intervals take longer
    note = f"share of the {sizes.of}; columns that {sure}, the strongest first: {signs}"
    notes = [note if any(words for *_, words in rows) else "", order_note(job.model, sizes.share)]
    return [(*row[:2], row[2] or "none stands out") for row in rows], list(filter(None, notes))


def _lines_of_words(rows: list[tuple[str, str, str]]) -> str:
    """The same in columns, words to the left."""
    name, share = (max(len(row[at]) for row in rows) for at in (0, 1))
    return "\n".join(f"{row[0]:{name}}  {row[1]:>{share}}  {row[2]}" for row in rows)


def _next(job: Job, paths: dict[str, Path]) -> str:
    """The command that a reader wants next."""
    from latens.cli.model_names import MODELS

    if "model" not in paths:
        return "next: --out MODEL.latens keeps the model."
    path = as_typed(paths["model"])
    if job.interrupted:
        again = "" if "--continue" in job.command else f" --continue {quote(path)}"
        return f"to go on: {job.command}{again}"
    if getattr(job.model, "n_components_", 1) == 0:
        return "next: there is nothing to find in new rows yet; give more rows, or another model: latens models."
    act, answers = "transform", "scores"
    if hasattr(job.model, "predict_proba"):
        act, answers = "predict", _several(MODELS[job.choice.name].part)
    if job.choice.name == "linear-regression":
        act, answers = "predict", "predicted"
    suffix = job.file.suffix if job.file is not None else ".csv"
    rows = " ".join(words for words in (job.views or f"new{suffix}", job.asked_with) if words)
    stem = Path(path).stem if job.views else "new"
    return f"next: latens {act} {quote(path)} {rows} --out {quote(stem)}_{answers}.csv"


def as_typed(path: Path) -> str:
    """A path from where the command was given."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def rows_options(job: Job) -> str:
    """The rows of this fit, as options of other commands."""
    rows = job.views or f"--data {quote(str(job.file))}"
    return " ".join(words for words in (rows, job.asked_with, job.weighed_by) if words)


def recipe(job: Job) -> list[str]:
    """Lines of Python that read the file, fit the model and write the page as this command did."""
    from latens.report.sections.data import constructor_call

    words = [f"{name}={word}" for name, word in job.code.items()]
    about = [f"metadata={job.known_by}"] if job.known_by else []
    fit = f"model.fit({', '.join(['X', *words])})"
    shown = ", ".join(["model", "X", '"page.html"', *words, *about])
    read = [f"table = {job.call}", *job.rows_code]
    return [*read, f"model = {constructor_call(job.model)}", fit, f"latens.report({shown})"]


def record(job: Job, paths: dict[str, Path]) -> dict[str, Any]:
    table = job.table.columns
    record: dict[str, Any] = {
        "version": latens.__version__,
        "source": job.table.source,
        "rows": job.table.n_rows,
        "notes": list(job.table.notes),
        "columns": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        "model": job.choice.name,
        "why": job.choice.why,
    }
    if job.model is None:
        return record
    if job.choice.name == "linear-regression":
        record["rows_used"] = len(job.rows)  # those that show every value
    return record | {
        "n_components": int(getattr(job.model, "n_components_", 0)),
        "bound": float(job.model.elbo_),
        "converged": bool(job.model.converged_),
        "interrupted": job.interrupted,
        "iterations": int(job.model.n_iter_),
        "seconds": round(job.seconds, 3),
        "sweep": [dict(zip(("asked", "found", "bound"), row, strict=True)) for row in job.sweep],
        "warnings": job.warnings,
        "files": {name: str(path) for name, path in paths.items()},
    }
