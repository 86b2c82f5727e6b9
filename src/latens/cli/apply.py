"""`latens transform | predict | impute | score | report`: a model in a file, asked about new rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import latens
from latens.cli.reading import FILE, named_missing, named_sheet, read_metadata, sources
from latens.cli.roles import Beside, beside, columns_aside, how_to_read, role_options
from latens.cli.terminal.console import aligned, open_page, printable
from latens.cli.terminal.failures import Refused, debug_option
from latens.cli.terminal.retyped import read_call, retyped, retyped_options
from latens.cli.terminal.targets import new_file
from latens.errors import TableRefused
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.intake import Encoded, Intake

__all__ = [
    "impute",
    "load_model",
    "predict",
    "report",
    "row_options",
    "rows_for",
    "score",
    "transform",
    "whole_rows",
]

STABILITY_SECONDS = 300.0  # that fits of halves may take
ROW = "row"  # heads the names of rows, as a first column without a heading is called
MOST_COSTLY = 4  # columns named whose missing cells cost rows
MOST_ROWS_PRINTED = 10  # rows printed where no file was named


def row_options(command: Any) -> Any:
    """The options by which new rows are read as those of the fit were."""
    for option in (
        click.option("--sheet", help="Sheet of an Excel file."),
        click.option("--sep", help="Separator of a text file (found otherwise)."),
        click.option(
            "--missing", multiple=True, metavar="WORDS", help="Words or numbers for missing, beside those of the fit."
        ),
        role_options("exposure", "groups"),
        click.option(
            "--view", "views", multiple=True, metavar="NAME=FILE", help="A table of the same rows; repeat it."
        ),
    ):
        command = option(command)
    return command


def _about_rows(command: Callable[..., None]) -> click.Command:
    """A command that takes a model and a file of rows."""
    for option in (
        debug_option,
        click.option("--quiet", is_flag=True, help="Print the path of the file only."),
        click.option("--json", "as_json", is_flag=True, help="Print the answers as JSON."),
        click.option("--force", is_flag=True, help="Replace a file that exists."),
        row_options,
        click.option("--out", type=FILE, help="Where to write: .csv, .tsv, .parquet or .npy."),
        click.argument("file", type=FILE, required=False),
        click.argument("model", type=FILE),
    ):
        command = option(command)
    return click.command()(command)


@_about_rows
def transform(model: Path, file: Path | None, **options: Any) -> None:
    """Hidden values of new rows, such as scores."""
    fitted, rows, encoded, given = _ask(model, file, options)
    if not hasattr(fitted, "transform"):
        raise Refused(f"{model} holds a {type(fitted).__name__}, which predicts: latens predict {model} FILE.")
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise Refused(
            f"{model} holds a {type(fitted).__name__} that found nothing, so rows have no hidden values; latens score "
            f"{model} FILE gives their density."
        )
    values = np.asarray(fitted.transform(rows, **given))
    _answer({name: values[:, k] for k, name in enumerate(names)}, encoded, options)


@_about_rows
def predict(model: Path, file: Path | None, **options: Any) -> None:
    """The cluster or the predicted number of each new row.

    With the probability of the cluster, or the standard deviation of the number.
    """
    fitted, rows, encoded, given = _ask(model, file, options)
    if hasattr(fitted, "predict_proba"):
        probability = np.asarray(fitted.predict_proba(rows, **given))
        best = probability.argmax(axis=1)
        columns = _memberships(fitted, best) | {"probability": probability[np.arange(len(best)), best]}
    elif hasattr(fitted, "predict"):
        columns = _predicted(fitted, rows)
    else:
        raise Refused(
            f"{model} holds a {type(fitted).__name__}, which has no clusters and no target to predict: "
            f"latens transform {model} FILE gives its hidden values."
        )
    _answer(columns, encoded, options)


def _memberships(fitted: Any, best: Any) -> dict[str, Any]:
    """The number of each row's cluster or class, as arrays have it, and its name where it was given one."""
    from latens.cli.model_names import MODELS, model_name

    part = MODELS[model_name(fitted)].part
    names = [str(name) for name in fitted.get_feature_names_out()]
    if names == [f"{part}{k}" for k in range(len(names))]:
        return {part: best}
    return {part: best, "name": np.array(names, dtype=object)[best]}


def _predicted(fitted: Any, rows: Any) -> dict[str, Any]:
    """The predicted number and its standard deviation; of rows that lack a value, none."""
    whole = ~np.isnan(np.asarray(rows, dtype=float)).any(axis=1)
    mean, std = np.full((2, len(whole)), np.nan)
    if whole.any():
        mean[whole], std[whole] = fitted.predict(rows[whole], return_std=True)
    if not whole.all():
        warnings.warn(f"{int((~whole).sum())} row(s) lack a value; nothing is predicted for them.", stacklevel=2)
    return {"predicted": mean, "sd": std}


@_about_rows
def impute(model: Path, file: Path | None, **options: Any) -> None:
    """Fill missing values by what the model expects.

    Columns that it does not use follow as they were; decimal commas stay, with semicolons between columns of a .csv.
    """
    fitted, rows, encoded, given = _ask(model, file, options)
    if not hasattr(fitted, "impute"):
        raise Refused(f"{model} holds a {type(fitted).__name__}, which cannot fill missing values.")
    filled = fitted.impute(rows, **given)
    columns: dict[str, Any] = {}
    decimal = _decimal_of(encoded, options)
    if _takes_levels(fitted) or _takes_frame(fitted):
        columns = {str(name): filled[name].to_numpy() for name in filled.columns}
        columns = _as_given(columns, encoded, False, options)
        _answer(columns | _unused(encoded, columns, options), encoded, options, decimal=decimal)
        return
    several = len(getattr(fitted, "encodings_", None) or encoded) > 1
    n = len(next(iter(filled.values())) if isinstance(filled, dict) else filled)
    for view, table in encoded.items():
        matrix = _matrix_of(filled, view if several else None, table, n)
        columns |= {f"{view}: {name}" if several else name: values for name, values in table.decode(matrix).items()}
    columns = _as_given(columns, encoded, several, options)
    _answer(columns | _unused(encoded, columns, options), encoded, options, decimal=decimal)


@_about_rows
def score(model: Path, file: Path | None, **options: Any) -> None:
    """Log density of each new row; the lowest are odd."""
    from latens.intake.columns import plural

    fitted, rows, encoded, given = _ask(model, file, options)
    if not hasattr(fitted, "score_samples"):
        raise Refused(f"{model} holds a {type(fitted).__name__}, which gives no density of rows.")
    values = np.asarray(fitted.score_samples(rows, **given))
    what = "bound on the log density" if getattr(fitted, "score_is_bound_", False) else "log density"
    _answer(
        {what: values},
        encoded,
        options,
        f"mean {what} of {len(values):,} {plural('row', len(values))}: {values.mean():,.4f} nats",
    )


@click.command()
@click.argument("model", type=FILE)
@click.option("--data", "file", type=FILE, help="The rows to show.")
@click.option("--out", type=FILE, help="The page.  [default: MODEL.html]")
@row_options
@role_options("weights", "target")
@click.option("--metadata", type=FILE, help="A table of what else is known of the rows.")
@click.option("--stability", is_flag=True, help="Fit halves of the rows, to say whether components come back.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the path as JSON.")
@debug_option
def report(model: Path, file: Path | None, out: Path | None, metadata: Path | None, stability: bool, open_: bool,
           as_json: bool, **reading: Any) -> None:  # fmt: skip
    """Write the page about a model."""
    target = new_file(Path(f"{model.stem}.html") if out is None else out)
    from latens.cli.model_names import model_name

    context = click.get_current_context()
    about: dict[str, Any] = {"command": retyped(context, "report")}
    lines = [f"model = latens.load({str(model)!r})"]
    given = Beside()
    source: Any = None
    if file is None and not reading["views"]:
        fitted, rows = load_model(model), None
        if stability:
            raise Refused("--stability fits halves of the rows; give them: --data FILE.")
    else:
        fitted, source = load_model(model), sources(file, reading["views"])
        rows, tables, code = rows_for(fitted, source, reading)
        given = beside(fitted, source, reading)
        lines += [*code, *given.lines]
        if "coef_std_" in vars(fitted):
            rows, given, code = whole_rows(rows, given, next(iter(tables.values())))
            lines += code
        about["rows_options"] = retyped_options(context, {"file", *reading})
        if stability:
            if not hasattr(fitted, "n_components_"):
                raise Refused(
                    f"{model} holds a {type(fitted).__name__}, which has no components; leave out --stability."
                )
            about["stability"] = latens.stability(fitted, rows, max_time=STABILITY_SECONDS, **given.values)
    known = None if metadata is None else read_metadata(metadata, reading["missing"])
    shown = [
        "model",
        "None" if rows is None else "X",
        '"page.html"',
        *(f"{name}={word}" for name, word in given.code.items()),
    ]
    if metadata is not None:
        missing = {"missing": named_missing(reading["missing"])}
        shown.append(f"metadata={read_call(metadata, missing)}.frame")
    about["recipe"] = [*lines, f"latens.report({', '.join(shown)})"]
    named = ", ".join(
        path.name for path in (source.values() if isinstance(source, dict) else [source] if source else [])
    )
    if named:
        about["title"] = f"{named}: {model_name(fitted)}"
    page = latens.report(
        fitted, rows, target, metadata=known, source=named, model_file=model.name, **given.values, **about
    )
    click.echo(json.dumps({"files": {"page": str(page)}}) if as_json else printable(str(page)))
    if open_:
        open_page(page)


def load_model(path: Path) -> Any:
    if not path.exists():
        raise Refused(f"there is no file {path}; latens fit FILE --out {path} makes one.")
    if path.suffix != ".latens" and path.suffix in (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".npy"):
        context = click.get_current_context(silent=True)
        command = "transform" if context is None or context.command.name is None else context.command.name
        by_option = context is not None and any("--data" in option.opts for option in context.command.params)
        typed = f"latens {command} MODEL.latens {'--data ' if by_option else ''}{path}"
        raise Refused(f"{path} is a table; name the model first: {typed}.")
    return latens.load(path)


def _ask(path: Path, file: Path | None, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Encoded], dict[str, Any]]:
    """The model, the rows as it takes them, the tables they came from, and what it takes besides rows."""
    fitted = load_model(path)
    if options["out"] is not None:
        options["out"] = _target(options["out"], options["force"], path, file)
    source = sources(file, options["views"])
    rows, encoded, _ = rows_for(fitted, source, options)
    return fitted, rows, encoded, beside(fitted, source, options).of_answers


def rows_for(fitted: Any, source: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Encoded], list[str]]:
    """Rows as a model takes them, the tables that they came from, and lines of Python that make them of the file.

    `source` is one file, or several by view.
    """
    from latens.intake import encode_like, join_views

    encodings = getattr(fitted, "encodings_", None)
    if encodings is None:  # fitted in Python: its columns are those of the file
        arguments = how_to_read(fitted, options) | columns_aside(fitted, options)
        table, call = _read_for(fitted, source, arguments)
        encoded = {view: part.encoded() for view, part in table.parts.items()}
        lines, whole, one = [f"table = {call}"], "table.views()", "table.encoded()"
    else:
        how = {"sep": options["sep"], "sheet": named_sheet(options["sheet"])}
        how |= {"missing": named_missing(options["missing"])}
        encoded = encode_like(source, encodings, **how)
        _refuse_unread(encoded)
        call = read_call(source, how, "encode_like", "model.encodings_")
        lines, whole = (
            ["from latens.intake import encode_like, join_views", f"encoded = {call}"],
            "join_views(encoded, model.encodings_)",
        )
        one = f"encoded[{next(iter(encoded))!r}]"
    if hasattr(fitted, "layout_") and not _takes_frame(fitted):
        return join_views(encoded, encodings), encoded, [*lines, f"X = {whole}"]
    lines[0] = lines[0].replace(", join_views", "")
    table_ = next(iter(encoded.values()))
    if hasattr(table_.matrix, "toarray") and not getattr(type(fitted), "sparse", False):
        table_, one = table_.dense(), f"{one}.dense()"
    if _takes_frame(fitted):
        rows, how_taken = table_.cleaned_frame(), ".cleaned_frame()"
    elif _takes_levels(fitted):
        rows, how_taken = table_.leveled_frame(), ".leveled_frame()"
    elif hasattr(fitted, "feature_names_in_"):
        rows, how_taken = table_.frame(), ".frame()"
    else:
        rows, how_taken = table_.matrix, ".matrix"
    return rows, encoded, [*lines, f"X = {one}{how_taken}"]


def whole_rows(rows: Any, given: Beside, encoded: Encoded | None = None) -> tuple[Any, Beside, list[str]]:
    """The rows of which a regression sees every value, what stands beside them, and lines of Python that choose them.

    `encoded` is the table that they came from, for the names of columns that cost rows.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [np.nan]]), np.array([3.0, 4.0, 5.0])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     rows, beside, lines = whole_rows(X, Beside({"y": y}, {"y": "table.numbers_aside('target')"}))
    >>> rows.tolist(), beside.values["y"].tolist(), beside.code
    ([[1.0], [2.0]], [3.0, 4.0], {'y': 'y'})
    """
    seen = ~np.isnan(np.asarray(rows, dtype=float))
    if "y" in given.values:
        seen = np.column_stack([seen, ~np.isnan(np.asarray(given.values["y"], dtype=float))])
    whole = seen.all(axis=1)
    if whole.all():
        return rows, given, []
    costly, drop = _costly_columns(seen, encoded)
    if whole.sum() < 2:
        raise Refused(f"fewer than two rows have all their values{costly}; leave out the emptiest columns: {drop}.")
    remedy = f" Leave out columns ({drop}), or fill them in first: latens impute." if costly else ""
    left_out = f"{int((~whole).sum()):,} row(s) with a missing value were left out"
    warnings.warn(f"{left_out}, and {int(whole.sum()):,} are used{costly}.{remedy}", UserWarning, stacklevel=2)
    test = " & ".join(["(X == X).all(axis=1)", *(["(y == y)"] if "y" in given.code else [])])
    lines = [f"{name} = {word}" for name, word in given.code.items()]
    lines += [f"whole = numpy.asarray({test})", "X = X[whole]", *(f"{name} = {name}[whole]" for name in given.code)]
    values_of_rows = {name: np.asarray(value)[whole] for name, value in given.values.items()}
    return rows[whole], Beside(values_of_rows, {name: name for name in given.code}), ["import numpy", *lines]


def _costly_columns(seen: Any, encoded: Encoded | None) -> tuple[str, str]:
    """The columns that are missing in most rows, and the option that leaves out the first, with what that gains."""
    counts: dict[str, int] = {}
    gained: dict[str, int] = {}
    place = 0
    for column in () if encoded is None else encoded.columns:
        own = slice(place, place := place + len(column.encoded_names))
        counts[column.name] = int(np.sum(~seen[:, own].all(axis=1)))
        gained[column.name] = int(np.delete(seen, own, axis=1).all(axis=1).sum())
    most = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    if not most:
        return "", "--drop NAME"
    named = listed([f"{name} in {counts[name]:,}" for name in most], MOST_COSTLY, str)
    return f": missing are {named}", f"--drop {quote(most[0])} leaves {gained[most[0]]:,} rows"


def _read_for(fitted: Any, source: Any, arguments: dict[str, Any]) -> tuple[Intake, str]:
    """New rows with the columns that the model knows by name, also those that say nothing; and the Python of it."""
    from latens.intake import read

    by_model = read_call(source, arguments, "latens.read", "like=model")
    if _has_marks_as_levels(fitted):  # such as NA, Namibia, which only the model tells from a missing value
        return read(source, like=fitted, **arguments), by_model
    try:
        table = read(source, **arguments)
        alike = table.like(fitted)
    except TableRefused as refusal:
        try:
            return read(source, like=fitted, **arguments), by_model
        except TableRefused:
            raise refusal from None
    return alike, f"{read_call(source, arguments)}{'' if alike is table else '.like(model)'}"


def _has_marks_as_levels(fitted: Any) -> bool:
    """Whether a level of the fit is written as missing values are."""
    from latens.intake.marks import is_missing_mark

    table = getattr(getattr(fitted, "columns_", None), "table", None)
    return table is not None and any(is_missing_mark(level) for column in table.columns for level in column.levels)


def _refuse_unread(encoded: dict[str, Encoded]) -> None:
    """Refuse rows of which the model would see nothing: its answers would be the same for any file."""
    if any(hasattr(table.matrix, "toarray") or not np.isnan(table.matrix).all() for table in encoded.values()):
        return
    wanted = [
        f"{column.name} ({listed(column.levels, 3, str) if column.levels else column.kind})"
        for table in encoded.values()
        for column in table.columns
    ]
    raise Refused(
        f"no cell of these rows can be read as the model wants them, which has {listed(wanted, 6, str)}; is it the "
        "file that was meant?"
    )


def _takes_levels(fitted: Any) -> bool:
    """Whether a model was fitted to a frame with levels as text."""
    return getattr(getattr(fitted, "columns_", None), "table", None) is not None


def _takes_frame(fitted: Any) -> bool:
    """Whether factors of views were fitted to a frame whose columns are taken as they are."""
    from latens.estimators.multi_view.tables.wide import frame_encoding

    return hasattr(fitted, "layout_") and frame_encoding(fitted) is not None


def _target(out: Path, force: bool, model: Path, file: Path | None) -> Path:
    path = new_file(out)
    if path.exists() and (path.samefile(model) or (file is not None and file.exists() and path.samefile(file))):
        raise Refused(f"{out} is a file to be read; choose another name for what is written.")
    if path.exists() and not force:
        raise Refused(f"{out} exists; --force replaces it.")
    if path.suffix not in (".csv", ".tsv", ".txt", ".parquet", ".npy"):
        raise Refused(
            f"{out} ends with {path.suffix or 'nothing'}; name a file that ends with .csv, .tsv, .parquet or .npy."
        )
    return path


def _matrix_of(filled: Any, view: str | None, table: Encoded, n: int) -> Any:
    """(n, D), what was filled, in the order of the table's columns; `view` is its name where there are several."""
    if not isinstance(filled, dict):
        return np.asarray(filled, dtype=float)
    matrix, kinds = np.full((n, len(table.names)), np.nan), table.places_by_view()
    for kind, places in kinds.items():
        # a table of one kind keeps its name, others are cut by kind
        name = kind if view is None else view if len(kinds) == 1 else f"{view} {kind}"
        matrix[:, places] = np.asarray(filled[name], dtype=float)
    return matrix


def _unused(encoded: dict[str, Encoded], used: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Columns of the one table that the model does not use; none of several, nor in a file of numbers alone."""
    known = {*used, ROW}  # a counter without a heading says no more than the names of the rows
    unused = {name: values for table in encoded.values() for name, values in table.unused.items() if name not in known}
    of_numbers = options["out"] is not None and options["out"].suffix == ".npy"
    if len(encoded) == 1 and not of_numbers:
        return {name: _as_written(values) for name, values in unused.items()}
    if unused:
        why = "a .npy file holds numbers alone" if of_numbers else "several tables are written as one"
        warnings.warn(
            f"{len(unused)} column(s) that the model does not use are left out, as {why}: {listed(unused, 6, str)}.",
            stacklevel=2,
        )
    return {}


def _decimal_of(encoded: dict[str, Encoded], options: dict[str, Any]) -> str:
    """The decimal mark of a filled file: that of the given ones, or a point where they differ or it is no text.

    Cells of text, such as 3.750 g, mean the same number beside the same decimal marks only.
    """
    marks = {table.decimal for table in encoded.values()}
    is_text = options["out"] is None or options["out"].suffix != ".parquet"
    return marks.pop() if len(marks) == 1 and is_text else "."


def _as_given(
    columns: dict[str, Any], encoded: dict[str, Encoded], several: bool, options: dict[str, Any]
) -> dict[str, Any]:
    """The columns as the file writes them: numbers in text, such as $3,750.00, and whole numbers without a fraction.

    A .npy file holds numbers alone, and a Parquet file keeps one type for all of a column. Text of files with another
    decimal mark than the filled one is numbers there.
    """
    out = dict(columns)
    suffix = "" if options["out"] is None else options["out"].suffix
    if suffix == ".npy":
        return out
    decimal = _decimal_of(encoded, options)
    for view, table in encoded.items():
        names = {column.name: f"{view}: {column.name}" if several else column.name for column in table.columns}
        of_table = {name: out[shown] for name, shown in names.items() if shown in out}
        own = table.written(of_table) if table.decimal == decimal else table.with_unseen(of_table)
        if suffix != ".parquet":
            own = _whole_as_given(own, table)
        out |= {names[name]: values for name, values in own.items()}
    return out


def _whole_as_given(columns: dict[str, Any], table: Encoded) -> dict[str, Any]:
    """The columns, of which those of whole numbers have them without a fraction where the table had them."""
    out, place = dict(columns), 0
    for column in table.columns:
        given = table.matrix[:, [place]]
        place += len(column.encoded_names)
        is_number = column.kind in ("number", "scale", "count") and not column.log1p and column.name not in table.texts
        if not is_number or column.name not in out:
            continue
        seen = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=float)[:, 0]
        whole = np.isnan(seen) | (seen == np.floor(seen))
        if whole.all() and len(out[column.name]) == len(seen):
            out[column.name] = np.array(
                [value if np.isnan(was) else int(was) for value, was in zip(out[column.name], seen, strict=True)],
                object,
            )
    return out


def _as_written(values: Any) -> Any:
    """Dates and durations as text, and whole numbers without a fraction."""
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), None, values.astype(str).astype(object))
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), None, np.datetime_as_string(values).astype(object))
    if values.dtype.kind == "f" and np.all(np.isnan(values) | (values == np.floor(values))):
        return np.array([None if value != value else int(value) for value in values], dtype=object)
    return values


def _names_of_rows(encoded: dict[str, Encoded], n: int) -> list[Any]:
    """Names of all rows, in the order in which views are joined: that of their first appearance."""
    named = [table.row_names for table in encoded.values() if table.row_names is not None]
    names = list(dict.fromkeys(name for each in named for name in each))
    return names if len(names) == n else list(range(n))


def _answer(
    columns: dict[str, Any], encoded: dict[str, Encoded], options: dict[str, Any], closing: str = "", decimal: str = "."
) -> None:
    """Write the answers, or print the first of them."""
    names = _names_of_rows(encoded, len(next(iter(columns.values()), ())))
    heading = _heading(encoded, columns)
    if options["out"] is not None:
        _write(options["out"], heading, names, columns, decimal)
    if options["as_json"]:
        values = {name: [_plain(value) for value in column] for name, column in columns.items()}
        click.echo(json.dumps({"rows": [str(name) for name in names], **values}))
        return
    if options["out"] is not None:
        click.echo(printable(str(options["out"])))
    elif not options["quiet"]:
        heads = (heading, *columns)
        lines = [
            (str(names[i]), *(_shown(column[i]) for column in columns.values()))
            for i in range(min(MOST_ROWS_PRINTED, len(names)))
        ]
        click.echo(printable(aligned(heads, lines)))
        if len(names) > MOST_ROWS_PRINTED:
            click.echo(f"... and {len(names) - MOST_ROWS_PRINTED:,} more rows; --out FILE.csv writes all")
    if closing and not options["quiet"]:
        click.echo(closing)


def _heading(encoded: dict[str, Encoded], columns: dict[str, Any]) -> str:
    """Of the names of rows: that of their own column, if all tables have the same; none of the other columns'."""
    own = {table.row_heading for table in encoded.values()}
    heading = own.pop() if len(own) == 1 else ""
    return next(name for name in (heading, ROW, "name of row") if name and name not in columns)


def _write(path: Path, heading: str, names: list[Any], columns: dict[str, Any], decimal: str) -> None:
    import csv

    from latens.system.atomic_write import replacing

    if path.suffix == ".parquet":
        from latens.system.optional_imports import require

        frame = require("pandas", "table").DataFrame({heading: list(map(str, names)), **columns})
        with replacing(path) as file:
            frame.to_parquet(file, index=False)
        return
    with replacing(path) as file:
        if path.suffix == ".npy":
            np.save(file, np.column_stack([np.asarray(column, dtype=float) for column in columns.values()]))
            return
        import io

        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        between = "\t" if path.suffix != ".csv" else ";" if decimal == "," else ","
        writer = csv.writer(text, delimiter=between, lineterminator="\n")
        writer.writerow([heading, *columns])
        cells = ([_cell(value, decimal) for value in column] for column in columns.values())
        writer.writerows(zip(names, *cells, strict=True))
        text.detach()


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def _cell(value: Any, decimal: str) -> Any:
    """A value as a text file has it."""
    value = _plain(value)
    return repr(value).replace(".", decimal) if isinstance(value, float) and decimal != "." else value


def _shown(value: Any) -> str:
    value = _plain(value)
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
