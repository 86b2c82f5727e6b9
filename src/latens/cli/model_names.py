"""Models by the names that are typed, what they take, and which is chosen where none was named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.cli.terminal.failures import Refused, one_line
from latens.intake import Column, Intake
from latens.system.wording import listed

__all__ = [
    "AS_ASKED",
    "AUTO",
    "MODELS",
    "Choice",
    "NamedModel",
    "available",
    "by_kinds",
    "check_kinds",
    "choose",
    "model_for",
    "model_name",
]

AUTO = "auto"
AS_ASKED = "as asked"
MOST_COLUMNS = 50  # of a table of numbers in which clusters are looked for
ROWS_PER_COLUMN = 5
NOT_TRIED = "a dry run tries no structures; the fit does, as latens suggest, and may choose another"
LARGEST_SHARE_OF_ONES = 0.2  # share of ones below which ones are taken to be caused
MOST_ENTRIES = 20_000_000  # of lists of items as a table, on which structures are tried: it is held with its zeros


@dataclass(frozen=True)
class NamedModel:
    """A model of the command line."""

    estimator: str  # the class in latens
    finds: str
    part: str  # what one component is called
    takes: tuple[str, ...]  # kinds of columns that it is made for
    settings: tuple[tuple[str, Any], ...] = ()

    def build(self, **parameters: Any) -> Any:
        """The estimator, with those of the parameters that it has."""
        cls = getattr(latens, self.estimator)
        known = cls._get_param_names()
        given = {**dict(self.settings), **parameters}
        return cls(**{name: value for name, value in given.items() if name in known and value is not None})


NUMBERS = ("number", "scale", "count")
ALL_KINDS = (*NUMBERS, "binary", "category")
MODELS = {
    "multi-view": NamedModel(
        "MultiViewFactorAnalysis", "factors behind columns of every kind, or several tables", "factor", ALL_KINDS
    ),
    "gaussian-mixture": NamedModel("GaussianMixture", "clusters of rows of numbers", "cluster", NUMBERS),
    "bernoulli-mixture": NamedModel("BernoulliMixture", "clusters of yes/no rows", "cluster", ("binary", "category")),
    "latent-classes": NamedModel(
        "LatentClassAnalysis", "clusters of rows with columns of any kind", "class", ALL_KINDS
    ),
    "factor-analysis": NamedModel(
        "FactorAnalysis", "a few factors behind many numbers", "factor", NUMBERS, (("prior", "ard"),)
    ),
    "binary-factors": NamedModel(
        "BinaryFactorAnalysis",
        "numbers as sums of causes that are on or off",
        "cause",
        (*NUMBERS, "binary"),
        (("noise", "diagonal"),),  # columns of a file have no common unit
    ),
    "noisy-or": NamedModel("NoisyOr", "hidden causes of yes/no rows", "cause", ("binary", "category")),
    "noisy-ica": NamedModel("NoisyICA", "independent sources in sensors or signals", "source", NUMBERS),
    "linear-regression": NamedModel(
        "BayesianLinearRegression",
        "weights that predict --target, and how sure they are",
        "weight",
        ALL_KINDS,
        (("standardize", True),),  # columns of a file have no common unit
    ),
}


# by structure: the model of numbers, of yes/no columns and of columns of several kinds
STRUCTURES = {
    "clusters": ("gaussian-mixture", "bernoulli-mixture", "latent-classes"),
    "classes": ("latent-classes", "latent-classes", "latent-classes"),
    "factors": ("factor-analysis", "multi-view", "multi-view"),
    "switches": ("binary-factors", "noisy-or", "noisy-or"),
    "sources": ("noisy-ica", "noisy-ica", "noisy-ica"),
}


def available() -> dict[str, NamedModel]:
    """The models that this version has."""
    return {name: model for name, model in MODELS.items() if model.estimator in latens.__all__}


def model_name(estimator: Any) -> str:
    """The name of a fitted estimator's model."""
    kind = type(estimator).__name__
    return next((name for name, model in MODELS.items() if model.estimator == kind), kind)


@dataclass(frozen=True)
class Choice:
    """A model, and why it was taken."""

    name: str
    why: str


def choose(
    name: str,
    table: Intake,
    target: str | None,
    *,
    trying: bool = True,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Choice:
    """The model that was named; else that of the structure which fills hidden cells best.

    A target or several tables: by the kinds of the columns alone, as where `suggest` sees too few cells or nothing.
    Without `trying` the same, and the choice says that structures were not tried. `seconds` is the time for all;
    `progress` is called with each structure.
    """
    if name != AUTO:
        return Choice(name, AS_ASKED)
    usual = by_kinds(table, target)
    if target is not None or len(table.parts) > 1 or not kept_columns(table):
        return usual
    if len(kept_columns(table)) < 2 or not _can_be_tried(table):
        return usual
    if not trying:
        return Choice(usual.name, f"{usual.why}; {NOT_TRIED}")
    found = latens.suggest(table, max_time=seconds, refit=False, progress=progress)
    if found.leader is None:
        return Choice(usual.name, f"{usual.why}; {one_line(found.verdict).rstrip('.')}")
    return Choice(model_for(found.leader, table), one_line(found.verdict).rstrip("."))


def _can_be_tried(table: Intake) -> bool:
    """Whether hidden cells of all structures can be scored: rows of mostly zeros only where they are yes/no and few."""
    matrix = table.matrix()
    if not hasattr(matrix, "toarray"):
        return True
    return {column.kind for column in kept_columns(table)} == {"binary"} and np.prod(matrix.shape) <= MOST_ENTRIES


def model_for(structure: str, table: Intake) -> str:
    """The model that finds a structure in columns of these kinds.

    `structure` is one of those of `latens.suggest`.
    """
    kinds = {column.kind for column in kept_columns(table)}
    row = 0 if kinds <= set(NUMBERS) else 1 if kinds == {"binary"} else 2
    if table.name_of_role("exposure") is not None:
        row = 2  # models of numbers know no exposures
    return STRUCTURES[structure][row]


def by_kinds(table: Intake, target: str | None) -> Choice:
    """A model by the kinds of the columns.

    Several tables or several kinds of columns: factors over views by kind, which fill hidden cells of mixed tables
    about as well as the usual imputers. Numbers alone: clusters, or factors where columns are many. Yes/no alone:
    clusters, or hidden causes where ones are rare.
    """
    if target is not None:
        return Choice("linear-regression", f"the column {target!r} is to be predicted")
    columns = kept_columns(table)
    kinds = Counter("number" if column.kind in NUMBERS else column.kind for column in columns)
    if len(table.parts) > 1:
        return Choice("multi-view", f"there are {len(table.parts)} tables")
    if len(kinds) > 1:
        return Choice("multi-view", "columns are of several kinds")
    if "category" in kinds:
        return Choice("multi-view", "all columns are categories")
    n, d = table.n_rows, len(columns)
    if "binary" in kinds:
        matrix = table.matrix()
        share = matrix.mean() if hasattr(matrix, "toarray") else float((matrix == 1).mean())
        if share < LARGEST_SHARE_OF_ONES:
            return Choice("noisy-or", f"all columns are yes/no, and {100 * share:.0f} % of the entries are yes")
        return Choice("bernoulli-mixture", "all columns are yes/no")
    if d > MOST_COLUMNS or n < ROWS_PER_COLUMN * d:
        return Choice("factor-analysis", f"all columns are numbers, and {d:,} of them are many for {n:,} rows")
    return Choice("gaussian-mixture", "all columns are numbers")


def check_kinds(choice: Choice, table: Intake) -> str:
    """Refuse columns that a model cannot take; return what to say of those that it takes as 0 and 1."""
    model = MODELS[choice.name]
    columns = kept_columns(table)
    odd = [column.name for column in columns if column.kind not in model.takes]
    if not columns:
        raise Refused(f"{table.source} has no column left to fit: {table.sentence()}. See latens fit --dry-run.")
    if not odd:
        return _about_levels(choice, columns)
    if "number" not in model.takes:
        raise Refused(
            f"{choice.name} takes yes/no columns and categories, and {listed(odd, 4)} hold numbers: leave them out "
            f"({' '.join(f'--drop {_quoted(name)}' for name in odd[:3])}{' ...' if len(odd) > 3 else ''}), or choose "
            "--model multi-view."
        )
    return f"{listed(odd, 4)} enter as 0 and 1; --model multi-view takes them as what they are"


def _about_levels(choice: Choice, columns: list[Column]) -> str:
    """What to say of categories in a model of yes/no columns: each of their levels becomes a column."""
    several = [column for column in columns if column.kind == "category"]
    if "number" in MODELS[choice.name].takes or not several:
        return ""
    first = several[0]
    return (
        f"{listed([column.name for column in several], 4)} hold more than two values ({listed(first.levels, 4)}), and "
        "each value enters as a yes/no column of its own, which counts as evidence again; --model latent-classes takes "
        "such a column as one. A value that means missing is named by --missing."
    )


def kept_columns(table: Intake) -> list[Column]:
    return [column for part in table.parts.values() for column in part.columns if column.is_kept]


def _quoted(name: str) -> str:
    return f"'{name}'" if not name.isidentifier() else name
