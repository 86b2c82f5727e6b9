"""One fitted model on a page, and what its sections read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from latens.estimators.association import metadata_columns
from latens.estimators.frames.row_labels import beside_rows, in_row_order, joined_by_name
from latens.estimators.frames.views_by_kind import are_kinds
from latens.metrics import Match, match_components
from latens.plots.fitted import component_names, feature_names, image_shape, loadings
from latens.report.measures.certainty import Certainty, certainty_of
from latens.report.measures.hidden_cells import HiddenCells, hidden_cells
from latens.report.measures.profile import Ends, Profile, ends_of, profile_of
from latens.report.measures.sample import RowSample, n_rows_of, row_labels, sample_rows
from latens.report.measures.sizes import Sizes, sizes_of
from latens.system.fingerprint import fingerprint

__all__ = ["Entry"]

SPOKEN_KINDS = {"yes_no": "yes/no", "dispersed_counts": "dispersed counts"}  # views by kind of column
NOUNS = {
    "clusters": ("cluster", "clusters"),
    "classes": ("class", "classes"),
    "causes": ("cause", "causes"),
    "switches": ("on/off cause", "on/off causes"),
    "sources": ("source", "sources"),
    "regression": ("weight", "weights"),
}


@dataclass(frozen=True)
class Entry:
    """A fitted model, and what is known about it.

    Parameters
    ----------
    model : fitted estimator
    X : array-like of shape (N, D), optional
        The rows it was fitted to, or others of their kind.
    truth : object, optional
        What made the rows, as returned by the generators of `latens.datasets`: at least `components` of
        shape (K_true, D), and where known `usage`, `noise_variance` and `shape`.
    title : str, optional
        Heading; the name of the model's class otherwise.
    shape : (int, int), optional
        Height and width of a row that is an image; read from the truth otherwise, or guessed where D is a square.
    seconds : float, optional
        How long the fit took; the time of the iterations in its trace otherwise, which leaves out starts and
        restarts that were not kept.
    metadata : data frame, Series or dict of columns, optional
        What else is known about the rows; it colours them and is set against the components.
    y : array of shape (N,), optional
        Targets of a regression.
    source : str
        The file or data set, by name.
    data_notes : sequence of str
        Sentences about how the data were read.
    treatment : Table, optional
        What was done with each column of the file.
    sweep : sequence of (int, int, float)
        Numbers of components asked for, found, and their bounds, where several were tried.
    given : dict
        What `transform` takes besides rows, as it was given to `fit`: groups, precision, exposure of several views.
    sample_weight : array of shape (N,), optional
        How often each row counted in the fit.
    stability : Stability, optional
        What `latens.stability` found about this model.
    command : str
        The command that made the page, where one did.
    recipe : sequence of str
        Lines of Python that make `X`, and what else `fit` takes, from the file, fit the model and write the page.
    model_file : str
        The name of the model's file, where it was saved.
    rows_options : str
        The options of the command line by which other commands are given these rows, such as --data FILE.
    warned : sequence of (str, str), optional
        What the fit warned of and what to do about it, in the words of the command that made the page; those of
        `warnings_` otherwise.
    why : str
        Why this model was taken, where it was chosen among several.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> Entry(SimpleNamespace(components_=[[1.0, 0.0]])).names
    ['0']
    """

    model: Any
    X: Any = None
    truth: Any = None
    title: str | None = None
    shape: Sequence[int] | None = None
    seconds: float | None = None
    metadata: Any = None
    y: Any = None
    source: str = ""
    data_notes: Sequence[str] = ()
    treatment: Any = None
    sweep: Sequence[tuple[int, int, float]] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    sample_weight: Any = None
    stability: Any = None
    command: str = ""
    recipe: Sequence[str] = ()
    model_file: str = ""
    rows_options: str = ""
    warned: Sequence[tuple[str, str]] | None = None
    why: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", joined_by_name(self.X))
        object.__setattr__(self, "given", beside_rows(self.X, self.given))
        weight = beside_rows(self.X, {"sample_weight": self.sample_weight})
        object.__setattr__(self, "sample_weight", weight["sample_weight"])
        object.__setattr__(self, "y", in_row_order("y", self.y, self.X))

    @property
    def heading(self) -> str:
        return self.title or type(self.model).__name__

    @property
    def duration(self) -> float:
        return self.seconds if self.seconds is not None else float(sum(step.seconds for step in self.model.trace_))

    @property
    def family(self) -> str:
        """What kind of model it is, by what it publishes."""
        signs = {
            "regression": "coef_std_",
            "views": "explained_",
            "sources": "mixing_",
            "classes": "impute_proba",
            "clusters": "classification_table_",
            "causes": "leak_",
            "switches": "usage_",
        }
        return next((family for family, sign in signs.items() if hasattr(self.model, sign)), "factors")

    @property
    def grouped(self) -> bool:
        """Whether each row belongs to one component."""
        return self.family in ("clusters", "classes")

    @property
    def binary(self) -> bool:
        return bool(getattr(type(self.model), "binary", False))

    def noun(self, n: int) -> str:
        """What its components are called."""
        return NOUNS.get(self.family, ("factor", "factors"))[n != 1]

    @property
    def n_components(self) -> int:
        return int(getattr(self.model, "n_components_", 0))

    @cached_property
    def sample(self) -> RowSample | None:
        """The rows that the page looks at, or None without rows that can be looked at."""
        return None if self.X is None else sample_rows(self.model, self.X, self.given)

    @property
    def given_to_fit(self) -> dict[str, Any]:
        """What `fit` was given besides rows and a target: what its answers take, and weights."""
        every = {**self.given, "sample_weight": self.sample_weight}
        return {name: value for name, value in every.items() if value is not None}

    def call(self, words: str, *, of_fit: bool = True) -> str:
        """A call of Python about the rows, with what stands beside them.

        Answers about rows take no weights, which are `of_fit` alone.

        >>> Entry(None, sample_weight=[1.0]).call("model.intervals(X)")
        'model.intervals(X, sample_weight=sample_weight)'
        """
        names = [name for name in self.given_to_fit if of_fit or name in self.given]
        return words.removesuffix(")") + "".join(f", {name}={name}" for name in names) + ")"

    @cached_property
    def profile(self) -> Profile | None:
        """Columns by components in units of the columns, or None where there is no such table."""
        return profile_of(self)

    @cached_property
    def known(self) -> dict[str, list[Any]]:
        """Columns of metadata, one value for each row of X, None where missing."""
        n = n_rows_of(self.X)
        return {} if self.metadata is None or not n else metadata_columns(self.metadata, n, row_labels(self.X))

    @cached_property
    def sizes(self) -> Sizes | None:
        """Shares of the components that add up."""
        return sizes_of(self)

    @cached_property
    def certainty(self) -> Certainty:
        """Intervals of what is shown."""
        return certainty_of(self)

    @cached_property
    def ends(self) -> Ends:
        """The same of the cells of the table of columns."""
        return ends_of(self)

    def notable(self, k: int, n: int) -> list[int]:
        """Columns in which component k surely stands out, by its standard errors and by these intervals."""
        return [] if self.profile is None else self.profile.notable(k, n, self.ends)

    @cached_property
    def hidden_cells(self) -> HiddenCells | None:
        """How well hidden cells are filled."""
        return hidden_cells(self)

    @property
    def data_hash(self) -> str:
        """The first digits of the SHA-256 of the numbers of all rows; of the rows looked at where they are sampled."""
        return "" if self.sample is None else fingerprint(self.sample.values)[:16]

    @property
    def loadings(self) -> np.ndarray | None:
        """Components of shape (K, D), or None for a model that has no single table of them."""
        if not hasattr(self.model, "mixing_") and not hasattr(self.model, "components_"):
            return None
        values = loadings(self.model)
        return None if isinstance(values, dict) else np.asarray(values, dtype=np.float64)

    @property
    def by_kind(self) -> bool:
        """Whether its views are the kinds of columns of one table, which nobody thinks of as several."""
        layout = getattr(self.model, "layout_", None)
        if layout is None or not are_kinds(layout.views):
            return False
        names = [name for own in layout.features for name in own]
        return len(set(names)) == len(names)

    @property
    def view_names(self) -> list[str]:
        """What its views are called on the page."""
        names = [str(view) for view in self.model.layout_.views]
        return [SPOKEN_KINDS.get(name, name) for name in names] if self.by_kind else names

    @property
    def names(self) -> list[str]:
        """The names of the components, in the model's order."""
        values = self.loadings
        return component_names(self.model, self.n_components if values is None else len(values))

    @property
    def labels(self) -> list[str]:
        """The names as they stand alone, where a bare number would say too little."""
        noun = self.noun(1).removeprefix("on/off ") if hasattr(self.model, "posterior_") else "component"
        return [f"{noun} {name}" if name.isdecimal() else name for name in self.names]

    @property
    def columns(self) -> list[str] | None:
        return feature_names(self.model, self.X)

    def column_names(self, d: int) -> list[str]:
        """Names of d columns, made up where there are none; of several views with the view before them."""
        layout = getattr(self.model, "layout_", None)
        if layout is not None:
            alone = len(layout.views) == 1 or self.by_kind
            pairs = zip(layout.views, layout.features, strict=True)
            return [name if alone else f"{view}: {name}" for view, names in pairs for name in names]
        known = self.columns
        return known if known is not None and len(known) == d else [f"x{i}" for i in range(d)]

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Height and width of a row, or None where rows are not images."""
        if self.loadings is None:
            return None
        known = self.shape if self.shape is not None else getattr(self.truth, "shape", None)
        return image_shape(self.loadings.shape[1], known, named=self.columns is not None)

    @property
    def match(self) -> Match | None:
        """Which component is which true one, or None without a truth."""
        true = getattr(self.truth, "components", None)
        if true is None or isinstance(true, dict) or self.loadings is None:
            return None
        return match_components(self.loadings, true)
