"""`latens fit`: a file in, a model and a page out, and a word about everything in between."""

from __future__ import annotations

import json
import re
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import latens
from latens.cli.console import FitProgress, aligned, open_page, printable
from latens.cli.failures import Refused, debug_option, one_line
from latens.cli.reading import FILE, read_arguments, read_metadata, read_table, reading_options, sources
from latens.cli.retyped import read_call, retyped
from latens.cli.targets import new_file
from latens.errors import FitInterrupted

if TYPE_CHECKING:
    from latens.cli.model_names import Choice
    from latens.intake import Intake

__all__ = ["fit"]

MOST_LINES = 12  # of treated columns, and of components
N_STRONGEST = 5  # columns named of each
SUGGEST_SECONDS = 60.0  # in which --model auto chooses
BESIDE = ("groups", "exposure", "covariates")  # what a fit and its answers take besides rows
TOTAL = "total"  # the exposure that is the sum of a row's counts
INTERRUPTED = 130  # exit status, as shells have it
# remedies of the library, and how the command line has them
REMEDIES = (
    (r"likelihoods=\{'([^']*)': 'negative-binomial'\} with exposure='total'",
     r"--likelihood \1=negative-binomial --exposure total"),
    (r"np\.log1p of it", "--log1p all"),
    (r"Raise max_iter or tol", "Raise --max-iter"),
    (r"Raise max_time", "Raise --max-time"),
    (r"n_components=(\d+) is an upper bound", r"-k \1 is an upper bound"),
    (r" To have exactly (\d+): prune=False\.", r" In Python, prune=False has exactly \1."),
    (r"Raise n_components, or give None to have the number found", "Raise -k, or give -k auto"),
    (r"Give more rows, or n_components and prune=False to have that many all the same\.", "Give more rows."),
    (r"Make them names of rows, X\.set_index\('([^']*)'\), or leave them out: .*arrays\.",
     r"Make it the names of rows, --index-col \1, or leave it out: --drop \1."),
)  # fmt: skip
NAMES = (
    "auto", "multi-view", "gaussian-mixture", "bernoulli-mixture", "latent-classes", "factor-analysis",
    "binary-factors", "noisy-or", "noisy-ica", "linear-regression",
)  # fmt: skip


class Interrupted(click.ClickException):
    """Stopped from the keyboard, with nothing to show for it."""

    exit_code = INTERRUPTED


@dataclass
class Job:
    """What a fit was asked for, and what came of it."""

    table: Intake
    choice: Choice
    rows: Any = None  # as the model takes them
    model: Any = None
    target: Any = None  # of a regression
    exposure: str | None = None  # the column of exposures, or total
    given: dict[str, Any] = field(default_factory=dict)  # what `fit` took besides rows
    command: str = ""  # as it was typed
    call: str = ""  # of latens.read, that takes the file in the same way
    seconds: float = 0.0
    interrupted: bool = False
    warnings: list[str] = field(default_factory=list)
    sweep: list[tuple[int, int, float]] = field(default_factory=list)  # asked for, found, bound


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
@click.option("--likelihood", "likelihoods", multiple=True, metavar="VIEW=KIND", help="Of a view (multi-view).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--n-init", type=click.IntRange(min=1), help="Starts; the best is kept.")
@click.option("--max-iter", type=click.IntRange(min=1), help="Iterations at most.")
@click.option("--max-time", type=float, metavar="SECONDS", help="End a fit then, with the best state so far.")
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
    from latens.cli.model_names import Choice, check_kinds, choose

    sizes = _sizes(components)
    out, report = (None, None) if dry_run else _targets(file, reading["views"], out, report, force)
    own_groups = groups if groups and ":" not in groups else None
    total = reading["exposure"] == TOTAL
    options = reading | {"exposure": None} if total else reading
    table = read_table(file, groups=own_groups, **options)
    if max_time is not None and not max_time > 0:
        raise Refused(f"--max-time {max_time:g} leaves no time; give seconds above 0.")
    seconds = None if dry_run or before is not None else min(SUGGEST_SECONDS, max_time or SUGGEST_SECONDS)
    with FitProgress(quiet=quiet or as_json) as progress:
        if model == "auto" and seconds is not None and not reading["covariates"]:
            progress("trying structures")
        asking = [name for name in ("covariates", "exposure") if reading[name]]
        if model == "auto" and asking:
            choice = Choice("multi-view", f"--{asking[0]} was given")
        else:
            choice = choose(model, table, reading["target"], seconds)
    note = check_kinds(choice, table)
    typed = read_call(sources(file, reading["views"]), read_arguments(groups=own_groups, **options))
    job = Job(
        table, choice, exposure=reading["exposure"], command=retyped(click.get_current_context(), "fit"), call=typed
    )
    if not (as_json or quiet):
        click.echo(_about_data(table, choice, note, everything=dry_run))
    if dry_run:
        if as_json:
            click.echo(json.dumps(_record(job, {}), indent=1))
        return
    parameters = {"random_state": seed, "n_init": n_init, "max_iter": max_iter, "max_time": max_time, "n_jobs": jobs}
    given = _fit_arguments(job, groups, reading["weights"], likelihoods, reading["exposure"])
    if checkpoint is not None:
        given["checkpoint"] = checkpoint
    _fit_sizes(job, sizes, parameters, given, before, quiet, device)
    if component_names is not None:
        job.model.set_component_names([name.strip() for name in component_names.split(",")])
    paths = _write(job, out, report, mofa2, metadata)
    if as_json:
        click.echo(json.dumps(_record(job, paths), indent=1))
    elif quiet:
        click.echo("\n".join(printable(str(path)) for path in paths.values()))
    else:
        click.echo(_about_fit(job, paths))
    if open_ and "page" in paths:
        open_page(paths["page"])
    if job.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)


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


def _fit_arguments(
    job: Job, groups: str | None, weights: str | None, likelihoods: tuple[str, ...], exposure: str | None
) -> dict[str, Any]:
    """What `fit` takes besides rows, for the model that was chosen."""
    given: dict[str, Any] = {}
    if weights is not None:
        given["sample_weight"] = _numbers_aside(job.table, "weights", weights)
    if groups is not None:
        if job.choice.name != "multi-view":
            raise Refused(f"--groups is for multi-view; {job.choice.name} has no groups.")
        given["groups"] = _groups(job.table, groups)
    if exposure is not None:
        if job.choice.name != "multi-view":
            raise Refused(f"--exposure is for counts of multi-view; {job.choice.name} has none.")
        given["exposure"] = TOTAL if exposure == TOTAL else _numbers_aside(job.table, "exposure", exposure)
    covariates = job.table.covariates()
    if covariates:
        if job.choice.name != "multi-view":
            raise Refused(f"--covariates is for multi-view; {job.choice.name} has none.")
        given["covariates"] = covariates
    if likelihoods and job.choice.name != "multi-view":
        raise Refused(f"--likelihood is for multi-view; {job.choice.name} has none to choose.")
    if job.choice.name == "multi-view":
        given["likelihoods"] = _likelihoods(job.table, likelihoods)
    if job.choice.name == "linear-regression":
        target = next((column.name for part in job.table.parts.values() for column in part.columns
                       if column.role == "target"), None)  # fmt: skip
        if target is None:
            raise Refused("linear-regression predicts a column: name it by --target NAME.")
        given["y"] = _numbers_aside(job.table, "target", target)
    return given


def _likelihoods(table: Intake, given: tuple[str, ...]) -> dict[str, str]:
    """Those of views by kind of column, and those that were asked for."""
    from latens.intake.encoding import VIEW_LIKELIHOODS

    known = VIEW_LIKELIHOODS if len(table.parts) == 1 else {}
    chosen = {view: kind for view, kind in known.items() if view in table.views()}
    for each in given:
        name, equals, kind = each.partition("=")
        if not equals:
            raise Refused(f"--likelihood {each} names no view; write --likelihood VIEW=KIND, such as numbers=gaussian.")
        chosen[name] = kind
    return chosen


def _numbers_aside(table: Intake, role: str, name: str) -> Any:
    values = table.aside(role)
    if values is None or values.dtype.kind != "f":
        raise Refused(f"the column {name!r} of --{role} holds no numbers.")
    return values


def _groups(table: Intake, given: str) -> Any:
    """Labels of the rows, from a column of the file or of another."""
    from latens.intake import read

    if ":" not in given:
        return [None if label is None or label != label else str(label) for label in table.aside("groups") or ()]
    path, _, column = given.rpartition(":")
    other = read(path, groups=column)
    labels = other.aside("groups")
    rows = next(iter(other.parts.values())).table.row_names
    if rows is None or labels is None:
        return labels
    from latens.system.optional_imports import require

    return require("pandas", "table").Series(list(labels), index=list(rows))


def _fit_sizes(
    job: Job, sizes: list[int | None], parameters: dict[str, Any], given: dict[str, Any], before: Path | None,
    quiet: bool, device: str | None = None,
) -> None:  # fmt: skip
    """Fit for each number of components; the highest bound is kept, as they are all Bayesian fits of the same rows."""
    from latens.cli.model_names import MODELS

    named = MODELS[job.choice.name]
    likelihoods = given.pop("likelihoods", None)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, FitProgress(quiet=quiet) as progress:
        warnings.simplefilter("always")
        job.rows, given = _rows(job, given)
        job.target, job.given = given.get("y"), dict(given)
        for size in sizes:
            model = named.build(
                n_components=size, callbacks=[progress.iteration], likelihoods=likelihoods, **parameters
            )
            if before is not None:
                model = _loaded_to_go_on(before, model)
            progress.start(job.choice.name, size, getattr(model, "max_iter", 0))
            try:
                model.fit(_held_on(device, job.rows), **given)
            except KeyboardInterrupt:  # before its first iteration
                if job.model is None:
                    raise Interrupted("interrupted before there was anything to keep; nothing was written.") from None
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
    job.warnings = list(dict.fromkeys(_in_options(one_line(str(each.message))) for each in shown))
    job.model.encodings_ = job.table.encodings
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

    from latens.system.optional_imports import require

    torch = require("torch", "torch")
    try:
        return torch.as_tensor(np.asarray(rows, dtype=float), device=device)
    except (RuntimeError, AssertionError) as error:
        raise Refused(f"--device {device} cannot be used: {one_line(str(error))[:120]}") from None


def _in_options(words: str) -> str:
    """A remedy of the library in the words of the command line."""
    for python, option in REMEDIES:
        words = re.sub(python, option, words)
    return words


def _rows(job: Job, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Rows as the model takes them."""
    if job.choice.name == "multi-view":
        return job.table.views(), given
    encoded = job.table.encoded()
    if job.choice.name == "latent-classes" and any(column.kind == "category" for column in encoded.columns):
        return encoded.leveled_frame(), given
    rows = encoded.frame()
    if hasattr(rows, "toarray") and job.choice.name not in ("noisy-or", "bernoulli-mixture"):
        rows = rows.toarray()
    if job.choice.name != "linear-regression":
        return rows, given
    import numpy as np

    values = np.asarray(rows, dtype=float)
    whole = ~(np.isnan(values).any(axis=1) | np.isnan(given["y"]))
    if not whole.all():
        warnings.warn(f"{int((~whole).sum())} row(s) with a missing value were left out.", UserWarning, stacklevel=2)
    if whole.sum() < 2:
        raise Refused("fewer than two rows have all their values; leave out the emptiest columns: --drop NAME.")
    return rows[whole], {name: np.asarray(value)[whole] for name, value in given.items()}


def _loaded_to_go_on(path: Path, like: Any) -> Any:
    """A saved fit, to be gone on from with the settings of this call."""
    model = latens.load(path)
    if type(model) is not type(like):
        raise Refused(f"{path} holds a {type(model).__name__}; it cannot go on as a {type(like).__name__}.")
    return model.set_params(warm_start=True, callbacks=like.callbacks, max_iter=like.max_iter)


def _write(
    job: Job, out: Path | None, report: Path | None, mofa2: Path | None, metadata: Path | None
) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    job.model.set_params(**{name: None for name in ("callbacks",) if name in job.model.get_params(deep=False)})
    if out is not None:
        paths["model"] = latens.save(job.model, out)
    if report is not None:
        paths["page"] = latens.report(
            job.model,
            job.rows,
            report,
            title=f"{job.table.source}: {job.choice.name}",
            metadata=None if metadata is None else read_metadata(metadata),
            y=job.target,
            source=job.table.source,
            data_notes=(job.table.sentence(), *job.table.notes),
            treatment=job.table.columns,
            sweep=job.sweep,
            seconds=job.seconds,
            given={name: value for name, value in job.given.items() if name in BESIDE},
            command=job.command,
            recipe=_recipe(job),
            model_file=out.name if out is not None else "",
        )
    if mofa2 is not None:
        if job.choice.name != "multi-view":
            raise Refused(f"--mofa2 is for multi-view; {job.choice.name} has no such file.")
        latens.interop.write_mofa2(job.model, mofa2, job.table.views())
        paths["mofa2"] = mofa2
    return paths


def _recipe(job: Job) -> list[str]:
    """Lines of Python that read the file and fit the model as this command did."""
    from latens.report.sections.data import constructor_call

    table, asides = f"table = {job.call}", {"sample_weight": "weights", "y": "target", "exposure": "exposure"}
    if job.choice.name == "multi-view":
        rows = "X = table.views()"
    elif job.choice.name == "latent-classes" and any(c.kind == "category" for c in job.table.encoded().columns):
        rows = "X = table.encoded().leveled_frame()"
    else:
        rows = "X = table.encoded().frame()"
    words = ["X"]
    for name, value in job.given.items():
        if name in asides and not isinstance(value, str):
            words.append(f"{name}=table.aside({asides[name]!r})")
        elif name == "covariates":
            words.append("covariates=table.covariates()")
        elif name == "groups":
            words.append("groups=...")
        elif name != "checkpoint":
            words.append(f"{name}={value!r}")
    return [table, rows, f"model = {constructor_call(job.model)}", f"model.fit({', '.join(words)})"]


def _about_data(table: Intake, choice: Choice, note: str, *, everything: bool) -> str:
    lines = [f"{table.source}: {table.sentence()}"]
    lines += [f"  {words}" for words in table.notes]
    if everything:
        lines += ["", str(table.columns), ""]
    else:
        treated = table.treated()
        width = max((len(name) for name, _ in treated[:MOST_LINES]), default=0)
        lines += [f"  {name:{min(width, 30)}}  {words}" for name, words in treated[:MOST_LINES]]
        if len(treated) > MOST_LINES:
            lines.append(f"  ... and {len(treated) - MOST_LINES:,} more (--dry-run shows all)")
    lines.append(f"model: {choice.name} ({choice.why})")
    lines += [f"  {note}"] if note else []
    return printable("\n".join(lines))


def _about_fit(job: Job, paths: dict[str, Path]) -> str:
    lines = [""]
    if len(job.sweep) > 1:
        rows = [(str(asked), str(found), f"{bound:,.1f}") for asked, found, bound in job.sweep]
        lines += [aligned(("K at most", "K found", "bound (nats)"), rows), ""]
    lines += [_sentence(job)]
    lines += [f"Warning: {words}" for words in job.warnings]
    lines += ["", *_components(job), ""]
    lines += [f"{name}: {path}" for name, path in paths.items()]
    lines.append(_next(job, paths))
    return printable("\n".join(lines))


def _sentence(job: Job) -> str:
    from latens.cli.model_names import MODELS

    model, part = job.model, MODELS[job.choice.name].part
    words = f"bound {model.elbo_:,.1f} nats, {model.n_iter_} iterations, {job.seconds:.1f} s"
    if job.choice.name != "linear-regression":
        count = model.n_components_
        words = f"{count} {part if count == 1 else {'class': 'classes'}.get(part, part + 's')} found; {words}"
    if job.interrupted:
        return f"interrupted: the best state so far is kept. {words}"
    return words if model.converged_ else f"{words}; not converged: --max-iter {2 * getattr(model, 'max_iter', 100)}"


def _components(job: Job) -> list[str]:
    model = job.model
    if not hasattr(model, "summary"):
        names = getattr(model, "feature_names_in_", range(len(model.coef_)))
        sd = [float(model.coef_covariance_[j, j]) ** 0.5 for j in range(len(model.coef_))]
        order = sorted(range(len(sd)), key=lambda j: -abs(model.coef_[j]) / max(sd[j], 1e-300))[:MOST_LINES]
        rows = [(str(names[j]), f"{model.coef_[j]:.4g}", f"{sd[j]:.2g}") for j in order]
        return [aligned(("weight of", "mean", "sd"), rows)]
    rows = _with_columns(job)
    if rows:
        more = [f"... and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else []
        return [_lines_of_words(rows[:MOST_LINES]), *more]
    table = str(model.summary()).splitlines()
    more = [f"... and {len(table) - MOST_LINES - 1} more"] if len(table) > MOST_LINES + 1 else []
    return [*table[: MOST_LINES + 1], *more]


def _with_columns(job: Job) -> list[tuple[str, str, str]]:
    """Name, share and strongest columns of each component, as the page has them; none where it has none."""
    from latens.report.subject import Entry

    entry = Entry(job.model, job.rows, given={name: value for name, value in job.given.items() if name in BESIDE})
    sizes, profile = entry.sizes, entry.profile
    if sizes is None or profile is None or entry.image_shape is not None or entry.n_components != len(sizes.share):
        return []
    return [
        (
            name,
            f"{100 * sizes.share[k]:.1f} %",
            ", ".join(
                f"{'+' if profile.strength[d, k] > 0 else '-'}{profile.columns[d]}"
                for d in profile.notable(k, N_STRONGEST)
            ),
        )
        for k, name in enumerate(entry.labels)
    ]


def _lines_of_words(rows: list[tuple[str, str, str]]) -> str:
    """The same in columns, words to the left."""
    name, share = (max(len(row[at]) for row in rows) for at in (0, 1))
    return "\n".join(f"{row[0]:{name}}  {row[1]:>{share}}  {row[2]}" for row in rows)


def _next(job: Job, paths: dict[str, Path]) -> str:
    """The command that a reader wants next."""
    if "model" not in paths:
        return "next: --out MODEL.latens keeps the model."
    path = paths["model"].name
    if job.interrupted:
        return f"to go on: the same command with --continue {path}"
    act = "predict" if hasattr(job.model, "predict") else "transform"
    more = "" if job.exposure is None else f" --exposure {quote(job.exposure)}"
    return f"next: latens {act} {path} new.csv{more} --out new.csv.{act}.csv"


def _record(job: Job, paths: dict[str, Path]) -> dict[str, Any]:
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
