"""Document 003 on tables of patients: factors behind expression, copy number, proteins and mutations."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import latens
from latens.array import Floats
from latens.datasets import make_multiview
from latens.estimators.association import associate
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.report import Figure, Section
from latens.report.charts.svg import Line, bar_chart, line_chart

__all__ = ["EXPERIMENT"]

LARGEST_LOGGED = 100.0  # positive values beyond it are taken as unlogged
N_TOP = 5  # features named for a factor and view
MISSING = {"", "NA", "NaN", "nan", "NULL"}


@dataclass(frozen=True)
class Settings:
    data: str = ""  # the common beginning of files such as miniACC_*.csv, or their folder; empty: generated
    n_samples: int = 200  # generated
    n_components: int = 15
    hidden: float = 0.05  # of the observed entries, to be imputed


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table with names, as annotated tables have them."""

    X: Floats
    obs_names: tuple[str, ...]
    var_names: tuple[str, ...]
    obs: Any = None
    var: Any = None
    layers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.X.shape


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    sheets, notes_on_rows, logged = _tables(settings, rng)
    progress(", ".join(f"{name} {sheet.shape[0]} x {sheet.shape[1]}" for name, sheet in sheets.items()))
    hidden = {name: _hide(sheet.X, settings.hidden, rng) for name, sheet in sheets.items()}
    gappy_sheets = {
        name: Sheet(np.where(hidden[name], np.nan, sheet.X), sheet.obs_names, sheet.var_names)
        for name, sheet in sheets.items()
    }
    seed = int(rng.integers(2**31))
    progress("the fit without hidden entries")
    judged = _imputed(_model(settings, seed).fit(gappy_sheets), gappy_sheets, sheets, hidden)
    progress("the fit of all entries")
    model = _model(settings, seed).fit(sheets)
    tables = [_explained(model), Numbers.of("imputation", ("view", "likelihood", "entries", "gain"), judged)]
    tables.append(Numbers.of("features", ("factor", "view", "strongest features"), _features(model)))
    notes = [_summary(model, logged), _imputation_note(judged)]
    if notes_on_rows:
        found = associate(model.scores_, _names(model), notes_on_rows)
        tables.append(Numbers.of("associations", found.columns, found.rows))
        notes.append(
            f"Factor {found.rows[0][0]} goes best with {found.rows[0][1]} (adjusted p {found.rows[0][5]:.2g})."
        )
    if not settings.data:
        notes.append("No files were given (--data), so views were generated: these are no patients.")
    none = Claim("the whole document", "updates alone; no data and no result", notes[0], "no result in the document")
    return Result(tuple(tables), (_variance(model), _bound(model)), tuple(notes), (none,))


def _model(settings: Settings, seed: int) -> Any:
    return latens.MultiViewFactorAnalysis(settings.n_components, random_state=seed)


def _tables(settings: Settings, rng: np.random.Generator) -> tuple[dict[str, Sheet], dict[str, list[str]], list[str]]:
    """Views by name, labels of the rows by name, and which views had their logarithm taken."""
    if not settings.data:
        kinds = ("gaussian", "gaussian", "bernoulli")
        views, _ = make_multiview(
            settings.n_samples, (60, 40, 30), kinds, 4, missing_views=0.15, rate=0.15, random_state=rng
        )
        rows = tuple(f"sample{i}" for i in range(settings.n_samples))
        named = dict(zip(("expression", "proteins", "mutations"), views.values(), strict=True))
        return (
            {v: Sheet(x, rows, tuple(f"{v}{j}" for j in range(x.shape[1]))) for v, x in named.items()},
            {},
            [],
        )
    sheets: dict[str, Sheet] = {}
    labels: dict[str, list[str]] = {}
    logged: list[str] = []
    for name, path in _files(Path(settings.data)).items():
        rows, columns, cells = _read(path)
        try:
            x = np.array([[np.nan if cell in MISSING else float(cell) for cell in row] for row in cells])
        except ValueError:
            labels |= {column: list(values) for column, values in zip(columns, zip(*cells, strict=True), strict=True)}
            continue
        if np.nanmin(x) >= 0 and np.nanmax(x) > LARGEST_LOGGED:
            x, logged = np.log1p(x), [*logged, name]
        sheets[name] = Sheet(x, rows, columns)
    if not sheets:
        raise ValueError(f"{settings.data}: none of its tables holds numbers; give tables of samples x features.")
    n = len(dict.fromkeys(row for sheet in sheets.values() for row in sheet.obs_names))
    return sheets, {name: values for name, values in labels.items() if len(values) == n}, logged


def _files(path: Path) -> dict[str, Path]:
    """Tables by the last part of their name."""
    found = sorted(path.glob("*.csv")) if path.is_dir() else sorted(path.parent.glob(f"{path.name}_*.csv"))
    if not found:
        raise ValueError(
            f"there are no files {path}_*.csv; give the common beginning of the tables, such as multiomics/miniACC."
        )
    names = [file.stem.rpartition("_")[2] for file in found]
    if len({file.stem.rpartition("_")[0] for file in found}) > 1:
        starts = ", ".join(sorted({file.stem.rpartition("_")[0] for file in found}))
        raise ValueError(
            f"{path} holds tables of several studies ({starts}); give the beginning of one, such as {path}/X."
        )
    return dict(zip(names, found, strict=True))


def _read(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return tuple(line[0] for line in lines), tuple(header[1:]), [line[1:] for line in lines]


def _hide(x: Floats, share: float, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(x.shape) < share) & np.isfinite(x)


def _imputed(
    model: Any, gappy_sheets: Mapping[str, Sheet], sheets: Mapping[str, Sheet], hidden: Mapping[str, np.ndarray]
) -> list[tuple[str, str, int, float]]:
    """How much better than column means the hidden entries are imputed: share of squared error or of log loss."""
    filled = model.impute(gappy_sheets)
    rows = []
    for view, sheet in sheets.items():
        hole = hidden[view]
        guess = np.broadcast_to(np.nanmean(gappy_sheets[view].X, axis=0), hole.shape)[hole]
        at = {row: i for i, row in enumerate(model.row_names_)}
        ours = np.asarray(_values(filled[view]))[[at[row] for row in sheet.obs_names]][hole]
        true, kind = sheet.X[hole], model.likelihoods_[view]
        loss = [_loss(kind, true, one) for one in (ours, guess)]
        rows.append((view, kind, int(hole.sum()), 1 - loss[0] / loss[1]))
    return rows


def _values(view: Any) -> Any:
    return view.X if hasattr(view, "X") else view


def _loss(kind: str, true: Floats, guess: Floats) -> float:
    if kind == "bernoulli":
        chance = np.clip(guess, 0.5 / 1000, 1 - 0.5 / 1000)  # a column without a 1 says little about the next row
        return float(-np.mean(true * np.log(chance) + (1 - true) * np.log1p(-chance)))
    return float(np.mean((true - guess) ** 2))


def _names(model: Any) -> list[str]:
    return [str(k) for k in range(model.n_components_)]


def _explained(model: Any) -> Numbers:
    shares, totals = model.explained_["per_factor"][0], model.explained_["total"][0]
    columns = ("view", "likelihood", "total", *(f"factor {k}" for k in range(shares.shape[1])))
    rows = [(view, kind, totals[m], *shares[m]) for m, (view, kind) in enumerate(model.likelihoods_.items())]
    return Numbers.of("explained", columns, rows)


def _features(model: Any) -> list[tuple[int, str, str]]:
    """The strongest features of each factor in the view that it explains best."""
    rows = []
    for k in range(model.n_components_):
        m = int(np.argmax(model.explained_["per_factor"][0, :, k]))
        view, names = model.layout_.views[m], model.layout_.features[m]
        order = np.argsort(-np.abs(model.components_[view][k]), kind="stable")[:N_TOP]
        rows.append((k, view, ", ".join(names[j] for j in order)))
    return rows


def _variance(model: Any) -> Section:
    values = model.explained_["per_factor"][0]
    figures: list[Figure] = []
    for view, shares in zip(model.layout_.views, values, strict=True):
        chart = bar_chart(
            _names(model), shares, label=f"{view}: share of variance explained", reach=float(values.max())
        )
        figures.append(Figure(chart, f"{view}: what each factor explains.", name=f"explained-{len(figures)}"))
    return Section("Variance explained", figures=tuple(figures))


def _bound(model: Any) -> Section:
    history = np.asarray(model.elbo_history_)
    chart = line_chart([Line(np.arange(1, len(history) + 1), history)], x_label="iteration", y_label="bound (nats)")
    return Section(
        "The bound",
        figures=(Figure(chart, "The bound over the iterations; a jump is a move that raised it.", name="bound"),),
    )


def _summary(model: Any, logged: list[str]) -> str:
    kinds = ", ".join(f"{view} {kind}" for view, kind in model.likelihoods_.items())
    text = f"{model.n_components_} factors in {len(model.scores_)} samples; likelihoods guessed: {kinds}."
    return text + (f" log(1 + x) was taken of {', '.join(logged)}." if logged else "")


def _imputation_note(judged: list[tuple[str, str, int, float]]) -> str:
    return (
        "Hidden entries are imputed better than by column means by "
        + ", ".join(f"{100 * gain:.0f} % ({view})" for view, _, _, gain in judged)
        + " of the squared error, or of the log loss where binary."
    )


EXPERIMENT = Experiment(
    name="multi-view-omics",
    title="factors behind several kinds of measurements of the same patients",
    document="003",
    place="its model on tables of patients, which it does not have",
    about=(
        "Fits tables of samples x features, some samples missing whole tables: which factors explain how much of which "
        "table, their strongest features, what they go with where labels are given, and how well hidden entries are "
        "imputed. Give --data multiomics/miniACC or multiomics/breastTCGA, the common beginning of the files; without "
        "it, views are generated."
    ),
    settings=Settings(),
    quick=Settings(n_samples=100, n_components=8),
    run=run,
    graph="multi-view",
)
