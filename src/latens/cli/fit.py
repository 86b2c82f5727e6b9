"""`latens fit`: a file in, a model and a page out, and a word about everything in between."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import latens
from latens.cli.apply import whole_rows
from latens.cli.fit_words import (
    ROLES_BESIDE_ROWS,
    Job,
    about_choice,
    about_data,
    about_fit,
    as_typed,
    recipe,
    record,
    rows_options,
)
from latens.cli.likelihoods import (
    WITH_KINDS,
    check_counts,
    is_one_frame,
    likelihoods_of,
    likely_kinds,
    named_kinds,
)
from latens.cli.reading import FILE, read_arguments, read_groups, read_metadata, read_table, reading_options, sources
from latens.cli.roles import Beside
from latens.cli.terminal.console import FitProgress, open_page, printable
from latens.cli.terminal.failures import STATUS_OF_INTERRUPT, Interrupted, Refused, debug_option, one_line
from latens.cli.terminal.remedies import in_options, warned_in_options
from latens.cli.terminal.retyped import read_call, retyped, retyped_options
from latens.cli.terminal.targets import new_file
from latens.errors import FitInterrupted
from latens.system.optional_imports import require
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.cli.model_names import Choice
    from latens.diagnose.budget import Budget
    from latens.intake import Intake

__all__ = ["fit"]

TOTAL = "total"  # the exposure that is the sum of a row's counts
OF_VIEWS = ("covariates", "exposure", "groups", "mofa2")  # options that want factors of views, where none is named
NAMES = (
    "auto", "multi-view", "gaussian-mixture", "bernoulli-mixture", "latent-classes", "factor-analysis",
    "binary-factors", "noisy-or", "noisy-ica", "linear-regression",
)  # fmt: skip


@click.command()
@click.argument("file", type=FILE, required=False)
@click.option("--model", type=click.Choice(NAMES), default="auto", show_default=True, help="What to look for.")
@click.option(
    "-k",
    "--n-components",
    "components",
    default="auto",
    show_default=True,
    metavar="K",
    help="At most so many, auto, or a range such as 2:12.",
)
@click.option("--out", type=FILE, help="The model's file.  [default: FILE.latens; none: no file]")
@click.option("--report", type=FILE, help="The page.  [default: FILE.html; none: no page]")
@click.option("--metadata", type=FILE, help="A table of what else is known of the rows; the page sets it against them.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@click.option("--dry-run", is_flag=True, help="Say what would be done with each column, and stop.")
@reading_options
@click.option("--groups", metavar="[FILE:]COLUMN", help="Groups of rows with levels of their own (multi-view).")
@click.option(
    "--likelihood",
    "likelihoods",
    multiple=True,
    metavar="NAME=KIND",
    help="Of a view (multi-view) or a column (latent-classes).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--n-init", type=click.IntRange(min=1), help="Starts; the best is kept.")
@click.option("--max-iter", type=click.IntRange(min=1), help="Iterations at most.")
@click.option(
    "--max-time",
    type=float,
    metavar="SECONDS",
    help="For trying structures and fitting together; the best state so far is kept. Then the page is written.",
)
@click.option("--checkpoint", type=FILE, metavar="FOLDER", help="Keep the fit there while it runs, and go on from it.")
@click.option("--component-names", metavar="NAMES", help="Names of the components, commas between.")
@click.option("--device", metavar="NAME", help="Where rows are held, such as cuda (needs torch).")
@click.option("--jobs", type=int, help="Threads; all cores otherwise.")
@click.option("--continue", "before", type=FILE, metavar="MODEL", help="Go on from a fit that was interrupted.")
@click.option("--mofa2", type=FILE, help="Also write a MOFA2 file (multi-view).")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--quiet", is_flag=True, help="Print the paths of the files only.")
@click.option("--force", is_flag=True, help="Replace files that latens did not write.")
@debug_option
def fit(file: Path | None, model: str, components: str, out: Path | None, report: Path | None,
        metadata: Path | None, open_: bool, dry_run: bool, groups: str | None, likelihoods: tuple[str, ...],
        seed: int, n_init: int | None, max_iter: int | None, max_time: float | None, checkpoint: Path | None,
        component_names: str | None, device: str | None, jobs: int | None, before: Path | None,
        mofa2: Path | None, as_json: bool, quiet: bool, force: bool, **reading: Any) -> None:  # fmt: skip
    """Read a table, find what is hidden, write a page.

    Reads CSV, TSV, Parquet, Excel, npy, npz, h5ad, h5mu and mtx; says what it does with each column.
    """
    from latens.cli.model_names import Choice, check_kinds
    from latens.diagnose.budget import Budget

    context, sizes = click.get_current_context(), _sizes(components)
    out, report = (None, None) if dry_run else _targets(file, reading["views"], out, report, force)
    own_groups = groups if groups and ":" not in groups else None
    total = reading["exposure"] == TOTAL
    options = reading | {"exposure": None} if total else reading
    table = read_table(file, groups=own_groups, **options)
    if max_time is not None and not max_time > 0:
        raise Refused(f"--max-time {max_time:g} leaves no time; give seconds above 0.")
    if not (as_json or quiet):
        click.echo(about_data(table, everything=dry_run))
    for role in ("weights", "exposure"):
        if options[role] is not None:
            table.numbers_aside(role, f"--{role}")  # refused before structures are tried
    trying, budget = not dry_run and before is None, Budget(max_time)
    with FitProgress(quiet=quiet or as_json) as progress:
        asking = [name for name, given in (reading | {"groups": groups, "mofa2": mofa2}).items() if given]
        asking = [name for name in OF_VIEWS if name in asking]
        if model == "auto" and before is not None:
            choice = _choice_of_file(before)
        elif model == "auto" and asking and len(table.parts) == 1:
            choice = Choice("multi-view", f"--{asking[0]} was given")
        else:
            share = budget.share(2)  # as long as the fit itself
            choice = _chosen(model, table, reading["target"], trying, share, progress.structure)
    note = check_kinds(choice, table)
    typed = read_call(sources(file, reading["views"]), read_arguments(groups=own_groups, **options))
    job = Job(table, choice, command=retyped(context, "fit"), call=typed, file=file)
    job.asked_with = retyped_options(context, {"sep", "sheet", "exposure", "groups"})
    job.weighed_by = retyped_options(context, {"weights"})
    job.views = retyped_options(context, {"views"})
    if not (as_json or quiet):
        click.echo(about_choice(choice, note))
    given = _fit_arguments(job, groups, reading["weights"], likelihoods, reading["exposure"])
    if mofa2 is not None and choice.name != "multi-view":
        raise Refused(f"--mofa2 is for multi-view; {choice.name} has no such file.")
    known = _known(table) if metadata is None else read_metadata(metadata, reading["missing"])
    if known is not None:
        job.known_by = "table.known()" if metadata is None else f"latens.read({str(metadata)!r}).frame"
    if dry_run:
        if as_json:
            click.echo(json.dumps(record(job, {}), indent=1))
        return
    parameters = {"random_state": seed, "n_init": n_init, "max_iter": max_iter, "n_jobs": jobs}
    if checkpoint is not None:
        given["checkpoint"] = checkpoint
    _take_rows(job, given)
    if metadata is not None:
        _check_metadata(job, known)
    _fit_sizes(job, sizes, parameters, budget, before, quiet, device)
    if job.interrupted and report is not None:
        click.echo("interrupted: the page about the best state so far is written; Ctrl-C again leaves it out", err=True)
    unsuitable = "" if component_names is None else _name_components(job, component_names)
    paths = _write(job, out, report, mofa2, known)
    if as_json:
        click.echo(json.dumps(record(job, paths), indent=1))
    elif quiet:
        click.echo("\n".join(printable(str(path)) for path in paths.values()))
    else:
        click.echo(about_fit(job, paths))
    if open_ and "page" in paths:
        open_page(paths["page"])
    if job.interrupted:
        raise click.exceptions.Exit(STATUS_OF_INTERRUPT)
    if unsuitable:
        raise Refused(unsuitable)


def _chosen(
    model: str, table: Intake, target: str | None, trying: bool, seconds: float | None, progress: Callable[[str], None]
) -> Choice:
    """The model of that name, or of the structure which fills hidden cells best."""
    from latens.cli.model_names import by_kinds, choose

    try:
        return choose(model, table, target, trying=trying, seconds=seconds, progress=progress)
    except (FitInterrupted, KeyboardInterrupt):
        name = by_kinds(table, target).name
        raise Interrupted(
            f"interrupted while structures were tried; nothing was written. --model {name} fits that one at once."
        ) from None


def _sizes(given: str) -> list[int | None]:
    """Numbers of components to try; None finds it.

    >>> _sizes("8"), _sizes("auto"), _sizes("2:4")
    ([8], [None], [2, 3, 4])
    """
    if given == "auto":
        return [None]
    first, colon, last = given.partition(":")
    try:
        sizes: list[int | None] = list(range(int(first), int(last if colon else first) + 1))
    except ValueError:
        raise Refused(f"-k {given} is no number; write -k 8, -k auto or -k 2:12.") from None
    if not sizes and int(last) >= 1:
        raise Refused(f"-k {given} ends before it begins; write -k {int(last)}:{int(first)}.")
    if not sizes or int(first) < 1:
        raise Refused(f"-k {given} holds no number from 1 on; write -k 8, -k auto or -k 2:12.")
    return sizes


def _targets(
    file: Path | None, views: tuple[str, ...], out: Path | None, report: Path | None, force: bool
) -> tuple[Path | None, Path | None]:
    """Where the model and the page go, checked before any work."""
    stem = Path(file.name.split(".")[0] or "model") if file is not None else Path("views")
    inputs = [file] if file is not None else [Path(view.partition("=")[2]) for view in views]
    made: list[Path | None] = []
    if out is not None and out.suffix in (".html", ".htm"):
        raise Refused(f"--out {out} is where the model goes, not the page; --report {out} names the page.")
    if report is not None and report.suffix == ".latens":
        raise Refused(
            f"--report {report} is where the page goes, not the model; --out {report} names the model's file."
        )
    for given, suffix in ((out, ".latens"), (report, ".html")):
        if given is not None and str(given) == "none":
            made.append(None)
            continue
        path = new_file(stem.with_suffix(suffix) if given is None else given)
        if any(each.exists() and path.exists() and each.samefile(path) for each in inputs):
            raise Refused(f"{path} is the file to be read; choose another name for what is written.")
        if path.exists() and not force and not _is_ours(path):
            raise Refused(f"{path} exists and was not written by latens; --force replaces it.")
        made.append(path)
    return made[0], made[1]


def _is_ours(path: Path) -> bool:
    head = path.read_bytes()[:4096]
    return b"header.json" in head or b"latens" in head


def _known(table: Intake) -> Any:
    """What the file says of its rows beside what was kept; nothing without pandas, which is to hold it."""
    try:
        return table.known()
    except ImportError:
        return None


def _fit_arguments(
    job: Job, groups: str | None, weights: str | None, likelihoods: tuple[str, ...], exposure: str | None
) -> dict[str, Any]:
    """What `fit` takes besides rows, for the model that was chosen."""
    given: dict[str, Any] = {}
    if weights is not None:
        given["sample_weight"] = job.table.numbers_aside("weights", "--weights")
        job.code["sample_weight"] = "table.numbers_aside('weights')"
    if groups is not None:
        if job.choice.name != "multi-view":
            raise Refused(f"--groups is for multi-view; {job.choice.name} has no groups.")
        given["groups"] = _groups(job.table, groups)
        path, _, column = groups.rpartition(":")
        job.code["groups"] = f"{read_call(path, {'groups': column}) if path else 'table'}.groups()"
    if exposure is not None:
        if job.choice.name not in WITH_KINDS:
            raise Refused(f"--exposure is for counts of {' and '.join(WITH_KINDS)}; {job.choice.name} has none.")
        if job.choice.name == "multi-view":
            check_counts(likely_kinds(job.table, likelihoods), len(job.table.parts))
        given["exposure"] = TOTAL if exposure == TOTAL else job.table.numbers_aside("exposure", "--exposure")
        job.code["exposure"] = repr(TOTAL) if exposure == TOTAL else "table.numbers_aside('exposure')"
    covariates = job.table.covariates()
    if covariates:
        if job.choice.name != "multi-view":
            raise Refused(f"--covariates is for multi-view; {job.choice.name} has none.")
        given["covariates"] = covariates
        job.code["covariates"] = "table.covariates()"
    if likelihoods and job.choice.name not in WITH_KINDS:
        raise Refused(f"--likelihood is for {' and '.join(WITH_KINDS)}; {job.choice.name} has none to choose.")
    if job.choice.name == "multi-view":
        given["likelihoods"] = likelihoods_of(job.table, likelihoods)
    elif likelihoods:
        given["likelihoods"] = named_kinds(likelihoods, "column")
    if job.choice.name == "linear-regression":
        target = next((column.name for part in job.table.parts.values() for column in part.columns
                       if column.role == "target"), None)  # fmt: skip
        if target is None:
            raise Refused("linear-regression predicts a column: name it by --target NAME.")
        given["y"] = job.table.numbers_aside("target", "--target")
        job.code["y"] = "table.numbers_aside('target')"
    return given


def _groups(table: Intake, given: str) -> Any:
    """Labels of the rows, from a column of the file or of another."""
    return read_groups(None, given) if ":" in given else table.groups()


def _choice_of_file(path: Path) -> Choice:
    """The model of a fit that is gone on from."""
    from latens.cli.apply import load_model
    from latens.cli.model_names import Choice, model_name

    return Choice(model_name(load_model(path)), f"that of {path.name}")


def _take_rows(job: Job, given: dict[str, Any]) -> None:
    """Rows as the model takes them, and what `fit` is given besides them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        job.rows, job.given = _rows(job, given)
    job.target = job.given.get("y")
    job.warnings = [one_line(str(each.message)) for each in caught]


def _check_metadata(job: Job, known: Any) -> None:
    """Refuse a table of other rows before any work, not when the page is written."""
    from latens.estimators.association import metadata_columns
    from latens.report.measures.sample import n_rows_of, row_labels

    metadata_columns(known, n_rows_of(job.rows), row_labels(job.rows), "--metadata")


def _fit_sizes(
    job: Job,
    sizes: list[int | None],
    parameters: dict[str, Any],
    budget: Budget,
    before: Path | None,
    quiet: bool,
    device: str | None,
) -> None:
    """Fit for each number of components; the highest bound is kept, as they are all Bayesian fits of the same rows.

    Each has an equal share of the time that is left.
    """
    from latens.cli.model_names import MODELS

    named = MODELS[job.choice.name]
    likelihoods = job.given.pop("likelihoods", None)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, FitProgress(quiet=quiet) as progress:
        warnings.simplefilter("always")
        for done, size in enumerate(sizes):
            seconds = budget.share(len(sizes) - done)
            model = named.build(
                n_components=size,
                callbacks=[progress.iteration],
                likelihoods=likelihoods,
                max_time=seconds,
                **parameters,
            )
            if before is not None:
                model = _loaded_to_go_on(before, model)
            progress.start(job.choice.name, size, getattr(model, "max_iter", 0))
            try:
                model.fit(_held_on(device, job.rows), **job.given)
            except KeyboardInterrupt:  # before its first iteration
                if job.model is None:
                    raise Interrupted(
                        "interrupted before the first iteration, so that there is nothing to keep; nothing was "
                        f"written. To begin again: {job.command}"
                    ) from None
                job.interrupted = True
                break
            job.sweep.append((size or 0, int(getattr(model, "n_components_", 0)), float(model.elbo_)))
            if job.model is None or model.elbo_ > job.model.elbo_:
                job.model = model
            if any(issubclass(each.category, FitInterrupted) for each in caught):
                job.interrupted = True
                break
    job.seconds = time.perf_counter() - began
    shown = [each for each in caught if not issubclass(each.category, FitInterrupted | DeprecationWarning)]
    job.warnings += list(dict.fromkeys(in_options(one_line(str(each.message))) for each in shown))
    if budget.seconds is not None and hasattr(job.model, "max_time"):
        job.model.set_params(max_time=budget.seconds)  # as it was asked for, whatever else took of it
    own = job.model.encodings_["x"] if job.choice.name == "multi-view" and hasattr(job.model, "encodings_") else None
    job.model.encodings_ = {
        view: each if own is None else own.as_in(each) for view, each in job.table.encodings.items()
    }
    if not hasattr(job.model, "feature_names_in_") and job.choice.name != "multi-view":
        import numpy as np

        job.model.feature_names_in_ = np.array(job.table.encoded().names, dtype=object)


def _held_on(device: str | None, rows: Any) -> Any:
    """Rows as a tensor on a device, where one was named."""
    if device is None:
        return rows
    if isinstance(rows, dict) or hasattr(rows, "toarray"):
        raise Refused("--device is for one table of numbers; leave it out for views and sparse rows.")
    import numpy as np

    torch = require("torch", "torch")
    try:
        return torch.as_tensor(np.asarray(rows, dtype=float), device=device)
    except (RuntimeError, AssertionError) as error:
        raise Refused(f"--device {device} cannot be used: {one_line(str(error))[:120]}") from None


def _rows(job: Job, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Rows as the model takes them."""
    if job.choice.name == "multi-view":
        one = is_one_frame(job.table)
        job.rows_code = [f"X = table.{'frame' if one else 'views()'}"]
        return (job.table.frame if one else _views(job.table)), given
    encoded, whole = job.table.encoded(), ""
    if hasattr(encoded.matrix, "toarray") and job.choice.name not in ("noisy-or", "bernoulli-mixture"):
        encoded, whole = encoded.dense(), ".dense()"
    if job.choice.name == "latent-classes" and encoded.has_words:
        job.rows_code = ["X = table.encoded().leveled_frame()"]
        return encoded.leveled_frame(), given
    rows = encoded.frame()
    job.rows_code = [f"X = table.encoded(){whole}.frame()"]
    if job.choice.name != "linear-regression":
        return rows, given
    named = {name: given[name] for name in given if name in job.code}
    rows, beside, lines = whole_rows(rows, Beside(named, job.code), encoded)
    job.rows_code += lines
    job.code = beside.code
    return rows, given | beside.values


def _views(table: Intake) -> dict[str, Any]:
    """Views by kind of column, or files by view; a word where they stand for the columns of one table."""
    views = table.views()
    if len(table.parts) == 1 and len(views) > 1 and not hasattr(table.matrix(), "toarray"):  # so there is no pandas
        (part,) = table.parts.values()
        several = [column.name for column in part.columns if column.is_kept and column.kind == "category"]
        levels = f", each level of {listed(several, 4)} as a yes/no column of its own" if several else ""
        warnings.warn(
            f"pandas is not installed: columns enter without their names as tables by kind{levels}. The fit is not "
            "quite that of the same file where pandas is: pip install 'latens[table]'.",
            UserWarning,
            stacklevel=2,
        )
    return views


def _loaded_to_go_on(path: Path, like: Any) -> Any:
    """A saved fit, to be gone on from with the settings of this call."""
    model = latens.load(path)
    if type(model) is not type(like):
        raise Refused(f"{path} holds a {type(model).__name__}; it cannot go on as a {type(like).__name__}.")
    settings = ("callbacks", "max_iter", "max_time")
    own = {name: getattr(like, name) for name in settings if hasattr(like, name)}
    return model.set_params(warm_start=True, **own)


def _name_components(job: Job, given: str) -> str:
    """Name the components where names are as many as they; else what to say once the fit is safe."""
    names, count = [name.strip() for name in given.split(",")], getattr(job.model, "n_components_", 0)
    if count == len(set(names)) == len(names):
        job.model.set_component_names(names)
        return ""
    return (
        f"--component-names {quote(given)} are not {count} different names, one for each component found; the fit is "
        "kept, and none is named. In Python, model.set_component_names([...]) names them, and latens.save keeps that."
    )


def _write(job: Job, out: Path | None, report: Path | None, mofa2: Path | None, known: Any) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    job.model.set_params(**{name: None for name in ("callbacks",) if name in job.model.get_params(deep=False)})
    if out is not None:
        paths["model"] = latens.save(job.model, out)
    if report is not None:
        try:
            paths["page"] = _write_page(job, report, out, known)
        except (FitInterrupted, KeyboardInterrupt):
            raise Interrupted(_without_page(job, paths)) from None
        except Exception:
            if out is not None:
                click.echo(printable(f"the model was written to {paths['model']}; the page was not:"), err=True)
            raise
    if mofa2 is not None:
        latens.interop.write_mofa2(job.model, mofa2, job.rows)
        paths["mofa2"] = mofa2
    return paths


def _without_page(job: Job, paths: dict[str, Path]) -> str:
    """What an interrupt leaves while the page is written."""
    if "model" not in paths:
        return "interrupted while the page was written; nothing was kept (--out MODEL.latens keeps the model)."
    model = quote(as_typed(paths["model"]))
    return (
        f"interrupted while the page was written; the model is in {model}. latens report {model} {rows_options(job)} "
        "writes the page."
    )


def _write_page(job: Job, path: Path, out: Path | None, known: Any) -> Any:
    from latens.cli.model_names import AS_ASKED
    from latens.report.subject import Entry

    job.on_page = Entry(
        job.model,
        job.rows,
        title=f"{job.table.source}: {job.choice.name}",
        metadata=known,
        y=job.target,
        source=job.table.source,
        data_notes=(job.table.sentence(), *job.table.notes),
        treatment=job.table.columns,
        sweep=job.sweep,
        seconds=job.seconds,
        given={name: value for name, value in job.given.items() if name in ROLES_BESIDE_ROWS},
        sample_weight=job.given.get("sample_weight"),
        command=job.command,
        recipe=recipe(job),
        model_file=out.name if out is not None else "",
        rows_options=rows_options(job),
        warned=warned_in_options(getattr(job.model, "warnings_", ())),
        why="" if job.choice.why == AS_ASKED else job.choice.why,
    )
    return latens.report(job.on_page, None, path)
