"""What stands beside the rows that a model is asked about: weights, exposures, groups, covariates, a target."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from latens.cli.reading import named_missing, named_sheet, read_groups
from latens.cli.terminal.failures import Refused
from latens.cli.terminal.retyped import read_call
from latens.system.wording import listed

__all__ = ["Beside", "asked_of", "beside", "columns_aside", "groups_of", "how_to_read", "role_options"]

F = TypeVar("F", bound=Callable[..., Any])
TOTAL = "total"  # the exposure that is the sum of a row's counts
TABLE = "beside"  # what the table of columns beside the rows is called in lines of Python
# options that name a column of numbers, and what a fit calls what is in it
ARGUMENTS = {"exposure": "exposure", "weights": "sample_weight", "target": "y"}
_OPTIONS = {
    "exposure": click.option(
        "--exposure", metavar="NAME", help="The column of exposures, or total, if the fit had them."
    ),
    "groups": click.option("--groups", metavar="[FILE:]COLUMN", help="Groups of the rows, if the fit had them."),
    "weights": click.option("--weights", metavar="NAME", help="The column of weights, if the fit had them."),
    "target": click.option("--target", metavar="NAME", help="The column that a regression predicts."),
}


@dataclass(frozen=True)
class Beside:
    """What a model takes besides rows, by argument, and how to have it in Python."""

    values: dict[str, Any] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)  # an expression for each of them
    lines: tuple[str, ...] = ()  # that make what the expressions need

    @property
    def of_answers(self) -> dict[str, Any]:
        """Without what `fit` alone takes."""
        return {name: value for name, value in self.values.items() if name not in ("sample_weight", "y")}


def role_options(*roles: str) -> Callable[[F], F]:
    """The options that name what stands beside rows; covariates are those of the fit, by their names."""

    def add(command: F) -> F:
        for role in reversed(roles):
            command = _OPTIONS[role](command)
        return command

    return add


def beside(fitted: Any, source: Any, options: Mapping[str, Any]) -> Beside:
    """What a model asks for besides rows, from columns of their file or files.

    Parameters
    ----------
    fitted : estimator
    source : path, or dict of paths by view
    options : mapping
        `exposure`, `groups`, `weights` and `target` where the command has them, and how files are read.
    """
    from latens.intake import read

    named = _named(options)
    _check(fitted, named, "groups" in options)
    total, groups_of_file = named["exposure"] == TOTAL, ":" in (named["groups"] or "")
    wanted = columns_aside(fitted, options)
    values: dict[str, Any] = {"exposure": TOTAL} if total else {}
    code = {"exposure": repr(TOTAL)} if total else {}
    lines: list[str] = []
    if wanted:
        # of one file the columns that were named and no others, so that a single row will do; names match several
        only: dict[str, Any] = {} if isinstance(source, Mapping) else {"columns": []}
        arguments = only | wanted | how_to_read(fitted, options)
        table = read(source, **arguments)
        lines.append(f"{TABLE} = {read_call(source, arguments)}")
        for role in wanted:
            if role == "covariates":
                values[role], code[role] = table.covariates(), f"{TABLE}.covariates()"
            elif role == "groups":
                values[role], code[role] = table.groups(), f"{TABLE}.groups()"
            else:
                values[ARGUMENTS[role]] = table.numbers_aside(role, f"--{role}")
                code[ARGUMENTS[role]] = f"{TABLE}.numbers_aside({role!r})"
    if groups_of_file:
        path, _, column = str(named["groups"]).rpartition(":")
        values["groups"] = read_groups(None, str(named["groups"]))
        code["groups"] = f"{read_call(path, {'groups': column})}.groups()"
    return Beside(values, code, tuple(lines))


def asked_of(models: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of several models, the options of each: those that none was fitted with stay, to be refused."""
    known = {
        "exposure": [name for name, model in models.items() if getattr(model, "_is_exposed", False)],
        "groups": [name for name, model in models.items() if groups_of(model)],
    }
    return {
        name: {**options, **{role: None for role, some in known.items() if some and name not in some}}
        for name in models
    }


def columns_aside(fitted: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of the rows' own files that are no features, by their role."""
    wanted: dict[str, Any] = {
        role: name
        for role, name in _named(options).items()
        if name is not None and not (role == "exposure" and name == TOTAL) and not (role == "groups" and ":" in name)
    }
    known = getattr(fitted, "_covariates", None)
    return wanted if known is None else wanted | {"covariates": list(known.columns)}


def _named(options: Mapping[str, Any]) -> dict[str, str | None]:
    return {role: options.get(role) for role in (*ARGUMENTS, "groups")}


def _check(fitted: Any, named: Mapping[str, Any], asks_for_groups: bool) -> None:
    """Refuse what a model does not know, and the lack of what it needs; say what is inferred."""
    exposed, groups = getattr(fitted, "_is_exposed", False), groups_of(fitted)
    if named["exposure"] is None and exposed:
        raise Refused("the model was fitted with exposures; name their column: --exposure NAME, or total.")
    if named["exposure"] is not None and not exposed:
        raise Refused("the model was fitted without exposures; leave out --exposure.")
    if named["groups"] is not None and not groups:
        raise Refused("the model was fitted without groups; leave out --groups.")
    if named["target"] is not None and not hasattr(fitted, "coef_"):
        raise Refused(f"{type(fitted).__name__} predicts no column; leave out --target.")
    if named["groups"] is None and len(groups) > 1 and asks_for_groups:
        warnings.warn(
            f"the model was fitted with the groups {listed(groups)}; that of each row is inferred from its "
            "values. --groups COLUMN takes them from a column of the file.",
            stacklevel=2,
        )


def groups_of(fitted: Any) -> tuple[str, ...]:
    """Names of the groups that a fit had; none where it had no groups."""
    return tuple(getattr(getattr(fitted, "layout_", None), "groups", None) or ())


def how_to_read(fitted: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `latens.read` for columns that the model does not know: no number is guessed to be missing."""
    encodings = list((getattr(fitted, "encodings_", None) or {}).values())
    words = [word for each in encodings for word in each.missing_words]
    more = named_missing(options["missing"]) if options["missing"] else []
    how: dict[str, Any] = {"sep": options["sep"], "sheet": named_sheet(options["sheet"])}
    if encodings:
        how |= {"format": encodings[0].format, "transpose": encodings[0].transpose}
    return how | {"missing": ["none", *words, *more]}
